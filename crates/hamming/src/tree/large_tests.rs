//! Searches of indexes that are large enough for several pages above the leaves: passes that read
//! some rings at once, and copies of downlinks that went stale. The oracle is a list of the rows.

use super::memory::Memory;
use super::read_meta;
use super::tests::{Random, Rows, check_found, check_structure, distances, number, tid, within};
use crate::insert::insert;
use crate::search::nearest::NearestSearch;
use crate::search::passes::jump_end;
use crate::search::reader::{IndexReader, IndexState};
use crate::search::scopes::Scopes;
use simhash_base::indexed_row::IndexedRow;
use simhash_base::indexed_row::Tid;

/// Uniform rows, all in the scope 0, with numbers from 0 on.
fn uniform_rows(random: &mut Random, count: u64) -> Rows {
    let row = |number| {
        let fingerprint = Some(random.next());
        (
            number,
            IndexedRow {
                scope: 0,
                fingerprint,
            },
        )
    };
    (0..count).map(row).collect()
}

fn build(rows: &Rows) -> Memory {
    let rows: Vec<(Tid, IndexedRow)> = rows
        .iter()
        .map(|(number, row)| (tid(*number), *row))
        .collect();
    Memory::of_rows(&rows)
}

/// With these many rows a second pass reads some rings at once.
#[test]
fn the_nearest_of_many_are_exact() {
    let mut random = Random(7);
    let rows = uniform_rows(&mut random, 400_000);
    assert!(jump_end((400_000.0, &[0; 65]), 8, 64).is_some());
    compare_nearest(&rows, || random.next());
}

/// Where rows are nearer to each other, it goes by those that the first pass has met.
#[test]
fn the_nearest_of_crowded_rows_are_exact() {
    let mut random = Random(8);
    let in_part = |fingerprint: u64| fingerprint & 0x03FF_03FF_03FF_03FF;
    let mut rows = uniform_rows(&mut random, 100_000);
    for row in rows.values_mut() {
        row.fingerprint = row.fingerprint.map(in_part);
    }
    compare_nearest(&rows, || in_part(random.next()));
}

fn compare_nearest(rows: &Rows, mut query: impl FnMut() -> u64) {
    let memory = build(rows);
    for (waiting, is_remembered) in [(100_000, false), (100_000, true), (20, true)] {
        if is_remembered {
            memory.remember();
        }
        for _ in 0..3 {
            let query = query();
            let state = memory.state();
            let mut search = NearestSearch::new(Scopes::One(0), query, 64, waiting);
            let (mut found, mut ring) = (Vec::new(), Vec::new());
            while found.len() < 30 {
                let reader = IndexReader::new(&memory, &state);
                let distance = search
                    .step(&reader, |_| true, &mut ring)
                    .expect("more rows");
                found.extend(ring.iter().map(|tid| (distance, number(*tid))));
            }
            assert!(found.is_sorted_by_key(|(distance, _)| *distance));
            let last = found[found.len() - 1].0;
            // The last ring may be returned in parts.
            found.retain(|(distance, _)| *distance < last);
            found.sort_unstable();
            let nearer = distances(rows, |_| true, query).filter(|(distance, _)| *distance < last);
            let mut expected: Vec<_> = nearer.collect();
            expected.sort_unstable();
            assert_eq!(found, expected);
        }
    }
}

/// As another session, which knows nothing of this one's copies.
fn add_beside(memory: &Memory, number: u64, row: IndexedRow) {
    let state = || IndexState::read(memory, true, |_| None);
    insert(memory, state, row, tid(number));
}

fn some_row(random: &mut Random) -> IndexedRow {
    // Every third beside few others, so that some leaves, and pages above them, are split again and
    // again.
    let fingerprint = random.next() >> if random.below(3) == 0 { 7 } else { 0 };
    IndexedRow {
        scope: 0,
        fingerprint: Some(fingerprint),
    }
}

fn check_searches(memory: &Memory, rows: &Rows, random: &mut Random, known: u64) {
    for radius in [3, 8, 10, 12] {
        let query = some_row(random).fingerprint.expect("it has one");
        let near = distances(rows, |_| true, query).filter(|(distance, _)| *distance <= radius);
        let expected = near.map(|(_, number)| number).collect();
        let found = within(memory, Scopes::One(0), query, radius);
        check_found(found, expected, known).unwrap();
    }
}

/// The session's copies are of the pages as they were before others' inserts: leaves, pages above them
/// and roots are split, and nothing tells the session.
#[test]
fn stale_copies_of_downlinks_lead_to_every_row() {
    let mut random = Random(5);
    let mut rows = uniform_rows(&mut random, 60_000);
    let memory = build(&rows);
    memory.remember();
    check_searches(&memory, &rows, &mut random, 60_000);
    let copied = memory.copied();
    assert!(
        copied > 4 * 100 * 12,
        "four roots of 100 downlinks: {copied}"
    );
    assert_eq!(read_meta(&memory).levels[..4], [1; 4]);
    for _ in 0..10 {
        for number in rows.len() as u64..rows.len() as u64 + 10_000 {
            let row = some_row(&mut random);
            add_beside(&memory, number, row);
            rows.insert(number, row);
        }
        assert!(memory.copied() > 0);
        check_searches(&memory, &rows, &mut random, u64::MAX);
    }
    assert_eq!(read_meta(&memory).levels[1..4], [2; 3]);
    check_structure(&memory, &rows);
}

/// Copies go stale between two leaves of one search.
#[test]
fn copies_go_stale_while_a_search_goes_by_them() {
    let mut random = Random(6);
    let rows = uniform_rows(&mut random, 60_000);
    let memory = build(&rows);
    memory.remember();
    let (mut beside, mut number) = (random.clone(), 60_000);
    memory.interrupt_by(move |memory| {
        for _ in 0..20 {
            add_beside(memory, number, some_row(&mut beside));
            number += 1;
        }
    });
    while read_meta(&memory).levels[1..4] != [2; 3] {
        check_searches(&memory, &rows, &mut random, 60_000);
        assert!(memory.copied() > 0);
    }
}

/// Rows in all ways in which few bits can differ in four quarters, beside a crowd that shares a quarter
/// with one centre: each is found once within every radius, by even radii and by those that counts choose.
#[test]
fn each_spread_over_the_quarters_is_found_once() {
    let mut random = Random(9);
    let mut rows = uniform_rows(&mut random, 50_000);
    let centres: Vec<u64> = (0..3).map(|_| random.next()).collect();
    for number in 50_000..60_000 {
        let centre = centres[number as usize % centres.len()];
        let differing = if number % 2 == 0 {
            // Up to five bits of each quarter.
            let bits = (0..4u32).flat_map(|b| (0..(number / 2) >> b & 5).map(move |_| b));
            bits.fold(0, |all, b| all | 1 << (16 * b + random.below(16) as u32))
        } else {
            random.next() >> 16
        };
        let fingerprint = Some(centre ^ differing);
        rows.insert(
            number,
            IndexedRow {
                scope: 0,
                fingerprint,
            },
        );
    }
    let memory = build(&rows);
    for round in 0..3 {
        for (centre, radius) in centres.iter().flat_map(|c| (0..=20).map(move |k| (*c, k))) {
            let query = centre ^ (random.next() & random.next() & random.next() & random.next());
            for query in [centre, query] {
                let near = distances(&rows, |_| true, query).filter(|(d, _)| *d <= radius);
                let expected = near.map(|(_, number)| number).collect();
                let found = within(&memory, Scopes::One(0), query, radius);
                check_found(found, expected, u64::MAX).unwrap();
            }
        }
        if round == 0 {
            memory.remember();
        }
    }
}

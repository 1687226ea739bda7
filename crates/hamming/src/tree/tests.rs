//! Searches, inserts and removals over pages in memory, while others split these pages and after
//! crashes between any two changes. The oracle is a list of the rows.

use super::memory::{Crash, Memory};
use super::store::PageStore;
use crate::check::pages::{PageSource, StructureCheck};
use crate::insert::insert;
use crate::key::{Position, Space};
use crate::page::{Page, leaf, special};
use crate::remove;
use crate::search::nearest::NearestSearch;
use crate::search::reader::IndexReader;
use crate::search::scopes::Scopes;
use crate::search::within::{NullSearch, WithinSearch};
use crate::tree::store::Locked;
use proptest::prelude::*;
use simhash_base::indexed_row::IndexedRow;
use simhash_base::indexed_row::Tid;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The rows that a search must find, by their numbers.
pub(super) type Rows = BTreeMap<u64, IndexedRow>;

/// Numbers that look random.
#[derive(Clone)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A fingerprint near one of a few centres, one of theirs, or any.
    pub(super) fn fingerprint(&mut self) -> u64 {
        let centre = self.below(5).wrapping_mul(0x5851_F42D_4C95_7F2D);
        match self.below(8) {
            0 => self.next(),
            1 => centre,
            kind => (0..kind).fold(centre, |fingerprint, _| fingerprint ^ 1 << self.below(64)),
        }
    }

    fn row(&mut self, scopes: u64) -> IndexedRow {
        let is_null = self.below(20) == 0;
        let fingerprint = self.fingerprint();
        IndexedRow {
            scope: self.below(scopes) as u32 * 1000,
            fingerprint: (!is_null).then_some(fingerprint),
        }
    }
}

pub(super) fn tid(number: u64) -> Tid {
    Tid {
        block: (number / 100) as u32,
        offset: (number % 100) as u16 + 1,
    }
}

pub(super) fn number(tid: Tid) -> u64 {
    u64::from(tid.block) * 100 + u64::from(tid.offset) - 1
}

fn add(memory: &Memory, number: u64, row: IndexedRow) {
    insert(memory, || memory.state(), row, tid(number));
}

/// As [`add`], but others may crash it. Returns whether the row is in the index.
fn try_to_add(memory: &Memory, number: u64, row: IndexedRow) -> bool {
    let attempt = catch_unwind(AssertUnwindSafe(|| add(memory, number, row)));
    attempt
        .inspect_err(|panic| assert!(panic.is::<Crash>()))
        .is_ok()
}

/// An index of `count` rows, where many inserts crash: most after the first of several changes, so
/// between the two steps of a split.
fn crashed_index(random: &mut Random, count: u64, scopes: u64) -> (Memory, Rows) {
    let (memory, mut rows) = (Memory::default(), Rows::new());
    for number in 0..count {
        match random.below(10) {
            0 => memory.crash_after(random.below(4) as u32),
            1..5 => memory.crash_after(1),
            _ => memory.never_crash(),
        }
        if number == count / 2 {
            memory.remember();
        }
        let row = random.row(scopes);
        if try_to_add(&memory, number, row) {
            rows.insert(number, row);
        }
    }
    memory.never_crash();
    (memory, rows)
}

/// Rows that are written beside a search, in all.
const BESIDE: u64 = 2_000;

/// Inserts at each interruption a few rows with numbers from `first` on.
fn write_beside(memory: &Memory, mut random: Random, first: u64, scopes: u64) {
    let mut number = first;
    memory.interrupt_by(move |memory| {
        for _ in 0..random.below(60).min(first + BESIDE - number) {
            add(memory, number, random.row(scopes));
            number += 1;
        }
    });
}

pub(super) fn check_structure(memory: &Memory, rows: &Rows) {
    let mut faults = Vec::new();
    let mut report = |finding| faults.push(finding);
    let meta = super::read_meta(memory);
    let mut structure = StructureCheck::new(memory, &meta, &mut report);
    let mut found = [0; 5];
    for space in Space::all() {
        structure.check(space, |key| {
            found[space.index()] += 1;
            rows.get(&number(key.tid)) == Some(&space.indexed_row(key))
        });
    }
    // A split whose right sibling has no downlink yet is sound.
    let nulls = rows
        .values()
        .filter(|row| row.fingerprint.is_none())
        .count();
    let others = rows.len() - nulls;
    assert_eq!(found, [others, others, others, others, nulls]);
    assert!(
        faults
            .iter()
            .all(|fault| fault.text.starts_with("no downlink")),
        "{faults:?}"
    );
}

/// The scopes of a search: all, or one.
fn scopes(kind: u64) -> (Scopes, Box<dyn Fn(u32) -> bool>) {
    match kind % 2 {
        0 => (Scopes::All, Box::new(|_| true)),
        _ => (Scopes::One(1000), Box::new(|scope| scope == 1000)),
    }
}

/// Everything within a radius, in the order of numbers.
pub(super) fn within(memory: &Memory, scopes: Scopes, query: u64, radius: u32) -> Vec<u64> {
    let state = memory.state();
    let reader = IndexReader::new(memory, &state);
    let mut found = Vec::new();
    let mut search = WithinSearch::new(scopes, query, radius);
    while (search.step(&reader, |row| found.push(number(row.tid)))).is_some() {}
    found.sort_unstable();
    found
}

/// The nearest rows as (distance, number), in the order in which they come.
fn nearest(memory: &Memory, scopes: Scopes, query: u64, limit: usize) -> Vec<(u32, u64)> {
    let state = memory.state();
    let mut search = NearestSearch::new(scopes, query, 64, limit);
    let (mut found, mut rows) = (Vec::new(), Vec::new());
    loop {
        // As between two calls of a scan.
        let reader = IndexReader::new(memory, &state);
        let Some(distance) = search.step(&reader, |_| true, &mut rows) else {
            return found;
        };
        found.extend(rows.iter().map(|tid| (distance, number(*tid))));
    }
}

pub(super) fn distances(
    rows: &Rows,
    has: impl Fn(u32) -> bool,
    query: u64,
) -> impl Iterator<Item = (u32, u64)> {
    rows.iter().filter_map(move |(number, row)| {
        let fingerprint = row.fingerprint.filter(|_| has(row.scope))?;
        Some(((fingerprint ^ query).count_ones(), *number))
    })
}

/// Checks what a search has found against rows that were there all the time; numbers from `first` on
/// came later, and may be found.
pub(super) fn check_found(
    mut found: Vec<u64>,
    mut expected: Vec<u64>,
    first: u64,
) -> Result<(), TestCaseError> {
    let count = found.len();
    found.sort_unstable();
    found.dedup();
    prop_assert_eq!(count, found.len(), "found twice");
    found.retain(|number| *number < first);
    expected.sort_unstable();
    prop_assert_eq!(found, expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_row_is_found_beside_writers_and_after_crashes(
        seed: u64, count in 0u64..3_000, of_scopes in 1u64..6, beside: bool,
    ) {
        let mut random = Random(seed);
        let (memory, rows) = crashed_index(&mut random, count, of_scopes);
        check_structure(&memory, &rows);
        if random.below(2) == 0 {
            memory.remember();
        }
        if beside {
            write_beside(&memory, random.clone(), count, of_scopes);
        }
        for i in 0..12 {
            let (query, radius) = (random.fingerprint(), [0, 3, 8, 10, 12, 20, 64][i % 7]);
            let (scopes, has) = scopes(i as u64);
            let expected = distances(&rows, &has, query).filter(|(distance, _)| *distance <= radius);
            let expected = expected.map(|(_, number)| number).collect();
            check_found(within(&memory, scopes, query, radius), expected, count)?;
        }
        let nulls = rows.iter().filter(|(_, row)| row.fingerprint.is_none());
        let state = memory.state();
        let (mut search, mut found) = (NullSearch::new(Scopes::All), Vec::new());
        let reader = IndexReader::new(&memory, &state);
        while search.step(&reader, |tid| found.push(number(tid))).is_some() {}
        check_found(found, nulls.map(|(number, _)| *number).collect(), count)?;
    }

    #[test]
    fn the_nearest_come_first_beside_writers(
        seed: u64, count in 0u64..2_000, of_scopes in 1u64..6, beside: bool,
        limit in prop_oneof![1usize..50, 100_000usize..100_001],
    ) {
        let mut random = Random(seed);
        let (memory, rows) = crashed_index(&mut random, count, of_scopes);
        if beside {
            write_beside(&memory, random.clone(), count, of_scopes);
        }
        for kind in 0..2 {
            let query = random.fingerprint();
            let (scopes, has) = scopes(kind);
            let found = nearest(&memory, scopes, query, limit);
            prop_assert!(found.is_sorted_by_key(|(distance, _)| *distance));
            let expected: Vec<(u32, u64)> = distances(&rows, &has, query).collect();
            let known = found.iter().filter(|(_, number)| rows.contains_key(number));
            prop_assert!(known.clone().all(|found| expected.contains(found)));
            let numbers = found.iter().map(|(_, number)| *number).collect();
            check_found(numbers, expected.into_iter().map(|(_, number)| number).collect(), count)?;
        }
    }

    #[test]
    fn removed_rows_are_gone_and_the_others_stay(seed: u64, count in 0u64..2_000, divisor in 1u64..5) {
        let mut random = Random(seed);
        let (memory, mut rows) = crashed_index(&mut random, count, 3);
        let is_dead = |tid: Tid| number(tid).is_multiple_of(divisor);
        let stamp = super::read_meta(&memory).page_stamp();
        let mut block = 1;
        while let Some(page) = memory.page(block) {
            if special::kind_of(&page, stamp).is_ok_and(|kind| kind.level == 0) {
                let page = <&Memory>::exclusive((&memory).pin(block));
                let mut page = Locked { block, page };
                let alive = |keys: &[_]| keys.iter().copied().filter(|key: &Position| !is_dead(key.tid)).collect();
                let before = leaf::count(&page);
                let (_, postings, removed) = remove::clean::<&Memory>(&mut page, stamp, alive).unwrap();
                prop_assert_eq!((postings, leaf::count(&page)), (before, before - removed));
            }
            block += 1;
        }
        rows.retain(|number, _| !is_dead(tid(*number)));
        check_structure(&memory, &rows);
        let query = random.fingerprint();
        let expected = distances(&rows, |_| true, query).filter(|(distance, _)| *distance <= 10);
        check_found(within(&memory, Scopes::All, query, 10), expected.map(|(_, number)| number).collect(), count)?;
    }
}

#[test]
fn splits_that_crashes_left_unfinished_are_finished_by_later_inserts() {
    let mut random = Random(1);
    let (memory, mut rows) = (Memory::default(), Rows::new());
    let unfinished = |memory: &Memory| {
        let stamp = super::read_meta(memory).page_stamp();
        let is_open =
            |page: &Page| special::kind_of(page, stamp).is_ok() && special::is_incomplete(page);
        let pages = (1..).map_while(|block| memory.page(block));
        pages.filter(|page| is_open(page)).count()
    };
    let mut number = 0;
    while unfinished(&memory) < 3 {
        let row = random.row(2);
        memory.crash_after(1);
        if try_to_add(&memory, number, row) {
            rows.insert(number, row);
        }
        number += 1;
    }
    memory.never_crash();
    check_structure(&memory, &rows);
    // Every leaf is split again.
    for number in number..number + 9_000 {
        let row = random.row(2);
        add(&memory, number, row);
        rows.insert(number, row);
    }
    check_structure(&memory, &rows);
    assert_eq!(unfinished(&memory), 0);
}

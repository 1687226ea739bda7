//! Rows in progress, on a memory of their own: who waits for whom, and that all room is given back.
//! `schedules` has sessions that store rows in an order drawn at random.

mod schedules;

use std::collections::{BTreeMap, BTreeSet};

use super::memory::{HEADER, Memory, Run};
use super::rows::SECOND;
use super::*;

/// Words that tests can look at.
struct TestMemory {
    header: [u64; HEADER],
    runs: BTreeMap<Run, Vec<u64>>,
    next: Run,
    left: usize,
}

impl TestMemory {
    fn with_room(words: usize) -> Self {
        Self {
            header: [0; HEADER],
            runs: BTreeMap::new(),
            next: 1,
            left: words,
        }
    }
}

impl Memory for TestMemory {
    fn header(&mut self) -> &mut [u64; HEADER] {
        &mut self.header
    }

    fn allocate(&mut self, words: usize, zeros: usize) -> Option<Run> {
        self.left = self.left.checked_sub(words)?;
        self.next += 1;
        let mut run = vec![!0; words];
        run[words - zeros..].fill(0);
        self.runs.insert(self.next, run);
        Some(self.next)
    }

    fn free(&mut self, run: Run) {
        self.left += self
            .runs
            .remove(&run)
            .expect("a run that is allocated")
            .len();
    }

    fn words(&mut self, run: Run) -> &mut [u64] {
        self.runs.get_mut(&run).expect("a run that is allocated")
    }
}

const SESSIONS: usize = 6;
const PREPARED: usize = 2;
const AMPLE: usize = 10_000_000;

fn in_progress(room: usize) -> InProgress<TestMemory> {
    let most = SESSIONS + PREPARED;
    let fixed = most * slot::WORDS + most + PREPARED;
    InProgress::new(TestMemory::with_room(fixed + room), [SESSIONS, PREPARED]).expect("room")
}

fn row(fingerprint: u64, place: u32, radius: u32) -> Compared {
    row_of(Hash::Fingerprint(fingerprint), place, radius)
}

fn row_of(hash: Hash, place: u32, radius: u32) -> Compared {
    Compared {
        hash,
        place,
        table: 1 + place % 2,
        radius,
    }
}

fn writer(slot: usize) -> Writer {
    Writer {
        slot,
        transaction: 100 + slot as u32,
        subtransaction: 100 + slot as u32,
        role: 10,
    }
}

fn waits<T>((_, waits): &(T, Vec<Wait>)) -> Vec<u32> {
    waits.iter().map(|wait| wait.transaction).collect()
}

/// Enters rows and searches for those to wait for.
fn enter(
    all: &mut InProgress<TestMemory>,
    by: Writer,
    rows: &[Compared],
    key: Key,
    is_running: impl Fn(u32) -> bool,
) -> (Entered, Vec<Wait>) {
    let entered = all.enter(by, rows, key);
    let mut search = Search::for_entered(&by, rows, &entered);
    while !all.search(&mut search, &is_running) {}
    (entered, search.waits)
}

fn claim(
    all: &mut InProgress<TestMemory>,
    by: Writer,
    rows: &[Compared],
    ended: u64,
) -> (bool, Vec<Wait>) {
    let mut search = Search::for_claim(&by, rows);
    loop {
        if let Some(entered) = all.claim(by, &mut search, ended, |_| true) {
            return (entered.is_some(), search.waits);
        }
    }
}

fn withdraw(all: &mut InProgress<TestMemory>, of: usize, left: usize) {
    while !all.withdraw(of, left) {}
}

fn end(all: &mut InProgress<TestMemory>, of: usize) {
    while !all.end(of) {}
}

fn near(a: &Compared, b: &Compared) -> bool {
    let bits = |(a, b): (&u64, &u64)| (a ^ b).count_ones();
    a.place == b.place
        && a.hash.len() == b.hash.len()
        && a.hash.iter().zip(b.hash.iter()).map(bits).sum::<u32>() <= a.radius
}

#[test]
fn the_later_of_two_near_rows_waits_and_says_for_which() {
    let mut all = in_progress(AMPLE);
    let first = enter(
        &mut all,
        writer(0),
        &[row(0, 2, 3)],
        Key::new("one"),
        |_| true,
    );
    assert!(first.1.is_empty() && (first.0.before, first.0.now) == (0, 1));
    let second = enter(
        &mut all,
        writer(1),
        &[row(7, 2, 3)],
        Key::new("two"),
        |_| true,
    );
    assert_eq!(
        second.1,
        [Wait {
            transaction: 100,
            key: Key::new("one")
        }]
    );
    // Another scope, another bit too many, a transaction that has ended.
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(2),
            &[row(0, 4, 3)],
            Key::default(),
            |_| true
        )),
        [0; 0]
    );
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(3),
            &[row(!0 << 4, 2, 3)],
            Key::default(),
            |_| true
        )),
        [0; 0]
    );
    end(&mut all, 0);
    end(&mut all, 1);
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(4),
            &[row(1, 2, 3)],
            Key::default(),
            |_| true
        )),
        [0; 0]
    );
}

#[test]
fn rows_that_wait_already_are_passed_over() {
    let mut all = in_progress(AMPLE);
    enter(&mut all, writer(0), &[row(0, 2, 3)], Key::default(), |_| {
        true
    });
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(1),
            &[row(1, 2, 3)],
            Key::default(),
            |_| true
        )),
        [100]
    );
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(0),
            &[row(3, 2, 3)],
            Key::default(),
            |_| true
        )),
        [0; 0]
    );
    // Not when the row that it waits for is withdrawn.
    withdraw(&mut all, 0, 0);
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(0),
            &[row(3, 2, 3)],
            Key::default(),
            |_| true
        )),
        [101]
    );
}

#[test]
fn a_row_that_is_left_out_stays_while_others_wait_for_it() {
    let mut all = in_progress(AMPLE);
    let rows = [row(0, 2, 3)];
    enter(
        &mut all,
        writer(0),
        &[row(!0, 2, 3)],
        Key::default(),
        |_| true,
    );
    let entered = enter(&mut all, writer(0), &rows, Key::default(), |_| true);
    enter(
        &mut all,
        writer(1),
        &[row(!0 << 9, 2, 3)],
        Key::default(),
        |_| true,
    );
    all.leave_out(0, &entered.0);
    assert_eq!(all.count(0), 1);
    let entered = enter(&mut all, writer(0), &rows, Key::default(), |_| true);
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(1),
            &[row(1, 2, 3)],
            Key::default(),
            |_| true
        )),
        [100]
    );
    all.leave_out(0, &entered.0);
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(0),
            &[row(3, 2, 3)],
            Key::default(),
            |_| true
        )),
        [0; 0]
    );
    // Nor when the session has entered others since.
    all.leave_out(0, &entered.0);
    assert_eq!(all.count(0), 3);
}

#[test]
fn rows_are_entered_in_pieces_that_do_not_grow_with_the_statement() {
    for (count, parts, sizes) in [
        (1024, 1, vec![1024]),
        (2500, 1, vec![1024, 1024, 452]),
        (600, 4, vec![256, 256, 88]),
        (0, 1, vec![]),
    ] {
        let hash = |i: u64| Hash::Parts((0..parts).map(|part| i << 8 | part).collect());
        let rows: Vec<_> = (0..count).map(|i| row_of(hash(i), 2, 0)).collect();
        let found: Vec<_> = pieces(&rows).map(<[_]>::len).collect();
        assert_eq!(found, sizes);
        let together = pieces(&rows).flatten().map(|row| &row.hash);
        assert!(together.eq(rows.iter().map(|row| &row.hash)));
    }
}

#[test]
fn a_writer_that_has_to_wait_claims_nothing() {
    let mut all = in_progress(AMPLE);
    let claimed = |all: &mut InProgress<TestMemory>, slot, rows: &[Compared]| {
        let ended = all.ended();
        waits(&claim(all, writer(slot), rows, ended))
    };
    let [x, y] = [1, 2].map(|id| row(id, 2, 0));
    let both = [y.clone(), x.clone()];
    assert!(claimed(&mut all, 0, std::slice::from_ref(&x)).is_empty());
    assert_eq!(claimed(&mut all, 1, &both), [100]);
    assert_eq!(all.count(1), 0);
    // So the first may have the other one, too.
    assert!(claimed(&mut all, 0, std::slice::from_ref(&y)).is_empty());
    assert_eq!(
        [x, row(3, 2, 0), y].map(|row| all.has_entered(0, &row)),
        [true, false, true]
    );
    // Once somebody has ended, what was read before may be wrong.
    let before = all.ended();
    end(&mut all, 0);
    assert!(!claim(&mut all, writer(1), &both, before).0 && all.count(1) == 0);
    assert!(claim(&mut all, writer(1), &both, before + 1).0 && all.count(1) == 2);
}

#[test]
fn a_prepared_transaction_is_waited_for_until_it_ends() {
    let mut all = in_progress(AMPLE);
    for session in 0..PREPARED {
        enter(
            &mut all,
            writer(session),
            &[row(0, 2 + session as u32 * 2, 3)],
            Key::default(),
            |_| true,
        );
        assert_eq!(all.prepare(session, |_| true), Some(SESSIONS + session));
    }
    assert_eq!(all.prepare(3, |_| true), None);
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(0),
            &[row(1, 2, 3)],
            Key::default(),
            |_| true
        )),
        [100]
    );
    end(&mut all, 0);
    let ended = |transaction| transaction != 100;
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(1),
            &[row(1, 2, 3)],
            Key::default(),
            ended
        )),
        [0; 0]
    );
    assert_eq!(all.prepare(1, ended), Some(SESSIONS));
}

#[test]
fn earlier_transactions_are_known_until_they_end() {
    let mut all = in_progress(AMPLE);
    assert!(!all.knows_earlier());
    all.set_earlier(&[7, 8]);
    all.set_earlier(&[9]);
    assert!(all.knows_earlier());
    assert_eq!(all.earlier(|_| true), [7, 8]);
    assert_eq!(all.earlier(|transaction| transaction == 8), [8]);
    assert_eq!(all.earlier(|_| false), [0; 0]);
    assert!(all.knows_earlier());
}

#[test]
fn beyond_its_room_a_transaction_has_its_tables_whole() {
    let mut all = in_progress(0);
    for i in 0..slot::FIRST as u64 {
        assert!(
            enter(
                &mut all,
                writer(0),
                &[row(i << 32, 2, 3)],
                Key::default(),
                |_| true
            )
            .0
            .became_whole
            .is_none()
        );
    }
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(1),
            &[row(!0, 2, 3)],
            Key::default(),
            |_| true
        )),
        [0; 0]
    );
    assert!(
        enter(&mut all, writer(0), &[row(5, 2, 3)], Key::default(), |_| {
            true
        })
        .0
        .became_whole
        .is_some()
    );
    // A row like no other of the table waits, one of another table does not.
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(2),
            &[row(!0 << 9, 4, 3)],
            Key::default(),
            |_| true
        )),
        [100]
    );
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(3),
            &[row(5, 3, 3)],
            Key::default(),
            |_| true
        )),
        [0; 0]
    );
    // It waits for a row that was there before, and not for one that waits for it.
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(0),
            &[row(!0, 2, 3)],
            Key::default(),
            |_| true
        )),
        [101]
    );
    assert_eq!(
        waits(&enter(
            &mut all,
            writer(0),
            &[row(!0 << 9, 4, 3)],
            Key::default(),
            |_| true
        )),
        [0; 0]
    );
    for table in 2..8 {
        let compared = Compared {
            hash: Hash::Fingerprint(0),
            place: 90 + table,
            table,
            radius: 0,
        };
        enter(&mut all, writer(0), &[compared], Key::default(), |_| true);
    }
    // More tables than a slot has room for: all.
    let other = [Compared {
        hash: Hash::Fingerprint(0),
        place: 99,
        table: 99,
        radius: 0,
    }];
    assert_eq!(
        waits(&enter(&mut all, writer(4), &other, Key::default(), |_| {
            true
        })),
        [100]
    );
    end(&mut all, 0);
    assert_eq!(
        waits(&enter(&mut all, writer(5), &other, Key::default(), |_| {
            true
        })),
        [104]
    );
}

#[test]
fn all_room_is_given_back() {
    let mut all = in_progress(AMPLE);
    let before = all.0.left;
    let (first, second) = (slot::FIRST as u64, (slot::FIRST + SECOND) as u64);
    for count in [1, first, first + 1, second, second + 1, 70_000] {
        for i in 0..count {
            enter(&mut all, writer(0), &[row(i, 2, 3)], Key::default(), |_| {
                true
            });
        }
        end(&mut all, 0);
        assert_eq!(all.0.left, before, "{count} rows");
    }
    for _ in 0..2 {
        for i in 0..2000 {
            enter(&mut all, writer(0), &[row(i, 2, 3)], Key::default(), |_| {
                true
            });
        }
        assert!(all.0.left < before);
        withdraw(&mut all, 0, slot::FIRST);
        assert_eq!(all.0.left, before);
    }
}

#[test]
fn long_hashes_wait_as_a_whole() {
    let mut all = in_progress(AMPLE);
    let long = |parts: &[u64]| [row_of(Hash::Parts(parts.into()), 2, 5)];
    let enter_long = |all: &mut InProgress<TestMemory>, slot, parts: &[u64]| {
        enter(all, writer(slot), &long(parts), Key::new("long"), |_| true)
    };
    assert_eq!(enter_long(&mut all, 0, &[1, 2, 3]).0.now, 3);
    // Two equal parts, but six bits off in the third.
    assert!(enter_long(&mut all, 1, &[1, 2, 3 ^ 0x3F]).1.is_empty());
    // Five bits, in one part or in all.
    assert_eq!(waits(&enter_long(&mut all, 2, &[1 ^ 0x1F, 2, 3])), [100]);
    assert_eq!(
        waits(&enter_long(&mut all, 3, &[1 ^ 3, 2 ^ 1, 3 ^ 0xC0])),
        [100]
    );
    // The same parts in another order, or fewer of them.
    assert!(enter_long(&mut all, 4, &[!2, 3, 1]).1.is_empty());
    assert!(enter_long(&mut all, 5, &[1, 2]).1.is_empty());
    assert!(all.has_entered(0, &long(&[1, 2, 3])[0]));
    assert!(!all.has_entered(0, &long(&[1, 2, 2])[0]));
}

#[test]
fn a_long_hash_has_room_for_all_parts_or_none() {
    let mut all = in_progress(0);
    let long = [row_of(Hash::Parts([7; 3].into()), 2, 3)];
    enter(&mut all, writer(0), &long, Key::default(), |_| true);
    let (entered, _) = enter(&mut all, writer(0), &long, Key::default(), |_| true);
    assert!(entered.became_whole.is_some() && (entered.before, entered.now) == (3, 3));
}

#[test]
fn keys_are_cut_where_the_room_ends() {
    for length in [0, 1, 39, 40, 200] {
        let text = "k".repeat(length);
        assert_eq!(Key::new(&text).text(), text[..length.min(39)]);
    }
    assert_eq!(Key::new(&"é".repeat(30)).text(), "é".repeat(19));
}

//! For whom a transaction waits before it searches for rows. The extension calls [`InProgress::search`]
//! with the memory alone, gives the memory back, and calls it again until it has ended: each call
//! takes a fraction of a millisecond, whatever others have entered.
//!
//! **Why nothing is missed between two calls.** A row is entered before it is searched for, so what
//! others enter meanwhile has a greater ticket and sees it. What they withdraw meanwhile is not
//! stored, or is seen by a new snapshot. A session that prepares its transaction moves its rows to
//! another slot: the slots of prepared transactions are looked up and read when those of all
//! sessions have been. A row that is claimed is not entered yet, so what others have entered
//! meanwhile is searched again, until a search has nothing new.
//!
//! A row counts as near if its whole hash is within the radius, never for one part alone.

use crate::in_progress::memory::{KEY, Key, Memory, header, slot};
use crate::in_progress::rows::{self, ROW, Row, RunPlace};
use crate::in_progress::{Compared, Entered, InProgress, Wait, Writer, table_bit};
use simhash_hamming::parts::Hash;

/// Work of one call, in nanoseconds as a guess ([`super::rows::candidates`]).
const MOST_WORK: u64 = if cfg!(test) { 20 } else { 150_000 };

/// What is left of a search between two calls.
pub struct Search<'a> {
    own: usize,
    rows: &'a [Compared],
    /// Rows of others count if their tickets are between these.
    after: u64,
    before: u64,
    /// The last ticket at the first call.
    upto: u64,
    /// The slots to read; None before the first call.
    slots: Option<Vec<usize>>,
    /// Whether those of prepared transactions are among them.
    has_prepared: bool,
    /// The slot, the row and the run that are read next.
    at: [usize; 3],
    /// Near rows of a slot for which the own ones are still to be read, and the row each is near to.
    found: Vec<(usize, NearRow)>,
    /// The own run that is read next for the last one.
    own_run: usize,
    /// Those to wait for, each once.
    pub waits: Vec<Wait>,
}

impl<'a> Search<'a> {
    /// For rows that a writer has entered.
    pub fn for_entered(by: &Writer, rows: &'a [Compared], entered: &Entered) -> Self {
        Self::new(by.slot, rows, entered.first_ticket)
    }

    /// For rows that a writer claims ([`InProgress::claim`]).
    pub fn for_claim(by: &Writer, rows: &'a [Compared]) -> Self {
        Self::new(by.slot, rows, u64::MAX)
    }

    fn new(own: usize, rows: &'a [Compared], before: u64) -> Self {
        Self {
            own,
            rows,
            after: 0,
            before,
            upto: 0,
            slots: None,
            has_prepared: false,
            at: [0; 3],
            found: Vec::new(),
            own_run: 0,
            waits: Vec::new(),
        }
    }

    fn is_known(&self, transaction: u32) -> bool {
        (self.waits.iter()).any(|wait| wait.transaction == transaction)
    }
}

impl<M: Memory> InProgress<M> {
    /// Goes on with a search. Returns whether it has ended. `is_running` tells whether a transaction
    /// is.
    pub fn search(&mut self, search: &mut Search<'_>, is_running: impl Fn(u32) -> bool) -> bool {
        if search.slots.is_none() {
            self.forget_prepared(is_running);
            search.upto = self.0.header()[header::TICKET];
            let sessions = self.header(header::SESSIONS);
            search.slots = Some(self.slots_since(search, |slot| slot < sessions));
        }
        let mut work = 0;
        while work < MOST_WORK {
            let step = match search.found.last() {
                Some(_) => Some(self.settle(search)),
                None => self.read_next(search),
            };
            let Some(step) = step else {
                return true;
            };
            work += step;
        }
        false
    }

    /// Goes on with the search for rows that the writer need not hold before it waits, no more than one
    /// of [`pieces`](super::pieces). They are entered together, if there is nobody to wait for and the
    /// number of [`InProgress::ended`] is still this one. So two writers that claim rows never wait for
    /// each other because of these. None when it has to be called again, and `Some(None)` if nothing
    /// was entered.
    pub fn claim(
        &mut self,
        by: Writer,
        search: &mut Search<'_>,
        ended: u64,
        is_running: impl Fn(u32) -> bool,
    ) -> Option<Option<Entered>> {
        loop {
            if !self.search(search, &is_running) {
                return None;
            }
            if ended != self.ended() || !search.waits.is_empty() {
                return Some(None);
            }
            if self.0.header()[header::TICKET] == search.upto {
                return Some(Some(self.enter(by, search.rows, Key::default())));
            }
            // What others have entered since the first call is still to be read.
            *search = Search {
                after: search.upto,
                ..Search::for_claim(&by, search.rows)
            };
        }
    }

    /// The slots of transactions that have entered something that counts, by their numbers.
    fn slots_since(&mut self, search: &Search<'_>, counts: impl Fn(usize) -> bool) -> Vec<usize> {
        let is_wanted = |&i: &usize| i != search.own && counts(i);
        (self.used_slots().into_iter().filter(is_wanted))
            .filter(|&i| self.get(i, slot::LAST) > search.after)
            .collect()
    }

    /// Reads the next run, and returns how much work it was; None at the end.
    fn read_next(&mut self, search: &mut Search<'_>) -> Option<u64> {
        let [at, row, run] = search.at;
        let Some(&of) = search.slots.as_ref().and_then(|slots| slots.get(at)) else {
            if std::mem::replace(&mut search.has_prepared, true) {
                return None;
            }
            let sessions = self.header(header::SESSIONS);
            let prepared = self.slots_since(search, |slot| slot >= sessions);
            search.slots.get_or_insert_default().extend(prepared);
            return Some(1);
        };
        let transaction = self.get(of, slot::TRANSACTION) as u32;
        let Some(sought) = search
            .rows
            .get(row)
            .filter(|_| !search.is_known(transaction))
        else {
            search.at = [at + 1, 0, 0];
            return Some(5);
        };
        if self.get(of, slot::TABLES) & table_bit(sought.table) == 0 {
            search.at = [at, row + 1, 0];
            return Some(5);
        }
        // If this transaction has entered the whole table, what others have entered since waits for
        // it: it must not wait for them.
        let own_whole = self.whole_since(search.own, sought.table);
        let waits_for_own = |ticket: u64| own_whole.is_some_and(|since| since < ticket);
        if let Some(since) = self.whole_since(of, sought.table)
            && (since < search.before || self.has_all_tables(of))
            && !waits_for_own(since)
        {
            self.add_wait(
                search,
                of,
                Wait {
                    transaction,
                    key: Key::default(),
                },
            );
            return Some(5);
        }
        let mut near = Vec::new();
        let work = self.near_in_run(of, run, sought, &mut |found| near.push(found));
        search.at = match work {
            Some(_) => [at, row, run + 1],
            None => [at, row + 1, 0],
        };
        near.retain(|found| {
            let counts = (search.after + 1..search.before).contains(&found.ticket);
            // One row of a transaction is enough to wait for it.
            counts && !waits_for_own(found.ticket) && !search.is_known(found.transaction)
        });
        search
            .found
            .extend(near.into_iter().rev().map(|found| (row, found)));
        Some(work.unwrap_or(5))
    }

    /// Reads an own run for the last row that was found: a row near an earlier one of the own
    /// transaction waits for that already.
    fn settle(&mut self, search: &mut Search<'_>) -> u64 {
        let Some((row, found)) = search.found.last() else {
            return 0;
        };
        let (transaction, key) = (found.transaction, found.key);
        let sought = Compared {
            hash: found.hash.clone(),
            ..search.rows[*row].clone()
        };
        let ticket = found.ticket;
        let mut waits = false;
        let work = self.near_in_run(search.own, search.own_run, &sought, &mut |own| {
            waits |= own.ticket < ticket;
        });
        search.own_run += 1;
        if waits || work.is_none() {
            search.own_run = 0;
            search.found.pop();
        }
        if work.is_none() {
            let of = search
                .slots
                .as_ref()
                .and_then(|slots| slots.get(search.at[0]));
            if let Some(&of) = of {
                self.add_wait(search, of, Wait { transaction, key });
            }
            search
                .found
                .retain(|(_, found)| found.transaction != transaction);
        }
        work.unwrap_or(5)
    }

    fn add_wait(&mut self, search: &mut Search<'_>, of: usize, wait: Wait) {
        search.waits.push(wait);
        let ticket = search.before.min(self.0.header()[header::TICKET] + 1);
        let waited_for = self.get(of, slot::WAITED_FOR).max(ticket);
        self.set(of, slot::WAITED_FOR, waited_for);
    }
}

/// A row that a transaction has entered.
pub(super) struct NearRow {
    pub hash: Hash,
    /// The transaction or subtransaction that stores it.
    pub transaction: u32,
    pub ticket: u64,
    /// Empty where it is not kept.
    pub key: Key,
}

impl<M: Memory> InProgress<M> {
    /// Calls `found` with the near rows that begin in a run or reach into it, each once. Returns how
    /// much work it was, as [`rows::candidates`] does; None when a transaction has no such run.
    pub(super) fn near_in_run(
        &mut self,
        of: usize,
        run: usize,
        sought: &Compared,
        found: &mut impl FnMut(NearRow),
    ) -> Option<u64> {
        let place = RunPlace::new(run)?;
        let count = self.count(of).checked_sub(place.start).filter(|&n| n > 0)?;
        let count = count.min(place.room);
        let words = self.run_words(of, run);
        let mut firsts: Vec<usize> = Vec::new();
        let work = rows::candidates(words, count, place.is_filed(), sought, &mut |i, part| {
            firsts.extend((place.start + i).checked_sub(part));
        });
        firsts.sort_unstable();
        firsts.dedup();
        let work = work + (firsts.len() * (20 + 2 * sought.hash.len())) as u64;
        for first in firsts {
            if let Some(row) = self.near_at(of, first, sought) {
                found(row);
            }
        }
        Some(work)
    }

    /// Returns the row whose parts begin at number `first`, if it is near. None where others stand
    /// beside that part, too: two places can have one number.
    fn near_at(&mut self, of: usize, first: usize, sought: &Compared) -> Option<NearRow> {
        let mut left = sought.radius;
        let mut begins: Option<Row> = None;
        let is_near = self.all_parts(of, first, sought.hash.len(), |part, row| {
            let begins = begins.get_or_insert(row);
            let bits = (row.fingerprint ^ sought.hash[part]).count_ones();
            let fits = row.ticket == begins.ticket && bits <= left;
            left = left.saturating_sub(bits);
            fits
        });
        let begins = begins.filter(|_| is_near)?;
        let mut parts = Vec::new();
        if sought.hash.len() > 1 {
            self.all_parts(of, first, sought.hash.len(), |_, row| {
                parts.push(row.fingerprint);
                true
            });
        }
        Some(NearRow {
            hash: match parts.is_empty() {
                true => Hash::Fingerprint(begins.fingerprint),
                false => Hash::Parts(parts.into()),
            },
            transaction: begins.transaction,
            ticket: begins.ticket,
            key: self.key(of, first),
        })
    }

    /// Calls `read` with what a transaction has entered from number `first` on, as long as it returns
    /// true. Returns whether it always did.
    fn all_parts(
        &mut self,
        of: usize,
        first: usize,
        parts: usize,
        mut read: impl FnMut(usize, Row) -> bool,
    ) -> bool {
        let end = first + parts;
        let mut next = first;
        if end > self.count(of) {
            return false;
        }
        while next < end {
            let Some(run) = RunPlace::of_row(next) else {
                return false;
            };
            let upto = end.min(run.start + run.room);
            let words = self.run_words(of, run.number);
            if !(next..upto).all(|i| read(i - first, rows::get_row(words, i - run.start))) {
                return false;
            }
            next = upto;
        }
        true
    }

    /// The words of a run that the transaction has.
    pub(super) fn run_words(&mut self, of: usize, run: usize) -> &mut [u64] {
        match run {
            0 => &mut self.slot(of)[slot::ROWS..][..slot::FIRST * ROW],
            _ => {
                let run = self.get(of, slot::RUNS + run - 1);
                self.0.words(run)
            }
        }
    }

    /// Returns the key with which number `i` was entered, if it is kept.
    fn key(&mut self, of: usize, i: usize) -> Key {
        match i < slot::FIRST {
            true => Key(std::array::from_fn(|word| {
                self.get(of, slot::KEYS + i * KEY + word)
            })),
            false => Key::default(),
        }
    }
}

//! The rows of one run of a transaction that are near a given one. [`super::search`] asks run by run.
//! A row counts here if its whole hash is within the radius, never for one part alone.

use super::key::{KEY, Key};
use super::memory::{Memory, slot};
use super::rows::{self, ROW, Row, RunPlace};
use super::{Compared, InProgress};
use simhash_hamming::parts::Hash;

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

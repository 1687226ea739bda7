//! What others have entered near a row, and for whom it waits. [`super`] asks when a row is entered,
//! claimed or left out, and says there why this suffices. A row counts here if its whole hash is
//! within the radius, never for one part alone.

use super::key::{KEY, Key};
use super::memory::{Memory, header, slot};
use super::rows::{self, Row, Sought};
use super::{Compared, InProgress, Wait, runs, table_bit};
use simhash_hamming::parts::{Hash, distance};

/// A row that another transaction has entered.
pub(super) struct NearRow {
    pub hash: Hash,
    /// The transaction or subtransaction that stores it.
    pub transaction: u32,
    pub ticket: u64,
    /// Empty where it is not kept.
    pub key: Key,
}

impl<M: Memory> InProgress<M> {
    /// Those for which a session has to wait before it searches for these rows.
    pub(super) fn waits(
        &mut self,
        own: usize,
        rows: &[Compared],
        is_running: impl Fn(u32) -> bool,
    ) -> Vec<Wait> {
        let mut waits = Vec::new();
        self.forget_prepared(is_running);
        for i in 0..self.header(header::USED_COUNT) {
            let other = self.used()[i] as usize;
            if other != own {
                for row in rows {
                    self.add_waits(own, other, row, &mut waits);
                }
            }
        }
        waits
    }

    /// Adds those of the transaction in `other` for which a row of the one in `own` has to wait.
    fn add_waits(&mut self, own: usize, other: usize, row: &Compared, waits: &mut Vec<Wait>) {
        let own_whole = self.whole_since(own, row.table);
        // If this transaction has entered the whole table, what others have entered since waits for
        // it: it must not wait for them.
        let waits_for_own = |ticket: u64| own_whole.is_some_and(|since| since < ticket);
        let is_known = |waits: &[Wait], transaction| {
            (waits.iter()).any(|wait| wait.transaction == transaction)
        };
        if let Some(since) = self.whole_since(other, row.table)
            && !waits_for_own(since)
        {
            let transaction = self.get(other, slot::TRANSACTION) as u32;
            if !is_known(waits, transaction) {
                let key = Key::default();
                waits.push(Wait { transaction, key });
            }
        }
        for found in self.near_rows(other, row) {
            // One row of a transaction is enough to wait for it: others need the memory meanwhile.
            if waits_for_own(found.ticket) || is_known(waits, found.transaction) {
                continue;
            }
            let sought = Compared {
                hash: found.hash,
                ..row.clone()
            };
            let own_rows = self.near_rows(own, &sought);
            if own_rows.iter().all(|own| own.ticket > found.ticket) {
                waits.push(Wait {
                    transaction: found.transaction,
                    key: found.key,
                });
            }
        }
    }

    /// Returns the near rows of a transaction. One may be among them several times.
    pub(super) fn near_rows(&mut self, of: usize, sought: &Compared) -> Vec<NearRow> {
        if self.get(of, slot::TABLES) & table_bit(sought.table) == 0 {
            return Vec::new();
        }
        let parts = sought.hash.len();
        let mut near = Vec::new();
        for part in 0..parts {
            let Some(one) = Sought::part(sought, part) else {
                continue;
            };
            for (i, row) in self.near_parts(of, one) {
                let hash = match parts {
                    1 => Some(Hash::Fingerprint(row.fingerprint)),
                    _ => self.hash_around(of, i, part, parts, row.ticket),
                };
                if let Some(hash) = hash
                    && distance(&hash, &sought.hash) <= sought.radius
                {
                    near.push(NearRow {
                        hash,
                        transaction: row.transaction,
                        ticket: row.ticket,
                        key: self.key(of, i),
                    });
                }
            }
        }
        near
    }

    /// Returns the near parts of a transaction's rows, and their numbers.
    fn near_parts(&mut self, of: usize, sought: Sought) -> Vec<(usize, Row)> {
        let mut near = Vec::new();
        let words = self.slot(of);
        let count = words[slot::COUNT] as usize;
        let first = &words[slot::ROWS..slot::KEYS];
        rows::near(first, count.min(slot::FIRST), sought, &mut |i, row| {
            near.push((i, row));
        });
        for (run, start, size) in runs() {
            if count <= start {
                break;
            }
            let block = self.get(of, slot::RUNS + run);
            let count = (count - start).min(size);
            let found = &mut |i, row| near.push((start + i, row));
            match run {
                0 => rows::near(self.0.words(block), count, sought, found),
                _ => rows::near_filed(self.0.words(block), count, sought, found),
            }
        }
        near
    }

    /// Returns the hash of which part `part` was entered as number `i`. None where another row is beside
    /// that part: two places can have one number.
    fn hash_around(
        &mut self,
        of: usize,
        i: usize,
        part: usize,
        parts: usize,
        ticket: u64,
    ) -> Option<Hash> {
        let first = i.checked_sub(part)?;
        let hash: Option<_> = (first..first + parts)
            .map(|i| {
                let row = self.row(of, i)?;
                (row.ticket == ticket).then_some(row.fingerprint)
            })
            .collect();
        hash.map(Hash::Parts)
    }

    /// Returns what a transaction has entered as number `i`.
    fn row(&mut self, of: usize, i: usize) -> Option<Row> {
        if i >= self.count(of) {
            return None;
        }
        if i < slot::FIRST {
            return Some(rows::get_row(&self.slot(of)[slot::ROWS..], i));
        }
        let (run, start, _) = runs().find(|(_, start, size)| i < start + size)?;
        let block = self.get(of, slot::RUNS + run);
        Some(rows::get_row(self.0.words(block), i - start))
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

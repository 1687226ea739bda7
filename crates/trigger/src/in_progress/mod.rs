//! Rows in progress: what transactions have stored and not yet committed, as fingerprints in memory
//! that all sessions share ([`memory`]). A trigger enters a row here before it looks for
//! near-duplicates of it, and waits for each transaction that has entered one near it. So it waits
//! for nothing else, and of two near rows the one that is entered later is compared with the other.
//!
//! **Why no pair is missed.** Each step here has the memory alone, so of two near rows a and b of
//! two transactions one is entered first, say a. When b is entered, a is found, or its transaction
//! has withdrawn it: since the transaction or a subtransaction was rolled back (then nothing is
//! stored), or since it has committed, after which every new snapshot shows a. If a is found, b's
//! transaction waits until a's has ended. In both cases it searches afterwards, with a new
//! snapshot, and sees a if a is stored.
//!
//! **Why unlike rows never wait.** A row waits for rows of the same *place* (a table, a column, a
//! scope) within the radius. Places are numbers of 32 bits made by hashing: rows of two places with
//! one number wait for each other only if their fingerprints are near, too.
//!
//! **Rows that wait already.** Let b be entered after a, and wait for a's transaction A. If A
//! enters another row near b, it need not wait: b is compared after A has ended. It must not, or
//! the two would wait for each other. So A passes over rows near an earlier row of its own that it
//! still has. It cannot withdraw that one alone: what was entered later is in the same
//! subtransaction, or in one that began later. A row that is not stored after all stays while a row
//! waits for it.
//!
//! So a deadlock takes two rows of each of two transactions, near each other crosswise, of which
//! each transaction has entered one before the other's.
//!
//! **Hashes of several parts.** Each part of 64 bits is entered as a row is, in a place of its own,
//! and all parts of a row together. Two hashes within the radius have a part in which they are
//! within [`part_radius`](simhash_hamming::parts::part_radius): such parts are sought. Then the
//! parts beside the one that was found are read, and the row counts only if the whole hashes are
//! within the radius. So "near" means here what the search means by it, and all of the above holds
//! as it does for one part.
//!
//! **What it takes.** A transaction's first 64 rows have room in the slot of its session, with
//! their keys, for the messages. More rows take 24 bytes each, and from 1,089 on 40 bytes; hashes
//! of four parts take four times as much. Beyond 1,180,718 parts, or when the memory of all is at
//! its bound, a transaction enters the *tables* that it writes instead of rows: from then on every
//! other row in one of them waits for it.

mod key;
pub mod memory;
mod near;
mod prepared;
mod rows;
#[cfg(test)]
mod tests;

use key::KEY;
pub use key::Key;
use memory::{Memory, header, slot};
use rows::Row;
use simhash_hamming::parts::Hash;

/// Rows of the run that follows the first rows; later ones are filed.
const SECOND: usize = if cfg!(test) { 8 } else { 1024 };
/// Runs of a transaction beside the first rows: half of what the extension gives all of them.
const MOST_RUNS: usize = 19;

/// A row, as others are compared with it.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The row's fingerprint or hash.
    pub hash: Hash,
    /// The table, the column and the scope, as [`place`] makes it.
    pub place: u32,
    /// The table and the column, as [`place`] makes it; not 0.
    pub table: u32,
    /// Bits. The same for all rows of a place.
    pub radius: u32,
}

/// Who enters rows.
#[derive(Clone, Copy)]
pub struct Writer {
    /// The slot of the session.
    pub slot: usize,
    /// The number of the transaction.
    pub transaction: u32,
    /// The running subtransaction, or the transaction itself.
    pub subtransaction: u32,
}

/// A transaction to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The transaction or subtransaction that stores a near row.
    pub transaction: u32,
    /// The key of that row.
    pub key: Key,
}

/// What [`InProgress::enter`] did.
#[derive(Debug, Default)]
pub struct Entered {
    /// Those to wait for, each once.
    pub waits: Vec<Wait>,
    /// How many rows the transaction had before.
    pub before: usize,
    /// How many it has now.
    pub now: usize,
    /// Whether from now on every other row of one of these tables waits.
    pub became_whole: bool,
    /// What others enter from now on has greater tickets.
    ticket: u64,
    /// How many transactions with rows in progress have ended ([`InProgress::ended`]).
    pub ended: u64,
}

/// A number for what these numbers stand for together; not 0.
pub fn place(parts: impl IntoIterator<Item = u64>) -> u32 {
    let hash = crate::scope::combined(parts);
    ((hash >> 32) as u32).max(1)
}

/// The rows in progress of all sessions.
pub struct InProgress<M>(M);

impl<M: Memory> InProgress<M> {
    /// Takes memory over, which may have been used before. It has a slot for each of these
    /// numbers of sessions and of prepared transactions. None when there is no room for these.
    pub fn new(mut memory: M, [sessions, prepared]: [usize; 2]) -> Option<Self> {
        if memory.header()[header::SLOTS] == 0 {
            let slots = sessions + prepared;
            let runs = [slots * slot::WORDS, slots, prepared.max(1)];
            let [slots, used, earlier] = runs.map(|words| memory.allocate(words));
            let words = memory.header();
            words[header::USED] = used?;
            words[header::EARLIER] = earlier?;
            words[header::SESSIONS] = sessions as u64;
            words[header::SLOTS] = slots?;
        }
        Some(Self(memory))
    }

    /// Enters rows of a writer, with the key of what they are made of, and returns what it has to
    /// wait for before it searches. `is_running` tells whether a transaction is.
    pub fn enter(
        &mut self,
        by: Writer,
        rows: &[Compared],
        key: Key,
        is_running: impl Fn(u32) -> bool,
    ) -> Entered {
        let waits = self.waits(by.slot, rows, is_running);
        self.add_all(by, rows, key, waits)
    }

    /// As [`Self::enter`], for rows that the writer need not hold before it waits: none is entered
    /// as long as there is anyone to wait for. Then it has to call this again. So two writers that
    /// claim rows never wait for each other because of these.
    pub fn claim(
        &mut self,
        by: Writer,
        rows: &[Compared],
        is_running: impl Fn(u32) -> bool,
    ) -> Entered {
        let waits = self.waits(by.slot, rows, is_running);
        let rows = if waits.is_empty() { rows } else { &[] };
        self.add_all(by, rows, Key::default(), waits)
    }

    /// Those of these rows that a session has not entered yet. It has waited for what is near the
    /// others, and others wait for it.
    pub fn new_rows(&mut self, of: usize, rows: &[Compared]) -> Vec<Compared> {
        let is_new = |row: &&Compared| {
            let equal = Compared {
                radius: 0,
                ..(*row).clone()
            };
            self.near_rows(of, &equal).is_empty()
        };
        rows.iter().filter(is_new).cloned().collect()
    }

    /// How many transactions with rows in progress have ended. If a session reads this number before
    /// it takes a snapshot, and the same number afterwards, none has ended that the snapshot does not
    /// show.
    pub fn ended(&mut self) -> u64 {
        self.0.header()[header::ENDED]
    }

    /// How many parts of rows a session has entered.
    pub fn count(&mut self, of: usize) -> usize {
        self.get(of, slot::COUNT) as usize
    }

    /// Withdraws rows that are not stored after all, unless the session has entered others since, or
    /// another one a row that may wait for them.
    pub fn leave_out(&mut self, of: usize, rows: &[Compared], entered: &Entered) {
        if self.count(of) != entered.now {
            return;
        }
        let mut sought = false;
        for i in 0..self.header(header::USED_COUNT) {
            let other = self.used()[i] as usize;
            for row in rows.iter().filter(|_| other != of) {
                sought |= self.whole_since(other, row.table).is_some();
                let near = self.near_rows(other, row);
                sought |= near.iter().any(|near| near.ticket > entered.ticket);
            }
        }
        if !sought {
            self.withdraw(of, entered.before);
        }
    }

    /// Withdraws the rows of a session but the first ones.
    pub fn withdraw(&mut self, of: usize, left: usize) {
        let count = self.get(of, slot::COUNT) as usize;
        for (run, start, size) in runs() {
            if start + size <= left || start >= count {
                continue;
            }
            let block = self.get(of, slot::RUNS + run);
            if start >= left {
                self.0.free(block);
                self.set(of, slot::RUNS + run, 0);
            } else if run > 0 {
                let end = count.min(start + size);
                let words = self.0.words(block);
                (left..end)
                    .rev()
                    .for_each(|i| rows::unfile(words, i - start));
            }
        }
        self.set(of, slot::COUNT, left.min(count) as u64);
    }

    /// Forgets all of a session, whose transaction has ended.
    pub fn end(&mut self, of: usize) {
        if self.get(of, slot::TRANSACTION) == 0 {
            return;
        }
        self.withdraw(of, 0);
        self.0.header()[header::ENDED] += 1;
        self.slot(of)[..slot::ROWS].fill(0);
        let count = self.header(header::USED_COUNT);
        let used = &mut self.used()[..count];
        if let Some(i) = used.iter().position(|&slot| slot == of as u64) {
            used[i] = used[count - 1];
            self.0.header()[header::USED_COUNT] = count as u64 - 1;
        }
    }

    // ---- what a session enters

    fn add_all(&mut self, by: Writer, rows: &[Compared], key: Key, waits: Vec<Wait>) -> Entered {
        self.use_slot(by.slot, by.transaction);
        let before = self.get(by.slot, slot::COUNT) as usize;
        let mut became_whole = false;
        for row in rows {
            if self.whole_since(by.slot, row.table).is_none() && !self.add_row(by, row, key) {
                self.make_whole(by.slot, row.table);
                became_whole = true;
            }
        }
        Entered {
            waits,
            before,
            now: self.get(by.slot, slot::COUNT) as usize,
            became_whole,
            ticket: self.0.header()[header::TICKET],
            ended: self.ended(),
        }
    }

    fn use_slot(&mut self, of: usize, transaction: u32) {
        if self.get(of, slot::TRANSACTION) == 0 {
            let count = self.header(header::USED_COUNT);
            self.used()[count] = of as u64;
            self.0.header()[header::USED_COUNT] = count as u64 + 1;
            self.set(of, slot::TRANSACTION, transaction.into());
        }
    }

    /// Adds all parts of a row; false, with none, when there is no room for them.
    fn add_row(&mut self, by: Writer, row: &Compared, key: Key) -> bool {
        let before = self.count(by.slot);
        self.0.header()[header::TICKET] += 1;
        let ticket = self.0.header()[header::TICKET];
        self.slot(by.slot)[slot::TABLES] |= table_bit(row.table);
        let fits = (0..row.hash.len()).all(|part| {
            let row = Row {
                fingerprint: row.hash[part],
                place: rows::place_of_part(row, part),
                transaction: by.subtransaction,
                ticket,
            };
            self.add(by, row, key)
        });
        if !fits {
            self.withdraw(by.slot, before);
        }
        fits
    }

    /// Adds a part of a row; false when there is no room for it.
    fn add(&mut self, by: Writer, row: Row, key: Key) -> bool {
        let count = self.get(by.slot, slot::COUNT) as usize;
        if count < slot::FIRST {
            let words = self.slot(by.slot);
            rows::put(&mut words[slot::ROWS..slot::KEYS], count, &row);
            words[slot::KEYS + count * KEY..][..KEY].copy_from_slice(&key.0);
        } else {
            let Some((run, start, _)) = runs().find(|(_, start, size)| count < start + size) else {
                return false;
            };
            if count == start {
                let words = match run {
                    0 => SECOND * rows::ROW,
                    _ => rows::FILED_WORDS,
                };
                let Some(block) = self.0.allocate(words) else {
                    return false;
                };
                self.set(by.slot, slot::RUNS + run, block);
            }
            let block = self.get(by.slot, slot::RUNS + run);
            let words = self.0.words(block);
            match run {
                0 => rows::put(words, count - start, &row),
                _ => rows::file(words, count - start, &row),
            }
        }
        self.set(by.slot, slot::COUNT, count as u64 + 1);
        true
    }

    /// Returns the ticket since when a transaction stores rows of this table that are not entered.
    fn whole_since(&mut self, of: usize, table: u32) -> Option<u64> {
        let words = self.slot(of);
        let tables = &words[slot::WHOLE..][..slot::MOST_WHOLE];
        let is_of = |&whole: &u64| whole == u64::from(table) || whole == ALL_TABLES;
        (words[slot::WHOLE_SINCE] > 0 && tables.iter().any(is_of))
            .then_some(words[slot::WHOLE_SINCE])
    }

    fn make_whole(&mut self, of: usize, table: u32) {
        self.0.header()[header::TICKET] += 1;
        let ticket = self.0.header()[header::TICKET];
        let words = self.slot(of);
        // The last one counts, since others had not to wait for the new table before.
        words[slot::WHOLE_SINCE] = ticket;
        let tables = &mut words[slot::WHOLE..][..slot::MOST_WHOLE];
        match tables.iter().position(|&whole| whole == 0) {
            Some(free) => tables[free] = table.into(),
            None => tables[0] = ALL_TABLES,
        }
    }

    // ---- words

    fn header(&mut self, place: usize) -> usize {
        self.0.header()[place] as usize
    }

    fn used(&mut self) -> &mut [u64] {
        let run = self.0.header()[header::USED];
        self.0.words(run)
    }

    fn slots(&mut self) -> &mut [u64] {
        let run = self.0.header()[header::SLOTS];
        self.0.words(run)
    }

    fn slot(&mut self, i: usize) -> &mut [u64] {
        &mut self.slots()[i * slot::WORDS..][..slot::WORDS]
    }

    fn get(&mut self, of: usize, place: usize) -> u64 {
        self.slot(of)[place]
    }

    fn set(&mut self, of: usize, place: usize, value: u64) {
        self.slot(of)[place] = value;
    }
}

/// Most transactions write a few tables, so that their rows need not be read for other ones.
fn table_bit(table: u32) -> u64 {
    1 << (table % u64::BITS)
}

/// Stands for all tables, where a transaction writes more than a slot has room for.
const ALL_TABLES: u64 = u64::MAX;

/// The runs after the first rows: each one's number, its first row, and how many it has room for.
fn runs() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..MOST_RUNS).map(|run| match run {
        0 => (run, slot::FIRST, SECOND),
        _ => {
            let start = slot::FIRST + SECOND + (run - 1) * rows::FILED;
            (run, start, rows::FILED)
        }
    })
}

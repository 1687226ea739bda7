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

pub mod memory;
mod prepared;
mod rows;
mod search;
#[cfg(test)]
mod tests;

pub use memory::Key;
use memory::{KEY, Memory, header, slot};
use rows::{Row, RunPlace};
pub use search::Search;
use simhash_hamming::parts::Hash;

/// Words that the runs of one role's transactions take at most: three quarters of what the extension
/// gives all of them.
const MOST_OF_ROLE: usize = 72 << 17;
/// Parts of rows that are entered or withdrawn in one call that others wait for.
const AT_ONCE: usize = 1024;

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
    /// The role that has begun the session.
    pub role: u32,
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
    /// How many rows the transaction had before.
    pub before: usize,
    /// How many it has now.
    pub now: usize,
    /// If from now on every other row of one of these tables waits: who holds most of the memory.
    pub became_whole: Option<Holder>,
    /// What others had entered before has lower tickets, what they enter from now on greater ones
    /// than the last.
    first_ticket: u64,
    last_ticket: u64,
}

/// A transaction that has rows in progress.
#[derive(Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub transaction: u32,
    /// The role that has begun the session.
    pub role: u32,
    /// Bytes that its rows take beside its slot.
    pub bytes: usize,
}

/// A number for what these numbers stand for together; not 0.
pub fn place(parts: impl IntoIterator<Item = u64>) -> u32 {
    let hash = crate::scope::combined(parts);
    ((hash >> 32) as u32).max(1)
}

/// Rows of one table in pieces that are entered in one call each: it takes a fraction of a millisecond,
/// however many rows a statement stores.
pub fn pieces(rows: &[Compared]) -> impl Iterator<Item = &[Compared]> {
    let parts = rows.first().map_or(1, |row| row.hash.len());
    rows.chunks((AT_ONCE / parts).max(1))
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
            let [slots, used, earlier] = runs.map(|words| memory.allocate(words, words));
            let words = memory.header();
            words[header::USED] = used?;
            words[header::EARLIER] = earlier?;
            words[header::SESSIONS] = sessions as u64;
            words[header::SLOTS] = slots?;
        }
        Some(Self(memory))
    }

    /// Enters rows of a writer, with the key of what they are made of. Before the writer searches for
    /// them it waits for those that a [`Search`] finds.
    pub fn enter(&mut self, by: Writer, rows: &[Compared], key: Key) -> Entered {
        if !rows.is_empty() {
            self.use_slot(by);
        }
        let first_ticket = self.0.header()[header::TICKET] + 1;
        let before = self.count(by.slot);
        let mut is_whole = false;
        for row in rows {
            if self.whole_since(by.slot, row.table).is_none() && !self.add_row(by, row, key) {
                self.make_whole(by.slot, row.table);
                is_whole = true;
            }
        }
        Entered {
            before,
            now: self.count(by.slot),
            became_whole: if is_whole { self.largest() } else { None },
            first_ticket,
            last_ticket: self.0.header()[header::TICKET],
        }
    }

    /// Returns whether a session has entered a row. Then it has waited for what is near, and others
    /// wait for it.
    pub fn has_entered(&mut self, of: usize, row: &Compared) -> bool {
        let equal = Compared {
            radius: 0,
            ..row.clone()
        };
        let mut is_there = false;
        let mut found = |_| is_there = true;
        (0..)
            .map_while(|run| self.near_in_run(of, run, &equal, &mut found))
            .count();
        is_there
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
    /// somebody waits for it, maybe because of them.
    pub fn leave_out(&mut self, of: usize, entered: &Entered) {
        let is_waited_for = self.get(of, slot::WAITED_FOR) > entered.last_ticket;
        if self.count(of) == entered.now && !is_waited_for {
            self.withdraw(of, entered.before);
        }
    }

    /// Withdraws the last ones of a session's rows until no more than `left` are left, or as many as
    /// take a fraction of a millisecond: then it returns false, and has to be called again.
    pub fn withdraw(&mut self, of: usize, left: usize) -> bool {
        let count = self.count(of);
        let Some(run) = count.checked_sub(1).and_then(RunPlace::of_row) else {
            return true;
        };
        let mut end = left.max(run.start);
        if end == run.start && run.number > 0 {
            let block = self.get(of, slot::RUNS + run.number - 1);
            self.0.free(block);
            self.set(of, slot::RUNS + run.number - 1, 0);
        } else if run.is_filed() {
            end = end.max(count.saturating_sub(AT_ONCE));
            let words = self.run_words(of, run.number);
            (end..count)
                .rev()
                .for_each(|i| rows::unfile(words, i - run.start));
        }
        self.set(of, slot::COUNT, end.min(count) as u64);
        end <= left
    }

    /// Forgets all of a session, whose transaction has ended. False when it has to be called again, as
    /// [`Self::withdraw`].
    pub fn end(&mut self, of: usize) -> bool {
        if self.get(of, slot::TRANSACTION) == 0 {
            return true;
        }
        if !self.withdraw(of, 0) {
            return false;
        }
        self.0.header()[header::ENDED] += 1;
        self.slot(of)[..slot::ROWS].fill(0);
        let count = self.header(header::USED_COUNT);
        let used = &mut self.used()[..count];
        if let Some(i) = used.iter().position(|&slot| slot == of as u64) {
            used[i] = used[count - 1];
            self.0.header()[header::USED_COUNT] = count as u64 - 1;
        }
        true
    }

    // ---- what a session enters

    fn use_slot(&mut self, by: Writer) {
        if self.get(by.slot, slot::TRANSACTION) == 0 {
            let count = self.header(header::USED_COUNT);
            self.used()[count] = by.slot as u64;
            self.0.header()[header::USED_COUNT] = count as u64 + 1;
            self.set(by.slot, slot::TRANSACTION, by.transaction.into());
            self.set(by.slot, slot::ROLE, by.role.into());
        }
    }

    fn next_ticket(&mut self, of: usize) -> u64 {
        self.0.header()[header::TICKET] += 1;
        let ticket = self.0.header()[header::TICKET];
        self.set(of, slot::LAST, ticket);
        ticket
    }

    /// Adds all parts of a row; false, with none, when there is no room for them.
    fn add_row(&mut self, by: Writer, row: &Compared, key: Key) -> bool {
        let before = self.count(by.slot);
        let ticket = self.next_ticket(by.slot);
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
            while !self.withdraw(by.slot, before) {}
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
            let Some(run) = RunPlace::of_row(count) else {
                return false;
            };
            if count == run.start {
                let has_room = self.words_of(by.role) + run.words() <= MOST_OF_ROLE;
                let block = has_room.then(|| self.0.allocate(run.words(), run.zeros()));
                let Some(block) = block.flatten() else {
                    return false;
                };
                self.set(by.slot, slot::RUNS + run.number - 1, block);
            }
            let words = self.run_words(by.slot, run.number);
            match run.is_filed() {
                true => rows::file(words, count - run.start, &row),
                false => rows::put(words, count - run.start, &row),
            }
        }
        self.set(by.slot, slot::COUNT, count as u64 + 1);
        true
    }

    /// Returns the ticket since when a transaction stores rows of this table that are not entered.
    /// That of its latest table, where it has all of them.
    fn whole_since(&mut self, of: usize, table: u32) -> Option<u64> {
        let words = self.slot(of);
        let is_of = |&whole: &u64| whole == u64::from(table) || whole == ALL_TABLES;
        let at = words[slot::WHOLE..][..slot::MOST_WHOLE]
            .iter()
            .position(is_of)?;
        Some(words[slot::WHOLE_SINCE + at])
    }

    fn has_all_tables(&mut self, of: usize) -> bool {
        self.get(of, slot::WHOLE) == ALL_TABLES
    }

    fn make_whole(&mut self, of: usize, table: u32) {
        let ticket = self.next_ticket(of);
        let words = self.slot(of);
        let tables = &mut words[slot::WHOLE..][..slot::MOST_WHOLE];
        let free = tables.iter().position(|&whole| whole == 0);
        tables[free.unwrap_or(0)] = free.map_or(ALL_TABLES, |_| table.into());
        words[slot::WHOLE_SINCE + free.unwrap_or(0)] = ticket;
        if free.is_none() {
            words[slot::TABLES] = !0;
        }
    }

    /// How many words the runs of a role's transactions take.
    fn words_of(&mut self, role: u32) -> usize {
        let used = self.used_slots().into_iter();
        used.map(|of| match self.get(of, slot::ROLE) == u64::from(role) {
            true => self.run_room(of),
            false => 0,
        })
        .sum()
    }

    /// How many words the runs of a transaction take.
    fn run_room(&mut self, of: usize) -> usize {
        let count = self.count(of);
        (1..)
            .map_while(RunPlace::new)
            .take_while(|run| run.start < count)
            .map(|run| run.words())
            .sum()
    }

    /// Who has the most memory.
    fn largest(&mut self) -> Option<Holder> {
        let used = self.used_slots().into_iter();
        let largest = used.max_by_key(|&of| self.run_room(of))?;
        Some(Holder {
            transaction: self.get(largest, slot::TRANSACTION) as u32,
            role: self.get(largest, slot::ROLE) as u32,
            bytes: self.run_room(largest) * size_of::<u64>(),
        })
    }

    // ---- words

    fn header(&mut self, place: usize) -> usize {
        self.0.header()[place] as usize
    }

    fn used(&mut self) -> &mut [u64] {
        let run = self.0.header()[header::USED];
        self.0.words(run)
    }

    /// The slots in use, by their numbers.
    fn used_slots(&mut self) -> Vec<usize> {
        let count = self.header(header::USED_COUNT);
        self.used()[..count].iter().map(|&i| i as usize).collect()
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

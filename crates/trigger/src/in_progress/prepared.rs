//! Prepared transactions, which outlive their sessions: the slots of those that have entered rows,
//! and the numbers of those that were prepared before there was this memory. The trigger's callback
//! at the end of a transaction calls it, and [`super::search`] before it looks for others. A slot is
//! given back once its transaction has ended, whichever session finds that out.

use super::InProgress;
use super::memory::{Memory, header, slot};

impl<M: Memory> InProgress<M> {
    /// Moves what a session has entered to the slot of a prepared transaction, and returns that one.
    /// None when all are in use, which the server's own limit rules out.
    pub fn prepare(&mut self, from: usize, is_running: impl Fn(u32) -> bool) -> Option<usize> {
        self.forget_prepared(is_running);
        let slots = self.slots().len() / slot::WORDS;
        let to = (self.header(header::SESSIONS)..slots)
            .find(|&i| self.get(i, slot::TRANSACTION) == 0)?;
        let words = self.slots();
        words.copy_within(
            from * slot::WORDS..(from + 1) * slot::WORDS,
            to * slot::WORDS,
        );
        self.slot(from)[..slot::ROWS].fill(0);
        for used in self.used() {
            if *used == from as u64 {
                *used = to as u64;
            }
        }
        Some(to)
    }

    /// Whether it is known which transactions were prepared before there was this memory.
    pub fn knows_earlier(&mut self) -> bool {
        self.header(header::EARLIER_COUNT) > 0
    }

    /// Says which transactions were prepared before there was this memory, if nobody has.
    pub fn set_earlier(&mut self, transactions: &[u32]) {
        if self.knows_earlier() {
            return;
        }
        let run = self.0.header()[header::EARLIER];
        let words = self.0.words(run);
        let count = transactions.len().min(words.len());
        for (word, &transaction) in words.iter_mut().zip(transactions) {
            *word = transaction.into();
        }
        self.0.header()[header::EARLIER_COUNT] = count as u64 + 1;
    }

    /// The transactions that were prepared before there was this memory and have not ended.
    pub fn earlier(&mut self, is_running: impl Fn(u32) -> bool) -> Vec<u32> {
        let count = self.header(header::EARLIER_COUNT).saturating_sub(1);
        if count == 0 {
            return Vec::new();
        }
        let run = self.0.header()[header::EARLIER];
        let words = self.0.words(run);
        let left: Vec<u32> = (words[..count].iter().map(|&word| word as u32))
            .filter(|&transaction| is_running(transaction))
            .collect();
        for (word, &transaction) in words.iter_mut().zip(&left) {
            *word = transaction.into();
        }
        self.0.header()[header::EARLIER_COUNT] = left.len() as u64 + 1;
        left
    }

    /// Gives the slots of prepared transactions that have ended back.
    pub(super) fn forget_prepared(&mut self, is_running: impl Fn(u32) -> bool) {
        let sessions = self.header(header::SESSIONS) as u64;
        let mut i = 0;
        while i < self.header(header::USED_COUNT) {
            let of = self.used()[i];
            if of >= sessions && !is_running(self.get(of as usize, slot::TRANSACTION) as u32) {
                while !self.end(of as usize) {}
            } else {
                i += 1;
            }
        }
    }
}

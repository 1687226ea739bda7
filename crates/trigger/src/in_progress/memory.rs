//! Where rows in progress are kept: memory that all sessions share, in words of 64 bits. The
//! extension and the tests implement [`Memory`]; [`super`] alone reads and writes it. Only one
//! process has a `Memory` at a time. The key of a row, which messages show, has a fixed size, since it lies there.

/// Words of the header.
pub const HEADER: usize = 8;

/// A run of words that was allocated; 0 is none.
pub type Run = u64;

/// Words that all sessions share, in runs. What a session writes, the next one reads.
pub trait Memory {
    /// The words by which all else is found; zeros at first.
    fn header(&mut self) -> &mut [u64; HEADER];

    /// Returns a run whose last `zeros` words are zeros, or None when memory would exceed its bound. To write
    /// as few as possible matters, since others wait meanwhile.
    fn allocate(&mut self, words: usize, zeros: usize) -> Option<Run>;

    /// Gives a run back, of which nobody may have a reference.
    fn free(&mut self, run: Run);

    /// The words of a run that [`Memory::allocate`] has returned.
    fn words(&mut self, run: Run) -> &mut [u64];
}

/// Places in the header.
pub(super) mod header {
    /// The slots, as one run.
    pub const SLOTS: usize = 0;
    /// The numbers of the slots in use, as one run.
    pub const USED: usize = 1;
    /// How many these are.
    pub const USED_COUNT: usize = 2;
    /// How many slots are of sessions; those of prepared transactions follow.
    pub const SESSIONS: usize = 3;
    /// The last ticket.
    pub const TICKET: usize = 4;
    /// The transactions that were prepared before there was this memory, as one run.
    pub const EARLIER: usize = 5;
    /// How many these are, plus 1; 0 when nobody has looked yet.
    pub const EARLIER_COUNT: usize = 6;
    /// How many transactions with rows have ended.
    pub const ENDED: usize = 7;
}

/// Places in a slot, which has the rows of one transaction.
pub(super) mod slot {
    use super::super::rows::{MOST_RUNS, ROW};
    use super::KEY;

    /// How many rows.
    pub const COUNT: usize = 0;
    /// The number of the transaction; 0 when the slot is not in use.
    pub const TRANSACTION: usize = 1;
    /// The ticket of what it has entered last.
    pub const LAST: usize = 2;
    /// The greatest ticket of a row that waits for it.
    pub const WAITED_FOR: usize = 3;
    /// The role that has begun the session.
    pub const ROLE: usize = 4;
    /// The tables in which it stores rows that are not entered, 0 for none.
    pub const WHOLE: usize = 5;
    pub const MOST_WHOLE: usize = 4;
    /// For each of them the ticket since when it does.
    pub const WHOLE_SINCE: usize = WHOLE + MOST_WHOLE;
    /// The tables of its rows: for each a bit, by the last six bits of its number.
    pub const TABLES: usize = WHOLE_SINCE + MOST_WHOLE;
    /// The runs with the rows after the first ones.
    pub const RUNS: usize = TABLES + 1;
    /// The first rows.
    pub const ROWS: usize = RUNS + MOST_RUNS;
    /// How many these are; few in tests, which reach what comes after them.
    pub const FIRST: usize = if cfg!(test) { 4 } else { 64 };
    /// Their keys.
    pub const KEYS: usize = ROWS + FIRST * ROW;
    /// Words of a slot.
    pub const WORDS: usize = KEYS + FIRST * KEY;
}

/// Words of a key.
pub(super) const KEY: usize = 5;

/// The key of a row as text, cut to 39 bytes; empty where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key(pub(super) [u64; KEY]);

impl Key {
    /// The first byte has the length.
    const ROOM: usize = KEY * 8 - 1;

    /// Takes the key from its text, which may be longer.
    pub fn new(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(Self::ROOM)];
        let mut bytes = [0; KEY * 8];
        bytes[0] = text.len() as u8;
        bytes[1..][..text.len()].copy_from_slice(text.as_bytes());
        let word = |i: usize| std::array::from_fn(|byte| bytes[i * 8 + byte]);
        Self(std::array::from_fn(|i| u64::from_le_bytes(word(i))))
    }

    /// Returns the text that is left of the key.
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let length = usize::from(bytes[0]).min(Self::ROOM);
        String::from_utf8_lossy(&bytes[1..][..length]).into_owned()
    }
}

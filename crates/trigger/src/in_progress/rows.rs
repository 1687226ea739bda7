//! A run of rows in progress, and the search of it for rows near one. [`super`] keeps the runs of a
//! transaction, and says what a row is: of a hash of several parts, each part is a row here. A long
//! run is filed under the four quarters of its fingerprints, as the index is, so that a search
//! of it does not read all of its rows. No search of a run takes a millisecond.

use super::Compared;
use super::memory::slot;
use simhash_hamming::key::{KEY_BITS, QUARTERS};
use simhash_hamming::parts::part_radius;
use simhash_hamming::search::probe::{even_radii, for_each_key, neighbours};

/// A part of a row that a transaction has stored and not yet committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub fingerprint: u64,
    /// That of the row and of the part.
    pub place: u32,
    /// The transaction or subtransaction that stores it.
    pub transaction: u32,
    /// Rows that are entered later have greater tickets. The parts of a row have one ticket.
    pub ticket: u64,
}

/// The place in which part `i` of a row is compared: with the same part of hashes as long as this one.
pub(super) fn place_of_part(row: &Compared, i: usize) -> u32 {
    let number = (row.hash.len() - 1) << 6 | i;
    row.place
        .wrapping_add((number as u32).wrapping_mul(0x9E37_79B1))
}

/// Words of a row.
pub(super) const ROW: usize = 3;
/// Rows of the run that follows the first ones; later runs are filed.
pub(super) const SECOND: usize = if cfg!(test) { 8 } else { 1024 };
/// Runs of a transaction beside the first rows: half of what the extension gives all of them.
pub(super) const MOST_RUNS: usize = 19;
/// Rows of a run that is filed: with 16 bits for each link, 0 for none.
pub(super) const FILED: usize = 65_535;
/// Words of a run that is filed: its rows, for each row a word of four links, and for each key a
/// word of four places where a list of rows begins.
const FILED_WORDS: usize = FILED * (ROW + 1) + KEYS;
const KEYS: usize = 1 << KEY_BITS;

impl Row {
    fn from_words(words: &[u64]) -> Self {
        Self {
            fingerprint: words[0],
            place: words[1] as u32,
            transaction: (words[1] >> 32) as u32,
            ticket: words[2],
        }
    }

    fn words(&self) -> [u64; ROW] {
        let place = u64::from(self.place) | u64::from(self.transaction) << 32;
        [self.fingerprint, place, self.ticket]
    }
}

/// Reads row `i` of a run.
pub(super) fn get_row(run: &[u64], i: usize) -> Row {
    Row::from_words(&run[i * ROW..])
}

/// Writes row `i` of a run that is not filed.
pub(super) fn put(run: &mut [u64], i: usize, row: &Row) {
    run[i * ROW..][..ROW].copy_from_slice(&row.words());
}

/// Writes row `i` of a run that is filed, after those before it.
pub(super) fn file(run: &mut [u64], i: usize, row: &Row) {
    put(run, i, row);
    let (rows, heads) = run.split_at_mut(FILED * (ROW + 1));
    let links = &mut rows[FILED * ROW + i];
    for b in 0..QUARTERS {
        let head = &mut heads[usize::from(key(row.fingerprint, row.place, b))];
        *links = with(*links, b, get(*head, b));
        *head = with(*head, b, i as u16 + 1);
    }
}

/// Removes row `i`, the last one, from the lists of a run that is filed.
pub(super) fn unfile(run: &mut [u64], i: usize) {
    let row = get_row(run, i);
    let (rows, heads) = run.split_at_mut(FILED * (ROW + 1));
    let links = rows[FILED * ROW + i];
    for b in 0..QUARTERS {
        let head = &mut heads[usize::from(key(row.fingerprint, row.place, b))];
        *head = with(*head, b, get(links, b));
    }
}

/// Where a run of a transaction stands among all that it has entered.
#[derive(Clone, Copy)]
pub(super) struct RunPlace {
    /// 0 for the first rows, which are in the slot.
    pub number: usize,
    /// The number of its first row, and how many it has room for.
    pub start: usize,
    pub room: usize,
}

impl RunPlace {
    /// The run with this number.
    pub fn new(number: usize) -> Option<Self> {
        let (start, room) = match number {
            0 => (0, slot::FIRST),
            1 => (slot::FIRST, SECOND),
            _ => (slot::FIRST + SECOND + (number - 2) * FILED, FILED),
        };
        (number <= MOST_RUNS).then_some(Self {
            number,
            start,
            room,
        })
    }

    /// The run with row `i` of a transaction.
    pub fn of_row(i: usize) -> Option<Self> {
        match i.checked_sub(slot::FIRST + SECOND) {
            Some(filed) => Self::new(2 + filed / FILED),
            None => Self::new(usize::from(i >= slot::FIRST)),
        }
    }

    pub fn is_filed(&self) -> bool {
        self.number > 1
    }

    /// How many words it takes.
    pub fn words(&self) -> usize {
        match self.is_filed() {
            true => FILED_WORDS,
            false => self.room * ROW,
        }
    }

    /// How many of them, the last ones, are zeros before the first row is filed. A row is written before it
    /// is read.
    pub fn zeros(&self) -> usize {
        if self.is_filed() { KEYS } else { 0 }
    }
}

/// Calls `found` with a row of a run and the part of the sought row that it may be near to, for each
/// row of which the whole hash may be near. Others are among them, and one may come several times.
/// Returns how much work it was, in nanoseconds as a guess.
pub(super) fn candidates(
    run: &[u64],
    count: usize,
    is_filed: bool,
    sought: &Compared,
    found: &mut impl FnMut(usize, usize),
) -> u64 {
    let parts = sought.hash.len();
    let radius = |part: usize| part_radius(sought.radius as i32, part as i32, parts as i32);
    let radii = (0..parts).filter_map(|part| Some((part, u32::try_from(radius(part)).ok()?)));
    let keys_of = |radius| {
        even_radii(radius)
            .iter()
            .map(|&t| neighbours(t))
            .sum::<u64>()
    };
    let keys: u64 = radii.clone().map(|(_, radius)| keys_of(radius)).sum();
    // A list is read in no order, so its rows cost more than neighbours.
    let mut left = count as u64 / 4;
    if is_filed && keys <= left {
        for (part, radius) in radii {
            probe(run, sought, (part, radius), &mut left, found);
        }
        if left > 0 {
            return 10 * keys + 10 * count as u64;
        }
    }
    let place = place_of_part(sought, 0);
    let rows = run[..count * ROW].chunks_exact(ROW).map(Row::from_words);
    for (i, row) in rows.enumerate().filter(|(_, row)| row.place == place) {
        if parts > 1 || (row.fingerprint ^ sought.hash[0]).count_ones() <= sought.radius {
            found(i, 0);
        }
    }
    // A row may begin in the run before.
    if let Some(row) = (count > 0 && parts > 1).then(|| get_row(run, 0))
        && let Some(part) = (1..parts).find(|&part| place_of_part(sought, part) == row.place)
    {
        found(0, part);
    }
    2 * count as u64 + 10
}

/// Calls `found` with the rows of a filed run that are within a radius of a part. Stops when it has
/// read as many as are `left`, and takes those that it has read from them.
fn probe(
    run: &[u64],
    sought: &Compared,
    (part, radius): (usize, u32),
    left: &mut u64,
    found: &mut impl FnMut(usize, usize),
) {
    let (fingerprint, place) = (sought.hash[part], place_of_part(sought, part));
    let (rows, heads) = run.split_at(FILED * (ROW + 1));
    for (b, &quarter_radius) in even_radii(radius).iter().enumerate() {
        for_each_key(key(fingerprint, place, b), quarter_radius, |key| {
            let mut next = get(heads[usize::from(key)], b);
            while next != 0 && *left > 0 {
                *left -= 1;
                let i = usize::from(next) - 1;
                let row = get_row(rows, i);
                if row.place == place && (row.fingerprint ^ fingerprint).count_ones() <= radius {
                    found(i, part);
                }
                next = get(rows[FILED * ROW + i], b);
            }
        });
    }
}

/// The key under which quarter `b` of a fingerprint is filed. The same bits are flipped for all rows of
/// a place, so keys are as far from each other as the quarters.
fn key(fingerprint: u64, place: u32, b: usize) -> u16 {
    get(fingerprint, b) ^ place as u16
}

/// A number of 16 bits of a word.
fn get(word: u64, b: usize) -> u16 {
    (word >> (b as u32 * KEY_BITS)) as u16
}

fn with(word: u64, b: usize, value: u16) -> u64 {
    let shift = b as u32 * KEY_BITS;
    word & !(0xFFFF << shift) | u64::from(value) << shift
}

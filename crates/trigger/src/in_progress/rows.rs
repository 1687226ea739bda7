//! A run of rows in progress, and the search of it for rows near one. [`super`] keeps the runs of a
//! transaction, and says what a row is: of a hash of several parts, each part is a row here. A long
//! run is filed under the four quarters of its fingerprints, as the index is, so that a search
//! of it does not read all of its rows.

use super::Compared;
use simhash_hamming::key::{KEY_BITS, QUARTERS};
use simhash_hamming::parts::part_radius;
use simhash_hamming::search::probe::{MAX_PROBED_RADIUS, even_radii, for_each_key, neighbours};

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

/// A part of a row for which near rows are sought.
#[derive(Clone, Copy)]
pub(super) struct Sought {
    pub fingerprint: u64,
    pub place: u32,
    /// Bits.
    pub radius: u32,
}

impl Sought {
    /// Returns part `i` of a row. A near row has a part that is near the same part of this one. None
    /// where another part must be.
    pub fn part(row: &Compared, i: usize) -> Option<Self> {
        let radius = part_radius(row.radius as i32, i as i32, row.hash.len() as i32);
        Some(Self {
            fingerprint: row.hash[i],
            place: place_of_part(row, i),
            radius: u32::try_from(radius).ok()?,
        })
    }
}

/// The place in which part `i` of a row is compared: with the same part of hashes as long as this one.
pub(super) fn place_of_part(row: &Compared, i: usize) -> u32 {
    let number = (row.hash.len() - 1) << 6 | i;
    row.place
        .wrapping_add((number as u32).wrapping_mul(0x9E37_79B1))
}

/// Words of a row.
pub(super) const ROW: usize = 3;
/// Rows of a run that is filed: with 16 bits for each link, 0 for none.
pub(super) const FILED: usize = 65_535;
/// Words of a run that is filed: its rows, for each row a word of four links, and for each key a
/// word of four places where a list of rows begins.
pub(super) const FILED_WORDS: usize = FILED * (ROW + 1) + KEYS;

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

    fn is_near(&self, sought: Sought) -> bool {
        self.place == sought.place
            && (self.fingerprint ^ sought.fingerprint).count_ones() <= sought.radius
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

/// Calls `found` with those of the first `count` rows of a run that are near, and their numbers.
pub(super) fn near(run: &[u64], count: usize, sought: Sought, found: &mut impl FnMut(usize, Row)) {
    let rows = run[..count * ROW].chunks_exact(ROW).map(Row::from_words);
    rows.enumerate()
        .filter(|(_, row)| row.is_near(sought))
        .for_each(|(i, row)| found(i, row));
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

/// As [`near`], for a run that is filed. A row may be found several times.
pub(super) fn near_filed(
    run: &[u64],
    count: usize,
    sought: Sought,
    found: &mut impl FnMut(usize, Row),
) {
    let radii = even_radii(sought.radius);
    let keys: u64 = radii.iter().map(|&radius| neighbours(radius)).sum();
    // A list is read in no order, so its rows cost more than neighbours.
    if sought.radius > MAX_PROBED_RADIUS || (count as u64) < 4 * keys {
        return near(run, count, sought, found);
    }
    let (rows, heads) = run.split_at(FILED * (ROW + 1));
    for (b, &radius) in radii.iter().enumerate() {
        let own = key(sought.fingerprint, sought.place, b);
        for_each_key(own, radius, |key| {
            let mut next = get(heads[usize::from(key)], b);
            while next != 0 {
                let i = usize::from(next) - 1;
                let row = get_row(rows, i);
                if row.is_near(sought) {
                    found(i, row);
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

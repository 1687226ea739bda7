//! Leaves: the postings, as a structure of arrays.
//!
//! ```text
//!  header | lo[0] lo[1] ... ->            hole            <- ... aux[1] aux[0] | special area
//!           u32 each: the low 32 bits                        8 or 10 bytes each
//!           of the rotated fingerprint
//!
//!  aux, 8 bytes:  bits 0-15  bits 32-47 of the rotated fingerprint
//!                 bits 16-47 heap block
//!                 bits 48-58 heap offset
//!                 bits 59-63 key minus the page's base key, when the page spans at most 32 keys
//!  aux, 10 bytes: the same, and the whole 16-bit key behind it, when it spans more ("wide")
//! ```
//! A search tests `lo` first: one sequential read of 4 bytes a posting, and nearly all postings
//! fail it.
//!
//! New postings are appended, so that an insert changes (and logs) 16 or 18 bytes. What a build, a
//! split or a VACUUM wrote is sorted: the slot directory in the special area cuts that sorted
//! prefix into up to 32 equal ranges of the rotated fingerprint, so that a search reads only the
//! slots its ball can touch, and the unsorted tail.

#![forbid(unsafe_code)]

use super::slots::{self, SLOT_COUNT};
use super::special::{
    self, BASE_KEY, PageKind, ROOM, SLOT_SHIFT, SLOTS, SORTED, WIDE, has_flag, set_flag,
};
use super::{
    BOUNDS, Fault, HEADER, PAGE_SIZE, Page, SPECIAL_START, get_u16, get_u32, get_u64, list, lower,
    put_u16, put_u32, put_u64, set_lower, set_upper, upper,
};
use crate::index::key::Key;
use crate::tid::Tid;
use std::ops::Range;

/// Postings on a leaf that a build made.
const LIKELY_COUNT: usize = 600;
const LO: usize = 4;
const AUX: usize = 8;
const AUX_WIDE: usize = 10;
/// Keys that a page may span before its postings must carry the whole key (5 bits of delta).
const NARROW_SPAN: u32 = 32;
pub(super) const KEY_SHIFT: u32 = 48;

/// Postings that fit a page whose keys span at most 32.
pub const CAPACITY: usize = ROOM / (LO + AUX);
/// Postings that fit a page that spans more.
pub const CAPACITY_WIDE: usize = ROOM / (LO + AUX_WIDE);

/// Do postings of a page that starts at key `base` and ends before `high` need their whole key?
pub fn needs_wide(base: u16, high: Option<Key>) -> bool {
    let last = match high {
        None => u16::MAX,
        // A high key at the very start of a 16-bit key leaves that key to the right sibling.
        Some(h) if h == Key::at(u64::from(h.block_key()) << KEY_SHIFT) => {
            h.block_key().saturating_sub(1)
        }
        Some(h) => h.block_key(),
    };
    u32::from(last.saturating_sub(base)) >= NARROW_SPAN
}

/// Where the narrow page that starts at key `base` and spans as much as it can would end; None at
/// the end of the key space.
pub fn narrow_end(base: u16) -> Option<Key> {
    let next = u64::from(base) + u64::from(NARROW_SPAN);
    (next <= u64::from(u16::MAX)).then(|| Key::at(next << KEY_SHIFT))
}

/// Makes a leaf of these postings, which must be sorted, not below `base`, and below the high key.
pub fn init(
    page: &mut Page,
    kind: PageKind,
    base: u16,
    right: Option<(u32, Key)>,
    postings: &[Key],
) {
    special::init(page, kind);
    special::set_right(page, right);
    put_u16(page, BASE_KEY, base);
    set_flag(page, WIDE, needs_wide(base, right.map(|(_, high)| high)));
    for key in postings {
        append(page, *key);
    }
    put_u16(page, SORTED, postings.len() as u16);
    slots::write_directory(page, postings);
}

fn aux_size(page: &Page) -> usize {
    if is_wide(page) { AUX_WIDE } else { AUX }
}

pub fn count(page: &Page) -> usize {
    (lower(page) - HEADER) / LO
}

/// Postings that fit the page.
pub fn capacity(page: &Page) -> usize {
    if is_wide(page) {
        CAPACITY_WIDE
    } else {
        CAPACITY
    }
}

pub fn is_full(page: &Page) -> bool {
    count(page) >= capacity(page)
}

/// Postings in the sorted prefix.
pub fn sorted_count(page: &Page) -> usize {
    usize::from(get_u16(page, SORTED))
}

/// Do the page's postings carry their whole key?
fn is_wide(page: &Page) -> bool {
    has_flag(page, WIDE)
}

/// The lowest 16-bit key that may stand on the page.
pub fn base_key(page: &Page) -> u16 {
    get_u16(page, BASE_KEY)
}

/// Checks what a reader relies on, so that no damaged byte can make it read outside the page.
pub fn check(page: &Page) -> Result<(), Fault> {
    let n = count(page);
    if !(lower(page) - HEADER).is_multiple_of(LO)
        || upper(page) + aux_size(page) * n != SPECIAL_START
    {
        return Err(Fault::new("the two arrays of the leaf differ in length"));
    }
    // The format and the range change only when the page is rewritten. If they contradicted each
    // other, the next rewrite could find more postings than its format holds.
    if is_wide(page) != needs_wide(base_key(page), special::high_key(page)) {
        return Err(Fault::new(
            "the posting format does not fit the keys that the leaf spans",
        ));
    }
    let ends: [u16; SLOT_COUNT] = std::array::from_fn(|z| get_u16(page, SLOTS + 2 * z));
    // Without an early exit, so that all are compared at once.
    let falls = ends
        .windows(2)
        .fold(false, |falls, pair| falls | (pair[1] < pair[0]));
    if falls {
        return Err(Fault::new(format!(
            "the slots of the leaf's directory end at {}",
            list(ends)
        )));
    }
    let last = usize::from(ends[SLOT_COUNT - 1]);
    if sorted_count(page) > n || page[SLOT_SHIFT] > 63 || last != sorted_count(page) {
        return Err(Fault::new(
            "the leaf's sorted prefix and its directory contradict each other",
        ));
    }
    Ok(())
}

/// Posting `i`.
pub fn get(page: &Page, i: usize) -> Key {
    let size = aux_size(page);
    let at = SPECIAL_START - size * (i + 1);
    let aux = get_u64(page, at);
    let key = if size == AUX_WIDE {
        get_u16(page, at + AUX)
    } else {
        base_key(page).wrapping_add((aux >> 59) as u16)
    };
    Key {
        rotated: u64::from(key) << KEY_SHIFT
            | (aux & 0xFFFF) << 32
            | u64::from(get_u32(page, HEADER + LO * i)),
        tid: Tid {
            block: (aux >> 16) as u32,
            offset: (aux >> 48) as u16 & Tid::MAX_OFFSET,
        },
    }
}

pub fn postings(page: &Page) -> impl Iterator<Item = Key> + '_ {
    (0..count(page)).map(|i| get(page, i))
}

/// The most bytes that [`append`] changes: both bounds of the free space, and a posting's two
/// parts.
pub const APPENDED: usize = BOUNDS.end - BOUNDS.start + LO + AUX_WIDE;

/// Appends a posting; the page must not be full and the posting must belong to it. Returns the
/// bytes that changed.
pub fn append(page: &mut Page, key: Key) -> [Range<usize>; 3] {
    debug_assert!(!is_full(page));
    let n = count(page);
    let size = aux_size(page);
    let (lo_at, aux_at) = (HEADER + LO * n, SPECIAL_START - size * (n + 1));
    let mut aux = (key.rotated >> 32) & 0xFFFF
        | u64::from(key.tid.block) << 16
        | u64::from(key.tid.offset) << 48;
    if size == AUX_WIDE {
        put_u16(page, aux_at + AUX, key.block_key());
    } else {
        aux |= u64::from(key.block_key().wrapping_sub(base_key(page))) << 59;
    }
    put_u64(page, aux_at, aux);
    put_u32(page, lo_at, key.rotated as u32);
    set_lower(page, lo_at + LO);
    set_upper(page, aux_at);
    let changed = [BOUNDS, lo_at..lo_at + LO, aux_at..aux_at + size];
    debug_assert!(changed.iter().map(Range::len).sum::<usize>() <= APPENDED);
    changed
}

/// The special area, which every visit reads.
pub const SPECIAL: Range<usize> = SPECIAL_START..PAGE_SIZE;

/// Where an append will write: addresses in its two arrays, within the page whatever is on it.
pub fn next_posting(page: &Page) -> [*const u8; 2] {
    let at = [lower(page), upper(page).saturating_sub(AUX)];
    at.map(|at| &raw const page[at.min(PAGE_SIZE - 1)])
}

/// The bytes that a search is likely to read first when what it looks for lies `share` (0 to 1) of
/// the way into a leaf: the low words from there on, and the special area.
pub fn likely_bytes(share: f32) -> [Range<usize>; 2] {
    /// Postings under one key of a table of ten million rows.
    const SPAN: usize = 150;
    let first = (share * LIKELY_COUNT as f32) as usize;
    let words = HEADER + LO * first..HEADER + LO * (first + SPAN).min(CAPACITY);
    [words, SPECIAL]
}

/// The bytes of the low words of postings `from` to `to`.
#[inline(always)]
pub(super) fn low_words(page: &Page, from: usize, to: usize) -> &[u8] {
    &page[HEADER + LO * from..HEADER + LO * to]
}

/// All postings in order.
pub fn sorted_postings(page: &Page) -> Vec<Key> {
    let mut all: Vec<Key> = postings(page).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::index::key::Space;

    pub(in crate::index::page) const KIND: PageKind = PageKind {
        space: Space::NULL,
        level: 0,
        stamp: 9,
    };

    pub(in crate::index::page) fn key(rotated: u64, n: usize) -> Key {
        Key {
            rotated,
            tid: Tid {
                block: n as u32 * 77,
                offset: (n % 2000) as u16 + 1,
            },
        }
    }

    #[test]
    fn capacities_are_those_of_the_design() {
        assert_eq!((CAPACITY, CAPACITY_WIDE), (671, 575));
    }

    #[test]
    fn arrays_that_differ_in_length_are_damage_whatever_their_length() {
        let mut page = [0; PAGE_SIZE];
        init(&mut page, KIND, 0, None, &[key(42, 1)]);
        assert_eq!(check(&page), Ok(()));
        for end in (HEADER..=SPECIAL_START).filter(|end| *end != HEADER + LO) {
            set_lower(&mut page, end);
            assert!(check(&page).is_err(), "pd_lower {end}");
        }
    }

    /// Fingerprints near one base, as wide or as narrow as `spread` bits.
    pub(in crate::index::page) fn page_of(
        base: u64,
        spread: u32,
        sorted: &[u64],
        tail: &[u64],
    ) -> Page {
        let mask = if spread == 64 {
            u64::MAX
        } else {
            (1 << spread) - 1
        };
        let fold = |raw: &u64| base & !mask | raw & mask;
        let mut prefix: Vec<Key> = sorted
            .iter()
            .map(fold)
            .enumerate()
            .map(|(i, f)| key(f, i))
            .collect();
        prefix.sort();
        let top = base | mask;
        let right = (top != u64::MAX).then(|| (3, Key::at(top + 1)));
        let mut page = [0; PAGE_SIZE];
        init(&mut page, KIND, block_of(base & !mask), right, &prefix);
        for (i, raw) in tail.iter().enumerate() {
            append(&mut page, key(fold(raw), 1000 + i));
        }
        page
    }

    fn block_of(rotated: u64) -> u16 {
        (rotated >> 48) as u16
    }
}

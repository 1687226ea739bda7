//! The special area of internal pages and leaves: the kind of the page, its right sibling, and the slot directory
//! of a leaf. The directory cuts the leaf's sorted prefix into equal ranges, so that a search reads only the
//! slots that its ball can touch. These are ranges of the rotated fingerprint or, where postings carry their own
//! scope, of the scope and the upper half of the rotated fingerprint.
//!
//! ```text
//!  byte  0  u32  right link, or NO_BLOCK
//!        4  u16  flags
//!        6  u8   level (0 = leaf)          7  u8   key space
//!        8  u64  high key: rotated fingerprint
//!       16  u32  high key: heap block     20  u16  high key: heap offset
//!       22  u16  leaf: lowest 16-bit key that may stand here, in the lowest scope
//!       24  u32  high key: scope
//!       28  u32  leaf: lowest scope that may stand here
//!       32  u64  leaf: slot directory, the prefix of slot 0
//!       40  u16[32]  leaf: slot directory, end of each slot
//!      104  u32  low half of the build stamp
//!      108  u8   leaf: slot directory, bits below the prefix     109  unused
//!      110  u16  page id
//! ```

#![forbid(unsafe_code)]

use crate::Error;
use crate::key::{Position, SPACES, Space};
use crate::page::{
    HEADER, NO_BLOCK, PAGE_SIZE, Page, SPECIAL, SPECIAL_START, check_header, get_u16, get_u32,
    get_u64, init_header, put_u16, put_u32, put_u64,
};
use simhash_base::indexed_row::Tid;
use std::ops::Range;

/// Page id at the very end of the special area, where tools look to tell the pages of the access
/// methods apart.
const PAGE_ID: u16 = 0xFF96;
/// The deepest level that a sound tree reaches: 335^6 leaves are more than the file can have
/// blocks.
const MAX_LEVEL: u8 = 6;

const FLAGS: usize = SPECIAL_START + 4;
const LEVEL: usize = SPECIAL_START + 6;
const HIGH: usize = SPECIAL_START + 8;
const HIGH_SCOPE: usize = SPECIAL_START + 24;
pub(super) const BASE_KEY: usize = SPECIAL_START + 22;
pub(super) const BASE_SCOPE: usize = SPECIAL_START + 28;
pub(super) const SLOT_BASE: usize = SPECIAL_START + 32;
pub(super) const SLOTS: usize = SPECIAL_START + 40;
const STAMP: usize = SPECIAL_START + 104;
pub(super) const SLOT_SHIFT: usize = SPECIAL_START + 108;
const ID: usize = SPECIAL_START + 110;

// What stands on disk: other places are another FORMAT_VERSION.
const _: () = {
    assert!(PAGE_SIZE == 8192 && SPECIAL == 112 && HEADER == 24);
    assert!(STAMP == SLOTS + size_of::<[u16; 32]>() && ID + 2 == PAGE_SIZE);
};

/// The page has a high key (all but the rightmost of a level).
const HAS_HIGH: u16 = 1;
/// Postings carry in full what a narrow leaf's carry as a difference.
pub(super) const WIDE: u16 = 2;
/// The right sibling came from a split whose downlink is not yet in the parent.
const INCOMPLETE: u16 = 4;
/// Postings carry their own scope.
pub(super) const SCOPED: u16 = 8;
const KNOWN_FLAGS: u16 = HAS_HIGH | WIDE | INCOMPLETE | SCOPED;

/// The space and level of a page, and the build that made it: they never change while the index
/// lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageKind {
    /// The key space.
    pub space: Space,
    /// 0 for a leaf.
    pub level: u8,
    /// The low half of the build stamp.
    pub stamp: u32,
}

/// The special area, which every visit reads.
pub const BYTES: Range<usize> = SPECIAL_START..PAGE_SIZE;

/// Makes an empty page with no right sibling.
#[inline]
pub fn init(page: &mut Page, kind: PageKind) {
    init_header(page, SPECIAL);
    put_u32(page, SPECIAL_START, NO_BLOCK);
    page[LEVEL] = kind.level;
    page[SPECIAL_START + 7] = kind.space.index() as u8;
    put_u32(page, STAMP, kind.stamp);
    put_u16(page, ID, PAGE_ID);
}

/// Checks that the page is a sound page of this index, and returns its kind.
#[inline]
pub fn kind_of(page: &Page, stamp: u32) -> Result<PageKind, Error> {
    check_header(page, SPECIAL)?;
    if get_u16(page, ID) != PAGE_ID {
        return Err(Error::damaged("not a page of a simhash index"));
    }
    let found = get_u32(page, STAMP);
    if found != stamp {
        return Err(Error::damaged(format!(
            "the page belongs to another build of the index \
             (stamp {found:#010x}, not {stamp:#010x})"
        )));
    }
    let level = level(page);
    let space = usize::from(page[SPECIAL_START + 7]);
    let space = Space::all()
        .nth(space)
        .ok_or_else(|| Error::damaged(format!("key space {space}, of {SPACES}")))?;
    if level > MAX_LEVEL || flags(page) & !KNOWN_FLAGS != 0 {
        return Err(Error::damaged(format!(
            "level {level} or flags {:#06x} out of range",
            flags(page)
        )));
    }
    if high_key(page).is_some() == (right_link(page) == NO_BLOCK) {
        return Err(Error::damaged(
            "right link and high key contradict each other",
        ));
    }
    Ok(PageKind {
        space,
        level,
        stamp,
    })
}

/// The level of a page.
#[inline]
pub fn level(page: &Page) -> u8 {
    page[LEVEL]
}

/// Checks that the page is the expected one.
#[inline]
pub fn expect(page: &Page, expected: PageKind) -> Result<(), Error> {
    let found = kind_of(page, expected.stamp)?;
    if found != expected {
        return Err(Error::damaged(format!(
            "key space {} level {}, where key space {} level {} belongs",
            found.space.index(),
            found.level,
            expected.space.index(),
            expected.level
        )));
    }
    Ok(())
}

fn flags(page: &Page) -> u16 {
    get_u16(page, FLAGS)
}

#[inline]
pub(super) fn has_flag(page: &Page, flag: u16) -> bool {
    flags(page) & flag != 0
}

/// Returns whether the postings of a leaf carry their own scope.
#[inline]
pub(super) fn has_own_scopes(page: &Page) -> bool {
    has_flag(page, SCOPED)
}

#[inline]
pub(super) fn set_flag(page: &mut Page, flag: u16, on: bool) {
    let f = flags(page);
    put_u16(page, FLAGS, if on { f | flag } else { f & !flag });
}

/// The right sibling on the same level, or NO_BLOCK.
#[inline]
pub fn right_link(page: &Page) -> u32 {
    get_u32(page, SPECIAL_START)
}

/// Every position on the page lies below this; None on the rightmost page of a level.
#[inline]
pub fn high_key(page: &Page) -> Option<Position> {
    has_flag(page, HAS_HIGH).then(|| Position {
        scope: get_u32(page, HIGH_SCOPE),
        rotated: get_u64(page, HIGH),
        tid: Tid {
            block: get_u32(page, HIGH + 8),
            offset: get_u16(page, HIGH + 12),
        },
    })
}

/// Sets right link and high key together: a page has both or neither.
#[inline]
pub fn set_right(page: &mut Page, right: Option<(u32, Position)>) {
    let (link, key) = right.unwrap_or((NO_BLOCK, Position::MIN));
    put_u32(page, SPECIAL_START, link);
    put_u32(page, HIGH_SCOPE, key.scope);
    put_u64(page, HIGH, key.rotated);
    put_u32(page, HIGH + 8, key.tid.block);
    put_u16(page, HIGH + 12, key.tid.offset);
    set_flag(page, HAS_HIGH, right.is_some());
}

/// The right sibling and the key from which it takes over.
#[inline]
pub fn right(page: &Page) -> Option<(u32, Position)> {
    high_key(page).map(|key| (right_link(page), key))
}

/// Returns whether `key` belongs to a page further right.
#[inline]
pub fn is_past(page: &Page, key: Position) -> bool {
    high_key(page).is_some_and(|high| key >= high)
}

/// Returns whether the right sibling's downlink is still missing in the parent.
#[inline]
pub fn is_incomplete(page: &Page) -> bool {
    has_flag(page, INCOMPLETE)
}

/// Notes whether the right sibling's downlink is still missing in the parent.
#[inline]
pub fn set_incomplete(page: &mut Page, on: bool) {
    set_flag(page, INCOMPLETE, on);
}

/// Room for downlinks or postings between header and special area.
pub const ROOM: usize = SPECIAL_START - HEADER;

pub(super) const SLOT_COUNT: usize = 32;

/// The first 64 bits of a position's scope and rotated fingerprint.
#[inline]
pub(super) fn scoped_place(scope: u32, rotated: u64) -> u64 {
    u64::from(scope) << 32 | rotated >> 32
}

/// Returns the place of a posting in what the directory of the page cuts into ranges.
fn place(page: &Page, key: Position) -> u64 {
    match has_own_scopes(page) {
        true => scoped_place(key.scope, key.rotated),
        false => key.rotated,
    }
}

/// Cuts the sorted prefix into slots: slot `z` ends at `SLOTS[z]` and holds the postings whose
/// place, without its lowest `shift` bits, is `SLOT_BASE + z`.
#[inline]
pub(super) fn write_directory(page: &mut Page, postings: &[Position]) {
    let (Some(first), Some(last)) = (postings.first(), postings.last()) else {
        return;
    };
    let (first, last) = (place(page, *first), place(page, *last));
    let mut shift = 0;
    while (last >> shift) - (first >> shift) >= SLOT_COUNT as u64 {
        shift += 1;
    }
    let base = first >> shift;
    put_u64(page, SLOT_BASE, base);
    page[SLOT_SHIFT] = shift;
    let mut end = 0;
    for z in 0..SLOT_COUNT {
        while end < postings.len() && (place(page, postings[end]) >> shift) - base <= z as u64 {
            end += 1;
        }
        put_u16(page, SLOTS + 2 * z, end as u16);
    }
}

/// Returns whether the directory leads to posting `i` of the sorted prefix.
#[inline]
pub fn is_in_its_slot(page: &Page, i: usize, key: Position) -> bool {
    let prefix = place(page, key) >> page[SLOT_SHIFT];
    let slot = prefix.wrapping_sub(get_u64(page, SLOT_BASE));
    let end = |z: u64| usize::from(get_u16(page, SLOTS + 2 * z as usize));
    slot < SLOT_COUNT as u64 && i < end(slot) && (slot == 0 || i >= end(slot - 1))
}

/// Returns where the slots of the sorted prefix end.
#[inline]
pub(super) fn ends(page: &Page) -> [u16; SLOT_COUNT] {
    std::array::from_fn(|z| get_u16(page, SLOTS + 2 * z))
}

/// Returns whether each slot ends where the one before it does, or later. Every visit of a leaf
/// checks this: the differences are taken without a branch, so that a few instructions compare all
/// slots.
#[inline]
pub(super) fn ends_rise(page: &Page) -> bool {
    let falls = |falls: u16, pair: &[u16]| falls | pair[0].saturating_sub(pair[1]);
    ends(page).windows(2).fold(0, falls) == 0
}

/// The slot directory: bits below the prefix, and the prefix of slot 0.
#[inline(always)]
pub(super) fn directory(page: &Page) -> (u32, u64) {
    (u32::from(page[SLOT_SHIFT]), get_u64(page, SLOT_BASE))
}

/// Returns where slot `z` of the sorted prefix ends.
#[inline(always)]
pub(super) fn slot_end(page: &Page, z: usize) -> usize {
    usize::from(get_u16(page, SLOTS + 2 * z))
}

#[cfg(test)]
mod slots_tests {
    use super::*;
    use crate::page::PAGE_SIZE;

    #[test]
    fn one_slot_that_ends_before_another_is_seen() {
        let mut page = [0; PAGE_SIZE];
        let mut put = |z: usize, end: usize| {
            put_u16(&mut page, SLOTS + 2 * z, end as u16);
            ends_rise(&page)
        };
        for z in 0..SLOT_COUNT {
            put(z, 20 * z + 20);
        }
        for z in 1..SLOT_COUNT {
            assert!(!put(z, 20 * z - 1), "slot {z}");
            assert!(put(z, 20 * z), "slot {z}");
            put(z, 20 * z + 20);
        }
        assert!(!put(0, usize::from(u16::MAX)));
    }
}

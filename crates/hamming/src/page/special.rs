//! The special area of internal pages and leaves: the kind of the page, and its right sibling.
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

use super::{
    HEADER, NO_BLOCK, PAGE_SIZE, Page, SPECIAL, SPECIAL_START, check_header, get_u16, get_u32,
    get_u64, init_header, put_u16, put_u32, put_u64,
};
use crate::Error;
use crate::key::{Key, SPACES, Space};
use simhash_base::tid::Tid;
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
pub fn high_key(page: &Page) -> Option<Key> {
    has_flag(page, HAS_HIGH).then(|| Key {
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
pub fn set_right(page: &mut Page, right: Option<(u32, Key)>) {
    let (link, key) = right.unwrap_or((NO_BLOCK, Key::MIN));
    put_u32(page, SPECIAL_START, link);
    put_u32(page, HIGH_SCOPE, key.scope);
    put_u64(page, HIGH, key.rotated);
    put_u32(page, HIGH + 8, key.tid.block);
    put_u16(page, HIGH + 12, key.tid.offset);
    set_flag(page, HAS_HIGH, right.is_some());
}

/// The right sibling and the key from which it takes over.
#[inline]
pub fn right(page: &Page) -> Option<(u32, Key)> {
    high_key(page).map(|key| (right_link(page), key))
}

/// Returns whether `key` belongs to a page further right.
#[inline]
pub fn is_past(page: &Page, key: Key) -> bool {
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

//! The four formats of a leaf's postings, which of them a leaf takes, and one posting: its two parts as
//! bytes of the page, as the picture in [`super::leaf`] shows them. Leaves and their searches call it. What
//! is the same for all postings of a leaf is read from the page once, so a [`Layout`] must not outlive a
//! change of the leaf's format.
//!
//! | | narrow: a small difference | wide: the whole |
//! |---|---|---|
//! | all postings of one scope | key minus lowest key, 5 bits: 8 bytes | key, 16 bits: 10 bytes |
//! | postings of several scopes | scope minus lowest scope, 21 bits: 12 bytes | scope, 32 bits: 14 bytes |
//!
//! The scopes that stand on a leaf decide about the row of the table, and a leaf is rewritten when
//! a second one arrives. The range of the leaf decides about the column: whatever may arrive must
//! fit. Evenly hashed scopes with as many rows as make leaves narrow without scopes make them
//! narrow with scopes too.

#![forbid(unsafe_code)]

use super::special::{BASE_KEY, BASE_SCOPE, ROOM, WIDE, has_flag, has_own_scopes};
use super::{HEADER, Page, SPECIAL_START, get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
use crate::key::{KEY_BITS, Position};
use simhash_base::indexed_row::Tid;

/// Where the scope of all postings stands, and the array of aux ends.
pub(super) const SCOPE_AT: usize = SPECIAL_START - SCOPE;
/// Bytes of aux that all formats have.
const AUX: usize = 8;
/// Bits of the small difference that stand there.
const DIFFERENCE: u32 = 5;

/// The lowest scope and 16-bit key that may stand on the page.
#[inline]
pub fn low(page: &Page) -> Position {
    let key = u64::from(get_u16(page, BASE_KEY));
    Position::at(get_u32(page, BASE_SCOPE), key << KEY_SHIFT)
}

/// How a leaf holds its postings.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    format: Format,
    /// The leaf's lowest scope.
    low_scope: u32,
    /// The scope of all postings, where they do not carry their own.
    one_scope: u32,
    /// The lowest key that this scope may have here.
    lowest: u16,
}

impl Layout {
    #[inline]
    pub(super) fn read(page: &Page) -> Layout {
        let (low, one_scope) = (low(page), get_u32(page, SCOPE_AT));
        Layout {
            format: Format::new(has_own_scopes(page), has_flag(page, WIDE)),
            low_scope: low.scope,
            one_scope,
            lowest: lowest_key(low, one_scope),
        }
    }

    #[inline]
    pub(super) fn aux_size(self) -> usize {
        self.format.aux_size()
    }

    /// Where aux of posting `i` begins.
    #[inline]
    pub(super) fn aux_at(self, i: usize) -> usize {
        SCOPE_AT - self.aux_size() * (i + 1)
    }

    /// Reads posting `i`.
    #[inline]
    pub(super) fn get(self, page: &Page, i: usize) -> Position {
        let at = self.aux_at(i);
        let aux = get_u64(page, at);
        let difference = (aux >> (u64::BITS - DIFFERENCE)) as u16;
        let key = || get_u16(page, at + AUX);
        let (scope, key) = match (self.format.scoped, self.format.wide) {
            (false, false) => (self.one_scope, self.lowest.wrapping_add(difference)),
            (false, true) => (self.one_scope, key()),
            (true, false) => {
                let high = u32::from(get_u16(page, at + AUX + 2)) << DIFFERENCE;
                let difference = high | u32::from(difference);
                (self.low_scope.wrapping_add(difference), key())
            }
            (true, true) => (get_u32(page, at + AUX + 2), key()),
        };
        Position {
            scope,
            rotated: u64::from(key) << KEY_SHIFT
                | (aux & 0xFFFF) << 32
                | u64::from(get_u32(page, HEADER + LO * i)),
            tid: Tid {
                block: (aux >> 16) as u32,
                offset: (aux >> 48) as u16 & Tid::MAX_OFFSET,
            },
        }
    }

    /// Writes posting `i`, of the leaf's scope where it has one.
    #[inline]
    pub(super) fn put(self, page: &mut Page, i: usize, key: Position) {
        let at = self.aux_at(i);
        let difference = match (self.format.scoped, self.format.wide) {
            (false, false) => u32::from(key.first_quarter().wrapping_sub(self.lowest)),
            (true, false) => key.scope.wrapping_sub(self.low_scope),
            _ => 0,
        };
        let aux = (key.rotated >> 32) & 0xFFFF
            | u64::from(key.tid.block) << 16
            | u64::from(key.tid.offset) << 48
            | u64::from(difference) << (u64::BITS - DIFFERENCE);
        put_u64(page, at, aux);
        if self.aux_size() > AUX {
            put_u16(page, at + AUX, key.first_quarter());
        }
        match (self.format.scoped, self.format.wide) {
            (true, false) => put_u16(page, at + AUX + 2, (difference >> DIFFERENCE) as u16),
            (true, true) => put_u32(page, at + AUX + 2, key.scope),
            _ => {}
        }
        put_u32(page, HEADER + LO * i, key.rotated as u32);
    }
}

/// Bytes of a leaf that hold the scope of all its postings, unless they carry their own.
pub(super) const SCOPE: usize = 4;
/// Bytes of a posting's low word.
pub(super) const LO: usize = 4;
/// The most bytes of a posting's other part.
pub(super) const MOST_AUX: usize = Format::new(true, true).aux_size();
/// Keys that a narrow leaf of one scope may span.
const KEY_SPAN: u32 = 1 << 5;
/// Scopes that a narrow leaf of several scopes may span.
const SCOPE_SPAN: u32 = 1 << 21;
pub(super) const KEY_SHIFT: u32 = u64::BITS - KEY_BITS;

// What stands on disk: other numbers are another FORMAT_VERSION.
const _: () = {
    assert!(
        Format::new(false, false).capacity() == 671 && Format::new(false, true).capacity() == 575
    );
    assert!(
        Format::new(true, false).capacity() == 503 && Format::new(true, true).capacity() == 447
    );
};

/// The form in which a leaf holds its postings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Whether postings carry their own scope.
    pub scoped: bool,
    /// Whether they carry it, or without a scope their key, as a whole.
    pub wide: bool,
}

impl Format {
    /// The format of postings with a scope of their own, or wide ones.
    #[inline]
    pub const fn new(scoped: bool, wide: bool) -> Format {
        Format { scoped, wide }
    }

    /// Bytes of a posting beside its low word.
    #[inline]
    pub const fn aux_size(self) -> usize {
        match (self.scoped, self.wide) {
            (false, false) => 8,
            (false, true) => 10,
            (true, false) => 12,
            (true, true) => 14,
        }
    }

    /// Postings that fit a leaf.
    #[inline]
    pub const fn capacity(self) -> usize {
        (ROOM - SCOPE) / (LO + self.aux_size())
    }
}

/// The positions that may stand on a leaf: from `low`, of which scope and key count, to below
/// `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafRange {
    /// The lowest position.
    pub low: Position,
    /// The end, which does not belong to it; None on the rightmost leaf.
    pub high: Option<Position>,
}

/// The lowest key that a posting of this scope may have on a leaf that begins at `low`.
#[inline]
pub fn lowest_key(low: Position, scope: u32) -> u16 {
    match scope == low.scope {
        true => low.first_quarter(),
        false => 0,
    }
}

impl LeafRange {
    /// The format of a leaf whose postings all have this scope, or with None several.
    #[inline]
    pub fn format(&self, scope: Option<u32>) -> Format {
        let (scoped, wide) = match scope {
            Some(scope) => {
                let lowest = lowest_key(self.low, scope);
                let span = self.highest_key(scope).saturating_sub(lowest);
                (false, u32::from(span) >= KEY_SPAN)
            }
            None => {
                let span = self.highest_scope().saturating_sub(self.low.scope);
                (true, span >= SCOPE_SPAN)
            }
        };
        Format { scoped, wide }
    }

    /// The highest key that a posting of this scope may have. A high key at the very start of a
    /// 16-bit key leaves that key to the right sibling.
    #[inline]
    fn highest_key(&self, scope: u32) -> u16 {
        match self.high.filter(|high| high.scope == scope) {
            Some(high) if high.rotated << KEY_BITS == 0 && high.tid == Tid::MIN => {
                high.first_quarter().saturating_sub(1)
            }
            Some(high) => high.first_quarter(),
            None => u16::MAX,
        }
    }

    #[inline]
    fn highest_scope(&self) -> u32 {
        match self.high {
            Some(high) if high.starts_scope() => high.scope.saturating_sub(1),
            Some(high) => high.scope,
            None => u32::MAX,
        }
    }

    /// Where a narrow leaf of this scope ends that begins here and spans as much as it can; None at
    /// the end of the scope.
    #[inline]
    pub fn narrow_end(&self, scope: u32) -> Option<Position> {
        let next = u32::from(lowest_key(self.low, scope)) + KEY_SPAN;
        (next <= u32::from(u16::MAX)).then(|| Position::at(scope, u64::from(next) << KEY_SHIFT))
    }
}

/// The scope of all these postings; None if they have several, or if there are none.
#[inline]
pub fn common_scope(postings: &[Position]) -> Option<u32> {
    let first = postings.first()?.scope;
    postings
        .iter()
        .all(|key| key.scope == first)
        .then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_those_of_the_design() {
        let capacity = |scoped, wide| Format::new(scoped, wide).capacity();
        assert_eq!((capacity(false, false), capacity(false, true)), (671, 575));
        assert_eq!((capacity(true, false), capacity(true, true)), (503, 447));
    }

    #[test]
    fn the_range_decides_how_wide_postings_are() {
        let key = |scope, key: u64| Position::at(scope, key << KEY_SHIFT);
        let wide = |low, high, scope| LeafRange { low, high }.format(scope).wide;
        assert!(!wide(key(0, 8), Some(key(0, 40)), Some(0)));
        assert!(wide(
            key(0, 8),
            Some(Position::at(0, (40 << 48) + 1)),
            Some(0)
        ));
        // Scope 3 may have every key here, scope 5 the first 32 ones.
        let (low, high) = (key(2, 900), Some(key(5, 32)));
        assert!(wide(low, high, Some(3)) && !wide(low, high, Some(5)));
        assert!(!wide(key(2, 0xFFE0), None, Some(2)) && wide(key(2, 0xFFDF), None, Some(2)));
        assert!(!wide(low, high, None) && wide(low, None, None));
        assert!(!wide(low, Some(key(2 + (1 << 21), 0)), None));
        assert!(wide(low, Some(key(2 + (1 << 21), 1)), None));
    }
}

//! The four formats of a leaf's postings, and which of them a leaf takes.
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

use super::special::ROOM;
use crate::key::{KEY_BITS, Key};
use simhash_base::tid::Tid;

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
    pub low: Key,
    /// The end, which does not belong to it; None on the rightmost leaf.
    pub high: Option<Key>,
}

/// The lowest key that a posting of this scope may have on a leaf that begins at `low`.
#[inline]
pub fn lowest_key(low: Key, scope: u32) -> u16 {
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
    pub fn narrow_end(&self, scope: u32) -> Option<Key> {
        let next = u32::from(lowest_key(self.low, scope)) + KEY_SPAN;
        (next <= u32::from(u16::MAX)).then(|| Key::at(scope, u64::from(next) << KEY_SHIFT))
    }
}

/// The scope of all these postings; None if they have several, or if there are none.
#[inline]
pub fn common_scope(postings: &[Key]) -> Option<u32> {
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
        let key = |scope, key: u64| Key::at(scope, key << KEY_SHIFT);
        let wide = |low, high, scope| LeafRange { low, high }.format(scope).wide;
        assert!(!wide(key(0, 8), Some(key(0, 40)), Some(0)));
        assert!(wide(key(0, 8), Some(Key::at(0, (40 << 48) + 1)), Some(0)));
        // Scope 3 may have every key here, scope 5 the first 32 ones.
        let (low, high) = (key(2, 900), Some(key(5, 32)));
        assert!(wide(low, high, Some(3)) && !wide(low, high, Some(5)));
        assert!(!wide(key(2, 0xFFE0), None, Some(2)) && wide(key(2, 0xFFDF), None, Some(2)));
        assert!(!wide(low, high, None) && wide(low, None, None));
        assert!(!wide(low, Some(key(2 + (1 << 21), 0)), None));
        assert!(wide(low, Some(key(2 + (1 << 21), 1)), None));
    }
}

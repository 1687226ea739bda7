//! The condition by which a search chooses postings of a leaf. Searches make it from their radii;
//! [`super::leaf_scan`] and [`super::kernel`] test it. It depends on a posting alone, not on the
//! leaf.

#![forbid(unsafe_code)]

use super::format::KEY_SHIFT;
use crate::key::KEY_BITS;

/// Condition of a search for the postings of a leaf: rotated fingerprints within `radius` of
/// `query`, whose key is more than `beyond` and at most `within` bits away from the query's key, in
/// a range of scopes. The quarter below the key counts as differing in at least `next_least` bits:
/// where it differs in fewer, a search finds the posting in that quarter's key space.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// The lowest scope.
    pub first_scope: u32,
    /// The highest scope.
    pub last_scope: u32,
    /// The query, rotated as the postings are.
    pub query: u64,
    /// At most 64.
    pub radius: u32,
    /// Distance of keys that is not enough; -1: none.
    pub beyond: i32,
    /// The largest distance of keys.
    pub within: i32,
    /// Bits in which the quarter below the key counts as differing where it differs in fewer.
    pub next_least: u32,
}

/// The place of the quarter below the key.
const NEXT_SHIFT: u32 = KEY_SHIFT - KEY_BITS;
const NEXT_MASK: u64 = (1 << KEY_BITS) - 1;

impl Filter {
    #[inline]
    pub(super) fn has_scope(&self, scope: u32) -> bool {
        self.first_scope <= scope && scope <= self.last_scope
    }

    /// The distance of a rotated fingerprint, if it passes.
    pub(crate) fn distance(&self, rotated: u64) -> Option<u32> {
        let differing = rotated ^ self.query;
        let of_key = (differing >> KEY_SHIFT).count_ones() as i32;
        let is_near = differing.count_ones() + self.missing(differing) <= self.radius;
        (is_near && of_key > self.beyond && of_key <= self.within).then_some(differing.count_ones())
    }

    /// How many bits of the quarter below the key differ less than it counts.
    #[inline(always)]
    pub(super) fn missing(&self, differing: u64) -> u32 {
        let of_next = (differing >> NEXT_SHIFT & NEXT_MASK).count_ones();
        self.next_least.saturating_sub(of_next)
    }

    /// How many of the low 32 bits may differ in a posting that passes, wherever it stands; None if
    /// none passes.
    #[inline(always)]
    pub(super) fn most_below(&self) -> Option<u32> {
        let above = (self.beyond + 1) as u32 + self.next_least;
        self.radius.checked_sub(above)
    }
}

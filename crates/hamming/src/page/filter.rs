//! The condition by which a search chooses postings of a leaf. Searches make it from their radii;
//! [`super::leaf_scan`] and [`super::kernel`] test it. It depends on a posting alone, not on the
//! leaf.

#![forbid(unsafe_code)]

use super::format::KEY_SHIFT;

/// Condition of a search for the postings of a leaf: rotated fingerprints within `radius` of
/// `query`, whose key is more than `beyond` and at most `within` bits away from the query's key, in
/// a range of scopes.
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
}

impl Filter {
    #[inline]
    pub(super) fn has_scope(&self, scope: u32) -> bool {
        self.first_scope <= scope && scope <= self.last_scope
    }

    /// The distance of a rotated fingerprint, if it passes.
    pub(super) fn distance(&self, rotated: u64) -> Option<u32> {
        let differing = rotated ^ self.query;
        let distance = differing.count_ones();
        let of_key = (differing >> KEY_SHIFT).count_ones() as i32;
        (distance <= self.radius && of_key > self.beyond && of_key <= self.within)
            .then_some(distance)
    }
}

//! What a search for pairs and its caller give each other: rows, and the pairs among them. The
//! caller implements [`PairSink`], [`super::find`] and those beside it call it. What a sink says of
//! itself does not change during a search.

#![forbid(unsafe_code)]

use simhash_base::store::Store;

/// A fingerprint, and the tag that stands for its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Row {
    /// The fingerprint.
    pub fingerprint: u64,
    /// The caller's number of the row.
    pub tag: u64,
}

/// The set that a row was in when its tag was made, where tags have sets.
#[inline]
pub fn set(row: &Row) -> u64 {
    row.tag >> u32::BITS
}

/// Takes the pairs that a search finds, and says which of them it needs. Also what else a search needs
/// from its caller: temporary files, points where it can be cancelled, and a place for its progress.
pub trait PairSink {
    /// A temporary file.
    type File: Store;
    /// Makes a temporary file.
    fn file(&mut self) -> Self::File;
    /// Takes a pair by its tags: in any order if there is one side; if there are two, `a` is of the
    /// first.
    fn pair(&mut self, a: u64, b: u64, distance: u32);
    /// Returns whether it only matters which rows are connected. Then equal rows stand for each
    /// other, pairs whose rows others connect may be left out, and some come more than once. With
    /// two sides, all pairs come.
    fn is_transitive(&self) -> bool {
        false
    }
    /// Returns whether equal rows are to stand for each other. Then each comes in a pair with an
    /// equal one that came before it, the first of them in pairs with others, and no other pair
    /// comes. With two sides, all pairs come. If [`PairSink::is_across`], it only matters which rows are
    /// connected: equal ones of different sets are, and two of them stand for all. Some pairs come
    /// twice.
    fn wants_distinct(&self) -> bool {
        false
    }
    /// Returns whether the sink keeps sets of connected rows. Then the upper half of a tag is the
    /// set that its row was in when the tag was made, and pairs of rows of one set are not needed.
    fn keeps_sets(&self) -> bool {
        false
    }
    /// The tag with the set that its row is in now.
    fn renewed(&mut self, tag: u64) -> u64 {
        tag
    }
    /// Returns whether pairs of rows of one set do not count. Then the upper half of a tag is the set
    /// of its row.
    fn is_across(&self) -> bool {
        false
    }
    /// Called every few thousand rows or comparisons; may unwind.
    fn check_interrupts(&mut self);
    /// Called now and then with the share of the work that is done, 0 to 1.
    fn progress(&mut self, share: f64);
}

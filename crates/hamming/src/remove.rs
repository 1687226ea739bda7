//! Removing postings from a leaf, for VACUUM and for scans that have met dead rows. Each leaf is one
//! logged step. No page is ever removed, and a leaf keeps its range.

use crate::Error;
use crate::key::{Key, Space};
use crate::page::special::{self, PageKind};
use crate::page::{leaf, leaf_rewrite};
use crate::search::reader::IndexReader;
use crate::tree::locked::Locked;
use crate::tree::store::{PageImage, PageStore};
use std::convert::Infallible;

/// Leaves these postings in a leaf, which must be among those that it has, and removes the others.
pub fn keep<S: PageStore>(page: &mut Locked<S::Exclusive>, kind: PageKind, kept: &mut [Key]) {
    let Ok(()) = S::change([(page, PageImage::Full)], |[page]| {
        leaf_rewrite::keep(page, kind, kept);
        Ok::<(), Infallible>(())
    });
}

/// Cleans a leaf for VACUUM: `without_dead` returns the postings that stay. Returns the leaf's space,
/// how many postings it had, and how many were removed. The leaf must be locked so that no scan
/// holds a pin on it.
pub fn clean<S: PageStore>(
    page: &mut Locked<S::Exclusive>,
    stamp: u32,
    without_dead: impl FnOnce(&[Key]) -> Vec<Key>,
) -> Result<(Space, usize, usize), Error> {
    let kind = special::kind_of(page, stamp)?;
    leaf::check(page)?;
    let postings: Vec<Key> = leaf::postings(page).collect();
    let mut kept = without_dead(&postings);
    let removed = postings.len() - kept.len();
    if removed > 0 {
        keep::<S>(page, kind, &mut kept);
    }
    Ok((kind.space, postings.len(), removed))
}

impl<S: PageStore> IndexReader<'_, S> {
    /// Locks a leaf that a search has visited for writing, and returns what kind of page it is.
    pub fn visited_leaf(&self, space: Space, block: u32) -> (Locked<S::Exclusive>, PageKind) {
        self.tree(space).lock_leaf(self.pin(block))
    }
}

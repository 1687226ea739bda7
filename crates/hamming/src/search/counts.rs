//! What is known of the rows of a scope before a search, and the radii that it chooses by that.
//! Searches call it at their start. Any radii are exact (see [`super::probe`]): what is known may be
//! rough and stale.

use super::cached::CachedIndex;
use super::key_counts::Counts;
use super::probe::{Even, Radii, WHOLE_KEY_SPACE, choose, even_radii};
use super::reader::IndexReader;
use super::scopes::Scopes;
use crate::key::{Key, Space};
use crate::page::{LEAF, internal, special};
use crate::tree::store::PageStore;

impl<S: PageStore> IndexReader<'_, S> {
    /// Radii for a search within `k` of `query` in a scope: the cheapest by the counts, or evenly
    /// spread ones where nothing is known. Several scopes cannot be probed at once.
    pub(super) fn chosen_radii(&self, scopes: &Scopes, query: u64, k: u32) -> Radii {
        let Some(scope) = scopes.one() else {
            return WHOLE_KEY_SPACE;
        };
        match self.counts(scope) {
            Counts::Keys(counts) => choose(query, k, &*counts),
            Counts::Leaves(1) => WHOLE_KEY_SPACE,
            Counts::Leaves(leaves) => choose(query, k, &Even { leaves }),
            Counts::Unknown => even_radii(k),
        }
    }

    /// What is known of a scope; the same throughout a search, which reads one.
    pub(super) fn counts(&self, scope: u32) -> Counts {
        let counts = match self.state.counts.take() {
            Some((counted, counts)) if counted == scope => counts,
            _ => self.count(scope),
        };
        (self.state.counts).replace(Some((scope, counts.clone())));
        counts
    }

    fn count(&self, scope: u32) -> Counts {
        if self.state.meta.levels[0] == LEAF {
            return Counts::Leaves(1);
        }
        let Some(cached) = self.cached() else {
            return match self.state.scoped {
                true => Counts::Leaves(self.count_leaves(scope)),
                false => Counts::Unknown,
            };
        };
        if let Some(counts) = cached.counted(scope) {
            return Counts::Keys(counts);
        }
        let parents = cached.directory.parents(Space::of_quarter(0));
        let leaves = match parents.leaves() {
            Some(leaves) if !self.state.scoped => leaves,
            _ => self.count_leaves(scope),
        };
        let counts = cached.count_if_due(self.store, &self.state.meta, scope, leaves);
        counts.map_or(Counts::Leaves(leaves), Counts::Keys)
    }

    /// The number of leaves of a scope in the first key space: those below the pages that
    /// its first and its last position lead to, and about as many as there are below the pages
    /// between.
    fn count_leaves(&self, scope: u32) -> u64 {
        let space = Space::of_quarter(0);
        let (first, last) = (Key::at(scope, 0), Key::at(scope, u64::MAX));
        let links = |at: Key| {
            let page = self.parent(space, at);
            let links = page.map(|page| {
                let links = internal::links_between(&page, first, last).len() as u64;
                (links, special::is_past(&page, last))
            });
            links.unwrap_or((1, false))
        };
        let (leaves, goes_on) = links(first);
        if !goes_on {
            return leaves.max(1);
        }
        let between =
            |cached: &CachedIndex| cached.directory.parents(space).leaves_between(first, last);
        leaves + self.cached().map_or(0, between) + links(last).0
    }
}

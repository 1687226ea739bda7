//! Everything within a radius in the scopes of a list.
//!
//! One walk over a key space reads all scopes that are small: a leaf that holds rows of several is
//! visited once. The large ones that it meets are probed, each by itself.

use super::reader::IndexReader;
use super::scopes::{ListedScopes, Scopes};
use super::within::{Match, WithinSearch};
use crate::tree::locked::Locked;
use crate::tree::store::PageStore;

/// A search for everything within a radius.
pub struct WithinScopes {
    query: u64,
    radius: u32,
    /// The search of all scopes that are not large.
    small: WithinSearch,
    /// Large ones that are still to be searched.
    large: Vec<u32>,
    /// The search of one of these.
    present: Option<WithinSearch>,
}

impl WithinScopes {
    pub fn new(among: ListedScopes, query: u64, radius: u32) -> WithinScopes {
        WithinScopes {
            query,
            radius,
            small: WithinSearch::walk_small(Scopes::Listed(among), query, radius, radius),
            large: Vec::new(),
            present: None,
        }
    }

    /// Calls `found` with the matches of the next leaf and returns that leaf; None at the end.
    pub fn step<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        mut found: impl FnMut(Match),
    ) -> Option<Locked<S::Shared>> {
        loop {
            if let Some(present) = &mut self.present {
                let leaf = present.step(reader, &mut found);
                if leaf.is_some() {
                    return leaf;
                }
            }
            self.present = self
                .large
                .pop()
                .map(|scope| WithinSearch::new(Scopes::One(scope), self.query, self.radius));
            if self.present.is_some() {
                continue;
            }
            let leaf = self.small.step(reader, &mut found);
            self.large = self.small.take_left_out();
            if leaf.is_some() || self.large.is_empty() {
                return leaf;
            }
        }
    }
}

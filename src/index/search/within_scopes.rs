//! Everything within a radius in the scopes of a list.
//!
//! One walk over a key space reads all scopes that are small: a leaf that holds rows of several is
//! visited once. The large ones that it meets are probed, each by itself.

use super::view::View;
use super::within::{Match, Within};
use simhash_hamming::search::scopes::{Among, Scopes};
use simhash_pg::page::buffer::Shared;

/// A search for everything within a radius.
pub struct WithinScopes {
    query: u64,
    radius: u32,
    /// The search of all scopes that are not large.
    small: Within,
    /// Large ones that are still to be searched.
    large: Vec<u32>,
    /// The search of one of these.
    present: Option<Within>,
}

impl WithinScopes {
    pub fn new(among: Among, query: u64, radius: u32) -> WithinScopes {
        WithinScopes {
            query,
            radius,
            small: Within::walk_small(Scopes::Among(among), query, radius, radius),
            large: Vec::new(),
            present: None,
        }
    }

    /// Calls `found` with the matches of the next leaf and returns that leaf; None at the end.
    pub fn step<'r>(
        &mut self,
        view: &View<'r, '_>,
        mut found: impl FnMut(Match),
    ) -> Option<Shared<'r>> {
        loop {
            if let Some(present) = &mut self.present {
                let leaf = present.step(view, &mut found);
                if leaf.is_some() {
                    return leaf;
                }
            }
            self.present = self
                .large
                .pop()
                .map(|scope| Within::new(Scopes::One(scope), self.query, self.radius));
            if self.present.is_some() {
                continue;
            }
            let leaf = self.small.step(view, &mut found);
            self.large = self.small.take_left_out();
            if leaf.is_some() || self.large.is_empty() {
                return leaf;
            }
        }
    }
}

//! Walking the leaves of a key space that can hold a match, each once, in ascending order.
//!
//! A walk remembers a position, not a page: between two leaves no lock and no pin is held, pages
//! may split, and still no posting is met twice or missed. A leaf's upper end stays a boundary for
//! ever, since pages are never merged, and a split moves postings within the old leaf's range only.

use super::probe::next_in_ball;
use super::view::View;
use crate::index::key::{Key, Space};
use crate::index::page::filter::{self, Filter};
use crate::index::page::kernel::Candidates;
use crate::index::page::special;
use crate::pg::page::buffer::Shared;
use crate::pg::process::backend::check_for_interrupts;
use std::collections::VecDeque;

/// A walk over one key space.
pub struct Walk {
    filter: Filter,
    /// The lowest position not yet visited; None at the end.
    next: Option<Key>,
    /// The leaf that starts exactly at `next`, if the last leaf's right link leads to it.
    right_sibling: Option<u32>,
    /// The next visits according to the directory, whose leaves are being fetched into the
    /// processor's cache.
    ahead: VecDeque<PlannedVisit>,
    /// Where looking ahead goes on; None at the end.
    frontier: Option<Key>,
    /// Room for the work on one leaf.
    candidates: Box<Candidates>,
}

/// A position to visit, and the directory's entry for the leaf that holds it.
struct PlannedVisit {
    from: Key,
    entry: usize,
    /// Where the leaf ended when the directory was loaded; None for the last.
    end: Option<Key>,
}

/// Leaves fetched ahead: enough to hide the time of a memory access behind the scan of a leaf.
const LOOK_AHEAD: usize = 6;

impl Walk {
    /// A walk over the leaves that can hold what `filter` matches.
    pub fn new(filter: Filter) -> Walk {
        let mut walk = Walk {
            filter,
            next: None,
            right_sibling: None,
            ahead: VecDeque::new(),
            frontier: None,
            candidates: Box::new(Candidates::none()),
        };
        walk.next = walk.skip_to_ball(Key::MIN);
        walk.frontier = walk.next;
        walk
    }

    /// The first position at or after `from` that can hold a match.
    fn skip_to_ball(&self, from: Key) -> Option<Key> {
        let f = &self.filter;
        let mut from = match f.scope {
            Some(scope) if from.scope > scope => return None,
            Some(scope) => from.max(Key::at(scope, 0)),
            None => from,
        };
        loop {
            match next_in_ball(from.rotated, f.query, f.within, f.radius) {
                Some(rotated) if rotated == from.rotated => return Some(from),
                Some(rotated) => return Some(Key::at(from.scope, rotated)),
                None if f.scope.is_some() => return None,
                // The ball begins anew in the next scope.
                None => from = Key::behind_scope(from.scope)?,
            }
        }
    }

    /// With a directory, finds the next few leaves and starts fetching them.
    pub fn look_ahead(&mut self, view: &View, space: Space) {
        while self.ahead.len() < LOOK_AHEAD {
            let Some(from) = self.frontier else { return };
            let Some((entry, end)) = view.prefetch(space, from) else {
                return;
            };
            self.ahead.push_back(PlannedVisit { from, entry, end });
            self.frontier = end.and_then(|end| self.skip_to_ball(end));
        }
    }

    /// The leaf that holds `from`, the next position, and where the directory says that it ends.
    fn leaf<'r>(
        &mut self,
        view: &View<'r, '_>,
        space: Space,
        from: Key,
    ) -> (Shared<'r>, Option<Key>) {
        // A leaf that was split since the directory was loaded takes more than one visit, and the
        // planned visit comes after them.
        match self.ahead.pop_front_if(|place| place.from == from) {
            Some(place) => (view.leaf_at(space, from, place.entry), place.end),
            None => (view.leaf(space, from, self.right_sibling), None),
        }
    }

    /// Calls `visit` with the matches of the next leaf and returns that leaf, still locked; None at
    /// the end of the walk.
    pub fn step<'r>(
        &mut self,
        view: &View<'r, '_>,
        space: Space,
        visit: impl FnMut(Key, u32),
    ) -> Option<Shared<'r>> {
        let from = self.next?;
        // Between two leaves no page is locked, so that a cancel takes effect.
        check_for_interrupts();
        self.look_ahead(view, space);
        let (page, end) = self.leaf(view, space, from);
        view.check_age(&page);
        // Skip the postings that were returned already.
        filter::scan(&page, &self.filter, from, &mut self.candidates, visit);
        let right = special::right(&page);
        self.next = match right {
            // Looking ahead has skipped from here already.
            Some((_, high)) if Some(high) == end => {
                self.ahead.front().map(|place| place.from).or(self.frontier)
            }
            Some((_, high)) => self.skip_to_ball(high),
            None => None,
        };
        // If nothing was skipped, the right link saves a descent.
        self.right_sibling = right
            .filter(|(_, high)| self.next == Some(*high))
            .map(|(block, _)| block);
        Some(page)
    }
}

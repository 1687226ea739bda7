//! Walking the leaves of a key space that can hold a match, each once, in ascending order.
//!
//! A walk remembers a position, not a page: between two leaves no lock and no pin is held, pages
//! may split, and still no posting is met twice or missed. A leaf's upper end stays a boundary for
//! ever, since pages are never merged, and a split moves postings within the old leaf's range only.

use super::view::{PlannedLeaf, View};
use simhash_hamming::key::{Key, Space};
use simhash_hamming::page::filter::{self, Filter};
use simhash_hamming::page::kernel::Candidates;
use simhash_hamming::page::special;
use simhash_hamming::search::probe::next_in_ball;
use simhash_pg::page::buffer::Shared;
use simhash_pg::process::backend::check_for_interrupts;
use std::collections::VecDeque;

/// A walk over one key space.
pub struct Walk {
    filter: Filter,
    /// The lowest position not yet visited; None at the end.
    next: Option<Key>,
    /// The leaf that starts exactly at `next`, if the last leaf's right link leads to it.
    right_sibling: Option<u32>,
    /// The next visits according to the pages above the leaves.
    ahead: VecDeque<PlannedVisit>,
    /// How many of them are being fetched into the processor's cache.
    fetched: usize,
    /// How many of them need not be asked of the operating system any more.
    asked: usize,
    /// Where looking ahead goes on; None at the end.
    frontier: Option<Key>,
    /// Where asking for pages above the leaves goes on; None at the end.
    above: Option<Key>,
    /// How many of these pages were asked for and not read since.
    asked_above: usize,
    /// Room for the work on one leaf.
    candidates: Box<Candidates>,
}

/// A position to visit, and the leaf that holds it.
struct PlannedVisit {
    from: Key,
    leaf: PlannedLeaf,
    /// Where the leaf ended when the page above it was read; None for the last.
    end: Option<Key>,
}

/// Leaves fetched into the processor's cache ahead: enough to hide the time of a memory access
/// behind the scan of a leaf.
const LOOK_AHEAD: usize = 6;

impl Walk {
    /// A walk over the leaves that can hold what `filter` matches.
    pub fn new(filter: Filter) -> Walk {
        let mut walk = Walk {
            filter,
            next: None,
            right_sibling: None,
            ahead: VecDeque::new(),
            fetched: 0,
            asked: 0,
            frontier: None,
            above: None,
            asked_above: 0,
            candidates: Box::new(Candidates::none()),
        };
        walk.next = skip_to_ball(&walk.filter, Key::MIN);
        walk.frontier = walk.next;
        walk.above = walk.next;
        walk
    }

    /// Finds the next few leaves, and starts fetching them into the processor's cache. Where leaves
    /// are not expected in buffers, `room` of them are asked of the operating system, beside the
    /// very next one if the walk is the `current` one, which will read that at once. Returns the
    /// room that is left.
    pub fn look_ahead(&mut self, view: &View, space: Space, current: bool, room: usize) -> usize {
        let at_once = usize::from(current);
        self.ask_above(view, space, room);
        self.plan(view, space, LOOK_AHEAD.max(at_once + room));
        let near = self.ahead.len().min(LOOK_AHEAD);
        for visit in self.ahead.range(self.fetched.min(near)..near) {
            view.fetch(&visit.leaf);
        }
        self.fetched = near;
        if room == 0 {
            return 0;
        }
        let end = self.ahead.len().min(at_once + room);
        for visit in self.ahead.range(self.asked.max(at_once).min(end)..end) {
            view.ask_for(visit.leaf.block);
        }
        self.asked = self.asked.max(end);
        room - end.saturating_sub(at_once)
    }

    /// Asks the operating system for up to `most` pages above the leaves that planning will read.
    pub fn ask_above(&mut self, view: &View, space: Space, most: usize) {
        match (self.above, self.frontier) {
            (_, None) => self.above = None,
            (Some(above), Some(frontier)) if above < frontier => {
                (self.above, self.asked_above) = (self.frontier, 0);
            }
            _ => {}
        }
        while self.asked_above < most
            && let Some(from) = self.above
        {
            let end = view.ask_for_parent(space, from);
            self.above = end.and_then(|end| skip_to_ball(&self.filter, end));
            self.asked_above += 1;
        }
    }

    /// Starts fetching the page above the leaves that planning will read next.
    pub fn fetch_parent(&self, view: &View, space: Space) {
        if let Some(from) = self.frontier {
            view.fetch_parent(space, from);
        }
    }

    /// Plans visits, at least `wanted` if there are so many; some more where that is cheap.
    fn plan(&mut self, view: &View, space: Space, wanted: usize) {
        while self.ahead.len() < wanted
            && let Some(from) = self.frontier
        {
            let is_planned = view.plan(space, from, |from, leaf, end| {
                self.ahead.push_back(PlannedVisit { from, leaf, end });
                self.frontier = end.and_then(|end| skip_to_ball(&self.filter, end));
                self.frontier.filter(|_| self.ahead.len() < 2 * wanted)
            });
            if !is_planned {
                return;
            }
            self.asked_above = self.asked_above.saturating_sub(1);
            self.fetch_parent(view, space);
        }
    }

    /// The leaf that holds `from`, the next position, and where it is expected to end.
    fn leaf<'r>(
        &mut self,
        view: &View<'r, '_>,
        space: Space,
        from: Key,
    ) -> (Shared<'r>, Option<Key>) {
        // A leaf that was split since it was planned takes more than one visit, and the next
        // planned visit comes after them.
        let Some(planned) = self.ahead.pop_front_if(|place| place.from == from) else {
            return (view.leaf(space, from, self.right_sibling), None);
        };
        self.asked = self.asked.saturating_sub(1);
        self.fetched = self.fetched.saturating_sub(1);
        // The leaf's own link cannot lead past rows, while the page above may be damaged.
        let start = self.right_sibling.unwrap_or(planned.leaf.block);
        (view.leaf(space, from, Some(start)), planned.end)
    }

    /// Calls `visit` with the matches of the next leaf and returns that leaf, still locked; None at
    /// the end of the walk. Call [`Walk::look_ahead`] before.
    pub fn step<'r>(
        &mut self,
        view: &View<'r, '_>,
        space: Space,
        visit: impl FnMut(Key, u32),
    ) -> Option<Shared<'r>> {
        let from = self.next?;
        // Between two leaves no page is locked, so that a cancel takes effect.
        check_for_interrupts();
        let (page, end) = self.leaf(view, space, from);
        view.note_visit();
        view.check_age(&page);
        // Skip the postings that were returned already.
        filter::scan(&page, &self.filter, from, &mut self.candidates, visit);
        let right = special::right(&page);
        self.next = match right {
            // Looking ahead has skipped from here already.
            Some((_, high)) if Some(high) == end => {
                self.ahead.front().map(|place| place.from).or(self.frontier)
            }
            Some((_, high)) => skip_to_ball(&self.filter, high),
            None => None,
        };
        if self.ahead.is_empty() {
            self.frontier = self.next;
        }
        // If nothing was skipped, the right link saves a descent.
        self.right_sibling = right
            .filter(|(_, high)| self.next == Some(*high))
            .map(|(block, _)| block);
        Some(page)
    }
}

/// The first position at or after `from` that can hold a match.
fn skip_to_ball(f: &Filter, from: Key) -> Option<Key> {
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

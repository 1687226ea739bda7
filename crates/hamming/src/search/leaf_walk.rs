//! Walking the leaves of a key space that can hold a match, each once, in ascending order.
//!
//! A walk remembers a position, not a page: between two leaves no lock and no pin is held, pages
//! may split, and still no posting is met twice or missed. A leaf's upper end stays a boundary for
//! ever, since pages are never merged, and a split moves postings within the old leaf's range only.

use super::reader::{IndexReader, PlannedLeaf};
use super::scopes::Scopes;
use crate::key::{Key, Space};
use crate::page::kernel::Candidates;
use crate::page::leaf_scan::Filter;
use crate::page::{Page, leaf_scan, special};
use crate::tree::store::{Locked, PageStore};
use std::cell::RefCell;
use std::collections::VecDeque;

thread_local! {
    /// Room for the work on one leaf. All walks of the session share it: a search within 3 bits has
    /// four, each of which reads one leaf.
    static CANDIDATES: RefCell<Candidates> = const { RefCell::new(Candidates::none()) };
}

/// A walk over one key space.
pub struct LeafWalk {
    scopes: Scopes,
    filter: Filter,
    /// The lowest position not yet visited; None at the end.
    next: Option<Key>,
    /// The leaf that starts exactly at `next`, if the last leaf's right link leads to it.
    right_sibling: Option<u32>,
    /// The next visits according to the pages above the leaves.
    ahead: VecDeque<PlannedVisit>,
    /// Number of them whose ends are being fetched into the processor's cache.
    ends_fetched: usize,
    /// Number of them that are being fetched with the words to test.
    fetched: usize,
    /// Number of them that need not be read ahead any more.
    asked: usize,
    /// Where looking ahead goes on; None at the end.
    frontier: Option<Key>,
    /// Where reading ahead of pages above the leaves goes on; None at the end.
    above: Option<Key>,
    /// Number of these pages that were read ahead and not read since.
    asked_above: usize,
}

/// A position to visit, and the leaf that holds it.
struct PlannedVisit {
    from: Key,
    leaf: PlannedLeaf,
}

/// Number of leaves that are planned together, and whose ends are then fetched into the processor's cache
/// together: it finds out where several pages are in memory in the time that one takes. With more
/// leaves a search was no faster.
const PLANNED: usize = 24;
/// Number of leaves whose words are fetched ahead: enough to hide the time of a memory access behind the
/// scan of a leaf. The processor forgets requests of which there are too many.
const NEAR: usize = 4;

impl LeafWalk {
    /// Returns a walk over the leaves that can hold what `filter` matches in these scopes.
    pub fn new(scopes: Scopes, filter: Filter) -> LeafWalk {
        let mut walk = LeafWalk {
            scopes,
            filter,
            next: None,
            right_sibling: None,
            ahead: VecDeque::new(),
            ends_fetched: 0,
            fetched: 0,
            asked: 0,
            frontier: None,
            above: None,
            asked_above: 0,
        };
        walk.next = walk.skip(Key::MIN);
        walk.frontier = walk.next;
        walk.above = walk.next;
        walk
    }

    /// Returns the first position at or after `from` that can hold a match.
    fn skip(&self, from: Key) -> Option<Key> {
        self.scopes.next_match(&self.filter, from)
    }

    /// Finds the next few leaves, and starts fetching them into the processor's cache. Where leaves
    /// are not expected in buffers, reads ahead `room` of them, in addition to the very next one if
    /// the walk is the `current` one, which will read that at once. Returns the room that is left.
    pub fn look_ahead<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        space: Space,
        current: bool,
        room: usize,
    ) -> usize {
        let at_once = usize::from(current);
        self.read_parents_ahead(reader, space, room);
        self.plan(reader, space, PLANNED.max(at_once + room));
        for visit in self.ahead.range(self.ends_fetched..) {
            reader.warm_ends(&visit.leaf);
        }
        self.ends_fetched = self.ahead.len();
        let near = self.ahead.len().min(NEAR);
        for visit in self.ahead.range(self.fetched..near) {
            reader.warm(&visit.leaf);
        }
        self.fetched = near;
        if room == 0 {
            return 0;
        }
        let end = self.ahead.len().min(at_once + room);
        for visit in self.ahead.range(self.asked.max(at_once).min(end)..end) {
            reader.read_ahead(visit.leaf.block);
        }
        self.asked = self.asked.max(end);
        room - end.saturating_sub(at_once)
    }

    /// Reads ahead up to `most` pages above the leaves that planning will read.
    pub fn read_parents_ahead<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        space: Space,
        most: usize,
    ) {
        if most == 0 {
            // In memory even finding out where asking would go on costs a search a few percent.
            return;
        }
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
            let end = reader.read_parent_ahead(space, from);
            self.above = end.and_then(|end| self.skip(end));
            self.asked_above += 1;
        }
    }

    /// Starts fetching the page above the leaves that planning will read next.
    pub fn warm_parent<S: PageStore>(&self, reader: &IndexReader<'_, S>, space: Space) {
        if let Some(from) = self.frontier {
            reader.warm_parent(space, from);
        }
    }

    /// Plans visits, at least `count` if there are that many; some more where that is cheap.
    fn plan<S: PageStore>(&mut self, reader: &IndexReader<'_, S>, space: Space, count: usize) {
        while self.ahead.len() < count
            && let Some(from) = self.frontier
        {
            let is_planned = reader.plan(space, from, |from, leaf| {
                let end = leaf.end;
                self.ahead.push_back(PlannedVisit { from, leaf });
                self.frontier = end.and_then(|end| self.skip(end));
                self.frontier.filter(|_| self.ahead.len() < 2 * count)
            });
            if !is_planned {
                return;
            }
            self.asked_above = self.asked_above.saturating_sub(1);
            self.warm_parent(reader, space);
        }
    }

    /// Returns the leaf that holds `from`, the next position, and what was planned for it.
    fn leaf<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        space: Space,
        from: Key,
    ) -> (Locked<S::Shared>, Option<PlannedLeaf>) {
        // A leaf that was split since it was planned takes more than one visit, and the next
        // planned visit comes after them.
        let Some(planned) = self.ahead.pop_front_if(|place| place.from == from) else {
            return (reader.leaf(space, from, self.right_sibling), None);
        };
        self.count_out_planned();
        // The leaf's own link cannot lead past rows, while the page above may be damaged.
        let start = self.right_sibling.unwrap_or(planned.leaf.block);
        (reader.leaf(space, from, Some(start)), Some(planned.leaf))
    }

    fn count_out_planned(&mut self) {
        self.asked = self.asked.saturating_sub(1);
        self.ends_fetched = self.ends_fetched.saturating_sub(1);
        self.fetched = self.fetched.saturating_sub(1);
    }

    /// Forgets planned visits of positions before the next one. So planning never goes on before that
    /// position.
    fn forget_passed(&mut self) {
        let next = self.next;
        let is_passed = |place: &mut PlannedVisit| next.is_none_or(|next| place.from < next);
        while self.ahead.pop_front_if(is_passed).is_some() {
            self.count_out_planned();
        }
        if self.ahead.is_empty() {
            self.frontier = next;
        }
    }

    /// Calls `visit` with the matches of the next leaf and returns that leaf, still locked; None at
    /// the end of the walk. Call [`LeafWalk::look_ahead`] before.
    pub fn step<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        space: Space,
        visit: impl FnMut(Key, u32),
    ) -> Option<Locked<S::Shared>> {
        let from = self.next?;
        // Between two leaves no page is locked, so that a cancel takes effect.
        reader.store.check_for_interrupts();
        let (page, planned) = self.leaf(reader, space, from);
        reader.note_visit();
        let right = special::right(&page);
        // Matches before `from` were returned already.
        let matches = matches(&page, &self.filter, from, visit);
        reader.store.note_leaf(space, &page, matches);
        let high = right.map(|(_, high)| high);
        let is_as_planned = planned.as_ref().is_some_and(|leaf| leaf.end == high);
        if planned.is_some() && !is_as_planned {
            reader.forget_copy(space, from);
        }
        self.next = match high {
            // Looking ahead has skipped from here already.
            Some(_) if is_as_planned => {
                self.ahead.front().map(|place| place.from).or(self.frontier)
            }
            Some(high) => self.skip(high),
            None => None,
        };
        self.forget_passed();
        // If nothing was skipped, the right link saves a descent.
        self.right_sibling = right
            .filter(|(_, high)| self.next == Some(*high))
            .map(|(block, _)| block);
        Some(page)
    }
}

/// Calls `visit`, which scans no leaf itself, with the matches of a leaf; returns their number.
fn matches(page: &Page, filter: &Filter, from: Key, visit: impl FnMut(Key, u32)) -> usize {
    CANDIDATES.with_borrow_mut(|room| leaf_scan::scan(page, filter, from, room, visit))
}

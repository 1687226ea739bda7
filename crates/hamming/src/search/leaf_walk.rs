//! Walking the leaves of a key space that can hold a match, each once, in ascending order.
//!
//! A walk remembers a position, not a page: between two leaves no lock and no pin is held, pages
//! may split, and still no posting is met twice or missed. A leaf's upper end stays a boundary for
//! ever, since pages are never merged, and a split moves postings within the old leaf's range only.

use super::reader::{IndexReader, PlannedLeaf};
use super::scopes::Scopes;
use crate::key::{Position, Space};
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
    next: Option<Position>,
    /// The leaf that starts exactly at `next`, if the last leaf's right link leads to it.
    right_sibling: Option<u32>,
    ahead: PlannedVisits,
    /// Where planning goes on; None at the end.
    frontier: Option<Position>,
    parents: ParentsAhead,
}

/// The next visits according to the pages above the leaves, and how many of them, counted from the first, are
/// on their way.
#[derive(Default)]
struct PlannedVisits {
    visits: VecDeque<PlannedVisit>,
    /// Their ends are being fetched into the processor's cache.
    ends_fetched: usize,
    /// The words to test are being fetched too.
    words_fetched: usize,
    /// They need not be read ahead any more.
    read_ahead: usize,
}

/// The pages above the leaves that planning will read.
#[derive(Default)]
struct ParentsAhead {
    /// Where reading them ahead goes on; None at the end.
    next: Option<Position>,
    /// Number of them that were read ahead and not read since.
    count: usize,
}

/// A position to visit, and the leaf that holds it.
struct PlannedVisit {
    from: Position,
    leaf: PlannedLeaf,
}

/// Number of leaves that are planned together, and whose ends are then fetched into the processor's cache
/// together: it finds out where several pages are in memory in the time that one takes. With more
/// leaves a search was no faster.
const PLANNED: usize = 24;
/// Number of leaves whose words are fetched ahead: enough to hide the time of a memory access behind the
/// scan of a leaf. The processor forgets requests of which there are too many.
const WORDS_AHEAD: usize = 4;

impl LeafWalk {
    /// Returns a walk over the leaves that can hold what `filter` matches in these scopes.
    pub fn new(scopes: Scopes, filter: Filter) -> LeafWalk {
        let mut walk = LeafWalk {
            scopes,
            filter,
            next: None,
            right_sibling: None,
            ahead: PlannedVisits::default(),
            frontier: None,
            parents: ParentsAhead::default(),
        };
        walk.next = walk.skip(Position::MIN);
        walk.frontier = walk.next;
        walk.parents.next = walk.next;
        walk
    }

    /// Returns the first position at or after `from` that can hold a match.
    fn skip(&self, from: Position) -> Option<Position> {
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
        self.ahead.fetch(reader);
        match room {
            0 => 0,
            _ => self.ahead.read_ahead(reader, at_once, room),
        }
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
        match (self.parents.next, self.frontier) {
            (_, None) => self.parents.next = None,
            (Some(next), Some(frontier)) if next < frontier => {
                (self.parents.next, self.parents.count) = (self.frontier, 0);
            }
            _ => {}
        }
        while self.parents.count < most
            && let Some(from) = self.parents.next
        {
            let end = reader.read_parent_ahead(space, from);
            self.parents.next = end.and_then(|end| self.skip(end));
            self.parents.count += 1;
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
        while self.ahead.visits.len() < count
            && let Some(from) = self.frontier
        {
            let is_planned = reader.plan(space, from, |from, leaf| {
                let end = leaf.end;
                self.ahead.visits.push_back(PlannedVisit { from, leaf });
                self.frontier = end.and_then(|end| self.skip(end));
                self.frontier
                    .filter(|_| self.ahead.visits.len() < 2 * count)
            });
            if !is_planned {
                return;
            }
            self.parents.count = self.parents.count.saturating_sub(1);
            self.warm_parent(reader, space);
        }
    }

    /// Returns the leaf that holds `from`, the next position, and what was planned for it.
    fn leaf<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        space: Space,
        from: Position,
    ) -> (Locked<S::Shared>, Option<PlannedLeaf>) {
        // A leaf that was split since it was planned takes more than one visit, and the next
        // planned visit comes after them.
        let Some(planned) = self.ahead.pop_if(|visit| visit.from == from) else {
            return (reader.leaf(space, from, self.right_sibling), None);
        };
        // The leaf's own link cannot lead past rows, while the page above may be damaged.
        let start = self.right_sibling.unwrap_or(planned.leaf.block);
        (reader.leaf(space, from, Some(start)), Some(planned.leaf))
    }

    /// Forgets planned visits of positions before the next one. So planning never goes on before that
    /// position.
    fn forget_passed(&mut self) {
        let next = self.next;
        let is_passed = |visit: &PlannedVisit| next.is_none_or(|next| visit.from < next);
        while self.ahead.pop_if(is_passed).is_some() {}
        if self.ahead.visits.is_empty() {
            self.frontier = next;
        }
    }

    /// Calls `visit` with the matches of the next leaf and returns that leaf, still locked; None at
    /// the end of the walk. Call [`LeafWalk::look_ahead`] before.
    pub fn step<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        space: Space,
        visit: impl FnMut(Position, u32),
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
            Some(_) if is_as_planned => self
                .ahead
                .visits
                .front()
                .map(|visit| visit.from)
                .or(self.frontier),
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

impl PlannedVisits {
    /// Starts fetching the leaves into the processor's cache: the ends of all, the words of the next few.
    fn fetch<S: PageStore>(&mut self, reader: &IndexReader<'_, S>) {
        for visit in self.visits.range(self.ends_fetched..) {
            reader.warm_ends(&visit.leaf);
        }
        self.ends_fetched = self.visits.len();
        let near = self.visits.len().min(WORDS_AHEAD);
        for visit in self.visits.range(self.words_fetched..near) {
            reader.warm(&visit.leaf);
        }
        self.words_fetched = near;
    }

    /// Reads ahead `room` leaves after the first `at_once`. Returns the room that is left.
    fn read_ahead<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        at_once: usize,
        room: usize,
    ) -> usize {
        let end = self.visits.len().min(at_once + room);
        for visit in self
            .visits
            .range(self.read_ahead.max(at_once).min(end)..end)
        {
            reader.read_ahead(visit.leaf.block);
        }
        self.read_ahead = self.read_ahead.max(end);
        room - end.saturating_sub(at_once)
    }

    /// Takes the first visit, if it is the one.
    fn pop_if(&mut self, is_it: impl FnOnce(&PlannedVisit) -> bool) -> Option<PlannedVisit> {
        let visit = self.visits.pop_front_if(|visit| is_it(visit))?;
        self.read_ahead = self.read_ahead.saturating_sub(1);
        self.ends_fetched = self.ends_fetched.saturating_sub(1);
        self.words_fetched = self.words_fetched.saturating_sub(1);
        Some(visit)
    }
}

/// Calls `visit`, which scans no leaf itself, with the matches of a leaf; returns their number.
fn matches(
    page: &Page,
    filter: &Filter,
    from: Position,
    visit: impl FnMut(Position, u32),
) -> usize {
    CANDIDATES.with_borrow_mut(|room| leaf_scan::scan(page, filter, from, room, visit))
}

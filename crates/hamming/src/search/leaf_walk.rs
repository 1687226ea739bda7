//! Walking the leaves of a key space that can hold a match, each once, in ascending order.
//!
//! A walk remembers a position, not a page: between two leaves no lock and no pin is held, pages
//! may split, and still no posting is met twice or missed. A leaf's upper end stays a boundary for
//! ever, since pages are never merged, and a split moves postings within the old leaf's range only.

use super::probe::WALK;
use super::reader::{IndexReader, PlannedLeaf};
use super::scopes::Scopes;
use crate::key::{Key, Space};
use crate::page::filter::Filter;
use crate::page::kernel::Candidates;
use crate::page::{Page, internal, leaf_scan, special};
use crate::tree::locked::Locked;
use crate::tree::store::PageStore;
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
    /// Number of them that are being fetched into the processor's cache.
    fetched: usize,
    /// Number of them that need not be prefetched any more.
    prefetched: usize,
    /// Where looking ahead goes on; None at the end.
    frontier: Option<Key>,
    /// Where prefetching of pages above the leaves goes on; None at the end.
    above: Option<Key>,
    /// Number of these pages that were prefetched and not read since.
    prefetched_above: usize,
    /// What is known of the large scopes of a list where these are left to other searches.
    large: Option<Large>,
}

/// The scopes of a list whose rows fill some leaves, and that are large enough for probing them to
/// be faster.
struct Large {
    /// The radius of that probing.
    probed_within: u32,
    /// For the scopes up to this one it is decided who reads them.
    decided_up_to: Option<u32>,
    /// Those that were left out since [`LeafWalk::take_left_out`] was called last.
    left_out: Vec<u32>,
}

/// A position to visit, and the leaf that holds it.
struct PlannedVisit {
    from: Key,
    leaf: PlannedLeaf,
}

/// Number of leaves fetched into the processor's cache ahead: enough to hide the time of a memory
/// access behind the scan of a leaf.
const LOOK_AHEAD: usize = 6;
/// A scope on at most this many leaves is read with others.
const FEW_LEAVES: usize = 4;

impl LeafWalk {
    /// Returns a walk over the leaves that can hold what `filter` matches in these scopes.
    pub fn new(scopes: Scopes, filter: Filter) -> LeafWalk {
        let mut walk = LeafWalk {
            scopes,
            filter,
            next: None,
            right_sibling: None,
            ahead: VecDeque::new(),
            fetched: 0,
            prefetched: 0,
            frontier: None,
            above: None,
            prefetched_above: 0,
            large: None,
        };
        walk.next = walk.skip(Key::MIN);
        walk.frontier = walk.next;
        walk.above = walk.next;
        walk
    }

    /// From now on scopes of a list in which probing within `radius` is faster are left out.
    pub fn leave_out_large(&mut self, radius: u32) {
        self.large = Some(Large {
            probed_within: radius,
            decided_up_to: None,
            left_out: Vec::new(),
        });
    }

    /// Moves the scopes that were left out to `to`.
    pub fn take_left_out(&mut self, to: &mut Vec<u32>) {
        if let Some(large) = &mut self.large {
            to.append(&mut large.left_out);
        }
    }

    /// Returns the first position at or after `from` that can hold a match.
    fn skip(&self, from: Key) -> Option<Key> {
        self.scopes.next_match(&self.filter, from)
    }

    /// Finds the next few leaves, and starts fetching them into the processor's cache. Where leaves
    /// are not expected in buffers, prefetches `room` of them, in addition to the very next one if
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
        self.plan(reader, space, LOOK_AHEAD.max(at_once + room));
        let near = self.ahead.len().min(LOOK_AHEAD);
        for visit in self.ahead.range(self.fetched.min(near)..near) {
            reader.warm(&visit.leaf);
        }
        self.fetched = near;
        if room == 0 {
            return 0;
        }
        let end = self.ahead.len().min(at_once + room);
        for visit in self.ahead.range(self.prefetched.max(at_once).min(end)..end) {
            reader.read_ahead(visit.leaf.block);
        }
        self.prefetched = self.prefetched.max(end);
        room - end.saturating_sub(at_once)
    }

    /// Prefetches up to `most` pages above the leaves that planning will read.
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
                (self.above, self.prefetched_above) = (self.frontier, 0);
            }
            _ => {}
        }
        while self.prefetched_above < most
            && let Some(from) = self.above
        {
            let end = reader.read_parent_ahead(space, from);
            self.above = end.and_then(|end| self.skip(end));
            self.prefetched_above += 1;
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
            let mut large = None;
            let is_planned = reader.plan(space, from, self.large.is_some(), |from, leaf, page| {
                let end = leaf.end;
                large = page.and_then(|page| self.undecided(page, end));
                if large.is_some() {
                    return None;
                }
                self.ahead.push_back(PlannedVisit { from, leaf });
                self.frontier = end.and_then(|end| self.skip(end));
                self.frontier.filter(|_| self.ahead.len() < 2 * count)
            });
            if !is_planned {
                return;
            }
            if let Some(scope) = large {
                self.decide(reader, scope);
                continue;
            }
            self.prefetched_above = self.prefetched_above.saturating_sub(1);
            self.warm_parent(reader, space);
        }
    }

    /// Returns the large scope of a list in which a leaf below this page ends, if it is not decided
    /// who reads it.
    fn undecided(&self, page: &Page, end: Option<Key>) -> Option<u32> {
        let (Some(large), Scopes::Listed(among)) = (&self.large, &self.scopes) else {
            return None;
        };
        let end = end.filter(|end| large.decided_up_to < Some(end.scope))?;
        let is_large = internal::goes_on(page, end, FEW_LEAVES) && among.lists_have(end.scope);
        is_large.then_some(end.scope)
    }

    /// Decides who reads a scope of which no leaf was visited.
    fn decide<S: PageStore>(&mut self, reader: &IndexReader<'_, S>, scope: u32) {
        let (Some(large), Scopes::Listed(among)) = (&mut self.large, &mut self.scopes) else {
            return;
        };
        large.decided_up_to = Some(scope);
        if reader.radii(&Scopes::One(scope), self.filter.query, large.probed_within) == WALK {
            return;
        }
        large.left_out.push(scope);
        among.leave_out(scope);
        self.frontier = self.frontier.and_then(|from| self.skip(from));
        if self.ahead.is_empty() {
            (self.next, self.right_sibling) = (self.frontier, None);
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
        self.prefetched = self.prefetched.saturating_sub(1);
        self.fetched = self.fetched.saturating_sub(1);
    }

    /// Forgets planned visits of positions before the next one: their scopes were left out, or have
    /// proved not to be in the list. So planning never goes on before that position.
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
        if let Scopes::Listed(among) = &self.scopes {
            among.work_out_if_due();
        }
        let (page, planned) = self.leaf(reader, space, from);
        reader.note_visit();
        let right = special::right(&page);
        let matches = self.scan(&page, from, visit);
        reader.store.note_leaf(space, &page, matches);
        if let Some(scope) = self.scopes.one() {
            let query = Key::at(scope, self.filter.query);
            // Where rows of the fingerprint go on to the right, the next one belongs far from here.
            let ends_here = |high: Key| query < Key::at(high.scope, high.rotated);
            if from <= query && right.is_none_or(|(_, high)| ends_here(high)) {
                reader.note_searched(space, query, page.block);
            }
        }
        if let (Some(large), Some((_, high))) = (&mut self.large, right)
            && !high.starts_scope()
        {
            // A part of this scope was read here.
            large.decided_up_to = large.decided_up_to.max(Some(high.scope));
        }
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

    /// Calls `visit` with the matches of a leaf at or after `from`: earlier ones were returned
    /// already. Returns how many there were; in a list of scopes, also those between them.
    fn scan(&self, page: &Page, from: Key, mut visit: impl FnMut(Key, u32)) -> usize {
        let Scopes::Listed(among) = &self.scopes else {
            return matches(page, &self.filter, from, visit);
        };
        let high = special::high_key(page).map_or(u32::MAX, |high| high.scope);
        let Some(part) = among.part(from.scope, high) else {
            return 0;
        };
        let filter = Filter {
            first_scope: *part.range.start(),
            last_scope: *part.range.end(),
            ..self.filter
        };
        let visit = |key: Key, distance| {
            if part.contains(key.scope) {
                visit(key, distance);
            }
        };
        matches(page, &filter, from, visit)
    }
}

/// Calls `visit`, which scans no leaf itself, with the matches of a leaf; returns their number.
fn matches(page: &Page, filter: &Filter, from: Key, visit: impl FnMut(Key, u32)) -> usize {
    CANDIDATES.with_borrow_mut(|room| leaf_scan::scan(page, filter, from, room, visit))
}

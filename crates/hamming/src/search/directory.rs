//! What a session keeps of one index: where the pages above the leaves begin, copies of those that
//! searches have read, which buffers held its pages last, and how the rows of scopes spread over keys.
//! Searches and inserts read it through [`super::reader`]; the extension keeps one for each index.
//!
//! It may be stale, and no answer is wrong for that. A page's low end never changes, so the page
//! found here is the right one or, after splits, left of it. The server checks what a buffer holds. A
//! directory costs as much as a few descents, so it is loaded at once, and again when splits have
//! made it stale. The keys of a scope are counted once searches have visited enough leaves for it
//! to pay, so a session with a few queries never counts.

use super::downlinks::Downlinks;
use super::key_counts::{KeyCounter, ScopeCounts};
use crate::Error;
use crate::key::{Position, QUARTERS, SPACES, Space};
use crate::page::Page;
use crate::page::internal::CAPACITY;
use crate::page::leaf::LIKELY_COUNT;
use crate::page::meta::Meta;
use crate::tree::Tree;
use crate::tree::store::PageStore;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Number of leaves that are counted in the time that one visit of a leaf takes.
const COUNTED_PER_VISIT: u64 = 8;
/// Number of visits of leaves that take as long as the shortest count.
const LEAST_VISITS: u64 = 1000;
/// Number of leaves that a key space of a scope must have to be counted: the rows of a smaller one
/// are taken to be evenly spread.
const WORTH_COUNTING: u64 = 64;
/// A directory is stale when searches have moved right once for each group of this many of its
/// pages.
const STALE_SHARE: u64 = 8;
/// Number of moves right for which no directory is loaded again.
const LEAST_MOVES: u64 = 16;

/// Bytes that a session's knowledge of an index takes in addition to its parts, with what
/// allocators add.
const LEAST_SIZE: usize = 512;

/// What a session knows about one index.
pub struct CachedIndex {
    /// Where the pages above the leaves are, and the buffers of its pages.
    pub directory: Directory,
    /// Bytes of the directory's copies of downlinks.
    copied: Cell<usize>,
    /// Moves right from the pages that the directory gave.
    moves_right: Cell<u64>,
    /// Leaves visited since keys were counted last.
    visits: Cell<u64>,
    /// The scopes whose keys were counted, the oldest first.
    counts: RefCell<Vec<(u32, Rc<ScopeCounts>)>>,
    /// Number of pages above leaves when the oldest counts could be made.
    counted_at: usize,
}

impl CachedIndex {
    /// Knows where the pages are. `earlier` is what was known of the same tree before: its counts are
    /// taken over, unless the tree has grown by more than a quarter since.
    pub fn new(directory: Directory, earlier: Option<&CachedIndex>) -> CachedIndex {
        let mut cached = CachedIndex {
            counted_at: directory.pages(),
            directory,
            copied: Cell::new(0),
            moves_right: Cell::new(0),
            visits: Cell::new(0),
            counts: RefCell::default(),
        };
        if let Some(earlier) = earlier {
            cached.visits.set(earlier.visits.get());
            if cached.directory.pages() * 4 <= earlier.counted_at * 5 {
                cached.counts.swap(&earlier.counts);
            }
            if !cached.counts.borrow().is_empty() {
                cached.counted_at = earlier.counted_at;
            }
        }
        cached
    }

    pub(super) fn note_moves_right(&self, count: u64) {
        self.moves_right.set(self.moves_right.get() + count);
    }

    pub(super) fn note_visit(&self) {
        self.visits.set(self.visits.get() + 1);
    }

    /// Keeps a copy of the downlinks of a page that the directory has, where memory is to spare: it is
    /// not worth what is known of another index.
    pub(super) fn keep_copy<S: PageStore>(&self, store: S, parent: &LeafParent, page: &Page) {
        let size = parent
            .keep_copy(|| Downlinks::of(page).filter(|copy| store.has_spare_memory(copy.size())));
        self.copied.set(self.copied.get() + size);
    }

    /// Forgets the copy of the downlinks of a page.
    pub(super) fn forget_copy(&self, parent: &LeafParent) {
        self.copied.set(self.copied.get() - parent.forget_copy());
    }

    /// Bytes of the copies of downlinks.
    pub fn copied(&self) -> usize {
        self.copied.get()
    }

    /// Whether splits have made the directory stale.
    pub fn is_stale(&self) -> bool {
        self.moves_right.get() > self.directory.pages() as u64 / STALE_SHARE + LEAST_MOVES
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        LEAST_SIZE
            + self.directory.size()
            + self.copied.get()
            + self.counts.borrow().len() * ScopeCounts::SIZE
    }

    /// Forgets the oldest counts until what is left and `more` bytes take at most half of `limit`.
    pub fn forget_counts(&self, more: usize, limit: usize) {
        let mut counts = self.counts.borrow_mut();
        while (counts.len() * ScopeCounts::SIZE + more) * 2 > limit && !counts.is_empty() {
            counts.remove(0);
        }
    }

    /// Returns how the rows of a scope spread over keys, if that is known.
    pub(super) fn counted(&self, scope: u32) -> Option<Rc<ScopeCounts>> {
        let counts = self.counts.borrow();
        let (_, counts) = counts.iter().find(|(counted, _)| *counted == scope)?;
        Some(Rc::clone(counts))
    }

    /// Counts the keys of a scope with `leaves` leaves in a key space, if it is time for that.
    pub(super) fn count_if_due<S: PageStore>(
        &self,
        store: S,
        meta: &Meta,
        scope: u32,
        leaves: u64,
    ) -> Option<Rc<ScopeCounts>> {
        let price = LEAST_VISITS + leaves * QUARTERS as u64 / COUNTED_PER_VISIT;
        if leaves < WORTH_COUNTING || self.visits.get() < price {
            return None;
        }
        self.visits.set(0);
        if !store.reserve_memory(ScopeCounts::SIZE) {
            return None;
        }
        let counts = Rc::new(count_keys(store, meta, scope));
        self.counts.borrow_mut().push((scope, Rc::clone(&counts)));
        Some(counts)
    }
}

/// Reads the pages two levels above the leaves, or the root. `recent` is what is known of buffers.
pub fn read_directory<S: PageStore>(store: S, meta: &Meta, recent: Rc<RecentBuffers>) -> Directory {
    let parents = Space::ALL.map(|space| {
        let mut pages: Vec<LeafParent> = Vec::new();
        Tree::new(store, meta, space)
            .parents_of_leaves(|low, block| pages.push(LeafParent::new(low, block)));
        check_order(store, meta, space, pages.is_sorted_by_key(|page| page.low));
        LeafParents::new(pages)
    });
    Directory::new(parents, recent)
}

fn count_keys<S: PageStore>(store: S, meta: &Meta, scope: u32) -> ScopeCounts {
    let (first, last) = (Position::at(scope, 0), Position::at(scope, u64::MAX));
    ScopeCounts::new(std::array::from_fn(|b| {
        let space = Space::of_quarter(b);
        let (mut counter, mut before, mut is_sorted) = (KeyCounter::default(), None, true);
        Tree::new(store, meta, space).each_leaf_between(first, last, |low| {
            is_sorted &= before.is_none_or(|before| before <= low);
            // The first one may begin in an earlier scope.
            if before.replace(low).is_some() {
                counter.next_leaf(low.rotated);
            }
        });
        check_order(store, meta, space, is_sorted);
        counter.finish()
    }))
}

/// Refuses downlinks that are not sorted. A search reads one downlink of a page and does not notice,
/// but the session's knowledge comes from all of them.
fn check_order<S: PageStore>(store: S, meta: &Meta, space: Space, is_sorted: bool) {
    if !is_sorted {
        let fault = Error::damaged("downlinks below it are out of order");
        store.raise(meta.roots[space.index()], &fault);
    }
}

/// Rows that a leaf is assumed to hold.
pub const ROWS_PER_LEAF: f64 = LIKELY_COUNT as f64;
/// Leaves below a page of those above them, while builds fill these pages and splits halve them.
const LEAVES_PER_PARENT: u64 = CAPACITY as u64 * 4 / 5;

/// Downlinks that a build leaves on a page.
const FILLED: usize = CAPACITY * 9 / 10;

/// What a session has of the downlinks of a page.
#[derive(Debug, Default)]
enum Copied {
    /// Nothing yet.
    #[default]
    None,
    /// Nothing for ever: the page cannot be copied, or there was no room.
    Refused,
    Kept(Rc<Downlinks>),
}

/// A page right above the leaves.
#[derive(Debug)]
pub struct LeafParent {
    /// Where it begins.
    pub low: Position,
    /// The page.
    pub block: u32,
    /// Downlinks that were on it when it was read last; 0 if it was not.
    links: Cell<u16>,
    copy: RefCell<Copied>,
}

impl LeafParent {
    /// A page that begins at `low`.
    #[inline]
    pub fn new(low: Position, block: u32) -> LeafParent {
        LeafParent {
            low,
            block,
            links: Cell::new(0),
            copy: RefCell::default(),
        }
    }

    /// The copy of its downlinks, if there is one.
    #[inline]
    pub fn copy(&self) -> Option<Rc<Downlinks>> {
        match &*self.copy.borrow() {
            Copied::Kept(copy) => Some(Rc::clone(copy)),
            _ => None,
        }
    }

    /// Keeps a copy of its downlinks, if this is the first time that it is asked since
    /// [`LeafParent::forget_copy`]; `make` returns None if there can be none. Returns the bytes that it
    /// takes.
    pub fn keep_copy(&self, make: impl FnOnce() -> Option<Downlinks>) -> usize {
        let mut kept = self.copy.borrow_mut();
        if !matches!(*kept, Copied::None) {
            return 0;
        }
        let made = make();
        let size = made.as_ref().map_or(0, Downlinks::size);
        *kept = made.map_or(Copied::Refused, |copy| Copied::Kept(Rc::new(copy)));
        size
    }

    /// Forgets the copy of its downlinks, if there is one. Returns the bytes that it took.
    pub fn forget_copy(&self) -> usize {
        let size = self.copy().map_or(0, |copy| copy.size());
        if size > 0 {
            self.copy.take();
        }
        size
    }

    /// Notes how many downlinks the page has.
    #[inline]
    pub fn note_links(&self, links: usize) {
        self.links.set(links as u16);
    }

    /// About how many downlinks the page has.
    #[inline]
    pub fn links(&self) -> usize {
        match self.links.get() {
            0 => FILLED,
            links => usize::from(links),
        }
    }
}

/// The pages right above the leaves of one key space, from left to right. None where the root is a
/// leaf.
#[derive(Default)]
pub struct LeafParents(Vec<LeafParent>);

impl LeafParents {
    /// Takes pages that ascend, the first of which begins at [`Position::MIN`].
    #[inline]
    pub fn new(pages: Vec<LeafParent>) -> LeafParents {
        LeafParents(pages)
    }

    /// Those that begin at or before `key`.
    fn count_to(&self, key: Position) -> usize {
        self.0.partition_point(|page| page.low <= key)
    }

    /// The page above the leaf that holds `key`, as far as known, and where it ends; None for the
    /// last one.
    #[inline]
    pub fn find(&self, key: Position) -> Option<(&LeafParent, Option<Position>)> {
        let next = self.count_to(key);
        let found = self.0.get(next.saturating_sub(1))?;
        Some((found, self.0.get(next).map(|next| next.low)))
    }

    /// About how many leaves all these pages lead to; None where there are too few to tell.
    #[inline]
    pub fn leaves(&self) -> Option<u64> {
        let pages = self.0.len() as u64;
        (pages > 1).then_some(pages * LEAVES_PER_PARENT)
    }

    /// About how many leaves lie below the pages between those of two positions.
    #[inline]
    pub fn leaves_between(&self, first: Position, last: Position) -> u64 {
        let pages = self.count_to(last).saturating_sub(self.count_to(first));
        pages.saturating_sub(1) as u64 * LEAVES_PER_PARENT
    }
}

/// For each page of an index the buffer in which it was seen last, 0 when in none. If there are
/// more pages than places, several share a place.
pub struct RecentBuffers(Vec<Cell<i32>>);

/// Places for each block. An index grows while the session lasts. Two pages that share a place lose both
/// the known buffer and the fetching ahead: with one place for each block a search within 8 bits took 1.7 times as
/// long after a tenth more rows.
const PLACES: usize = 2;

impl RecentBuffers {
    /// Creates the places for an index of `blocks` blocks, within `limit` bytes. `earlier` is what was
    /// known of the buffers of the same tree.
    pub fn new(blocks: u32, limit: usize, earlier: Option<&RecentBuffers>) -> RecentBuffers {
        // The allocator takes large blocks of zeros from the system, which provides the memory
        // when it is touched.
        let places = (blocks as usize * PLACES).min(limit / size_of::<i32>());
        let recent = RecentBuffers(vec![Cell::new(0); places.max(1)]);
        if let Some(earlier) = earlier {
            let both = std::iter::zip(&recent.0, &earlier.0);
            both.for_each(|(place, known)| place.set(known.get()));
        }
        recent
    }

    /// Returns whether each of `blocks` blocks has a place of its own, or as many as `limit` bytes allow.
    #[inline]
    pub fn serves(&self, blocks: u32, limit: usize) -> bool {
        self.0.len() >= (blocks as usize).min(limit / size_of::<i32>())
    }

    /// The place of a block, which it may share with others.
    #[inline]
    pub fn cell(&self, block: u32) -> &Cell<i32> {
        let block = block as usize;
        match self.0.get(block) {
            Some(place) => place,
            None => &self.0[block % self.0.len()],
        }
    }
}

/// Where the pages of an index are.
pub struct Directory {
    parents: [LeafParents; SPACES],
    /// The buffers in which blocks were seen last.
    pub recent: Rc<RecentBuffers>,
}

impl Directory {
    /// Joins the two.
    #[inline]
    pub fn new(parents: [LeafParents; SPACES], recent: Rc<RecentBuffers>) -> Directory {
        Directory { parents, recent }
    }

    /// The pages right above the leaves of a key space.
    #[inline]
    pub fn parents(&self, space: Space) -> &LeafParents {
        &self.parents[space.index()]
    }

    /// Pages above leaves.
    #[inline]
    pub fn pages(&self) -> usize {
        self.parents.iter().map(|parents| parents.0.len()).sum()
    }

    /// Bytes that it takes, without the copies of downlinks.
    #[inline]
    pub fn size(&self) -> usize {
        size_of::<LeafParent>() * self.pages() + size_of_val(&self.recent.0[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use simhash_base::indexed_row::Tid;

    proptest! {
        #[test]
        fn find_is_the_last_page_not_above(
            raw in prop::collection::vec((any::<u64>(), 0u32..3), 0..300),
            probes in prop::collection::vec((any::<u64>(), 0u32..3), 20), narrow: bool,
        ) {
            let mask = if narrow { 0x0003_8000_0000_0001 } else { u64::MAX };
            let key = |(bits, block): &(u64, u32)| {
                let scope = (bits >> 7) as u32 & 0x8001_0007;
                Position { scope, rotated: bits & mask, tid: Tid { block: *block, offset: 0 } }
            };
            let mut lows: Vec<Position> = raw.iter().map(key).chain([Position::MIN]).collect();
            lows.sort();
            lows.dedup();
            let page = |(i, low): (usize, &Position)| LeafParent::new(*low, i as u32);
            let parents = LeafParents::new(lows.iter().enumerate().map(page).collect());
            for probe in probes.iter().chain(&raw).map(key) {
                let (found, end) = parents.find(probe).expect("the first page begins at Position::MIN");
                prop_assert!(found.low <= probe && end.is_none_or(|end| end > probe));
                prop_assert_eq!(end, lows.get(found.block as usize + 1).copied());
            }
        }
    }

    #[test]
    fn pages_without_a_place_of_their_own_share_one() {
        let recent = RecentBuffers::new(10, 16, None);
        let kept = |recent: &RecentBuffers| (0..10).map(|b| recent.cell(b).get()).collect();
        (0..10).for_each(|block| recent.cell(block).set(block as i32));
        let shared: Vec<i32> = kept(&recent);
        assert_eq!(shared, [8, 9, 6, 7, 8, 9, 6, 7, 8, 9]);
        // As many as the limit allows are not made anew; more are, with what is known.
        assert!(recent.serves(1000, 16) && recent.serves(4, 1000) && !recent.serves(5, 1000));
        let more = RecentBuffers::new(10, 1000, Some(&recent));
        let known: Vec<i32> = kept(&more);
        assert_eq!(known, [8, 9, 6, 7, 0, 0, 0, 0, 0, 0]);
        assert!(RecentBuffers::new(0, 0, Some(&more)).cell(7).get() == 8);
        assert!(LeafParents::default().find(Position::MIN).is_none());
    }

    #[test]
    fn an_index_that_has_doubled_has_a_place_for_each_page() {
        let recent = RecentBuffers::new(3_000_000, 32 << 20, None);
        let of_its_own = |block: u32| {
            recent.cell(block).set(1 + block as i32);
            (0..6_000_000).step_by(299_993).all(|other| {
                other == block || !std::ptr::eq(recent.cell(other), recent.cell(block))
            })
        };
        assert!(
            [0, 786_432, 2_999_999, 3_000_001, 5_999_999]
                .into_iter()
                .all(of_its_own)
        );
        assert!(recent.serves(6_000_000, 32 << 20) && !recent.serves(6_000_001, 32 << 20));
    }
}

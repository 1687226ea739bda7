//! The searches for everything within a radius, and for the rows without a fingerprint. Scans call them. Where
//! many rows match, [`RowBitmap`] gives them back in the table's order: a page of the table takes 40 bytes, as much
//! as five row addresses.

#![forbid(unsafe_code)]

use crate::key::{QUARTERS, Space};
use crate::page::leaf_scan::Filter;
use crate::search::leaf_walk::LeafWalk;
use crate::search::probe::{Radii, WHOLE_KEY_SPACE};
use crate::search::reader::IndexReader;
use crate::search::scopes::Scopes;
use crate::tree::store::{Locked, PageStore};
use simhash_base::indexed_row::Tid;

/// The farthest that two fingerprints can be apart.
pub const FARTHEST: u32 = 64;

/// A row that a search found.
#[derive(Clone, Copy)]
pub struct Match {
    /// The row's address.
    pub tid: Tid,
    /// The row's fingerprint.
    pub fingerprint: u64,
    /// Bits in which it differs from the query.
    pub distance: u32,
}

/// Returns the filter of quarter `b`'s key space for fingerprints within `radius` of the query whose
/// quarter `b` is more than `beyond` and at most `within` bits away. `elsewhere` has the radii within
/// which the other quarters find them: one that is nearer in the next quarter may be left out.
pub fn filter(
    (scopes, query): (&Scopes, u64),
    b: usize,
    radius: u32,
    (beyond, within): (i32, i32),
    elsewhere: &Radii,
) -> Filter {
    let scopes = scopes.range();
    Filter {
        first_scope: *scopes.start(),
        last_scope: *scopes.end(),
        query: Space::of_quarter(b).rotate(query),
        radius,
        beyond,
        within,
        next_least: (elsewhere[next_quarter(b)] + 1) as u32,
    }
}

/// The quarter that stands below quarter `b` in its key space.
fn next_quarter(b: usize) -> usize {
    (b + 1) % QUARTERS
}

/// Returns the distance between the quarters `b` of two fingerprints that differ in these bits.
pub fn quarter_distance(differing: u64, b: usize) -> i32 {
    (differing << (16 * b) >> 48).count_ones() as i32
}

/// Returns the quarter whose key space reports a match with these differing bits: the first one that
/// keeps to its radius while the next one does not, or quarter 0 where all keep to theirs. So each
/// match is reported once, without remembering what was reported.
///
/// The filters may leave out what is nearer in the next quarter (`next_least`), and leave out nothing
/// that is reported: where the next quarter does not keep to its radius `t`, it differs in `t + 1` bits
/// at least. Where all do, the match counts in space 0 as differing in at most
/// `t_0 + (t_1 + 1) + t_2 + t_3` bits, which is less than the radius of the search, `sum(t_i + 1) - 1`.
fn reported_from(differing: u64, radii: &Radii) -> usize {
    let keeps = |j: usize| quarter_distance(differing, j) <= radii[j];
    let is_last = |b: &usize| keeps(*b) && !keeps(next_quarter(*b));
    (0..QUARTERS).find(is_last).unwrap_or(0)
}

/// A search for everything within a radius. The radii of the quarters are fixed for the whole search:
/// the rule that reports a match once depends on them.
pub struct WithinSearch {
    scopes: Scopes,
    query: u64,
    radius: u32,
    /// Chosen at the first step.
    radii: Option<Radii>,
    /// The walks that are left for each quarter, first quarter last; made at the first step.
    walks: Vec<(usize, LeafWalk)>,
    /// Number of leaves visited.
    visited: usize,
}

impl WithinSearch {
    /// Starts a search for fingerprints within `radius` bits of `query`; nothing is read yet.
    pub fn new(scopes: Scopes, query: u64, radius: u32) -> WithinSearch {
        WithinSearch {
            scopes,
            query,
            radius: radius.min(FARTHEST),
            radii: None,
            walks: Vec::new(),
            visited: 0,
        }
    }

    /// As [`WithinSearch::new`], reading one whole key space.
    pub fn walk(scopes: Scopes, query: u64, radius: u32) -> WithinSearch {
        let mut within = WithinSearch::new(scopes, query, radius);
        within.set_radii(WHOLE_KEY_SPACE);
        within
    }

    fn set_radii(&mut self, radii: Radii) {
        self.radii = Some(radii);
        let read = (0..QUARTERS).rev().filter(|b| radii[*b] >= 0);
        let walk = |b| {
            let of_query = (&self.scopes, self.query);
            let filter = filter(of_query, b, self.radius, (-1, radii[b]), &radii);
            LeafWalk::new(self.scopes, filter)
        };
        self.walks = read.map(|b| (b, walk(b))).collect();
    }

    fn start<S: PageStore>(&mut self, reader: &IndexReader<'_, S>) -> Radii {
        let radii = reader.chosen_radii(&self.scopes, self.query, self.radius);
        self.set_radii(radii);
        // What all quarters read first is fetched at the same time.
        let above = reader.window(0).min(1);
        for (b, walk) in self.walks.iter_mut().rev() {
            walk.read_parents_ahead(reader, Space::of_quarter(*b), above);
            walk.warm_parent(reader, Space::of_quarter(*b));
        }
        for (b, walk) in self.walks.iter_mut().rev() {
            walk.look_ahead(reader, Space::of_quarter(*b), false, 0);
        }
        radii
    }

    /// Looks ahead in the present walk, and in those after it if leaves have to be read.
    fn look_ahead<S: PageStore>(&mut self, reader: &IndexReader<'_, S>) {
        let mut room = reader.window(self.visited);
        for (i, (b, walk)) in self.walks.iter_mut().rev().enumerate() {
            room = walk.look_ahead(reader, Space::of_quarter(*b), i == 0, room);
            if room == 0 {
                return;
            }
        }
    }

    /// Calls `found` with the matches of the next leaf and returns that leaf; None at the end.
    pub fn step<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        mut found: impl FnMut(Match),
    ) -> Option<Locked<S::Shared>> {
        let radii = self.radii.unwrap_or_else(|| self.start(reader));
        self.look_ahead(reader);
        while let Some((b, walk)) = self.walks.last_mut() {
            let (b, query, space) = (*b, self.query, Space::of_quarter(*b));
            let leaf = walk.step(reader, space, |key, distance| {
                let fingerprint = space.unrotate(key.rotated);
                if reported_from(fingerprint ^ query, &radii) == b {
                    found(Match {
                        tid: key.tid,
                        fingerprint,
                        distance,
                    });
                }
            });
            if leaf.is_some() {
                self.visited += 1;
                return leaf;
            }
            self.walks.pop();
        }
        None
    }
}

/// A search for the rows without a fingerprint.
pub struct NullSearch {
    walk: LeafWalk,
    /// Number of leaves visited.
    visited: usize,
}

impl NullSearch {
    /// Makes a search for those of these scopes.
    pub fn new(scopes: Scopes) -> NullSearch {
        let filter = filter(
            (&scopes, 0),
            0,
            FARTHEST,
            (-1, FARTHEST as i32),
            &WHOLE_KEY_SPACE,
        );
        let walk = LeafWalk::new(scopes, filter);
        NullSearch { walk, visited: 0 }
    }

    /// Calls `found` with the rows of the next leaf and returns that leaf; None at the end.
    pub fn step<S: PageStore>(
        &mut self,
        reader: &IndexReader<'_, S>,
        mut found: impl FnMut(Tid),
    ) -> Option<Locked<S::Shared>> {
        let room = reader.window(self.visited);
        self.walk.look_ahead(reader, Space::NULL, true, room);
        let leaf = self.walk.step(reader, Space::NULL, |key, _| found(key.tid));
        self.visited += usize::from(leaf.is_some());
        leaf
    }
}

/// Words of a page: 320 bits, for the 291 rows that a page can hold.
const WORDS: usize = 5;

type Page = [u64; WORDS];

/// Rows of the first pages of a table.
pub struct RowBitmap {
    pages: Vec<Page>,
    /// The next page to give back.
    next: usize,
}

impl RowBitmap {
    /// Makes a bitmap for a table of `pages` pages, if it takes at most `bytes` and they can be
    /// allocated.
    #[inline]
    pub fn new(pages: u32, bytes: usize) -> Option<RowBitmap> {
        let count = pages as usize;
        if count > bytes / size_of::<Page>() {
            return None;
        }
        let mut pages: Vec<Page> = Vec::new();
        pages.try_reserve_exact(count).ok()?;
        pages.resize(count, [0; WORDS]);
        Some(RowBitmap { pages, next: 0 })
    }

    /// Adds a row; false when it lies outside of the bitmap.
    #[inline]
    pub fn add(&mut self, tid: Tid) -> bool {
        let offset = usize::from(tid.offset);
        let page = self.pages.get_mut(tid.block as usize);
        match page.and_then(|page| page.get_mut(offset / 64)) {
            Some(word) => {
                *word |= 1 << (offset % 64);
                true
            }
            None => false,
        }
    }

    /// Moves the rows of the next page that has some to the end of `rows`; false when there is
    /// none.
    #[inline]
    pub fn take_page(&mut self, rows: &mut Vec<Tid>) -> bool {
        while let Some(page) = self.pages.get(self.next) {
            let block = self.next as u32;
            self.next += 1;
            let before = rows.len();
            for (i, word) in page.iter().enumerate() {
                let mut word = *word;
                while word != 0 {
                    let offset = (64 * i) as u16 + word.trailing_zeros() as u16;
                    rows.push(Tid { block, offset });
                    word &= word - 1;
                }
            }
            if rows.len() > before {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::probe::MAX_PROBED_RADIUS;
    use super::*;
    use proptest::prelude::*;

    /// Radii of a search within `k` bits, drawn: one bit after the other goes to some quarter.
    fn some_radii(k: u32, mut drawn: u64) -> Radii {
        if k > MAX_PROBED_RADIUS {
            return WHOLE_KEY_SPACE;
        }
        let mut radii = [-1; QUARTERS];
        for _ in 0..=k {
            radii[drawn as usize % QUARTERS] += 1;
            drawn >>= 2;
        }
        radii
    }

    proptest! {
        /// Whatever the radii, the quarter that reports a match keeps to its radius, and its filter
        /// lets the match pass.
        #[test]
        fn the_filter_of_the_quarter_that_reports_lets_pass(
            query: u64, k in 0u32..=20, drawn: u64, flips in prop::collection::vec(0u32..64, 0..=20),
            narrow in prop::collection::vec(0u32..12, 0..=8), quarter in 0u32..4,
        ) {
            // Bits all over, and some more in the same quarter.
            let spread = flips.iter().map(|bit| 1u64 << bit);
            let near = narrow.iter().map(|bit| 1u64 << (16 * quarter + bit));
            let differing = spread.chain(near).fold(0, |all, bit| all | bit);
            prop_assume!(differing.count_ones() <= k);
            let radii = some_radii(k, drawn);
            let b = reported_from(differing, &radii);
            prop_assert!(quarter_distance(differing, b) <= radii[b]);
            let filter = filter((&Scopes::All, query), b, k, (-1, radii[b]), &radii);
            let rotated = Space::of_quarter(b).rotate(query ^ differing);
            prop_assert_eq!(filter.distance(rotated), Some(differing.count_ones()));
        }
    }
}

#[cfg(test)]
mod row_bitmap_tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gives_back_what_was_added_in_order(
            added in prop::collection::vec((0u32..20, 1u16..400), 0..200), pages in 0u32..25,
        ) {
            let tid = |&(block, offset): &(u32, u16)| Tid { block, offset };
            let mut bitmap = RowBitmap::new(pages, 40 * 25).expect("fits");
            let fits = |tid: &Tid| tid.block < pages && tid.offset < 320;
            for tid in added.iter().map(tid) {
                prop_assert_eq!(bitmap.add(tid), fits(&tid));
            }
            let mut expected: Vec<Tid> = added.iter().map(tid).filter(fits).collect();
            expected.sort();
            expected.dedup();
            let mut rows = Vec::new();
            while bitmap.take_page(&mut rows) {}
            prop_assert_eq!(rows, expected);
        }
    }

    #[test]
    fn a_large_table_does_not_fit() {
        assert!(RowBitmap::new(26, 40 * 25).is_none());
        assert!(RowBitmap::new(u32::MAX, 4 << 20).is_none());
    }
}

//! Removing postings from a leaf, for VACUUM and for scans that have met dead rows. Each leaf is one
//! logged step. No page is ever removed, and a leaf keeps its range.
//!
//! Which rows of a table are dead is one bit each. VACUUM fills them in in the table's order, and looks there
//! for each posting of the index. [`DeadRowBits`] answer for the rows that they cover, and say of the others
//! that they do not know.

#![forbid(unsafe_code)]

use crate::Error;
use crate::key::{Position, Space};
use crate::page::special::PageKind;
use crate::page::{leaf, leaf_rewrite, special};
use crate::search::reader::IndexReader;
use crate::tree::store::{Locked, PageImage, PageStore};
use simhash_base::indexed_row::Tid;
use std::convert::Infallible;

/// Leaves these postings in a leaf, which must be among those that it has, and removes the others.
pub fn rewrite<S: PageStore>(
    page: &mut Locked<S::Exclusive>,
    kind: PageKind,
    kept: &mut [Position],
) {
    let Ok(()) = S::change([(page, PageImage::Full)], |[page]| {
        leaf_rewrite::keep(page, kind, kept);
        Ok::<(), Infallible>(())
    });
}

/// Cleans a leaf for VACUUM: `without_dead` returns the postings that stay. Returns the leaf's space,
/// how many postings it had, and how many were removed. The leaf must be locked so that no scan
/// holds a pin on it.
pub fn clean<S: PageStore>(
    page: &mut Locked<S::Exclusive>,
    stamp: u32,
    without_dead: impl FnOnce(&[Position]) -> Vec<Position>,
) -> Result<(Space, usize, usize), Error> {
    let kind = special::kind_of(page, stamp)?;
    leaf::check(page)?;
    let postings: Vec<Position> = leaf::postings(page).collect();
    let mut kept = without_dead(&postings);
    let removed = postings.len() - kept.len();
    if removed > 0 {
        rewrite::<S>(page, kind, &mut kept);
    }
    Ok((kind.space, postings.len(), removed))
}

impl<S: PageStore> IndexReader<'_, S> {
    /// Locks a leaf that a search has visited for writing, and returns what kind of page it is.
    pub fn visited_leaf(&self, space: Space, block: u32) -> (Locked<S::Exclusive>, PageKind) {
        self.tree(space).lock_leaf(self.pin(block))
    }
}

/// The most rows of a page: the heap allows 291.
const MOST_ROWS: u32 = 291;
/// The rows of a page that one word has bits for.
const ROWS_OF_WORD: u32 = u64::BITS;
/// Rows that can be asked about in the table's order in the time that one posting takes in the
/// order of the index: the server's store of dead rows is then read from one end to the other.
const ORDERED: f64 = 4.0;

/// What is known of a table and its index before VACUUM reads the index.
#[derive(Clone, Copy, Debug)]
pub struct TableSize {
    /// Pages of the table.
    pub pages: u32,
    /// Rows of the table, about; None when nobody has counted them.
    pub rows: Option<f64>,
    /// Postings of the index, about.
    pub postings: f64,
}

impl TableSize {
    /// Words for a page: enough for a third more rows than a page has on average. Addresses of
    /// rows that were updated or deleted are not free at once.
    fn words_of_page(self) -> usize {
        let most = MOST_ROWS.div_ceil(ROWS_OF_WORD);
        let Some(rows) = self.rows else {
            return most as usize;
        };
        let likely = rows / f64::from(self.pages) * 4.0 / 3.0;
        // The conversion takes what is too large for the largest number.
        let full = (likely / f64::from(ROWS_OF_WORD)) as u32;
        (full.min(most - 1) + 1) as usize
    }
}

/// The dead rows of the first pages of a table.
pub struct DeadRowBits {
    words: Vec<u64>,
    words_of_page: usize,
}

impl DeadRowBits {
    /// Covers nothing.
    #[inline]
    pub fn empty() -> DeadRowBits {
        DeadRowBits {
            words: Vec::new(),
            words_of_page: 1,
        }
    }

    /// Covers the first pages of a table, as many as fit in `bytes`, with no dead row yet. Covers
    /// nothing where filling it would take longer than it saves.
    #[inline]
    pub fn covering(table: TableSize, bytes: usize) -> DeadRowBits {
        let words_of_page = table.words_of_page();
        let asked = f64::from(table.pages) * (words_of_page as f64) * f64::from(ROWS_OF_WORD);
        if asked > table.postings * ORDERED {
            return DeadRowBits::empty();
        }
        let fitting = bytes / size_of::<u64>() / words_of_page;
        let count = fitting.min(table.pages as usize) * words_of_page;
        let mut words = Vec::new();
        if words.try_reserve_exact(count).is_err() {
            return DeadRowBits::empty();
        }
        words.resize(count, 0);
        DeadRowBits {
            words,
            words_of_page,
        }
    }

    /// How many pages it covers.
    #[inline]
    pub fn pages(&self) -> u32 {
        (self.words.len() / self.words_of_page) as u32
    }

    /// The addresses on a page that it covers, in their order.
    #[inline]
    pub fn addresses(&self, block: u32) -> impl Iterator<Item = Tid> + use<> {
        let end = self.words_of_page as u32 * ROWS_OF_WORD;
        (1..end as u16).map(move |offset| Tid { block, offset })
    }

    /// The word and the bit of a row.
    #[inline(always)]
    fn place(&self, tid: Tid) -> Option<(usize, u32)> {
        let (word, bit) = (
            usize::from(tid.offset) / ROWS_OF_WORD as usize,
            u32::from(tid.offset) % ROWS_OF_WORD,
        );
        (word < self.words_of_page).then_some((tid.block as usize * self.words_of_page + word, bit))
    }

    /// Notes that a row is dead. It must be one of those that are covered.
    #[inline]
    pub fn add(&mut self, tid: Tid) {
        let place = self.place(tid);
        debug_assert!(place.is_some_and(|(at, _)| at < self.words.len()), "{tid}");
        if let Some((at, bit)) = place {
            self.words[at] |= 1 << bit;
        }
    }

    /// Returns whether a row is dead; None for one that is not covered.
    #[inline(always)]
    pub fn contain(&self, tid: Tid) -> Option<bool> {
        let (at, bit) = self.place(tid)?;
        self.words.get(at).map(|word| word >> bit & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(pages: u32, rows_of_page: f64) -> TableSize {
        TableSize {
            pages,
            rows: Some(f64::from(pages) * rows_of_page),
            postings: 1e9,
        }
    }

    proptest! {
        #[test]
        fn what_is_covered_is_known_and_nothing_else(
            pages in 0u32..20, rows_of_page in 0u32..400, fitting in 0usize..100,
            dead in prop::collection::btree_set((0u32..22, 1u16..400), 0..200),
        ) {
            let table = size(pages, f64::from(rows_of_page));
            let mut rows = DeadRowBits::covering(table, fitting * 8);
            let words = table.words_of_page();
            prop_assert_eq!(rows.pages() as usize, (fitting / words).min(pages as usize));
            let mut covered = std::collections::BTreeSet::new();
            for block in 0..rows.pages() {
                for tid in rows.addresses(block) {
                    covered.insert((tid.block, tid.offset));
                    if dead.contains(&(tid.block, tid.offset)) {
                        rows.add(tid);
                    }
                }
            }
            for block in 0..22 {
                for offset in 1..400 {
                    let known = rows.contain(Tid { block, offset });
                    let place = (block, offset);
                    prop_assert_eq!(known, covered.contains(&place).then(|| dead.contains(&place)));
                }
            }
        }
    }

    #[test]
    fn a_page_has_bits_for_a_third_more_rows_than_it_holds() {
        let words = |rows| size(10, rows).words_of_page();
        assert_eq!([0.0, 47.0, 48.5, 143.0, 185.0].map(words), [1, 1, 2, 3, 4]);
        assert_eq!([200.0, 291.0, 1e9].map(words), [5; 3]);
        let uncounted = TableSize {
            rows: None,
            ..size(10, 0.0)
        };
        assert_eq!(uncounted.words_of_page(), 5);
    }

    #[test]
    fn few_postings_are_asked_about_one_by_one() {
        let pages_covered = |postings| {
            let table = TableSize {
                postings,
                ..size(1000, 10.0)
            };
            DeadRowBits::covering(table, 1 << 20).pages()
        };
        assert_eq!(
            (pages_covered(15_999.0), pages_covered(16_000.0)),
            (0, 1000)
        );
    }

    #[test]
    fn a_table_without_pages_has_no_rows() {
        for rows in [Some(0.0), Some(5.0), None] {
            let table = TableSize {
                pages: 0,
                rows,
                postings: 100.0,
            };
            assert_eq!(DeadRowBits::covering(table, 1 << 20).pages(), 0);
        }
    }

    #[test]
    fn what_covers_nothing_knows_nothing() {
        assert_eq!(DeadRowBits::empty().pages(), 0);
        let tid = Tid {
            block: 0,
            offset: 1,
        };
        assert_eq!(DeadRowBits::empty().contain(tid), None);
    }
}

//! Rows of a table as one bit each, given back in the table's order. Pure.
//!
//! A page of the table takes 40 bytes, as much as five row addresses: for searches that return a
//! good part of a table.

#![forbid(unsafe_code)]

use simhash_base::tid::Tid;

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

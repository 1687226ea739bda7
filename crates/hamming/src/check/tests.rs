//! Tests of the check of pages on sound, damaged and changing indexes. Sound indexes must show all
//! their postings and no fault. Damaged ones must end with a fault, and none with a panic.

use super::pages::{Finding, PageSource, StructureCheck};
use crate::build::load::{BuildOptions, Loader};
use crate::key::{Position, SPACES, Space};
use crate::page::meta::Meta;
use crate::page::{PAGE_SIZE, Page, internal, leaf_rewrite, special};
use proptest::prelude::*;
use simhash_base::indexed_row::IndexedRow;
use simhash_base::indexed_row::Tid;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;

fn faults(
    source: &impl PageSource,
    meta: &Meta,
    mut posting: impl FnMut(Space, Position),
) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut report = |finding| found.push(finding);
    let mut structure = StructureCheck::new(source, meta, &mut report);
    let mut sound = true;
    for space in Space::all() {
        sound &= structure.check(space, |key| {
            posting(space, key);
            true
        });
    }
    assert_eq!(sound, found.is_empty());
    found
}

impl PageSource for Vec<Page> {
    fn page(&self, block: u32) -> Option<Box<Page>> {
        self.get(block as usize).map(|page| Box::new(*page))
    }
}

/// An index of `n` rows over some hundred leaves, without scopes.
fn index(n: u64) -> (Vec<Page>, Meta) {
    index_of_scopes(n, 1)
}

/// The same, with this many scopes.
fn index_of_scopes(n: u64, scopes: u64) -> (Vec<Page>, Meta) {
    let mut pages: Vec<Page> = vec![[0; PAGE_SIZE]];
    let mut meta = Meta {
        stamp: 77,
        roots: [0; SPACES],
        levels: [0; SPACES],
        leaves: [0; SPACES],
        rows: n,
        null_rows: 0,
    };
    for space in Space::all() {
        let rows = if space == Space::NULL { 0..0 } else { 0..n };
        let mut keys: Vec<Position> = rows
            .map(|i| {
                let row = IndexedRow {
                    scope: ((i % scopes) as u32).wrapping_mul(0x1234_5678),
                    fingerprint: Some(i.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
                };
                space.key(
                    row,
                    Tid {
                        block: i as u32,
                        offset: 1,
                    },
                )
            })
            .collect();
        keys.sort();
        let mut loader = Loader::new(
            &mut pages,
            space,
            meta.page_stamp(),
            BuildOptions { fillfactor: 90 },
        );
        keys.into_iter().for_each(|key| loader.push(key));
        let loaded = loader.finish();
        meta.roots[space.index()] = loaded.root;
        meta.levels[space.index()] = loaded.level;
    }
    meta.init(&mut pages[0]);
    (pages, meta)
}

#[test]
fn a_sound_index_has_no_faults_and_shows_all_postings() {
    for scopes in [1, 7, 1_000, 30_000] {
        let (pages, meta) = index_of_scopes(30_000, scopes);
        let mut counts = [0; SPACES];
        let found = faults(&pages, &meta, |space, _| counts[space.index()] += 1);
        assert_eq!(found, vec![], "{scopes} scopes");
        assert_eq!(counts, [30_000, 30_000, 30_000, 30_000, 0]);
    }
}

#[test]
fn a_lost_downlink_and_a_swapped_link_are_found() {
    let (pages, meta) = index(30_000);
    let root = meta.roots[2] as usize;
    let links: Vec<_> = internal::links(&pages[root]).collect();
    let kind = special::kind_of(&pages[root], meta.page_stamp()).unwrap();

    let mut lost = pages.clone();
    internal::init(
        &mut lost[root],
        kind,
        &[&links[..3], &links[4..]].concat(),
        None,
    );
    assert_eq!(faults(&lost, &meta, |_, _| ())[0].block, links[3].child);

    let mut swapped = pages.clone();
    let mut wrong = links.clone();
    (wrong[3].child, wrong[4].child) = (links[4].child, links[3].child);
    internal::init(&mut swapped[root], kind, &wrong, None);
    assert!(faults(&swapped, &meta, |_, _| ()).len() >= 2);
}

/// An index in which a leaf splits as soon as the page above it has been read.
struct Splitting {
    before: Vec<Page>,
    after: Vec<Page>,
    parent: u32,
    split: Cell<bool>,
}

impl PageSource for Splitting {
    fn page(&self, block: u32) -> Option<Box<Page>> {
        let pages = if self.split.get() {
            &self.after
        } else {
            &self.before
        };
        self.split.set(self.split.get() || block == self.parent);
        pages.page(block)
    }
}

#[test]
fn a_page_split_off_meanwhile_is_no_fault_unless_it_stays_without_a_downlink() {
    let (before, meta) = index(30_000);
    let mut after = before.clone();
    let parent = meta.roots[2];
    let (right_block, block) = (
        after.len() as u32,
        internal::get(&before[parent as usize], 3).child,
    );
    let left = &mut after[block as usize];
    let kind = special::kind_of(left, meta.page_stamp()).unwrap();
    let mut right = [0; PAGE_SIZE];
    let link = leaf_rewrite::split(left, &mut right, kind, right_block, Position::MIN).unwrap();
    special::set_incomplete(left, false);
    after.push(right);
    let mut splitting = Splitting {
        before,
        after,
        parent,
        split: Cell::new(false),
    };
    let found = faults(&splitting, &meta, |_, _| ());
    assert_eq!(
        found.iter().map(|f| f.block).collect::<Vec<_>>(),
        [right_block]
    );
    internal::insert(&mut splitting.after[parent as usize], link);
    splitting.split.set(false);
    assert_eq!(faults(&splitting, &meta, |_, _| ()), vec![]);
}

/// An index that notes which pages are read ahead, and which are read without that.
struct PagesAskedFor {
    pages: Vec<Page>,
    window: usize,
    asked: RefCell<HashSet<u32>>,
    not_asked: RefCell<Vec<u32>>,
}

impl PageSource for PagesAskedFor {
    fn page(&self, block: u32) -> Option<Box<Page>> {
        if !self.asked.borrow().contains(&block) {
            self.not_asked.borrow_mut().push(block);
        }
        self.pages.page(block)
    }

    fn read_ahead_limit(&self) -> usize {
        self.window
    }

    fn read_ahead(&self, block: u32) {
        assert!(self.asked.borrow_mut().insert(block), "read ahead twice");
    }
}

#[test]
fn pages_that_splits_put_elsewhere_are_asked_for_before_they_are_read() {
    let (mut pages, meta) = index(30_000);
    let built = pages.len() as u32;
    let parent = meta.roots[2] as usize;
    // From right to left, so that no new page lies behind the one that is read before it.
    let leaves: Vec<_> = internal::links(&pages[parent]).collect();
    for link in leaves.iter().rev() {
        let end = pages.len() as u32;
        let left = &mut pages[link.child as usize];
        let kind = special::kind_of(left, meta.page_stamp()).unwrap();
        let mut right = [0; PAGE_SIZE];
        let split = leaf_rewrite::split(left, &mut right, kind, end, Position::MIN).unwrap();
        special::set_incomplete(left, false);
        pages.push(right);
        internal::insert(&mut pages[parent], split);
    }
    for window in [0, 1, 10] {
        let source = PagesAskedFor {
            pages: pages.clone(),
            window,
            asked: RefCell::default(),
            not_asked: RefCell::default(),
        };
        assert_eq!(faults(&source, &meta, |_, _| ()), vec![]);
        let not_asked = source.not_asked.take();
        let split_off = not_asked.iter().filter(|block| **block >= built).count();
        let expected = if window == 0 { leaves.len() } else { 0 };
        assert_eq!(split_off, expected, "window {window}");
        // Built pages are read in order, and left to the operating system.
        assert!(not_asked.len() as u32 + 10 > built, "window {window}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Whatever bytes are damaged, the check ends without a panic; damage of the page's kind,
    /// links and bounds is found.
    #[test]
    fn damage_is_survived(
        at in 24usize..PAGE_SIZE, bits in 1u8.., pick: prop::sample::Index, many: bool,
    ) {
        let (mut pages, meta) = index_of_scopes(3000, if many { 100 } else { 1 });
        let block = 1 + pick.index(pages.len() - 1);
        // The rightmost page of a level has no high key; the bytes for it say nothing.
        let of_high_key = (8088..8102).contains(&at) || (8104..8108).contains(&at);
        let unused = of_high_key && special::high_key(&pages[block]).is_none();
        pages[block][at] ^= bits;
        let mut postings = 0;
        let found = faults(&pages, &meta, |_, _| postings += 1);
        let in_special = (8080..8108).contains(&at) || (8190..8192).contains(&at);
        if in_special && !unused && !(8102..8104).contains(&at) {
            prop_assert!(!found.is_empty(), "block {block} byte {at}");
        }
    }
}

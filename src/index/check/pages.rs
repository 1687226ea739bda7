//! Checks the structure of an index: what is on each page, and how the pages are linked. Pure:
//! pages come from a [`PageSource`].
//!
//! Others may write during the check. Each page is read once, as it is at that moment. Pages only
//! split, to the right, and are never removed, so a downlink that was read stays true, and a walk
//! to the right meets every page. One sound thing may look wrong: a page that was split off after
//! the level above was read seems to have no downlink. That is looked up again.

use super::downlinks::has_downlink;
use crate::index::key::{Key, Space};
use crate::index::page::internal;
use crate::index::page::meta::{META_BLOCK, Meta};
use crate::index::page::special::{self, PageKind};
use crate::index::page::{Fault, LEAF, NO_BLOCK, Page, check_page, leaf, slots};
use std::collections::{HashSet, VecDeque};

/// Where pages are read from.
pub trait PageSource {
    /// The page as it is now; None beyond the end of the file.
    fn page(&self, block: u32) -> Option<Box<Page>>;
}

/// A fault, and where it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub block: u32,
    /// The posting or downlink on the page, when the fault is about one.
    pub offset: Option<u32>,
    pub fault: Fault,
}

/// A check of an index's structure.
pub struct StructureCheck<'s, S> {
    source: &'s S,
    meta: Meta,
    /// Blocks met so far: each block belongs to one place in one tree.
    seen: HashSet<u32>,
    report: &'s mut dyn FnMut(Finding),
    /// Has the present key space been sound so far?
    sound: bool,
}

/// Downlinks to one level, from left to right.
type Downlinks = VecDeque<(Key, u32)>;

impl<'s, S: PageSource> StructureCheck<'s, S> {
    /// `report` is called with each fault.
    pub fn new(source: &'s S, meta: &Meta, report: &'s mut dyn FnMut(Finding)) -> Self {
        StructureCheck {
            source,
            meta: *meta,
            seen: HashSet::new(),
            report,
            sound: true,
        }
    }

    /// Checks the structure of a key space: links, bounds, order, slot directories. Calls `posting`
    /// with every posting of the leaves; it tells whether a row can be at that address. Returns
    /// whether the pages are sound.
    pub fn check(&mut self, space: Space, mut posting: impl FnMut(Key) -> bool) -> bool {
        self.sound = true;
        let root = self.meta.roots[space.index()];
        let mut expected = VecDeque::from([(Key::MIN, root)]);
        for level in (0..=self.meta.levels[space.index()]).rev() {
            let kind = self.kind(space, level);
            match self.level(kind, expected, &mut posting) {
                Some(below) => expected = below,
                None => break,
            }
        }
        self.sound
    }

    fn kind(&self, space: Space, level: u8) -> PageKind {
        PageKind {
            space,
            level,
            stamp: self.meta.page_stamp(),
        }
    }

    fn fault(&mut self, block: u32, offset: Option<usize>, text: impl Into<String>) {
        self.found(Finding {
            block,
            offset: offset.map(|i| i as u32),
            fault: Fault::new(text),
        });
    }

    fn found(&mut self, finding: Finding) {
        self.sound = false;
        (self.report)(finding);
    }

    /// Walks one level from its leftmost page; `expected` holds the downlinks to its pages. Returns
    /// the downlinks to the level below, or None when the walk had to stop.
    fn level(
        &mut self,
        kind: PageKind,
        mut expected: Downlinks,
        posting: &mut impl FnMut(Key) -> bool,
    ) -> Option<Downlinks> {
        let mut below = Downlinks::new();
        let mut block = expected.front()?.1;
        let mut low = Key::MIN;
        let mut unlinked = false;
        while block != NO_BLOCK {
            let page = self.open(block, kind)?;
            if expected.front() == Some(&(low, block)) {
                expected.pop_front();
            } else if !unlinked && !has_downlink(self.source, kind, low, block) {
                self.fault(
                    block,
                    None,
                    format!("no downlink to the page that starts at {low}"),
                );
            }
            if kind.level == LEAF {
                self.leaf(block, &page, low, posting);
            } else {
                self.internal_page(block, &page, low);
                below.extend(internal::links(&page).map(|link| (link.key, link.child)));
            }
            if let Some(high) = special::high_key(&page) {
                if high <= low {
                    self.fault(block, None, format!("high key {high} not above {low}"));
                    return None;
                }
                low = high;
            }
            unlinked = special::is_incomplete(&page);
            block = special::right_link(&page);
        }
        for (key, child) in expected {
            self.fault(
                child,
                None,
                format!(
                    "a downlink from {key} on leads to no page of level {}",
                    kind.level
                ),
            );
        }
        Some(below)
    }

    fn open(&mut self, block: u32, kind: PageKind) -> Option<Box<Page>> {
        if block == META_BLOCK || !self.seen.insert(block) {
            self.fault(block, None, "the page is reached twice");
            return None;
        }
        let Some(page) = self.source.page(block) else {
            self.fault(block, None, "a link leads beyond the end of the index");
            return None;
        };
        match check_page(&page, kind) {
            Ok(()) => Some(page),
            Err(fault) => {
                self.found(Finding {
                    block,
                    offset: None,
                    fault,
                });
                None
            }
        }
    }

    fn internal_page(&mut self, block: u32, page: &Page, low: Key) {
        let mut last = None;
        for (i, link) in internal::links(page).enumerate() {
            let in_order = last.map_or(link.key == low, |last| link.key > last);
            if !in_order || special::is_past(page, link.key) {
                self.fault(
                    block,
                    Some(i),
                    format!("downlink from {} on is out of order", link.key),
                );
            }
            last = Some(link.key);
        }
    }

    fn leaf(&mut self, block: u32, page: &Page, low: Key, posting: &mut impl FnMut(Key) -> bool) {
        if leaf::base_key(page) != low.block_key() {
            let text = format!("base key {}, not {}", leaf::base_key(page), low.block_key());
            self.fault(block, None, text);
        }
        let sorted = leaf::sorted_count(page);
        let mut last: Option<Key> = None;
        for (i, key) in leaf::postings(page).enumerate() {
            if key < low || special::is_past(page, key) {
                self.fault(
                    block,
                    Some(i),
                    format!("posting {key} lies outside of the leaf's bounds"),
                );
            }
            if i < sorted && last.is_some_and(|last| last > key) {
                self.fault(block, Some(i), format!("posting {key} is out of order"));
            }
            if i < sorted && !slots::is_in_its_slot(page, i, key) {
                self.fault(
                    block,
                    Some(i),
                    format!("posting {key} is not in its slot of the directory"),
                );
            }
            last = Some(key);
            if !posting(key) {
                // A fault of the posting, not of the tree: the key space stays sound.
                (self.report)(Finding {
                    block,
                    offset: Some(i as u32),
                    fault: Fault::new(format!("no row can be at {}", key.tid)),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::build::load::{BuildOptions, Loader};
    use crate::index::key::SPACES;
    use crate::index::page::{PAGE_SIZE, rewrite};
    use crate::tid::Tid;
    use proptest::prelude::*;
    use std::cell::Cell;

    fn faults(
        source: &impl PageSource,
        meta: &Meta,
        mut posting: impl FnMut(Space, Key),
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

    /// An index of `n` rows over some hundred leaves.
    fn index(n: u64) -> (Vec<Page>, Meta) {
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
            let mut keys: Vec<Key> = rows
                .map(|i| {
                    let fp = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    space.key(
                        fp,
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
        let (pages, meta) = index(30_000);
        let mut counts = [0; SPACES];
        let found = faults(&pages, &meta, |space, _| counts[space.index()] += 1);
        assert_eq!(found, vec![]);
        assert_eq!(counts, [30_000, 30_000, 30_000, 30_000, 0]);
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
        let link = rewrite::split(left, &mut right, kind, right_block, Key::MIN).unwrap();
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        /// Whatever bytes are damaged, the check ends without a panic; damage of the page's kind,
        /// links and bounds is found.
        #[test]
        fn damage_is_survived(at in 24usize..PAGE_SIZE, bits in 1u8.., pick: prop::sample::Index) {
            let (mut pages, meta) = index(3000);
            let block = 1 + pick.index(pages.len() - 1);
            // The rightmost page of a level has no high key; the bytes for it say nothing.
            let unused = (8088..8102).contains(&at) && special::high_key(&pages[block]).is_none();
            pages[block][at] ^= bits;
            let mut postings = 0;
            let found = faults(&pages, &meta, |_, _| postings += 1);
            let in_special = (8080..8104).contains(&at) || (8190..8192).contains(&at);
            if in_special && !unused && !(8102..8104).contains(&at) {
                prop_assert!(!found.is_empty(), "block {block} byte {at}");
            }
        }
    }
}

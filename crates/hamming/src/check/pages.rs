//! Checks the structure of an index: what is on each page, and how the pages are linked. Pure:
//! pages come from a [`PageSource`].
//!
//! Others may write during the check. Each page is read once, as it is at that moment. Pages only
//! split, to the right, and are never removed, so a downlink that was read stays true, and a walk
//! to the right meets every page. One sound thing may look wrong: a page that was split off after
//! the level above was read seems to have no downlink. That is looked up again.

#![forbid(unsafe_code)]

use super::walks::LevelAhead;
use crate::key::{Position, Space};
use crate::page::internal::Downlink;
use crate::page::meta::{META_BLOCK, Meta};
use crate::page::special::PageKind;
use crate::page::{LEAF, NO_BLOCK, Page, check_page, internal, leaf, special};
use simhash_base::indexed_row::NO_SCOPE;
use std::collections::HashSet;

/// A fault, and where it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// The page's block in the index.
    pub block: u32,
    /// The posting or downlink on the page, when the fault is about one.
    pub offset: Option<u32>,
    /// What is wrong; completes "block N: ...".
    pub text: String,
}

/// A check of an index's structure.
pub struct StructureCheck<'s, S> {
    source: &'s S,
    meta: Meta,
    /// Blocks met so far: each block belongs to one place in one tree.
    seen: HashSet<u32>,
    report: &'s mut dyn FnMut(Finding),
    /// Whether the present key space has been sound so far.
    sound: bool,
}

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
    /// with every posting of the leaves; it returns whether a row can be at that address. Returns
    /// whether the pages are sound.
    pub fn check(&mut self, space: Space, mut posting: impl FnMut(Position) -> bool) -> bool {
        self.sound = true;
        let root = self.meta.roots[space.index()];
        let mut expected = LevelAhead::default();
        expected.push(Position::MIN, root);
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
            text: text.into(),
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
        mut expected: LevelAhead,
        posting: &mut impl FnMut(Position) -> bool,
    ) -> Option<LevelAhead> {
        let mut below = LevelAhead::default();
        let mut block = expected.first()?.1;
        let mut low = Position::MIN;
        let mut unlinked = false;
        while block != NO_BLOCK {
            expected.read_ahead(self.source.read_ahead_limit(), |block| {
                self.source.read_ahead(block)
            });
            let page = self.open(block, kind)?;
            if expected.first() == Some((low, block)) {
                expected.pop();
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
                internal::links(&page).for_each(|link| below.push(link.key, link.child));
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
        for (key, child) in expected.into_rest() {
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
            Err(error) => {
                self.fault(block, None, error.to_string());
                None
            }
        }
    }

    fn internal_page(&mut self, block: u32, page: &Page, low: Position) {
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

    fn leaf(
        &mut self,
        block: u32,
        page: &Page,
        low: Position,
        posting: &mut impl FnMut(Position) -> bool,
    ) {
        let begins = |key: Position| (key.scope, key.first_quarter());
        let (found, expected) = (begins(leaf::low(page)), begins(low));
        if found != expected {
            let shown = |(scope, key)| match scope {
                NO_SCOPE => format!("base key {key}"),
                _ => format!("scope {scope:#010x} base key {key}"),
            };
            let text = format!("{}, not {}", shown(found), shown(expected));
            self.fault(block, None, text);
        }
        let sorted = leaf::sorted_count(page);
        let mut last: Option<Position> = None;
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
            if i < sorted && !special::is_in_its_slot(page, i, key) {
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
                    text: format!("no row can be at {}", key.tid),
                });
            }
        }
    }
}

/// Returns whether the level above that of `kind`, as it is now, has a downlink to the page that
/// starts at `low`. The split that made the page was seen to have ended, and ends with the
/// downlink, in one record.
pub fn has_downlink(source: &impl PageSource, kind: PageKind, low: Position, block: u32) -> bool {
    let page = source.page(META_BLOCK);
    let Some(meta) = page.and_then(|page| Meta::read(&page).ok()) else {
        return false;
    };
    let mut at = meta.roots[kind.space.index()];
    for level in (kind.level + 1..=meta.levels[kind.space.index()]).rev() {
        let Some(link) = find_downlink(source, at, PageKind { level, ..kind }, low) else {
            return false;
        };
        if level == kind.level + 1 {
            return link.key == low && link.child == block;
        }
        at = link.child;
    }
    false
}

/// The last downlink of a level that is not above `low`, from block `at` on; None when pages on the
/// way are damaged.
fn find_downlink(
    source: &impl PageSource,
    mut at: u32,
    kind: PageKind,
    low: Position,
) -> Option<Downlink> {
    let mut passed = Position::MIN;
    loop {
        let page = source.page(at)?;
        check_page(&page, kind).ok()?;
        let Some((right, high)) = special::right(&page).filter(|(_, high)| low >= *high) else {
            return Some(internal::find(&page, low));
        };
        if high <= passed {
            return None;
        }
        (at, passed) = (right, high);
    }
}

/// The source from which pages are read.
pub trait PageSource {
    /// The page as it is now; None beyond the end of the file.
    fn page(&self, block: u32) -> Option<Box<Page>>;

    /// Returns how many pages may be asked for ahead of reading them.
    fn read_ahead_limit(&self) -> usize {
        0
    }

    /// Asks for a page ahead of reading it.
    fn read_ahead(&self, _block: u32) {}
}

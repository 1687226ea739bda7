//! Looking up again whether a page has a downlink. Pure: pages come from a [`PageSource`].

#![forbid(unsafe_code)]

use super::page_source::PageSource;
use crate::key::Key;
use crate::page::check_page;
use crate::page::internal::{self, Downlink};
use crate::page::meta::{META_BLOCK, Meta};
use crate::page::special::{self, PageKind};

/// Returns whether the level above that of `kind`, as it is now, has a downlink to the page that
/// starts at `low`. The split that made the page was seen to have ended, and ends with the
/// downlink, in one record.
pub fn has_downlink(source: &impl PageSource, kind: PageKind, low: Key, block: u32) -> bool {
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
    low: Key,
) -> Option<Downlink> {
    let mut passed = Key::MIN;
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

//! The leaf of each key space that holds a fingerprint, as a sample of what lies around it.
//!
//! The planner reads it, also for queries that do not use the index, so damage raises no error here: a
//! page that is not as it should be ends the attempt. That makes the descent simpler than that of
//! [`simhash_hamming::tree`], and nothing is remembered for the session.

use simhash_base::indexed_row::NO_SCOPE;
use simhash_hamming::key::{KEY_BITS, Key, QUARTERS, Space};
use simhash_hamming::nearby::{LeafSample, WIDEST};
use simhash_hamming::page::kernel::Candidates;
use simhash_hamming::page::meta::{META_BLOCK, Meta};
use simhash_hamming::page::special::{self, PageKind};
use simhash_hamming::page::{LEAF, check_page, internal, leaf, leaf_scan};
use simhash_hamming::search::scopes::Scopes;
use simhash_hamming::search::within::filter;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::page::buffer::{Pinned, Shared};

/// Maximum number of pages that a descent visits. A sound tree is some levels high, and few splits
/// are unfinished; damaged links may lead in a circle.
const MOST_PAGES: usize = 50;

/// Returns the leaves around `query` in an index without scope columns, with the rows within
/// `radius`: one descent in each key space. Rows with a fingerprint of `common`, which is sorted,
/// are left out. Returns None if a page cannot be read, or is not what it should be.
pub fn around(rel: Rel, query: u64, radius: u32, common: &[u64]) -> Option<[LeafSample; QUARTERS]> {
    let meta = {
        let page = Pinned::read_if_sound(rel, META_BLOCK)?.share();
        Meta::read(&page).ok()?
    };
    let is_common = |fingerprint: u64| common.binary_search(&fingerprint).is_ok();
    let mut candidates = Box::new(Candidates::none());
    let mut samples = [LeafSample::default(); QUARTERS];
    for (b, sample) in samples.iter_mut().enumerate() {
        let space = Space::of_quarter(b);
        let at = Key::at(NO_SCOPE, space.rotate(query));
        let (page, low) = descend(rel, &meta, space, at, LEAF)?;
        let high = special::high_key(&page);
        *sample = LeafSample {
            query: at.rotated,
            low: low.rotated,
            // The leaf may hold only the first of the rows with equal fingerprints.
            end: high.and_then(|high| match high == Key::at(NO_SCOPE, high.rotated) {
                true => Some(high.rotated),
                false => high.rotated.checked_add(1),
            }),
            ..LeafSample::default()
        };
        // The filter lets rows under all keys of the leaf pass.
        let near = filter(
            (&Scopes::One(NO_SCOPE), query),
            b,
            radius.min(WIDEST),
            -1,
            KEY_BITS as i32,
        );
        let see = |row: Key, distance: u32| {
            if !is_common(space.unrotate(row.rotated)) {
                sample.seen[distance as usize] += 1;
            }
        };
        leaf_scan::scan(&page, &near, Key::MIN, &mut candidates, see);
        let is_cut = high.is_some_and(|high| high.rotated == at.rotated);
        if is_cut && !is_common(query) {
            let full = leaf::count(&page) as u32;
            drop(page);
            // The last of them is half full of them, as far as is known.
            let more = more_leaves(rel, &meta, space, at)? * full;
            sample.seen[0] += more.saturating_sub(full / 2);
        }
    }
    Some(samples)
}

/// Returns the number of leaves right of that of `key` that begin with its rotated fingerprint, by
/// the downlinks on one page: 200,000 equal rows are common.
fn more_leaves(rel: Rel, meta: &Meta, space: Space, key: Key) -> Option<u32> {
    let (parent, _) = descend(rel, meta, space, key, LEAF + 1)?;
    let links = internal::links(&parent);
    let more = links.filter(|link| link.key.rotated == key.rotated && link.key > key);
    Some(more.count() as u32)
}

/// Returns the page on `level` of a key space that holds `key`, and where it begins.
fn descend<'r>(
    rel: Rel<'r>,
    meta: &Meta,
    space: Space,
    key: Key,
    level: u8,
) -> Option<(Shared<'r>, Key)> {
    let mut block = meta.roots[space.index()];
    let mut at = meta.levels[space.index()];
    let mut low = Key::MIN;
    for _ in 0..MOST_PAGES {
        let page = Pinned::read_if_sound(rel, block)?.share();
        let kind = PageKind {
            space,
            level: at,
            stamp: meta.page_stamp(),
        };
        check_page(&page, kind).ok()?;
        if let Some((right, high)) = special::right(&page).filter(|(_, high)| key >= *high) {
            (block, low) = (right, high);
        } else if at == level {
            return Some((page, low));
        } else {
            at = at.checked_sub(1)?;
            let link = internal::find(&page, key);
            (block, low) = (link.child, link.key);
        }
        if low > key {
            return None;
        }
    }
    None
}

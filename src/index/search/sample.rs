//! The leaf of each key space that holds a fingerprint, as a sample of what lies around it.

use super::view::{IndexState, View};
use super::within::filter;
use crate::index::key::{BLOCKS, KEY_BITS, Key, Space, block_key};
use crate::index::nearby::{LeafSample, WIDEST};
use crate::index::page::kernel::Candidates;
use crate::index::page::{Page, filter as leaf_filter, leaf, special};
use crate::pg::catalog::relation::Rel;

/// Reads the leaves around `query`: one descent and one leaf in each key space.
pub fn around(rel: Rel, query: u64) -> [LeafSample; BLOCKS] {
    let state = IndexState::read(rel);
    let view = View::new(rel, &state);
    let mut candidates = Box::new(Candidates::none());
    std::array::from_fn(|b| {
        let space = Space::of_block(b);
        let at = Key::at(space.rotate(query));
        let page = view.leaf(space, at, None);
        let mut sample = range(&page, at.rotated);
        // All keys of the leaf.
        let near = filter(query, b, WIDEST, -1, KEY_BITS as i32);
        leaf_filter::scan(&page, &near, Key::MIN, &mut candidates, |_, distance| {
            sample.seen[distance as usize] += 1;
        });
        sample
    })
}

/// The range of a leaf that holds `query`, with no row seen yet.
fn range(page: &Page, query: u64) -> LeafSample {
    let base = u64::from(leaf::base_key(page)) << (64 - KEY_BITS);
    // A leaf does not say where in its first key it begins. That matters if this is the query's.
    let low = if leaf::base_key(page) == block_key(query) {
        let lowest = leaf::postings(page).map(|posting| posting.rotated).min();
        lowest.unwrap_or(base).clamp(base, query)
    } else {
        base
    };
    let high = special::high_key(page);
    // Of rows with equal fingerprints, a leaf may hold the first ones only.
    let end = high.and_then(|high| match high == Key::at(high.rotated) {
        true => Some(high.rotated),
        false => high.rotated.checked_add(1),
    });
    LeafSample {
        query,
        low,
        end,
        is_cut: high.is_some_and(|high| high.rotated == query),
        seen: [0; WIDEST as usize + 1],
    }
}

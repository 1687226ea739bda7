//! Writing leaves from scratch: when a full leaf is split, and when VACUUM removes postings.

#![forbid(unsafe_code)]

use super::internal::Downlink;
use super::leaf::{base_key, init, postings, sorted_postings};
use super::special::{self, PageKind};
use super::{Fault, Page};
use crate::index::key::{Key, separator};

/// Where to split: in the middle, or at the end when `incoming` continues a run of equal
/// fingerprints in TID order, which would otherwise leave every page of the run half empty.
fn split_position(all: &[Key], incoming: Key) -> Option<usize> {
    let continues = all
        .last()
        .is_some_and(|last| incoming > *last && incoming.rotated == last.rotated);
    if continues {
        return Some(all.len());
    }
    let middle = all.len() / 2;
    // Postings are distinct in a sound index, and then the middle itself will do.
    (middle..all.len())
        .chain((1..middle).rev())
        .find(|&at| at > 0 && all[at - 1] < all[at])
}

/// Moves the upper part of a full leaf to `right` (a new page, block `right_block`) and marks the
/// split as incomplete. Returns the downlink for the new page.
pub fn split(
    left: &mut Page,
    right: &mut Page,
    kind: PageKind,
    right_block: u32,
    incoming: Key,
) -> Result<Downlink, Fault> {
    let all = sorted_postings(left);
    let at = split_position(&all, incoming)
        .ok_or_else(|| Fault::new("the leaf is full of one and the same posting"))?;
    let (low, high) = all.split_at(at);
    let first_right = high.first().copied().unwrap_or(incoming);
    let key = separator(low[at - 1], first_right);
    init(right, kind, key.block_key(), special::right(left), high);
    init(left, kind, base_key(left), Some((right_block, key)), low);
    special::set_incomplete(left, true);
    Ok(Downlink {
        key,
        child: right_block,
    })
}

/// Rewrites the leaf, sorted, without the postings that `doomed` marks (one mark a posting).
pub fn remove(page: &mut Page, kind: PageKind, doomed: &[bool]) {
    let marked = postings(page).zip(doomed);
    let mut kept: Vec<Key> = marked
        .filter(|(_, dead)| !**dead)
        .map(|(key, _)| key)
        .collect();
    kept.sort_unstable();
    let incomplete = special::is_incomplete(page);
    init(page, kind, base_key(page), special::right(page), &kept);
    special::set_incomplete(page, incomplete);
}

#[cfg(test)]
mod tests {
    use super::super::PAGE_SIZE;
    use super::super::leaf::tests::{KIND, key, page_of};
    use super::super::leaf::{append, check, count, is_full};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_run_of_equal_fingerprints_splits_at_its_end() {
        let (mut left, mut right) = ([0; PAGE_SIZE], [0; PAGE_SIZE]);
        init(&mut left, KIND, 0, None, &[]);
        let mut n = 0;
        while !is_full(&left) {
            append(&mut left, key(42, n));
            n += 1;
        }
        let up = split(&mut left, &mut right, KIND, 5, key(42, n)).unwrap();
        assert_eq!((count(&left), count(&right)), (n, 0));
        assert_eq!(up.key, key(42, n));
        assert_eq!(special::right(&left), Some((5, up.key)));
    }

    proptest! {
        #[test]
        fn split_and_remove_lose_nothing(
            base: u64, spread in 1u32..=64,
            raw in prop::collection::vec(any::<u64>(), 2..500), incoming: u64,
        ) {
            let mut left = page_of(base, spread, &raw[..raw.len() / 2], &raw[raw.len() / 2..]);
            let mut all: Vec<Key> = postings(&left).collect();
            all.sort();
            let old_right = special::right(&left);
            let mut right = [0; PAGE_SIZE];
            let up = split(&mut left, &mut right, KIND, 8, key(incoming, 5000)).unwrap();
            for page in [&left, &right] {
                prop_assert_eq!(check(page), Ok(()));
                prop_assert_eq!(special::kind_of(page, 9), Ok(KIND));
            }
            let both: Vec<Key> = postings(&left).chain(postings(&right)).collect();
            prop_assert_eq!(&both, &all);
            prop_assert!(postings(&left).all(|e| e < up.key));
            prop_assert!(postings(&right).all(|e| e >= up.key));
            prop_assert_eq!(special::right(&left), Some((8, up.key)));
            prop_assert_eq!(special::right(&right), old_right);

            let doomed: Vec<bool> = postings(&left).map(|e| e.tid.offset % 2 != 0).collect();
            remove(&mut left, KIND, &doomed);
            prop_assert!(special::is_incomplete(&left));
            prop_assert_eq!(special::right(&left), Some((8, up.key)));
            let kept: Vec<Key> = postings(&left).collect();
            let wanted: Vec<Key> =
                all.into_iter().filter(|e| *e < up.key && e.tid.offset % 2 == 0).collect();
            prop_assert_eq!(kept, wanted);
            prop_assert_eq!(check(&left), Ok(()));
        }
    }
}

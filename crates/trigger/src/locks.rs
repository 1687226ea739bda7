//! The locks of the triggers: what they stand for, their numbers, and the order in which they are
//! taken. They are advisory locks of the extension's own class (`pg::process::advisory_lock`),
//! named by a table and a number, and held until the transaction ends. Each makes the second of two
//! transactions wait for the first, so that it sees what the first has stored.
//!
//! For one row, in this order:
//! 1. BEFORE triggers, `simhash_flag_duplicate()`: the [`numbers`] of the row's fingerprint,
//!    ascending, in every table that a trigger of the row's table searches by this fingerprint
//!    column, topmost first (`flag::locked_tables`).
//! 2. The server: the row, and its keys.
//! 3. AFTER triggers, `simhash_maintain_clusters()`: with `within=` the [`of_scope`] numbers of the
//!    table of clusters, ascending, then a share of [`CLUSTERS`]; without it [`CLUSTERS`] alone
//!    (`clusters::maintain::scopes`).
//! 4. Entries of the table of clusters, in any order: a writer of one holds the lock of its scope.
//!
//! For a statement of several rows steps 1 and 2 come for each row, one after the other, then step
//! 3 once for all rows of the statement, by table of clusters (`clusters::maintain::later`), then
//! step 4. So statements that store rows of several scopes do not deadlock over step 3 if each is a
//! transaction of its own. The following can deadlock: step 1 of several rows, which lock as they
//! come; several statements in a transaction, each of which takes its locks after those of the one
//! before (rows of a deferred trigger among them); a row that needs all scopes ([`CLUSTERS`] alone)
//! after its share, which is a row that a statement takes to another scope with rows near it, or
//! whose key was left in a cluster of another scope.
//!
//! Two fingerprints within k bits agree in one of k + 1 blocks that divide their bits, since k
//! changed bits touch k blocks at most. Each row locks its (block, key) pairs: near-duplicates
//! share one, rows that are not alike seldom do. Beyond [`SHARES_A_BLOCK`] the blocks are so short
//! that most rows would share one, and a single lock stands for all.
//!
//! Where the triggers name columns with `within=`, only rows of one scope are compared, those that
//! are equal in these columns. Such a row locks what the exclusive or of its fingerprint and a
//! 64-bit hash of its [`scope`] has in common with others. Within a scope this flips the same bits
//! of all fingerprints: distances stay what they are, and near-duplicates share a pair as before.
//! Fingerprints of two scopes then have nothing to do with each other, and their rows wait for each
//! other as unrelated ones do. The single lock beyond [`SHARES_A_BLOCK`] becomes one of [`FOLDED`],
//! by the hash.
//!
//! Every (k + 1)-th bit belongs to the same block: neighbouring bits of a perceptual hash tend to
//! be equal, so that a block of neighbours would have few keys.
//!
//! A transaction holds at most 2,048 locks of a column, however many rows it stores: pairs have
//! numbers of their own where there are no more of them (k = 7, 8 and 9); others are folded into
//! 1,024 numbers. Folding makes unrelated transactions wait for each other now and then; it never
//! lets two related ones pass.

use simhash_fingerprint::hash::mix;

/// simhash_maintain_clusters()'s lock of its table of clusters, which no fingerprint or scope has.
pub const CLUSTERS: u32 = u32::MAX;

/// Pairs that keep numbers of their own.
const PAIRS: u32 = 2048;
/// Numbers of the pairs where there are more.
const FOLDED: u32 = 1024;
/// The first of the numbers that stand for all pairs of a column: that of rows without a scope.
const WHOLE: u32 = PAIRS;
/// Numbers of a column: a power of two above WHOLE + FOLDED.
const NUMBERS_PER_COLUMN: u32 = 4096;
/// Largest radius at which (block, key) pairs are locked.
const SHARES_A_BLOCK: u32 = 9;
/// 2^64 divided by the golden ratio.
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
/// Most locks of a fingerprint.
const MAX_LOCKS: usize = SHARES_A_BLOCK as usize + 1;

/// Returns the scope of rows that are equal in the columns of `within=`, given the hashes of their
/// values; 0 without such columns.
pub fn scope(hashes: impl IntoIterator<Item = u32>) -> u64 {
    let add = |scope: u64, hash| mix((scope ^ u64::from(hash)).wrapping_add(GOLDEN_RATIO));
    hashes.into_iter().fold(0, add)
}

/// The lock of a scope in a table of clusters.
pub fn of_scope(scope: u64) -> u32 {
    fold(scope)
}

/// The locks of a fingerprint in a table that is searched within `radius` by the column of that
/// position, ascending, each once. Every trigger that searches the table by this column must name
/// the same radius, and the scope by the same columns.
pub fn lock_numbers(
    fingerprint: u64,
    scope: u64,
    radius: u32,
    column: u16,
) -> impl Iterator<Item = u32> {
    let mut numbers = [WHOLE + fold(scope); MAX_LOCKS];
    let mut count = 1;
    if radius <= SHARES_A_BLOCK {
        count = radius as usize + 1;
        lock_blocks(fingerprint ^ scope, &mut numbers[..count]);
        numbers[..count].sort_unstable();
    }
    let first = u32::from(column) * NUMBERS_PER_COLUMN;
    let mut last = None;
    (numbers.into_iter().take(count))
        .filter(move |number| last.replace(*number) != Some(*number))
        .map(move |number| first + number)
}

/// The number of each block's pair.
fn lock_blocks(fingerprint: u64, numbers: &mut [u32]) {
    let blocks = numbers.len() as u32;
    let pairs: u128 = (0..blocks).map(|block| 1 << width(block, blocks)).sum();
    let mut first = 0u64;
    for (number, block) in numbers.iter_mut().zip(0..) {
        let pair = first.wrapping_add(key(fingerprint, block, blocks));
        *number = match pairs <= u128::from(PAIRS) {
            true => pair as u32,
            false => fold(pair),
        };
        // A single block has 64 bits: its pairs begin at 0.
        first = first.wrapping_add(1u64.wrapping_shl(width(block, blocks)));
    }
}

/// Bits of a block.
fn width(block: u32, blocks: u32) -> u32 {
    (u64::BITS - block).div_ceil(blocks)
}

/// The bits of a block, side by side.
fn key(fingerprint: u64, block: u32, blocks: u32) -> u64 {
    (block..u64::BITS)
        .step_by(blocks as usize)
        .fold(0, |key, bit| key << 1 | fingerprint >> bit & 1)
}

/// Multiplicative hashing (Knuth, The Art of Computer Programming 6.4): neighbouring keys, which
/// skewed fingerprints have many of, get different numbers.
fn fold(pair: u64) -> u32 {
    (pair.wrapping_mul(GOLDEN_RATIO) >> (u64::BITS - FOLDED.trailing_zeros())) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(fingerprint: u64, scope: u64, radius: u32) -> Vec<u32> {
        lock_numbers(fingerprint, scope, radius, 0).collect()
    }

    fn share_a_lock(a: &[u32], b: &[u32]) -> bool {
        a.iter().any(|number| b.contains(number))
    }

    proptest! {
        #[test]
        fn near_duplicates_of_a_scope_share_a_lock(
            a: u64,
            flips in prop::collection::vec(0u32..64, 0..=64),
            radius in 0u32..=64,
            values in prop::collection::vec(any::<u32>(), 0..4),
        ) {
            let b = flips.iter().take(radius as usize).fold(a, |b, bit| b ^ (1 << bit));
            let locks = |fingerprint| set(fingerprint, scope(values.iter().copied()), radius);
            prop_assert!(share_a_lock(&locks(a), &locks(b)));
        }

        #[test]
        fn locks_ascend_and_are_few(a: u64, scope: u64, radius in 0u32..=64) {
            let set = set(a, scope, radius);
            let most = if radius <= 9 { radius as usize + 1 } else { 1 };
            prop_assert!(set.is_sorted_by(|a, b| a < b));
            prop_assert!((1..=most).contains(&set.len()));
            let bound = match radius {
                0..=6 => 1024, 7 => 2048, 8 => 1280, 9 => 896, _ => WHOLE + FOLDED,
            };
            prop_assert!(radius <= 9 || set[0] >= WHOLE);
            prop_assert!(set.iter().all(|number| *number < bound));
        }

        #[test]
        fn columns_share_no_lock(a: u64, scope: u64, radius in 0u32..=64, column in 1u16..1600) {
            let locks = |column| lock_numbers(a, scope, radius, column).collect::<Vec<u32>>();
            prop_assert!(!share_a_lock(&locks(column), &locks(column + 1)));
            prop_assert!(!share_a_lock(&locks(column), &[CLUSTERS, of_scope(scope)]));
            prop_assert_ne!(of_scope(scope), CLUSTERS);
        }
    }

    #[test]
    fn blocks_divide_the_bits() {
        for blocks in 1..=MAX_LOCKS as u32 {
            let parts = (0..blocks)
                .map(|block| (0..64).filter(move |bit| key(1 << bit, block, blocks) != 0));
            let mut bits: Vec<u32> = parts.clone().flatten().collect();
            bits.sort_unstable();
            assert!(bits.iter().copied().eq(0..64), "{blocks}: {bits:?}");
            for (part, block) in parts.zip(0..) {
                assert_eq!(part.count() as u32, width(block, blocks));
            }
        }
    }

    #[test]
    fn all_numbers_are_used_alike() {
        let mut load = vec![0u32; FOLDED as usize];
        for block in 0..4 {
            for key in 0..65_536 {
                load[fold(block * 65_536 + key) as usize] += 1;
            }
        }
        assert!(load.iter().all(|l| (200..320).contains(l)), "{load:?}");
    }

    /// Returns how many of 10,000 pairs of rows, given their fingerprints and scopes, share a lock.
    fn waits(radius: u32, row: impl Fn(u32) -> (u64, u64)) -> u32 {
        let locks = |i| {
            let (fingerprint, scope) = row(i);
            set(fingerprint, scope, radius)
        };
        (0..10_000)
            .map(|i| u32::from(share_a_lock(&locks(2 * i), &locks(2 * i + 1))))
            .sum()
    }

    /// Blocks, times the chance that one of them has the same key or fold, of 10,000.
    const EXPECTED: [(u32, u32); 6] = [(0, 10), (3, 155), (6, 470), (7, 310), (8, 650), (9, 1180)];

    #[test]
    fn unrelated_rows_seldom_wait_for_each_other() {
        let unrelated = |i: u32| (mix(u64::from(i).wrapping_add(GOLDEN_RATIO)), 0);
        for (radius, expected) in EXPECTED {
            let waits = waits(radius, unrelated);
            assert!(
                waits <= expected * 5 / 4 + 10,
                "radius {radius}: {waits} of 10,000, {expected} expected"
            );
        }
        assert_eq!(waits(10, unrelated), 10_000);
    }

    #[test]
    fn scopes_seldom_wait_for_each_other_whatever_their_rows() {
        let all = EXPECTED.into_iter().chain([(10, 10), (64, 10)]);
        for (radius, expected) in all {
            for fingerprint in [0, 0x0123_4567_89AB_CDEF] {
                let waits = waits(radius, |tenant| (fingerprint, scope([tenant])));
                assert!(
                    waits <= expected * 5 / 4 + 10,
                    "radius {radius}: {waits} of 10,000, {expected} expected"
                );
            }
        }
    }

    #[test]
    fn every_column_of_a_scope_counts() {
        assert_eq!(scope([]), 0);
        let scopes = [
            scope([1]),
            scope([2]),
            scope([1, 2]),
            scope([2, 1]),
            scope([1, 1]),
            scope([0]),
            scope([0, 0]),
        ];
        for (i, one) in scopes.iter().enumerate() {
            assert!(!scopes[..i].contains(one) && *one != 0, "{scopes:x?}");
        }
    }
}

//! The scopes of the values in lists, one list for each scope column. Pure.
//!
//! The scopes of one list are as many as its hashes. Those of several multiply: the combinations
//! are worked out where that pays and fits the memory. Until then every scope passes, which is
//! right too, since the executor compares the columns of every row again.

#![forbid(unsafe_code)]

use simhash_base::indexed_row::with_column;
use std::cell::{Cell, OnceCell};

/// Limits of the work on lists.
pub struct Bounds {
    /// Leaves of a key space.
    pub leaves: u64,
    /// Bytes that the scopes of all combinations may take.
    pub memory: usize,
    /// Lets a cancel take effect.
    pub pause: fn(),
}

/// Combinations for each leaf up to which they are worked out at once: that takes a small part of
/// the time in which a leaf is read, and most leaves of other scopes are then not read.
const AT_ONCE: u64 = 16;
/// Nanoseconds that it takes to work out a combination.
const COMBINE: u64 = 15;
/// Nanoseconds for a row of another scope: to fetch it, and to compare it with an element of a
/// list.
const FETCH: u64 = 500;
const COMPARE: u64 = 2;

/// The most combinations that are worked out.
#[inline]
pub fn most_combinations(memory: usize) -> u64 {
    (memory / size_of::<u32>()) as u64
}

/// Hashes of several columns, and the scopes of all their combinations.
pub struct ScopeLists {
    columns: Vec<Vec<u32>>,
    combinations: u64,
    bounds: Bounds,
    /// The scopes, ascending; None where they do not fit the memory. Unset until they are worked
    /// out: then every scope passes.
    scopes: OnceCell<Option<Vec<u32>>>,
    /// Number of rows that passed because the scopes were not known.
    passed: Cell<u64>,
}

impl ScopeLists {
    /// Creates lists from hashes, which must ascend in each column.
    #[inline]
    pub fn new(mut columns: Vec<Vec<u32>>, bounds: Bounds) -> ScopeLists {
        let count = |product: u64, hashes: &Vec<u32>| product.saturating_mul(hashes.len() as u64);
        let combinations = columns.iter().fold(1, count);
        let is_list = |hashes: &&Vec<u32>| hashes.len() > 1;
        let is_one_list = columns.iter().filter(is_list).count() <= 1;
        let scopes = OnceCell::new();
        if columns.len() == 1 {
            // One column's hash is the scope.
            let _ = scopes.set(columns.pop());
        } else if combinations == 0 {
            // One list is empty, but the others may multiply.
            let _ = scopes.set(Some(Vec::new()));
        } else if !is_one_list && combinations > most_combinations(bounds.memory) {
            let _ = scopes.set(None);
        }
        let lists = ScopeLists {
            columns,
            combinations,
            bounds,
            scopes,
            passed: Cell::new(0),
        };
        if is_one_list || combinations <= AT_ONCE.saturating_mul(lists.bounds.leaves) {
            lists.work_out();
        }
        lists
    }

    /// Works the scopes out when fetching rows of other scopes has cost as much as that would: both
    /// together cost at most about twice the cheaper way. No page may be locked.
    #[inline]
    pub fn work_out_if_due(&self) {
        if self.scopes.get().is_some() {
            return;
        }
        let elements: usize = self.columns.iter().map(Vec::len).sum();
        let row = FETCH + COMPARE * elements as u64;
        if self.passed.get().saturating_mul(row) >= self.combinations * COMBINE {
            self.work_out();
        }
    }

    fn work_out(&self) {
        self.scopes.get_or_init(|| self.combined());
    }

    fn combined(&self) -> Option<Vec<u32>> {
        let mut scopes = Vec::new();
        scopes.try_reserve_exact(self.combinations as usize).ok()?;
        for_each_scope(&self.columns, self.bounds.pause, &mut |scope| {
            scopes.push(scope)
        });
        sort(&mut scopes, self.bounds.pause);
        scopes.dedup();
        Some(scopes)
    }

    /// The scopes, if they are known.
    fn known(&self) -> Option<&[u32]> {
        self.scopes.get()?.as_deref()
    }

    /// The lowest one at or after `scope`, as far as they are known.
    #[inline]
    pub fn next(&self, scope: u32) -> Option<u32> {
        let Some(all) = self.known() else {
            return Some(scope);
        };
        all.get(all.partition_point(|one| *one < scope)).copied()
    }

    /// Those in a range, if they are known.
    #[inline]
    pub fn between(&self, first: u32, last: u32) -> Option<&[u32]> {
        let all = self.known()?;
        let from = all.partition_point(|scope| *scope < first);
        let count = all[from..].partition_point(|scope| *scope <= last);
        Some(&all[from..from + count])
    }

    /// Returns whether a scope is known to be one of them.
    #[inline]
    pub fn have(&self, scope: u32) -> bool {
        self.known()
            .is_some_and(|all| all.binary_search(&scope).is_ok())
    }

    /// Counts a row that passes because the scopes are not known.
    #[inline]
    pub fn note_row(&self) {
        self.passed.set(self.passed.get() + 1);
    }
}

/// Combinations between two looks for a cancel.
const PIECE: usize = 4096;

/// Calls `each` with the scope of each combination of hashes.
fn for_each_scope(columns: &[Vec<u32>], pause: fn(), each: &mut impl FnMut(u32)) {
    fn extend(scope: u32, rest: &[Vec<u32>], pause: fn(), each: &mut impl FnMut(u32)) {
        let [hashes, rest @ ..] = rest else {
            return each(scope);
        };
        for piece in hashes.chunks(PIECE) {
            pause();
            for hash in piece {
                extend(with_column(scope, *hash), rest, pause, each);
            }
        }
    }
    let Some((first, rest)) = columns.split_first() else {
        return;
    };
    for hash in first {
        extend(*hash, rest, pause, each);
    }
}

/// Sorts hashes or scopes, however many.
#[inline]
pub fn sort(numbers: &mut [u32], pause: fn()) {
    /// As many as are sorted in some milliseconds.
    const SORTED_AT_ONCE: usize = 1 << 20;
    if numbers.len() <= SORTED_AT_ONCE {
        return numbers.sort_unstable();
    }
    numbers.sort_unstable_by(|a, b| {
        pause();
        a.cmp(b)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use simhash_base::indexed_row::scope_of;
    use std::collections::BTreeSet;

    fn bounds(leaves: u64, memory: usize) -> Bounds {
        let pause = || {};
        Bounds {
            leaves,
            memory,
            pause,
        }
    }

    /// All combinations, the slow way.
    fn combined(columns: &[Vec<u32>]) -> BTreeSet<u32> {
        let mut rows = vec![Vec::new()];
        for hashes in columns {
            let with = |row: &Vec<Option<u32>>| {
                let row = row.clone();
                let longer = |hash: &u32| [row.as_slice(), &[Some(*hash)]].concat();
                hashes.iter().map(longer).collect::<Vec<_>>()
            };
            rows = rows.iter().flat_map(with).collect();
        }
        rows.into_iter().map(scope_of).collect()
    }

    fn columns() -> impl Strategy<Value = Vec<Vec<u32>>> {
        let hashes = prop::collection::btree_set(any::<u32>(), 0..40);
        let sorted = hashes.prop_map(|hashes| hashes.into_iter().collect());
        prop::collection::vec(sorted, 1..4)
    }

    proptest! {
        /// Known or not, no scope is ever missed; and where they are known no other one passes.
        #[test]
        fn no_scope_is_missed_and_no_other_is_known(
            columns in columns(), leaves in prop_oneof![Just(0u64), Just(1 << 40), 0u64..10_000],
            memory in 64usize..40_000, others in prop::collection::vec(any::<u32>(), 0..50),
        ) {
            let expected = combined(&columns);
            let lists = ScopeLists::new(columns.clone(), bounds(leaves, memory));
            for is_due in [false, true] {
                if is_due {
                    lists.passed.set(u64::MAX);
                    lists.work_out_if_due();
                }
                let known = lists.between(0, u32::MAX).map(<[u32]>::to_vec);
                prop_assert_eq!(known.as_deref(), lists.known());
                for scope in others.iter().chain(&expected) {
                    let next = expected.range(*scope..).next().copied();
                    match known {
                        Some(_) => prop_assert_eq!(lists.next(*scope), next),
                        None => prop_assert_eq!(lists.next(*scope), Some(*scope)),
                    }
                    prop_assert_eq!(lists.have(*scope), known.is_some() && next == Some(*scope));
                }
                prop_assert!(known.is_none_or(|known| known.into_iter().eq(expected.iter().copied())));
            }
            let combinations: usize = columns.iter().map(Vec::len).product();
            let long = columns.iter().filter(|hashes| hashes.len() > 1).count();
            prop_assert_eq!(lists.known().is_some(), long <= 1 || combinations <= memory / 4);
        }
    }

    #[test]
    fn a_list_beside_single_values_is_worked_out_whatever_its_length() {
        let hashes: Vec<u32> = (0..1000).collect();
        let lists = ScopeLists::new(vec![vec![3], hashes, vec![4]], bounds(0, 64));
        assert_eq!(lists.known().map(<[u32]>::len), Some(1000));
    }

    #[test]
    fn an_empty_list_saves_the_work_on_the_others() {
        let pause = || unreachable!();
        let hashes: Vec<u32> = (0..1000).collect();
        let limits = Bounds {
            leaves: 1 << 40,
            memory: 1 << 40,
            pause,
        };
        let lists = ScopeLists::new(vec![hashes.clone(), hashes, Vec::new()], limits);
        assert_eq!(lists.known(), Some(&[][..]));
    }

    #[test]
    fn what_does_not_pay_is_not_worked_out() {
        let hashes = |n: u32| (0..n).map(|i| i * 7).collect::<Vec<_>>();
        let lists_with = |leaves, memory| {
            ScopeLists::new(vec![hashes(100), hashes(200)], bounds(leaves, memory))
        };
        assert!(lists_with(1250, 1 << 20).known().is_some(), "16 for a leaf");
        let lists = lists_with(1249, 1 << 20);
        for i in 0..(20_000 * COMBINE).div_ceil(FETCH + COMPARE * 300) {
            assert!(lists.known().is_none(), "{i} rows");
            lists.note_row();
            lists.work_out_if_due();
        }
        assert!(lists.known().is_some());
        let lists = lists_with(1 << 40, 79_999);
        lists.passed.set(u64::MAX);
        lists.work_out_if_due();
        assert!(lists.known().is_none(), "no room");
    }

    #[test]
    fn long_lists_can_be_cancelled() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static PAUSES: AtomicUsize = AtomicUsize::new(0);
        let pause = || {
            PAUSES.fetch_add(1, Ordering::Relaxed);
        };
        let hashes: Vec<u32> = (0..1 << 21)
            .map(|i: u32| i.wrapping_mul(0x9E37_79B9))
            .collect();
        let mut sorted = hashes.clone();
        sort(&mut sorted, pause);
        assert!(sorted.is_sorted() && PAUSES.swap(0, Ordering::Relaxed) > 1 << 20);
        let mut count = 0;
        for_each_scope(&[vec![1, 2], hashes], pause, &mut |_| count += 1);
        assert_eq!(count, 2 << 21);
        assert!(PAUSES.load(Ordering::Relaxed) >= count / PIECE);
    }
}

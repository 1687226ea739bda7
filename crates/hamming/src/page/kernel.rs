//! The inner loop of every search: which postings of a leaf can pass a filter. [`super::leaf_scan`]
//! calls it, and reads the rest of these postings, which is being fetched into the processor's
//! cache by then.
//!
//! One body, compiled for four instruction sets, chosen at run time: counting bits in software
//! costs a search 14 to 16 %. Where there are vectors, 32 words at a time are tested with them
//! ([`super::near_words`]), otherwise one by one.

#![forbid(unsafe_code)]

use super::Page;
use super::format::{KEY_SHIFT, Layout};
use super::leaf::{self, CAPACITY};
use super::leaf_scan::Filter;
#[cfg(target_arch = "x86_64")]
use super::near_words;
#[cfg(any(test, target_arch = "x86_64"))]
use super::near_words::{WORDS, Words};
use super::special::{self, SLOT_COUNT};
use crate::key::Position;
use multiversion::multiversion;
use multiversion::target::match_target;
use simhash_base::processor::prefetch_line;
use std::ops::Range;

/// Positions of the postings that may pass, in the leaf's order.
pub struct Candidates {
    positions: [u16; CAPACITY],
    count: usize,
}

impl Candidates {
    /// Work space without any candidates.
    #[inline]
    pub const fn none() -> Candidates {
        Candidates {
            positions: [0; CAPACITY],
            count: 0,
        }
    }

    /// Forgets all candidates.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// The positions, ascending.
    #[inline]
    pub fn positions(&self) -> &[u16] {
        &self.positions[..self.count]
    }
}

/// Finds the postings whose low word differs little enough, in the slots of the sorted prefix that
/// the filter's ball can touch, from that of `from` on, and in the unsorted tail.
#[inline(always)]
fn find_body(
    page: &Page,
    filter: &Filter,
    from: Position,
    candidates: &mut Candidates,
    near: impl Near,
) {
    let Some(most_below) = filter.most_below() else {
        return;
    };
    let layout = Layout::read(page);
    // The rest of a posting stands far from its low word, in a line of its own that the processor's
    // cache seldom holds: it is asked for while the words of the next slots are tested.
    let near = |page: &Page, range, query, candidates: &mut Candidates| {
        let before = candidates.count;
        near(page, range, query, candidates);
        for &i in &candidates.positions()[before..] {
            prefetch_line(&raw const page[layout.aux_at(usize::from(i))]);
        }
    };
    match leaf::scope(page) {
        Some(scope) if scope > from.scope => find_in_ball(page, filter, 0, candidates, near),
        Some(scope) if scope == from.scope => {
            find_in_ball(page, filter, from.rotated, candidates, near)
        }
        // The postings lie before `from`.
        Some(_) => return,
        None => {
            let range = sorted_in_scope(page, filter, from);
            near(page, range, (filter.query as u32, most_below), candidates);
        }
    }
    let tail = leaf::sorted_count(page)..leaf::count(page);
    near(page, tail, (filter.query as u32, most_below), candidates);
}

/// The slot of the sorted prefix that holds `place`, or the number of slots.
#[inline(always)]
fn slot_of(place: u64, shift: u32, base: u64) -> usize {
    (place >> shift).saturating_sub(base).min(SLOT_COUNT as u64) as usize
}

/// Where slot `z` of the sorted prefix begins.
#[inline(always)]
fn slot_start(page: &Page, z: usize) -> usize {
    z.checked_sub(1)
        .map_or(0, |before| special::slot_end(page, before))
}

/// The part of the sorted prefix to search, on a leaf whose postings carry their own scope, of which
/// several may be in one slot.
#[inline(always)]
fn sorted_in_scope(page: &Page, filter: &Filter, from: Position) -> Range<usize> {
    let (shift, base) = special::directory(page);
    let lowest = Position::at(filter.first_scope, 0).max(from);
    let last = special::scoped_place(filter.last_scope, u64::MAX);
    let first = special::scoped_place(lowest.scope, lowest.rotated);
    let start = slot_start(page, slot_of(first, shift, base));
    let end = match (last >> shift).checked_sub(base) {
        Some(z) => special::slot_end(page, z.min(SLOT_COUNT as u64 - 1) as usize),
        None => 0,
    };
    start..end.max(start)
}

/// The sorted prefix of a leaf of one scope.
#[inline(always)]
fn find_in_ball(
    page: &Page,
    filter: &Filter,
    from: u64,
    candidates: &mut Candidates,
    near: impl Near,
) {
    debug_assert!(filter.radius <= u64::BITS);
    let (shift, base) = special::directory(page);
    let mut budgets = [NOTHING; SLOT_COUNT];
    let (mut passing, mut most) = (0u32, 0);
    for (z, budget) in budgets.iter_mut().enumerate() {
        *budget = slot_budget(filter, shift, base.wrapping_add(z as u64));
        passing |= u32::from(*budget != NOTHING) << z;
        most = most.max(if *budget == NOTHING { 0 } else { *budget });
    }
    let first = slot_of(from, shift, base) as u32;
    passing &= u32::MAX.checked_shl(first).unwrap_or(0);
    let low = filter.query as u32;
    if most <= SELDOM {
        // A slot between two others is searched with them.
        passing |= passing << 1 & passing >> 1;
    }
    while passing != 0 {
        let first = passing.trailing_zeros() as usize;
        let behind = first + (!(passing >> first)).trailing_zeros() as usize;
        let (end, budget) = match most <= SELDOM {
            true => (behind, most),
            false => run_of(&budgets, first, behind),
        };
        let range = slot_start(page, first)..special::slot_end(page, end - 1);
        near(page, range, (low, budget.into()), candidates);
        passing &= u32::MAX.checked_shl(end as u32).unwrap_or(0);
    }
}

/// Marks a slot in which nothing can pass.
const NOTHING: u8 = u8::MAX;

/// The end of the slots from `first` on, before `behind`, that are searched together, and the most that
/// one of them allows.
#[inline(always)]
fn run_of(budgets: &[u8; SLOT_COUNT], first: usize, behind: usize) -> (usize, u8) {
    let (mut budget, mut end) = (budgets[first], first + 1);
    while end < behind.min(SLOT_COUNT)
        && (budgets[end] == budget || budgets[end].max(budget) <= SELDOM)
    {
        budget = budget.max(budgets[end]);
        end += 1;
    }
    (end, budget)
}

/// Up to this many differing bits of 32, few words are near: one in a hundred, if they are random.
/// Then it is faster to search slots side by side together, for the most that any of them allows,
/// than to search less of each.
const SELDOM: u8 = 9;

/// Returns how many of the low 32 bits may differ in the slot with this prefix; [`NOTHING`] if none
/// of its postings can pass.
#[inline(always)]
fn slot_budget(filter: &Filter, shift: u32, prefix: u64) -> u8 {
    let differing = (prefix << shift ^ filter.query) >> shift << shift;
    let of_key = (differing >> KEY_SHIFT).count_ones() as i32;
    // With the whole key in the prefix its distance is exact; otherwise it is a lower bound.
    let key_passes = (of_key <= filter.within) & ((shift > KEY_SHIFT) | (of_key > filter.beyond));
    let missing = filter.missing(differing);
    let passes = key_passes & (differing.count_ones() + missing <= filter.radius);
    let above = (differing >> 32).count_ones() + missing;
    match passes {
        true => filter.radius.wrapping_sub(above) as u8,
        false => NOTHING,
    }
}

/// Adds the postings of a range whose low word differs from a word in at most a number of bits.
trait Near: Fn(&Page, Range<usize>, (u32, u32), &mut Candidates) + Copy {}

impl<F: Fn(&Page, Range<usize>, (u32, u32), &mut Candidates) + Copy> Near for F {}

/// Tests one word after the other.
#[inline(always)]
fn one_by_one(
    page: &Page,
    range: Range<usize>,
    (low, budget): (u32, u32),
    candidates: &mut Candidates,
) {
    let mut count = candidates.count;
    let words = leaf::low_words(page, range.start, range.end)
        .as_chunks::<4>()
        .0;
    for (position, word) in range.zip(words) {
        // Always written, kept only if near: no branch to mispredict.
        candidates.positions[count.min(CAPACITY - 1)] = position as u16;
        let differing = u32::from_ne_bytes(*word) ^ low;
        count += usize::from(differing.count_ones() <= budget);
    }
    candidates.count = count.min(CAPACITY);
}

/// Tests 32 words at a time, by masks of those that are near: `mask` makes them.
#[cfg(any(test, target_arch = "x86_64"))]
#[inline(always)]
fn by_masks(
    page: &Page,
    range: Range<usize>,
    (low, budget): (u32, u32),
    candidates: &mut Candidates,
    mask: impl Fn(&Words, u32, u32) -> u32,
) {
    let mut count = candidates.count;
    for first in range.clone().step_by(WORDS) {
        // Words behind the range, too: their bits are cleared.
        let words = leaf::low_words(page, first, first + WORDS)
            .as_chunks::<4>()
            .0;
        let Some(words) = words.first_chunk() else {
            break;
        };
        let mut near = mask(words, low, budget);
        if let Some(behind) = WORDS.checked_sub(range.end - first) {
            near &= u32::MAX >> behind;
        }
        while near != 0 {
            let position = first as u32 + near.trailing_zeros();
            candidates.positions[count.min(CAPACITY - 1)] = position as u16;
            count += 1;
            near &= near - 1;
        }
    }
    candidates.count = count.min(CAPACITY);
}

/// Adds what may pass to `candidates`, with the best instructions that this machine has.
#[multiversion(targets(
    "x86_64+avx512f+avx512vpopcntdq+bmi1+bmi2+popcnt",
    "x86_64+avx2+popcnt",
    "x86_64+popcnt"
))]
pub fn find(page: &Page, filter: &Filter, from: Position, candidates: &mut Candidates) {
    match_target! {
        "x86_64+avx512f+avx512vpopcntdq+bmi1+bmi2+popcnt" => find_body(page, filter, from, candidates, |page, range, query, candidates| {
            by_masks(page, range, query, candidates, |words, low, budget| near_words::avx512(words, low, budget))
        }),
        "x86_64+avx2+popcnt" => find_body(page, filter, from, candidates, |page, range, query, candidates| {
            by_masks(page, range, query, candidates, |words, low, budget| near_words::avx2(words, low, budget))
        }),
        _ => find_body(page, filter, from, candidates, one_by_one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Space;
    use crate::page::PAGE_SIZE;
    use crate::page::near_words::tests::mask;
    use crate::page::special::PageKind;
    use proptest::prelude::*;
    use simhash_base::indexed_row::Tid;

    proptest! {
        /// What the portable kernel finds is checked against brute force in `filter`.
        #[test]
        fn every_kernel_finds_the_same(
            query: u64, raw in prop::collection::vec((any::<u64>(), 0u32..64), 0..=575),
            sorted: prop::sample::Index, radius in 0u32..=64, beyond in -1i32..2, more in 0i32..4,
            next_least in 0u32..5, from: u64,
        ) {
            let key = |i: usize| {
                let (bits, shift) = raw[i];
                // Near the query in all but the low bits, so that something passes.
                let rotated = query ^ bits.checked_shr(shift).unwrap_or(0);
                Position { scope: 0, rotated, tid: Tid { block: i as u32, offset: 1 } }
            };
            let sorted = sorted.index(raw.len() + 1);
            let mut prefix: Vec<Position> = (0..sorted).map(key).collect();
            prefix.sort();
            let mut page = [0; PAGE_SIZE];
            let kind = PageKind { space: Space::NULL, level: 0, stamp: 1 };
            leaf::init(&mut page, kind, Position::MIN, None, &prefix);
            for i in sorted..raw.len() {
                leaf::append(&mut page, key(i));
            }
            let from = if from % 2 == 0 { 0 } else { query ^ from >> 30 };
            let filter = Filter { first_scope: 0, last_scope: 0, query, radius, beyond, within: beyond + more, next_least };
            let run = |kernel: &dyn Fn(&Page, &Filter, Position, &mut Candidates)| {
                let mut candidates = Candidates::none();
                kernel(&page, &filter, Position::at(0, from), &mut candidates);
                candidates.positions().to_vec()
            };
            let portable = run(&|page, filter, from, candidates| find_body(page, filter, from, candidates, one_by_one));
            let masks = |page: &Page, range, query, candidates: &mut Candidates| {
                by_masks(page, range, query, candidates, mask)
            };
            prop_assert_eq!(&run(&|page, filter, from, candidates| find_body(page, filter, from, candidates, masks)), &portable);
            prop_assert_eq!(&run(&find), &portable);
        }
    }
}

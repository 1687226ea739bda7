//! The slot directory of a leaf: cuts its sorted prefix into equal ranges, so that a search reads
//! only the slots that its ball can touch. These are ranges of the rotated fingerprint or, where
//! postings carry their own scope, of the scope and the upper half of the rotated fingerprint.

#![forbid(unsafe_code)]

use super::special::{SLOT_BASE, SLOT_SHIFT, SLOTS, has_own_scopes};
use super::{Page, get_u16, get_u64, put_u16, put_u64};
use crate::key::Key;

pub(super) const SLOT_COUNT: usize = 32;

/// The first 64 bits of a position's scope and rotated fingerprint.
#[inline]
pub(super) fn scoped_place(scope: u32, rotated: u64) -> u64 {
    u64::from(scope) << 32 | rotated >> 32
}

/// Returns the place of a posting in what the directory of the page cuts into ranges.
fn place(page: &Page, key: Key) -> u64 {
    match has_own_scopes(page) {
        true => scoped_place(key.scope, key.rotated),
        false => key.rotated,
    }
}

/// Cuts the sorted prefix into slots: slot `z` ends at `SLOTS[z]` and holds the postings whose
/// place, without its lowest `shift` bits, is `SLOT_BASE + z`.
#[inline]
pub(super) fn write_directory(page: &mut Page, postings: &[Key]) {
    let (Some(first), Some(last)) = (postings.first(), postings.last()) else {
        return;
    };
    let (first, last) = (place(page, *first), place(page, *last));
    let mut shift = 0;
    while (last >> shift) - (first >> shift) >= SLOT_COUNT as u64 {
        shift += 1;
    }
    let base = first >> shift;
    put_u64(page, SLOT_BASE, base);
    page[SLOT_SHIFT] = shift;
    let mut end = 0;
    for z in 0..SLOT_COUNT {
        while end < postings.len() && (place(page, postings[end]) >> shift) - base <= z as u64 {
            end += 1;
        }
        put_u16(page, SLOTS + 2 * z, end as u16);
    }
}

/// Returns whether the directory leads to posting `i` of the sorted prefix.
#[inline]
pub fn is_in_its_slot(page: &Page, i: usize, key: Key) -> bool {
    let prefix = place(page, key) >> page[SLOT_SHIFT];
    let slot = prefix.wrapping_sub(get_u64(page, SLOT_BASE));
    let end = |z: u64| usize::from(get_u16(page, SLOTS + 2 * z as usize));
    slot < SLOT_COUNT as u64 && i < end(slot) && (slot == 0 || i >= end(slot - 1))
}

/// Returns where the slots of the sorted prefix end.
#[inline]
pub(super) fn ends(page: &Page) -> [u16; SLOT_COUNT] {
    std::array::from_fn(|z| get_u16(page, SLOTS + 2 * z))
}

/// Returns whether each slot ends where the one before it does, or later. Every visit of a leaf
/// checks this: the differences are taken without a branch, so that a few instructions compare all
/// slots.
#[inline]
pub(super) fn ends_rise(page: &Page) -> bool {
    let falls = |falls: u16, pair: &[u16]| falls | pair[0].saturating_sub(pair[1]);
    ends(page).windows(2).fold(0, falls) == 0
}

/// The slot directory: bits below the prefix, and the prefix of slot 0.
#[inline(always)]
pub(super) fn directory(page: &Page) -> (u32, u64) {
    (u32::from(page[SLOT_SHIFT]), get_u64(page, SLOT_BASE))
}

/// Returns where slot `z` of the sorted prefix ends.
#[inline(always)]
pub(super) fn slot_end(page: &Page, z: usize) -> usize {
    usize::from(get_u16(page, SLOTS + 2 * z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PAGE_SIZE;

    #[test]
    fn one_slot_that_ends_before_another_is_seen() {
        let mut page = [0; PAGE_SIZE];
        let mut put = |z: usize, end: usize| {
            put_u16(&mut page, SLOTS + 2 * z, end as u16);
            ends_rise(&page)
        };
        for z in 0..SLOT_COUNT {
            put(z, 20 * z + 20);
        }
        for z in 1..SLOT_COUNT {
            assert!(!put(z, 20 * z - 1), "slot {z}");
            assert!(put(z, 20 * z), "slot {z}");
            put(z, 20 * z + 20);
        }
        assert!(!put(0, usize::from(u16::MAX)));
    }
}

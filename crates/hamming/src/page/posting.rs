//! One posting of a leaf: its two parts as bytes of the page, as the picture in [`super::leaf`] shows
//! them. Leaves and their searches call it. What is the same for all postings of a leaf is read
//! from the page once, so a [`Layout`] must not outlive a change of the leaf's format.

#![forbid(unsafe_code)]

use super::format::{Format, KEY_SHIFT, LO, SCOPE, lowest_key};
use super::special::{BASE_KEY, BASE_SCOPE, WIDE, has_flag, has_own_scopes};
use super::{HEADER, Page, SPECIAL_START, get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
use crate::key::Key;
use simhash_base::tid::Tid;

/// Where the scope of all postings stands, and the array of aux ends.
pub(super) const SCOPE_AT: usize = SPECIAL_START - SCOPE;
/// Bytes of aux that all formats have.
const AUX: usize = 8;
/// Bits of the small difference that stand there.
const DIFFERENCE: u32 = 5;

/// The lowest scope and 16-bit key that may stand on the page.
#[inline]
pub fn low(page: &Page) -> Key {
    let key = u64::from(get_u16(page, BASE_KEY));
    Key::at(get_u32(page, BASE_SCOPE), key << KEY_SHIFT)
}

/// How a leaf holds its postings.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    format: Format,
    /// The leaf's lowest scope.
    low_scope: u32,
    /// The scope of all postings, where they do not carry their own.
    one_scope: u32,
    /// The lowest key that this scope may have here.
    lowest: u16,
}

impl Layout {
    #[inline]
    pub(super) fn read(page: &Page) -> Layout {
        let (low, one_scope) = (low(page), get_u32(page, SCOPE_AT));
        Layout {
            format: Format::new(has_own_scopes(page), has_flag(page, WIDE)),
            low_scope: low.scope,
            one_scope,
            lowest: lowest_key(low, one_scope),
        }
    }

    #[inline]
    pub(super) fn aux_size(self) -> usize {
        self.format.aux_size()
    }

    /// Where aux of posting `i` begins.
    #[inline]
    pub(super) fn aux_at(self, i: usize) -> usize {
        SCOPE_AT - self.aux_size() * (i + 1)
    }

    /// Reads posting `i`.
    #[inline]
    pub(super) fn get(self, page: &Page, i: usize) -> Key {
        let at = self.aux_at(i);
        let aux = get_u64(page, at);
        let difference = (aux >> (u64::BITS - DIFFERENCE)) as u16;
        let key = || get_u16(page, at + AUX);
        let (scope, key) = match (self.format.scoped, self.format.wide) {
            (false, false) => (self.one_scope, self.lowest.wrapping_add(difference)),
            (false, true) => (self.one_scope, key()),
            (true, false) => {
                let high = u32::from(get_u16(page, at + AUX + 2)) << DIFFERENCE;
                let difference = high | u32::from(difference);
                (self.low_scope.wrapping_add(difference), key())
            }
            (true, true) => (get_u32(page, at + AUX + 2), key()),
        };
        Key {
            scope,
            rotated: u64::from(key) << KEY_SHIFT
                | (aux & 0xFFFF) << 32
                | u64::from(get_u32(page, HEADER + LO * i)),
            tid: Tid {
                block: (aux >> 16) as u32,
                offset: (aux >> 48) as u16 & Tid::MAX_OFFSET,
            },
        }
    }

    /// Writes posting `i`, of the leaf's scope where it has one.
    #[inline]
    pub(super) fn put(self, page: &mut Page, i: usize, key: Key) {
        let at = self.aux_at(i);
        let difference = match (self.format.scoped, self.format.wide) {
            (false, false) => u32::from(key.first_quarter().wrapping_sub(self.lowest)),
            (true, false) => key.scope.wrapping_sub(self.low_scope),
            _ => 0,
        };
        let aux = (key.rotated >> 32) & 0xFFFF
            | u64::from(key.tid.block) << 16
            | u64::from(key.tid.offset) << 48
            | u64::from(difference) << (u64::BITS - DIFFERENCE);
        put_u64(page, at, aux);
        if self.aux_size() > AUX {
            put_u16(page, at + AUX, key.first_quarter());
        }
        match (self.format.scoped, self.format.wide) {
            (true, false) => put_u16(page, at + AUX + 2, (difference >> DIFFERENCE) as u16),
            (true, true) => put_u32(page, at + AUX + 2, key.scope),
            _ => {}
        }
        put_u32(page, HEADER + LO * i, key.rotated as u32);
    }
}

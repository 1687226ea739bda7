//! What an index files of a row: its address, the scope and the fingerprint. `pg` makes addresses of the server's own
//! type; indexes, searches and tables of the extension pass them on. The order of addresses, and of their numbers, is
//! that of rows in the table.

#![forbid(unsafe_code)]

use std::fmt;

/// The values of an index's columns, as its key spaces hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedRow {
    /// A hash of the scope columns; [`NO_SCOPE`] in an index without any.
    pub scope: u32,
    /// The last column; None when it is NULL.
    pub fingerprint: Option<u64>,
}

/// The scope of all rows of an index without scope columns.
pub const NO_SCOPE: u32 = 0;

/// The scope of these hashes, one for each scope column, None for NULL. Part of the format of an
/// index on disk.
///
/// One column's hash is kept as it is: a hash function of the server mixes well.
#[inline]
pub fn scope_of(hashes: impl IntoIterator<Item = Option<u32>>) -> u32 {
    scope_of_hashes(hashes.into_iter().map(hash_or_null))
}

/// As [`scope_of`], of hashes of which [`hash_or_null`] made some.
#[inline]
pub fn scope_of_hashes(hashes: impl IntoIterator<Item = u32>) -> u32 {
    let mut hashes = hashes.into_iter();
    let first = hashes.next();
    first.map_or(NO_SCOPE, |first| hashes.fold(first, with_column))
}

/// The hash that stands for a value, or for NULL.
#[inline]
pub fn hash_or_null(hash: Option<u32>) -> u32 {
    /// The hash of NULL: an arbitrary number.
    const NULL: u32 = 0x51AB_0C0D;
    hash.unwrap_or(NULL)
}

/// The scope of some columns and one more.
#[inline]
fn with_column(scope: u32, hash: u32) -> u32 {
    // An odd multiplier, and the upper half, which depends on all bits of the lower one.
    const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    let both = u64::from(scope) << 32 | u64::from(hash);
    let mixed = (both ^ both >> 29).wrapping_mul(GOLDEN_RATIO);
    ((mixed ^ mixed >> 32).wrapping_mul(GOLDEN_RATIO) >> 32) as u32
}

/// A heap row's address: block number and offset within the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid {
    /// Number of the block in the table, from 0.
    pub block: u32,
    /// Number of the row's line pointer in the block, from 1.
    pub offset: u16,
}

impl Tid {
    /// Below every row's address: no row has offset 0.
    pub const MIN: Tid = Tid {
        block: 0,
        offset: 0,
    };
    /// The address as one number, in the order of addresses.
    #[inline]
    pub fn number(self) -> u64 {
        u64::from(self.block) << 16 | u64::from(self.offset)
    }

    /// The largest offset that a posting can hold (11 bits). The heap needs 291 on 8 kB pages.
    pub const MAX_OFFSET: u16 = 2047;
}

/// As the server shows a ctid.
impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "({},{})", self.block, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_column_is_one_scope_and_one_column_is_its_hash() {
        assert_eq!(scope_of([]), NO_SCOPE);
        assert_eq!(scope_of([Some(7)]), 7);
        assert_ne!(scope_of([None]), scope_of([Some(0)]));
    }

    #[test]
    fn the_scopes_of_an_index_stay_what_they_are() {
        // Written down: another fold would need another format version.
        assert_eq!(scope_of([Some(1), Some(2)]), WRITTEN[0]);
        assert_eq!(scope_of([Some(1), None, Some(3)]), WRITTEN[1]);
    }

    const WRITTEN: [u32; 2] = [0x832E_4D06, 0xA6F0_517C];

    #[test]
    fn columns_in_any_combination_have_scopes_of_their_own() {
        let some = |i: u32| (i > 0).then(|| i.wrapping_mul(0x9E37_79B9));
        let all: HashSet<u32> = (0..300u32)
            .flat_map(|a| (0..300u32).map(move |b| scope_of([some(a), some(b)])))
            .collect();
        // 90,000 draws of 2^32: about one pair falls together.
        assert!(all.len() >= 89_990, "{}", all.len());
    }
}

#[cfg(test)]
mod tid_tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_in_the_order_of_addresses(a in (0u32..3, any::<u16>()), b in (0u32..3, any::<u16>())) {
            let tid = |(block, offset)| Tid { block, offset };
            prop_assert_eq!(tid(a).number().cmp(&tid(b).number()), tid(a).cmp(&tid(b)));
        }
    }

    #[test]
    fn the_largest_address_has_48_bits() {
        let largest = Tid {
            block: u32::MAX,
            offset: u16::MAX,
        };
        assert_eq!(largest.number(), (1 << 48) - 1);
    }
}

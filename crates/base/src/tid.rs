//! Row addresses. `pg` makes them of the server's own type; indexes, searches and tables of the
//! extension pass them on. The order of addresses, and of their numbers, is that of rows in the
//! table.

#![forbid(unsafe_code)]

use std::fmt;

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

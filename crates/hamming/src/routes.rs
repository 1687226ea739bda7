//! The keys of a fingerprint. Pure arithmetic.
//!
//! A radius of k cuts the 64 bits into k + 1 pieces, as even as can be, from the lowest bit up. Two
//! fingerprints that differ in at most k bits are equal in at least one piece, so they share a key.
//! A key is a piece's number and its bits. Keys stand in users' tables: this layout must not
//! change.

#![forbid(unsafe_code)]

/// The division of fingerprints into keys for one radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pieces: u32,
}

impl Route {
    /// The largest radius: each bit is a piece.
    pub const MOST: u32 = u64::BITS - 1;

    /// The route for pairs within `radius` bits; None when it is larger than [`Route::MOST`].
    pub fn for_radius(radius: u32) -> Option<Self> {
        (radius <= Self::MOST).then(|| Route { pieces: radius + 1 })
    }

    /// The bits of each piece, one mask for each.
    pub fn masks(self) -> Vec<u64> {
        (0..self.pieces).map(|piece| self.mask(piece)).collect()
    }

    /// Every key of a fingerprint.
    pub fn keys(self, fingerprint: u64) -> Vec<i64> {
        let key = |piece| self.key(fingerprint, piece);
        (0..self.pieces).map(key).collect()
    }

    /// The key that a fingerprint has by its piece of this number.
    pub fn key(self, fingerprint: u64, piece: u32) -> i64 {
        let bits = (fingerprint & self.mask(piece)) >> self.first_bit(piece);
        // The only piece of radius 0 has number 0, and all 64 bits.
        let number = u64::from(piece).checked_shl(self.width()).unwrap_or(0);
        (number | bits) as i64
    }

    /// The first key that both have; None when they share none.
    pub fn meeting(self, a: u64, b: u64) -> Option<i64> {
        let is_equal = |piece: &u32| (a ^ b) & self.mask(*piece) == 0;
        let piece = (0..self.pieces).find(is_equal)?;
        Some(self.key(a, piece))
    }

    /// The number of a key's piece; None when it is not a key of this radius.
    pub fn piece_of(self, key: i64) -> Option<u32> {
        let piece = (key as u64).checked_shr(self.width()).unwrap_or(0);
        let piece = u32::try_from(piece).ok()?;
        let bits = key as u64 ^ u64::from(piece).checked_shl(self.width()).unwrap_or(0);
        let is_key = piece < self.pieces && bits <= self.mask(piece) >> self.first_bit(piece);
        is_key.then_some(piece)
    }

    fn first_bit(self, piece: u32) -> u32 {
        piece * u64::BITS / self.pieces
    }

    fn mask(self, piece: u32) -> u64 {
        let (first, end) = (self.first_bit(piece), self.first_bit(piece + 1));
        u64::MAX >> (u64::BITS - (end - first)) << first
    }

    /// Bits of the widest piece.
    fn width(self) -> u32 {
        u64::BITS.div_ceil(self.pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_cover_the_bits_once() {
        for radius in 0..=Route::MOST {
            let masks = Route::for_radius(radius).unwrap().masks();
            assert_eq!(masks.len(), radius as usize + 1);
            assert_eq!(masks.iter().fold(0, |all, mask| all | mask), u64::MAX);
            let widths: Vec<u32> = masks.iter().map(|mask| mask.count_ones()).collect();
            assert_eq!(widths.iter().sum::<u32>(), 64);
            let (least, most) = (widths.iter().min().unwrap(), widths.iter().max().unwrap());
            assert!(most - least <= 1, "{widths:?}");
        }
        assert_eq!(Route::for_radius(64), None);
    }

    /// Keys stand in users' tables.
    #[test]
    fn the_layout_stays() {
        let fingerprint = 0xC533_4D13_4C17_B573;
        let keys = |radius| Route::for_radius(radius).unwrap().keys(fingerprint);
        assert_eq!(keys(0), [fingerprint as i64]);
        assert_eq!(keys(1), [0x4C17_B573, 0x1_C533_4D13]);
        assert_eq!(
            keys(2),
            [0x17_B573, 0x40_0000 | 0x08_9A60, 0x80_0000 | 0x31_4CD3]
        );
        assert_eq!(keys(3), [0xB573, 0x1_4C17, 0x2_4D13, 0x3_C533]);
        let bits = keys(63);
        assert_eq!((bits[0], bits[2], bits[63]), (1, 4, 127));
    }

    proptest! {
        #[test]
        fn a_near_pair_meets_at_one_key(a: u64, flips in prop::collection::vec(0u32..64, 0..12), more in 0u32..52) {
            let b = flips.iter().fold(a, |b, bit| b ^ 1 << bit);
            let radius = (a ^ b).count_ones() + more;
            let route = Route::for_radius(radius).unwrap();
            let shared: Vec<i64> = route.keys(a).into_iter().filter(|key| route.keys(b).contains(key)).collect();
            prop_assert_eq!(route.meeting(a, b), Some(shared[0]));
            prop_assert_eq!(route.meeting(b, a), Some(shared[0]));
        }

        #[test]
        fn a_key_tells_its_block(a: u64, radius in 0u32..64) {
            let route = Route::for_radius(radius).unwrap();
            for (piece, key) in (0..).zip(route.keys(a)) {
                prop_assert_eq!(route.piece_of(key), Some(piece));
                prop_assert_eq!(route.key(a, piece), key);
            }
        }

        #[test]
        fn other_numbers_are_no_keys(key: i64, radius in 0u32..64) {
            let route = Route::for_radius(radius).unwrap();
            let is_key = |piece: u32| {
                let bits = (key as u64) ^ u64::from(piece).checked_shl(route.width()).unwrap_or(0);
                let mask = route.mask(piece);
                bits.checked_shl(mask.trailing_zeros()).is_some_and(|at| at & mask == at && at >> mask.trailing_zeros() == bits)
            };
            let piece = (0..=radius).find(|piece| is_key(*piece));
            prop_assert_eq!(route.piece_of(key), piece);
        }
    }
}

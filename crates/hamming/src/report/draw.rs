//! Draws at random. Pure: the caller brings the seed.

#![forbid(unsafe_code)]

use std::collections::TryReserveError;

/// Random numbers (SplitMix64: Steele, Lea, Flood 2014).
pub struct Random(u64);

impl Random {
    /// Numbers that the seed decides.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// One of 0 to `count` - 1; `count` is above 0. (Lemire 2019, without the correction, which is
    /// below 1 in 10^9 for the counts that rows have.)
    pub fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        ((u128::from(x) * u128::from(count)) >> 64) as u64
    }
}

/// A limited number of the items that are offered, all of them equally likely (Vitter's algorithm
/// R, 1985).
pub struct Reservoir<T> {
    /// The items drawn so far.
    pub items: Vec<T>,
    most: usize,
    offered: u64,
}

impl<T> Reservoir<T> {
    /// Draws up to `most` items.
    pub fn new(most: usize) -> Self {
        Reservoir {
            items: Vec::new(),
            most,
            offered: 0,
        }
    }

    /// Returns how many items were offered.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// Takes note of an item. Returns its place if it is drawn; [`Reservoir::put`] must follow.
    #[inline]
    pub fn offer(&mut self, random: &mut Random) -> Option<usize> {
        self.offered += 1;
        if self.items.len() < self.most {
            return Some(self.items.len());
        }
        let place = random.below(self.offered) as usize;
        (place < self.most).then_some(place)
    }

    /// Puts a drawn item into its place; returns the one that makes way for it.
    pub fn put(&mut self, place: usize, item: T) -> Result<Option<T>, TryReserveError> {
        if let Some(old) = self.items.get_mut(place) {
            return Ok(Some(std::mem::replace(old, item)));
        }
        self.items.try_reserve(1)?;
        self.items.push(item);
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(to: &mut Reservoir<usize>, item: usize, random: &mut Random) {
        if let Some(place) = to.offer(random) {
            to.put(place, item).unwrap();
        }
    }

    #[test]
    fn every_item_is_as_likely() {
        let (mut random, mut drawn) = (Random::new(1), [0u32; 50]);
        const ROUNDS: u32 = 20_000;
        for _ in 0..ROUNDS {
            let mut some = Reservoir::new(5);
            for item in 0..drawn.len() {
                offer(&mut some, item, &mut random);
            }
            assert_eq!((some.items.len(), some.offered()), (5, 50));
            some.items.iter().for_each(|item| drawn[*item] += 1);
        }
        // Five standard deviations of a count of 2,000 in 20,000.
        for (item, drawn) in drawn.iter().enumerate() {
            assert!(drawn.abs_diff(ROUNDS / 10) < 215, "item {item}: {drawn}");
        }
    }

    #[test]
    fn few_items_are_all_taken() {
        let (mut random, mut some) = (Random::new(2), Reservoir::new(5));
        for item in 0..5 {
            offer(&mut some, item, &mut random);
        }
        assert_eq!(some.items, [0, 1, 2, 3, 4]);
    }
}

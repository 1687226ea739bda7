//! The inner loop of [`super::find`]: every fingerprint of one tile against every one of another.
//!
//! One portable body, compiled for three instruction sets, chosen at run time: most of the time of
//! a search for all pairs is spent here.

#![forbid(unsafe_code)]

use multiversion::multiversion;

/// Rows of a tile: two tiles of fingerprints fit the first-level cache.
pub const TILE: usize = 1024;
/// A comparison returns after the row that brings its hits to this number; the caller continues it
/// with the next row.
const ENOUGH: usize = 4 * TILE;
/// Fingerprints that are compared before one branch.
const LANES: usize = 16;

/// Positions in the first and in the second tile.
pub type Hit = (u16, u16);

/// Two tiles, whose fingerprints are compared with each other.
pub struct Tiles<'t> {
    /// The fingerprints of the first tile.
    pub left: &'t [u64],
    /// The fingerprints of the second tile.
    pub right: &'t [u64],
    /// Whether they are the same tile. Then each row is compared with those behind it only.
    pub same: bool,
}

/// Adds the pairs within `radius` of each other to `hits`, beginning with row `from` of the left
/// tile. Returns the row to continue with, which is the tile's length when all rows are done.
#[inline(always)]
fn find_body(tiles: &Tiles, radius: u32, from: usize, hits: &mut Vec<Hit>) -> usize {
    for (i, x) in tiles.left.iter().enumerate().skip(from) {
        let first = if tiles.same { i + 1 } else { 0 };
        let right = tiles.right.get(first..).unwrap_or(&[]);
        let mut lanes = right.chunks_exact(LANES);
        for (chunk, ys) in lanes.by_ref().enumerate() {
            // No branch inside: this loop becomes vector instructions.
            let mut least = u64::BITS;
            for y in ys {
                least = least.min((x ^ y).count_ones());
            }
            if least <= radius {
                collect(*x, ys, radius, i, first + chunk * LANES, hits);
            }
        }
        let rest = lanes.remainder();
        let start = tiles.right.len() - rest.len();
        collect(*x, rest, radius, i, start, hits);
        if hits.len() >= ENOUGH {
            return i + 1;
        }
    }
    tiles.left.len()
}

/// Adds the hits of `x`, row `i`, among `ys`, which begin at `start` of the right tile.
#[inline(always)]
fn collect(x: u64, ys: &[u64], radius: u32, i: usize, start: usize, hits: &mut Vec<Hit>) {
    for (j, y) in ys.iter().enumerate() {
        if (x ^ y).count_ones() <= radius {
            hits.push((i as u16, (start + j) as u16));
        }
    }
}

/// As the body above, with the best instructions that this machine has.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512vpopcntdq+popcnt", "x86_64+avx2+popcnt"))]
pub fn find(tiles: &Tiles, radius: u32, from: usize, hits: &mut Vec<Hit>) -> usize {
    find_body(tiles, radius, from, hits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Kernel<'k> = &'k dyn Fn(&Tiles, u32, usize, &mut Vec<Hit>) -> usize;

    fn all(kernel: Kernel, tiles: &Tiles, radius: u32) -> Vec<Hit> {
        let (mut hits, mut found, mut from) = (Vec::new(), Vec::new(), 0);
        while from < tiles.left.len() {
            from = kernel(tiles, radius, from, &mut hits);
            found.append(&mut hits);
        }
        found
    }

    proptest! {
        #[test]
        fn every_kernel_finds_what_brute_force_finds(
            left in prop::collection::vec(0u64..1 << 12, 0..200),
            right in prop::collection::vec(0u64..1 << 12, 0..200),
            radius in 0u32..9, same: bool, high: u64,
        ) {
            let far = |xs: Vec<u64>| xs.into_iter().map(|x| x ^ high << 12).collect::<Vec<_>>();
            let (left, right) = (far(left), far(right));
            let tiles = Tiles { left: &left, right: if same { &left } else { &right }, same };
            let mut expected = Vec::new();
            for (i, x) in tiles.left.iter().enumerate() {
                for (j, y) in tiles.right.iter().enumerate() {
                    if (x ^ y).count_ones() <= radius && (!same || j > i) {
                        expected.push((i as u16, j as u16));
                    }
                }
            }
            prop_assert_eq!(&all(&find, &tiles, radius), &expected);
            prop_assert_eq!(&all(&find_body, &tiles, radius), &expected);
        }
    }
}

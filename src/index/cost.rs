//! What a search costs, in the planner's units. Coarse, but monotone in the radius. Pure.

#![forbid(unsafe_code)]

use super::key::BLOCKS;
use super::page::leaf;
use super::search::probe::{WALK, neighbours, radii};

/// The server's cost settings.
pub struct Prices {
    pub random_page: f64,
    pub sequential_page: f64,
    pub operator: f64,
    pub index_row: f64,
}

/// The work of one search.
#[derive(Debug, Default, PartialEq)]
pub struct Work {
    pub random_pages: f64,
    pub sequential_pages: f64,
    pub probes: f64,
    pub candidates: f64,
}

/// Postings on an average leaf.
const POSTINGS_PER_LEAF: f64 = leaf::CAPACITY as f64 * 0.85;
/// Keys of a key space.
const KEYS: f64 = 65536.0;
/// A candidate's test (an XOR and a bit count) against the price of an operator call.
const TEST: f64 = 0.05;
/// A descent against the price of an operator call.
const DESCENT: f64 = 50.0;
/// Returning a match (collecting it, a bitmap's entry or a call for each row) against the price of
/// an index row: so that the prices of index and sequential scans cross where their measured times
/// do, around 28 bits, at 30,000 rows and at 1,000,000.
const MATCH: f64 = 6.0;
/// Returning a row in the order of distance, against the price of an index row. Each row is looked
/// up in the table by itself, at random places, while the planner counts each page of the table
/// once. High enough that ordering all rows loses to a sort, as it does in time, and low enough
/// that ordering a third of them does not.
const ORDERED_MATCH: f64 = 40.0;
/// Radius up to which the planner expects the nearest rows to be found.
const NEAREST_RADIUS: u32 = 8;

impl Work {
    /// A search for everything within `radius` among `rows` evenly spread fingerprints: by
    /// whichever of look-ups and reading one key space is cheaper, as the search itself will
    /// decide.
    pub fn within(radius: u32, rows: f64, prices: &Prices) -> Work {
        let (lookups, walk) = (Work::lookups(radius, rows), Work::walk(rows));
        if lookups.price(prices, 0.0) <= walk.price(prices, 0.0) {
            lookups
        } else {
            walk
        }
    }

    fn lookups(radius: u32, rows: f64) -> Work {
        let radii = radii(radius);
        if radii == WALK {
            return Work::walk(rows);
        }
        let mut work = Work::default();
        let leaves = (rows / POSTINGS_PER_LEAF).max(1.0);
        for t in radii.iter().take(BLOCKS) {
            let keys = neighbours(*t) as f64;
            let share = keys / KEYS;
            work.probes += keys;
            work.random_pages += (keys + leaves * share).min(leaves);
            work.candidates += rows * share;
        }
        work
    }

    /// Reading one key space from end to end.
    pub fn walk(rows: f64) -> Work {
        Work {
            random_pages: 1.0,
            sequential_pages: rows / POSTINGS_PER_LEAF,
            probes: 1.0,
            candidates: rows,
        }
    }

    /// Finding the first of the nearest.
    pub fn first_nearest(rows: f64, prices: &Prices) -> Work {
        Work::within(NEAREST_RADIUS, rows, prices)
    }

    pub fn pages(&self) -> f64 {
        self.random_pages + self.sequential_pages
    }

    /// The price of this work and of returning `matches` rows.
    pub fn price(&self, prices: &Prices, matches: f64) -> f64 {
        self.search_price(prices) + matches * prices.index_row * MATCH
    }

    /// The price of this work and of returning `matches` rows one by one, the nearest first.
    pub fn price_in_order(&self, prices: &Prices, matches: f64) -> f64 {
        self.search_price(prices) + matches * prices.index_row * ORDERED_MATCH
    }

    fn search_price(&self, prices: &Prices) -> f64 {
        self.random_pages * prices.random_page
            + self.sequential_pages * prices.sequential_page
            + (self.probes * DESCENT + self.candidates * TEST) * prices.operator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices {
        random_page: 4.0,
        sequential_page: 1.0,
        operator: 0.0025,
        index_row: 0.005,
    };

    #[test]
    fn cost_grows_with_the_radius() {
        for rows in [1.0, 1e3, 3e4, 1e6, 1e8] {
            let prices: Vec<f64> = (0..=64)
                .map(|k| Work::within(k, rows, &PRICES).price(&PRICES, 0.0))
                .collect();
            assert!(
                prices.windows(2).all(|w| w[0] <= w[1]),
                "{rows}: {prices:?}"
            );
        }
    }

    #[test]
    fn a_lookup_is_cheap_and_a_walk_is_not() {
        let lookup = Work::within(3, 1e7, &PRICES).price(&PRICES, 1.0);
        let walk = Work::within(30, 1e7, &PRICES).price(&PRICES, 1.0);
        assert!(lookup < 50.0 && walk > 10_000.0, "{lookup} {walk}");
    }
}

//! The cost of a search, in the planner's units. Coarse, but monotone in the radius, in the rows
//! and in the number of searches. Pure.
//!
//! The model is one of evenly spread fingerprints. `cost_nearest` has the search in the order of
//! distance.

#![forbid(unsafe_code)]

use super::key::QUARTERS;
use super::page::leaf;
use super::search::probe::{WHOLE_KEY_SPACE, even_radii, neighbours};
use std::ops::AddAssign;

/// The server's cost settings.
pub struct Prices {
    /// A page that is read out of order.
    pub random_page: f64,
    /// A page that is read in the order of the file.
    pub sequential_page: f64,
    /// A call of an operator.
    pub operator: f64,
    /// A row that an index returns.
    pub index_row: f64,
}

/// The rows that one search covers: those of one scope, or of a whole index.
#[derive(Clone, Copy, Debug)]
pub struct SearchedRows {
    /// Number of rows.
    pub rows: f64,
    /// Leaves of one key space that these rows fill.
    pub leaves: f64,
}

/// The work of a search, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Pages that are read out of order.
    pub random_pages: f64,
    /// Pages that are read in the order of the file.
    pub sequential_pages: f64,
    /// Postings whose distance is computed.
    pub candidates: f64,
}

/// Postings on a leaf that is as full as a page can be.
const FULL_LEAF: f64 = leaf::CAPACITY as f64;
/// Bits of a key, and keys of a key space.
const KEY_BITS: f64 = 16.0;
const KEYS: f64 = 65536.0;
/// A candidate's test (an XOR and a bit count) against the price of an operator call.
const TEST: f64 = 0.05;
/// Going to a leaf, against the price of an operator call.
const DESCENT: f64 = 50.0;
/// Returning a match (collecting it, a bitmap's entry or a call for each row) against the price of
/// an index row: so that the prices of index and sequential scans cross where their measured times
/// do, around 28 bits, at 30,000 rows and at 1,000,000.
const MATCH: f64 = 6.0;
/// Returning a row in the order of distance, against the price of an index row. The planner counts
/// each page of the table once, while each row is looked up by itself: 0.5 to 0.8 us a row, in
/// memory. At this price ordering by the index and by sorting cost the same at a half to two thirds
/// of the table's rows, as they do in time at 30,000, 300,000 and 1,000,000 rows.
const ORDERED_MATCH: f64 = 30.0;

impl SearchedRows {
    /// All of an index, of which `leaf_pages` pages are leaves of the four key spaces.
    pub fn index(rows: f64, leaf_pages: f64) -> SearchedRows {
        let (rows, fewest) = (rows.max(1.0), rows / FULL_LEAF);
        SearchedRows {
            rows,
            leaves: (leaf_pages / QUARTERS as f64).max(fewest).max(1.0),
        }
    }

    /// One of `scopes` scopes that share `share` of these rows.
    pub fn scope(self, share: f64, scopes: f64) -> SearchedRows {
        let part = share / scopes.max(1.0);
        SearchedRows {
            rows: (self.rows * part).max(1.0),
            leaves: (self.leaves * part).max(1.0),
        }
    }

    /// Leaves of a key space that hold the keys within `t` bits of one. Neighbouring keys share a
    /// leaf: what differs in the low bits only lies on the same one. Where the leaves divide the
    /// keys by their first `x` bits, these are the keys within `t` bits among `x`. (Measured, 1 M
    /// rows: 267 pages at 11 bits, 431 at 12, 945 at 15; the model says 264, 427 and 914.)
    pub fn leaves_within(self, t: i32) -> f64 {
        if t < 0 {
            return 0.0;
        }
        let x = self.leaves.log2().min(KEY_BITS);
        let (mut sum, mut choose) = (0.0, 1.0);
        for r in 0..=t {
            sum += choose;
            choose *= (x - f64::from(r)).max(0.0) / f64::from(r + 1);
        }
        let spilled = neighbours(t) as f64 * (self.leaves / KEYS - 1.0).max(0.0);
        (sum + spilled).min(self.leaves)
    }

    /// Rows whose key is within `t` bits of one.
    pub fn rows_within(self, t: i32) -> f64 {
        if t < 0 {
            return 0.0;
        }
        self.rows * neighbours(t) as f64 / KEYS
    }
}

impl Work {
    /// A search for everything within `radius`: by whichever of look-ups and reading one key space
    /// is cheaper, as the search itself will decide.
    pub fn within(radius: u32, searched: SearchedRows, prices: &Prices) -> Work {
        Work::lookups(radius, searched).or_walk(searched, prices)
    }

    /// This work, or reading one key space where that is cheaper.
    pub fn or_walk(self, searched: SearchedRows, prices: &Prices) -> Work {
        self.or(Work::walk(searched), prices)
    }

    /// This work or another, whichever is cheaper.
    pub fn or(self, other: Work, prices: &Prices) -> Work {
        if self.search_price(prices) <= other.search_price(prices) {
            self
        } else {
            other
        }
    }

    fn lookups(radius: u32, searched: SearchedRows) -> Work {
        let radii = even_radii(radius);
        if radii == WHOLE_KEY_SPACE {
            return Work::walk(searched);
        }
        let mut work = Work::default();
        for t in radii {
            work.random_pages += searched.leaves_within(t);
            work.candidates += searched.rows_within(t);
        }
        work
    }

    /// Reading one key space from end to end.
    pub fn walk(searched: SearchedRows) -> Work {
        Work {
            random_pages: 1.0,
            sequential_pages: searched.leaves - 1.0,
            candidates: searched.rows,
        }
    }

    /// The same work for each of `searches` searches.
    pub fn times(self, searches: f64) -> Work {
        let searches = searches.max(1.0);
        Work {
            random_pages: self.random_pages * searches,
            sequential_pages: self.sequential_pages * searches,
            candidates: self.candidates * searches,
        }
    }

    /// All pages that are read.
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
        self.random_pages * (prices.random_page + DESCENT * prices.operator)
            + self.sequential_pages * prices.sequential_page
            + self.candidates * TEST * prices.operator
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, more: Work) {
        self.random_pages += more.random_pages;
        self.sequential_pages += more.sequential_pages;
        self.candidates += more.candidates;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub const PRICES: Prices = Prices {
        random_page: 4.0,
        sequential_page: 1.0,
        operator: 0.0025,
        index_row: 0.005,
    };

    /// An index as a build leaves it.
    pub fn built(rows: f64) -> SearchedRows {
        SearchedRows::index(rows, 4.0 * rows / 516.0)
    }

    const SIZES: [f64; 6] = [1.0, 1e3, 3e4, 1e6, 1e8, 1e9];

    fn within(radius: u32, searched: SearchedRows) -> f64 {
        Work::within(radius, searched, &PRICES).search_price(&PRICES)
    }

    #[test]
    fn cost_grows_with_the_radius_and_the_rows() {
        for rows in SIZES {
            let prices: Vec<f64> = (0..=64).map(|k| within(k, built(rows))).collect();
            let grows = prices.windows(2).all(|w| w[0] <= w[1]);
            assert!(grows, "{rows}: {prices:?}");
        }
        for k in 0..=64 {
            let prices = SIZES.map(|rows| within(k, built(rows)));
            let grows = prices.windows(2).all(|w| w[0] <= w[1]);
            assert!(grows, "{k}: {prices:?}");
        }
    }

    #[test]
    fn a_lookup_is_cheap_and_a_walk_is_not() {
        let searched = built(1e7);
        let lookup = Work::within(3, searched, &PRICES).price(&PRICES, 1.0);
        let walk = Work::within(30, searched, &PRICES).price(&PRICES, 1.0);
        assert!(lookup < 50.0 && walk > 10_000.0, "{lookup} {walk}");
    }

    /// Buffers that searches of 1,000,000 rows read, the directory loaded.
    #[test]
    fn pages_are_those_that_were_counted() {
        let counted = [
            (0, 1),
            (8, 101),
            (11, 267),
            (12, 431),
            (15, 945),
            (16, 1947),
        ];
        for (k, pages) in counted {
            let expected = Work::lookups(k, built(1e6)).pages();
            let off = expected / f64::from(pages);
            assert!((0.9..1.1).contains(&off), "{k}: {expected} for {pages}");
        }
    }

    #[test]
    fn a_scope_costs_its_own_rows_and_scopes_add_up() {
        let index = built(1e6);
        let one = index.scope(0.001, 1.0);
        assert_eq!((one.rows.round(), one.leaves.floor()), (1000.0, 1.0));
        for k in 0..=64 {
            assert!(within(k, one) <= within(k, index), "{k}");
            assert!(
                within(k, one) < 10.0,
                "{k}: a scope of a thousand rows is a leaf or two"
            );
            // Ten scopes with a thousand rows each.
            let ten = index.scope(0.01, 10.0);
            let work = Work::within(k, ten, &PRICES).times(10.0);
            let (each, all) = (within(k, ten), work.search_price(&PRICES));
            assert!((all - 10.0 * each).abs() < 1e-9, "{k}");
        }
        // The same rows in more scopes: never cheaper.
        for k in [0, 3, 8, 15, 30] {
            let price = |s: f64| within(k, index.scope(0.1, s)) * s;
            let prices = [1.0, 2.0, 10.0, 100.0, 1000.0].map(price);
            assert!(prices.windows(2).all(|w| w[0] <= w[1]), "{k}: {prices:?}");
        }
        // All scopes, one after the other: dearer than reading a key space once.
        let all = Work::within(3, index.scope(1.0, 1000.0), &PRICES).times(1000.0);
        assert!(all.search_price(&PRICES) > Work::walk(index).search_price(&PRICES));
    }
}

//! The cost of the first rows in the order of distance. Pure.
//!
//! The work grows in steps: `search/nearest.rs` reads on from ring to ring in passes, and each pass
//! begins again. This file goes through the same passes with evenly spread rows. (Measured, 1 M
//! rows: 1,303 pages for the ten nearest, 3,216 for 100, 5,128 for 1,000, 8,920 for 100,000, 14,630
//! for all; without the rows' own.)
//!
//! The planner knows two prices of a path, one for its first row and one for all, and draws a line
//! between them. The true price rises steeply first: the rings near the query are almost empty, and
//! each row is on a page of its own, while for all rows the planner counts every page of the table
//! once. [`startup`] puts the line where it is right for the rows that the query takes.

#![forbid(unsafe_code)]

use super::ball::random_share;
use super::cost::{Prices, SearchedRows, Work};
use super::key::QUARTERS;
use super::search::passes::{band_end, horizons, most_for_a_ring};
use super::search::probe::{Even, shell_cost};

/// A search for the nearest rows.
#[derive(Clone, Copy)]
pub struct Nearest {
    /// The rows among which the nearest are found.
    pub searched: SearchedRows,
    /// The last ring that the query takes, however few rows it holds.
    pub farthest: u32,
    /// Rows that may wait in memory for their ring.
    pub waiting: f64,
}

impl Nearest {
    /// The work of finding the first `rows` rows. A pass of probing is priced as reading a whole
    /// key space where the server's price of random pages makes that cheaper: the search itself
    /// goes by times in memory, and a pass reads again what others have read.
    pub fn first(&self, rows: f64, prices: &Prices) -> Work {
        let last = self.ring_of(rows);
        let mut work = Work::default();
        let mut ring = 0;
        for horizon in horizons(self.searched.rows, self.farthest) {
            if ring > last {
                return work;
            }
            let reach = self.last_probed(horizon);
            if let Some(reach) = reach.filter(|reach| *reach >= ring) {
                let probes = self.probes(reach.min(last));
                work += probes.or_walk(self.searched, prices);
                ring = reach + 1;
            }
            if reach != Some(horizon) {
                break;
            }
        }
        work += self.bands(ring, last);
        work
    }

    /// The ring that holds the `rows`-th row.
    fn ring_of(&self, rows: f64) -> u32 {
        (0..self.farthest)
            .find(|ring| self.rows_to(*ring as i32) >= rows)
            .unwrap_or(self.farthest)
    }

    /// Share of the rows in the first rings that hold rows.
    pub fn share_of_rings(&self, rings: f64) -> f64 {
        let last = (f64::from(self.ring_of(1.0)) + rings).min(f64::from(u64::BITS));
        random_share(last as i32)
    }

    fn rows_to(&self, ring: i32) -> f64 {
        self.searched.rows * random_share(ring)
    }

    /// The last ring of a pass that is completed by probing; None when reading a whole key space is
    /// cheaper from the start.
    fn last_probed(&self, horizon: u32) -> Option<u32> {
        let counts = Even {
            leaves: self.searched.leaves as u64,
        };
        let cost = |ring: u32| shell_cost(&counts, 0, 0, ring as usize / QUARTERS);
        let most = |ring| most_for_a_ring(&counts, ring, self.farthest);
        let widened = |ring: &u32| counts.leaves > 1 && cost(*ring) < most(*ring);
        (0..=horizon).take_while(widened).last()
    }

    /// Probing all rings up to `ring`: each widens one quarter by one bit.
    fn probes(&self, ring: u32) -> Work {
        let searched = self.searched;
        let mut work = Work::default();
        for ring in 0..=ring {
            let t = (ring as usize / QUARTERS) as i32;
            let leaves = searched.leaves_within(t) - searched.leaves_within(t - 1);
            work.random_pages += leaves.max(1.0);
            work.candidates += searched.rows_within(t) - searched.rows_within(t - 1);
        }
        work
    }

    /// Reading a whole key space for some rings at a time, but no more than fit the memory. A ring
    /// that does not fit is read once more.
    fn bands(&self, mut ring: u32, last: u32) -> Work {
        let (mut work, mut rings) = (Work::default(), 0);
        while ring <= last {
            let before = self.rows_to(ring as i32 - 1);
            let fits = |end: &u32| self.rows_to(*end as i32) - before <= self.waiting;
            let band = ring..=band_end((ring, rings), self.searched.rows, self.farthest);
            let end = band.take_while(fits).last();
            work += Work::walk(self.searched);
            if end.is_none() {
                work += Work::walk(self.searched);
            }
            rings = end.map_or(0, |end| end + 1 - ring);
            ring = end.unwrap_or(ring) + 1;
        }
        work
    }
}

/// A startup price such that the line from it to `total` meets `at_share` where the planner looks
/// at it: after `share` of the rows. All prices include the pages of the table.
pub fn startup(first: f64, at_share: f64, share: f64, total: f64) -> f64 {
    if share >= 1.0 {
        return first;
    }
    ((at_share - share * total) / (1.0 - share)).clamp(first.min(total), total)
}

#[cfg(test)]
mod tests {
    use super::super::cost::tests::{PRICES, built};
    use super::*;

    const IN_MEMORY: Prices = Prices {
        random_page: 1.0,
        ..PRICES
    };

    fn nearest(rows: f64) -> Nearest {
        Nearest {
            searched: built(rows),
            farthest: 64,
            waiting: 524_288.0,
        }
    }

    #[test]
    fn pages_are_those_that_were_counted() {
        let counted = [
            (10.0, 1303),
            (100.0, 3216),
            (1e3, 5128),
            (1e5, 8920),
            (6e5, 10_775),
            (1e6, 14_630),
        ];
        for (rows, pages) in counted {
            let expected = nearest(1e6).first(rows, &IN_MEMORY).pages();
            let off = expected / f64::from(pages);
            assert!((0.7..1.4).contains(&off), "{rows}: {expected} for {pages}");
        }
    }

    #[test]
    fn work_grows_with_the_rows_that_are_taken() {
        for rows in [1.0, 10.0, 1e3, 3e4, 1e6, 1e9] {
            let limits = (0..=90).map(|i| 10f64.powf(f64::from(i) / 10.0));
            let work = limits.map(|n| nearest(rows).first(n, &PRICES).price(&PRICES, 0.0));
            let prices: Vec<f64> = work.collect();
            let grows = prices.windows(2).all(|w| w[0] <= w[1]);
            assert!(grows, "{rows}: {prices:?}");
        }
    }

    #[test]
    fn a_near_horizon_and_a_small_scope_cost_less() {
        let all = nearest(1e6);
        let within = Nearest { farthest: 3, ..all };
        assert!(within.first(1e6, &PRICES).pages() < 20.0);
        let scope = Nearest {
            searched: all.searched.scope(0.001, 1.0),
            ..all
        };
        assert!(scope.first(1e3, &PRICES).pages() < 60.0);
        // Little memory: each ring by itself.
        let cramped = Nearest {
            waiting: 100.0,
            ..all
        };
        assert!(cramped.first(1e6, &PRICES).pages() > 5.0 * all.first(1e6, &PRICES).pages());
    }

    #[test]
    fn groups_of_a_distance_are_rings() {
        let all = nearest(1e6);
        let few = all.share_of_rings(2.0) * 1e6;
        assert!((1.0..1e3).contains(&few), "{few}");
        assert!(all.share_of_rings(16.0) > 0.1 && all.share_of_rings(64.0) == 1.0);
    }

    #[test]
    fn the_line_meets_the_price_at_the_share() {
        for share in [1e-6, 0.01, 0.5, 0.9] {
            let start = startup(10.0, 600.0, share, 1000.0);
            let line = start + share * (1000.0 - start);
            assert!(
                share > 0.6 || (line - 600.0).abs() < 1e-6,
                "{share}: {line}"
            );
            assert!((10.0..=1000.0).contains(&start));
        }
        assert_eq!(startup(10.0, 1000.0, 1.0, 1000.0), 10.0);
    }
}

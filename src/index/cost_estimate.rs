//! From an index path to its price.

#![allow(unsafe_code)]

use super::ball::{Ball, NEAR};
use super::cost::{Prices, Work};
use super::scan_request::operator;
use crate::pg::planner::path::{Argument, Estimate, IndexPath, cpu_costs};

/// The radius that planning assumes where it is not a constant.
const ASSUMED_RADIUS: i32 = NEAR;

/// A price above that of any path that a setting like enable_seqscan = off disables (1e10, up to
/// PostgreSQL 17).
const NEVER: f64 = 1e12;

/// Prices an index path.
pub fn estimate(path: &IndexPath) -> Estimate {
    // An index-only scan would have to be safe against VACUUM without visiting the table. The pins
    // for that are not kept, and on a standby they would not help. The planner always has another
    // path: a scan of the table.
    if path.is_index_only() {
        return Estimate {
            startup: NEVER,
            total: NEVER,
            selectivity: path.selectivity(),
            pages: path.index_pages(),
        };
    }
    let rows = path.index_rows().max(1.0);
    let selectivity = path.selectivity();
    let matches = (path.table_rows() * selectivity).clamp(1.0, rows);
    let page_costs = path.page_costs();
    let (operator, index_row) = cpu_costs();
    let prices = Prices {
        random_page: page_costs.random,
        sequential_page: page_costs.sequential,
        operator,
        index_row,
    };
    let work = match smallest_radius(path) {
        Some(radius) => Work::within(radius.max(0) as u32, rows, &prices),
        None => Work::walk(rows),
    };
    // A scan in the order of distance reads the whole index in the end, and returns the rows one by
    // one.
    let (first, all) = if path.is_ordered() {
        (Work::first_nearest(rows, &prices), Work::walk(rows))
    } else {
        (Work::default(), work)
    };
    let startup = first.price(&prices, 0.0);
    let pages = all.pages();
    let share_of_cache = path.pages_of_all_loops(pages) / (pages * path.loops()).max(1.0);
    let cached = Prices {
        random_page: prices.random_page * share_of_cache,
        sequential_page: prices.sequential_page * share_of_cache,
        ..prices
    };
    let run = if path.is_ordered() {
        all.price_in_order(&cached, matches)
    } else {
        all.price(&cached, matches)
    };
    let total = startup + run;
    Estimate {
        startup,
        total,
        selectivity,
        pages,
    }
}

/// The radius that drives the search; None when no condition has one.
fn smallest_radius(path: &IndexPath) -> Option<i32> {
    path.operators()
        .into_iter()
        .map(|(number, argument)| radius_of(number, argument))
        .min()
}

fn radius_of(number: u16, argument: Argument) -> i32 {
    match (number, argument) {
        (operator::NEAR, _) => NEAR,
        (operator::IN_BALL, Argument::Known(ball)) => {
            // SAFETY: the operator is <@ (bigint, hamming_ball), and the argument is not NULL.
            let ball = unsafe { *ball.cast_mut_ptr::<Ball>() };
            ball.radius
        }
        (operator::IN_BALL, Argument::Call(args)) => match args.get(1) {
            Some(Some(radius)) => radius.value() as i32,
            _ => ASSUMED_RADIUS,
        },
        _ => ASSUMED_RADIUS,
    }
}

//! From a clause of the planner to the arithmetic of [`selectivity`].

#![forbid(unsafe_code)]

use super::index_look::nearby;
use super::selectivity::{self, Sample};
use crate::index::ball::{Ball, NEAR};
use crate::index::nearby::Nearby;
use crate::pg::planner::column_stats::{Column, ColumnSample};
use crate::pg::planner::hooks::{EstimateScope, ScanScope};
use crate::pg::planner::nodes::{NodeList, NodeRef, Planner};
use std::ffi::CStr;

/// The access method whose indexes an estimate may look into.
const ACCESS_METHOD: &CStr = c"simhash";

/// `hamming(a, b) <= k`, in whichever way the query says it.
#[derive(Clone, Copy)]
pub struct Clause<'p> {
    pub fingerprints: [NodeRef<'p>; 2],
    pub radius: NodeRef<'p>,
}

impl<'p> Clause<'p> {
    /// Arguments of `hamming_within(a, b, k)`.
    pub fn within(args: NodeList<'p>) -> Option<Self> {
        let [a, b, radius] = args.as_array()?;
        Some(Self {
            fingerprints: [a, b],
            radius,
        })
    }

    /// Arguments of `a ~= b`.
    pub fn near(planner: Planner<'p>, args: NodeList<'p>) -> Option<Self> {
        Some(Self {
            fingerprints: args.as_array()?,
            radius: planner.int4(NEAR),
        })
    }

    /// Arguments of `a <@ ball`; None when nothing is known about the ball.
    pub fn in_ball(planner: Planner<'p>, args: NodeList<'p>) -> Option<Self> {
        let [fingerprint, ball] = args.as_array()?;
        let ball = planner.estimate(ball);
        if let Some(ball) = ball.as_by_reference().map(Ball::from_bytes) {
            return Some(Self {
                fingerprints: [fingerprint, planner.int8(ball.centre)],
                radius: planner.int4(ball.radius),
            });
        }
        let [centre, radius] = ball.as_call()?.args.as_array()?;
        Some(Self {
            fingerprints: [fingerprint, centre],
            radius,
        })
    }

    /// The share of rows (of pairs, in a join) that the clause keeps.
    pub fn selectivity(self, planner: Planner<'p>, scope: EstimateScope<'p>) -> f64 {
        let radius = planner.estimate(self.radius);
        let k = match radius.as_integer() {
            Some(k) => k.clamp(-1, 64) as i32,
            None if radius.is_constant() => return 0.0,
            // A parameter: as the cost of the index, the estimate assumes the usual radius.
            None => NEAR,
        };
        match scope {
            EstimateScope::Scan(scan) => self.in_scan(planner, scan, k),
            EstimateScope::Join(join) => {
                let columns = join.columns(self.fingerprints, ACCESS_METHOD);
                let (outer, inner) = (&columns.outer, &columns.inner);
                let is_semi = join.is_semi_or_anti();
                // A pair is one from either side. Of a semi-join, only the inner rows are counted.
                let (from, to) = match inner.index.is_some() || is_semi {
                    true => (outer, inner),
                    false => (inner, outer),
                };
                let samples = [view(&from.sample), view(&to.sample)];
                let seen = shares_around(from, to, k);
                if is_semi {
                    selectivity::of_semi_join(samples, &seen, inner.sample.filtered_rows, k)
                } else {
                    selectivity::of_join(samples, &seen, k)
                }
            }
        }
    }

    fn in_scan(self, planner: Planner<'p>, scan: ScanScope<'p>, k: i32) -> f64 {
        let Some(found) = scan.column_and_other(self.fingerprints, ACCESS_METHOD) else {
            return selectivity::UNKNOWN;
        };
        let sample = view(&found.column.sample);
        let centre = planner.estimate(found.other);
        match centre.as_integer() {
            Some(centre) => {
                let nearby = rows_around(&found.column, centre, k);
                selectivity::of_constant(sample, nearby, centre, k)
            }
            None if centre.is_constant() => 0.0,
            None => {
                let other = found.other_column(ACCESS_METHOD);
                selectivity::of_unknown(sample, &shares_around(&other, &found.column, k), k)
            }
        }
    }
}

/// What an index says of the rows near a centre.
fn rows_around(column: &Column, centre: i64, k: i32) -> Option<Nearby> {
    let common = selectivity::common_near(view(&column.sample), centre, k);
    let common: Vec<i64> = common.map(|&(value, _)| value).collect();
    let (index, k) = column.index.zip(u32::try_from(k).ok())?;
    nearby(index, centre, k, &common)
}

/// The share of a column's rows within `k` of each of some values of another, as far as an index
/// shows them. Where nothing is known of the other, it counts as drawn from the column itself.
fn shares_around(other: &Column, column: &Column, k: i32) -> Vec<f64> {
    let own = view(&column.sample);
    let mut centres = Vec::new();
    if other.shows_all_rows {
        centres = selectivity::drawn(view(&other.sample));
    }
    if centres.is_empty() {
        centres = selectivity::drawn(own);
    }
    let share = |centre: i64| {
        let nearby = rows_around(column, centre, k)?;
        Some(selectivity::of_constant(own, Some(nearby), centre, k))
    };
    centres.into_iter().filter_map(share).collect()
}

fn view(sample: &ColumnSample) -> Sample<'_> {
    Sample {
        common: &sample.common,
        histogram: &sample.histogram,
        null_share: sample.null_share,
        rows: sample.rows,
        distinct: sample.distinct,
    }
}

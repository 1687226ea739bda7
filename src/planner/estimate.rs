//! Passes a clause of the planner to the arithmetic of [`selectivity`].

#![forbid(unsafe_code)]

use super::index_sample::nearby;
use simhash_hamming::ball::{Ball, NEAR};
use simhash_hamming::selectivity::{self, FingerprintSample};
use simhash_pg::planner::column_stats::ColumnSample;
use simhash_pg::planner::hooks::{EstimateTarget, ScanTarget};
use simhash_pg::planner::nodes::{NodeList, NodeRef, Planner};
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
    /// Reads the arguments of `hamming_within(a, b, k)`.
    pub fn within(args: NodeList<'p>) -> Option<Self> {
        let [a, b, radius] = args.as_array()?;
        Some(Self {
            fingerprints: [a, b],
            radius,
        })
    }

    /// Reads the arguments of `a ~= b`.
    pub fn near(planner: Planner<'p>, args: NodeList<'p>) -> Option<Self> {
        Some(Self {
            fingerprints: args.as_array()?,
            radius: planner.int4(NEAR),
        })
    }

    /// Reads the arguments of `a <@ ball`; returns None when nothing is known about the ball.
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

    /// Returns the share of rows (of pairs, in a join) that the clause keeps.
    pub fn selectivity(self, planner: Planner<'p>, target: EstimateTarget<'p>) -> f64 {
        let radius = planner.estimate(self.radius);
        let k = match radius.as_integer() {
            Some(k) => k.clamp(-1, 64) as i32,
            None if radius.is_constant() => return 0.0,
            // The radius is a parameter: as for the cost of the index, the estimate assumes the
            // usual radius.
            None => NEAR,
        };
        match target {
            EstimateTarget::Scan(scan) => self.in_scan(planner, scan, k),
            EstimateTarget::Join(join) => {
                let columns = join.columns(self.fingerprints);
                let (outer, inner) = (view(&columns.outer), view(&columns.inner));
                if join.is_semi_or_anti() {
                    selectivity::of_semi_join(outer, inner, columns.inner.filtered_rows, k)
                } else {
                    selectivity::of_join(outer, inner, k)
                }
            }
        }
    }

    fn in_scan(self, planner: Planner<'p>, scan: ScanTarget<'p>, k: i32) -> f64 {
        let Some(found) = scan.column_and_other(self.fingerprints, ACCESS_METHOD) else {
            return selectivity::UNKNOWN;
        };
        let sample = view(&found.sample);
        let centre = planner.estimate(found.other);
        match centre.as_integer() {
            Some(centre) => {
                let common = selectivity::common_near(sample, centre, k);
                let common: Vec<i64> = common.map(|&(value, _)| value).collect();
                let nearby = found
                    .index
                    .zip(u32::try_from(k).ok())
                    .and_then(|(index, k)| nearby(index, centre, k, &common));
                selectivity::of_constant(sample, nearby, centre, k)
            }
            None if centre.is_constant() => 0.0,
            None => selectivity::of_unknown(sample, k),
        }
    }
}

fn view(sample: &ColumnSample) -> FingerprintSample<'_> {
    FingerprintSample {
        common: &sample.common,
        histogram: &sample.histogram,
        null_share: sample.null_share,
        rows: sample.rows,
        distinct: sample.distinct,
    }
}

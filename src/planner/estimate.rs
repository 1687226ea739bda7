//! Passes a clause of the planner to the arithmetic of [`selectivity`].

#![forbid(unsafe_code)]

use pgrx::pg_sys::Oid;
use simhash_hamming::ball::{Ball, NEAR, NEAR_TEXTS};
use simhash_hamming::selectivity::{self, FingerprintSample};
use simhash_pg::planner::column_stats::ColumnSample;
use simhash_pg::planner::hooks::{EstimateTarget, ScanTarget};
use simhash_pg::planner::nodes::{NodeList, NodeRef, Planner};

/// `hamming(a, b) <= k`, in whichever way the query says it.
#[derive(Clone, Copy)]
pub struct Clause<'p> {
    pub fingerprints: [NodeRef<'p>; 2],
    pub radius: NodeRef<'p>,
    /// The least number of rows that are expected near a value.
    least_rows: f64,
}

/// The rows that a query expects at least near a value. A value that users search for often belongs to
/// a cluster, and ANALYZE sees no cluster of 2,000 rows among a million. If the planner expects one
/// row, it joins by reading the other table once for each row that is found: an anti-join of that
/// cluster with 300,000 rows took 13 s, and .05 s with the plan for three rows (28 November 2026).
const EXPECTED_BY_QUERIES: f64 = 3.0;
/// The same in the selectivity of the index's own operators, by which the planner prices an index scan:
/// most searches find a row or two, for which a bitmap scan costs more than it saves.
const EXPECTED_BY_SCANS: f64 = 1.0;

impl<'p> Clause<'p> {
    /// Reads the arguments of `hamming_within(a, b, k)`.
    pub fn within(args: NodeList<'p>) -> Option<Self> {
        let [a, b, radius] = args.as_array()?;
        Some(Self {
            fingerprints: [a, b],
            radius,
            least_rows: EXPECTED_BY_QUERIES,
        })
    }

    /// Reads the arguments of `a ~= b`.
    pub fn near(planner: Planner<'p>, _operator: Oid, args: NodeList<'p>) -> Option<Self> {
        Some(Self {
            fingerprints: args.as_array()?,
            radius: planner.int4(NEAR),
            least_rows: EXPECTED_BY_SCANS,
        })
    }

    /// The same for the fingerprints of two texts.
    pub fn near_texts(planner: Planner<'p>, fingerprints: [NodeRef<'p>; 2]) -> Self {
        Self {
            fingerprints,
            radius: planner.int4(NEAR_TEXTS),
            least_rows: EXPECTED_BY_QUERIES,
        }
    }

    /// Reads the arguments of `a <@ ball`; returns None when nothing is known about the ball.
    pub fn in_ball(planner: Planner<'p>, _operator: Oid, args: NodeList<'p>) -> Option<Self> {
        let [fingerprint, ball] = args.as_array()?;
        let ball = planner.estimate(ball);
        if let Some(ball) = ball.as_by_reference().map(Ball::from_bytes) {
            return Some(Self {
                fingerprints: [fingerprint, planner.int8(ball.centre)],
                radius: planner.int4(ball.radius),
                least_rows: EXPECTED_BY_SCANS,
            });
        }
        let [centre, radius] = ball.as_call()?.args.as_array()?;
        Some(Self {
            fingerprints: [fingerprint, centre],
            radius,
            least_rows: EXPECTED_BY_SCANS,
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
        let Some(found) = scan.column_and_other(self.fingerprints) else {
            return selectivity::UNKNOWN;
        };
        let sample = view(&found.sample);
        let centre = planner.estimate(found.other);
        match centre.as_integer() {
            Some(centre) => selectivity::of_constant(sample, centre, k, self.least_rows),
            None if centre.is_constant() => 0.0,
            None => selectivity::of_unknown(sample, k, self.least_rows),
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

//! Recognises `hamming(a, b) op k` in its many spellings, and translates it to `hamming_within(a,
//! b, k)`. `rewrite` and `planner_distances` call it during planning. The translation has the same
//! rows as the original, or there is none.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::parts;
use super::sql_objects::{BallConstructor, distance_operator_of_within, is_hamming, within_beside};
use super::targets::Targets;
use simhash_pg::catalog::lookup;
use simhash_pg::planner::nodes::{NodeRef, Planner};

/// Comparison of a distance with a radius.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Below,
    AtMost,
    Exactly,
}

/// `hamming(left, right) bound radius`.
struct DistanceComparison<'p> {
    distance: NodeRef<'p>,
    hamming: Oid,
    left: NodeRef<'p>,
    right: NodeRef<'p>,
    radius: NodeRef<'p>,
    bound: Bound,
}

/// The translation of a clause.
pub enum Translation<'p> {
    /// As a condition it keeps the same rows as the clause, which it replaces.
    Equivalent(NodeRef<'p>),
    /// Holds wherever the clause holds, and is added beside it.
    Implied(NodeRef<'p>),
}

/// Returns `hamming_within(...)` for a clause that an index among `targets` can serve; for
/// `hamming_parts_within` one for each index on a part.
pub fn translate<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    clause: NodeRef<'p>,
) -> Option<Translation<'p>> {
    let comparison = comparisons(clause)
        .into_iter()
        .flatten()
        .find(|found| found.can_use(planner, targets));
    let Some(comparison) = comparison else {
        return parts::implied(planner, targets, clause).map(Translation::Implied);
    };
    let keep = comparison.bound == Bound::Exactly
        || targets.planner_distances.contains(comparison.distance);
    if keep && comparison.contains_subplan() {
        return None;
    }
    let within = comparison.within(planner)?;
    Some(if keep {
        Translation::Implied(within)
    } else {
        Translation::Equivalent(within)
    })
}

/// Returns whether `clause` is a comparison of which `within` is the translation.
pub fn is_translated_to<'p>(
    planner: Planner<'p>,
    clause: NodeRef<'p>,
    within: NodeRef<'p>,
) -> bool {
    comparisons(clause)
        .into_iter()
        .flatten()
        .filter_map(|found| found.within(planner))
        .any(|translation| translation.equals(within))
}

/// Returns both ways to read the clause: either side may be the distance.
fn comparisons(clause: NodeRef<'_>) -> [Option<DistanceComparison<'_>>; 2] {
    let Some(operator) = clause.as_binary_operator() else {
        return [None, None];
    };
    let strategy = lookup::integer_comparison(operator.operator);
    // The commuted operator has the mirrored strategy number: `<` is 1, `>` is 5.
    [
        comparison(operator.left, operator.right, strategy),
        comparison(operator.right, operator.left, 6 - strategy),
    ]
}

fn comparison<'p>(
    distance: NodeRef<'p>,
    radius: NodeRef<'p>,
    strategy: i32,
) -> Option<DistanceComparison<'p>> {
    let bound = match strategy {
        1 => Bound::Below,
        2 => Bound::AtMost,
        3 => Bound::Exactly,
        _ => return None,
    };
    let call = distance
        .as_call()
        .filter(|call| call.result_type == pg_sys::INT4OID)?;
    let [left, right] = call.args.as_array()?;
    let hamming = call.function;
    is_hamming(hamming).then_some(DistanceComparison {
        distance,
        hamming,
        left,
        right,
        radius,
        bound,
    })
}

/// A call of `hamming_within`, with the comparison of which it may be the translation.
pub struct WithinCall<'p> {
    pub distance: NodeRef<'p>,
    /// `distance <= radius`.
    pub comparison: NodeRef<'p>,
}

/// Reads back what [`translate`] wrote.
pub fn as_within<'p>(planner: Planner<'p>, clause: NodeRef<'p>) -> Option<WithinCall<'p>> {
    let call = clause
        .as_call()
        .filter(|call| call.result_type == pg_sys::BOOLOID)?;
    let [left, right, radius] = call.args.as_array()?;
    let operator = distance_operator_of_within(call.function)?;
    let distance = planner.operator(operator, pg_sys::INT4OID, left, right);
    let comparison = planner.int4_at_most(distance, radius);
    Some(WithinCall {
        distance,
        comparison,
    })
}

impl<'p> DistanceComparison<'p> {
    /// Returns whether an index could serve this as `column <@ ball`, with a ball that is fixed
    /// during a scan.
    fn can_use(&self, planner: Planner<'p>, targets: &Targets<'p>) -> bool {
        let Some(ball) = BallConstructor::beside(self.hamming) else {
            return false;
        };
        let fixed = |node: NodeRef<'p>| targets.is_fixed(planner, node);
        let serves = |indexed: NodeRef<'p>, centre: NodeRef<'p>| {
            targets.serves(indexed, ball) && fixed(centre)
        };
        (serves(self.left, self.right) || serves(self.right, self.left)) && fixed(self.radius)
    }

    /// Returns whether there is a subplan, which must not be evaluated twice.
    fn contains_subplan(&self) -> bool {
        [self.left, self.right, self.radius]
            .into_iter()
            .any(NodeRef::contains_subplan)
    }

    fn within(&self, planner: Planner<'p>) -> Option<NodeRef<'p>> {
        let within = within_beside(self.hamming)?;
        let radius = radius(planner, self.radius, self.bound)?;
        Some(planner.call(within, pg_sys::BOOLOID, &[self.left, self.right, radius]))
    }
}

/// Returns the radius as an int4, such that `distance <= radius` is equivalent to the clause (or,
/// for [`Bound::Exactly`], follows from it).
///
/// Distances are 0 to 64, so a wider radius can be clamped without changing the answer. A
/// GREATEST or LEAST turns a NULL radius into one that no row satisfies, where SQL would say NULL:
/// as a condition both keep no row.
fn radius<'p>(planner: Planner<'p>, k: NodeRef<'p>, bound: Bound) -> Option<NodeRef<'p>> {
    let below = bound == Bound::Below;
    if k.is_constant() {
        let value = k.as_integer()?;
        let inclusive = if below {
            value.saturating_sub(1)
        } else {
            value
        };
        let clamped = inclusive.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        return Some(planner.int4(clamped as i32));
    }
    let narrow = match k.result_type() {
        pg_sys::INT4OID => k,
        pg_sys::INT2OID => planner.cast_to_int4(pg_sys::F_INT4_INT2, k),
        pg_sys::INT8OID => {
            let floored = planner.greatest(k, planner.int8(-1));
            planner.cast_to_int4(
                pg_sys::F_INT4_INT8,
                planner.least(floored, planner.int8(65)),
            )
        }
        _ => return None,
    };
    if !below {
        return Some(narrow);
    }
    // Without the floor, the least int4 minus 1 would be an error.
    Some(planner.int4_minus(planner.greatest(narrow, planner.int4(0)), planner.int4(1)))
}

//! Recognises `hamming(a, b) op k` in its many spellings, and translates it to `hamming_within(a,
//! b, k)`. `rewrite` calls it during planning. The translation has the same
//! rows as the original, or there is none. `hamming_parts_within(a, b, radius)` of longer hashes gets
//! conditions on the parts with an index beside it, which hold wherever it holds: so answers are exact,
//! whichever parts have an index.

use pgrx::pg_sys::{self, Oid};

use super::indexes::{Indexed, Targets};
use super::support::{
    BallConstructor, distance_operator_of_within, is_hamming, is_parts_within, within_beside,
};
use super::text_operators::as_fingerprints;
use simhash_hamming::parts::part_radius;
use simhash_pg::catalog::lookup;
use simhash_pg::nodes::{NodeRef, Planner};

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

/// Returns `hamming_within(...)` for a clause that compares the relation with something fixed: its
/// rows are estimated, and an index may serve it. For `hamming_parts_within` one for each index on
/// a part.
pub fn translate<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    clause: NodeRef<'p>,
) -> Option<Translation<'p>> {
    let comparison = comparisons(clause)
        .into_iter()
        .flatten()
        .find(|found| found.compares_with_fixed(planner, targets));
    let Some(comparison) = comparison else {
        if let Some(near) = as_fingerprints(planner, targets, clause) {
            return Some(Translation::Equivalent(near));
        }
        return near_part(planner, targets, clause).map(Translation::Implied);
    };
    let is_sought = targets.planner_distances.contains(comparison.distance);
    if is_sought && !comparison.has_index(targets) {
        // The planner has statistics or proofs of the clause as it is.
        return None;
    }
    let keep = is_sought || comparison.bound == Bound::Exactly;
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
    // Most clauses have no distance: nothing is looked up of them. The commuted operator has the
    // mirrored strategy number: `<` is 1, `>` is 5.
    let strategy = || lookup::integer_comparison(operator.operator);
    [
        comparison(operator.left, operator.right, strategy),
        comparison(operator.right, operator.left, || 6 - strategy()),
    ]
}

fn comparison<'p>(
    distance: NodeRef<'p>,
    radius: NodeRef<'p>,
    strategy: impl FnOnce() -> i32,
) -> Option<DistanceComparison<'p>> {
    let (hamming, [left, right]) = distance.as_call_of(pg_sys::INT4OID)?;
    if !is_hamming(hamming) {
        return None;
    }
    let bound = match strategy() {
        1 => Bound::Below,
        2 => Bound::AtMost,
        // No distance is below 0.
        3 if radius.as_integer().is_some_and(|radius| radius <= 0) => Bound::AtMost,
        3 => Bound::Exactly,
        _ => return None,
    };
    Some(DistanceComparison {
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
    let (within, [left, right, radius]) = clause.as_call_of(pg_sys::BOOLOID)?;
    let operator = distance_operator_of_within(within)?;
    let distance = planner.operator(operator, pg_sys::INT4OID, left, right);
    let comparison = planner.int4_at_most(distance, radius);
    Some(WithinCall {
        distance,
        comparison,
    })
}

impl<'p> DistanceComparison<'p> {
    /// Returns whether one side is of the relation, and the other and the radius are fixed while
    /// its rows are read: so an index could serve it, as `column <@ ball`.
    fn compares_with_fixed(&self, planner: Planner<'p>, targets: &Targets<'p>) -> bool {
        let fixed = |node: NodeRef<'p>| targets.is_fixed(planner, node);
        let compares = |own: NodeRef<'p>, other: NodeRef<'p>| {
            planner.mentions_relation(own, targets.relid) && !own.is_volatile() && fixed(other)
        };
        (compares(self.left, self.right) || compares(self.right, self.left)) && fixed(self.radius)
    }

    /// Returns whether there is an index on one of the sides.
    fn has_index(&self, targets: &Targets<'p>) -> bool {
        BallConstructor::beside(self.hamming).is_some_and(|ball| {
            let mut sides = [self.left, self.right].into_iter();
            sides.any(|side| targets.serves(side, ball))
        })
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

/// Returns, for `hamming_parts_within`, that one of the parts that have an index is near.
fn near_part<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    clause: NodeRef<'p>,
) -> Option<NodeRef<'p>> {
    let (function, [a, b, radius]) = clause.as_call_of(pg_sys::BOOLOID)?;
    if !is_parts_within(function) {
        return None;
    }
    let within = within_beside(function)?;
    let ball = BallConstructor::beside(function)?;
    // What is asked for is evaluated once for each part.
    let is_fixed = |node: NodeRef<'p>| targets.is_fixed(planner, node) && !node.contains_subplan();
    if !is_fixed(radius) {
        return None;
    }
    let (parts, asked) = [(a, b), (b, a)]
        .into_iter()
        .map(|(hash, asked)| (indexed_parts(targets, hash, ball), asked))
        .find(|(parts, asked)| !parts.is_empty() && is_fixed(*asked))?;
    let count = parts.len() as i32;
    let near = |(i, &part): (i32, &NodeRef<'p>)| {
        let asked = planner.simplify(planner.same_element(part, asked));
        // A hash that lacks the part: the function itself says so.
        let is_null = asked.is_constant() && asked.as_constant().is_none();
        let radius = match radius.as_integer() {
            Some(bits) => planner.int4(part_radius(bits as i32, i, count)),
            None => planner.int4_divided(radius, planner.int4(count)),
        };
        (!is_null).then(|| planner.call(within, pg_sys::BOOLOID, &[part, asked, radius]))
    };
    let near: Option<Vec<_>> = (0..).zip(&parts).map(near).collect();
    match near?.as_slice() {
        [only] => Some(*only),
        several => Some(planner.or(several)),
    }
}

/// Returns `hash[1]`, `hash[2]` and so on, those on which there is an index.
fn indexed_parts<'p>(
    targets: &Targets<'p>,
    hash: NodeRef<'p>,
    ball: BallConstructor,
) -> Vec<NodeRef<'p>> {
    let hash = hash.strip_relabel();
    let mut parts: Vec<(i64, NodeRef<'p>)> = Vec::new();
    for target in &targets.targets {
        let Indexed::Expression(part) = target.key else {
            continue;
        };
        if let Some((array, subscript)) = part.as_element()
            && array.strip_relabel().equals(hash)
            && ball.operator_in(target.family).is_some()
            && parts.iter().all(|&(other, _)| other != subscript)
        {
            parts.push((subscript, part));
        }
    }
    parts.sort_by_key(|&(subscript, _)| subscript);
    parts.into_iter().map(|(_, part)| part).collect()
}

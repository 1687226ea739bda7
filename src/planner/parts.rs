//! Finds the indexes on parts of hashes that serve `hamming_parts_within(a, b, radius)`. `clause`
//! calls it for a clause that compares no fingerprints. What it returns holds wherever the clause
//! holds, and stands beside it: so answers are exact, whichever parts have an index.

use pgrx::pg_sys;

use super::own_functions::{is_parts_within, within_beside};
use super::sql_objects::BallConstructor;
use super::targets::Targets;
use simhash_hamming::parts::part_radius;
use simhash_pg::planner::nodes::{NodeRef, Planner};
use simhash_pg::planner::planned_relation::Indexed;

/// Returns, for `hamming_parts_within`, that one of the parts that have an index is near.
pub fn implied<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    clause: NodeRef<'p>,
) -> Option<NodeRef<'p>> {
    let call = clause
        .as_call()
        .filter(|call| call.result_type == pg_sys::BOOLOID)?;
    let [a, b, radius] = call.args.as_array()?;
    if !is_parts_within(call.function) {
        return None;
    }
    let within = within_beside(call.function)?;
    let ball = BallConstructor::beside(call.function)?;
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

//! Where clauses are replaced: the quals of a query, and those that children inherit.
//!
//! Clauses are replaced at the top, below AND and below OR, but never below NOT: at these places a
//! condition that is false and one that is NULL keep the same rows (none), also in ON clauses of
//! outer joins. The planner has already pushed NOT down to the comparisons.

use pgrx::pg_sys::Oid;

use super::clause::{Translation, as_within, is_translated_to, translate};
use super::planner_distances::PlannerDistances;
use super::targets::{Target, Targets};
use crate::index::fingerprint_function;
use simhash_pg::catalog::lookup::is_extension_access_method;
use simhash_pg::planner::nodes::{Connective, NodeList, NodeRef, Planner};
use simhash_pg::planner::planned_relation::{
    AppendMember, IndexKey, Indexed, PlannedRelation, Restriction,
};
use simhash_pg::process::backend::check_stack_depth;

/// The planner's hook: rewrites the clauses that compare this relation.
pub fn relation(relation: PlannedRelation<'_>, table: Oid, parent: bool) {
    relation.add_fingerprint_indexes(table, fingerprint_function);
    let keys = if parent && relation.is_base() {
        relation.parent_indexes(table, fingerprint_function)
    } else {
        relation.indexes()
    };
    let targets = targets(relation, &keys);
    let planner = relation.planner();
    let rewrite = |conjuncts| rewrite_conjuncts(planner, &targets, conjuncts, &[]);
    relation.rewrite_security_quals(&rewrite);
    if relation.is_base() {
        relation.rewrite_quals(&rewrite);
    } else {
        rewrite_inherited(relation, targets);
    }
}

/// Returns the columns and expressions of those of the relation's indexes whose access method
/// belongs to an extension.
fn targets<'p>(relation: PlannedRelation<'p>, keys: &[IndexKey<'p>]) -> Targets<'p> {
    let expressions = keys.iter().flat_map(|key| &key.expressions);
    Targets {
        relid: relation.relid(),
        targets: keys
            .iter()
            .filter(|key| is_extension_access_method(key.access_method))
            .map(|key| Target {
                key: key.key,
                family: key.operator_family,
            })
            .collect(),
        planner_distances: PlannerDistances::for_relation(relation, expressions.copied().collect()),
    }
}

/// Returns the conjuncts with their translations; None when there is nothing to translate. `beside`
/// are other clauses that hold together with them.
fn rewrite_conjuncts<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    conjuncts: NodeList<'p>,
    beside: &[NodeRef<'p>],
) -> Option<NodeList<'p>> {
    check_stack_depth();
    let mut out: Vec<NodeRef<'p>> = Vec::with_capacity(conjuncts.len() + 1);
    let mut changed = false;
    for clause in conjuncts.iter() {
        let Some(translation) = rewrite_clause(planner, targets, clause) else {
            out.push(clause);
            continue;
        };
        let (Translation::Equivalent(new) | Translation::Implied(new)) = translation;
        // The hook runs for each relation of a join, and for each child. A translation must not be
        // added twice, and a clause that stands beside its translation was kept on purpose.
        if conjuncts.iter().any(|present| present.equals(new))
            || beside.iter().any(|present| present.equals(new))
        {
            out.push(clause);
            continue;
        }
        changed = true;
        // The operator of texts has several conditions, which the planner looks at one by one.
        out.extend(planner.conjuncts(new).iter());
        if let Translation::Implied(_) = translation {
            out.push(clause);
        }
    }
    changed.then(|| planner.list(&out))
}

fn rewrite_clause<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    clause: NodeRef<'p>,
) -> Option<Translation<'p>> {
    let and = |conjuncts: NodeList<'p>| planner.and(&conjuncts.iter().collect::<Vec<_>>());
    match clause.as_connective() {
        Some(Connective::And(args)) => rewrite_conjuncts(planner, targets, args, &[])
            .map(|new| Translation::Equivalent(and(new))),
        Some(Connective::Or(arms)) => {
            let mut changed = false;
            let new_arms: Vec<_> = arms
                .iter()
                .map(
                    |arm| match rewrite_conjuncts(planner, targets, planner.conjuncts(arm), &[]) {
                        Some(new) => {
                            changed = true;
                            and(new)
                        }
                        None => arm,
                    },
                )
                .collect();
            changed.then(|| Translation::Equivalent(planner.or(&new_arms)))
        }
        None => translate(planner, targets, clause),
    }
}

/// Rewrites clauses for a child of an inheritance tree or of UNION ALL. Its quals have been
/// distributed already, and the planner copies the parent's clauses to the child after this hook:
/// so the parents' clauses are rewritten, in terms of the parents' columns.
fn rewrite_inherited<'p>(child: PlannedRelation<'p>, targets: Targets<'p>) {
    let mut level = (child, targets);
    while let Some(member) = level.0.append_member() {
        let parent = member.parent;
        let targets = parent_targets(member, level.1);
        for restriction in parent.restrictions() {
            rewrite_restriction(&parent, &targets, restriction);
        }
        for restriction in parent.join_restrictions() {
            rewrite_join_restriction(&parent, &targets, restriction);
        }
        level = (parent, targets);
    }
}

/// Returns the columns of the parent that the child's indexes are on.
fn parent_targets<'p>(member: AppendMember<'p>, child: Targets<'p>) -> Targets<'p> {
    let inherited = (1i16..)
        .zip(0..member.translated.len())
        .filter_map(|(number, i)| {
            let target = child.find(member.translated.get(i)?)?;
            Some(Target {
                key: Indexed::Column(number),
                family: target.family,
            })
        })
        .collect();
    Targets {
        relid: member.parent.relid(),
        targets: inherited,
        planner_distances: PlannerDistances::of_parent(member, child.planner_distances),
    }
}

/// Rewrites a clause on the parent alone. It is copied to the child conjunct by conjunct, so an AND
/// may replace it.
fn rewrite_restriction<'p>(
    parent: &PlannedRelation<'p>,
    targets: &Targets<'p>,
    restriction: Restriction<'p>,
) {
    let planner = parent.planner();
    let Some(clause) = restriction.clause() else {
        return;
    };
    let conjuncts = planner.conjuncts(clause);
    let is_of_distance = |clause| {
        as_within(planner, clause).is_some() || rewrite_clause(planner, targets, clause).is_some()
    };
    if !conjuncts.iter().any(is_of_distance) {
        return;
    }
    let mut beside = Vec::new();
    for other in parent.restrictions() {
        let clauses = other.clause().map(|clause| planner.conjuncts(clause));
        beside.extend(clauses.iter().flat_map(|list| list.iter()));
    }
    let translated = rewrite_conjuncts(planner, targets, conjuncts, &beside);
    let conjuncts = translated.unwrap_or(conjuncts);
    let restored = restore(planner, targets, conjuncts, &beside);
    if let Some(new) = restored.or(translated) {
        restriction.replace_clause(planner.and(&new.iter().collect::<Vec<_>>()));
    }
}

/// Restores clauses. A clause that was replaced for an index of the parent may be one that the
/// planner looks for in the child: it is put back beside its translation.
fn restore<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    conjuncts: NodeList<'p>,
    beside: &[NodeRef<'p>],
) -> Option<NodeList<'p>> {
    let lost = |clause: NodeRef<'p>| {
        let within = as_within(planner, clause)?;
        let mut present = conjuncts.iter().chain(beside.iter().copied());
        let is_lost = targets.planner_distances.contains(within.distance)
            && !present.any(|other| is_translated_to(planner, other, clause));
        is_lost.then_some(within.comparison)
    };
    let restored: Vec<_> = conjuncts.iter().filter_map(lost).collect();
    (!restored.is_empty())
        .then(|| planner.list(&conjuncts.iter().chain(restored).collect::<Vec<_>>()))
}

/// Rewrites a join clause. It must stay a single clause, so only an equivalent may replace it. Its
/// OR leaves, which index matching looks at, are clauses of their own.
fn rewrite_join_restriction<'p>(
    parent: &PlannedRelation<'p>,
    targets: &Targets<'p>,
    restriction: Restriction<'p>,
) {
    let leaves = restriction.or_leaves();
    for part in std::iter::once(restriction).chain(leaves) {
        let Some(clause) = part.clause() else {
            continue;
        };
        if let Some(Translation::Equivalent(new)) =
            rewrite_clause(parent.planner(), targets, clause)
        {
            part.replace_clause(new);
        }
    }
}

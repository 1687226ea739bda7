//! Where clauses are replaced: the quals of a query, and those that children inherit.
//!
//! Only through AND and OR, and never below NOT: there a condition that is false and one that is
//! NULL keep the same rows (none), also in ON clauses of outer joins. The planner has already
//! pushed NOT down to the comparisons.

use pgrx::pg_sys::Oid;

use super::clause::{Target, Targets, Translation, mentions_distance, translate};
use crate::pg::lookup::is_extension_access_method;
use crate::pg::nodes::{Connective, NodeList, NodeRef, Planner};
use crate::pg::plan::{IndexKey, Key, Relation, Restriction};
use crate::pg::process::check_stack_depth;

/// The planner's hook: rewrites the clauses that an index of this relation can serve.
pub fn relation(relation: Relation<'_>, table: Oid, parent: bool) {
    let keys = if parent && relation.is_base() {
        relation.parent_indexes(table)
    } else {
        relation.indexes()
    };
    let Some(targets) = targets(relation.relid(), &keys) else {
        return;
    };
    let planner = relation.planner();
    let rewrite = |conjuncts| rewrite_conjuncts(planner, &targets, conjuncts);
    relation.rewrite_security_quals(&rewrite);
    if relation.is_base() {
        relation.rewrite_quals(&rewrite);
    } else {
        rewrite_inherited(relation, targets);
    }
}

/// What the relation's indexes of extensions are on; None when there is none.
fn targets<'p>(relid: u32, keys: &[IndexKey<'p>]) -> Option<Targets<'p>> {
    let targets: Vec<Target<'p>> = keys
        .iter()
        .filter(|key| is_extension_access_method(key.access_method))
        .map(|key| Target {
            key: key.key,
            family: key.operator_family,
        })
        .collect();
    if targets.is_empty() {
        return None;
    }
    let keep_original = keys
        .iter()
        .flat_map(|key| &key.expressions)
        .any(|&expression| mentions_distance(expression));
    Some(Targets {
        relid,
        targets,
        keep_original,
    })
}

/// The conjuncts with their translations; None when there is nothing to translate.
fn rewrite_conjuncts<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    conjuncts: NodeList<'p>,
) -> Option<NodeList<'p>> {
    let mut out: Vec<NodeRef<'p>> = Vec::with_capacity(conjuncts.len() + 1);
    let mut changed = false;
    for clause in conjuncts.iter() {
        match rewrite_clause(planner, targets, clause) {
            Some(Translation::Equivalent(new)) => {
                out.push(new);
                changed = true;
            }
            Some(Translation::Implied(new)) => {
                // Each relation of a join comes by: it must not be added twice.
                if !conjuncts.iter().any(|present| present.equals(new)) {
                    out.push(new);
                    changed = true;
                }
                out.push(clause);
            }
            None => out.push(clause),
        }
    }
    changed.then(|| planner.list(&out))
}

fn rewrite_clause<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    clause: NodeRef<'p>,
) -> Option<Translation<'p>> {
    check_stack_depth();
    let and = |conjuncts: NodeList<'p>| planner.and(&conjuncts.iter().collect::<Vec<_>>());
    match clause.as_connective() {
        Some(Connective::And(args)) => {
            rewrite_conjuncts(planner, targets, args).map(|new| Translation::Equivalent(and(new)))
        }
        Some(Connective::Or(arms)) => {
            let mut changed = false;
            let new_arms: Vec<_> = arms
                .iter()
                .map(
                    |arm| match rewrite_conjuncts(planner, targets, planner.conjuncts(arm)) {
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

/// For a child of an inheritance tree or of UNION ALL the quals have been distributed already, and
/// the planner copies the parent's clauses to the child after this hook: so the parents' clauses are
/// rewritten, in terms of the parents' columns.
fn rewrite_inherited<'p>(child: Relation<'p>, targets: Targets<'p>) {
    let mut level = (child, targets);
    while let Some((parent, targets)) = parent_level(&level.0, &level.1) {
        for restriction in parent.restrictions() {
            rewrite_restriction(&parent, &targets, restriction);
        }
        for restriction in parent.join_restrictions() {
            rewrite_join_restriction(&parent, &targets, restriction);
        }
        level = (parent, targets);
    }
}

/// The parent, and which of its columns are what the child's indexes are on.
fn parent_level<'p>(
    child: &Relation<'p>,
    targets: &Targets<'p>,
) -> Option<(Relation<'p>, Targets<'p>)> {
    let member = child.append_member()?;
    let inherited = (1i16..)
        .zip(0..member.translated.len())
        .filter_map(|(number, i)| {
            let target = targets.find(member.translated.get(i)?)?;
            Some(Target {
                key: Key::Column(number),
                family: target.family,
            })
        })
        .collect();
    let parent_targets = Targets {
        relid: member.parent.relid(),
        targets: inherited,
        keep_original: targets.keep_original,
    };
    Some((member.parent, parent_targets))
}

/// A clause on the parent alone is copied to the child conjunct by conjunct: an AND may replace it.
fn rewrite_restriction<'p>(
    parent: &Relation<'p>,
    targets: &Targets<'p>,
    restriction: Restriction<'p>,
) {
    let planner = parent.planner();
    let Some(clause) = restriction.clause() else {
        return;
    };
    if let Some(new) = rewrite_conjuncts(planner, targets, planner.conjuncts(clause)) {
        restriction.replace_clause(planner.and(&new.iter().collect::<Vec<_>>()));
    }
}

/// A join clause must stay a single clause, so only an equivalent may replace it. Its OR leaves,
/// which index matching looks at, are clauses of their own.
fn rewrite_join_restriction<'p>(
    parent: &Relation<'p>,
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

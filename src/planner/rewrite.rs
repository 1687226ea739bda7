//! Where clauses are replaced: the quals of a query, and those that children inherit. The planner calls its
//! hook for each relation, after it has collected what it knows about it and before it distributes the quals.
//!
//! Clauses are replaced at the top, below AND and below OR, but never below NOT: at these places a
//! condition that is false and one that is NULL keep the same rows (none), also in ON clauses of
//! outer joins. The planner has already pushed NOT down to the comparisons.

#![allow(unsafe_code)]

use pgrx::pg_sys::{self, NodeTag, Oid};

use super::clause::{Translation, as_within, is_translated_to, translate};
use super::indexes::Targets;
use super::relation::{PlannedRelation, Restriction};
use simhash_pg::nodes::{Connective, NodeList, NodeRef, Planner};
use simhash_pg::process::backend::check_stack_depth;

/// The planner's hook: rewrites the clauses that compare a relation. `parent` means that only its children are
/// scanned.
///
/// # Safety
/// The arguments must be the planner's state and a relation of its query, live during the call.
pub unsafe fn relation(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    table: Oid,
    parent: bool,
) {
    if root.is_null() {
        return;
    }
    // SAFETY: guaranteed by the caller.
    let Some(relation) = (unsafe { PlannedRelation::new(Planner::new(root), rel) }) else {
        return;
    };
    let targets = Targets::of_relation(relation, table, parent);
    // SAFETY: guaranteed by the caller. A root made for CREATE INDEX or CLUSTER has no join tree, and one
    // without any query is skipped.
    unsafe {
        rewrite_security_quals(relation, &targets);
        if !relation.is_base() {
            rewrite_inherited(relation, targets);
        } else if !(*root).parse.is_null() {
            let join_tree = (*(*root).parse).jointree.cast();
            rewrite_join_tree(relation.planner, &targets, join_tree);
        }
    }
}

/// Rewrites the conjuncts of each WHERE and ON clause of the query.
///
/// # Safety
/// `node` must be null or a node of a live join tree.
unsafe fn rewrite_join_tree<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    node: *mut pg_sys::Node,
) {
    check_stack_depth();
    // SAFETY: the tag says which struct it is; quals are lists of conjuncts since the query was
    // preprocessed.
    unsafe {
        let quals = match node.as_ref().map(|node| node.type_) {
            Some(NodeTag::T_FromExpr) => {
                let from: *mut pg_sys::FromExpr = node.cast();
                for child in NodeList::new((*from).fromlist).iter() {
                    rewrite_join_tree(planner, targets, child.as_ptr());
                }
                &mut (*from).quals
            }
            Some(NodeTag::T_JoinExpr) => {
                let join: *mut pg_sys::JoinExpr = node.cast();
                rewrite_join_tree(planner, targets, (*join).larg);
                rewrite_join_tree(planner, targets, (*join).rarg);
                &mut (*join).quals
            }
            _ => return,
        };
        *quals = rewritten(planner, targets, *quals);
    }
}

/// The same for the quals of row security and security barriers on the relation.
///
/// # Safety
/// The relation must be one of a query that is being planned.
unsafe fn rewrite_security_quals<'p>(relation: PlannedRelation<'p>, targets: &Targets<'p>) {
    // SAFETY: simple_rte_array has an entry for every relation that was built; securityQuals is
    // a list of lists of conjuncts.
    unsafe {
        let entries = (*relation.planner.root).simple_rte_array;
        if entries.is_null() {
            return;
        }
        let levels = (**entries.add(relation.relid() as usize)).securityQuals;
        for i in 0..NodeList::new(levels).len() {
            let cell = &mut (*(*levels).elements.add(i)).ptr_value;
            *cell = rewritten(relation.planner, targets, cell.cast()).cast();
        }
    }
}

/// Returns a list of conjuncts with their translations; the same list when there is nothing to translate.
///
/// # Safety
/// `quals` must be null or a live list of conjuncts.
unsafe fn rewritten<'p>(
    planner: Planner<'p>,
    targets: &Targets<'p>,
    quals: *mut pg_sys::Node,
) -> *mut pg_sys::Node {
    // SAFETY: the tag says whether it is a list (contract).
    unsafe {
        let is_list = (quals.as_ref()).is_some_and(|node| node.type_ == NodeTag::T_List);
        let list = is_list.then(|| NodeList::new(quals.cast()));
        let new = list.and_then(|list| rewrite_conjuncts(planner, targets, list, &[]));
        new.map_or(quals, |new| new.as_ptr().cast())
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
        let targets = Targets::of_parent(member, level.1);
        for restriction in parent.restrictions() {
            rewrite_restriction(&parent, &targets, restriction);
        }
        for restriction in parent.join_restrictions() {
            rewrite_join_restriction(&parent, &targets, restriction);
        }
        level = (parent, targets);
    }
}

/// Rewrites a clause on the parent alone. It is copied to the child conjunct by conjunct, so an AND
/// may replace it.
fn rewrite_restriction<'p>(
    parent: &PlannedRelation<'p>,
    targets: &Targets<'p>,
    restriction: Restriction<'p>,
) {
    let planner = parent.planner;
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
        if let Some(Translation::Equivalent(new)) = rewrite_clause(parent.planner, targets, clause)
        {
            part.replace_clause(new);
        }
    }
}

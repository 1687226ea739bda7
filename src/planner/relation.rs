//! A relation of a query that is being planned, in the planner's structs: its clauses, its parents, and what the
//! planner compares clauses with. [`super::rewrite`] is given one by the planner's hook.
//!
//! Clauses are replaced in place. That is allowed: the planner works on a copy of the query (the
//! plan cache, cursors and EXPLAIN copy it before planning), and core itself rewrites
//! `parse->jointree` while it prepares the query.

#![allow(unsafe_code)]

use std::cell::OnceCell;
use std::ptr::NonNull;

use pgrx::pg_sys::{self, NodeTag, Oid};

use super::support::is_distance;
use simhash_pg::nodes::{Connective, NodeList, NodeRef, Planner};

/// A relation of the query.
#[derive(Clone, Copy)]
pub struct PlannedRelation<'p> {
    pub(super) rel: NonNull<pg_sys::RelOptInfo>,
    pub planner: Planner<'p>,
}

/// A clause in the planner's wrapper, a RestrictInfo.
#[derive(Clone, Copy)]
pub struct Restriction<'p>(NodeRef<'p>);

/// A child of an inheritance tree or of UNION ALL, as seen from the child.
#[derive(Clone, Copy)]
pub struct AppendMember<'p> {
    /// The relation of which it is a child, at the next level.
    pub parent: PlannedRelation<'p>,
    /// For each column of the parent, the child's expression.
    pub translated: NodeList<'p>,
    info: NonNull<pg_sys::AppendRelInfo>,
}

impl<'p> PlannedRelation<'p> {
    /// None for a null pointer.
    ///
    /// # Safety
    /// `rel` is null or a relation of the query that `planner` plans.
    pub unsafe fn new(planner: Planner<'p>, rel: *mut pg_sys::RelOptInfo) -> Option<Self> {
        NonNull::new(rel).map(|rel| Self { rel, planner })
    }

    pub fn info(&self) -> &pg_sys::RelOptInfo {
        // SAFETY: live during planning (contract of `new`).
        unsafe { self.rel.as_ref() }
    }

    /// Index in the range table.
    pub fn relid(&self) -> u32 {
        self.info().relid
    }

    /// Returns whether the query names it, as opposed to a child of what it names.
    pub fn is_base(&self) -> bool {
        self.info().reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL
    }

    /// The parent of this relation, and how it maps to it; None when it is not a child.
    pub fn append_member(&self) -> Option<AppendMember<'p>> {
        // SAFETY: both arrays are indexed by range-table index; the first is null in a query
        // without children.
        unsafe {
            let root = self.planner.root;
            if (*root).append_rel_array.is_null() {
                return None;
            }
            let info = NonNull::new(*(*root).append_rel_array.add(self.relid() as usize))?;
            let append = info.as_ref();
            let parent = *(*root).simple_rel_array.add(append.parent_relid as usize);
            Some(AppendMember {
                parent: PlannedRelation::new(self.planner, parent)?,
                translated: NodeList::new(append.translated_vars),
                info,
            })
        }
    }

    /// Clauses on this relation alone.
    pub fn restrictions(&self) -> Vec<Restriction<'p>> {
        self.restrictions_of(self.info().baserestrictinfo)
    }

    /// Clauses that join this relation to others, except those of equivalence classes.
    pub fn join_restrictions(&self) -> Vec<Restriction<'p>> {
        self.restrictions_of(self.info().joininfo)
    }

    fn restrictions_of(&self, list: *mut pg_sys::List) -> Vec<Restriction<'p>> {
        // SAFETY: a list of the planner's, live during planning.
        let list = unsafe { NodeList::new(list) };
        list.iter().filter_map(Restriction::of).collect()
    }

    /// The expressions of the partition key, in terms of the relation.
    pub fn partition_expressions(&self) -> Vec<NodeRef<'p>> {
        let info = self.info();
        // SAFETY: a partitioned relation's scheme says how many lists there are, each with the
        // expression of one column of the key; live during planning.
        unsafe {
            let Some(scheme) = info.part_scheme.as_ref() else {
                return Vec::new();
            };
            if info.partexprs.is_null() {
                return Vec::new();
            }
            (0..scheme.partnatts as usize)
                .filter_map(|i| NodeList::new(*info.partexprs.add(i)).get(0))
                .collect()
        }
    }

    /// The constraints that the planner compares with the clauses (by the setting
    /// constraint_exclusion), in terms of the relation.
    pub fn excluding_constraints(&self) -> Vec<NodeRef<'p>> {
        use pg_sys::ConstraintExclusionType::{
            CONSTRAINT_EXCLUSION_ON as ON, CONSTRAINT_EXCLUSION_PARTITION as OF_CHILDREN,
        };
        // SAFETY: a plain setting.
        let setting = unsafe { pg_sys::constraint_exclusion } as u32;
        match self.table() {
            Some(table) if setting == ON || (setting == OF_CHILDREN && !self.is_base()) => {
                // SAFETY: a table of the query, on which the planner holds a lock.
                unsafe { constraints(self.planner, table, self.relid(), self.is_base()) }
            }
            _ => Vec::new(),
        }
    }

    /// The table behind the relation; None for a sub-query.
    fn table(&self) -> Option<Oid> {
        // SAFETY: simple_rte_array has an entry for every relation that was built.
        unsafe {
            let entry = NonNull::new((*self.planner.root).simple_rte_array)?;
            let entry = *entry.as_ptr().add(self.relid() as usize);
            let is_table = (*entry).rtekind == pg_sys::RTEKind::RTE_RELATION;
            is_table.then_some((*entry).relid)
        }
    }
}

impl<'p> AppendMember<'p> {
    /// An expression in the parent's columns, in terms of the child.
    pub fn in_terms_of_child(&self, node: NodeRef<'p>) -> Option<NodeRef<'p>> {
        // SAFETY: the planner's own structs; the result is a copy.
        unsafe {
            let root = self.parent.planner.root;
            let mut info = self.info.as_ptr();
            NodeRef::new(pg_sys::adjust_appendrel_attrs(
                root,
                node.as_ptr(),
                1,
                &mut info,
            ))
        }
    }
}

impl<'p> Restriction<'p> {
    fn of(node: NodeRef<'p>) -> Option<Self> {
        // SAFETY: a live node.
        let tag = unsafe { (*node.as_ptr::<pg_sys::Node>()).type_ };
        (tag == NodeTag::T_RestrictInfo).then_some(Restriction(node))
    }

    fn info(&self) -> *mut pg_sys::RestrictInfo {
        self.0.as_ptr()
    }

    /// The clause that the planner evaluates.
    pub fn clause(&self) -> Option<NodeRef<'p>> {
        // SAFETY: live during planning.
        unsafe { NodeRef::new((*self.info()).clause) }
    }

    /// Puts an equivalent clause in the place of this one, and resets what the planner has cached
    /// of it.
    pub fn replace_clause(&self, clause: NodeRef<'p>) {
        // SAFETY: live during planning, and no reference to it is held. Nothing else caches what is
        // cleared here: negative costs and selectivities mean 'not computed yet'.
        unsafe {
            let info = self.info();
            (*info).clause = clause.as_ptr();
            (*info).eval_cost.startup = -1.0;
            (*info).norm_selec = -1.0;
            (*info).outer_selec = -1.0;
            (*info).can_join = false;
            (*info).left_relids = std::ptr::null_mut();
            (*info).right_relids = std::ptr::null_mut();
        }
    }

    /// The wrapped clauses at the leaves of an OR clause.
    pub fn or_leaves(&self) -> Vec<Restriction<'p>> {
        let mut leaves = Vec::new();
        // SAFETY: live during planning.
        if let Some(or) = unsafe { NodeRef::new((*self.info()).orclause) } {
            collect_leaves(or, &mut leaves);
        }
        leaves
    }
}

fn collect_leaves<'p>(node: NodeRef<'p>, leaves: &mut Vec<Restriction<'p>>) {
    if let Some(leaf) = Restriction::of(node) {
        let nested = leaf.or_leaves();
        leaves.push(leaf);
        leaves.extend(nested);
    } else if let Some(Connective::And(args) | Connective::Or(args)) = node.as_connective() {
        args.iter().for_each(|arg| collect_leaves(arg, leaves));
    }
}

/// The CHECK constraints of a table, and its partition constraint if the query names the partition
/// itself.
///
/// # Safety
/// The planner holds a lock on the table, which stands at `relid` of the range table.
unsafe fn constraints<'p>(
    planner: Planner<'p>,
    table: Oid,
    relid: u32,
    is_base: bool,
) -> Vec<NodeRef<'p>> {
    unsafe extern "C-unwind" {
        // Missing from the bindings.
        fn RelationGetPartitionQual(rel: pg_sys::Relation) -> *mut pg_sys::List;
    }
    // SAFETY: the table is open while its relcache entry is read; the expressions are copies in the
    // planner's memory, simplified as the planner simplifies them.
    unsafe {
        let rel = pg_sys::table_open(table, pg_sys::NoLock as i32);
        let mut found = Vec::new();
        if let Some(list) = (*(*rel).rd_att).constr.as_ref() {
            let checks = (0..usize::from(list.num_check)).map(|i| &*list.check.add(i));
            let nodes = checks
                .filter(|check| check.ccvalid)
                .map(|check| pg_sys::stringToNode(check.ccbin));
            found.extend(nodes.filter_map(|node| NodeRef::new(node)));
        }
        if is_base && (*(*rel).rd_rel).relispartition {
            let quals = pg_sys::ffi::pg_guard_ffi_boundary(|| RelationGetPartitionQual(rel));
            found.extend(NodeList::new(quals).iter());
        }
        pg_sys::table_close(rel, pg_sys::NoLock as i32);
        for node in &mut found {
            // In this order: simplifying looks up which columns of the variables' tables are NOT
            // NULL.
            pg_sys::ChangeVarNodes(node.as_ptr(), 1, relid as i32, 0);
            *node = planner.simplify(*node);
        }
        found
    }
}

/// The distances that the planner itself looks for in the clauses on a relation. It prunes partitions,
/// excludes tables by their constraints, and proves the predicates of partial indexes, by comparing
/// expressions node by node. So a clause on one of these distances stays beside its translation. They are
/// those in the relation's indexes, partition key and constraints; for an ancestor, also
/// those of the relations on the way down to the child that is being planned.
pub struct PlannerDistances<'p> {
    relation: PlannedRelation<'p>,
    /// Expressions and predicates of indexes.
    indexes: Vec<NodeRef<'p>>,
    distances: OnceCell<Vec<NodeRef<'p>>>,
    below: Option<(AppendMember<'p>, Box<PlannerDistances<'p>>)>,
}

impl<'p> PlannerDistances<'p> {
    pub fn for_relation(relation: PlannedRelation<'p>, indexes: Vec<NodeRef<'p>>) -> Self {
        Self {
            relation,
            indexes,
            distances: OnceCell::new(),
            below: None,
        }
    }

    /// Returns the same for the parent of `self`, seen as `member`.
    pub fn of_parent(member: AppendMember<'p>, child: Self) -> Self {
        Self {
            below: Some((member, Box::new(child))),
            ..Self::for_relation(member.parent, Vec::new())
        }
    }

    /// Returns whether the planner looks for this distance, which is in terms of the relation.
    pub fn contains(&self, distance: NodeRef<'p>) -> bool {
        let distances = self.distances.get_or_init(|| self.collect());
        distances.iter().any(|found| found.equals(distance))
            || self.below.as_ref().is_some_and(|(member, child)| {
                member
                    .in_terms_of_child(distance)
                    .is_some_and(|distance| child.contains(distance))
            })
    }

    fn collect(&self) -> Vec<NodeRef<'p>> {
        let mut distances = Vec::new();
        let partitions = self.relation.partition_expressions();
        let constraints = self.relation.excluding_constraints();
        for expression in self.indexes.iter().chain(&partitions).chain(&constraints) {
            expression.visit(&mut |node| {
                if is_distance(node) {
                    distances.push(node);
                }
            });
        }
        distances
    }
}

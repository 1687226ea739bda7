//! What the planner compares a relation's clauses with, node by node: its partition key, and the
//! constraints that may refute them, so that the relation need not be scanned.

use std::ptr::NonNull;

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::nodes::{NodeList, NodeRef, Planner};
use super::planned_relation::PlannedRelation;

impl<'p> PlannedRelation<'p> {
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
                unsafe { constraints(self.planner(), table, self.relid(), self.is_base()) }
            }
            _ => Vec::new(),
        }
    }

    /// The table behind the relation; None for a sub-query.
    fn table(&self) -> Option<Oid> {
        // SAFETY: simple_rte_array has an entry for every relation that was built.
        unsafe {
            let entry = NonNull::new((*self.planner().root).simple_rte_array)?;
            let entry = *entry.as_ptr().add(self.relid() as usize);
            let is_table = (*entry).rtekind == pg_sys::RTEKind::RTE_RELATION;
            is_table.then_some((*entry).relid)
        }
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

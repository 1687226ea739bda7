//! An index on a column, which an estimator may look into.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;
use std::ffi::CStr;

use super::nodes::{NodeList, NodeRef, Planner};
use crate::catalog::lookup::{is_access_method, is_extension_access_method};
use crate::catalog::relation::Rel;

/// A valid index of one column, of a table that is being planned.
#[derive(Clone, Copy)]
pub struct ColumnIndex {
    oid: Oid,
    pages: u32,
    is_whole: bool,
}

impl ColumnIndex {
    /// An index on the column with this access method. None if the user may not see the statistics
    /// of all rows: an estimate must not reveal rows that row security, a security barrier or
    /// missing privileges hide. The server checks that when it finds statistics; so the result is
    /// None without them.
    ///
    /// # Safety
    /// The server has filled `variable` for a clause that `planner` plans.
    pub(super) unsafe fn from_variable<'p>(
        planner: Planner<'p>,
        variable: &pg_sys::VariableStatData,
        access_method: &CStr,
    ) -> Option<Self> {
        if !variable.acl_ok || variable.statsTuple.is_null() {
            return None;
        }
        // SAFETY: relation and column are null or live; the list holds IndexOptInfo nodes.
        unsafe {
            let rel = variable.rel.as_ref()?;
            let column = NodeRef::new(variable.var)?.strip_relabel();
            if !is_one_table(planner, rel) || is_behind_barrier(planner) {
                return None;
            }
            NodeList::new(rel.indexlist)
                .iter()
                .map(|node| &*node.as_ptr::<pg_sys::IndexOptInfo>())
                .filter(|index| is_on(index, rel, column))
                .find(|index| is_access_method(index.relam, access_method))
                .map(|index| Self {
                    oid: index.indexoid,
                    pages: index.pages,
                    is_whole: index.indpred.is_null(),
                })
        }
    }

    pub fn oid(&self) -> Oid {
        self.oid
    }

    /// Pages of the index when the planning began.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns whether it holds all rows of the table. A partial index is offered if the query
    /// implies its predicate.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns what `read` returns of the index; None if it is temporary and of another session.
    pub fn read<T>(&self, read: impl FnOnce(Rel<'_>) -> Option<T>) -> Option<T> {
        // SAFETY: the planner has locked the index; it stays open while `rel` is used.
        unsafe {
            let raw = pg_sys::index_open(self.oid, pg_sys::NoLock as i32);
            let rel = Rel::from_raw(raw);
            let is_readable = !rel.is_temporary() || rel.is_own_temporary();
            let seen = is_readable.then(|| read(rel)).flatten();
            pg_sys::index_close(raw, pg_sys::NoLock as i32);
            seen
        }
    }
}

/// Returns whether the relation is a table by itself. The indexes of a partitioned table have no
/// pages, and a parent stands for its children too.
///
/// # Safety
/// `rel` is a relation of the query that `planner` plans.
unsafe fn is_one_table(planner: Planner, rel: &pg_sys::RelOptInfo) -> bool {
    // SAFETY: base relations and children have an entry in the array, which is made before them.
    unsafe {
        let kinds = [
            pg_sys::RelOptKind::RELOPT_BASEREL,
            pg_sys::RelOptKind::RELOPT_OTHER_MEMBER_REL,
        ];
        if !kinds.contains(&rel.reloptkind) {
            return false;
        }
        let entry = &**(*planner.root).simple_rte_array.add(rel.relid as usize);
        entry.rtekind == pg_sys::RTEKind::RTE_RELATION && !entry.inh
    }
}

/// Returns whether a query around this one reads a view that is a security barrier. This query may
/// be the view's, in which the server asks for the privileges of the view's owner.
fn is_behind_barrier(planner: Planner) -> bool {
    // SAFETY: the queries around one that is being planned are live; range tables hold entries.
    unsafe {
        let mut query = (*planner.root).parent_root;
        while let Some(around) = query.as_ref() {
            let entries = NodeList::new((*around.parse).rtable);
            let is_barrier = |entry: NodeRef| {
                let entry: *const pg_sys::RangeTblEntry = entry.as_ptr();
                (*entry).security_barrier
            };
            if entries.iter().any(is_barrier) {
                return true;
            }
            query = around.parent_root;
        }
        false
    }
}

/// Returns whether the index is on this column or expression alone, and the query can use it.
///
/// # Safety
/// `index` must be an index of `rel`, in the planner's description.
unsafe fn is_on(index: &pg_sys::IndexOptInfo, rel: &pg_sys::RelOptInfo, column: NodeRef) -> bool {
    // A hypothetical index has no pages: other libraries add them to the list.
    if index.hypothetical
        || index.ncolumns != 1
        || !(index.indpred.is_null() || index.predOK)
        || !is_extension_access_method(index.relam)
    {
        return false;
    }
    // SAFETY: an index has at least one key; 0 stands for the first of its expressions.
    unsafe {
        match *index.indexkeys {
            0 => NodeList::new(index.indexprs)
                .get(0)
                .is_some_and(|expression| expression.strip_relabel().equals(column)),
            number => column.as_column() == Some((rel.relid, number as i16)),
        }
    }
}

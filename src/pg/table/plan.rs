//! Asks the planner whether a query is nothing but a read of one table.

use crate::pg::spi::connection::{connected, prepare};
use pgrx::pg_sys;

/// How many rows the planner expects of a query that it would run as a sequential scan of this
/// table, with at most a test for NULL; None when it would run it in another way. So rules,
/// children, row security, indexes that hold all columns, and extensions that plan queries of
/// their tables themselves have been asked. Locks the table as the query would.
pub fn rows_of_scan(sql: &str, table: pg_sys::Oid) -> Option<f64> {
    // An extension that checks or logs reads would not see this one.
    // SAFETY: reads a variable of the process.
    let hook = unsafe { pg_sys::ExecutorCheckPerms_hook };
    if hook.is_some() {
        return None;
    }
    connected(|| {
        let plan = prepare(sql, &[], 0);
        // SAFETY: a plan of one query, which is not saved, and so has no owner. The server's plan
        // lives until it is released.
        unsafe {
            let cached = pg_sys::SPI_plan_get_cached_plan(plan);
            let list = (!cached.is_null()).then(|| (*cached).stmt_list)?;
            let rows = match (*list).length {
                1 => rows_of_statement(pg_sys::list_nth(list, 0).cast(), table),
                _ => None,
            };
            pg_sys::ReleaseCachedPlan(cached, std::ptr::null_mut());
            rows
        }
    })
}

/// # Safety
/// A statement as the planner made it.
unsafe fn rows_of_statement(
    statement: *const pg_sys::PlannedStmt,
    table: pg_sys::Oid,
) -> Option<f64> {
    // SAFETY: the caller's word; a node is of the type that its tag says, and a scan names an entry
    // of the range table, counting from 1.
    unsafe {
        let plan = (*statement).planTree;
        if (*plan).type_ != pg_sys::NodeTag::T_SeqScan || !(*plan).initPlan.is_null() {
            return None;
        }
        // In the oldest majors the node of a sequential scan is this one under another name.
        let scan = plan.cast::<pg_sys::Scan>();
        let entry = (*scan).scanrelid as i32 - 1;
        let entry: *const pg_sys::RangeTblEntry =
            pg_sys::list_nth((*statement).rtable, entry).cast();
        let condition = (*plan).qual;
        let is_test = match condition.as_ref() {
            None => true,
            Some(list) => {
                let node: *const pg_sys::Node = pg_sys::list_nth(condition, 0).cast();
                list.length == 1 && (*node).type_ == pg_sys::NodeTag::T_NullTest
            }
        };
        ((*entry).relid == table && is_test).then_some((*plan).plan_rows)
    }
}

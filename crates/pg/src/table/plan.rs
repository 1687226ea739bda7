//! Asks the planner whether a query is nothing but a read of one table, and what a query costs.

use crate::planner::nodes::{NodeList, NodeRef};
use crate::spi::connection::{connected, prepare};
use pgrx::pg_sys;

/// Returns whether the planner would run a query as a sequential scan of this table. The query must
/// return the columns of these numbers as they are stored, or an integer as bigint, with at most a
/// test that the second is not NULL. In this way rules, children, row security, indexes that hold
/// all columns, and extensions that put something else in the place of a table or of a column are
/// taken into account. Locks the table as the query would.
#[inline]
pub fn is_plain_scan(sql: &str, table: pg_sys::Oid, columns: [i16; 2]) -> bool {
    // An extension that checks or logs reads would not see this one.
    // SAFETY: reads a variable of the process.
    let hook = unsafe { pg_sys::ExecutorCheckPerms_hook };
    if hook.is_some() {
        return false;
    }
    let is_scan = with_statement(sql, &[], |statement| {
        // SAFETY: a statement of the planner's.
        unsafe { Some(is_scan_of(statement, table, columns)) }
    });
    is_scan.unwrap_or(false)
}

/// Returns what the planner expects a query with parameters of these types, whose values it does
/// not know, to cost; None where a foreign table is read, of whose indexes it knows nothing.
#[inline]
pub fn cost(sql: &str, parameters: &[pg_sys::Oid]) -> Option<f64> {
    with_statement(sql, parameters, |statement| {
        // SAFETY: a statement as the planner made it, whose range table has such entries.
        unsafe {
            let is_foreign = |node: NodeRef| {
                let entry: *const pg_sys::RangeTblEntry = node.as_ptr();
                (*entry).relkind as u8 == pg_sys::RELKIND_FOREIGN_TABLE
            };
            let is_local = !NodeList::new((*statement).rtable).iter().any(is_foreign);
            is_local.then(|| (*(*statement).planTree).total_cost)
        }
    })
}

/// Calls `read` with the plan of a query, if it is one statement. The plan lives until it returns.
fn with_statement<R>(
    sql: &str,
    parameters: &[pg_sys::Oid],
    read: impl FnOnce(*const pg_sys::PlannedStmt) -> Option<R>,
) -> Option<R> {
    connected(|| {
        let plan = prepare(sql, parameters, 0);
        // SAFETY: a plan of one query, which is not saved and has no owner. The server's plan
        // lives until it is released.
        unsafe {
            let cached = pg_sys::SPI_plan_get_cached_plan(plan);
            let list = (!cached.is_null()).then(|| (*cached).stmt_list)?;
            let result = match (*list).length {
                1 => read(pg_sys::list_nth(list, 0).cast()),
                _ => None,
            };
            pg_sys::ReleaseCachedPlan(cached, std::ptr::null_mut());
            result
        }
    })
}

/// # Safety
/// Must be a statement as the planner made it.
unsafe fn is_scan_of(
    statement: *const pg_sys::PlannedStmt,
    table: pg_sys::Oid,
    columns: [i16; 2],
) -> bool {
    // SAFETY: guaranteed by the caller; a node is of the type that its tag says, and a scan names
    // an entry of the range table, counting from 1.
    unsafe {
        let plan = (*statement).planTree;
        if (*plan).type_ != pg_sys::NodeTag::T_SeqScan || !(*plan).initPlan.is_null() {
            return false;
        }
        // In the oldest majors the node of a sequential scan is this one under another name.
        let relation = (*plan.cast::<pg_sys::Scan>()).scanrelid;
        let entry: *const pg_sys::RangeTblEntry =
            pg_sys::list_nth((*statement).rtable, relation as i32 - 1).cast();
        (*entry).relid == table
            && returns(NodeList::new((*plan).targetlist), relation, columns)
            && tests(NodeList::new((*plan).qual), relation, columns[1])
    }
}

/// Returns whether a scan of a relation returns these columns, and nothing else.
fn returns(targets: NodeList, relation: u32, columns: [i16; 2]) -> bool {
    let Some(targets) = targets.as_array::<2>() else {
        return false;
    };
    std::iter::zip(targets, columns).all(|(target, column)| {
        (target.as_target()).is_some_and(|value| is_column(value, relation, column))
    })
}

/// Returns whether there is no condition, or only that this column is not NULL.
fn tests(conditions: NodeList, relation: u32, column: i16) -> bool {
    let mut conditions = conditions.iter();
    let is_test = conditions.next().is_none_or(|condition| {
        (condition.as_not_null_test()).is_some_and(|value| is_column(value, relation, column))
    });
    is_test && conditions.next().is_none()
}

/// Returns whether this is the column itself, or its value as bigint.
fn is_column(value: NodeRef, relation: u32, column: i16) -> bool {
    const TO_BIGINT: [u32; 2] = [pg_sys::F_INT8_INT2, pg_sys::F_INT8_INT4];
    let mut value = value.strip_relabel();
    if let Some(call) = value.as_call() {
        match call.args.as_array() {
            Some([argument]) if TO_BIGINT.contains(&call.function.to_u32()) => {
                value = argument.strip_relabel()
            }
            _ => return false,
        }
    }
    value.as_column() == Some((relation, column))
}

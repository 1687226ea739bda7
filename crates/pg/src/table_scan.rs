//! Tables without the executor: a sequential scan that reads two columns of each row that the active
//! snapshot shows, and a row that is stored in a table of one column. The planner is asked whether a query
//! is such a scan, and what a query costs. `pairs`, `checked_pairs` and the triggers of kept clusters
//! call it.

use crate::catalog::lookup::{INSERT, base_type, may};
use crate::catalog::relation::Rel;
use crate::catalog::table::Column;
use crate::catalog::table_name;
use crate::nodes::{NodeList, NodeRef};
use crate::process::compat;
use crate::process::compat::attribute;
use crate::process::error::Error;
use crate::process::unguarded::{ProcessInterrupts, slot_getsomeattrs_int};
use crate::spi::query::{connected, prepare};
use crate::sql::value::Value;
use pgrx::PgSqlErrorCode::{
    ERRCODE_INSUFFICIENT_PRIVILEGE, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
};
use pgrx::pg_sys;
use std::marker::PhantomData;

/// A column whose values are passed by value, and how they are taken.
#[derive(Clone, Copy)]
pub struct WordColumn {
    number: i16,
    form: StoredForm,
}

#[derive(Clone, Copy)]
enum StoredForm {
    /// The bits as they are.
    Bits,
    /// A smaller integer, as one of 8 bytes.
    Int2,
    Int4,
}

impl WordColumn {
    /// The bits of the values; None when they are not passed by value, or not stored.
    #[inline]
    pub fn bits(column: &Column) -> Option<Self> {
        let is_word = column.storage.by_value_and_length().0 && !column.computed_on_read;
        is_word.then(|| Self {
            number: column.number(),
            form: StoredForm::Bits,
        })
    }

    /// The values as integers of 8 bytes; None when they are none, or not stored.
    #[inline]
    pub fn integer(column: &Column) -> Option<Self> {
        let form = match column.base_type() {
            pg_sys::INT2OID => StoredForm::Int2,
            pg_sys::INT4OID => StoredForm::Int4,
            pg_sys::INT8OID => StoredForm::Bits,
            _ => return None,
        };
        Self::bits(column).map(|bits| Self { form, ..bits })
    }

    fn word(self, value: pg_sys::Datum) -> u64 {
        let bits = value.value() as u64;
        match self.form {
            StoredForm::Bits => bits,
            StoredForm::Int2 => i64::from(bits as i16) as u64,
            StoredForm::Int4 => i64::from(bits as i32) as u64,
        }
    }
}

/// Result of [`TableScan::next`].
pub enum ScannedRows {
    /// This many rows; none is the end.
    Rows(usize),
    /// A row whose first column is NULL, but not the second.
    Null,
}

/// A scan of the rows that the active snapshot shows.
pub struct TableScan<'t> {
    scan: pg_sys::TableScanDesc,
    slot: *mut pg_sys::TupleTableSlot,
    columns: [WordColumn; 2],
    /// The columns up to this one are unpacked.
    last: i32,
    ended: bool,
    table: PhantomData<Rel<'t>>,
}

impl<'t> TableScan<'t> {
    /// Begins a scan of all rows. There must be an active snapshot, which outlives the scan.
    #[inline]
    pub fn begin(table: Rel<'t>, columns: [WordColumn; 2]) -> Self {
        // SAFETY: the table is open and locked as long as the scan lives.
        unsafe {
            let snapshot = pg_sys::GetActiveSnapshot();
            Self {
                scan: compat::begin_scan(table.raw(), snapshot),
                slot: pg_sys::table_slot_create(table.raw(), std::ptr::null_mut()),
                columns,
                last: columns
                    .map(|column| i32::from(column.number))
                    .into_iter()
                    .fold(0, i32::max),
                ended: false,
                table: PhantomData,
            }
        }
    }

    /// Fills `rows` with what `row` makes of the columns of the next rows; a row whose second
    /// column is NULL is left out. The access method, and such rows, check for interrupts.
    #[inline]
    pub fn next<T: Copy>(
        &mut self,
        rows: &mut [T],
        row: impl Fn(u64, u64) -> T + Copy,
    ) -> ScannedRows {
        const FORWARD: pg_sys::ScanDirection::Type = pg_sys::ScanDirection::ForwardScanDirection;
        if self.ended {
            return ScannedRows::Rows(0);
        }
        let (scan, slot, last) = (self.scan, self.slot, self.last);
        let [first, second] = self.columns;
        // SAFETY: all was made by `begin`. One guard for many rows: nothing in it has a destructor. A
        // slot has values up to the column that was asked for.
        let (count, stopped, met_null) = unsafe {
            let next = (*(*(*scan).rs_rd).rd_tableam).scan_getnextslot;
            let Some(next) = next else {
                return ScannedRows::Rows(0);
            };
            pg_sys::ffi::pg_guard_ffi_boundary(|| {
                let mut count = 0;
                while count < rows.len() {
                    if !next(scan, FORWARD, slot) {
                        return (count, true, false);
                    }
                    if i32::from((*slot).tts_nvalid) < last {
                        slot_getsomeattrs_int(slot, last);
                    }
                    let value = |column: WordColumn| {
                        let at = column.number as usize - 1;
                        (!*(*slot).tts_isnull.add(at))
                            .then(|| column.word(*(*slot).tts_values.add(at)))
                    };
                    let Some(second) = value(second) else {
                        // There may be any number of such rows.
                        if pg_sys::InterruptPending != 0 {
                            ProcessInterrupts();
                        }
                        continue;
                    };
                    let Some(first) = value(first) else {
                        return (count, true, true);
                    };
                    rows[count] = row(first, second);
                    count += 1;
                }
                (count, false, false)
            })
        };
        // A scan that has come to its end would begin again.
        self.ended = stopped;
        match met_null {
            true => ScannedRows::Null,
            false => ScannedRows::Rows(count),
        }
    }
}

impl Drop for TableScan<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by `begin`.
            unsafe {
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
                pg_sys::table_endscan(self.scan);
            }
        }
    }
}

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

/// Stores a row with this value, None for NULL, with the current user's rights.
#[inline]
pub fn append(table: pg_sys::Oid, value: Option<Value<'_>>) {
    if !may(table, INSERT, &[]) {
        Error::new(
            ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for table {}", table_name::shown(table)),
        )
        .raise();
    }
    // SAFETY: opened, with the lock of INSERT, for as long as it is used; the row has the columns
    // of the descriptor, of their types (`suits`). The lock is held until the transaction ends, as
    // INSERT does.
    unsafe {
        let relation = pg_sys::table_open(table, pg_sys::RowExclusiveLock as i32);
        if !suits(Rel::from_raw(relation), value) {
            let message = format!(
                "table \"{}\" is not a plain table of one column of the key's type, \
                 without indexes, triggers, rules, constraints and row security",
                table_name::shown(table)
            );
            Error::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .hint(
                    "Notes are stored in the table that simhash_keep_clusters made, as it made it.",
                )
                .raise();
        }
        let (mut datum, mut null) = (
            value.map_or(pg_sys::Datum::null(), |value| value.datum()),
            value.is_none(),
        );
        let row = pg_sys::heap_form_tuple((*relation).rd_att, &raw mut datum, &raw mut null);
        pg_sys::simple_heap_insert(relation, row);
        pg_sys::heap_freetuple(row);
        pg_sys::table_close(relation, pg_sys::NoLock as i32);
    }
}

/// Returns whether a row with this value may be stored with nothing else to do.
fn suits(table: Rel<'_>, value: Option<Value<'_>>) -> bool {
    // SAFETY: an open relation has its pg_class row and its descriptor; the only attribute is read.
    unsafe {
        let raw = table.raw();
        let (class, desc) = (&*(*raw).rd_rel, (*raw).rd_att);
        class.relkind as u8 == pg_sys::RELKIND_RELATION
            && class.relam == pg_sys::HEAP_TABLE_AM_OID
            && !(class.relhasindex && has_indexes(raw))
            && (*raw).rd_rules.is_null()
            && (*raw).trigdesc.is_null()
            && !(class.relispartition || class.relrowsecurity)
            && (*desc).natts == 1
            && (*desc).constr.is_null()
            && value.is_none_or(|value| attribute(desc, 0).atttypid == base_type(value.type_id()))
    }
}

/// Returns whether the table has an index. pg_class may say so for a while after the last one was
/// dropped.
///
/// # Safety
/// `table` must be open.
unsafe fn has_indexes(table: pg_sys::Relation) -> bool {
    // SAFETY: guaranteed by the caller; the list is a copy.
    unsafe { !pg_sys::RelationGetIndexList(table).is_null() }
}

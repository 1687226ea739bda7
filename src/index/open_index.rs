//! Opens an index together with its table, for SQL functions that have a regclass argument, and reads
//! rows of the table as the index must file them. The functions that check and show an index call it. The
//! table is locked before the index, and both locks last until the transaction ends.

#![allow(unsafe_code)]

use super::build::{RowSink, scan_table};
use super::insert::indexed_row;
use super::row_address::tid_to;
use pgrx::PgSqlErrorCode::{
    ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_INSUFFICIENT_PRIVILEGE,
    ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, ERRCODE_UNDEFINED_TABLE, ERRCODE_WRONG_OBJECT_TYPE,
};
use pgrx::pg_sys::{self, Oid};
use simhash_base::indexed_row::IndexedRow;
use simhash_base::indexed_row::Tid;
use simhash_pg::catalog::indexes::is_partitioned_index;
use simhash_pg::catalog::lookup::{
    SELECT, has_row_security, index_access_method, is_access_method, may,
};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::catalog::table;
use simhash_pg::process::compat;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::MemoryContext;

/// Purpose for which an index is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OpenPurpose {
    /// Opened by its owner.
    Verification,
    /// Opened by a user who may read the table.
    Statistics,
}

/// The table of an index of ours. Raises an ERROR if the relation is something else, or if the current
/// user lacks the rights for this purpose. Both purposes show what all rows have, so row security must not
/// apply. Only catalogs are read, without a lock, so that a role without rights does not wait for a lock
/// and nobody waits behind it.
pub fn table_of_index(index: Oid, purpose: OpenPurpose) -> Oid {
    // What other sessions have granted and revoked by now counts.
    // SAFETY: in a transaction; catalog caches are brought up to date.
    unsafe { pg_sys::AcceptInvalidationMessages() };
    let Some(name) = table::name(index) else {
        Error::new(
            ERRCODE_UNDEFINED_TABLE,
            format!("relation with OID {} does not exist", index.to_u32()),
        )
        .raise();
    };
    check_kind(index, &name);
    // SAFETY: a syscache look-up; with true, it yields an invalid OID if the index is gone.
    let table = unsafe { pg_sys::IndexGetRelation(index, true) };
    check_privilege(index, &name, table, purpose);
    check_row_security(&name, table);
    table
}

fn check_kind(index: Oid, name: &str) {
    let is_ours = |found| is_access_method(found, c"simhash");
    if !index_access_method(index).is_some_and(is_ours) {
        let message = format!("\"{name}\" is not a simhash index");
        Error::new(ERRCODE_WRONG_OBJECT_TYPE, message).raise();
    }
    if is_partitioned_index(index) {
        Error::new(
            ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{name}\" is a partitioned index"),
        )
        .hint("Name the index of a partition: a partitioned one has no pages.")
        .raise();
    }
}

fn check_privilege(index: Oid, name: &str, table: Oid, purpose: OpenPurpose) {
    let missing = match purpose {
        OpenPurpose::Verification if !compat::owns_relation(index) => "must be owner of index",
        OpenPurpose::Statistics if !may(table, SELECT, &[]) => {
            "permission denied for the table of index"
        }
        _ => return,
    };
    Error::new(ERRCODE_INSUFFICIENT_PRIVILEGE, format!("{missing} {name}")).raise();
}

fn check_row_security(name: &str, table: Oid) {
    if has_row_security(table) {
        let table = table::name(table).unwrap_or_default();
        Error::new(
            ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for index {name}"),
        )
        .detail(format!(
            "Row-level security of table \"{table}\" applies to the current user, and the index \
                 shows what all rows have."
        ))
        .hint(
            "Ask as a superuser, as a role with BYPASSRLS or, unless row-level security is \
                 forced, as the owner of the table.",
        )
        .raise();
    }
}

/// Conflicts with DDL, not with reading and writing.
const LOCK: i32 = pg_sys::AccessShareLock as i32;

/// An index and its table, locked until the end of the transaction.
pub struct OpenIndex {
    index: pg_sys::Relation,
    table: pg_sys::Relation,
}

impl OpenIndex {
    /// Opens an index of ours. Raises an ERROR if the relation is something else,
    /// if the current user lacks the rights for this purpose, or if the index is not valid, a
    /// temporary one of another session, or an unlogged one on a standby.
    pub fn new(oid: Oid, purpose: OpenPurpose) -> OpenIndex {
        let table_oid = table_of_index(oid, purpose);
        // SAFETY: locks table before index, as the server does; both are closed by `drop` or, after
        // an ERROR, by the server. Null stands for a relation that was dropped before it was
        // locked.
        unsafe {
            let table = pg_sys::try_table_open(table_oid, LOCK);
            // While the lock was awaited, rights may have been revoked.
            if table.is_null() || table_of_index(oid, purpose) != table_oid {
                Error::new(
                    ERRCODE_UNDEFINED_TABLE,
                    "the index's table was dropped meanwhile",
                )
                .raise();
            }
            let index = pg_sys::index_open(oid, LOCK);
            let open = OpenIndex { index, table };
            check(open.index());
            open
        }
    }

    /// The index, under AccessShareLock.
    pub fn index(&self) -> Rel<'_> {
        // SAFETY: open until `drop`.
        unsafe { Rel::from_raw(self.index) }
    }

    /// The index's table, under the same lock.
    pub fn table(&self) -> Rel<'_> {
        // SAFETY: open until `drop`.
        unsafe { Rel::from_raw(self.table) }
    }

    /// Calls `row` with each row that the snapshot sees and the index must contain.
    pub fn visible_rows(&self, snapshot: &LatestSnapshot, row: RowSink) {
        // SAFETY: table and index are open, the snapshot registered. As CREATE INDEX CONCURRENTLY does it:
        // with an MVCC snapshot, and no constraint checked again.
        unsafe {
            let no_keys = std::ptr::null_mut();
            let scan =
                pg_sys::table_beginscan_strat(self.table, snapshot.0, 0, no_keys, true, true);
            let info = pg_sys::BuildIndexInfo(self.index);
            (*info).ii_Concurrent = true;
            (*info).ii_ExclusionOps = std::ptr::null_mut();
            (*info).ii_ExclusionProcs = std::ptr::null_mut();
            (*info).ii_ExclusionStrats = std::ptr::null_mut();
            scan_table(self.table(), self.index(), info, false, scan, row);
        }
    }

    /// Switches to the table's owner, as maintenance commands do, until the result is dropped: the
    /// index's expressions may call functions, which must not run with the caller's privileges.
    pub fn as_owner(&self) -> AsOwner {
        // SAFETY: the table is open; `drop` restores user and settings, after an ERROR the server
        // does.
        unsafe {
            let (mut user, mut context) = (pg_sys::Oid::INVALID, 0);
            pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
            let owner = (*(*self.table).rd_rel).relowner;
            let restricted = context | pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
            pg_sys::SetUserIdAndSecContext(owner, restricted);
            let settings = pg_sys::NewGUCNestLevel();
            compat::restrict_search_path();
            AsOwner {
                user,
                context,
                settings,
            }
        }
    }
}

impl Drop for OpenIndex {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened by `new`. The locks stay until the end of the transaction.
            unsafe {
                pg_sys::index_close(self.index, pg_sys::NoLock as i32);
                pg_sys::table_close(self.table, pg_sys::NoLock as i32);
            }
        }
    }
}

/// A registered snapshot of what is committed now. It is not the transaction's own snapshot: under
/// REPEATABLE READ that may see row versions older than the index, which the index need not contain
/// (pg_index.indcheckxmin).
pub struct LatestSnapshot(pg_sys::Snapshot);

impl LatestSnapshot {
    /// Registers one, which holds back VACUUM until it is dropped.
    pub fn take() -> LatestSnapshot {
        // SAFETY: unregistered by `drop` or, after an ERROR, by the server.
        LatestSnapshot(unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) })
    }
}

impl Drop for LatestSnapshot {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: registered by `take`.
            unsafe { pg_sys::UnregisterSnapshot(self.0) };
        }
    }
}

/// Restores the user that [`OpenIndex::as_owner`] has switched from when it is dropped.
pub struct AsOwner {
    user: pg_sys::Oid,
    context: i32,
    settings: i32,
}

impl Drop for AsOwner {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the values that `as_owner` saved; settings that functions have changed
            // meanwhile are restored.
            unsafe {
                pg_sys::AtEOXact_GUC(false, self.settings);
                pg_sys::SetUserIdAndSecContext(self.user, self.context);
            }
        }
    }
}

fn check(rel: Rel) {
    let name = rel.name();
    if !rel.is_valid() {
        Error::new(
            ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("index \"{name}\" is not valid"),
        )
        .hint("It is being built, or CREATE INDEX CONCURRENTLY failed: drop or rebuild it.")
        .raise();
    }
    // SAFETY: reads a flag in shared memory.
    if !rel.is_permanent() && unsafe { pg_sys::RecoveryInProgress() } {
        Error::new(
            ERRCODE_FEATURE_NOT_SUPPORTED,
            "cannot access temporary or unlogged relations during recovery",
        )
        .raise();
    }
    // SAFETY: the relation is open.
    let is_own = unsafe { (*rel.raw()).rd_islocaltemp };
    if rel.is_temporary() && !is_own {
        Error::new(
            ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "cannot access temporary indexes of other sessions",
        )
        .raise();
    }
}

/// The row that a snapshot sees at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisibleRow {
    /// Nothing.
    None,
    /// A row that does not satisfy the index's predicate.
    LeftOut,
    /// A row that the index must contain, as its postings have it.
    Stored(IndexedRow),
}

/// Reads single rows and computes the index's columns.
pub struct RowReader<'o> {
    snapshot: &'o LatestSnapshot,
    fetch: *mut pg_sys::IndexFetchTableData,
    slot: *mut pg_sys::TupleTableSlot,
    state: *mut pg_sys::EState,
    context: *mut pg_sys::ExprContext,
    index: Rel<'o>,
    info: *mut pg_sys::IndexInfo,
    /// The predicate; null without one.
    predicate: *mut pg_sys::ExprState,
}

impl<'o> RowReader<'o> {
    /// Prepares the evaluation of the index's expressions and predicate, once for many rows.
    pub fn new(open: &'o OpenIndex, snapshot: &'o LatestSnapshot) -> RowReader<'o> {
        let (table, index) = (open.table().raw(), open.index().raw());
        // SAFETY: both relations are open as long as the reader lives. As the server's own build
        // scan does it: the context reads its columns from the slot, which takes rows of the table.
        unsafe {
            let info = pg_sys::BuildIndexInfo(index);
            let state = pg_sys::CreateExecutorState();
            let context = pg_sys::MakePerTupleExprContext(state);
            let slot = pg_sys::table_slot_create(table, std::ptr::null_mut());
            (*context).ecxt_scantuple = slot;
            RowReader {
                snapshot,
                fetch: compat::begin_index_fetch(table),
                slot,
                state,
                context,
                index: open.index(),
                info,
                predicate: pg_sys::ExecPrepareQual((*info).ii_Predicate, state),
            }
        }
    }

    /// Returns what the snapshot sees at an address, which must be one that the table can have. The
    /// address is that of a HOT chain; the row is its visible version, if there is one.
    pub fn row(&mut self, tid: Tid) -> VisibleRow {
        let mut tid = tid_to(tid);
        let mut again = false;
        // SAFETY: all was made by `new`; no index has more columns than the arrays have room for.
        // The reset frees what the expressions allocated, after the values were hashed.
        unsafe {
            let (fetch, slot, snapshot) = (self.fetch, self.slot, self.snapshot.0);
            let none = std::ptr::null_mut();
            let found =
                pg_sys::table_index_fetch_tuple(fetch, &mut tid, snapshot, slot, &mut again, none);
            if !found {
                return VisibleRow::None;
            }
            let memory = MemoryContext::from_raw((*self.context).ecxt_per_tuple_memory);
            let row = memory.run(|| {
                if !self.predicate.is_null() && !pg_sys::ExecQual(self.predicate, self.context) {
                    return None;
                }
                let mut values = [pg_sys::Datum::null(); pg_sys::INDEX_MAX_KEYS as usize];
                let mut nulls = [false; pg_sys::INDEX_MAX_KEYS as usize];
                let (to, is_null) = (values.as_mut_ptr(), nulls.as_mut_ptr());
                pg_sys::FormIndexDatum(self.info, slot, self.state, to, is_null);
                Some(indexed_row(self.index, to, is_null))
            });
            memory.reset();
            row.map_or(VisibleRow::LeftOut, VisibleRow::Stored)
        }
    }
}

impl Drop for RowReader<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by `new`. The info's expressions were prepared in the state's memory.
            unsafe {
                pg_sys::table_index_fetch_end(self.fetch);
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
                pg_sys::FreeExecutorState(self.state);
            }
        }
    }
}

//! Opening an index together with its table, for functions that take a regclass.

use super::build::{RowSink, scan_visible};
use super::compat;
use super::error::{raise, report};
use super::index_am::tid_to;
use super::relation::Rel;
use crate::index::key::Tid;
use pgrx::PgSqlErrorCode::{
    ERRCODE_INSUFFICIENT_PRIVILEGE, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
    ERRCODE_UNDEFINED_TABLE, ERRCODE_WRONG_OBJECT_TYPE,
};
use pgrx::pg_sys;

/// What an index is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// By its owner; writers are locked out (on a standby, where that cannot be had, DDL only).
    Verification,
    /// By whoever may read the table; only DDL is locked out.
    Statistics,
}

impl Purpose {
    fn lock(self) -> i32 {
        // SAFETY: reads a flag of the process.
        let standby = unsafe { pg_sys::RecoveryInProgress() };
        let lock = if self == Purpose::Statistics || standby {
            pg_sys::AccessShareLock
        } else {
            pg_sys::ShareLock
        };
        lock as i32
    }
}

/// An index and its table, locked until the end of the transaction, with a snapshot of the visible
/// rows.
pub struct OpenIndex {
    index: pg_sys::Relation,
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
}

impl OpenIndex {
    /// Opens an index of the access method `am`; raises an ERROR if it is something else, not the
    /// caller's to open for this purpose, not valid, or another session's temporary index.
    pub fn new(oid: pg_sys::Oid, am: &str, purpose: Purpose) -> OpenIndex {
        // SAFETY: locks table before index, as the server does; both are closed by `drop` or, after
        // an ERROR, by the server.
        unsafe {
            let lock = purpose.lock();
            // Of a relation that is no index there is no table; index_open below says what is wrong.
            let table_oid = pg_sys::IndexGetRelation(oid, true);
            let table = match table_oid {
                pg_sys::Oid::INVALID => std::ptr::null_mut(),
                _ => pg_sys::table_open(table_oid, lock),
            };
            let index = pg_sys::index_open(oid, lock);
            if table.is_null() || table_oid != pg_sys::IndexGetRelation(oid, false) {
                raise(
                    ERRCODE_UNDEFINED_TABLE,
                    "the index's table was dropped meanwhile",
                );
            }
            check(index, am);
            check_privilege(index, table_oid, purpose);
            // Not the transaction's own: under REPEATABLE READ that may see row versions older than the
            // index, which an index need not have (pg_index.indcheckxmin).
            let snapshot = pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot());
            OpenIndex {
                index,
                table,
                snapshot,
            }
        }
    }

    pub fn index(&self) -> Rel<'_> {
        // SAFETY: open until `drop`.
        unsafe { Rel::from_raw(self.index) }
    }

    /// Does the address lead to a row version that the snapshot sees?
    pub fn is_visible(&self, tid: Tid) -> bool {
        let mut tid = tid_to(tid);
        // SAFETY: the table is open and the snapshot registered.
        unsafe {
            pg_sys::table_index_fetch_tuple_check(
                self.table,
                &mut tid,
                self.snapshot,
                std::ptr::null_mut(),
            )
        }
    }

    /// Shows `row` each row that the snapshot sees and the index must contain.
    pub fn visible_rows(&self, row: RowSink) {
        // SAFETY: table and index are open, the snapshot registered.
        unsafe { scan_visible(self.table, self.index, self.snapshot, row) }
    }
}

impl Drop for OpenIndex {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened by `new`. The locks stay until the end of the transaction.
            unsafe {
                pg_sys::UnregisterSnapshot(self.snapshot);
                pg_sys::index_close(self.index, pg_sys::NoLock as i32);
                pg_sys::table_close(self.table, pg_sys::NoLock as i32);
            }
        }
    }
}

/// # Safety
/// `index` must be an open index.
unsafe fn check(index: pg_sys::Relation, am: &str) {
    // SAFETY: the caller's word.
    let rel = unsafe { Rel::from_raw(index) };
    let name = rel.name();
    if rel.access_method_name() != am {
        raise(
            ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{name}\" is not a {am} index"),
        );
    }
    if rel.is_partitioned_index() {
        report(
            ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{name}\" is a partitioned index"),
            None,
            Some("Name the index of a partition: a partitioned one has no pages.".into()),
        );
    }
    if !rel.is_valid() {
        report(
            ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("index \"{name}\" is not valid"),
            None,
            Some(
                "It is being built, or CREATE INDEX CONCURRENTLY failed: drop or rebuild it."
                    .into(),
            ),
        );
    }
    if rel.is_temporary() && !rel.is_own_temporary() {
        raise(
            ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "cannot access temporary indexes of other sessions",
        );
    }
}

/// # Safety
/// `index` must be an open index, of the table `table`.
unsafe fn check_privilege(index: pg_sys::Relation, table: pg_sys::Oid, purpose: Purpose) {
    // SAFETY: the caller's word; catalog look-ups.
    let (rel, may_read) = unsafe {
        let select = pg_sys::AclMode::from(pg_sys::ACL_SELECT);
        let found = pg_sys::pg_class_aclcheck(table, pg_sys::GetUserId(), select);
        (
            Rel::from_raw(index),
            found == pg_sys::AclResult::ACLCHECK_OK,
        )
    };
    let missing = match purpose {
        Purpose::Verification if !compat::owns_relation(rel.oid()) => "must be owner of index",
        Purpose::Statistics if !may_read => "permission denied for the table of index",
        _ => return,
    };
    raise(
        ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("{missing} {}", rel.name()),
    );
}

//! Opens an index together with its table, for functions that have a regclass argument. The
//! functions that check and show an index call it, and the reader of rows. The table is locked
//! before the index, and both locks last until the transaction ends.

use super::access::{OpenPurpose, table_of_index};
use super::build::{RowSink, scan_visible};
use crate::catalog::relation::Rel;
use crate::process::compat;
use crate::process::error::Error;
use pgrx::PgSqlErrorCode::{
    ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
    ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;
use std::ffi::CStr;

/// Conflicts with DDL, not with reading and writing.
const LOCK: i32 = pg_sys::AccessShareLock as i32;

/// An index and its table, locked until the end of the transaction.
pub struct OpenIndex {
    index: pg_sys::Relation,
    table: pg_sys::Relation,
}

impl OpenIndex {
    /// Opens an index of the access method `am`. Raises an ERROR if the relation is something else,
    /// if the current user lacks the rights for this purpose, or if the index is not valid, a
    /// temporary one of another session, or an unlogged one on a standby.
    #[inline]
    pub fn new(oid: pg_sys::Oid, am: &CStr, purpose: OpenPurpose) -> OpenIndex {
        let table_oid = table_of_index(oid, am, purpose);
        // SAFETY: locks table before index, as the server does; both are closed by `drop` or, after
        // an ERROR, by the server. Null stands for a relation that was dropped before it was
        // locked.
        unsafe {
            let table = pg_sys::try_table_open(table_oid, LOCK);
            // While the lock was awaited, rights may have been revoked.
            if table.is_null() || table_of_index(oid, am, purpose) != table_oid {
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
    #[inline]
    pub fn index(&self) -> Rel<'_> {
        // SAFETY: open until `drop`.
        unsafe { Rel::from_raw(self.index) }
    }

    /// The index's table, under the same lock.
    #[inline]
    pub fn table(&self) -> Rel<'_> {
        // SAFETY: open until `drop`.
        unsafe { Rel::from_raw(self.table) }
    }

    /// Calls `row` with each row that the snapshot sees and the index must contain.
    #[inline]
    pub fn visible_rows(&self, snapshot: &LatestSnapshot, row: RowSink) {
        // SAFETY: table and index are open, the snapshot registered.
        unsafe { scan_visible(self.table, self.index, snapshot.0, row) }
    }

    /// Switches to the table's owner, as maintenance commands do, until the result is dropped: the
    /// index's expressions may call functions, which must not run with the caller's privileges.
    #[inline]
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
    #[inline]
    pub fn take() -> LatestSnapshot {
        // SAFETY: unregistered by `drop` or, after an ERROR, by the server.
        LatestSnapshot(unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) })
    }

    #[inline]
    pub(crate) fn raw(&self) -> pg_sys::Snapshot {
        self.0
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
    if rel.is_temporary() && !rel.is_own_temporary() {
        Error::new(
            ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "cannot access temporary indexes of other sessions",
        )
        .raise();
    }
}

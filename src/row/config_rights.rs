//! Writing stored configurations: the privileges that it requires, and the lock that lets one
//! transaction do so at a time. The writing itself is SQL, in sql/.

use std::ffi::CStr;

use pgrx::PgSqlErrorCode::{
    ERRCODE_INSUFFICIENT_PRIVILEGE, ERRCODE_INVALID_TRANSACTION_STATE, ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;

use simhash_pg::catalog::lookup::table_in;
use simhash_pg::catalog::privilege::{DELETE, INSERT, UPDATE, may};
use simhash_pg::process::advisory_lock::{isolation_level, keeps_its_snapshot, lock_until_commit};
use simhash_pg::process::error::Error;
use simhash_pg::process::error_context::leave_out_statement;
use simhash_pg::sql::fmgr::pg_function;

const TABLES: [&CStr; 2] = [c"config", c"content"];

/// The number of the lock, among those of table config.
const LOCK: u32 = 0;

pg_function! {
    /// `simhash_catalog.check_writer(dropping boolean, lock boolean) -> void`, strict
    fn simhash_check_config_writer, pg_finfo_simhash_check_config_writer (args) {
        leave_out_statement();
        check(args.get(0).unwrap_or_default());
        if args.get(1).unwrap_or_default() {
            lock_until_commit(table(TABLES[0]), LOCK);
        }
        args.null()
    }
}

/// Raises an ERROR unless the caller may write, and sees what others have written: its snapshot may
/// be older than a configuration of the same name, or than the drop of one that has the same words.
fn check(dropping: bool) {
    let rights = match dropping {
        true => [("UPDATE", UPDATE), ("DELETE", DELETE)],
        false => [("INSERT", INSERT); 2],
    };
    for (name, (right, mode)) in TABLES.into_iter().zip(rights) {
        if !may(table(name), mode, &[]) {
            Error::new(
                ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("permission denied for table {}", name.to_string_lossy()),
            )
            .hint(format!(
                "The owner of the database may do this, and roles that a superuser has granted \
                     {right} on all tables in schema simhash_catalog."
            ))
            .raise()
        }
    }
    if keeps_its_snapshot() {
        let done = match dropping {
            true => "dropped",
            false => "created",
        };
        Error::new(
            ERRCODE_INVALID_TRANSACTION_STATE,
            format!(
                "configurations cannot be {done} in a transaction with isolation level {}",
                isolation_level()
            ),
        )
        .hint("Use SET TRANSACTION ISOLATION LEVEL READ COMMITTED.")
        .raise()
    }
}

fn table(name: &CStr) -> pg_sys::Oid {
    table_in(c"simhash_catalog", name).unwrap_or_else(|| {
        Error::new(
            ERRCODE_UNDEFINED_TABLE,
            format!(
                "relation \"simhash_catalog.{}\" does not exist",
                name.to_string_lossy()
            ),
        )
        .raise()
    })
}

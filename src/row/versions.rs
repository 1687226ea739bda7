//! Writing versions of configurations, dictionaries and idf tables: the rights that it takes, the
//! lock that lets one transaction do so at a time, and what is deleted with a version.

use std::cell::Cell;
use std::ffi::CStr;

use pgrx::PgSqlErrorCode::{
    ERRCODE_INSUFFICIENT_PRIVILEGE, ERRCODE_INVALID_PARAMETER_VALUE,
    ERRCODE_INVALID_TRANSACTION_STATE, ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;

use crate::pg::catalog::lookup::table_in;
use crate::pg::catalog::privilege::{DELETE, INSERT, may};
use crate::pg::process::advisory_lock::{isolation_level, keeps_its_snapshot, lock_until_commit};
use crate::pg::process::encoding::to_utf8;
use crate::pg::process::error::{raise, raise_not_serializable, raise_with_hint};
use crate::pg::process::error_context::leave_out_statement;
use crate::pg::spi::saved_query::{SavedQuery, Sees};
use crate::pg::spi::text_query::execute;
use crate::pg::sql::fmgr::{Args, pg_function};

const SCHEMA: &CStr = c"simhash_catalog";

/// The number of the lock, among those of table config.
const LOCK: u32 = 0;

/// What has versions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VersionedKind {
    Config,
    Dictionary,
    Idf,
}

impl VersionedKind {
    /// Argument 0: the name of the table of versions.
    fn of(args: &Args) -> Self {
        let name = text(args, 0);
        match name.as_str() {
            "config" => Self::Config,
            "dictionary" => Self::Dictionary,
            "idf" => Self::Idf,
            _ => raise(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!("\"{name}\" has no versions"),
            ),
        }
    }

    /// Where a version's rows are.
    fn tables(self) -> &'static [&'static CStr] {
        match self {
            Self::Config => &[c"config"],
            Self::Dictionary => &[c"dictionary", c"dictionary_word"],
            Self::Idf => &[c"idf", c"idf_term"],
        }
    }

    /// The statements that drop version $2 of $1. Of a dictionary they drop all versions before $2,
    /// and the words that $2 marks as removed.
    fn deletions(self) -> &'static [&'static str] {
        match self {
            Self::Config => &[
                "DELETE FROM simhash_catalog.config WHERE name OPERATOR(pg_catalog.=) $1 \
                 AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4",
            ],
            Self::Dictionary => &[
                "DELETE FROM simhash_catalog.dictionary_word \
                 WHERE dictionary OPERATOR(pg_catalog.=) $1 AND (version OPERATOR(pg_catalog.<) $2::pg_catalog.int4 \
                 OR version OPERATOR(pg_catalog.=) $2::pg_catalog.int4 AND removed)",
                "DELETE FROM simhash_catalog.dictionary WHERE name OPERATOR(pg_catalog.=) $1 \
                 AND version OPERATOR(pg_catalog.<) $2::pg_catalog.int4",
            ],
            Self::Idf => &[
                "DELETE FROM simhash_catalog.idf_term WHERE name OPERATOR(pg_catalog.=) $1 \
                 AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4",
                "DELETE FROM simhash_catalog.idf WHERE name OPERATOR(pg_catalog.=) $1 \
                 AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4",
            ],
        }
    }
}

pg_function! {
    /// `simhash_catalog.check_writer(kind text, name text, dropping boolean) -> void`, strict
    fn simhash_check_writer, pg_finfo_simhash_check_writer (args) {
        leave_out_statement();
        check(args);
        args.null()
    }
}

pg_function! {
    /// `simhash_catalog.lock_versions(kind text, name text, dropping boolean) -> void`, strict
    fn simhash_lock_versions, pg_finfo_simhash_lock_versions (args) {
        leave_out_statement();
        check(args);
        lock_until_commit(table(c"config"), LOCK);
        check_snapshot(args);
        args.null()
    }
}

pg_function! {
    /// `simhash_catalog.delete_version(kind text, name text, version int) -> void`, strict
    fn simhash_delete_version, pg_finfo_simhash_delete_version (args) {
        leave_out_statement();
        let version = args.get::<i32>(2).unwrap_or_default().to_string();
        let _dropping = Dropping::begin();
        for deletion in VersionedKind::of(args).deletions() {
            execute(deletion, &[&text(args, 1), &version]);
        }
        args.null()
    }
}

pg_function! {
    /// `simhash_catalog.is_dropping() -> boolean`
    fn simhash_is_dropping, pg_finfo_simhash_is_dropping (args) {
        args.result(Some(DROPPING.get()))
    }
}

thread_local! {
    static DROPPING: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, the triggers of the tables allow rows to be deleted.
struct Dropping;

impl Dropping {
    fn begin() -> Self {
        DROPPING.set(true);
        Self
    }
}

impl Drop for Dropping {
    fn drop(&mut self) {
        DROPPING.set(false);
    }
}

fn check(args: &Args) {
    let kind = VersionedKind::of(args);
    let dropping = is_dropping(args);
    for name in kind.tables() {
        let table = table(name);
        let name = name.to_string_lossy();
        let refuse = |right| {
            raise_with_hint(
                ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("permission denied for table {name}"),
                format!(
                    "The owner of the database may do this, and roles that a superuser has granted \
                     {right} on all tables in schema simhash_catalog."
                ),
            )
        };
        // Dropping versions of a dictionary writes the words that stay anew.
        if (!dropping || kind == VersionedKind::Dictionary) && !may(table, INSERT, &[]) {
            refuse("INSERT");
        }
        if dropping && !may(table, DELETE, &[]) {
            refuse("DELETE");
        }
    }
    check_snapshot(args);
}

/// Raises an ERROR in a transaction that keeps its snapshot: the snapshot may be older than the
/// newest version, on which the next one builds. An idf table does not build on older versions, and
/// counting documents in one snapshot is useful, so that there only the newest must be visible.
fn check_snapshot(args: &Args) {
    if !keeps_its_snapshot() {
        return;
    }
    if VersionedKind::of(args) == VersionedKind::Idf && !is_dropping(args) {
        return check_newest_idf(args);
    }
    let done = match is_dropping(args) {
        true => "dropped",
        false => "made",
    };
    raise_with_hint(
        ERRCODE_INVALID_TRANSACTION_STATE,
        format!(
            "versions cannot be {done} in a transaction with isolation level {}",
            isolation_level()
        ),
        "Use SET TRANSACTION ISOLATION LEVEL READ COMMITTED.",
    )
}

/// Raises an ERROR unless this transaction sees the newest version of the idf table.
fn check_newest_idf(args: &Args) {
    let newest = SavedQuery::new(
        "SELECT pg_catalog.max(version) FROM simhash_catalog.idf \
         WHERE name OPERATOR(pg_catalog.=) $1",
        &[pg_sys::TEXTOID],
        false,
    );
    let name = args.varlena(1, pg_sys::TEXTOID);
    let number = |sees| {
        let [number] = newest.first_row(args, &[name], sees)?;
        Some(number?.integer())
    };
    let (latest, seen) = (number(Sees::Latest), number(Sees::Usual));
    drop(newest);
    if let Some(version) = latest
        && latest != seen
    {
        raise_not_serializable(&format!(
            "version {version} of idf table \"{}\" was made meanwhile",
            text(args, 1)
        ));
    }
}

fn table(name: &CStr) -> pg_sys::Oid {
    table_in(SCHEMA, name).unwrap_or_else(|| {
        raise(
            ERRCODE_UNDEFINED_TABLE,
            format!(
                "relation \"simhash_catalog.{}\" does not exist",
                name.to_string_lossy()
            ),
        )
    })
}

/// Is argument 2 true?
fn is_dropping(args: &Args) -> bool {
    args.get(2).unwrap_or_default()
}

fn text(args: &Args, i: usize) -> String {
    let text = args.varlena(i, pg_sys::TEXTOID);
    text.map_or(String::new(), |text| to_utf8(text.bytes()).into_owned())
}

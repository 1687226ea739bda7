//! The table of clusters that `simhash_catalog.maintain_clusters()` writes. It is looked up by the name in
//! the trigger's arguments, and checked once in a session: the first row reports what is wrong with
//! it, with the names of the table and of the trigger.

use pgrx::PgSqlErrorCode::{
    ERRCODE_DATATYPE_MISMATCH, ERRCODE_GENERATED_ALWAYS, ERRCODE_INSUFFICIENT_PRIVILEGE,
    ERRCODE_INVALID_COLUMN_REFERENCE, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
    ERRCODE_UNDEFINED_COLUMN, ERRCODE_WRONG_OBJECT_TYPE,
};
use pgrx::pg_sys::{self, Oid};

use simhash_pg::catalog::lookup::{DELETE, INSERT, SELECT, UPDATE, has_row_security, may};
use simhash_pg::catalog::table::{self, Column, OpenTable};
use simhash_pg::catalog::table_name;
use simhash_pg::process::error::Error;
use simhash_pg::sql::trigger::TriggerCall;

/// The columns of a table of clusters.
const KEY: &str = "key";
const CLUSTER_ID: &str = "cluster_id";
const LASTING_ID: &str = "lasting_id";

const HINT: &str = "simhash_keep_clusters makes a table that would do.";

/// Returns whether a table of clusters keeps lasting ids: not if somebody made it without.
pub fn has_ids(clusters: Oid) -> bool {
    lasting_id(&OpenTable::new(clusters)).is_some()
}

fn lasting_id(clusters: &OpenTable) -> Option<Column> {
    table::column(clusters.rel(), LASTING_ID)
        .filter(|column| column.storage.type_id == pg_sys::INT8OID)
}

/// Checks a table of clusters, for a table whose rows are clustered.
pub struct ClusterTableCheck<'a> {
    pub call: &'a TriggerCall<'a>,
    /// The table that is searched: for a partition, the partitioned table that has the trigger.
    pub table: Oid,
    pub key_name: &'a str,
    pub key: &'a Column,
}

impl ClusterTableCheck<'_> {
    /// Checks what the trigger needs of the table, except for privileges.
    pub fn check(&self, clusters: Oid) -> ClusterTable {
        let name = table_name::shown(clusters);
        if !table::is_table(clusters) {
            let message = format!("\"{name}\", which is to hold clusters, is not a table");
            self.call
                .raise(Error::new(ERRCODE_WRONG_OBJECT_TYPE, message));
        }
        let opened = OpenTable::new(clusters);
        self.refuse_foreign_key(&opened);
        let key = self.column(&opened, KEY);
        let cluster_id = self.column(&opened, CLUSTER_ID);
        let (code, message) = match opened.uniqueness(key.number()) {
            Some(true) => {
                return ClusterTable {
                    oid: clusters,
                    key: key.number(),
                    ids: (std::iter::once(&cluster_id).chain(&lasting_id(&opened)))
                        .map(Column::number)
                        .collect(),
                };
            }
            Some(false) => (
                ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "the unique constraint on column \"{KEY}\" of table \"{name}\" is deferrable"
                ),
            ),
            None => (
                ERRCODE_INVALID_COLUMN_REFERENCE,
                format!("table \"{name}\" has no unique constraint on column \"{KEY}\""),
            ),
        };
        let hint = format!(
            "ALTER TABLE {} ADD PRIMARY KEY ({KEY});",
            table_name::sql(clusters)
        );
        self.call.raise(Error::new(code, message).hint(hint))
    }

    /// Refuses a table of clusters that references the rows. The server acts on a foreign key row
    /// by row, before or after this trigger: it would remove entries that a cluster is still named
    /// after, and leave entries that name a row which is gone.
    fn refuse_foreign_key(&self, clusters: &OpenTable) {
        let fired = self.call.relation().oid();
        let Some(constraint) = clusters.foreign_key_to(&[self.table, fired]) else {
            return;
        };
        let oid = clusters.rel().oid();
        let message = format!(
            "table \"{}\", which is to hold clusters, has a foreign key to table \"{}\"",
            table_name::shown(oid),
            table_name::shown(self.table)
        );
        let hint = format!(
            "The trigger removes entries itself: ALTER TABLE {} DROP CONSTRAINT {};",
            table_name::sql(oid),
            table_name::identifier(&constraint)
        );
        self.call
            .raise(Error::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint(hint));
    }

    /// Returns a column of the table of clusters, to whose type keys must be cast implicitly.
    fn column(&self, clusters: &OpenTable, name: &str) -> Column {
        let oid = clusters.rel().oid();
        let table = table_name::shown(oid);
        let refuse = |code, message| -> ! { self.call.raise(Error::new(code, message).hint(HINT)) };
        let Some(column) = table::column(clusters.rel(), name) else {
            let message =
                format!("table \"{table}\", which is to hold clusters, has no column \"{name}\"");
            refuse(ERRCODE_UNDEFINED_COLUMN, message)
        };
        let (from, to) = (self.key.storage.type_id, column.storage.type_id);
        if !table::casts_implicitly(from, to) {
            let (from, to, key) = (table::type_name(from), table::type_name(to), self.key_name);
            let message = format!(
                "column \"{name}\" of table \"{table}\" is of type {to}, but the key \"{key}\" is of type {from}"
            );
            refuse(ERRCODE_DATATYPE_MISMATCH, message)
        }
        if column.generated || column.always_identity {
            let message = format!(
                "column \"{name}\" of table \"{table}\" is generated always: the trigger cannot store clusters in it"
            );
            refuse(ERRCODE_GENERATED_ALWAYS, message)
        }
        column
    }
}

/// A table of clusters that was checked.
pub struct ClusterTable {
    pub oid: Oid,
    key: i16,
    /// The columns of ids.
    ids: Vec<i16>,
}

impl ClusterTable {
    /// Raises an ERROR when the current user may not write clusters, or does not see all: at the first
    /// row, not only at the first one that has a near-duplicate.
    pub fn check_rights(&self, call: &TriggerCall<'_>) {
        if has_row_security(self.oid) {
            call.raise(refuse_row_security(self.oid));
        }
        let all = [&[self.key], &self.ids[..]].concat();
        if may(self.oid, SELECT, &all)
            && may(self.oid, INSERT, &all)
            && may(self.oid, UPDATE, &self.ids)
            && may(self.oid, DELETE, &[])
        {
            return;
        }
        let name = table::name(self.oid).unwrap_or_default();
        call.raise(
            Error::new(
                ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("permission denied for table {name}"),
            )
            .hint(format!(
                "A role that changes the clustered table needs SELECT, INSERT, UPDATE and DELETE on \
                 table {}.",
                table_name::sql(self.oid)
            )),
        );
    }
}

/// Returns the ERROR for a user from whom rows are hidden.
pub fn refuse_row_security(table: Oid) -> Error {
    let name = table_name::shown(table);
    let message = format!("row security hides rows of table \"{name}\"");
    Error::new(ERRCODE_INSUFFICIENT_PRIVILEGE, message).hint(
        "Clusters are of all rows: use a role that sees them, such as one with BYPASSRLS. Of clusters \
         kept \"within\" the columns of a policy, a writer needs to see those of its own rows.",
    )
}

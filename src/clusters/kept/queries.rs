//! The queries of a refresh, as SQL text. Each deletes the notes, computes clusters and writes what
//! is different, in one statement and so under one snapshot.

use pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE;
use pgrx::pg_sys::Oid;

use crate::pairs::source::column;
use simhash_pg::catalog::table::{self, OpenTable, quoted};
use simhash_pg::catalog::table_name::literal;
use simhash_pg::process::error::Error;
use simhash_pg::sql::key_type::{Equality, KeyType, no_order};
use simhash_trigger::kept_options::KeptOptions;

/// A kept table.
pub struct KeptTable {
    /// The table whose rows are clustered.
    pub relation: Oid,
    pub clusters: Oid,
    /// None where clusters are kept at once.
    pub notes: Option<Oid>,
    pub options: KeptOptions,
}

/// Parts of the queries, as SQL text.
pub struct RefreshQueries {
    rows: String,
    clusters: String,
    notes: Option<String>,
    /// The columns of the table.
    key: String,
    fp: String,
    /// The condition that row `r` of the table is near `d`, of the columns that `scope_columns`
    /// gives.
    is_near: String,
    /// The columns of the scope, each after a comma.
    scope_columns: String,
    /// The base type of keys, and a cast to it in the type's default collation.
    key_type: String,
    cast: String,
    equality: Equality,
    /// The arguments of clusters_among, without the keys.
    arguments: String,
}

impl RefreshQueries {
    pub fn new(kept: &KeptTable) -> Self {
        let options = &kept.options;
        let opened = OpenTable::new(kept.relation);
        let base_type = column(&opened, &options.key, "the key").base_type();
        let key_type = KeyType::new(base_type);
        let (Some(order), Some(equality)) =
            (&key_type, key_type.as_ref().and_then(KeyType::equality))
        else {
            no_order(base_type).raise()
        };
        let collate = (order.collation()).map_or(String::new(), |name| format!(" COLLATE {name}"));
        let key_type = table::qualified_type_name(base_type);
        let fp = quoted(&options.fingerprint);
        let is_near = format!(
            "simhash_catalog.distance(r.{fp}::pg_catalog.int8, d.fp) OPERATOR(pg_catalog.<=) {}",
            options.radius
        );
        let (mut scope_columns, mut is_in_scope) = (String::new(), String::new());
        for name in &options.within {
            let type_id = column(&opened, name, "part of the scope").base_type();
            let equality = Equality::for_type(type_id).unwrap_or_else(|| no_order(type_id).raise());
            let name = quoted(name);
            scope_columns += &format!(", r.{name}");
            is_in_scope += " AND ";
            is_in_scope += &equality.clause(&format!("r.{name}"), &format!("d.{name}"));
        }
        Self {
            rows: named(kept.relation),
            clusters: named(kept.clusters),
            notes: kept.notes.map(named),
            key: quoted(&options.key),
            fp,
            is_near: is_near + &is_in_scope,
            scope_columns,
            cast: format!("::{key_type}{collate}"),
            arguments: arguments(kept, &key_type),
            key_type,
            equality,
        }
    }

    /// Finds the number of notes, whether one says that all rows may have changed, and the number
    /// of rows that the server believes the table to have.
    pub fn count(&self, relation: Oid) -> String {
        let (notes, relation) = (self.notes.as_deref().unwrap_or_default(), relation.to_u32());
        format!(
            "SELECT pg_catalog.count(*), COALESCE(pg_catalog.bool_or(key IS NULL), false), (
                SELECT pg_catalog.sum(CASE WHEN c.reltuples OPERATOR(pg_catalog.>) 0 THEN c.reltuples END)::pg_catalog.int8
                FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) {relation}::pg_catalog.oid
                AND c.relkind OPERATOR(pg_catalog.<>) 'p' OR c.oid OPERATOR(pg_catalog.=) ANY (ARRAY(
                    SELECT t.relid FROM pg_catalog.pg_partition_tree({relation}::pg_catalog.regclass) AS t WHERE t.isleaf
                ))
            ) FROM {notes}"
        )
    }

    /// Answers the notes. Returns one row: the number of entries of the table of clusters that
    /// changed.
    pub fn answer_notes(&self) -> String {
        let Self {
            rows,
            clusters,
            key,
            fp,
            is_near,
            scope_columns,
            key_type,
            cast,
            equality,
            ..
        } = self;
        let notes = self.notes.as_deref().unwrap_or_default();
        let is_noted = equality.among(&format!("r.{key}"), "key", "FROM noted");
        let is_near_key = equality.among("c.key", "key", "FROM near");
        let of_near = format!("FROM {clusters} AS c WHERE {is_near_key}");
        let is_old = equality.among("c.cluster_id", "c.cluster_id", &of_near);
        let keys = format!("ARRAY(SELECT key FROM near UNION SELECT key FROM old)::{key_type}[]");
        self.write_changes(
            &format!(
                "noted AS (
                    DELETE FROM {notes} WHERE key IS NOT NULL RETURNING key{cast} AS key
                ), changed AS MATERIALIZED (
                    SELECT DISTINCT r.{fp}::pg_catalog.int8 AS fp{scope_columns} FROM {rows} AS r
                    WHERE {is_noted} AND r.{fp}::pg_catalog.int8 IS NOT NULL
                ), near AS MATERIALIZED (
                    SELECT key FROM noted
                    UNION
                    SELECT near.key FROM changed AS d CROSS JOIN LATERAL (
                        SELECT r.{key}{cast} AS key FROM {rows} AS r WHERE {is_near}
                    ) AS near
                )"
            ),
            &format!(" WHERE {is_old}"),
            &keys,
        )
    }

    /// Computes all clusters again, which answers all notes. Returns one row, as above.
    pub fn compute_all(&self) -> String {
        let noted = match &self.notes {
            Some(notes) => format!("DELETE FROM {notes}"),
            None => "SELECT".to_owned(),
        };
        let none = format!("NULL::{}[]", self.key_type);
        self.write_changes(&format!("noted AS ({noted})"), "", &none)
    }

    /// The common end of the queries. `of_old` is the condition for the entries that may change;
    /// `keys` are the keys of their rows and of those that `found` has found.
    fn write_changes(&self, found: &str, of_old: &str, keys: &str) -> String {
        let Self {
            clusters,
            cast,
            equality,
            arguments,
            ..
        } = self;
        let is_gone = equality.among(
            "c.key",
            "key",
            "FROM (SELECT key FROM old EXCEPT SELECT key FROM fresh) AS gone",
        );
        let is_entry = equality.clause("old.key", "fresh.key");
        let is_same = equality.clause("old.cluster_id", "fresh.cluster_id");
        format!(
            "WITH {found}, old AS MATERIALIZED (
                SELECT c.key{cast} AS key, c.cluster_id{cast} AS cluster_id FROM {clusters} AS c{of_old}
            ), fresh AS MATERIALIZED (
                SELECT f.key{cast} AS key, f.cluster_id{cast} AS cluster_id
                FROM simhash_catalog.clusters_among({arguments}, {keys}) AS f
            ), gone AS (
                DELETE FROM {clusters} AS c WHERE {is_gone} RETURNING true
            ), written AS (
                INSERT INTO {clusters} AS c (key, cluster_id)
                SELECT fresh.key, fresh.cluster_id FROM fresh LEFT JOIN old ON {is_entry}
                WHERE ({is_same}) IS NOT TRUE
                ON CONFLICT (key) DO UPDATE SET cluster_id = excluded.cluster_id RETURNING true
            )
            SELECT (SELECT pg_catalog.count(*) FROM gone)
                OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM written)"
        )
    }
}

/// Returns the arguments of clusters_among up to `checked_by`.
fn arguments(kept: &KeptTable, key_type: &str) -> String {
    let KeptOptions {
        key,
        fingerprint,
        radius,
        within,
        text,
        min_jaccard,
        ..
    } = &kept.options;
    let names: Vec<String> = within.iter().map(|name| literal(name)).collect();
    let text = (text.as_deref()).map_or("NULL".to_owned(), literal);
    format!(
        "NULL::{key_type}, {}::pg_catalog.regclass, {}, {}, {radius}, 'components', {text}, {min_jaccard}, \
         ARRAY[{}]::pg_catalog.text[], NULL::pg_catalog.regproc",
        kept.relation.to_u32(),
        literal(key),
        literal(fingerprint),
        names.join(", ")
    )
}

/// Returns the name of a table as SQL text; raises an ERROR when it was dropped in the meantime.
fn named(table: Oid) -> String {
    table::qualified_name(table).unwrap_or_else(|| {
        Error::new(
            ERRCODE_UNDEFINED_TABLE,
            format!("relation with OID {} does not exist", table.to_u32()),
        )
        .raise()
    })
}

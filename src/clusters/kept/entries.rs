//! The entries of a table of clusters, as parts of SQL text: `changes` writes them, `judged` writes what
//! people say of them. They are of kept clusters ([`super::queries`]) or of stored records, which have a
//! table `_about` beside them. Names in a text are qualified: the search_path changes nothing.

use pgrx::pg_sys::Oid;

use super::cluster_table::has_ids;
use super::kept_table::named;
use super::queries::KeptQueries;
use super::refresh::kept_table;
use super::triggers::triggers_of;
use crate::pairs::named_columns::column;
use simhash_pg::catalog::table::{self, OpenTable};
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::key_type::{Equality, KeyType, no_order};
use simhash_pg::sql::value::Value;

/// Finds the tables of stored records: of the rows, the decisions and the log.
const ABOUT: &str = "SELECT pg_catalog.format('SELECT pg_catalog.to_regclass(%L)::pg_catalog.oid, decisions::pg_catalog.oid, log::pg_catalog.oid FROM %I.%I',
        pg_catalog.format('%I.%I', n.nspname, c.relname OPERATOR(pg_catalog.||) '_row'), n.nspname, a.relname)
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
    JOIN pg_catalog.pg_class AS a ON a.relnamespace OPERATOR(pg_catalog.=) c.relnamespace AND a.relowner OPERATOR(pg_catalog.=) c.relowner
        AND a.relname::pg_catalog.text OPERATOR(pg_catalog.=) (c.relname OPERATOR(pg_catalog.||) '_about')
    WHERE c.oid OPERATOR(pg_catalog.=) $1";

/// A table of clusters, and what belongs to it.
#[derive(Clone, Copy)]
pub struct Tables {
    /// The table whose rows are in clusters.
    pub rows: Oid,
    pub clusters: Oid,
    /// What a person has decided about pairs.
    pub decisions: Option<Oid>,
    /// What has become of clusters.
    pub log: Option<Oid>,
    /// Whether the rows are stored records.
    pub are_records: bool,
}

/// The tables as SQL text.
pub struct Entries {
    pub tables: Tables,
    pub(super) rows: String,
    pub(super) clusters: String,
    pub(super) decisions: Option<String>,
    pub(super) log: Option<String>,
    /// Whether entries `c` have lasting ids, and these as SQL text.
    pub(super) has_ids: bool,
    pub(super) id_of_c: &'static str,
    /// The column of the keys.
    pub(super) key: String,
    /// The base type of keys, a cast to it in the type's default collation, and the equality.
    pub(super) key_type: String,
    pub(super) cast: String,
    pub(super) equality: Equality,
    /// What row `r` needs for a cluster: NULL if it is in none.
    pub(super) fp: String,
    /// The columns of the scope of `r`, each after a comma, and the condition that `r` has those of `d`, after AND.
    pub(super) scope_columns: String,
    pub(super) is_in_scope: String,
}

impl Entries {
    /// Those of any row of a table, whose keys are in this column.
    pub fn new(tables: Tables, key: &str) -> Self {
        let base_type = column(&OpenTable::new(tables.rows), key, "the key").base_type();
        let key_type = KeyType::new(base_type);
        let (Some(order), Some(equality)) =
            (&key_type, key_type.as_ref().and_then(KeyType::equality))
        else {
            no_order(base_type).raise()
        };
        let collate = (order.collation()).map_or(String::new(), |name| format!(" COLLATE {name}"));
        let key_type = table::qualified_type_name(base_type);
        let has_ids = has_ids(tables.clusters);
        Self {
            rows: named(tables.rows),
            clusters: named(tables.clusters),
            decisions: tables.decisions.map(named),
            log: tables.log.map(named),
            has_ids,
            id_of_c: match has_ids {
                true => "c.lasting_id",
                false => "NULL::pg_catalog.int8",
            },
            key: table::quoted(key),
            cast: format!("::{key_type}{collate}"),
            key_type,
            equality,
            fp: "true".to_owned(),
            scope_columns: String::new(),
            is_in_scope: String::new(),
            tables,
        }
    }

    /// Those of a table of clusters; raises an ERROR if nothing keeps it.
    pub fn of(clusters: Oid) -> Self {
        let tables = match triggers_of(clusters).is_empty() {
            true => of_records(clusters),
            false => None,
        };
        match tables {
            Some(tables) => Self::new(tables, "key"),
            None => KeptQueries::new(&kept_table(clusters)).entries,
        }
    }

    /// Brings all entries up to date. `computed` is a query of the keys and clusters of rows, `before` what is done
    /// first. Returns one row: the number of entries that changed.
    pub fn replace_all(&self, before: &str, computed: &str) -> String {
        let (clusters, cast, id_of_c) = (&self.clusters, &self.cast, &self.id_of_c);
        let old = format!(
            "{before}old AS MATERIALIZED (
                SELECT c.key{cast} AS key, c.cluster_id{cast} AS cluster_id, {id_of_c} AS lasting_id
                FROM {clusters} AS c
            )"
        );
        self.write_changes(&old, &self.fresh(computed, "", ""))
    }

    /// The table `fresh` of the clusters that are `computed`. What a person has judged the same
    /// is put together behind that, of the decisions `n` that `is_given` chooses, after AND. `others` adds entries,
    /// with their lasting ids.
    pub(super) fn fresh(&self, computed: &str, is_given: &str, others: &str) -> String {
        let (rows, key, fp, cast) = (&self.rows, &self.key, &self.fp, &self.cast);
        let (equality, is_in_scope) = (&self.equality, &self.is_in_scope);
        let scope_columns = &self.scope_columns;
        let computed = format!(
            "SELECT f.key{cast} AS key, f.cluster_id{cast} AS cluster_id FROM ({computed}) AS f"
        );
        let Some(decisions) = &self.decisions else {
            return format!(
                "fresh AS MATERIALIZED (
                    SELECT key, cluster_id, NULL::pg_catalog.int8 AS lasting_id FROM ({computed}) AS f{others}
                )"
            );
        };
        let is_itself = equality.clause("n.a", "n.b");
        let [is_a, is_b] =
            ["a", "b"].map(|side| equality.clause(&format!("r.{key}"), &format!("n.{side}")));
        format!(
            "computed AS MATERIALIZED ({computed}), linked AS MATERIALIZED (
                SELECT key, cluster_id FROM computed
                UNION ALL
                SELECT d.simhash_key, other.key FROM {decisions} AS n
                CROSS JOIN LATERAL (
                    SELECT r.{key}{cast} AS simhash_key, {fp} AS fp{scope_columns}
                    FROM {rows} AS r WHERE {is_a} LIMIT 1
                ) AS d
                CROSS JOIN LATERAL (
                    SELECT r.{key}{cast} AS key FROM {rows} AS r
                    WHERE {is_b} AND {fp} IS NOT NULL{is_in_scope} LIMIT 1
                ) AS other
                WHERE n.same AND NOT ({is_itself}) AND d.fp IS NOT NULL{is_given}
            ), fresh AS MATERIALIZED (
                SELECT f.key{cast} AS key, f.cluster_id{cast} AS cluster_id, NULL::pg_catalog.int8 AS lasting_id FROM (
                    SELECT pg_catalog.array_agg(key) AS a, pg_catalog.array_agg(cluster_id) AS b FROM linked
                ) AS pairs CROSS JOIN LATERAL simhash_catalog.components(pairs.a, pairs.b) AS f
            )"
        )
    }
}

/// Returns the tables of stored records; None if it is another table.
fn of_records(clusters: Oid) -> Option<Tables> {
    let mut query = None;
    for_each_row(ABOUT, &[Some(Value::from(clusters))], &mut |[text]| {
        query = text.map(|text| text.to_text());
    });
    let mut tables = None;
    for_each_row(&query?, &[], &mut |row| {
        let [rows, decisions, log] = row.map(|oid| oid.map(|oid| Oid::from(oid.oid())));
        tables = rows.map(|rows| Tables {
            rows,
            clusters,
            decisions,
            log,
            are_records: true,
        });
    });
    tables
}

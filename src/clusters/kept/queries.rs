//! The queries about kept clusters, as SQL text: `refresh` and `answer` run them. All look at noted
//! keys, the rows near them, and the members of the clusters in which these are; [`super`] says why
//! that suffices. Those of the short ways are in `short_queries`. Names in a text are qualified: the
//! search_path changes nothing.

use super::kept_table::{KeptTable, named};
use crate::pairs::named_columns::column;
use crate::trigger::hash_column::HashColumn;
use simhash_pg::catalog::indexes::Serving;
use simhash_pg::catalog::table::{self, OpenTable, quoted};
use simhash_pg::catalog::table_name::literal;
use simhash_pg::sql::key_type::{Equality, KeyType, no_order};

/// Parts of the queries, as SQL text. `$1` is an array of keys, or a key.
pub struct KeptQueries {
    /// Whether `$1` is a key.
    pub(super) of_one: bool,
    pub(super) rows: String,
    pub(super) clusters: String,
    pub(super) notes: Option<String>,
    pub(super) decisions: Option<String>,
    /// The columns of the table; the second with a cast.
    pub(super) key: String,
    pub(super) fp: String,
    pub(super) hashes: HashColumn,
    /// The condition that row `r` of the table has the columns of the scope that `d` has, after AND.
    pub(super) is_in_scope: String,
    /// The columns of the scope of `r`, each after a comma.
    pub(super) scope_columns: String,
    /// The text of `r`, after a comma, and the condition that `d` has the same, after AND.
    pub(super) text_column: String,
    pub(super) has_text: String,
    /// Bits.
    pub(super) radius: u32,
    /// The base type of keys, a cast to it in the type's default collation, and the equality.
    pub(super) key_type: String,
    pub(super) cast: String,
    pub(super) equality: Equality,
    /// The arguments of clusters_among, without the keys.
    pub(super) arguments: String,
}

impl KeptQueries {
    pub fn new(kept: &KeptTable) -> Self {
        let options = &kept.options;
        let opened = OpenTable::new(kept.relation);
        let base_type = column(&opened, &options.key, "the key").base_type();
        let within: Vec<&str> = options.within.iter().map(String::as_str).collect();
        let serving = Serving {
            access_method: "simhash",
            column: &options.fingerprint,
            pinned: &within,
            condition: None,
        };
        let fingerprint = column(&opened, &options.fingerprint, "the fingerprint");
        let hashes = HashColumn::new(&fingerprint, kept.relation, &serving);
        let key_type = KeyType::new(base_type);
        let (Some(order), Some(equality)) =
            (&key_type, key_type.as_ref().and_then(KeyType::equality))
        else {
            no_order(base_type).raise()
        };
        let collate = (order.collation()).map_or(String::new(), |name| format!(" COLLATE {name}"));
        let key_type = table::qualified_type_name(base_type);
        let (mut scope_columns, mut is_in_scope) = (String::new(), String::new());
        for name in &options.within {
            let type_id = column(&opened, name, "part of the scope").base_type();
            let equality = Equality::for_type(type_id).unwrap_or_else(|| no_order(type_id).raise());
            let name = quoted(name);
            scope_columns += &format!(", r.{name}");
            is_in_scope += " AND ";
            is_in_scope += &equality.clause(&format!("r.{name}"), &format!("d.{name}"));
        }
        let (mut text_column, mut has_text) = (String::new(), String::new());
        if let Some(name) = &options.text {
            // Texts that a collation finds equal may differ.
            let text = format!(
                "r.{}::pg_catalog.text COLLATE pg_catalog.\"C\"",
                quoted(name)
            );
            text_column = format!(", {text} AS simhash_text");
            has_text = format!(" AND {text} OPERATOR(pg_catalog.=) d.simhash_text");
        }
        Self {
            of_one: false,
            rows: named(kept.relation),
            clusters: named(kept.clusters),
            notes: kept.notes.map(named),
            decisions: kept.decisions.map(named),
            key: quoted(&options.key),
            fp: quoted(&options.fingerprint) + hashes.cast(),
            hashes,
            is_in_scope,
            scope_columns,
            text_column,
            has_text,
            radius: options.radius,
            cast: format!("::{key_type}{collate}"),
            arguments: arguments(kept, &key_type),
            key_type,
            equality,
        }
    }

    /// The same, where `$1` is a key: most statements change one row.
    pub fn of_one(self) -> Self {
        Self {
            of_one: true,
            ..self
        }
    }

    /// Finds the number of notes, whether one says that all rows may have changed, and the number
    /// of rows that the server believes the table to have.
    pub fn count(&self, relation: pgrx::pg_sys::Oid) -> String {
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
        let Self { key_type, cast, .. } = self;
        let notes = self.notes.as_deref().unwrap_or_default();
        let noted = format!("DELETE FROM {notes} WHERE key IS NOT NULL RETURNING key{cast} AS key");
        let inside = self.inside(&noted);
        let keys = format!("ARRAY(SELECT key FROM near UNION SELECT key FROM old)::{key_type}[]");
        self.write_changes(&inside, &keys)
    }

    /// Computes all clusters again, which answers all notes. Returns one row, as above.
    pub fn compute_all(&self) -> String {
        let Self { clusters, cast, .. } = self;
        let noted = match &self.notes {
            Some(notes) => format!("noted AS (DELETE FROM {notes}), "),
            None => String::new(),
        };
        let old = format!(
            "{noted}old AS MATERIALIZED (
                SELECT key{cast} AS key, cluster_id{cast} AS cluster_id FROM {clusters}
            )"
        );
        self.write_changes(&old, &format!("NULL::{}[]", self.key_type))
    }

    /// Finds, for noted keys, the ids of the clusters that [`Self::write`] may change, and the keys
    /// that it takes. A row in no cluster counts as one with its key as the id.
    pub fn find_inside(&self) -> String {
        let inside = self.inside(&self.given());
        let is_entry = self.equality.clause("old.key", "near.key");
        format!(
            "WITH {inside}
            SELECT (SELECT pg_catalog.array_agg(ids.id) FROM (
                SELECT cluster_id AS id FROM old
                UNION SELECT near.key FROM near LEFT JOIN old ON {is_entry} WHERE old.key IS NULL
            ) AS ids), (SELECT pg_catalog.array_agg(inside.key) FROM (
                SELECT key FROM near UNION SELECT key FROM old
            ) AS inside)"
        )
    }

    /// Computes the clusters of the rows with these keys again, and writes what is different.
    pub fn write(&self) -> String {
        let Self {
            clusters,
            cast,
            equality,
            ..
        } = self;
        let is_given = equality.any_of("c.key", "$1");
        let old = format!(
            "old AS MATERIALIZED (
                SELECT c.key{cast} AS key, c.cluster_id{cast} AS cluster_id
                FROM {clusters} AS c WHERE {is_given}
            )"
        );
        self.write_changes(&old, "$1")
    }

    /// Finds which of the noted keys matter: those with an entry, and those of rows that another one
    /// is near. With `may_join`, finds for each the id that [`Self::joined`] says, else NULL.
    pub fn find_what_matters(&self, may_join: bool) -> String {
        let Self {
            clusters,
            rows,
            key,
            fp,
            equality,
            ..
        } = self;
        let noted = self.given();
        let has_entry = equality.clause("c.key", "noted.key");
        let has_key = equality.clause(&format!("r.{key}"), "noted.key");
        let (near, scope) = (self.first_near(&has_key), &self.scope_columns);
        let joined = match may_join {
            true => self.joined(),
            false => format!("NULL::{}", self.key_type),
        };
        // With LIMIT, the server looks each up by its key, and reads no table as a whole.
        format!(
            "SELECT pg_catalog.array_agg(noted.key), pg_catalog.array_agg({joined})
            FROM ({noted}) AS noted
            WHERE (SELECT true FROM {clusters} AS c WHERE {has_entry} LIMIT 1)
            OR (SELECT true FROM (
                SELECT r.{fp} AS fp{scope} FROM {rows} AS r WHERE {has_key} LIMIT 1
            ) AS d CROSS JOIN LATERAL ({near}) AS near LIMIT 1)"
        )
    }

    /// Finds those of the keys `$1` that have an entry, and no row that the current user sees.
    pub fn find_unseen(&self) -> String {
        let Self {
            clusters,
            rows,
            key,
            equality,
            ..
        } = self;
        let is_given = equality.any_of("c.key", "$1");
        let has_key = equality.clause(&format!("r.{key}"), "c.key");
        let cast = &self.cast;
        format!(
            "SELECT pg_catalog.array_agg(c.key{cast}) FROM {clusters} AS c WHERE {is_given}
            AND (SELECT true FROM {rows} AS r WHERE {has_key} LIMIT 1) IS NULL"
        )
    }

    /// Tests whether a row has one of the keys `$1`.
    pub fn find_stored(&self) -> String {
        let has_key = self.equality.any_of(&format!("r.{}", self.key), "$1");
        format!("SELECT FROM {} AS r WHERE {has_key} LIMIT 1", self.rows)
    }

    /// The keys of `$1`, each once.
    pub(super) fn given(&self) -> String {
        let cast = &self.cast;
        match self.of_one {
            true => format!("SELECT $1{cast} AS key"),
            false => {
                format!("SELECT DISTINCT n.key{cast} AS key FROM pg_catalog.unnest($1) AS n (key)")
            }
        }
    }

    /// The condition that a key is among those of `$1`.
    pub(super) fn is_given(&self, key: &str) -> String {
        match self.of_one {
            true => self.equality.clause(key, "$1"),
            false => self.equality.any_of(key, "$1"),
        }
    }

    /// The condition that row `r` is near `d`, of the columns `fp` and `scope_columns`.
    pub(super) fn is_near(&self) -> String {
        let near = (self.hashes).is_near(&format!("r.{}", self.fp), "d.fp", self.radius);
        near + &self.is_in_scope
    }

    /// The tables `near`, the noted keys and those of the rows near theirs, and `old`, the entries of
    /// the clusters in which these are. `noted` is a query of the noted keys.
    fn inside(&self, noted: &str) -> String {
        let Self {
            rows,
            clusters,
            key,
            fp,
            scope_columns,
            cast,
            equality,
            ..
        } = self;
        let is_near = self.is_near();
        let is_noted = equality.among(&format!("r.{key}"), "key", "FROM noted");
        let is_near_key = equality.among("c.key", "key", "FROM near");
        let of_near = format!("FROM {clusters} AS c WHERE {is_near_key}");
        let is_old = equality.among("c.cluster_id", "c.cluster_id", &of_near);
        let decided = self.decisions.as_ref().map_or(String::new(), |decisions| {
            let sides = ["a", "b"].into_iter().zip(["b", "a"]);
            sides
                .map(|(side, other)| {
                    let is_noted = equality.among(&format!("n.{side}"), "key", "FROM noted");
                    let is_other = equality.clause(&format!("r.{key}"), &format!("n.{other}"));
                    format!(
                        " UNION SELECT other.key FROM {decisions} AS n CROSS JOIN LATERAL (
                            SELECT r.{key}{cast} AS key FROM {rows} AS r WHERE {is_other} LIMIT 1
                        ) AS other WHERE {is_noted} AND n.same"
                    )
                })
                .collect()
        });
        format!(
            "noted AS ({noted}), changed AS MATERIALIZED (
                SELECT DISTINCT r.{fp} AS fp{scope_columns} FROM {rows} AS r
                WHERE {is_noted} AND r.{fp} IS NOT NULL
            ), near AS MATERIALIZED (
                SELECT key FROM noted
                UNION
                SELECT near.key FROM changed AS d CROSS JOIN LATERAL (
                    SELECT r.{key}{cast} AS key FROM {rows} AS r WHERE {is_near}
                ) AS near{decided}
            ), old AS MATERIALIZED (
                SELECT c.key{cast} AS key, c.cluster_id{cast} AS cluster_id
                FROM {clusters} AS c WHERE {is_old}
            )"
        )
    }

    /// The common end of the queries: computes the clusters of the rows with these keys, and writes
    /// what differs from the entries `old`, which `found` has found. Returns how many entries changed.
    fn write_changes(&self, found: &str, keys: &str) -> String {
        let Self {
            clusters, equality, ..
        } = self;
        let is_gone = equality.among(
            "c.key",
            "key",
            "FROM (SELECT key FROM old EXCEPT SELECT key FROM fresh) AS gone",
        );
        let is_entry = equality.clause("old.key", "fresh.key");
        let is_same = equality.clause("old.cluster_id", "fresh.cluster_id");
        let fresh = self.fresh(keys);
        format!(
            "WITH {found}, {fresh}, gone AS (
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

    /// The table `fresh`, the clusters of the rows with these keys. What a person has judged the same
    /// is put together behind the search, since the rows need not be near.
    fn fresh(&self, keys: &str) -> String {
        let Self {
            rows,
            key,
            fp,
            cast,
            equality,
            arguments,
            is_in_scope,
            scope_columns,
            ..
        } = self;
        let computed = format!(
            "SELECT f.key{cast} AS key, f.cluster_id{cast} AS cluster_id
            FROM simhash_catalog.clusters_among({arguments}, {keys}) AS f"
        );
        let Some(decisions) = &self.decisions else {
            return format!("fresh AS MATERIALIZED ({computed})");
        };
        let is_given = match keys.starts_with("NULL") {
            true => String::new(),
            false => format!(" AND {}", equality.any_of("n.a", &format!("({keys})"))),
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
                    SELECT r.{key}{cast} AS simhash_key, r.{fp} AS fp{scope_columns}
                    FROM {rows} AS r WHERE {is_a} LIMIT 1
                ) AS d
                CROSS JOIN LATERAL (
                    SELECT r.{key}{cast} AS key FROM {rows} AS r
                    WHERE {is_b} AND r.{fp} IS NOT NULL{is_in_scope} LIMIT 1
                ) AS other
                WHERE n.same AND NOT ({is_itself}) AND d.fp IS NOT NULL{is_given}
            ), fresh AS MATERIALIZED (
                SELECT f.key{cast} AS key, f.cluster_id{cast} AS cluster_id FROM (
                    SELECT pg_catalog.array_agg(key) AS a, pg_catalog.array_agg(cluster_id) AS b FROM linked
                ) AS pairs CROSS JOIN LATERAL simhash_catalog.components(pairs.a, pairs.b) AS f
            )"
        )
    }
}

/// Returns the arguments of clusters_among up to `key`.
fn arguments(kept: &KeptTable, key_type: &str) -> String {
    let options = &kept.options;
    let names: Vec<String> = options.within.iter().map(|name| literal(name)).collect();
    let text = (options.text.as_deref()).map_or("NULL".to_owned(), literal);
    let least = options
        .min_jaccard
        .map_or("NULL".to_owned(), |least| least.to_string());
    let oid = |oid: Option<pgrx::pg_sys::Oid>| {
        oid.map_or("NULL".to_owned(), |oid| oid.to_u32().to_string())
    };
    format!(
        "{}::pg_catalog.regclass, NULL::{key_type}, {}, {}, 'components', {text}, {least}, \
         ARRAY[{}]::pg_catalog.text[], {}::pg_catalog.regproc, {}::pg_catalog.regclass, {}",
        kept.relation.to_u32(),
        literal(&options.fingerprint),
        options.radius,
        names.join(", "),
        oid(kept.checked_by),
        oid(kept.decisions),
        literal(&options.key),
    )
}

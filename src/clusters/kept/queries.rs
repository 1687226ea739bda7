//! The queries about kept clusters, as SQL text: `refresh` and `answer` run them. The answer looks at
//! noted keys, the rows near them, and the members of the clusters in which these are; [`super`] says
//! why that suffices. What is written then is in `entries` and `changes`. Names in a text are qualified: the search_path
//! changes nothing.

use pgrx::pg_sys::Oid;

use super::entries::{Entries, Tables};
use super::kept_table::{KeptTable, is_made_of, named};
use crate::index::fingerprint_function;
use crate::pairs::named_columns::column;
use crate::trigger::hash_column::{HashColumn, Radius, first_found};
use simhash_pg::catalog::fingerprint_index::{FingerprintIndex, indexes_of};
use simhash_pg::catalog::indexes::Serving;
use simhash_pg::catalog::table::{OpenTable, quoted};
use simhash_pg::catalog::table_name::literal;
use simhash_pg::spi::saved_query::SavedQuery;
use simhash_pg::sql::key_type::{Equality, no_order};

/// How many of the rows that are equal to a new one are looked at for one that is in a cluster: more
/// may be of other scopes.
const LOOKED_AT: u32 = 32;
/// Up to this number of keys a row may only join a cluster: for many it costs what it saves.
const MOST_JOINING: u32 = 256;

/// Parts of the queries, as SQL text. `$1` is an array of keys.
pub struct KeptQueries {
    pub entries: Entries,
    notes: Option<String>,
    pub(super) hashes: HashColumn,
    /// The text of `r`, after a comma, and the condition that `d` has the same, after AND. Texts that a
    /// collation finds equal may differ.
    text_column: String,
    has_text: String,
    /// Whether equal fingerprints and texts mean that the same rows are linked.
    tells_all: bool,
    /// Bits.
    radius: u32,
    /// The arguments of clusters_among, without the keys.
    arguments: String,
}

impl KeptQueries {
    pub fn new(kept: &KeptTable) -> Self {
        let options = &kept.options;
        let opened = OpenTable::new(kept.relation);
        let tables = Tables {
            rows: kept.relation,
            clusters: kept.clusters,
            decisions: kept.decisions,
            log: kept.log,
            are_records: false,
        };
        let mut entries = Entries::new(tables, &options.key);
        let within: Vec<&str> = options.within.iter().map(String::as_str).collect();
        let serving = Serving {
            access_method: "simhash",
            column: &options.fingerprint,
            pinned: &within,
            condition: None,
        };
        let fingerprint = column(&opened, &options.fingerprint, "the fingerprint");
        let quoted_fingerprint = quoted(&options.fingerprint);
        let (fp, hashes) = match is_made_of(&fingerprint) {
            // As in the index that serves it.
            true => (
                format!(
                    "{}.simhash64(r.{quoted_fingerprint}::pg_catalog.text)",
                    own_schema()
                ),
                HashColumn::Fingerprints {
                    has_index: has_index(kept.relation, &options.fingerprint),
                },
            ),
            false => {
                let hashes = HashColumn::new(&fingerprint, kept.relation, &serving);
                (format!("r.{quoted_fingerprint}{}", hashes.cast()), hashes)
            }
        };
        entries.fp = fp;
        for name in &options.within {
            let type_id = column(&opened, name, "part of the scope").base_type();
            let equality = Equality::for_type(type_id).unwrap_or_else(|| no_order(type_id).raise());
            let name = quoted(name);
            entries.scope_columns += &format!(", r.{name}");
            entries.is_in_scope += " AND ";
            entries.is_in_scope += &equality.clause(&format!("r.{name}"), &format!("d.{name}"));
        }
        let text = options.text.as_deref().map(|name| {
            let text = format!(
                "r.{}::pg_catalog.text COLLATE pg_catalog.\"C\"",
                quoted(name)
            );
            let has_text = format!(" AND {text} OPERATOR(pg_catalog.=) d.simhash_text");
            (format!(", {text} AS simhash_text"), has_text)
        });
        let (text_column, has_text) = text.unwrap_or_default();
        Self {
            tells_all: kept.decisions.is_none()
                && options.across.is_empty()
                && (kept.checked_by.is_none() || options.text.is_some()),
            text_column,
            has_text,
            notes: kept.notes.map(named),
            hashes,
            radius: options.radius,
            arguments: arguments(kept, &entries.key_type),
            entries,
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

    /// Answers the notes that are stored. Returns one row: the number of entries of the table of
    /// clusters that changed.
    pub fn answer_notes(&self) -> String {
        let cast = &self.entries.cast;
        let notes = self.notes.as_deref().unwrap_or_default();
        let noted = format!("DELETE FROM {notes} WHERE key IS NOT NULL RETURNING key{cast} AS key");
        self.answer("", &noted, "")
    }

    /// The same for the keys of `$1`. With `may_join`, where each change of a row is noted, nothing
    /// is computed if each of the rows only joins a cluster, so that one more copy costs the same
    /// beside a million.
    pub fn answer_keys(&self, may_join: bool) -> String {
        let given = self.given();
        if !(may_join && self.tells_all) {
            return self.answer("", &given, "");
        }
        let joined = self.joined();
        let joining = format!(
            "joining AS MATERIALIZED (
                SELECT noted.key, joined.id, joined.lasting_id
                FROM ({given}) AS noted LEFT JOIN LATERAL ({joined}) AS joined ON true
            ), "
        );
        let is_other = "EXISTS (SELECT FROM joining WHERE id IS NULL)";
        self.answer(
            &joining,
            &format!("SELECT key FROM joining WHERE {is_other}"),
            &format!(" UNION ALL SELECT key, id, lasting_id FROM joining WHERE NOT {is_other}"),
        )
    }

    /// `noted` is a query of keys, for which tables are found `before`; `others` adds entries.
    fn answer(&self, before: &str, noted: &str, others: &str) -> String {
        let (inside, key_type) = (self.inside(noted), &self.entries.key_type);
        let keys = format!("ARRAY(SELECT key FROM near UNION SELECT key FROM old)::{key_type}[]");
        let is_given = self.entries.equality.any_of("n.a", &format!("({keys})"));
        let fresh = (self.entries).fresh(&self.among(&keys), &format!(" AND {is_given}"), others);
        (self.entries).write_changes(&format!("{before}{inside}"), &fresh)
    }

    /// Finds the cluster of a row that is equal to that of `noted.key` and is not noted itself, if that row only
    /// joins it: the rows near it are in that cluster.
    fn joined(&self) -> String {
        let e = &self.entries;
        let (clusters, rows, key, fp) = (&e.clusters, &e.rows, &e.key, &e.fp);
        let (is_in_scope, scope_columns) = (&e.is_in_scope, &e.scope_columns);
        let (equality, cast, id_of_c) = (&e.equality, &e.cast, &e.id_of_c);
        let (has_text, text_column) = (&self.has_text, &self.text_column);
        let has_key = equality.clause(&format!("r.{key}"), "noted.key");
        let is_own = equality.clause("c.key", "noted.key");
        let is_named = equality.clause("c.cluster_id", "noted.key");
        let is_entry = equality.clause("c.key", &format!("equal.{key}"));
        let is_noted = equality.any_of(&format!("r.{key}"), "$1");
        // As a distance, which the index on fingerprints serves.
        let is_equal = (self.hashes).is_near(fp, "d.fp", 0);
        let keeps_name = equality.clause("LEAST(noted.key, entry.id)", "entry.id");
        format!(
            "SELECT entry.id, entry.lasting_id FROM (
                SELECT {fp} AS fp{scope_columns}{text_column}
                FROM {rows} AS r WHERE {has_key} LIMIT 1
            ) AS d CROSS JOIN LATERAL (
                SELECT r.{key} FROM {rows} AS r
                WHERE {is_equal}{is_in_scope}{has_text} AND NOT ({is_noted}) LIMIT {LOOKED_AT}
            ) AS equal CROSS JOIN LATERAL (
                SELECT c.cluster_id{cast} AS id, {id_of_c} AS lasting_id
                FROM {clusters} AS c WHERE {is_entry} LIMIT 1
            ) AS entry
            WHERE pg_catalog.cardinality($1) OPERATOR(pg_catalog.<=) {MOST_JOINING} AND (SELECT true FROM {clusters} AS c WHERE {is_own} LIMIT 1) IS NULL
            AND (SELECT true FROM {clusters} AS c WHERE {is_named} LIMIT 1) IS NULL AND {keeps_name}
            LIMIT 1"
        )
    }

    /// Computes all clusters again, which answers all notes. Returns one row, as above.
    pub fn compute_all(&self) -> String {
        let noted = match &self.notes {
            Some(notes) => format!("noted AS (DELETE FROM {notes}), "),
            None => String::new(),
        };
        let all = format!("NULL::{}[]", self.entries.key_type);
        self.entries.replace_all(&noted, &self.among(&all))
    }

    /// A query of the clusters of the rows with these keys.
    fn among(&self, keys: &str) -> String {
        let arguments = &self.arguments;
        format!(
            "SELECT f.key, f.cluster_id FROM simhash_catalog.clusters_among({arguments}, {keys}) AS f"
        )
    }

    /// Tests whether one of the keys matters: it has an entry, or its row another one near it.
    pub fn find_what_matters(&self) -> String {
        let e = &self.entries;
        let (clusters, rows, key, fp) = (&e.clusters, &e.rows, &e.key, &e.fp);
        let (equality, scope_columns) = (&e.equality, &e.scope_columns);
        let noted = self.given();
        let has_entry = equality.clause("c.key", "noted.key");
        let has_key = equality.clause(&format!("r.{key}"), "noted.key");
        let near = self.first_near(&has_key);
        // With LIMIT, the server looks each up by its key, and reads no table as a whole.
        format!(
            "SELECT FROM ({noted}) AS noted
            WHERE (SELECT true FROM {clusters} AS c WHERE {has_entry} LIMIT 1)
            OR (SELECT true FROM (
                SELECT {fp} AS fp{scope_columns} FROM {rows} AS r WHERE {has_key} LIMIT 1
            ) AS d CROSS JOIN LATERAL ({near}) AS near LIMIT 1) LIMIT 1"
        )
    }

    /// Finds whether a row other than that which `has_key` says is near `d`.
    fn first_near(&self, has_key: &str) -> String {
        let e = &self.entries;
        let (rows, fp, is_in_scope) = (&e.rows, &e.fp, &e.is_in_scope);
        let near = (self.hashes).near(fp, "d.fp", Radius::Bits(self.radius));
        let one = |near: String| {
            format!("SELECT true FROM {rows} AS r WHERE {near}{is_in_scope} AND NOT ({has_key})")
        };
        let queries: Vec<String> = near.into_iter().map(one).collect();
        first_found(&queries, " LIMIT 1")
    }

    /// Finds the keys of entries that an answer of `$1` may change, whose rows the current user does not
    /// see.
    pub fn find_unseen(&self) -> String {
        let e = &self.entries;
        let (rows, key, equality) = (&e.rows, &e.key, &e.equality);
        let inside = self.inside(&self.given());
        let has_key = equality.clause(&format!("r.{key}"), "old.key");
        format!(
            "WITH {inside} SELECT pg_catalog.array_agg(old.key) FROM old
            WHERE (SELECT true FROM {rows} AS r WHERE {has_key} LIMIT 1) IS NULL"
        )
    }

    /// Tests whether a row has one of the keys `$1`.
    pub fn find_stored(&self) -> String {
        let (rows, key) = (&self.entries.rows, &self.entries.key);
        let has_key = (self.entries.equality).any_of(&format!("r.{key}"), "$1");
        format!("SELECT FROM {rows} AS r WHERE {has_key} LIMIT 1")
    }

    /// The keys of `$1`, each once.
    fn given(&self) -> String {
        let cast = &self.entries.cast;
        format!("SELECT DISTINCT n.key{cast} AS key FROM pg_catalog.unnest($1) AS n (key)")
    }

    /// The condition that row `r` is near `d`, of the columns `fp` and `scope_columns`.
    fn is_near(&self) -> String {
        let near = (self.hashes).is_near(&self.entries.fp, "d.fp", self.radius);
        near + &self.entries.is_in_scope
    }

    /// The tables `near`, the noted keys and those of the rows near theirs, and `old`, the entries of
    /// the clusters in which these are. `noted` is a query of the noted keys.
    fn inside(&self, noted: &str) -> String {
        let e = &self.entries;
        let (rows, clusters, key, fp) = (&e.rows, &e.clusters, &e.key, &e.fp);
        let (scope_columns, cast, equality) = (&e.scope_columns, &e.cast, &e.equality);
        let id_of_c = &e.id_of_c;
        let is_near = self.is_near();
        let is_noted = equality.among(&format!("r.{key}"), "key", "FROM noted");
        let is_near_key = equality.among("c.key", "key", "FROM near");
        let of_near = format!("FROM {clusters} AS c WHERE {is_near_key}");
        let is_old = equality.among("c.cluster_id", "c.cluster_id", &of_near);
        let decided = e.decisions.iter().flat_map(|decisions| {
            [("a", "b"), ("b", "a")].map(|(side, other)| {
                let is_noted = equality.among(&format!("n.{side}"), "key", "FROM noted");
                let is_other = equality.clause(&format!("r.{key}"), &format!("n.{other}"));
                format!(
                    " UNION SELECT other.key FROM {decisions} AS n CROSS JOIN LATERAL (
                        SELECT r.{key}{cast} AS key FROM {rows} AS r WHERE {is_other} LIMIT 1
                    ) AS other WHERE {is_noted} AND n.same"
                )
            })
        });
        let decided: String = decided.collect();
        format!(
            "noted AS ({noted}), changed AS MATERIALIZED (
                SELECT DISTINCT {fp} AS fp{scope_columns} FROM {rows} AS r
                WHERE {is_noted} AND {fp} IS NOT NULL
            ), near AS MATERIALIZED (
                SELECT key FROM noted
                UNION
                SELECT near.key FROM changed AS d CROSS JOIN LATERAL (
                    SELECT r.{key}{cast} AS key FROM {rows} AS r WHERE {is_near}
                ) AS near{decided}
            ), old AS MATERIALIZED (
                SELECT c.key{cast} AS key, c.cluster_id{cast} AS cluster_id, {id_of_c} AS lasting_id
                FROM {clusters} AS c WHERE {is_old}
            )"
        )
    }
}

/// Returns the schema of the extension's functions, as SQL writes it.
fn own_schema() -> String {
    let mut schema = String::new();
    let query = SavedQuery::of_session(
        "SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension AS e
        JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
        WHERE e.extname OPERATOR(pg_catalog.=) 'simhash_dedup'",
        &[],
    );
    query.for_each_row(&[], &mut |[name]| {
        schema = name.map_or(String::new(), |n| n.to_text())
    });
    schema
}

/// Returns whether an index makes fingerprints of this column of texts alone.
fn has_index(table: Oid, name: &str) -> bool {
    let reads = |oid| FingerprintIndex::read(oid, "simhash", fingerprint_function);
    let mut indexes = indexes_of(table).into_iter().filter_map(reads);
    indexes.any(|index| index.valid && index.columns() == [Some(name.to_owned())])
}

/// Returns the arguments of clusters_among up to `keys`.
fn arguments(kept: &KeptTable, key_type: &str) -> String {
    let options = &kept.options;
    let names = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| literal(name)).collect();
        names.join(", ")
    };
    let text = (options.text.as_deref()).map_or("NULL".to_owned(), literal);
    let least = options
        .min_jaccard
        .map_or("NULL".to_owned(), |least| least.to_string());
    let oid = |oid: Option<Oid>| oid.map_or("NULL".to_owned(), |oid| oid.to_u32().to_string());
    format!(
        "{}::pg_catalog.regclass, NULL::{key_type}, {}, {}, 'components', {text}, {least}, \
         ARRAY[{}]::pg_catalog.text[], {}::pg_catalog.regproc, ARRAY[{}]::pg_catalog.text[], {}, \
         {}::pg_catalog.regclass",
        kept.relation.to_u32(),
        literal(&options.fingerprint),
        options.radius,
        names(&options.within),
        oid(kept.checked_by),
        names(&options.across),
        literal(&options.key),
        oid(kept.decisions),
    )
}

//! Answers changed rows at once: brings the clusters of noted keys up to date. `pending` calls it
//! when a statement ends, `trigger` for a deferred trigger and for TRUNCATE. The query is the one
//! that a refresh runs.

use std::cell::OnceCell;

use pgrx::pg_sys;

use super::claims::Claims;
use super::cluster_table::{ClusterTable, refuse_row_security};
use super::kept_table::KeptTable;
use super::queries::KeptQueries;
use simhash_pg::catalog::lookup::has_row_security;
use simhash_pg::catalog::table::OpenTable;
use simhash_pg::process::backend::{AsUser, check_for_interrupts};
use simhash_pg::process::error::Error;
use simhash_pg::spi::saved_query::{SavedQuery, Visibility};
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::value::Value;
use simhash_trigger::in_progress::Compared;

/// How many keys are answered together: more would take too much memory.
const CHUNK: usize = 65_536;

/// A table whose clusters are kept at once.
pub struct AtOnce {
    pub kept: KeptTable,
    pub clusters: ClusterTable,
    pub claims: Claims,
    /// The base type of keys, and that of arrays of them.
    key_type: KeyType,
    array_type: pg_sys::Oid,
    /// Whether a trigger fires for every change of a row, whatever its values.
    sees_each_change: bool,
    queries: OnceCell<Queries>,
}

/// Each about an array of keys.
struct Queries {
    matter: SavedQuery,
    answer: SavedQuery,
    unseen: SavedQuery,
    stored: SavedQuery,
}

impl AtOnce {
    pub fn new(
        kept: KeptTable,
        clusters: ClusterTable,
        claims: Claims,
        (key_type, array_type): (KeyType, pg_sys::Oid),
        sees_each_change: bool,
    ) -> Self {
        Self {
            kept,
            clusters,
            claims,
            key_type,
            array_type,
            sees_each_change,
            queries: OnceCell::new(),
        }
    }

    /// Brings the clusters of the rows with these keys up to date. `rows` are their old and new
    /// versions.
    pub fn answer(&self, args: &Args, noted: &[KeptValue], rows: &[Compared]) {
        let queries = self.queries();
        let chunks: Vec<Value<'_>> = noted.chunks(CHUNK).map(|keys| self.array(keys)).collect();
        let matter = |keys: &Value<'_>| {
            check_for_interrupts();
            let found = (queries.matter).first_row::<0>(args, &[Some(*keys)], Visibility::Latest);
            found.is_some()
        };
        if !(self.claims).prepare(rows, || chunks.iter().any(matter)) {
            return;
        }
        for keys in chunks {
            check_for_interrupts();
            if has_row_security(self.kept.relation) {
                self.refuse_hidden(args, keys);
            }
            (queries.answer).first_row::<0>(args, &[Some(keys)], Visibility::Latest);
        }
    }

    /// Computes all clusters again, given that nobody else changes one.
    pub fn compute_all(&self, args: &Args) {
        self.claims.lock_whole();
        let all = SavedQuery::new(&KeptQueries::new(&self.kept).compute_all(), &[], false);
        all.first_row::<0>(args, &[], Visibility::Latest);
    }

    /// Raises an ERROR if an entry that an answer may change has a row that is hidden from the current
    /// user.
    fn refuse_hidden(&self, args: &Args, keys: Value<'_>) {
        let queries = self.queries();
        let unseen = (queries.unseen).first_row(args, &[Some(keys)], Visibility::Latest);
        let Some([Some(unseen)]) = unseen else {
            return;
        };
        // The owner sees whether there are such rows.
        let relation = self.kept.relation;
        let owner = OpenTable::new(relation).rel().owner();
        let stored = {
            let _owner = AsUser::switch(owner);
            (queries.stored).first_row::<0>(args, &[Some(unseen)], Visibility::Latest)
        };
        if stored.is_some() {
            refuse_row_security(relation).raise();
        }
    }

    fn queries(&self) -> &Queries {
        self.queries.get_or_init(|| {
            let texts = KeptQueries::new(&self.kept);
            let texts = [
                texts.find_what_matters(),
                texts.answer_keys(self.sees_each_change),
                texts.find_unseen(),
                texts.find_stored(),
            ];
            let types = [self.array_type];
            let queries = texts.each_ref().map(|text| (&**text, &types[..]));
            let [matter, answer, unseen, stored] = SavedQuery::all(queries, true);
            Queries {
                matter,
                answer,
                unseen,
                stored,
            }
        })
    }

    fn array<'a>(&self, keys: &'a [KeptValue]) -> Value<'a> {
        // There is a type of such arrays.
        let array = self.key_type.array(keys.iter().map(KeptValue::value));
        array.unwrap_or_else(|| Error::out_of_memory().raise())
    }
}

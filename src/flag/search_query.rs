//! The query of a flagging trigger. It finds a row within the radius, but not the new row itself:
//! the nearest one where the trigger tells which row it is.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::columns::Columns;
use super::options::{FlagOptions, Mode};
use crate::pg::catalog::table::{self, quoted};
use crate::pg::spi::saved_query::SavedQuery;
use crate::pg::sql::key_type::{Equality, KeyType};
use crate::pg::sql::trigger::TriggerCall;
use crate::trigger::call::lacks;

/// Characters of the n-grams by which texts are compared.
const NGRAM: u32 = 5;

/// The query being built.
pub struct QueryBuilder {
    /// SELECT ... FROM ... WHERE, all conditions but the one on the old version.
    text: String,
    /// ORDER BY, or nothing.
    order: String,
    /// Types of the parameters.
    types: Vec<Oid>,
}

impl QueryBuilder {
    /// Every name is qualified, so that no search_path changes the meaning. Operands are cast to
    /// the types that our functions take, so that no overloaded function fits better. The functions
    /// are those of `simhash_catalog`, which every role may use: a user who inserts needs no rights
    /// on the schema of the extension. None when the table is gone.
    pub fn new(
        call: &TriggerCall<'_>,
        searched: Oid,
        options: &FlagOptions,
        columns: &Columns,
    ) -> Option<Self> {
        let distance = format!(
            "simhash_catalog.distance(t.{}::pg_catalog.int8, $1)",
            quoted(&options.fingerprint)
        );
        let key = (columns.key.as_ref()).map(|(name, _)| format!("t.{}", quoted(name)));
        let mut search = Self {
            text: format!(
                "SELECT {}, {distance} FROM {} AS t WHERE {distance} OPERATOR(pg_catalog.<=) {}",
                key.as_deref().unwrap_or("0"),
                table::qualified_name(searched)?,
                options.radius
            ),
            order: String::new(),
            types: vec![pg_sys::INT8OID],
        };
        if let (Some(key), Some((_, column))) = (&key, &columns.key) {
            search.exclude_key(call, key, column.base_type());
        }
        if let Some(check) = &options.text {
            search.types.push(pg_sys::TEXTOID);
            search.text += &format!(
                " AND simhash_catalog.jaccard(t.{}::pg_catalog.text, ${}, {NGRAM}) \
                 OPERATOR(pg_catalog.>=) '{}'::pg_catalog.float8",
                quoted(&check.column),
                search.types.len(),
                check.min_jaccard
            );
        }
        search.text += &columns.scope.conditions("t.", &mut search.types);
        if options.originals_only {
            search.exclude_duplicates(options);
        }
        // Which row it is matters only where the trigger tells it.
        if options.duplicate_of.is_some() || options.mode == Mode::Reject {
            if let Some((_, column)) = &columns.key {
                require_order(call, column.base_type());
            }
            let by_key = key.map_or(String::new(), |key| format!(", {key}"));
            search.order = format!(" ORDER BY {distance}{by_key}");
        }
        Some(search)
    }

    /// A row with the key of the new one is the row itself, as INSERT ... ON CONFLICT proposes it.
    fn exclude_key(&mut self, call: &TriggerCall<'_>, key: &str, key_type: Oid) {
        self.types.push(key_type);
        let parameter = format!("${}", self.types.len());
        let Some(equality) = Equality::of(key_type) else {
            lacks(call, "an equality operator", key_type);
        };
        let same = equality.clause(key, &parameter);
        // Rows whose key is NULL are compared with all rows.
        self.text += &format!(" AND ({same}) IS NOT TRUE");
    }

    fn exclude_duplicates(&mut self, options: &FlagOptions) {
        if let Some(column) = &options.duplicate_of {
            self.text += &format!(" AND t.{} IS NULL", quoted(column));
        } else if let Some(column) = &options.flag {
            self.text += &format!(" AND t.{} IS NOT TRUE", quoted(column));
        }
    }

    /// The query, prepared. With `of_updated` its last two parameters are the place of the old
    /// version.
    pub fn saved(&self, of_updated: bool, prefers_indexes: bool) -> SavedQuery {
        let mut types = self.types.clone();
        let mut not_itself = String::new();
        if of_updated {
            types.extend([pg_sys::OIDOID, pg_sys::TIDOID]);
            let place = types.len();
            not_itself = format!(
                " AND (t.tableoid OPERATOR(pg_catalog.<>) ${} \
                 OR t.ctid OPERATOR(pg_catalog.<>) ${place})",
                place - 1
            );
        }
        let text = format!("{}{not_itself}{} LIMIT 1", self.text, self.order);
        SavedQuery::new(&text, &types, prefers_indexes)
    }
}

/// Equally near rows are taken in the order of their keys. Some types have an equality, but no
/// order: xid for example.
fn require_order(call: &TriggerCall<'_>, key_type: Oid) {
    if KeyType::new(key_type).is_none() {
        lacks(call, "an ordering operator", key_type);
    }
}

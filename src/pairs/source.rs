//! A table that a function searches for near-duplicates. simhash_pairs, simhash_clusters, the
//! radius report and the refresh of clusters open it here. Its columns are checked, and it is
//! locked against DDL. Fingerprints are numbers of 64 bits, or longer hashes in parts.

use super::arguments::{in_range, required};
use super::chosen_columns::{Chosen, NamedColumns};
use super::named_columns::{check_key, column, not_unique, null_key, open_relation, require_order};
use crate::errors::or_raise;
use crate::hashes::parts_of_hash;
use pgrx::PgSqlErrorCode::{ERRCODE_DATATYPE_MISMATCH, ERRCODE_INVALID_PARAMETER_VALUE};
use pgrx::pg_sys;
use simhash_fingerprint::hashes::read::{FINGERPRINT_BITS, MOST_BITS};
use simhash_hamming::ball::{NEAR, NEAR_TEXTS};
use simhash_hamming::parts::{self, Hashes};
use simhash_pg::catalog::table::{self, Column, OpenTable};
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::key_type::{KeyType, no_order};
use simhash_pg::sql::value::Value;
use std::cell::RefCell;

/// A table, view or foreign table with a key and a fingerprint, locked against DDL.
pub struct SourceTable {
    pub table: OpenTable,
    /// Its name with its schema, and those of the two columns, as SQL text.
    pub table_name: String,
    /// One of its rows, of its row type, as SQL text.
    pub row: String,
    /// Whether only the rows with the keys in the parameter `$1` count.
    pub is_restricted: bool,
    pub key: String,
    pub fp: String,
    /// The condition that a row of the table has a fingerprint, as SQL text.
    pub has_fingerprint: String,
    /// What to read the fingerprints from, as SQL text: the table, or a query of it that makes them.
    pub with_fingerprints: String,
    /// The column of texts, as SQL text, of which the fingerprints are made.
    pub made_of: Option<String>,
    /// The type in which keys are returned.
    pub key_type: pg_sys::Oid,
    /// The key and the fingerprint.
    pub columns: [Column; 2],
    /// The hashes that were read, if the column has hashes in parts. A row's fingerprint is then
    /// the number of its hash.
    pub hashes: Option<RefCell<Hashes>>,
}

/// Returns how many rows the server believes the tables to have, if it knows.
pub fn expected_rows(sources: &[SourceTable]) -> Option<u64> {
    let rows = sources
        .iter()
        .map(|source| source.table.rel().expected_rows());
    rows.sum()
}

/// Returns where the arguments that follow those of N relations begin, see
/// [`SourceTable::from_arguments`].
pub fn first_argument_after<const N: usize>(keyed: bool) -> usize {
    3 * N + if keyed { N } else { 0 }
}

/// Returns the argument `radius` of a function that compares rows of these tables. If it is NULL, that of
/// texts where they are compared, and else that of hashes.
pub fn radius_of(given: Option<i32>, function: &str, sources: &[SourceTable]) -> u32 {
    let usual = match sources.iter().any(|source| source.made_of.is_some()) {
        true => NEAR_TEXTS,
        false => NEAR,
    };
    bits_of(Some(given.unwrap_or(usual)), function, "radius", sources)
}

/// Returns an argument that is a number of bits, of a function that compares rows of these tables.
pub fn bits_of(given: Option<i32>, function: &str, argument: &str, sources: &[SourceTable]) -> u32 {
    let given = required(given, function, argument);
    let is_long = sources.iter().any(|source| source.hashes.is_some());
    let most = if is_long { MOST_BITS } else { FINGERPRINT_BITS };
    in_range(argument, given, 0..=most as i32) as u32
}

impl SourceTable {
    /// Reads the first arguments of a function: `relation`, `key` and `fingerprint` of one relation
    /// or of two, whose names then end in _a and _b. If `keyed`, there is an argument for each
    /// relation before them, in whose type keys are returned; otherwise they are returned as
    /// bigint. `text` is the argument for the column of texts of one relation.
    pub fn from_arguments<const N: usize>(
        args: &Args,
        function: &str,
        keyed: bool,
        text: Option<usize>,
    ) -> [Self; N] {
        let sources: [Self; N] = std::array::from_fn(|side| {
            let first = 3 * side + if keyed { N } else { 0 };
            let key_type = match keyed {
                true => args.type_of(side),
                false => pg_sys::INT8OID,
            };
            let ending = if N == 1 { "" } else { ["_a", "_b"][side] };
            let (relation, key) = (format!("relation{ending}"), format!("key{ending}"));
            let oid = required(args.get::<pg_sys::Oid>(first), function, &relation);
            let named = NamedColumns {
                key: args.name(first + 1),
                fingerprint: args.name(first + 2),
                text: text.and_then(|at| args.name(at)),
            };
            let chosen = match N {
                1 => Chosen::new(oid, named, function, &key),
                // Of two relations a call names the columns.
                _ => Chosen {
                    key: required(named.key, function, &key),
                    compared: required(
                        named.fingerprint,
                        function,
                        &format!("fingerprint{ending}"),
                    ),
                },
            };
            let source = Self::open(oid, &chosen.key, &chosen.compared, key_type);
            check_key(
                &chosen.key,
                source.column_type(),
                key_type,
                function,
                ending,
            );
            source
        });
        let types = sources.each_ref().map(|source| match source.made_of {
            Some(_) => pg_sys::INT8OID,
            None => source.columns[1].base_type(),
        });
        if types[0] != types[N - 1] {
            let [a, b] = [types[0], types[N - 1]].map(table::type_name);
            Error::new(
                ERRCODE_DATATYPE_MISMATCH,
                format!("fingerprints of type {a} cannot be compared with those of type {b}"),
            )
            .raise();
        }
        sources
    }

    /// Opens a relation with these columns; raises an ERROR unless it has them, and the second is a
    /// bigint or a bigint[], or a text of which the fingerprint is made. Keys are returned in type
    /// `key_type`.
    pub fn open(oid: pg_sys::Oid, key: &str, compared: &str, key_type: pg_sys::Oid) -> Self {
        let (table, table_name) = open_relation(oid);
        let columns = [
            column(&table, key, "the key"),
            check_fingerprint(&table, compared),
        ];
        let is_long = columns[1].base_type() == pg_sys::INT8ARRAYOID;
        let brackets = if is_long { "[]" } else { "" };
        let fp = table::quoted(compared);
        let source = SourceTable {
            hashes: is_long.then(RefCell::default),
            table,
            has_fingerprint: format!("{fp}::pg_catalog.int8{brackets} IS NOT NULL"),
            with_fingerprints: table_name.clone(),
            // A column may have the name of the table; the star always means the row.
            row: format!("{table_name}.*::{table_name}"),
            is_restricted: false,
            table_name,
            key: table::quoted(key),
            fp,
            made_of: None,
            key_type,
            columns,
        };
        match is_text(&columns[1]) {
            true => source.made_of_texts(),
            false => source,
        }
    }

    /// The same with the fingerprints of the texts in place of a column. OFFSET keeps the server from
    /// making each of them twice.
    fn made_of_texts(mut self) -> Self {
        let made = format!(
            "simhash_catalog.text_fingerprint({}::pg_catalog.text)",
            self.fp
        );
        self.has_fingerprint = format!("{made} IS NOT NULL");
        self.with_fingerprints = format!(
            "(SELECT r.*, {made} AS simhash_fingerprint FROM {} AS r OFFSET 0) AS r",
            self.table_name
        );
        let text = std::mem::replace(&mut self.fp, "r.simhash_fingerprint".to_owned());
        self.made_of = Some(text);
        self
    }

    /// Returns the type of the key column.
    pub fn column_type(&self) -> pg_sys::Oid {
        self.columns[0].storage.type_id
    }

    /// Returns the order of keys.
    pub fn order(&self) -> KeyType {
        KeyType::new(self.key_type).unwrap_or_else(|| no_order(self.key_type).raise())
    }

    /// Returns the key column as SQL text, in the type in which keys are returned.
    pub fn key_expression(&self) -> String {
        match self.key_type == self.column_type() {
            true => self.key.clone(),
            false => {
                let to = table::qualified_type_name(self.key_type);
                format!("{}::{to}", self.key)
            }
        }
    }

    /// Returns whether the relation has a column of that name which [`SourceTable::text_column`]
    /// takes.
    pub fn has_text_column(&self, name: &str) -> bool {
        table::column(self.table.rel(), name).is_some_and(|column| is_text(&column))
    }

    /// Returns the column of that name as SQL text; raises an ERROR unless it is text, or
    /// implicitly cast to it.
    pub fn text_column(&self, name: &str) -> String {
        let found = column(&self.table, name, "the text");
        if !is_text(&found) {
            let type_name = table::type_name(found.storage.type_id);
            Error::new(
                ERRCODE_DATATYPE_MISMATCH,
                format!("column \"{name}\" is of type {type_name}, not text"),
            )
            .raise();
        }
        table::quoted(name)
    }

    /// Restricts the relation to the rows whose keys are in the array `$1`, of the type of keys.
    pub fn restrict_to_keys(&mut self, order: &KeyType) {
        let equality = (order.equality()).unwrap_or_else(|| no_order(self.key_type).raise());
        let has_listed_key = equality.any_of(&self.key, "$1");
        self.is_restricted = true;
        self.row = format!("r.*::{}", self.table_name);
        self.table_name = format!(
            "(SELECT * FROM {} WHERE {has_listed_key}) AS r",
            self.table_name
        );
        self.with_fingerprints = self.table_name.clone();
    }

    /// Returns the fingerprint column as SQL text. A domain is cast to its base type, so that the
    /// values are those of that type.
    pub fn fingerprint_expression(&self) -> String {
        let brackets = if self.hashes.is_some() { "[]" } else { "" };
        format!("{}::pg_catalog.int8{brackets}", self.fp)
    }

    /// Returns the fingerprint that this value of the column is, or the number of its hash.
    pub fn fingerprint(&self, value: Option<Value<'_>>) -> u64 {
        match (&self.hashes, value) {
            (Some(hashes), Some(value)) => {
                let parts = parts_of_hash(value);
                let parts = parts.into_iter().map(|part| part as u64);
                or_raise(hashes.borrow_mut().add(parts))
            }
            (_, value) => value.map_or(0, |value| value.integer()) as u64,
        }
    }

    /// Returns the number of bits in which two fingerprints differ.
    pub fn distance(&self, a: u64, b: u64) -> u32 {
        match &self.hashes {
            Some(hashes) => {
                let hashes = hashes.borrow();
                parts::distance(hashes.get(a), hashes.get(b))
            }
            None => (a ^ b).count_ones(),
        }
    }

    /// Returns the query of the key and the fingerprint of each row that has one.
    pub fn query(&self) -> String {
        let (key, fp) = (self.key_expression(), self.fingerprint_expression());
        let table = &self.with_fingerprints;
        format!("SELECT {key}, {fp} FROM {table} WHERE {fp} IS NOT NULL")
    }

    /// Raises an ERROR unless rows can be divided by the column of that name. If `is_only`, all
    /// rows are of this table, and the column must not be its key.
    pub fn check_within(&self, name: &str, function: &str, is_only: bool) {
        let found = column(&self.table, name, "part of the scope");
        let (role, hint) = match table::quoted(name) {
            same if same == self.fp || Some(&same) == self.made_of.as_ref() => (
                "fingerprint",
                "Only equal fingerprints would be compared: that is what radius 0 says.",
            ),
            same if is_only && same == self.key => (
                "key",
                "Rows with the same key are not told apart: name other columns.",
            ),
            _ => {
                require_order(name, found.base_type());
                return;
            }
        };
        Error::new(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "arguments \"within\" and \"{role}\" of {function} both name column \"{name}\""
            ),
        )
        .hint(hint)
        .raise();
    }

    /// Raises an ERROR unless rows can differ in the column of that name.
    pub fn check_across(&self, name: &str) {
        let found = column(&self.table, name, "compared");
        require_order(name, found.base_type());
    }

    /// Raises the ERROR that two rows have the same key.
    pub fn not_unique(&self) -> ! {
        not_unique(&self.key)
    }

    /// Raises the ERROR that a row has no key.
    pub fn null_key(&self) -> ! {
        null_key(&self.key, "A row that has a fingerprint needs a key.")
    }
}

/// Returns whether the column is a text, or implicitly cast to it.
pub fn is_text(column: &Column) -> bool {
    table::casts_implicitly(column.storage.type_id, pg_sys::TEXTOID)
}

/// Returns the column of that name, which must be of type bigint or bigint[], or a text.
fn check_fingerprint(table: &OpenTable, name: &str) -> Column {
    let found = column(table, name, "the fingerprint");
    if !is_text(&found) && ![pg_sys::INT8OID, pg_sys::INT8ARRAYOID].contains(&found.base_type()) {
        let type_name = table::type_name(found.storage.type_id);
        Error::new(
            ERRCODE_DATATYPE_MISMATCH,
            format!("column \"{name}\" is of type {type_name}, neither a text nor bigint"),
        )
        .hint("Name a column of texts, or of type bigint that holds the fingerprints.")
        .raise()
    }
    found
}

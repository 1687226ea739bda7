//! A table that a function searches for near-duplicates. simhash_pairs, simhash_clusters, the
//! radius report and the refresh of clusters open it here. Its columns are checked, and it is
//! locked against DDL. Fingerprints are numbers of 64 bits, or longer hashes in parts.

use super::arguments::{in_range, required};
use super::named_columns::{check_key, column, not_unique, null_key, open_relation, require_order};
use crate::errors::or_raise;
use crate::hashes::parts_of_hash;
use pgrx::PgSqlErrorCode::{ERRCODE_DATATYPE_MISMATCH, ERRCODE_INVALID_PARAMETER_VALUE};
use pgrx::pg_sys;
use simhash_fingerprint::hashes::read::{FINGERPRINT_BITS, MOST_BITS};
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

/// Returns the argument `radius` of a function that compares rows of these tables.
pub fn radius_of(given: Option<i32>, function: &str, sources: &[SourceTable]) -> u32 {
    bits_of(given, function, "radius", sources)
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
    /// bigint.
    pub fn from_arguments<const N: usize>(args: &Args, function: &str, keyed: bool) -> [Self; N] {
        let sources: [Self; N] = std::array::from_fn(|side| {
            let first = 3 * side + if keyed { N } else { 0 };
            let key_type = match keyed {
                true => args.type_of(side),
                false => pg_sys::INT8OID,
            };
            let ending = if N == 1 { "" } else { ["_a", "_b"][side] };
            Self::from_argument(args, first, key_type, function, ending)
        });
        let types = sources
            .each_ref()
            .map(|source| source.columns[1].base_type());
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

    fn from_argument(
        args: &Args,
        first: usize,
        key_type: pg_sys::Oid,
        function: &str,
        ending: &str,
    ) -> Self {
        let name = |argument| format!("{argument}{ending}");
        let oid = required(args.get::<pg_sys::Oid>(first), function, &name("relation"));
        let key = required(args.name(first + 1), function, &name("key"));
        let fp = required(args.name(first + 2), function, &name("fingerprint"));
        let source = Self::open(oid, &key, &fp, key_type);
        check_key(&key, source.column_type(), key_type, function, ending);
        source
    }

    /// Opens a relation with these columns; raises an ERROR unless it has them, and the fingerprint
    /// is a bigint or a bigint[]. Keys are returned in type `key_type`.
    pub fn open(oid: pg_sys::Oid, key: &str, fp: &str, key_type: pg_sys::Oid) -> Self {
        let (table, table_name) = open_relation(oid);
        let columns = [
            column(&table, key, "the key"),
            check_fingerprint(&table, fp),
        ];
        let is_long = columns[1].base_type() == pg_sys::INT8ARRAYOID;
        SourceTable {
            hashes: is_long.then(RefCell::default),
            table,
            // A column may have the name of the table; the star always means the row.
            row: format!("{table_name}.*::{table_name}"),
            is_restricted: false,
            table_name,
            key: table::quoted(key),
            fp: table::quoted(fp),
            key_type,
            columns,
        }
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
        let table = &self.table_name;
        format!("SELECT {key}, {fp} FROM {table} WHERE {fp} IS NOT NULL")
    }

    /// Raises an ERROR unless rows can be divided by the column of that name. If `is_only`, all
    /// rows are of this table, and the column must not be its key.
    pub fn check_within(&self, name: &str, function: &str, is_only: bool) {
        let found = column(&self.table, name, "part of the scope");
        let (role, hint) = match table::quoted(name) {
            same if same == self.fp => (
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

fn is_text(column: &Column) -> bool {
    table::casts_implicitly(column.storage.type_id, pg_sys::TEXTOID)
}

/// Returns the column of that name, which must be of type bigint or bigint[].
fn check_fingerprint(table: &OpenTable, name: &str) -> Column {
    let found = column(table, name, "the fingerprint");
    match found.base_type() {
        pg_sys::INT8OID | pg_sys::INT8ARRAYOID => found,
        _ => no_fingerprint(name, &found),
    }
}

/// Raises the ERROR that this column holds no fingerprints.
fn no_fingerprint(name: &str, column: &Column) -> ! {
    let type_name = table::type_name(column.storage.type_id);
    let hint = match table::casts_implicitly(column.base_type(), pg_sys::TEXTOID) {
        true => {
            "Store simhash64(...) of the text in a column of type bigint, and name that column."
        }
        false => "Name a column of type bigint that holds the fingerprints.",
    };
    Error::new(
        ERRCODE_DATATYPE_MISMATCH,
        format!("column \"{name}\" is of type {type_name}, not bigint"),
    )
    .hint(hint)
    .raise()
}

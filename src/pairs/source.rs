//! A table that a function searches for near-duplicates. simhash_pairs, simhash_clusters, the
//! radius report and the refresh of clusters open it here. Its columns are checked, and it is
//! locked against DDL. Fingerprints are numbers of 64 bits, or longer hashes in parts.

use super::arguments::{in_range, named, required};
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
use simhash_pg::catalog::table_name;
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
    /// The text, as SQL text, of which the fingerprints are made, if no column has them.
    pub made_of: Option<String>,
    /// The columns of the fingerprint or of the text, as SQL text.
    pub compared: Vec<String>,
    /// The type in which keys are returned.
    pub key_type: pg_sys::Oid,
    /// The key, unless it is an expression.
    pub key_column: Option<Column>,
    /// The fingerprint, or the first of the texts.
    pub compared_column: Column,
    /// The hashes that were read, if the column has hashes in parts. A row's fingerprint is then
    /// the number of its hash.
    pub hashes: Option<RefCell<Hashes>>,
}

/// What tells rows apart.
pub enum Key<'k> {
    /// The column of this name.
    Column(&'k str),
    /// An expression over the row `r`, as SQL text.
    Expression(&'k str),
}

/// Returns how many rows the server believes the tables to have, if it knows.
pub fn expected_rows(sources: &[SourceTable]) -> Option<u64> {
    let rows = sources
        .iter()
        .map(|source| source.table.rel().expected_rows());
    rows.sum()
}

/// Returns the argument `radius` of a function that compares rows of these tables. If it is NULL, that of
/// texts where they are known, since their fingerprints are made here or the call names them, and else that of hashes.
pub fn radius_of(
    given: Option<i32>,
    function: &str,
    sources: &[SourceTable],
    names_text: bool,
) -> u32 {
    let is_made = sources.iter().any(|source| source.made_of.is_some());
    let usual = match names_text || is_made {
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
    /// Reads the arguments `relation`, `key`, `columns` and `text` of a function, of one relation or of two,
    /// whose names then end in _a and _b. Keys are returned as bigint, or in the type of the argument `key_type`.
    pub fn from_arguments<const N: usize>(args: &Args, function: &str) -> [Self; N] {
        let sources: [Self; N] = std::array::from_fn(|side| {
            let ending = if N == 1 { "" } else { ["_a", "_b"][side] };
            let argument = |name: &str| format!("{name}{ending}");
            let (relation, key) = (argument("relation"), argument("key"));
            let oid = required(
                args.get::<pg_sys::Oid>(args.at(&relation)),
                function,
                &relation,
            );
            let key_type = args.find(&argument("key_type"));
            let key_type = key_type.map_or(pg_sys::INT8OID, |at| args.type_of(at));
            let compared = named(args, args.at(&argument("columns")));
            let named = NamedColumns {
                key: named(args, args.at(&key)),
                compared: match N {
                    1 => compared,
                    // Of two relations a call names the columns.
                    _ => Some(required(compared, function, &argument("columns"))),
                },
                text: args.find("text").and_then(|at| args.name(at)),
            };
            let chosen = Chosen::new(oid, named, function, &key);
            let source = Self::open(oid, Key::Column(&chosen.key), &chosen.compared, key_type);
            let hint = |wanted: Option<&str>| match wanted {
                None => format!("Integer keys need no type: leave key_type{ending} out."),
                Some(wanted) if N == 1 => chosen.call_with_key_type(function, oid, wanted),
                Some(wanted) => format!(
                    "Write {function}(relation_a, NULL::..., columns_a, relation_b, NULL::..., columns_b), \
                     with the types of the keys: here {wanted}."
                ),
            };
            check_key(&chosen.key, source.column_type(), key_type, hint);
            source
        });
        let types = sources.each_ref().map(|source| match source.made_of {
            Some(_) => pg_sys::INT8OID,
            None => source.compared_column.base_type(),
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

    /// Opens a relation with these columns; raises an ERROR unless it has them, and what is compared is a
    /// bigint or a bigint[], or texts of which the fingerprint is made. Keys are returned in type
    /// `key_type`.
    pub fn open(
        oid: pg_sys::Oid,
        key: Key<'_>,
        compared: &[String],
        key_type: pg_sys::Oid,
    ) -> Self {
        let (table, name) = open_relation(oid);
        let key_column = match key {
            Key::Column(key) => Some(column(&table, key, "the key")),
            Key::Expression(_) => None,
        };
        let fingerprints = compared.iter().map(|name| check_fingerprint(&table, name));
        let compared_columns: Vec<Column> = fingerprints.collect();
        let compared: Vec<String> = compared.iter().map(|name| table::quoted(name)).collect();
        let [compared_column, ..] = compared_columns[..] else {
            no_column_compared()
        };
        let texts: Vec<bool> = compared_columns.iter().map(is_text).collect();
        let made_of = match (&compared[..], texts.iter().all(|is_text| *is_text)) {
            (_, true) => Some(joined(&compared)),
            ([_], false) => None,
            _ => no_column_compared(),
        };
        let is_long = compared_column.base_type() == pg_sys::INT8ARRAYOID;
        let brackets = if is_long { "[]" } else { "" };
        // An expression is a column of a query in the place of the table.
        let (key, table_name, with_key) = match key {
            Key::Column(key) => (table::quoted(key), name.clone(), String::new()),
            Key::Expression(key) => (
                "r.\"simhash_dedup key\"".to_owned(),
                format!("(SELECT r.*, {key} AS \"simhash_dedup key\" FROM {name} AS r) AS r"),
                format!(", {key} AS \"simhash_dedup key\""),
            ),
        };
        // OFFSET keeps the server from making each fingerprint twice.
        let (fp, has_fingerprint, with_fingerprints) = match &made_of {
            Some(text) => {
                let made = made(text);
                let from = format!(
                    "(SELECT r.*{with_key}, {made} AS \"simhash_dedup fingerprint\" FROM {name} AS r OFFSET 0) AS r"
                );
                let made = format!("{made} IS NOT NULL");
                ("r.\"simhash_dedup fingerprint\"".to_owned(), made, from)
            }
            None => {
                let fp = compared[0].clone();
                let has = format!("{fp}::pg_catalog.int8{brackets} IS NOT NULL");
                (fp, has, table_name.clone())
            }
        };
        SourceTable {
            hashes: is_long.then(RefCell::default),
            table,
            has_fingerprint,
            with_fingerprints,
            // A column may have the name of the table; the star always means the row.
            row: format!("{name}.*::{name}"),
            is_restricted: false,
            table_name,
            key,
            fp,
            made_of,
            compared,
            key_type,
            key_column,
            compared_column,
        }
    }

    /// Opens a relation whose rows several columns tell apart, or ctid; keys are returned in their own type. With
    /// `numbered`, an ORDER BY of the rows `r` as SQL text, they are the places of the rows in that order.
    pub fn open_by_keys(
        oid: pg_sys::Oid,
        keys: &[String],
        numbered: Option<&str>,
        compared: &[String],
    ) -> Self {
        let (table, _) = open_relation(oid);
        let quoted = |key: &String| format!("r.{}", table::quoted(key));
        let expression =
            |key: &str, key_type| Self::open(oid, Key::Expression(key), compared, key_type);
        match (numbered, keys) {
            (Some(order), _) => {
                let number = format!("pg_catalog.row_number() OVER (ORDER BY {order})");
                expression(&number, pg_sys::INT8OID)
            }
            (None, [key]) => match table::column(table.rel(), key) {
                Some(found) => Self::open(oid, Key::Column(key), compared, found.base_type()),
                None => expression(&quoted(key), pg_sys::TIDOID),
            },
            (None, keys) => {
                let keys: Vec<String> = keys.iter().map(quoted).collect();
                expression(&format!("ROW({})", keys.join(", ")), pg_sys::RECORDOID)
            }
        }
    }

    /// Returns the type of the key.
    pub fn column_type(&self) -> pg_sys::Oid {
        let column = self.key_column.as_ref();
        column.map_or(self.key_type, |column| column.storage.type_id)
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
        if name.contains(',') && table::column(self.table.rel(), name).is_none() {
            Error::new(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!("text names one column, not \"{name}\""),
            )
            .hint(format!(
                "Write columns => {} instead: several columns are one text.",
                table_name::literal(name)
            ))
            .raise()
        }
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
        self.with_fingerprints = match &self.made_of {
            Some(text) => format!(
                "(SELECT r.*, {} AS \"simhash_dedup fingerprint\" FROM {} OFFSET 0) AS r",
                made(text),
                self.table_name
            ),
            None => self.table_name.clone(),
        };
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
        self.query_of(&self.with_fingerprints)
    }

    /// Returns that query with the text behind, of which the fingerprint is made.
    pub fn query_with_text(&self) -> Option<String> {
        let (key, fp) = (self.key_expression(), self.fingerprint_expression());
        let (text, rows) = (self.made_of.as_ref()?, &self.with_fingerprints);
        Some(format!(
            "SELECT {key}, {fp}, ({text})::pg_catalog.text FROM {rows} WHERE {fp} IS NOT NULL"
        ))
    }

    /// Returns that query of other rows.
    pub fn query_of(&self, rows: &str) -> String {
        let (key, fp) = (self.key_expression(), self.fingerprint_expression());
        format!("SELECT {key}, {fp} FROM {rows} WHERE {fp} IS NOT NULL")
    }

    /// Raises an ERROR unless rows can be divided by the column of that name. If `is_only`, all
    /// rows are of this table, and the column must not be its key.
    pub fn check_within(&self, name: &str, function: &str, is_only: bool) {
        let found = column(&self.table, name, "part of the scope");
        let (role, hint) = match table::quoted(name) {
            same if self.compared == [same.as_str()] => (
                "columns",
                "Only equal rows would be compared: that is what radius 0 says.",
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

/// Returns the fingerprint of a text, as SQL text.
fn made(text: &str) -> String {
    format!("simhash_catalog.text_fingerprint({text}::pg_catalog.text)")
}

/// Returns several columns of texts as one, as SQL text: lines in their order, as simhash64 joins those of
/// a row.
fn joined(columns: &[String]) -> String {
    let [column] = columns else {
        let line = |column: &String| {
            let text = format!("{column}::pg_catalog.text");
            format!("CASE WHEN {text} OPERATOR(pg_catalog.<>) '' THEN {text} END")
        };
        let lines: Vec<String> = columns.iter().map(line).collect();
        return format!("pg_catalog.concat_ws(E'\\n', {})", lines.join(", "));
    };
    column.clone()
}

/// Raises the ERROR that several columns are not all texts.
fn no_column_compared() -> ! {
    let message = "columns must name one column of fingerprints, or columns of texts";
    Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).raise()
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

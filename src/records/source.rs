//! The relations whose records are compared: their keys, and the text of their columns. `record_pairs`
//! and `report` read the rows of one or two of them. A row's number stands for its key.

use crate::errors::or_raise;
use crate::pairs::arguments::{in_range, required};
use crate::pairs::source::{check_key, column, null_key, open_relation};
use crate::pairs::value_store::ValueStore;
use crate::row::jaccard::NGRAMS;
use pgrx::PgSqlErrorCode::{ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_NULL_VALUE_NOT_ALLOWED};
use pgrx::pg_sys;
use simhash_pg::catalog::table::{self, OpenTable};
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::{name_to_utf8, to_utf8};
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::{or_out_of_memory, push_within, work_mem_bytes};
use simhash_pg::process::temp_file::TempFiles;
use simhash_pg::spi::query::{ResultSink, for_each_row};
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::key_type::{KeyType, no_order};
use simhash_pg::sql::value::Value;
use simhash_records::comparison::compare;
use simhash_records::copies::Candidate;
use simhash_records::copies::Copies;
use simhash_records::features::features;
use simhash_records::frequencies::{Found, Rows};
use simhash_records::vectors::Rating;

/// A table, view or foreign table of records, locked against DDL.
pub struct RecordTable {
    table: OpenTable,
    /// The key column as SQL text.
    pub key: String,
    key_type: pg_sys::Oid,
    /// The names of the columns that are compared.
    pub columns: Vec<String>,
    query: String,
}

/// The arguments of a call.
pub struct Arguments<'a> {
    pub args: &'a Args,
    pub function: &'static str,
    pub keys: KeyTypes,
}

/// Where the arguments of a relation stand: the relation and behind it the key, and the columns.
pub struct TableArguments {
    pub relation: usize,
    pub columns: usize,
    /// How the names of these arguments end.
    pub ending: &'static str,
}

/// In which types keys are returned.
#[derive(Clone, Copy, PartialEq)]
pub enum KeyTypes {
    /// bigint.
    Integers,
    /// Those of arguments before the others, one for each relation.
    Given,
    /// text, whatever they are.
    Text,
}

impl Arguments<'_> {
    /// Reads the relations whose arguments stand at these places.
    pub fn tables<const N: usize>(
        &self,
        places: [TableArguments; N],
        within: usize,
    ) -> [RecordTable; N] {
        let within = self.columns(within, "within");
        let mut side = 0;
        places.map(|place| {
            let key_type = match self.keys {
                KeyTypes::Integers => pg_sys::INT8OID,
                KeyTypes::Given => self.args.type_of(side),
                KeyTypes::Text => pg_sys::TEXTOID,
            };
            side += 1;
            let TableArguments {
                relation,
                columns,
                ending,
            } = place;
            let name = |argument| format!("{argument}{ending}");
            let oid = required(self.args.get(relation), self.function, &name("relation"));
            let key = required(self.args.name(relation + 1), self.function, &name("key"));
            let columns = self.columns(columns, &name("columns"));
            let table = RecordTable::open(oid, &key, key_type, &columns, &within);
            if self.keys != KeyTypes::Text {
                let column_type = table.key_column_type(&key);
                check_key(&key, column_type, key_type, self.function, ending);
            }
            table
        })
    }

    /// Returns the number of the first argument after those for types of keys.
    pub fn first<const N: usize>(&self) -> usize {
        if self.keys == KeyTypes::Given { N } else { 0 }
    }

    /// Reads an array of names of columns.
    fn columns(&self, i: usize, argument: &str) -> Vec<String> {
        let array = self.args.varlena(i, pg_sys::TEXTARRAYOID);
        let items = required(array, self.function, argument).array().items;
        let name = |item: Option<Value<'_>>| match item {
            Some(name) => name_to_utf8(name.bytes()).into_owned(),
            None => Error::new(
                ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!(
                    "argument \"{argument}\" of {} must not contain nulls",
                    self.function
                ),
            )
            .raise(),
        };
        items.into_iter().map(name).collect()
    }

    /// Reads `rare`, if it stands anywhere, and `rarity`, `ngram` and behind `within` `weights`, which
    /// begin at argument `i`.
    pub fn settings<const N: usize>(
        &self,
        rare: Option<usize>,
        i: usize,
        tables: &[RecordTable; N],
    ) -> RecordSettings {
        let rare = rare.map_or(0, |rare| {
            required(self.args.get(rare), self.function, "rare")
        });
        let rarity: f64 = required(self.args.get(i), self.function, "rarity");
        let ngram: i32 = required(self.args.get(i + 1), self.function, "ngram");
        let aligned = tables[0].columns.len() == tables[N - 1].columns.len();
        let weights = self.weights(i + 3, &tables[0]);
        // Columns that are not the same in both relations say nothing about each other.
        let weights = weights.or_else(|| (!aligned).then(Vec::new));
        RecordSettings {
            aligned,
            ..RecordSettings::new(rare, rarity, ngram, weights)
        }
    }

    /// Reads the weights of columns of a table, an object of names and numbers.
    fn weights(&self, i: usize, table: &RecordTable) -> Option<Vec<f64>> {
        let json = self.args.varlena(i, pg_sys::JSONBOID)?;
        let mut weights = vec![1.0; table.columns.len()];
        let mut given = Vec::new();
        for_each_row(WEIGHTS, &[Some(json)], &mut |[name, weight]| {
            let [name, weight] = [name, weight].map(|value| value.map(|value| value.to_text()));
            given.push((name.unwrap_or_default(), weight));
        });
        for (name, weight) in given {
            let Some(column) = table.columns.iter().position(|column| *column == name) else {
                Error::new(
                    ERRCODE_INVALID_PARAMETER_VALUE,
                    format!(
                        "weights of {} names \"{name}\", which is not compared",
                        self.function
                    ),
                )
                .hint("Name columns of the first relation that are compared.")
                .raise()
            };
            let weight = weight.and_then(|weight| weight.parse().ok());
            let weight = required(weight, self.function, "weights");
            weights[column] = in_range("a weight", weight, 0.0..=MOST_WEIGHT);
        }
        Some(weights)
    }
}

/// How records are compared.
pub struct RecordSettings {
    /// Number of rows that may share a feature which makes them candidates.
    pub rare: usize,
    /// How much more rare features count: the exponent of their inverse document frequency.
    rarity: f64,
    /// Number of letters of an n-gram.
    pub ngram: usize,
    /// How much each column counts; None if the rows say it.
    weights: Option<Vec<f64>>,
    /// Whether columns that stand at one place are one column.
    pub aligned: bool,
}

impl RecordSettings {
    /// Settings for one relation; raises an ERROR where a number is outside of its range.
    pub fn new(rare: i32, rarity: f64, ngram: i32, weights: Option<Vec<f64>>) -> Self {
        RecordSettings {
            rare: in_range("rare", rare, 0..=MOST_RARE) as usize,
            rarity: in_range("rarity", rarity, 0.0..=4.0),
            ngram: in_range("ngram", ngram, NGRAMS) as usize,
            weights,
            aligned: true,
        }
    }

    /// Leaves it to the rows how much each column counts.
    pub fn learn(&mut self) {
        self.weights = None;
    }

    /// Returns how much features count.
    pub fn rating(&self) -> Rating<'_> {
        Rating {
            rarity: self.rarity,
            columns: self.weights.as_deref(),
        }
    }
}

/// Pairs of a feature grow with the square of its rows.
const MOST_RARE: i32 = 10_000;
/// A column that weighs more is the only one that counts.
const MOST_WEIGHT: f64 = 100.0;
const WEIGHTS: &str = "SELECT key, (value::pg_catalog.float8)::pg_catalog.text \
    FROM pg_catalog.jsonb_each_text($1)";
const NEEDS_KEY: &str = "Every record needs a key.";
/// Number of rows that are read, or of pairs that are compared, between two reports.
const REPORTED: u32 = 4096;

impl RecordTable {
    /// Opens a relation. No columns are all but the key.
    fn open(
        oid: pg_sys::Oid,
        key: &str,
        key_type: pg_sys::Oid,
        columns: &[String],
        within: &[String],
    ) -> Self {
        let (table, name) = open_relation(oid);
        let key_column = column(&table, key, "the key");
        for name in columns {
            column(&table, name, "part of the record");
        }
        let columns: Vec<String> = match columns.is_empty() {
            true => (table::columns(table.rel()).map(|(name, _)| name))
                .filter(|name| name != key)
                .collect(),
            false => columns.to_vec(),
        };
        for name in within {
            column(&table, name, "a column of within");
        }
        let key_text = table::quoted(key);
        let key_value = match key_type == key_column.storage.type_id {
            true => key_text.clone(),
            false => format!("{key_text}::{}", table::qualified_type_name(key_type)),
        };
        RecordTable {
            query: format!(
                "SELECT {key_value}, {}",
                columns_from(&columns, within, &name)
            ),
            table,
            key: key_text,
            key_type,
            columns,
        }
    }

    /// A table that is read by this query, whose keys are bigint.
    pub fn of_query(table: OpenTable, query: String) -> Self {
        RecordTable {
            table,
            key: String::new(),
            key_type: pg_sys::INT8OID,
            columns: Vec::new(),
            query,
        }
    }

    /// Reads the key, the columns as one array, and the scope of each row.
    pub fn for_each_row(&self, sink: ResultSink<'_, 3>) {
        for_each_row(&self.query, &[], sink);
    }

    /// Returns how many rows the server believes it to have.
    fn expected_rows(&self) -> Option<u64> {
        self.table.rel().expected_rows()
    }

    /// Returns the order of keys.
    pub fn order(&self) -> KeyType {
        KeyType::new(self.key_type).unwrap_or_else(|| no_order(self.key_type).raise())
    }

    fn key_column_type(&self, key: &str) -> pg_sys::Oid {
        column(&self.table, key, "the key").storage.type_id
    }
}

/// Returns SQL text behind SELECT: the columns as one array and the scope, from an item of FROM.
pub fn columns_from(columns: &[String], within: &[String], from: &str) -> String {
    // An empty array needs a type.
    let texts: Vec<String> = columns.iter().map(|name| as_text(name)).collect();
    format!(
        "ARRAY[{}]::pg_catalog.text[], {} FROM {from}{}",
        texts.join(", "),
        scope_of(within),
        where_all(within)
    )
}

/// Calls `each` with the number and the features of every column that has a value.
pub fn for_each_column(
    values: Vec<Option<Value<'_>>>,
    ngram: usize,
    found: &mut Vec<u64>,
    mut each: impl FnMut(u32, &[u64]),
) {
    for (column, value) in (0..).zip(values) {
        let Some(value) = value else { continue };
        value.show_bytes(|bytes| {
            let check_interrupts = &mut check_for_interrupts;
            or_raise(features(&to_utf8(bytes), ngram, found, check_interrupts));
        });
        each(column, found);
    }
}

/// Returns a column as SQL text, cast to text.
fn as_text(name: &str) -> String {
    format!("{}::pg_catalog.text", table::quoted(name))
}

/// Returns an integer that is the same for rows which are equal in these columns, as SQL text.
fn scope_of(within: &[String]) -> String {
    if within.is_empty() {
        return "0::pg_catalog.int8".into();
    }
    let columns: Vec<String> = within.iter().map(|name| table::quoted(name)).collect();
    let columns = columns.join(", ");
    format!("pg_catalog.hash_record_extended(ROW({columns}), 0)")
}

/// Returns the condition that none of these columns is NULL, as SQL text.
fn where_all(within: &[String]) -> String {
    // IS NOT NULL would test the columns of a composite value.
    let condition = |name: &String| format!("{} IS DISTINCT FROM NULL", table::quoted(name));
    let conditions: Vec<String> = within.iter().map(condition).collect();
    match within.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    }
}

/// Takes the number, the key and the columns of a row.
pub type EachRecord<'f> = &'f mut dyn FnMut(u32, Value<'_>, &[Option<Value<'_>>]);

/// Rows that were read.
pub struct Records<const N: usize> {
    pub keys: [ValueStore; N],
    /// The tag of the key of each row.
    pub tags: Vec<u64>,
    pub found: Found<TempFiles>,
}

impl<const N: usize> Records<N> {
    /// Reads the rows of the relations, and finds the candidates. Shows `each` the number, the key and the
    /// columns of each row.
    pub fn read(
        tables: &[RecordTable; N],
        settings: &RecordSettings,
        activity: &mut Activity,
        each: EachRecord<'_>,
    ) -> Self {
        // Keys, features, and what is sorted take a share each.
        let memory = work_mem_bytes() / 4;
        let mut keys =
            (tables.each_ref()).map(|table| ValueStore::new(table.order().storage, memory / N));
        let mut tags = Vec::new();
        let mut rows = Rows::new(memory);
        let mut found = Vec::new();
        let expected = tables.iter().map(RecordTable::expected_rows);
        let expected = expected.sum::<Option<u64>>();
        for (side, table) in tables.iter().enumerate() {
            if side == 1 {
                rows.begin_second_table();
            }
            table.for_each_row(&mut |[key, columns, scope]| {
                check_for_interrupts();
                let key = key.unwrap_or_else(|| null_key(&table.key, NEEDS_KEY));
                push_within(&mut tags, keys[side].add(key), u32::MAX as usize);
                let values = columns.map_or(Vec::new(), |columns| columns.array().items);
                each(rows.count(), key, &values);
                for_each_column(values, settings.ngram, &mut found, |column, features| {
                    or_out_of_memory(rows.add(column, features));
                });
                let scope = scope.map_or(0, |scope| scope.integer());
                or_out_of_memory(rows.end_row(scope as u64, &mut TempFiles));
                if rows.count().is_multiple_of(REPORTED) {
                    activity.show("reading rows", rows.count().into(), expected);
                }
            });
        }
        keys.iter_mut().for_each(ValueStore::finish);
        activity.begin("looking for what few rows share");
        let (rare, rating) = (settings.rare, settings.rating());
        Records {
            keys,
            tags,
            found: or_out_of_memory(rows.finish(rare, rating, &mut TempFiles)),
        }
    }
}

/// Calls `each` with the similarity of every pair of records.
pub fn compare_candidates(
    found: &mut Found<TempFiles>,
    settings: &RecordSettings,
    activity: &mut Activity,
    mut each: impl FnMut(&Copies, Candidate, f64),
) {
    let mut compared = 0u64;
    let aligned = settings.aligned;
    or_out_of_memory(compare(
        found,
        aligned,
        &mut TempFiles,
        |copies, pair, similarity| {
            compared += 1;
            if compared.is_multiple_of(u64::from(REPORTED)) {
                // Equal rows are one record, and come first.
                let all = copies.records();
                activity.show("comparing records", pair.a.into(), Some(all.into()));
            }
            each(copies, pair, similarity);
        },
    ));
}

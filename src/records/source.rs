//! The relations whose records are compared: their keys, and the text of their columns.
//! [`super::arguments`] opens them, `record_pairs`, `report` and others read the rows of one or two
//! of them. A row's number stands for its key.

use crate::errors::or_raise;
use crate::pairs::arguments::in_range;
use crate::pairs::named_columns::{column, null_key, open_relation};
use crate::pairs::value_store::ValueStore;
use crate::row::jaccard::NGRAMS;
use pgrx::pg_sys;
use simhash_pg::catalog::table::{self, OpenTable};
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::memory::{or_out_of_memory, push_within, work_mem_bytes};
use simhash_pg::process::temp_file::TempFiles;
use simhash_pg::spi::query::{ResultSink, for_each_row};
use simhash_pg::sql::key_type::{KeyType, no_order};
use simhash_pg::sql::value::Value;
use simhash_records::comparison::compare;
use simhash_records::copies::Candidate;
use simhash_records::copies::Copies;
use simhash_records::features::features;
use simhash_records::frequencies::{Found, Rows};
use simhash_records::notes;
use simhash_records::scope::{self, NOTHING};
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
    /// The number of columns; 0 if those that stand at one place are not one column.
    pub columns: usize,
}

impl RecordSettings {
    /// Makes settings; raises an ERROR where a number is outside of its range.
    pub fn new(
        rare: i32,
        rarity: f64,
        ngram: i32,
        weights: Option<Vec<f64>>,
        columns: usize,
    ) -> Self {
        RecordSettings {
            rare: in_range("rare", rare, 0..=MOST_RARE) as usize,
            rarity: in_range("rarity", rarity, 0.0..=4.0),
            ngram: in_range("ngram", ngram, NGRAMS) as usize,
            weights,
            columns,
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
const NEEDS_KEY: &str = "Every record needs a key.";
/// Number of rows that are read, or of pairs that are compared, between two reports.
const REPORTED: u32 = 4096;

impl RecordTable {
    /// Opens a relation. No columns are all but the key.
    pub fn open(
        oid: pg_sys::Oid,
        key: &str,
        key_type: pg_sys::Oid,
        columns: &[String],
        [within, differ]: [&[String]; 2],
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
        for name in differ {
            column(&table, name, "a column of differ");
        }
        let key_text = table::quoted(key);
        let key_value = match key_type == key_column.storage.type_id {
            true => key_text.clone(),
            false => format!("{key_text}::{}", table::qualified_type_name(key_type)),
        };
        RecordTable {
            query: format!(
                "SELECT {key_value}, {}",
                columns_from(&columns, [within, differ], &name)
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

    /// Reads the key, the columns as one array, the scope, and the columns of `differ` as an array of each row.
    pub fn for_each_row(&self, sink: ResultSink<'_, 4>) {
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

    /// Returns the type of the key column.
    pub fn key_column_type(&self, key: &str) -> pg_sys::Oid {
        column(&self.table, key, "the key").storage.type_id
    }
}

/// Returns SQL text behind SELECT: the columns as one array, the scope, and those of `differ` as an array, from an item of FROM.
pub fn columns_from(columns: &[String], [within, differ]: [&[String]; 2], from: &str) -> String {
    // An empty array needs a type.
    let array = |columns: &[String]| {
        let texts: Vec<String> = columns.iter().map(|name| as_text(name)).collect();
        format!("ARRAY[{}]::pg_catalog.text[]", texts.join(", "))
    };
    format!(
        "{}, {}, {} FROM {from}{}",
        array(columns),
        scope_of(within),
        array(differ),
        where_all(within)
    )
}

/// Adds what the values of the columns of `differ` are to a list.
pub fn add_differing(values: Option<Value<'_>>, differ: &mut Vec<u64>) {
    let values = values.map_or(Vec::new(), |values| values.array().items);
    let read = |value: Value<'_>| {
        value.show_bytes(|bytes| or_raise(scope::value(&to_utf8(bytes), &mut check_for_interrupts)))
    };
    differ.extend(values.into_iter().map(|value| value.map_or(NOTHING, read)));
}

/// Calls `each` with the number, the text and the features of every column that has a value.
pub fn for_each_column(
    values: Vec<Option<Value<'_>>>,
    ngram: usize,
    found: &mut Vec<u64>,
    mut each: impl FnMut(u32, &str, &[u64]),
) {
    for (column, value) in (0..).zip(values) {
        let Some(value) = value else { continue };
        value.show_bytes(|bytes| {
            let (text, check_interrupts) = (to_utf8(bytes), &mut check_for_interrupts);
            or_raise(features(&text, ngram, found, check_interrupts));
            each(column, &text, found);
        });
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

/// Takes the number of a row and of its relation, its key and its columns.
pub type EachRecord<'f> = &'f mut dyn FnMut(u32, usize, Value<'_>, &[Option<Value<'_>>]);

/// Rows that were read.
pub struct Records<const N: usize> {
    pub keys: [ValueStore; N],
    /// The tag of the key of each row.
    pub tags: Vec<u64>,
    pub found: Found<TempFiles>,
}

impl<const N: usize> Records<N> {
    /// Reads the rows of the relations, and finds the candidates. Shows `each` every row.
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
            table.for_each_row(&mut |[key, columns, scope, differ]| {
                check_for_interrupts();
                let key = key.unwrap_or_else(|| null_key(&table.key, NEEDS_KEY));
                push_within(&mut tags, keys[side].add(key), u32::MAX as usize);
                let values = columns.map_or(Vec::new(), |columns| columns.array().items);
                each(rows.count(), side, key, &values);
                for_each_column(
                    values,
                    settings.ngram,
                    &mut found,
                    |column, text, features| {
                        or_out_of_memory(rows.add(column, features));
                        or_raise(notes::add(
                            column,
                            text,
                            rows.notes(),
                            &mut check_for_interrupts,
                        ));
                    },
                );
                add_differing(differ, rows.differ());
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
    or_out_of_memory(compare(
        found,
        settings.columns,
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

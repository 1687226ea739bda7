//! The relations whose records are compared: their keys, and the text of their columns. `function`
//! and `report` read the rows of one or two of them. A row's number stands for its key.

use crate::errors::or_raise;
use crate::pairs::source::{check_key, column, in_range, null_key, open_relation, required};
use crate::pairs::value_store::ValueStore;
use crate::row::jaccard::NGRAMS;
use pgrx::PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED;
use pgrx::pg_sys;
use simhash_pg::catalog::table::{self, OpenTable};
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::{name_to_utf8, to_utf8};
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::{or_out_of_memory, push_within, work_mem_bytes};
use simhash_pg::process::temp_file::TempFiles;
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::key_type::{KeyType, no_order};
use simhash_pg::sql::value::Value;
use simhash_records::comparison::compare;
use simhash_records::features::features;
use simhash_records::frequencies::{Candidate, Found, Rows};

/// A table, view or foreign table of records, locked against DDL.
pub struct RecordTable {
    table: OpenTable,
    /// The key column as SQL text.
    pub key: String,
    key_type: pg_sys::Oid,
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
    pub fn tables<const N: usize>(&self, places: [TableArguments; N]) -> [RecordTable; N] {
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
            let table = RecordTable::open(oid, &key, key_type, &columns);
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

    /// Reads `rare`, `rarity` and `ngram`, which begin at argument `i`.
    pub fn settings(&self, i: usize) -> RecordSettings {
        let rare: i32 = required(self.args.get(i), self.function, "rare");
        let rarity: f64 = required(self.args.get(i + 1), self.function, "rarity");
        let ngram: i32 = required(self.args.get(i + 2), self.function, "ngram");
        RecordSettings {
            rare: in_range("rare", rare, 0..=MOST_RARE) as usize,
            rarity: in_range("rarity", rarity, 0.0..=4.0),
            ngram: in_range("ngram", ngram, NGRAMS) as usize,
        }
    }
}

/// How records are compared.
pub struct RecordSettings {
    /// Number of rows that may share a feature which makes them candidates.
    rare: usize,
    /// How much more rare features count: the exponent of their inverse document frequency.
    rarity: f64,
    /// Number of letters of an n-gram.
    ngram: usize,
}

/// Pairs of a feature grow with the square of its rows.
const MOST_RARE: i32 = 10_000;
const NEEDS_KEY: &str = "Every record needs a key.";
/// Number of rows that are read, or of pairs that are compared, between two reports.
const REPORTED: u32 = 4096;

impl RecordTable {
    /// Opens a relation. No columns are all but the key.
    fn open(oid: pg_sys::Oid, key: &str, key_type: pg_sys::Oid, columns: &[String]) -> Self {
        let (table, name) = open_relation(oid);
        let key_column = column(&table, key, "the key");
        let mut texts: Vec<String> = Vec::new();
        for name in columns {
            column(&table, name, "part of the record");
            texts.push(as_text(name));
        }
        if columns.is_empty() {
            let all = table::columns(table.rel()).filter(|(name, _)| name != key);
            texts.extend(all.map(|(name, _)| as_text(&name)));
        }
        let key_text = table::quoted(key);
        let key_value = match key_type == key_column.storage.type_id {
            true => key_text.clone(),
            false => format!("{key_text}::{}", table::qualified_type_name(key_type)),
        };
        // An empty array needs a type.
        let texts = texts.join(", ");
        RecordTable {
            query: format!("SELECT {key_value}, ARRAY[{texts}]::pg_catalog.text[] FROM {name}"),
            table,
            key: key_text,
            key_type,
        }
    }

    /// Returns the order of keys.
    pub fn order(&self) -> KeyType {
        KeyType::new(self.key_type).unwrap_or_else(|| no_order(self.key_type).raise())
    }

    fn key_column_type(&self, key: &str) -> pg_sys::Oid {
        column(&self.table, key, "the key").storage.type_id
    }
}

/// Returns a column as SQL text, cast to text.
fn as_text(name: &str) -> String {
    format!("{}::pg_catalog.text", table::quoted(name))
}

/// Rows that were read.
pub struct Records<const N: usize> {
    pub keys: [ValueStore; N],
    /// The tag of the key of each row.
    pub tags: Vec<u64>,
    pub found: Found<TempFiles>,
}

impl<const N: usize> Records<N> {
    /// Reads the rows of the relations, and finds the candidates.
    pub fn read(
        tables: &[RecordTable; N],
        settings: &RecordSettings,
        activity: &mut Activity,
    ) -> Self {
        // Keys, features, and what is sorted take a share each.
        let memory = work_mem_bytes() / 4;
        let mut keys =
            (tables.each_ref()).map(|table| ValueStore::new(table.order().storage, memory / N));
        let mut tags = Vec::new();
        let mut rows = Rows::new(memory);
        let mut found = Vec::new();
        for (side, table) in tables.iter().enumerate() {
            if side == 1 {
                rows.begin_second_table();
            }
            for_each_row(&table.query, &[], &mut |[key, columns]| {
                check_for_interrupts();
                let key = key.unwrap_or_else(|| null_key(&table.key, NEEDS_KEY));
                push_within(&mut tags, keys[side].add(key), u32::MAX as usize);
                let values = columns.map_or(Vec::new(), |columns| columns.array().items);
                for (column, value) in (0..).zip(values) {
                    let Some(value) = value else { continue };
                    value.show_bytes(|bytes| {
                        let text = to_utf8(bytes);
                        let pause = &mut check_for_interrupts;
                        or_raise(features(&text, settings.ngram, &mut found, pause));
                    });
                    or_out_of_memory(rows.add(column, &found, &mut TempFiles));
                }
                rows.end_row();
                if rows.count().is_multiple_of(REPORTED) {
                    activity.show(|| format!("{} rows read", rows.count()));
                }
            });
        }
        keys.iter_mut().for_each(ValueStore::finish);
        activity.show(|| format!("{} rows read; looking for shared features", rows.count()));
        Records {
            keys,
            tags,
            found: or_out_of_memory(rows.finish(settings.rare, settings.rarity, &mut TempFiles)),
        }
    }
}

/// Calls `each` with the similarity of every candidate.
pub fn compare_candidates(
    found: Found<TempFiles>,
    activity: &mut Activity,
    mut each: impl FnMut(Candidate, f64),
) {
    let mut compared = 0u64;
    or_out_of_memory(compare(found, &mut TempFiles, |pair, similarity| {
        compared += 1;
        if compared.is_multiple_of(u64::from(REPORTED)) {
            activity.show(|| format!("{compared} pairs compared"));
        }
        each(pair, similarity);
    }));
}

//! The arguments of the functions that compare records: relations, keys, columns, and how records
//! are compared. These functions call it first, each with the places where its arguments stand.
//! What it returns is checked: columns are there, keys have their types, and numbers are within
//! their ranges.

use super::source::{RecordSettings, RecordTable};
use crate::pairs::arguments::{in_range, required};
use crate::pairs::named_columns::check_key;
use pgrx::PgSqlErrorCode::{ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_NULL_VALUE_NOT_ALLOWED};
use pgrx::pg_sys;
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::value::Value;

/// A column that weighs more is the only one that counts.
const MOST_WEIGHT: f64 = 100.0;
const WEIGHTS: &str = "SELECT key, (value::pg_catalog.float8)::pg_catalog.text \
    FROM pg_catalog.jsonb_each_text($1)";

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

impl TableArguments {
    /// Those of functions without keys before them, of which the second relation may be left out.
    pub const OF_TWO: [Self; 2] = [
        Self {
            relation: 0,
            columns: 2,
            ending: "",
        },
        Self {
            relation: 3,
            columns: 5,
            ending: "_b",
        },
    ];

    /// Whether any argument of this relation was given. If only some are, that is an error.
    pub fn are_given(&self, args: &Args) -> bool {
        let columns = args.varlena(self.columns, pg_sys::TEXTARRAYOID);
        args.get::<pg_sys::Oid>(self.relation).is_some()
            || args.name(self.relation + 1).is_some()
            || columns.is_some_and(|columns| !columns.array().items.is_empty())
    }
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
        let named = places
            .each_ref()
            .map(|place| self.columns(place.columns, &format!("columns{}", place.ending)));
        let all = self.open(&places, &named, &within);
        if N == 1 || named.iter().any(|columns| !columns.is_empty()) {
            return all;
        }
        // A column that one of two relations lacks says nothing about a pair.
        let is_shared = |name: &&String| all[N - 1].columns.contains(name);
        let shared: Vec<String> = all[0].columns.iter().filter(is_shared).cloned().collect();
        if shared.is_empty() {
            Error::new(
                ERRCODE_INVALID_PARAMETER_VALUE,
                "the two relations have no column name in common".to_string(),
            )
            .hint("Name the columns with columns_a and columns_b, in the same order.")
            .raise()
        }
        self.open(&places, &std::array::from_fn(|_| shared.clone()), &within)
    }

    /// Opens the relations, of which these columns are compared.
    fn open<const N: usize>(
        &self,
        places: &[TableArguments; N],
        columns: &[Vec<String>; N],
        within: &[String],
    ) -> [RecordTable; N] {
        std::array::from_fn(|side| {
            let place = &places[side];
            let key_type = match self.keys {
                KeyTypes::Integers => pg_sys::INT8OID,
                KeyTypes::Given => self.args.type_of(side),
                KeyTypes::Text => pg_sys::TEXTOID,
            };
            let TableArguments {
                relation, ending, ..
            } = *place;
            let name = |argument| format!("{argument}{ending}");
            let oid = required(self.args.get(relation), self.function, &name("relation"));
            let key = required(self.args.name(relation + 1), self.function, &name("key"));
            let table = RecordTable::open(oid, &key, key_type, &columns[side], within);
            if self.keys != KeyTypes::Text {
                let column_type = table.key_column_type(&key);
                let unkeyed = self.function.trim_end_matches("_keyed");
                check_key(&key, column_type, key_type, |wanted| match wanted {
                    None => format!("Integer keys need no key type: call {unkeyed} without it."),
                    Some(wanted) => format!(
                        "Say what type the keys are: argument \"key_type{ending}\" of {unkeyed}_keyed is \
                         NULL::{wanted}."
                    ),
                });
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
        let mut settings = RecordSettings::new(rare, rarity, ngram, weights);
        settings.aligned = aligned;
        settings
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

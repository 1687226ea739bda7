//! The arguments of the functions that compare records: relations, keys, columns, and how records
//! are compared. These functions call it first, each with the places where its arguments stand.
//! What it returns is checked: columns are there, keys have their types, and numbers are within
//! their ranges.

use super::source::{RecordSettings, RecordTable};
use crate::pairs::arguments::{in_range, named, required};
use crate::pairs::chosen_columns::named_list;
use crate::pairs::named_columns::{check_key, open_relation};
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;
use simhash_pg::process::error::Error;
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::fmgr::Args;

/// A column that weighs more is the only one that counts.
const MOST_WEIGHT: f64 = 100.0;
const WEIGHTS: &str = "SELECT key, (value::pg_catalog.float8)::pg_catalog.text \
    FROM pg_catalog.jsonb_each_text($1)";

/// Where the arguments of a call stand: first a relation and its key, behind `key_type` if there is one. From
/// `columns` on the columns, and the second relation with its key and its columns, which may be left out. From
/// `rarity` on `rarity`, `ngram`, `within`, `weights` and `differ`.
pub struct Arguments<'a> {
    pub args: &'a Args,
    pub function: &'static str,
    /// The type in which keys are returned; those of any type can be text.
    pub key_type: pg_sys::Oid,
    pub relation: usize,
    pub columns: usize,
    pub rarity: usize,
}

/// Where the arguments of a relation stand: the relation and behind it the key, and the columns.
struct Place {
    relation: usize,
    columns: usize,
    /// How the names of these arguments end.
    ending: &'static str,
}

impl<'a> Arguments<'a> {
    /// Those of a function that returns keys as text.
    pub fn of_text_keys(
        args: &'a Args,
        function: &'static str,
        [columns, rarity]: [usize; 2],
    ) -> Self {
        Self {
            args,
            function,
            key_type: pg_sys::TEXTOID,
            relation: 0,
            columns,
            rarity,
        }
    }

    /// Whether any argument of a second relation was given. If only some are, that is an error.
    pub fn have_two(&self) -> bool {
        let Place {
            relation, columns, ..
        } = self.place(1);
        self.args.get::<pg_sys::Oid>(relation).is_some()
            || self.args.name(relation + 1).is_some()
            || self.lists_any(columns)
    }

    /// Whether an argument names columns.
    fn lists_any(&self, i: usize) -> bool {
        named(self.args, i).is_some_and(|list| !matches!(list.trim(), "" | "{}"))
    }

    fn place(&self, side: usize) -> Place {
        let at = self.columns;
        let (relation, columns) = match side {
            0 => (self.relation, at),
            _ => (at + 1, at + 3),
        };
        Place {
            relation,
            columns,
            ending: ["", "_b"][side],
        }
    }

    /// Reads the relations.
    pub fn tables<const N: usize>(&self) -> [RecordTable; N] {
        let all = self.open(None);
        if N == 1 || (0..N).any(|side| self.lists_any(self.place(side).columns)) {
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
            .hint("Name the columns with columns and columns_b, in the same order.")
            .raise()
        }
        self.open(Some(&shared))
    }

    /// Opens the relations, of which these columns are compared, or those that are named.
    fn open<const N: usize>(&self, columns: Option<&[String]>) -> [RecordTable; N] {
        std::array::from_fn(|side| {
            let place = self.place(side);
            let name = |argument| format!("{argument}{}", place.ending);
            let oid = self.args.get(place.relation);
            let oid = required(oid, self.function, &name("relation"));
            let key = self.args.name(place.relation + 1);
            let key = required(key, self.function, &name("key"));
            let (opened, _) = open_relation(oid);
            let listed = |i| named_list(self.args, i, &opened);
            let columns = columns.map_or_else(|| listed(place.columns), <[String]>::to_vec);
            let [within, differ] = [listed(self.rarity + 2), listed(self.rarity + 4)];
            let scope = [&within[..], &differ[..]];
            let table = RecordTable::open(oid, &key, self.key_type, &columns, scope);
            if self.key_type != pg_sys::TEXTOID {
                let column_type = table.key_column_type(&key);
                check_key(&key, column_type, self.key_type, |wanted| match wanted {
                    None => "Integer keys need no key type: call simhash_record_pairs.".to_string(),
                    Some(wanted) => format!(
                        "Say what type the keys are: simhash_record_pairs_keyed(NULL::{wanted}, ...); NULL::text takes keys of any type."
                    ),
                });
            }
            table
        })
    }

    /// Reads how records are compared. `rare` stands before `rarity`, if pairs are looked for.
    pub fn settings<const N: usize>(
        &self,
        has_rare: bool,
        tables: &[RecordTable; N],
    ) -> RecordSettings {
        let (args, at) = (self.args, self.rarity);
        let rare = match has_rare {
            true => required(args.get(at - 1), self.function, "rare"),
            false => 0,
        };
        let rarity: f64 = required(args.get(at), self.function, "rarity");
        let ngram: i32 = required(args.get(at + 1), self.function, "ngram");
        let count = tables[0].columns.len();
        let are_aligned = count == tables[N - 1].columns.len();
        let weights = self.weights(at + 3, &tables[0]);
        // Columns that are not the same in both relations say nothing about each other.
        let weights = weights.or_else(|| (!are_aligned).then(Vec::new));
        let columns = if are_aligned { count } else { 0 };
        RecordSettings::new(rare, rarity, ngram, weights, columns)
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

//! `within`: rows pair only if they are equal in the columns that it names. `across`: only if they
//! are not. Reads rows group by group of `within`, without such columns as one group, and gives each
//! the set of its values in the columns of `across`.

use super::chosen_columns::named_list;
use super::scannable_source::ScannableSource;
use super::search::{PairSearch, Tags};
use super::source::{SourceTable, expected_rows};
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::sink::Row;
use simhash_hamming::report::sample::GroupAndSet;
use simhash_pg::catalog::table::{OpenTable, quoted};
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::spi::query::{ResultSink, for_each_row};
use simhash_pg::spi::saved_query::SavedQuery;
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::value::Value;

/// Number of rows between two reports of how many were read.
const REPORTED: u64 = 65_536;

/// Takes the side of a row, its key and its fingerprint, and its group and set.
type RowSink<'s> = &'s mut dyn FnMut(usize, [Option<Value<'_>>; 2], GroupAndSet);

/// The columns, and which rows count.
pub struct ScopeColumns<'a> {
    /// The columns as SQL text.
    within: Vec<String>,
    across: Vec<String>,
    /// `$1` of the queries, if their relation uses it.
    parameter: Option<Value<'a>>,
}

impl<'a> ScopeColumns<'a> {
    /// Reads the arguments `within` and `across` of a function, lists of columns that each of the relations has.
    pub fn from_arguments(args: &Args, function: &str, sources: &[SourceTable]) -> Self {
        let table = &sources[0].table;
        let within = columns(args, table, ["within", function], |name| {
            for source in sources {
                source.check_within(name, function, sources.len() == 1);
            }
        });
        let check_across = |name: &str| {
            for source in sources {
                source.check_across(name);
            }
            if within.iter().any(|other| other == name) {
                let message = format!(
                    "arguments \"within\" and \"across\" of {function} both name column \"{name}\""
                );
                Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message)
                    .hint("Rows that are equal there do not differ there.")
                    .raise();
            }
        };
        let across = columns(args, table, ["across", function], check_across);
        let [within, across] =
            [within, across].map(|names| names.iter().map(|name| quoted(name)).collect());
        ScopeColumns {
            within,
            across,
            parameter: None,
        }
    }

    /// Returns the same columns, of relations that are queries with this parameter.
    pub fn with_parameter(self, parameter: Value<'a>) -> Self {
        ScopeColumns {
            parameter: Some(parameter),
            ..self
        }
    }

    /// Returns the columns as SQL text.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.within.iter().chain(&self.across)
    }

    /// Returns whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.within.is_empty() && self.across.is_empty()
    }

    /// Returns whether rows of one set are not paired.
    pub fn is_across(&self) -> bool {
        !self.across.is_empty()
    }

    /// Returns the query for the rows of all sides, those of a group behind each other. Its columns
    /// are the key of the first or of the second side, the fingerprint, the side, the row's number
    /// within its group, and there the number of its set from 1 on. A set of NULL differs from all.
    fn query(&self, sources: &[SourceTable]) -> String {
        let columns: Vec<&str> = self.names().map(|name| &**name).collect();
        let sides = sources.iter().enumerate().map(|(side, source)| {
            let (key, fp) = (source.key_expression(), source.fingerprint_expression());
            let table = &source.with_fingerprints;
            let keys = if side == 0 {
                [&key, "NULL"]
            } else {
                ["NULL", &key]
            }
            .join(", ");
            let columns = columns.join(", ");
            let conditions = are_values(&self.within);
            format!(
                "SELECT {keys}, {fp}, {side}::pg_catalog.int8, {columns} \
                 FROM {table} WHERE {fp} IS NOT NULL{conditions}"
            )
        });
        let rows = sides.collect::<Vec<_>>().join(" UNION ALL ");
        let names: Vec<String> = (0..columns.len()).map(|i| format!("w{i}")).collect();
        let (set, window) = numbering(&names, self.within.len());
        let names = names.join(", ");
        format!(
            "SELECT a, b, fp, side, pg_catalog.row_number() OVER w, {set} \
             FROM ({rows}) AS r (a, b, fp, side, {names}) WINDOW w AS ({window})"
        )
    }

    /// Reads all rows that have a fingerprint and belong to a group, as the current user sees them.
    /// Calls `group` with the rows of each, of which there may be none.
    pub fn read<P: Tags, const N: usize>(
        &self,
        sources: &[SourceTable; N],
        search: &mut PairSearch<P>,
        rows: &mut Gathered<TempFile<'static>, N>,
        mut group: impl FnMut(&mut PairSearch<P>, &mut Gathered<TempFile<'static>, N>),
    ) {
        let (mut count, expected) = (0u64, expected_rows(sources));
        let mut add = |search: &mut PairSearch<P>,
                       rows: &mut Gathered<_, N>,
                       side: usize,
                       [key, fp]: [Option<Value<'_>>; 2],
                       set: Option<u32>| {
            let key = key.unwrap_or_else(|| sources[side].null_key());
            let row = Row {
                fingerprint: sources[side].fingerprint(fp),
                tag: search.pairs.tag(side, key, set),
            };
            or_out_of_memory(rows.add(side, row, search));
            count += 1;
            if count.is_multiple_of(REPORTED) {
                search.activity.show("reading rows", count, expected);
            }
            row
        };
        if self.is_empty() {
            for (side, source) in sources.iter().enumerate() {
                let scannable = self
                    .parameter
                    .is_none()
                    .then(|| ScannableSource::new(source));
                match scannable.flatten() {
                    Some(table) => table.read(side, rows, search),
                    None => match source.query_with_text() {
                        Some(query) if search.pairs.wants_texts() => {
                            self.run(&query, &mut |[key, fp, text]| {
                                let row = add(search, rows, side, [key, fp], None);
                                if let Some(text) = text {
                                    search.pairs.text(row, text);
                                }
                            });
                        }
                        _ => self.run(&source.query(), &mut |row| {
                            add(search, rows, side, row, None);
                        }),
                    },
                }
            }
        } else {
            let mut last = 0;
            // Rows that differ from all are sets of their own.
            let mut alone = u32::MAX;
            self.for_each(sources, &mut |side, row, place| {
                if place.group != last {
                    last = place.group;
                    search.compare(|search| group(search, rows));
                    rows.clear();
                }
                let set = self.is_across().then(|| {
                    place.set.unwrap_or_else(|| {
                        alone = alone.wrapping_sub(1);
                        alone
                    })
                });
                add(search, rows, side, row, set);
            });
        }
        search.compare(|search| group(search, rows));
    }

    /// Shows the key and the fingerprint of each row that has one and belongs to a group, those of a
    /// group behind each other, with its side. There must be columns.
    pub fn for_each(&self, sources: &[SourceTable], row: RowSink<'_>) {
        let mut group = 0u32;
        self.run(&self.query(sources), &mut |[
            a,
            b,
            fp,
            side,
            number,
            set,
        ]| {
            if integer(number) == 1 {
                group = group.wrapping_add(1);
            }
            let set = set.map(|set| set.integer() as u32);
            let is_second_side = integer(side) == 1;
            let key = if is_second_side { b } else { a };
            row(
                usize::from(is_second_side),
                [key, fp],
                GroupAndSet { group, set },
            );
        });
    }

    /// Runs a query. One of some keys is asked again and again, for a row each time: planning it would
    /// take longer than reading them.
    fn run<const M: usize>(&self, query: &str, sink: ResultSink<M>) {
        match self.parameter {
            Some(keys) => {
                let saved = SavedQuery::of_session(query, &[keys.type_id()]);
                saved.for_each_row(&[Some(keys)], sink);
            }
            None => for_each_row(query, &[], sink),
        }
    }
}

/// Returns a number that is not NULL.
fn integer(value: Option<Value<'_>>) -> i64 {
    value.map_or(0, |value| value.integer())
}

/// Returns the names in argument `i`, a list of columns of a table, each of which is checked. Its own
/// name and the function's are for messages.
fn columns(
    args: &Args,
    table: &OpenTable,
    [argument, function]: [&str; 2],
    check: impl Fn(&str),
) -> Vec<String> {
    let names = named_list(args, args.at(argument), table);
    for (place, name) in names.iter().enumerate() {
        check(name);
        if names[..place].contains(name) {
            Error::new(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "argument \"{argument}\" of {function} names column {} twice",
                    quoted(name)
                ),
            )
            .raise();
        }
    }
    names
}

/// Returns the condition that these columns are not NULL, behind another condition.
fn are_values(columns: &[String]) -> String {
    // IS NOT NULL would test the columns of a composite value.
    let is_value = |column: &String| format!(" AND {column} IS DISTINCT FROM NULL");
    columns.iter().map(is_value).collect()
}

/// Returns the number of a row's set as SQL text, and the window in which rows are numbered. The first
/// `scopes` of the columns are those of the group, the others those of the set.
fn numbering(columns: &[String], scopes: usize) -> (String, String) {
    let (scopes, values) = columns.split_at(scopes);
    let clause = |keyword: &str, columns: &[String]| match columns.is_empty() {
        true => String::new(),
        false => format!("{keyword} BY {} ", columns.join(", ")),
    };
    let set = match values.is_empty() {
        true => "NULL::pg_catalog.int8".to_owned(),
        false => format!(
            "CASE WHEN true{} THEN pg_catalog.dense_rank() OVER w END",
            are_values(values)
        ),
    };
    (set, clause("PARTITION", scopes) + &clause("ORDER", values))
}

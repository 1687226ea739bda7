//! `within`: rows pair only if they are equal in the columns that it names. Reads rows group by
//! group; without such columns all rows are one group.

use super::scannable_source::ScannableSource;
use super::search::{PairSearch, Tags};
use super::source::{SourceTable, required};
use pgrx::PgSqlErrorCode::{ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_NULL_VALUE_NOT_ALLOWED};
use pgrx::pg_sys;
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::find::Row;
use simhash_pg::catalog::table::quoted;
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::spi::query::{ResultSink, for_each_row};
use simhash_pg::spi::saved_query::SavedQuery;
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::value::Value;

/// Number of rows between two reports of how many were read.
const REPORTED: u64 = 65_536;

/// The columns, and which rows count.
pub struct ScopeColumns<'a> {
    /// The columns as SQL text.
    columns: Vec<String>,
    /// `$1` of the queries, if their relation uses it.
    parameter: Option<Value<'a>>,
}

impl<'a> ScopeColumns<'a> {
    /// Reads argument `i` of a function, an array of names of columns that each of the relations
    /// has.
    pub fn from_arguments(args: &Args, i: usize, function: &str, sources: &[SourceTable]) -> Self {
        let array = args.varlena(i, pg_sys::TEXTARRAYOID);
        let mut columns = Vec::new();
        for name in required(array, function, "within").array().items {
            let Some(name) = name else {
                Error::new(
                    ERRCODE_NULL_VALUE_NOT_ALLOWED,
                    format!("argument \"within\" of {function} must not contain nulls"),
                )
                .raise()
            };
            let name = name_to_utf8(name.bytes());
            for source in sources {
                source.check_within(&name, function, sources.len() == 1);
            }
            let column = quoted(&name);
            if columns.contains(&column) {
                Error::new(
                    ERRCODE_INVALID_PARAMETER_VALUE,
                    format!("argument \"within\" of {function} names column {column} twice"),
                )
                .raise();
            }
            columns.push(column);
        }
        ScopeColumns {
            columns,
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

    /// Returns whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns the query for the rows of all sides, those of a group behind each other: the key of
    /// the first or of the second side, the fingerprint, the side, and the row's number within its
    /// group.
    fn query(&self, sources: &[SourceTable]) -> String {
        let sides = sources.iter().enumerate().map(|(side, source)| {
            let (key, fp) = (source.key_expression(), source.fingerprint_expression());
            let table = &source.table_name;
            let keys = if side == 0 {
                [&key, "NULL"]
            } else {
                ["NULL", &key]
            }
            .join(", ");
            let columns = self.columns.join(", ");
            // IS NOT NULL would test the columns of a composite value.
            let condition = |column| format!(" AND {column} IS DISTINCT FROM NULL");
            let conditions: String = self.columns.iter().map(condition).collect();
            format!(
                "SELECT {keys}, {fp}, {side}::pg_catalog.int8, {columns} \
                 FROM {table} WHERE {fp} IS NOT NULL{conditions}"
            )
        });
        let rows = sides.collect::<Vec<_>>().join(" UNION ALL ");
        let scope = |i| format!("w{i}");
        let scopes = (0..self.columns.len())
            .map(scope)
            .collect::<Vec<_>>()
            .join(", ");
        format!(
            "SELECT a, b, fp, side, pg_catalog.row_number() OVER (PARTITION BY {scopes}) \
             FROM ({rows}) AS r (a, b, fp, side, {scopes})"
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
        let mut count = 0u64;
        let mut add = |search: &mut PairSearch<P>,
                       rows: &mut Gathered<_, N>,
                       side: usize,
                       [key, fp]: [Option<Value<'_>>; 2]| {
            let key = key.unwrap_or_else(|| sources[side].null_key());
            let row = Row {
                fingerprint: sources[side].fingerprint(fp),
                tag: search.pairs.tag(side, key),
            };
            or_out_of_memory(rows.add(side, row, search));
            count += 1;
            if count.is_multiple_of(REPORTED) {
                search.activity.show(|| format!("{count} rows read"));
            }
        };
        if self.is_empty() {
            for (side, source) in sources.iter().enumerate() {
                let scannable = self
                    .parameter
                    .is_none()
                    .then(|| ScannableSource::new(source));
                match scannable.flatten() {
                    Some(table) => table.read(side, rows, search),
                    None => self.run(&source.query(), &mut |row| add(search, rows, side, row)),
                }
            }
        } else {
            self.run(&self.query(sources), &mut |[a, b, fp, side, number]| {
                if integer(number) == 1 {
                    group(search, rows);
                    rows.clear();
                }
                let is_second_side = integer(side) == 1;
                let key = if is_second_side { b } else { a };
                add(search, rows, usize::from(is_second_side), [key, fp]);
            });
        }
        group(search, rows);
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

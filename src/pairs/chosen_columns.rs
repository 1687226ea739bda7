//! The key and the column that is compared, where a call leaves them out: the primary key, and the widest
//! column of texts. [`super::source`] asks for them. A NOTICE says which column of texts was taken.

use pgrx::PgSqlErrorCode::{ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_UNDEFINED_COLUMN};
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::Oid;

use super::arguments::{named, required};
use super::named_columns::{column, open_relation};
use super::source::is_text;
use simhash_pg::catalog::table::{self, OpenTable, quoted};
use simhash_pg::catalog::{indexes, table_name};
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::{Error, leave_out_statement, notice};
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};

/// Rows that are looked at for the width of columns.
const SAMPLE: u32 = 1000;

/// The columns that a call names: `compared` may be several texts, with commas between them.
pub struct NamedColumns {
    pub key: Option<String>,
    pub compared: Option<String>,
    pub text: Option<String>,
}

/// The columns that a call means.
pub struct Chosen {
    pub key: String,
    /// One column, or several of texts.
    pub compared: Vec<String>,
}

impl Chosen {
    /// `argument` is the name of the argument for the key.
    pub fn new(relation: Oid, named: NamedColumns, function: &str, argument: &str) -> Self {
        let (opened, sql) = open_relation(relation);
        let of_table = || indexes::primary_key(relation);
        let compared = named.compared.or(named.text);
        let (key, compared) = match (named.key, compared) {
            (key, Some(compared)) => (key, listed(&opened, &compared)),
            // A call that names one argument alone means the texts.
            (Some(texts), None) => match listed(&opened, &texts) {
                names if names.len() > 1 || of_table() != names && has_text(&opened, &names[0]) => {
                    (None, names)
                }
                _ => (Some(texts), vec![widest_text(&opened, &sql)]),
            },
            (None, None) => (None, vec![widest_text(&opened, &sql)]),
        };
        let key = key.unwrap_or_else(|| match &of_table()[..] {
            [key] => key.clone(),
            _ => {
                let name = table::name(relation).unwrap_or_default();
                let message = format!("\"{name}\" has no primary key of one column");
                let shown = table_name::literal(&table_name::shown(relation));
                let hint = format!(
                    "Name a column that tells rows apart, as argument \"{argument}\" of {function}, or \
                     call simhash_duplicates({shown}), which needs none."
                );
                Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).hint(hint).raise()
            }
        });
        Self { key, compared }
    }

    /// Returns the call of a function that returns keys of this type.
    pub fn call_with_key_type(&self, function: &str, relation: Oid, key_type: &str) -> String {
        let [table, columns] = [table_name::shown(relation), self.compared.join(",")]
            .map(|text| table_name::literal(&text));
        let key = match indexes::primary_key(relation) == [self.key.as_str()] {
            true => String::new(),
            false => format!(", key => {}", table_name::literal(&self.key)),
        };
        format!(
            "SELECT * FROM {function}({table}, key_type => NULL::{key_type}, columns => {columns}{key});"
        )
    }
}

/// Returns the names in argument `i`, a list as [`listed`] reads it, or an array of text; none of NULL.
pub fn named_list(args: &Args, i: usize, opened: &OpenTable) -> Vec<String> {
    if args.type_of(i) != pg_sys::TEXTARRAYOID {
        return named(args, i).map_or_else(Vec::new, |list| listed(opened, &list));
    }
    let array = args.varlena(i, pg_sys::TEXTARRAYOID);
    let items = array.map_or_else(Vec::new, |array| array.array().items);
    let names = items.into_iter().flatten();
    names
        .map(|name| name_to_utf8(name.bytes()).into_owned())
        .collect()
}

/// Returns the columns in a list: one of that name, or those between commas, which may be in braces, as
/// arrays are, and in double quotes.
fn listed(opened: &OpenTable, list: &str) -> Vec<String> {
    if table::column(opened.rel(), list).is_some() {
        return vec![list.to_owned()];
    }
    let items = items(list).into_iter();
    items.map(unquoted).collect()
}

/// The name that stands in a list, where it may be in double quotes, and one in it is doubled.
fn unquoted(item: &str) -> String {
    let name = item.trim();
    let inner = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'));
    inner.map_or_else(|| name.to_owned(), |inner| inner.replace("\"\"", "\""))
}

/// Returns what stands between the commas of a list, which may be in braces; none of an empty one.
fn items(list: &str) -> Vec<&str> {
    let braced = list.trim().strip_prefix('{');
    let inner = braced.and_then(|list| list.strip_suffix('}'));
    let inner = inner.unwrap_or(list);
    let mut is_quoted = false;
    let is_end = |character| {
        is_quoted ^= character == '"';
        character == ',' && !is_quoted
    };
    match inner.trim() {
        "" => Vec::new(),
        _ => inner.split(is_end).collect(),
    }
}

/// Returns an ORDER BY of columns of the row `r` as SQL text: a list of columns, each of which may have ASC or DESC
/// and NULLS FIRST or NULLS LAST behind it.
fn ordering(opened: &OpenTable, list: &str) -> String {
    let items = match table::column(opened.rel(), list) {
        Some(_) => vec![list],
        None => items(list),
    };
    if items.is_empty() {
        Error::new(
            ERRCODE_INVALID_PARAMETER_VALUE,
            "\"first_by\" names no column",
        )
        .raise();
    }
    let terms = items.into_iter().map(|item| {
        let (mut name, mut order) = (item.trim(), String::new());
        for ending in ["NULLS FIRST", "NULLS LAST", "ASC", "DESC"] {
            let is_column = table::column(opened.rel(), &unquoted(name)).is_some();
            if let Some(before) = without_ending(name, ending).filter(|_| !is_column) {
                (name, order) = (before, format!(" {ending}{order}"));
            }
        }
        let name = unquoted(name);
        column(opened, &name, "what comes first");
        format!("r.{}{order}", quoted(&name))
    });
    terms.collect::<Vec<_>>().join(", ")
}

/// Returns what stands before these words, in any case of letters.
fn without_ending<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let mut rest = text;
    for word in words.rsplit(' ') {
        let at = rest.len().checked_sub(word.len())?;
        let (before, ending) = (rest.get(..at)?, rest.get(at..)?);
        let trimmed = before.trim_end();
        if !ending.eq_ignore_ascii_case(word) || trimmed.len() == before.len() {
            return None;
        }
        rest = trimmed;
    }
    Some(rest)
}

fn has_text(opened: &OpenTable, name: &str) -> bool {
    table::column(opened.rel(), name).is_some_and(|column| is_text(&column))
}

/// Returns the column of texts with the longest values, as a look at some rows tells; raises an ERROR
/// where there is none. A text that many rows have, such as a template for answers, counts once.
fn widest_text(opened: &OpenTable, sql: &str) -> String {
    let names: Vec<String> = table::columns(opened.rel())
        .filter(|(_, column)| is_text(column))
        .map(|(name, _)| name)
        .collect();
    let mut widest = names.first().map(|name| (0, name));
    if names.len() > 1 {
        for name in &names {
            let column = quoted(name);
            let sample = format!(
                "SELECT pg_catalog.sum(pg_catalog.length(text)) FROM (SELECT DISTINCT {column}::pg_catalog.text AS text \
                 FROM (SELECT {column} FROM {sql} LIMIT {SAMPLE}) AS first_rows) AS texts"
            );
            for_each_row::<1>(&sample, &[], &mut |[sum]| {
                let sum = sum.map_or(0, |sum| sum.integer());
                if widest.is_none_or(|(most, _)| sum > most) {
                    widest = Some((sum, name));
                }
            });
        }
    }
    let Some((_, name)) = widest else {
        let message = format!("\"{}\" has no column of texts", opened.rel().name());
        Error::new(ERRCODE_UNDEFINED_COLUMN, message)
            .hint("Name the column of the fingerprints, of type bigint.")
            .raise()
    };
    notice(format!("comparing the texts of column \"{name}\""), None);
    name.clone()
}

pg_function!(simhash_named_columns);
/// `simhash_catalog.named_columns(relation regclass, list text) -> SETOF text`: the columns in a
/// list; without one that of texts which a call means that names none
fn simhash_named_columns(args: &Args) -> Datum {
    leave_out_statement();
    let mut rows = RowsOut::begin(args);
    let (opened, sql) = open_relation(required(
        args.get::<Oid>(0),
        "simhash_duplicates",
        "relation",
    ));
    let names = match named(args, 1) {
        Some(list) => listed(&opened, &list),
        None => vec![widest_text(&opened, &sql)],
    };
    for name in &names {
        column(&opened, name, "compared");
        rows.push([Some(ResultValue::Text(name))]);
    }
    args.null()
}

pg_function!(simhash_ordering);
/// `simhash_catalog.ordering(relation regclass, list text) -> text`: what simhash_duplicates orders the rows
/// `r` by, as SQL text
fn simhash_ordering(args: &Args) -> Datum {
    leave_out_statement();
    let (opened, _) = open_relation(required(
        args.get::<Oid>(0),
        "simhash_duplicates",
        "relation",
    ));
    let list = required(named(args, 1), "simhash_duplicates", "first_by");
    args.result(Some(ordering(&opened, &list)))
}

//! The key and the column that is compared, where a call leaves them out: the primary key, and the widest
//! column of texts. [`super::source`] asks for them. A NOTICE says which column of texts was taken.

use pgrx::PgSqlErrorCode::{ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_UNDEFINED_COLUMN};
use pgrx::pg_sys::Oid;

use super::named_columns::open_relation;
use super::source::is_text;
use simhash_pg::catalog::table::{self, OpenTable, quoted};
use simhash_pg::catalog::{indexes, table_name};
use simhash_pg::process::error::{Error, notice};
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::fmgr::pg_function;

/// Rows that are looked at for the width of columns.
const SAMPLE: u32 = 1000;

/// The columns that a call names.
pub struct NamedColumns {
    pub key: Option<String>,
    pub fingerprint: Option<String>,
    pub text: Option<String>,
}

/// The columns that a call means.
pub struct Chosen {
    pub key: String,
    pub compared: String,
}

impl Chosen {
    /// `argument` is the name of the argument for the key.
    pub fn new(relation: Oid, named: NamedColumns, function: &str, argument: &str) -> Self {
        let (opened, sql) = open_relation(relation);
        let of_table = || indexes::primary_key(relation);
        let compared = named.fingerprint.or(named.text);
        let (key, compared) = match (named.key, compared) {
            (key, Some(compared)) => (key, compared),
            // A call that names one column alone means the text.
            (Some(text), None) if has_text(&opened, &text) && of_table() != [text.as_str()] => {
                (None, text)
            }
            (key, None) => (key, widest_text(&opened, &sql)),
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
}

fn has_text(opened: &OpenTable, name: &str) -> bool {
    table::column(opened.rel(), name).is_some_and(|column| is_text(&column))
}

/// Returns the column of texts with the longest values, as a look at some rows tells; raises an ERROR
/// where there is none.
fn widest_text(opened: &OpenTable, sql: &str) -> String {
    let names: Vec<String> = table::columns(opened.rel())
        .filter(|(_, column)| is_text(column))
        .map(|(name, _)| name)
        .collect();
    let width = |name: &String| {
        format!(
            "pg_catalog.sum(pg_catalog.length({}::pg_catalog.text))",
            quoted(name)
        )
    };
    let mut widest = names.first().map(|name| (0, name));
    if names.len() > 1 {
        for name in &names {
            let sample = format!(
                "SELECT {} FROM (SELECT {} FROM {sql} LIMIT {SAMPLE}) AS first_rows",
                width(name),
                quoted(name)
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
    notice(format!("comparing the texts of column \"{name}\""));
    name.clone()
}

pg_function! {
    /// `simhash_catalog.widest_text(relation regclass) -> text`, strict: the column of texts that a call
    /// means which names none
    fn simhash_widest_text, pg_finfo_simhash_widest_text (args) {
        args.result(args.get::<Oid>(0).map(|relation| {
            let (opened, sql) = open_relation(relation);
            widest_text(&opened, &sql)
        }))
    }
}

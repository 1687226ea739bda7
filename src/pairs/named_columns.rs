//! Relations and columns as users name them in arguments, and the ERRORs where they do not serve:
//! no such relation or column, a type without an order, a key that is NULL or not unique.
//! [`super::source`] calls it, records and kept clusters do. A relation that it returns is locked
//! against DDL.

use pgrx::PgSqlErrorCode::{
    ERRCODE_CARDINALITY_VIOLATION, ERRCODE_DATATYPE_MISMATCH, ERRCODE_NULL_VALUE_NOT_ALLOWED,
    ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;
use simhash_pg::catalog::table::{self, Column, OpenTable};
use simhash_pg::catalog::table_name;
use simhash_pg::process::error::Error;
use simhash_pg::sql::key_type::{KeyType, no_order};

/// Raises the ERROR that two rows have the same value in the key column, which is named as SQL text.
pub fn not_unique(key: &str) -> ! {
    Error::new(
        ERRCODE_CARDINALITY_VIOLATION,
        format!("column {key} is not unique"),
    )
    .hint(
        "Rows with near-duplicates need keys that tell them apart. \
         Name another column, or a view.",
    )
    .raise()
}

/// Raises the ERROR that a row has no value in the key column, which is named as SQL text; `why` is
/// a sentence.
pub fn null_key(key: &str, why: &str) -> ! {
    Error::new(
        ERRCODE_NULL_VALUE_NOT_ALLOWED,
        format!("column {key} contains null values"),
    )
    .hint(format!(
        "{why} Name another column, or a view without such rows."
    ))
    .raise()
}

/// Opens a relation; returns its name with its schema, as SQL text, too.
pub fn open_relation(oid: pg_sys::Oid) -> (OpenTable, String) {
    if table::name(oid).is_none() {
        no_relation(oid);
    }
    let table = OpenTable::new(oid);
    let name = table::qualified_name(oid).unwrap_or_else(|| no_relation(oid));
    (table, name)
}

fn no_relation(oid: pg_sys::Oid) -> ! {
    Error::new(
        ERRCODE_UNDEFINED_TABLE,
        format!("relation with OID {} does not exist", oid.to_u32()),
    )
    .raise()
}

/// Returns the column of that name, which stands for `what`.
pub fn column(table: &OpenTable, name: &str, what: &str) -> Column {
    table::column(table.rel(), name).unwrap_or_else(|| {
        let error = table::no_column(table.rel(), name, what);
        if error.hint.is_some() {
            error.raise();
        }
        let hint = "Name a column of the table, or of a view that computes it.";
        error.hint(hint).raise()
    })
}

/// Raises an ERROR unless values of the type can be compared. The values of this column are of this
/// type or are cast to it.
pub fn require_order(column: &str, type_id: pg_sys::Oid) {
    if KeyType::new(type_id).is_none() {
        let hint = without_order(column);
        no_order(type_id).hint(hint).raise();
    }
}

/// Returns the hint where values of this column cannot be compared.
fn without_order(column: &str) -> String {
    let text = table_name::identifier(column);
    format!("Name another column, or a view that has {text}::text in its place.")
}

/// Raises an ERROR unless keys of a column's type can be returned as `expected`; `hint` says of their
/// type how a call names it, or of integers (None) how it leaves it out.
pub fn check_key(
    name: &str,
    column: pg_sys::Oid,
    expected: pg_sys::Oid,
    hint: impl FnOnce(Option<&str>) -> String,
) {
    if table::casts_implicitly(column, expected) {
        return require_order(name, expected);
    }
    let is_integer = table::casts_implicitly(column, pg_sys::INT8OID);
    let has_order = KeyType::new(column).is_some();
    let (column, expected) = (table::type_name(column), table::type_name(expected));
    let hint = match has_order {
        true => hint((!is_integer).then_some(&column)),
        false => format!(
            "Keys of type {column} cannot be compared. {}",
            without_order(name)
        ),
    };
    Error::new(
        ERRCODE_DATATYPE_MISMATCH,
        format!("column \"{name}\" is of type {column}, not {expected}"),
    )
    .hint(hint)
    .raise();
}

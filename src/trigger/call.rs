//! Common parts of the trigger functions: errors that name the trigger, the columns that its
//! arguments name, and what a session remembers of it. The triggers of `flag` and `clusters` call
//! it. What is remembered is made again when a table that concerns it was altered.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::thread::LocalKey;

use pgrx::PgSqlErrorCode::{
    ERRCODE_DATATYPE_MISMATCH, ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
    ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_INVALID_COLUMN_REFERENCE, ERRCODE_UNDEFINED_FUNCTION,
};
use pgrx::pg_sys::Oid;

use super::hash_column::TYPES;
use crate::errors::ToError;
use simhash_pg::catalog::invalidation::Validity;
use simhash_pg::catalog::table::{self, Column};
use simhash_pg::catalog::table_name;
use simhash_pg::process::error::Error;
use simhash_pg::sql::trigger::TriggerCall;

/// The HINT where a column is missing, or has no value when the trigger runs.
const STORED: &str = "The trigger needs a stored column";

/// Raises the ERROR for a function that was not fired as it must be, or called without a trigger.
pub fn raise_wrong_timing(call: Option<&TriggerCall<'_>>, function: &str, must: &str) -> ! {
    let code = ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED;
    let message = format!("function {function} must be fired {must}");
    match call {
        Some(call) => call.raise(Error::new(code, message)),
        None => Error::new(code, message).raise(),
    }
}

/// Refuses a foreign table. Its rows come and go at another server without this trigger. And
/// postgres_fdw searches there with the snapshot of the transaction's first query, which does not
/// show what others have stored while this transaction waited for a lock.
pub fn refuse_foreign(call: &TriggerCall<'_>) {
    if table::is_foreign(call.relation()) {
        let message = format!("\"{}\" is a foreign table", call.relation().name());
        let hint = "Create the trigger on the table that it stands for.";
        call.raise(Error::new(ERRCODE_FEATURE_NOT_SUPPORTED, message).hint(hint));
    }
}

/// Returns the value, or raises the ERROR about the trigger.
pub fn accepted<T>(call: &TriggerCall<'_>, result: Result<T, impl ToError>) -> T {
    result.unwrap_or_else(|error| call.raise(error.to_error()))
}

/// Returns the column of that name of the table that fired the trigger; `what` is its role.
pub fn column(call: &TriggerCall<'_>, name: &str, what: &str) -> Column {
    found_column(call, name, what, || None)
}

/// As [`column`]; `hint` says how to make it when there is none.
pub fn found_column(
    call: &TriggerCall<'_>,
    name: &str,
    what: &str,
    hint: impl FnOnce() -> Option<String>,
) -> Column {
    let table = call.relation();
    table::column(table, name).unwrap_or_else(|| {
        let mut error = table::no_column(table, name, what);
        error.hint = error.hint.or_else(hint);
        call.raise(error)
    })
}

/// Returns the statement that adds a column, without its end.
pub fn adding(call: &TriggerCall<'_>, name: &str, type_name: &str) -> String {
    let table = table_name::sql(call.relation().oid());
    let column = table_name::identifier(name);
    format!("ALTER TABLE {table} ADD {column} {type_name}")
}

/// Returns the fingerprint column, which the trigger reads or, if it `fills` it, writes.
pub fn fingerprint_column(call: &TriggerCall<'_>, name: &str, fills: bool) -> Column {
    const WHAT: &str = "the fingerprint";
    let hint = || {
        if name.contains('(') {
            let hint = "The argument names a column. Left out, simhash_flag_duplicate() takes the \
                        expression that an index has.";
            return Some(hint.to_owned());
        }
        let added = adding(call, name, "bigint");
        Some(match fills {
            true => format!("{added};"),
            false => format!("{STORED}: {added} GENERATED ALWAYS AS (...) STORED;"),
        })
    };
    let column = found_column(call, name, WHAT, hint);
    // What the trigger computes has 64 bits.
    let types = if fills { &TYPES[..1] } else { &TYPES };
    checked_type(call, name, column, WHAT, types)
}

/// Returns the column, unless it is generated and NEW has no value of it: a BEFORE trigger comes
/// too early, and no trigger sees a column that is generated whenever it is read.
pub fn check_visible(call: &TriggerCall<'_>, name: &str, column: Column) -> Column {
    if column.computed_on_read || column.generated && call.is_before_row() {
        let message =
            format!("column \"{name}\" is a generated column: triggers do not see its value");
        let hint = (column.computed_on_read && !call.is_before_row())
            .then(|| format!("{STORED}: GENERATED ALWAYS AS (...) STORED."));
        call.raise(Error {
            hint,
            ..Error::new(ERRCODE_INVALID_COLUMN_REFERENCE, message)
        });
    }
    column
}

/// Refuses a column whose type lacks `what` the trigger needs.
pub fn raise_lacks(call: &TriggerCall<'_>, what: &str, type_id: Oid) -> ! {
    let name = table::type_name(type_id);
    let message = format!("could not identify {what} for type {name}");
    call.raise(Error::new(ERRCODE_UNDEFINED_FUNCTION, message))
}

/// Returns the column of that name, which must be of one of these types; `what` is its role in the
/// message.
pub fn typed_column(call: &TriggerCall<'_>, name: &str, what: &str, types: &[Oid]) -> Column {
    checked_type(call, name, column(call, name, what), what, types)
}

fn checked_type(
    call: &TriggerCall<'_>,
    name: &str,
    column: Column,
    what: &str,
    types: &[Oid],
) -> Column {
    if !types.contains(&column.base_type()) {
        raise_wrong_type(call, name, &column, what, &table::type_name(types[0]));
    }
    column
}

pub fn raise_wrong_type(
    call: &TriggerCall<'_>,
    name: &str,
    column: &Column,
    what: &str,
    expected: &str,
) -> ! {
    let found = table::base_type_name(column);
    let message = format!("column \"{name}\" is of type {found}, but {what} is of type {expected}");
    call.raise(Error::new(ERRCODE_DATATYPE_MISMATCH, message))
}

/// Raises the ERROR for a near-duplicate that the transaction's snapshot does not show.
pub fn raise_missed_near_duplicate(table: &str) -> ! {
    Error::not_serializable(&format!(
        "another transaction has stored a near-duplicate in \"{table}\""
    ))
    .raise()
}

/// What a session remembers, by the OID of the trigger.
pub type Known<T> = RefCell<HashMap<u32, (Validity, Rc<T>)>>;

/// Returns what is known of the trigger that was fired, found out by `new` at the first call, and
/// again when a table that concerns it was altered.
pub fn remembered<T>(
    known: &'static LocalKey<Known<T>>,
    call: &TriggerCall<'_>,
    new: impl FnOnce() -> (Validity, T),
) -> Rc<T> {
    let trigger = call.trigger_oid().to_u32();
    let found = known.with_borrow(|known| match known.get(&trigger) {
        Some((current, found)) if current.is_valid() => Some(Rc::clone(found)),
        _ => None,
    });
    if let Some(found) = found {
        return found;
    }
    let (current, new) = new();
    let new = Rc::new(new);
    known.with_borrow_mut(|known| {
        // Entries of dropped triggers are outdated too.
        known.retain(|_, (current, _)| current.is_valid());
        known.insert(trigger, (current, Rc::clone(&new)));
    });
    new
}

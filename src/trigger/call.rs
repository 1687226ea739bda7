//! Common parts of the extension's trigger functions: errors that name the trigger, the columns
//! that arguments name, what a session remembers of each trigger.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::thread::LocalKey;

use pgrx::PgSqlErrorCode;
use pgrx::PgSqlErrorCode::{
    ERRCODE_DATATYPE_MISMATCH, ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
    ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_INVALID_COLUMN_REFERENCE,
    ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_UNDEFINED_FUNCTION,
};
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use crate::row::errors::sqlstate;
use simhash_fingerprint::Error;
use simhash_pg::catalog::invalidation::Current;
use simhash_pg::catalog::table::{self, Column};
use simhash_pg::catalog::table_name;
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::{raise, raise_not_serializable, report};
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::arguments::Parsed;

/// The HINT where a column is missing, or has no value when the trigger runs.
const STORED: &str = "The trigger needs a stored column";

/// Raises an ERROR about a trigger that was created wrongly, or whose tables do not suit it.
#[track_caller]
pub fn refuse(
    call: &TriggerCall<'_>,
    code: PgSqlErrorCode,
    message: impl Into<String>,
    hint: Option<String>,
) -> ! {
    report(code, message.into(), Some(trigger_description(call)), hint)
}

/// Names the trigger, for the DETAIL of an error.
fn trigger_description(call: &TriggerCall<'_>) -> String {
    format!(
        "The trigger is \"{}\" on table \"{}\".",
        name_to_utf8(call.trigger_name().to_bytes()),
        call.relation().name()
    )
}

/// Returns the result for the weights among the arguments, or raises the ERROR that says what is
/// wrong with them.
pub fn accepted_weights<T>(call: &TriggerCall<'_>, result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| {
        let trigger = trigger_description(call);
        let detail = match error.detail() {
            Some(detail) => format!("{trigger} {detail}"),
            None => trigger,
        };
        report(
            sqlstate(&error),
            error.to_string(),
            Some(detail),
            error.hint(),
        )
    })
}

/// Raises the ERROR for a function that was not fired as it must be, or called without a trigger.
pub fn wrong_timing(call: Option<&TriggerCall<'_>>, function: &str, must: &str) -> ! {
    let code = ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED;
    let message = format!("function {function} must be fired {must}");
    match call {
        Some(call) => refuse(call, code, message, None),
        None => raise(code, message),
    }
}

/// Refuses a foreign table. Its rows come and go at another server without this trigger. And
/// postgres_fdw searches there with the snapshot of the transaction's first query, which does not
/// show what others have stored while this transaction waited for a lock.
pub fn refuse_foreign(call: &TriggerCall<'_>) {
    if table::is_foreign(call.relation()) {
        let message = format!("\"{}\" is a foreign table", call.relation().name());
        let hint = "Create the trigger on the table that it stands for.".to_owned();
        refuse(call, ERRCODE_FEATURE_NOT_SUPPORTED, message, Some(hint));
    }
}

/// Returns the parsed arguments, or raises the ERROR that refuses them.
pub fn accepted<T>(call: &TriggerCall<'_>, parsed: Parsed<T>) -> T {
    parsed.unwrap_or_else(|refusal| {
        let (message, hint) = (refusal.message, refusal.hint);
        refuse(call, ERRCODE_INVALID_PARAMETER_VALUE, message, hint)
    })
}

/// Returns the column of that name of the table that fired the trigger; `what` is its role.
pub fn column(call: &TriggerCall<'_>, name: &str, what: &str) -> Column {
    found_column(call, name, what, || None)
}

/// As [`column`]; `hint` says how to make it when there is none.
fn found_column(
    call: &TriggerCall<'_>,
    name: &str,
    what: &str,
    hint: impl FnOnce() -> Option<String>,
) -> Column {
    let table = call.relation();
    table::column(table, name).unwrap_or_else(|| {
        let (code, message) = table::no_column(table, name, what);
        refuse(call, code, message, hint())
    })
}

/// Returns the fingerprint column, which the trigger reads or, if it `fills` it, writes.
pub fn fingerprint_column(call: &TriggerCall<'_>, name: &str, fills: bool) -> Column {
    const WHAT: &str = "the fingerprint";
    let hint = || {
        let added = format!(
            "ALTER TABLE {} ADD {} bigint",
            table_name::sql(call.relation().oid()),
            table_name::identifier(name)
        );
        Some(match fills {
            true => format!("{added};"),
            false => format!("{STORED}: {added} GENERATED ALWAYS AS (...) STORED;"),
        })
    };
    let column = found_column(call, name, WHAT, hint);
    checked_type(call, name, column, WHAT, &[pg_sys::INT8OID])
}

/// Returns the column, unless it is generated and NEW has no value of it: a BEFORE trigger comes
/// too early, and no trigger sees a column that is generated whenever it is read.
pub fn seen(call: &TriggerCall<'_>, name: &str, column: Column) -> Column {
    if column.computed_on_read || column.generated && call.is_before_row() {
        let message =
            format!("column \"{name}\" is a generated column: triggers do not see its value");
        let hint = (column.computed_on_read && !call.is_before_row())
            .then(|| format!("{STORED}: GENERATED ALWAYS AS (...) STORED."));
        refuse(call, ERRCODE_INVALID_COLUMN_REFERENCE, message, hint);
    }
    column
}

/// Refuses a column whose type lacks `what` the trigger needs.
pub fn lacks(call: &TriggerCall<'_>, what: &str, type_id: Oid) -> ! {
    let name = table::type_name(type_id);
    let message = format!("could not identify {what} for type {name}");
    refuse(call, ERRCODE_UNDEFINED_FUNCTION, message, None)
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
        wrong_type(call, name, &column, what, &table::type_name(types[0]));
    }
    column
}

pub fn wrong_type(
    call: &TriggerCall<'_>,
    name: &str,
    column: &Column,
    what: &str,
    expected: &str,
) -> ! {
    let found = table::base_type_name(column);
    let message = format!("column \"{name}\" is of type {found}, but {what} is of type {expected}");
    refuse(call, ERRCODE_DATATYPE_MISMATCH, message, None)
}

/// Raises the ERROR for a near-duplicate that the transaction's snapshot does not show.
pub fn missed_near_duplicate(table: &str) -> ! {
    raise_not_serializable(&format!(
        "another transaction has stored a near-duplicate in \"{table}\""
    ))
}

/// What a session remembers, by the OID of the trigger.
pub type Known<T> = RefCell<HashMap<u32, (Current, Rc<T>)>>;

/// Returns what is known of the trigger that was fired, found out by `new` at the first call, and
/// again when a table that concerns it was altered.
pub fn remembered<T>(
    known: &'static LocalKey<Known<T>>,
    call: &TriggerCall<'_>,
    new: impl FnOnce() -> (Current, T),
) -> Rc<T> {
    let trigger = call.trigger_oid().to_u32();
    let found = known.with_borrow(|known| match known.get(&trigger) {
        Some((current, found)) if current.is_current() => Some(Rc::clone(found)),
        _ => None,
    });
    if let Some(found) = found {
        return found;
    }
    let (current, new) = new();
    let new = Rc::new(new);
    known.with_borrow_mut(|known| {
        // Entries of dropped triggers are outdated too.
        known.retain(|_, (current, _)| current.is_current());
        known.insert(trigger, (current, Rc::clone(&new)));
    });
    new
}

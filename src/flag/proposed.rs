//! Checks the arguments of a flagging trigger before there is one, by the code that reads them when it
//! fires: CREATE TRIGGER cannot refuse any. And finds a trigger that does the same already. `simhash_guard` of the
//! SQL script calls both, for the statements that it prints.

use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::Oid;

use super::flagged_table::FlaggedTable;
use super::source::Source;
use crate::pairs::arguments::required;
use simhash_pg::catalog::table::OpenTable;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::trigger::{TriggerCall, with_proposed};
use simhash_trigger::flag_options::parse;

/// The function of the SQL script, for messages.
const GUARD: &str = "simhash_guard";

pg_function!(simhash_check_flag);
/// `simhash_catalog.check_flag(relation regclass, function oid, name text, arguments text[]) -> boolean`: raises
/// the ERROR that a trigger of this name would raise on its first row; returns whether an index of the
/// table says what it compares. Without one the arguments `text` and `within` do.
fn simhash_check_flag(args: &Args) -> Datum {
    let name = required(args.varlena(2, pg_sys::TEXTOID), GUARD, "name").to_text();
    args.result(Some(proposed(args, &name, 3, |call, _| {
        FlaggedTable::check(call)
    })))
}

pg_function!(simhash_same_flag);
/// `simhash_catalog.same_flag(relation regclass, function oid, arguments text[]) -> text`: the name of a trigger of
/// the table that does what one with these arguments would do; NULL if there is none
fn simhash_same_flag(args: &Args) -> Datum {
    let found = proposed(args, "", 2, |call, arguments| {
        let table = call.relation().oid();
        let meaning = |arguments: &[String], trigger| {
            let options = parse(arguments).ok()?;
            let source = match trigger {
                None => Source::proposed(table, &options),
                found => Source::new(table, &options, found),
            };
            Some(source.ok()?.meaning(table, options))
        };
        let wanted = meaning(arguments, None)?;
        let mut triggers = call.related_triggers().into_iter();
        triggers.find(|trigger| {
            trigger.fires_always
                && trigger.origin.table == table
                && meaning(&trigger.arguments, Some(trigger.origin.trigger)).as_ref()
                    == Some(&wanted)
        })
    });
    args.result(found.map(|trigger| trigger.name))
}

/// Calls `with` as a trigger of this name would be called whose relation, function and, at `at`, arguments the call names.
fn proposed<R>(
    args: &Args,
    name: &str,
    at: usize,
    with: impl FnOnce(&TriggerCall<'_>, &[String]) -> R,
) -> R {
    let relation: Oid = required(args.get(0), GUARD, "relation");
    let function: Oid = required(args.get(1), GUARD, "function");
    let array = required(args.varlena(at, pg_sys::TEXTARRAYOID), GUARD, "arguments").array();
    let arguments: Vec<String> = (array.items.into_iter())
        .map(|text| required(text, GUARD, "arguments").to_text())
        .collect();
    let opened = OpenTable::new(relation);
    with_proposed(args, opened.rel(), function, (name, &arguments), |call| {
        with(call, &arguments)
    })
}

//! `simhash_note_clusters()`: stores the key of each row that is changed, for the next refresh.
//! A note without a key says that all rows may have changed.

use std::cell::RefCell;

use pgrx::PgSqlErrorCode::{
    ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_NULL_VALUE_NOT_ALLOWED, ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;

use crate::citus::refuse_shard;
use crate::trigger::call::{
    Known, accepted, column, fingerprint_column, refuse_foreign, remembered, seen, wrong_timing,
};
use simhash_pg::catalog::invalidation::{Current, watch};
use simhash_pg::catalog::table::Column;
use simhash_pg::catalog::table_name::TableName;
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::pg_function;
use simhash_pg::sql::trigger::{Event, TriggerCall};
use simhash_pg::sql::value::Value;
use simhash_pg::table::append::append;
use simhash_trigger::distribution::Distribution;
use simhash_trigger::kept_options::parse_noting;

const NAME: &str = "simhash_note_clusters";

/// State that a session keeps for a trigger.
struct NoteTrigger {
    /// The table of notes.
    notes: pg_sys::Oid,
    key_name: String,
    key: Column,
    fingerprint: Column,
    /// The columns of the scope, and the text.
    others: Vec<Column>,
}

thread_local! {
    static KNOWN: Known<NoteTrigger> = RefCell::default();
}

pg_function! {
    /// `simhash_note_clusters() -> trigger`
    fn simhash_note_clusters, pg_finfo_simhash_note_clusters(args) {
        match TriggerCall::from_arguments(args) {
            Some(call) if call.is_after_row() => {
                remembered(&KNOWN, &call, || NoteTrigger::new(&call)).note(&call);
                call.unchanged()
            }
            Some(call) if call.is_after_statement() && call.event() == Event::Truncate => {
                append(remembered(&KNOWN, &call, || NoteTrigger::new(&call)).notes, None);
                call.skip()
            }
            call => wrong_timing(
                call.as_ref(),
                NAME,
                "AFTER INSERT, UPDATE or DELETE FOR EACH ROW, or AFTER TRUNCATE",
            ),
        }
    }
}

impl NoteTrigger {
    fn new(call: &TriggerCall<'_>) -> (Current, Self) {
        let (options, notes) = accepted(call, parse_noting(&call.arguments()));
        refuse_shard(call, Distribution::check_clusters);
        refuse_foreign(call);
        let notes = table_of_notes(call, &notes);
        let current = watch(&[call.relation().oid(), notes]);
        let seen = |name: &String, column| seen(call, name, column);
        let fp = &options.fingerprint;
        let others = (options
            .within
            .iter()
            .map(|name| (name, "part of the scope")))
        .chain(options.text.iter().map(|name| (name, "the text")));
        let trigger = Self {
            notes,
            key: seen(&options.key, column(call, &options.key, "the key")),
            fingerprint: seen(fp, fingerprint_column(call, fp, false)),
            others: (others.map(|(name, what)| seen(name, column(call, name, what)))).collect(),
            key_name: options.key.clone(),
        };
        (current, trigger)
    }

    /// Notes the keys of the old and of the new row. A row without a fingerprint is in no cluster.
    fn note(&self, call: &TriggerCall<'_>) {
        let event = call.event();
        let old = |column: &Column| call.old_value(column);
        let new = |column: &Column| call.new_value(column);
        let had = event != Event::Insert && old(&self.fingerprint).is_some();
        let has = event != Event::Delete && new(&self.fingerprint).is_some();
        let mut keeps_key = false;
        if had && has {
            let is_as_before = |c: &Column| image(old(c)) == image(new(c));
            keeps_key = is_as_before(&self.key);
            if keeps_key && is_as_before(&self.fingerprint) && self.others.iter().all(is_as_before)
            {
                return;
            }
        }
        if had && let Some(key) = old(&self.key) {
            append(self.notes, Some(key));
        }
        if has && !keeps_key {
            let key = new(&self.key).unwrap_or_else(|| self.null_key(call));
            append(self.notes, Some(key));
        }
    }

    fn null_key(&self, call: &TriggerCall<'_>) -> ! {
        let (column, table) = (&self.key_name, call.relation().name());
        let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
        call.raise(Error::new(ERRCODE_NULL_VALUE_NOT_ALLOWED, message));
    }
}

fn image(value: Option<Value<'_>>) -> Option<(usize, &[u8])> {
    value.map(|value| value.image())
}

/// Returns the table of notes of that name. A name without a schema is looked up in that of the
/// table that has the trigger.
fn table_of_notes(call: &TriggerCall<'_>, name: &str) -> pg_sys::Oid {
    let Some(parsed) = TableName::parse(name) else {
        let message =
            format!("trigger argument \"notes\" must be the name of a table, not \"{name}\"");
        call.raise(Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message));
    };
    let table = call.origin().table;
    parsed.find(table).unwrap_or_else(|| {
        let message = format!("table of notes \"{}\" does not exist", parsed.shown(table));
        let hint = "simhash_keep_clusters with refresh => 'manual' makes it.";
        call.raise(Error::new(ERRCODE_UNDEFINED_TABLE, message).hint(hint))
    })
}

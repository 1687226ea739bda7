//! `simhash_flag_duplicate()`: a BEFORE INSERT OR UPDATE row trigger that looks for a
//! near-duplicate of the new row, and marks, refuses or leaves out the row that has one. See
//! docs/flagging.md.
//!
//! Of two transactions that store near-duplicates of each other, the second waits for the first and
//! sees its row. Before a transaction searches, it enters the row among those in progress
//! ([`super::compared_tables`]), and waits for those that are near and not committed yet.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use pgrx::PgSqlErrorCode::{ERRCODE_EXCLUSION_VIOLATION, ERRCODE_UNDEFINED_FUNCTION};
use pgrx::pg_sys;

use super::fingerprint_check::check_once;
use super::flagged_table::{self, FlaggedTable};
use super::near_duplicate::{NearDuplicate, NearDuplicateSearch};
use super::row_movement;
use super::search_query::OpenQueries;
use crate::row::functions::simhash_row64;
use crate::trigger::call::{missed_near_duplicate, wrong_timing};
use crate::trigger::in_progress::leave_out;
use simhash_pg::catalog::lookup::{function_beside, function_result_type, is_symbol};
use simhash_pg::catalog::table::Column;
use simhash_pg::process::advisory_lock::keeps_its_snapshot;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::spi::saved_query::Sees;
use simhash_pg::sql::call_site;
use simhash_pg::sql::expression::RowExpression;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::trigger::{Event, TriggerCall};
use simhash_pg::sql::type_output::Output;
use simhash_pg::sql::value::Value;
use simhash_trigger::flag_options::{Mode, Recipe};
use simhash_trigger::in_progress::Key;

pg_function! {
    /// `simhash_flag_duplicate() -> trigger`
    fn simhash_flag_duplicate, pg_finfo_simhash_flag_duplicate (args) {
        let call = fired(args);
        let new = |memory| FlagState::new(&call, memory);
        call_site::with(args, new, |state| {
            state.refresh(&call);
            state.check_row(&call)
        })
    }
}

/// Returns the call; raises an ERROR unless a BEFORE INSERT OR UPDATE row trigger makes it.
fn fired(args: &Args) -> TriggerCall<'_> {
    match TriggerCall::from_arguments(args) {
        Some(call)
            if call.is_before_row() && matches!(call.event(), Event::Insert | Event::Update) =>
        {
            call
        }
        call => wrong_timing(
            call.as_ref(),
            "simhash_flag_duplicate",
            "BEFORE INSERT OR UPDATE FOR EACH ROW",
        ),
    }
}

/// State that one statement keeps for a trigger.
struct FlagState {
    /// Dropped before the table's queries are.
    open: OpenQueries,
    table: Rc<FlaggedTable>,
    /// Computes the fingerprint; None when the new row has it already.
    expression: Option<RowExpression>,
    /// The output function of the key.
    key_output: OnceCell<Output>,
    /// Whether this statement has checked how the stored fingerprints were made.
    checked: Cell<bool>,
    memory: MemoryContext,
}

/// A column of the new row, and the value that the trigger gives it.
type Change<'a> = (&'a Column, Option<Value<'a>>);

impl FlagState {
    fn new(call: &TriggerCall<'_>, memory: MemoryContext) -> Self {
        let table = flagged_table::flagged_table(call);
        let column = &table.columns.fingerprint;
        let expression = match &table.options.recipe {
            Some(recipe) => Some(recipe_expression(call, recipe, memory)),
            None if column.generated => Some(RowExpression::of_generated_column(
                call.relation(),
                column,
                memory,
            )),
            None => None,
        };
        Self {
            open: OpenQueries::default(),
            table,
            expression,
            key_output: OnceCell::new(),
            checked: Cell::new(false),
            memory,
        }
    }

    /// Starts again when the table was altered, which the statement itself can do in a function that
    /// it calls. What the old state has in `memory` stays there.
    fn refresh(&mut self, call: &TriggerCall<'_>) {
        if !Rc::ptr_eq(&self.table, &flagged_table::flagged_table(call)) {
            *self = Self::new(call, self.memory);
        }
    }

    fn check_row(&self, call: &TriggerCall<'_>) -> pg_sys::Datum {
        let table = &self.table;
        let fingerprint = match &self.expression {
            Some(expression) => expression.value(call),
            None => (call.new_value(&table.columns.fingerprint)).map(|value| value.integer()),
        };
        let mut changes = Vec::new();
        if table.options.recipe.is_some() {
            changes.push((&table.columns.fingerprint, fingerprint.map(Value::from)));
        }
        if self.was_compared(call, fingerprint) {
            return call.with(&changes);
        }
        let found = fingerprint.and_then(|fingerprint| {
            let scope = table.columns.scope.values(call)?;
            // This reads what the search reads, so it waits for nothing else and fails for no other
            // reason.
            if !self.checked.replace(true) {
                check_once(call, table);
            }
            self.search(call, fingerprint, &scope)
        });
        match (table.options.mode, &found) {
            (Mode::Reject, Some(found)) => self.reject(found),
            (Mode::Skip, Some(_)) => return call.skip(),
            _ => self.mark(&mut changes, found.as_ref()),
        }
        call.with(&changes)
    }

    /// Returns whether the same content was compared before, because an UPDATE does not change it, or
    /// because the row arrives from another partition. Then marks that a user has corrected stay.
    fn was_compared(&self, call: &TriggerCall<'_>, fingerprint: Option<i64>) -> bool {
        let (table, memory) = (&self.table, self.memory);
        let updates = call.event() == Event::Update;
        if table.searched != call.relation().oid() {
            let content = || {
                let text = table.columns.text.as_ref();
                let text = text.and_then(|text| call.new_value(text));
                let text = text.as_ref().map(Value::bytes);
                row_movement::content(fingerprint, text, &table.columns.scope.images(call))
            };
            if updates {
                row_movement::remember(call, memory, table.origin, content());
            } else if let Some(compared) = row_movement::arrival(memory, table.origin)
                // Another trigger may have changed the content on arrival. Then the row is compared
                // again, except where it could be left out: it would be lost.
                && (table.options.mode == Mode::Skip || compared == content())
            {
                return true;
            }
        }
        updates && self.is_as_before(call, fingerprint)
    }

    /// Returns whether an UPDATE leaves the fingerprint, the checked text and the scope as they
    /// were.
    fn is_as_before<'a>(&self, call: &TriggerCall<'a>, fingerprint: Option<i64>) -> bool {
        let columns = &self.table.columns;
        let before = call.old_value(&columns.fingerprint);
        before.map(|value| value.integer()) == fingerprint
            && columns.scope.is_as_before(call)
            && columns.text.as_ref().is_none_or(|column| {
                let text = |value: Option<Value<'a>>| value.map(|value| value.bytes());
                text(call.old_value(column)) == text(call.new_value(column))
            })
    }

    fn search<'a>(
        &self,
        call: &TriggerCall<'a>,
        fingerprint: i64,
        scope: &[Value<'a>],
    ) -> Option<NearDuplicate<'a>> {
        let table = &self.table;
        let added = (table.compared.as_ref()).map(|compared| {
            let key = self.key_of_new(call);
            compared.enter(call, fingerprint, key, |wait| self.compares(key, wait.key))
        });
        let old = call.old_place();
        let search =
            NearDuplicateSearch::new(call, (table, &self.open), fingerprint, scope, old.as_ref());
        let found = search.any(Sees::Usual);
        if found.is_none()
            && table.compared.is_some()
            && keeps_its_snapshot()
            && search.any(Sees::Latest).is_some()
        {
            missed_near_duplicate(&table.name);
        }
        // A row that is left out is not stored.
        if let (Mode::Skip, Some(added), true) = (table.options.mode, added, found.is_some()) {
            leave_out(&added);
        }
        found.map(|found| search.reported(found))
    }

    /// Returns the key of the new row, for messages.
    fn key_of_new(&self, call: &TriggerCall<'_>) -> Key {
        let key = (self.table.columns.key.as_ref()).and_then(|(_, key)| call.new_value(key));
        key.map_or(Key::default(), |key| Key::new(&self.key_text(key)))
    }

    fn key_text(&self, key: Value<'_>) -> String {
        let new = || Output::for_type(key.type_id(), self.memory);
        let output = self.key_output.get_or_init(new);
        output.text(key, |text| to_utf8(text).into_owned())
    }

    /// Returns the line of CONTEXT that says which rows are compared.
    fn compares(&self, own: Key, other: Key) -> String {
        let which = |key: Key, adjective| match (&self.table.columns.key, key.text()) {
            (Some((name, _)), key) if !key.is_empty() => {
                format!("the {adjective}row with \"{name}\" = {key}")
            }
            _ => format!("a {adjective}row"),
        };
        format!(
            "while comparing {} in \"{}\" with {}",
            which(own, ""),
            self.table.name,
            which(other, "uncommitted ")
        )
    }

    fn mark<'a>(&'a self, changes: &mut Vec<Change<'a>>, found: Option<&NearDuplicate<'a>>) {
        let columns = &self.table.columns;
        if let Some(flag) = &columns.flag {
            changes.push((flag, Some(Value::from(found.is_some()))));
        }
        if let Some(duplicate_of) = &columns.duplicate_of {
            changes.push((duplicate_of, found.and_then(|found| found.key)));
        }
    }

    fn reject(&self, found: &NearDuplicate<'_>) -> ! {
        let table = &self.table;
        let which = match (&table.columns.key, found.key) {
            (Some((name, _)), Some(value)) => {
                format!("the row with \"{name}\" = {}", self.key_text(value))
            }
            _ => "a row".to_owned(),
        };
        Error::new(
            ERRCODE_EXCLUSION_VIOLATION,
            format!("near-duplicate of {which} in \"{}\"", table.name),
        )
        .detail(format!(
            "The Hamming distance of their fingerprints is {}, within the radius of {}.",
            found.distance, table.options.radius
        ))
        .raise()
    }
}

/// Returns the expression for simhash64 of the new row, with the weights and the preset of the
/// trigger's arguments.
fn recipe_expression(
    call: &TriggerCall<'_>,
    recipe: &Recipe,
    memory: MemoryContext,
) -> RowExpression {
    let types = [pg_sys::RECORDOID, pg_sys::JSONBOID, pg_sys::TEXTOID];
    // Somebody else's function of that name may return another type.
    let ours = |&function: &pg_sys::Oid| {
        function_result_type(function) == pg_sys::INT8OID && is_symbol(function, simhash_row64)
    };
    let found = function_beside(call.function_oid(), c"simhash64", &types);
    let Some(function) = found.filter(ours) else {
        Error::new(
            ERRCODE_UNDEFINED_FUNCTION,
            "function simhash64(record, jsonb, text) of the extension does not exist in the schema \
             of the trigger function",
        )
        .hint("Keep the functions of the extension in one schema.")
        .raise();
    };
    let arguments = [
        (pg_sys::JSONBOID, Some(recipe.weights.as_str())),
        (pg_sys::TEXTOID, recipe.preset.as_deref()),
    ];
    RowExpression::of_row(call.relation(), function, &arguments, memory)
}

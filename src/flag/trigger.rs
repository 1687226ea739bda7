//! `simhash_flag_duplicate()`: a BEFORE INSERT OR UPDATE row trigger that looks for a
//! near-duplicate of the new row. It marks, refuses or leaves out the row that has one, or gives it
//! the key of the stored row. See docs/flagging.md.
//!
//! **Marks.** `duplicate_of=` names an original, which has no mark itself. It stays so: an UPDATE
//! does not mark a row that others are marked with, and where the original is deleted one of its
//! duplicates takes its place. An UPDATE that may mark a row enters it as it was, too. So if one
//! transaction marks a row and another marks a second row with it, the later one sees what the
//! earlier one has done.
//!
//! Of two transactions that store near-duplicates of each other, the second waits for the first and
//! sees its row. Before a transaction searches, it enters the row among those in progress
//! ([`super::compared_tables`]), and waits for those that are near and not committed yet.

use pgrx::pg_sys::Datum;
use std::cell::Cell;
use std::rc::Rc;

use pgrx::PgSqlErrorCode::{
    ERRCODE_EXCLUSION_VIOLATION, ERRCODE_UNDEFINED_FUNCTION, ERRCODE_UNIQUE_VIOLATION,
};
use pgrx::pg_sys;

use super::fingerprint_check::{check_length, check_once};
use super::flagged_table::{self, FlaggedTable};
use super::key_text::KeyText;
use super::near_duplicate::NearDuplicate;
use super::row_movement;
use super::search_query::{Candidates, OpenQueries};
use crate::hashes::read_hash;
use crate::row::fingerprint_functions::simhash_row64;
use crate::trigger::call::raise_wrong_timing;
use crate::trigger::hash_column;
use crate::trigger::hash_column::image;
use simhash_hamming::parts::Hash;
use simhash_pg::catalog::lookup::{function_beside, function_result_type, is_symbol};
use simhash_pg::catalog::table::{self, Column};
use simhash_pg::process::backend::{in_foreign_key, is_replica};
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::expression::RowExpression;
use simhash_pg::sql::fmgr::{self, Args, pg_function};
use simhash_pg::sql::trigger::{Event, TriggerCall};
use simhash_pg::sql::value::Value;
use simhash_trigger::flag_options::{FingerprintOptions, Mode};

pg_function!(simhash_flag_duplicate);
/// `simhash_flag_duplicate() -> trigger`
fn simhash_flag_duplicate(args: &Args) -> Datum {
    let call = fired(args);
    let new = |memory| FlagState::new(&call, memory);
    fmgr::with(args, new, |state| {
        state.refresh(&call);
        state.check_row(&call)
    })
}

/// Returns the call; raises an ERROR unless a BEFORE INSERT OR UPDATE row trigger makes it.
fn fired(args: &Args) -> TriggerCall<'_> {
    match TriggerCall::from_arguments(args) {
        Some(call)
            if call.is_before_row() && matches!(call.event(), Event::Insert | Event::Update) =>
        {
            call
        }
        call => raise_wrong_timing(
            call.as_ref(),
            "simhash_flag_duplicate",
            "BEFORE INSERT OR UPDATE FOR EACH ROW",
        ),
    }
}

/// State that one statement keeps for a trigger.
pub struct FlagState {
    /// Dropped before the table's queries are.
    pub open: OpenQueries,
    pub table: Rc<FlaggedTable>,
    /// Computes the fingerprint; None when the new row has it already.
    expression: Option<RowExpression>,
    pub key: KeyText,
    /// Whether this statement has checked how the stored fingerprints were made.
    fingerprints_checked: Cell<bool>,
    /// Whether others fire after it, and may store rows before this one is stored.
    pub(super) is_followed: bool,
    /// The generated columns, where a function reads whole rows.
    pub(super) generated: Vec<(Column, RowExpression)>,
    memory: MemoryContext,
}

/// A column of the new row, and the value that the trigger gives it.
type Change<'a> = (&'a Column, Option<Value<'a>>);

impl FlagState {
    fn new(call: &TriggerCall<'_>, memory: MemoryContext) -> Self {
        let table = flagged_table::flagged_table(call);
        let expression =
            match (
                &table.options.fingerprint_options,
                &table.columns.fingerprint,
            ) {
                (Some(fingerprint_options), _) => {
                    Some(fingerprint_expression(call, fingerprint_options, memory))
                }
                (None, Some(column)) if column.generated => Some(
                    RowExpression::of_generated_column(call.relation(), column, memory),
                ),
                (None, Some(_)) => None,
                (None, None) => table.index.and_then(|index| {
                    let function = crate::index::fingerprint_function;
                    RowExpression::of_index(call.relation(), index, "simhash", function, memory)
                }),
            };
        let generated = table::columns(call.relation())
            .map(|(_, column)| column)
            .filter(|column| column.generated && !column.computed_on_read)
            .filter(|_| table.columns.checks_rows())
            .map(|column| {
                let expression =
                    RowExpression::of_generated_column(call.relation(), &column, memory);
                (column, expression)
            });
        Self {
            is_followed: call.is_followed(),
            generated: generated.collect(),
            open: OpenQueries::default(),
            key: KeyText::new(&table.columns, memory),
            table,
            expression,
            fingerprints_checked: Cell::new(false),
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
        let hash = match &self.expression {
            Some(expression) => expression.value(call, read_hash),
            None => (table.columns.fingerprint.as_ref())
                .and_then(|column| call.new_value(column))
                .map(read_hash),
        };
        let hash = hash.map(|hash| hash.unwrap_or_else(|error| call.raise(*error)));
        let hash = hash.as_ref();
        let mut changes = Vec::new();
        if let (Some(_), Some(column)) = (
            &table.options.fingerprint_options,
            &table.columns.fingerprint,
        ) {
            changes.push((column, hash.map(hash_column::value)));
        }
        let lost = self.has_lost_its_original(call);
        if self.was_compared(call, hash) && !lost {
            self.enter_renamed(call, hash);
            return call.with(&changes);
        }
        let found = hash.and_then(|hash| {
            let scope = table.columns.scope.parameters(call);
            if scope.iter().any(Option::is_none) {
                return None;
            }
            // This reads what the search reads, so it waits for nothing else and fails for no other
            // reason.
            if !self.fingerprints_checked.replace(true) {
                check_once(call, table);
            }
            check_length(call, table, hash);
            let lost = lost && self.is_as_before(call, Some(hash));
            self.search(call, hash, &scope, lost)
        });
        match (table.options.mode, &found) {
            (Mode::Flag, _) => self.mark(&mut changes, found.as_ref()),
            (_, None) => {}
            (Mode::Skip, Some(_)) => return call.skip(),
            (Mode::Conflict, Some(found))
                if call.event() == Event::Insert && !found.key.is_empty() =>
            {
                let columns = table.columns.key.iter().map(|(_, column)| column);
                changes.extend(columns.zip(found.key.iter().copied().map(Some)));
            }
            (Mode::Conflict | Mode::Reject, Some(found)) => self.refuse(call, found),
        }
        call.with(&changes)
    }

    /// Returns whether the same content was compared before, because an UPDATE does not change it, or
    /// because the row arrives from another partition. Then marks that a user has corrected stay.
    fn was_compared(&self, call: &TriggerCall<'_>, hash: Option<&Hash>) -> bool {
        let (table, memory) = (&self.table, self.memory);
        let updates = call.event() == Event::Update;
        if table.rows_move {
            let content = || {
                let (text, more) = match table.columns.texts.split_first() {
                    Some((text, more)) => (call.new_value(text), more),
                    None => (None, &[][..]),
                };
                let text = text.as_ref().map(Value::bytes);
                let mut compared = table.columns.scope.images(call);
                compared.extend(table.columns.across.images(call));
                let checked = more.iter().chain(&table.columns.read_by_check);
                compared.extend(checked.map(|column| image(call.new_value(column))));
                row_movement::content(hash, text, &compared)
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
        updates && self.is_as_before(call, hash)
    }

    /// Returns whether an UPDATE clears a mark since the row that it named is gone, or a foreign key
    /// says so with ON DELETE SET NULL. Where changes of another server are applied, that one has decided.
    fn has_lost_its_original(&self, call: &TriggerCall<'_>) -> bool {
        let Some(duplicate_of) = &self.table.columns.duplicate_of else {
            return false;
        };
        if call.event() != Event::Update || is_replica() {
            return false;
        }
        let mark = call.old_value(duplicate_of);
        let Some(original) = mark.filter(|_| call.new_value(duplicate_of).is_none()) else {
            return false;
        };
        if in_foreign_key() {
            return true;
        }
        let old = call.old_address();
        let scope = self.table.columns.scope.parameters(call);
        let search = self.new_search(call, None, &scope, (old.as_ref(), Candidates::All));
        self.table.queries.finds_originals() && search.by_key(&[original]).is_none()
    }

    /// Returns whether an UPDATE leaves the fingerprint, what is checked and the scope as they were.
    fn is_as_before(&self, call: &TriggerCall<'_>, hash: Option<&Hash>) -> bool {
        let columns = &self.table.columns;
        self.old_hash(call).as_ref() == hash
            && columns.scope.is_as_before(call)
            && columns.across.is_as_before(call)
            && (columns.texts.iter().chain(&columns.read_by_check))
                .all(|column| image(call.old_value(column)) == image(call.new_value(column)))
    }

    /// Returns the hash of the row that an UPDATE replaces. One that was stored before there was this
    /// trigger may be none.
    pub fn old_hash(&self, call: &TriggerCall<'_>) -> Option<Hash> {
        match (&self.table.columns.fingerprint, &self.expression) {
            (Some(column), _) => call
                .old_value(column)
                .and_then(|value| read_hash(value).ok()),
            (None, Some(expression)) => {
                let read = |value: Value<'_>| read_hash(value).ok();
                expression.old_value(call, read).flatten()
            }
            (None, None) => None,
        }
    }

    pub(super) fn mark<'a>(
        &'a self,
        changes: &mut Vec<Change<'a>>,
        found: Option<&NearDuplicate<'a>>,
    ) {
        let columns = &self.table.columns;
        if let Some(flag) = &columns.flag {
            changes.push((flag, Some(Value::from(found.is_some()))));
        }
        if let Some(duplicate_of) = &columns.duplicate_of {
            let key = found.and_then(|found| found.key.first().copied());
            changes.push((duplicate_of, key));
        }
    }

    /// Raises the ERROR for a near-duplicate, as a constraint of the trigger's name would.
    fn refuse(&self, call: &TriggerCall<'_>, found: &NearDuplicate<'_>) -> ! {
        let (table, key) = (&self.table, self.key.values(&found.key));
        let code = match table.options.mode {
            Mode::Conflict => ERRCODE_UNIQUE_VIOLATION,
            _ => ERRCODE_EXCLUSION_VIOLATION,
        };
        let distance = format!(
            "The Hamming distance of their fingerprints is {}, within the radius of {}.",
            found.distance, table.radius
        );
        let row = self.key.row(&key);
        let (article, detail) = match found.key.is_empty() {
            true => ("a", distance),
            false => ("the", format!("{} {distance}", self.key.sentence(&key))),
        };
        let message = format!("near-duplicate of {article} {row} in \"{}\"", table.name);
        let schema = table::schema_name(table::schema(table.searched)).unwrap_or_default();
        let trigger = name_to_utf8(call.trigger_name().to_bytes());
        Error::new(code, message)
            .detail(detail)
            .constraint(&schema, &table.name, &trigger)
            .raise()
    }
}

/// Returns the expression for simhash64 of the new row, with the weights and the preset of the
/// trigger's arguments.
fn fingerprint_expression(
    call: &TriggerCall<'_>,
    fingerprint_options: &FingerprintOptions,
    memory: MemoryContext,
) -> RowExpression {
    let types = [pg_sys::RECORDOID, pg_sys::JSONBOID, pg_sys::TEXTOID];
    // Somebody else's function of that name may return another type.
    let ours = |&function: &pg_sys::Oid| {
        function_result_type(function) == pg_sys::INT8OID
            && is_symbol(function, simhash_row64::symbol)
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
        (pg_sys::JSONBOID, Some(fingerprint_options.weights.as_str())),
        (pg_sys::TEXTOID, fingerprint_options.preset.as_deref()),
    ];
    RowExpression::of_row(call.relation(), function, &arguments, memory)
}

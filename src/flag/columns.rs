//! The columns that the arguments of a flagging trigger name. `flagged_table` and `search_query`
//! read them. Each column exists in the table and has the type of its role.

use pgrx::PgSqlErrorCode::{ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_INVALID_PARAMETER_VALUE};
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::source::{Source, is_checked_text};
use crate::row::is_string_type;
use crate::trigger::call::{
    accepted, adding, check_visible, column, fingerprint_column, found_column, raise_wrong_type,
    typed_column,
};
use crate::trigger::hash_column::Scope;
use crate::trigger::hash_column::check_radius;
use simhash_fingerprint::options::grammar::parse_row;
use simhash_fingerprint::options::json;
use simhash_fingerprint::options::plan::{self, Field};
use simhash_fingerprint::options::presets;
use simhash_pg::catalog::indexes;
use simhash_pg::catalog::table::{self, Column, OpenTable};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::sql::expression::jsonb_text;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::arguments::{ACROSS_KEY, WITHIN_KEY};
use simhash_trigger::flag_options::{FingerprintOptions, FlagOptions, Mode};

/// How many columns a key has at most.
pub const MOST_KEY: usize = 4;

/// The columns that the arguments name, in the table that fired the trigger.
pub struct Columns {
    /// None where an index makes the fingerprints.
    pub fingerprint: Option<Column>,
    pub flag: Option<Column>,
    pub duplicate_of: Option<Column>,
    /// The columns of the key with their names: at most [`MOST_KEY`], none where no key is known.
    pub key: Vec<(String, Column)>,
    /// The columns of the text that is checked.
    pub texts: Vec<Column>,
    /// The columns that a function of two rows may read: all but those that the trigger fills.
    pub read_by_check: Vec<Column>,
    /// The columns of `within=`.
    pub scope: Scope,
    /// The columns of `across=`.
    pub across: Scope,
}

impl Columns {
    pub fn new(
        call: &TriggerCall<'_>,
        searched: Oid,
        options: &FlagOptions,
        source: &Source,
    ) -> Self {
        let fingerprint = (source.column.as_deref())
            .map(|name| checked_fingerprint(call, name, options, source.radius));
        let key: Vec<_> = (key_names(call, searched, options).into_iter())
            .map(|name| {
                let column = check_visible(call, &name, column(call, &name, "the key"));
                (name, column)
            })
            .collect();
        if options.mode == Mode::Conflict {
            check_conflict(call, searched, &key, &source.within);
        }
        let typed = |name: &str, what: &str, types: &[Oid]| {
            check_visible(call, name, typed_column(call, name, what, types))
        };
        let flag = options.flag.as_deref();
        let mut columns = Self {
            fingerprint,
            flag: flag.map(|name| typed(name, "the flag", &[pg_sys::BOOLOID])),
            duplicate_of: options.duplicate_of.as_deref().map(|name| {
                let added = || {
                    let [(_, key)] = &key[..] else { return None };
                    let added = adding(call, name, &table::base_type_name(key));
                    Some(format!("{added};"))
                };
                let column = found_column(call, name, "the key of the original", added);
                let column = check_visible(call, name, column);
                if let [(_, key)] = &key[..]
                    && !key.base().fits(column.base())
                {
                    raise_wrong_type(call, name, &column, "the key", &table::base_type_name(key));
                }
                column
            }),
            texts: (source.texts.iter())
                .map(|name| text_column(call, name))
                .collect(),
            read_by_check: Vec::new(),
            key,
            scope: Scope::new(call, &source.within),
            across: Scope::new(call, &options.across),
        };
        if source.texts.is_empty() && source.check.is_some() {
            columns.read_by_check =
                columns.read_by_check(call, options.fingerprint_options.is_some());
        }
        columns.check_primary_key(call);
        if let Some(fingerprint_options) = &options.fingerprint_options {
            columns.check_counted_columns(call, fingerprint_options);
        }
        columns
    }

    /// The columns that a function of two rows may read, in the order of their names, since partitions
    /// have them at different positions.
    fn read_by_check(&self, call: &TriggerCall<'_>, fills_fingerprint: bool) -> Vec<Column> {
        let filled = [self.flag.as_ref(), self.duplicate_of.as_ref()];
        let filled = filled
            .into_iter()
            .chain([self.fingerprint.as_ref().filter(|_| fills_fingerprint)]);
        let filled: Vec<i16> = filled.flatten().map(|column| column.number()).collect();
        let mut columns: Vec<(String, Column)> = table::columns(call.relation())
            .filter(|(_, column)| !filled.contains(&column.number()) && !column.generated)
            .collect();
        columns.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        columns.into_iter().map(|(_, column)| column).collect()
    }

    /// Whether a function compares whole rows.
    pub fn checks_rows(&self) -> bool {
        self.texts.is_empty() && !self.read_by_check.is_empty()
    }

    /// A fingerprint that the trigger computes must not depend on generated columns, which are
    /// computed after the trigger, nor on columns that the trigger fills: the next UPDATE would
    /// compute another one.
    fn check_counted_columns(
        &self,
        call: &TriggerCall<'_>,
        fingerprint_options: &FingerprintOptions,
    ) {
        let (names, columns): (Vec<String>, Vec<Column>) = table::columns(call.relation()).unzip();
        let filled = |column: &Column| {
            let filled = [
                self.fingerprint.as_ref(),
                self.flag.as_ref(),
                self.duplicate_of.as_ref(),
            ];
            filled
                .into_iter()
                .flatten()
                .any(|f| f.number() == column.number())
        };
        for place in counted_columns(call, fingerprint_options, &names, &columns) {
            let name = &names[place];
            let column = check_visible(call, name, columns[place]);
            if filled(&column) {
                let hint = "Let the trigger argument \"weights\" name the columns that count, \
                            or leave others out with \"$exclude\".";
                call.raise(
                    Error::new(
                        ERRCODE_INVALID_PARAMETER_VALUE,
                        format!(
                            "column \"{name}\" counts for the fingerprint, but the trigger fills it"
                        ),
                    )
                    .hint(hint),
                );
            }
        }
    }

    /// Refuses an argument that names the primary key where that is the key by default. A key that
    /// an argument names was compared with the other arguments when they were parsed.
    fn check_primary_key(&self, call: &TriggerCall<'_>) {
        let refuse = |argument: &str, name: &str, hint: &str| {
            let message = format!(
                "trigger argument \"{argument}\" names column \"{name}\", which is the key"
            );
            call.raise(Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).hint(hint))
        };
        let named = [
            ("fingerprint", self.fingerprint.as_ref()),
            ("flag", self.flag.as_ref()),
            ("duplicate_of", self.duplicate_of.as_ref()),
        ];
        for (name, key) in &self.key {
            for (argument, column) in named {
                if column.is_some_and(|column| column.number() == key.number()) {
                    let hint = "The key is the primary key, unless 'key=...' names another column.";
                    refuse(argument, name, hint);
                }
            }
        }
        let [(name, _)] = &self.key[..] else { return };
        if self.scope.names().contains(&name.as_str()) {
            refuse("within", name, WITHIN_KEY);
        }
        if self.across.names().contains(&name.as_str()) {
            refuse("across", name, ACROSS_KEY);
        }
    }
}

/// Returns the column of fingerprints, which the trigger reads or fills.
fn checked_fingerprint(
    call: &TriggerCall<'_>,
    name: &str,
    options: &FlagOptions,
    radius: u32,
) -> Column {
    let fills = options.fingerprint_options.is_some();
    let fingerprint = fingerprint_column(call, name, fills);
    check_radius(&fingerprint, radius).unwrap_or_else(|error| call.raise(*error));
    if fills && call.has_condition() {
        let message = format!("a trigger with a WHEN condition cannot fill column \"{name}\"");
        let hint = "Rows for which it is false would have no fingerprint, and no search would find them. Leave \
                    WHEN out, or take an index on simhash64(ROW(...), weights) and leave \"fingerprint\" and \
                    \"weights\" out.";
        call.raise(Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).hint(hint));
    }
    if fingerprint.generated && fills {
        let message =
            format!("column \"{name}\" is a generated column, the trigger cannot fill it");
        let hint =
            "Leave the trigger argument \"weights\" out: the column's own expression is used.";
        call.raise(Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).hint(hint));
    }
    fingerprint
}

/// Returns a column of the text that is checked.
fn text_column(call: &TriggerCall<'_>, name: &str) -> Column {
    let column = column(call, name, "the text");
    if !is_checked_text(&column) {
        raise_wrong_type(call, name, &column, "the text", "text");
    }
    check_visible(call, name, column)
}

/// Returns the names of the columns that are the key: those that the arguments name, or those of the
/// primary key.
fn key_names(call: &TriggerCall<'_>, searched: Oid, options: &FlagOptions) -> Vec<String> {
    let refuse = |message: &str, hint: &str| {
        call.raise(Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).hint(hint))
    };
    let mut names = options.key.clone();
    if names.len() > MOST_KEY {
        let message = format!("a key cannot have more than {MOST_KEY} columns");
        refuse(
            &message,
            "Name the columns of 'key=...' that tell rows apart.",
        );
    }
    if names.is_empty() {
        // A table that others inherit from may have none.
        let tables = [searched, call.relation().oid()];
        let keys = tables.map(indexes::primary_key).into_iter();
        let mut keys = keys.filter(|key| (1..=MOST_KEY).contains(&key.len()));
        names = keys.next().unwrap_or_default();
    }
    if names.len() != 1 && options.duplicate_of.is_some() {
        refuse(
            "trigger argument \"duplicate_of\" needs a key of one column",
            match options.key.len() {
                0 => "Add 'key=...': the table has no primary key of one column.",
                _ => "A mark is the key of another row.",
            },
        );
    }
    if names.is_empty() && options.mode == Mode::Conflict {
        let hint = format!(
            "The table has no primary key of up to {MOST_KEY} columns: {} GENERATED ALWAYS AS IDENTITY PRIMARY \
             KEY; adds one. Or the argument 'key=...' names the columns of ON CONFLICT.",
            adding(call, "id", "bigint")
        );
        refuse("\"mode=conflict\" needs a key", &hint);
    }
    names
}

/// Refuses a key in which two rows may be equal: a row that takes the key of a stored one would be stored
/// beside it, and its own key would be lost.
fn check_conflict(
    call: &TriggerCall<'_>,
    searched: Oid,
    key: &[(String, Column)],
    within: &[String],
) {
    let opened = OpenTable::new(searched);
    let table = opened.rel();
    if opened.has_inheritors() {
        let message = format!("tables inherit from \"{}\"", table.name());
        let hint = "\"mode=conflict\" needs keys that are unique in all of them. Partition the table, or \
                    take another mode.";
        call.raise(Error::new(ERRCODE_FEATURE_NOT_SUPPORTED, message).hint(hint));
    }
    // The stored row is equal to the new one in the columns of `within=`.
    let names = key.iter().map(|(name, _)| name);
    if !opened.are_unique(names.clone().chain(within)) {
        let names: Vec<&str> = names.map(String::as_str).collect();
        let message = format!(
            "\"mode=conflict\" needs a unique index on ({}) of \"{}\"",
            names.join(", "),
            table.name()
        );
        let hint = "An index counts if all its columns are in the key or in 'within=', and it has no WHERE \
                    and is not deferrable.";
        call.raise(Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).hint(hint));
    }
}

/// Returns the columns that the fingerprint is computed from, by their places in `columns`.
fn counted_columns(
    call: &TriggerCall<'_>,
    fingerprint_options: &FingerprintOptions,
    names: &[String],
    columns: &[Column],
) -> Vec<usize> {
    let fields: Vec<Field> = std::iter::zip(names, columns)
        .map(|(name, column)| Field {
            name: name.clone(),
            generated: column.generated,
            is_text: is_string_type(column.storage.type_id),
        })
        .collect();
    // The server's own error would not name the trigger.
    accepted(call, json::document(&fingerprint_options.weights));
    let text = jsonb_text(&fingerprint_options.weights);
    let weights = accepted(call, parse_row(&text, &mut check_for_interrupts));
    let preset = accepted(call, presets::find(fingerprint_options.preset.as_deref()));
    let plans = accepted(call, plan::row(preset, &weights, &fields));
    plans
        .iter()
        .flat_map(|plan| plan.fields().chain(plan.title))
        .collect()
}

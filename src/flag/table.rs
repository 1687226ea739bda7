//! What a flagging trigger knows of its table: the columns that its arguments name, and the query that
//! looks for near-duplicates. Found out once in a session, and again when the table was altered.

use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

use pgrx::PgSqlErrorCode::{
    ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_INVALID_COLUMN_REFERENCE,
    ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::locks::FlagLocks;
use super::options::{FlagOptions, Mode, Recipe, parse};
use super::query::Search;
use crate::fingerprint::options::grammar::parse_row;
use crate::fingerprint::options::plan;
use crate::fingerprint::options::plan::Field;
use crate::fingerprint::options::presets;
use crate::pg::catalog::invalidation::{Current, watch};
use crate::pg::catalog::table;
use crate::pg::catalog::table::Column;
use crate::pg::catalog::table_name;
use crate::pg::process::error::raise;
use crate::pg::spi::saved_query::SavedQuery;
use crate::pg::sql::expression::jsonb_text;
use crate::pg::sql::trigger::TriggerCall;
use crate::pg::sql::trigger_tree::Origin;
use crate::pg::sql::value::Storage;
use crate::row::errors::or_raise;
use crate::trigger::call::{Known, accepted, column, refuse, remembered, typed_column, wrong_type};

/// Up to this radius the index does less work than reading the table, if there are rows to speak of.
const INDEX_SERVES: u32 = 10;

/// A trigger on a table.
pub struct FlaggedTable {
    pub options: FlagOptions,
    /// The trigger of which this one is a copy, when the table is a partition; else this one.
    pub origin: Oid,
    /// The table that is searched: the one on which the trigger was created, of a partition the
    /// partitioned table above.
    pub searched: Oid,
    /// The name of the table that is searched, without its schema.
    pub name: String,
    pub columns: Columns,
    /// Finds the key (or 0) and the distance of a near-duplicate of a new row.
    pub of_new: SavedQuery,
    /// The same of an updated row, which is no duplicate of its own old version. Made when first
    /// needed: it reads system columns, for which rights on single columns do not suffice.
    of_updated: OnceCell<SavedQuery>,
    search: Search,
    prefers_indexes: bool,
    /// None with lock=off.
    pub locks: Option<FlagLocks>,
    pub key_storage: Storage,
}

/// The columns that the arguments name, in the table that fired the trigger.
pub struct Columns {
    pub fingerprint: Column,
    pub flag: Option<Column>,
    pub duplicate_of: Option<Column>,
    pub key: Option<(String, Column)>,
    pub text: Option<Column>,
}

thread_local! {
    static KNOWN: Known<FlaggedTable> = RefCell::default();
    /// Tables that were said to have no index.
    static WARNED: RefCell<HashSet<u32>> = RefCell::new(HashSet::new());
}

/// What is known of the table whose trigger runs.
pub fn of(call: &TriggerCall<'_>) -> Rc<FlaggedTable> {
    remembered(&KNOWN, call, || FlaggedTable::new(call))
}

impl FlaggedTable {
    fn new(call: &TriggerCall<'_>) -> (Current, Self) {
        let options = accepted(call, parse(&call.arguments()));
        let fired = call.relation();
        if table::is_foreign(fired) {
            let message = format!(
                "\"{}\" is a foreign table: near-duplicates are flagged where its rows are kept",
                fired.name()
            );
            refuse(call, ERRCODE_FEATURE_NOT_SUPPORTED, message, None);
        }
        let Origin {
            trigger: origin,
            table: searched,
            ..
        } = call.origin();
        if options.mode == Mode::Skip && may_miss_moves(call, searched) {
            let hint = "Create the trigger BEFORE INSERT OR UPDATE, without columns or WHEN, on the topmost partitioned table.";
            refuse(
                call,
                ERRCODE_FEATURE_NOT_SUPPORTED,
                "\"mode=skip\" might lose rows that an UPDATE moves to another partition",
                Some(hint.to_owned()),
            );
        }
        // Before anything is read of them: what changes from here on is noticed.
        let current = watch(&[fired.oid(), searched]);
        let columns = Columns::new(call, searched, &options);
        let Some(search) = Search::new(searched, &options, &columns) else {
            raise(ERRCODE_UNDEFINED_TABLE, "the table was dropped meanwhile");
        };
        let indexed = table::has_index(searched, &options.fingerprint, "simhash");
        let name = table::name(searched).unwrap_or_default();
        if !indexed {
            warn_once(searched, &name, &options.fingerprint);
        }
        let prefers_indexes = indexed && options.radius <= INDEX_SERVES;
        let known = Self {
            of_new: search.saved(false, prefers_indexes),
            of_updated: OnceCell::new(),
            search,
            prefers_indexes,
            locks: options
                .lock
                .then(|| FlagLocks::new(call, &options.fingerprint)),
            key_storage: Storage::of(columns.key_type()),
            options,
            origin,
            searched,
            name,
            columns,
        };
        (current, known)
    }
}

impl FlaggedTable {
    /// Its last two parameters are the place of the old version.
    pub fn of_updated(&self) -> &SavedQuery {
        self.of_updated
            .get_or_init(|| self.search.saved(true, self.prefers_indexes))
    }
}

/// Can a row arrive from another partition although this trigger was not fired for the UPDATE?
fn may_miss_moves(call: &TriggerCall<'_>, searched: Oid) -> bool {
    table::is_partition(call.relation().oid())
        && (table::is_partition(searched) || !call.fires_on_any_update())
}

fn warn_once(table: Oid, name: &str, fingerprint: &str) {
    if WARNED.with_borrow_mut(|warned| warned.insert(table.to_u32())) {
        crate::pg::process::error::warn(
            format!(
                "table \"{name}\" has no simhash index on \"{fingerprint}\": each new row is compared with every row"
            ),
            format!(
                "CREATE INDEX ON {} USING simhash ({});",
                table_name::sql(table),
                table_name::identifier(fingerprint)
            ),
        );
    }
}

impl Columns {
    fn new(call: &TriggerCall<'_>, searched: Oid, options: &FlagOptions) -> Self {
        let fp = &options.fingerprint;
        let fingerprint = typed_column(call, fp, "the fingerprint", &[pg_sys::INT8OID]);
        if fingerprint.generated && options.recipe.is_some() {
            let hint =
                "Leave the trigger argument \"weights\" out: the column's own expression is used.";
            refuse(
                call,
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!("column \"{fp}\" is a generated column, the trigger cannot fill it"),
                Some(hint.to_owned()),
            );
        }
        let key = key_name(call, searched, options).map(|name| {
            let column = seen(call, &name, column(call, &name));
            (name, column)
        });
        let typed = |name: &str, what: &str, types: &[Oid]| {
            seen(call, name, typed_column(call, name, what, types))
        };
        let flag = options.flag.as_deref();
        let text = options.text.as_ref().map(|check| check.column.as_str());
        let texts = [pg_sys::TEXTOID, pg_sys::VARCHAROID, pg_sys::BPCHAROID];
        let columns = Self {
            fingerprint,
            flag: flag.map(|name| typed(name, "the flag", &[pg_sys::BOOLOID])),
            duplicate_of: options.duplicate_of.as_deref().map(|name| {
                let column = seen(call, name, column(call, name));
                if let Some((_, key)) = &key
                    && !key.base().fits(column.base())
                {
                    wrong_type(call, name, &column, "the key", &table::base_type_name(key));
                }
                column
            }),
            text: text.map(|name| typed(name, "the text", &texts)),
            key,
        };
        columns.check_primary_key(call);
        if let Some(recipe) = &options.recipe {
            columns.check_recipe(call, recipe);
        }
        columns
    }

    /// A fingerprint that the trigger computes cannot depend on what is computed after the trigger, nor
    /// on what the trigger itself fills: the next UPDATE would find another one.
    fn check_recipe(&self, call: &TriggerCall<'_>, recipe: &Recipe) {
        let (names, columns): (Vec<String>, Vec<Column>) = table::columns(call.relation()).unzip();
        let filled = |column: &Column| {
            let filled = [
                Some(&self.fingerprint),
                self.flag.as_ref(),
                self.duplicate_of.as_ref(),
            ];
            filled
                .into_iter()
                .flatten()
                .any(|f| f.number == column.number)
        };
        for place in counting(recipe, &names, &columns) {
            let name = &names[place];
            let column = seen(call, name, columns[place]);
            if filled(&column) {
                let hint = "Let the trigger argument \"weights\" name the columns that count, or leave others out with \"$exclude\".";
                refuse(
                    call,
                    ERRCODE_INVALID_PARAMETER_VALUE,
                    format!(
                        "column \"{name}\" counts for the fingerprint, but the trigger fills it"
                    ),
                    Some(hint.to_owned()),
                );
            }
        }
    }

    /// A key that no argument names is no column that another one names either: those that arguments
    /// name were compared before.
    fn check_primary_key(&self, call: &TriggerCall<'_>) {
        let Some((name, key)) = &self.key else {
            return;
        };
        let named = [
            ("fingerprint", Some(&self.fingerprint)),
            ("flag", self.flag.as_ref()),
            ("duplicate_of", self.duplicate_of.as_ref()),
        ];
        for (argument, column) in named {
            if column.is_some_and(|column| column.number == key.number) {
                let hint = "The key is the primary key, unless 'key=...' names another column.";
                refuse(
                    call,
                    ERRCODE_INVALID_PARAMETER_VALUE,
                    format!(
                        "trigger argument \"{argument}\" names column \"{name}\", which is the key"
                    ),
                    Some(hint.to_owned()),
                );
            }
        }
    }

    /// Of the first column that the query returns.
    fn key_type(&self) -> Oid {
        self.key
            .as_ref()
            .map_or(pg_sys::INT4OID, |key| key.1.base_type())
    }
}

/// The key that the arguments name, or the primary key, if it is one column.
fn key_name(call: &TriggerCall<'_>, searched: Oid, options: &FlagOptions) -> Option<String> {
    let key = options.key.clone().or_else(|| table::primary_key(searched));
    if key.is_none() && options.duplicate_of.is_some() {
        let hint = "Add 'key=...': the table has no primary key of one column.";
        refuse(
            call,
            ERRCODE_INVALID_PARAMETER_VALUE,
            "the trigger argument \"duplicate_of\" needs to know the key",
            Some(hint.to_owned()),
        );
    }
    key
}

/// A column of which NEW has a value, and may be given another.
fn seen(call: &TriggerCall<'_>, name: &str, column: Column) -> Column {
    if column.generated {
        let message =
            format!("column \"{name}\" is a generated column: triggers do not see its value");
        refuse(call, ERRCODE_INVALID_COLUMN_REFERENCE, message, None);
    }
    column
}

/// Which of a table's columns count for the fingerprint, by their places.
fn counting(recipe: &Recipe, names: &[String], columns: &[Column]) -> Vec<usize> {
    let fields: Vec<Field> = std::iter::zip(names, columns)
        .map(|(name, column)| Field {
            name: name.clone(),
            generated: column.generated,
        })
        .collect();
    let weights = or_raise(parse_row(&jsonb_text(&recipe.weights)));
    let preset = or_raise(presets::find(recipe.preset.as_deref()));
    let plans = or_raise(plan::row(preset, &weights, &fields));
    plans
        .iter()
        .flat_map(|plan| [Some(plan.field), plan.title])
        .flatten()
        .collect()
}

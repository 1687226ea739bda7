//! `simhash_catalog.maintain_clusters()`: the AFTER trigger of a kept table and of its table of decisions.
//! It only notes which rows have changed: in the table of notes, or in [`super::pending`], which
//! answers when the statement ends. A note without a key says that all rows may have changed.

use pgrx::pg_sys::Datum;
use std::cell::RefCell;
use std::rc::Rc;

use pgrx::PgSqlErrorCode::{ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_NULL_VALUE_NOT_ALLOWED};
use pgrx::pg_sys::Oid;

use super::answer::AtOnce;
use super::claims::Claims;
use super::cluster_table::{ClusterTableCheck, refuse_row_security};
use super::kept_table::{KeptTable, find_table, is_made_of, renamed};
use super::pending::note_pending;
use crate::citus::refuse_shard;
use crate::hashes::read_hash;
use crate::row::text::TextSite;
use crate::trigger::call::{
    Known, accepted, check_visible, column, fingerprint_column, raise_wrong_timing, refuse_foreign,
    remembered,
};
use crate::trigger::hash_column::check_radius;
use crate::trigger::hash_column::{Scope, image};
use simhash_fingerprint::hash::Width;
use simhash_hamming::parts::Hash;
use simhash_pg::catalog::invalidation::{Validity, watch};
use simhash_pg::catalog::lookup::{equality_types, has_row_security};
use simhash_pg::catalog::table::{self, Column, OpenTable};
use simhash_pg::catalog::table_name::TableName;
use simhash_pg::process::error::{Error, warn};
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::key_type::{KeyType, no_order};
use simhash_pg::sql::trigger::{Event, TriggerCall};
use simhash_pg::sql::value::Value;
use simhash_pg::table_scan::append;
use simhash_trigger::distribution::Distribution;
use simhash_trigger::in_progress::Compared;
use simhash_trigger::kept_options::{KeptOptions, parse};

/// The trigger function.
const NAME: &str = "simhash_catalog.maintain_clusters";

/// State that a session keeps for a trigger.
struct RowTrigger {
    notes: Notes,
    columns: NotedColumns,
    key_name: String,
}

/// Where changes are noted.
enum Notes {
    /// In this table.
    Stored(Oid),
    /// In this session.
    AtOnce(Rc<AtOnce>),
}

/// What is read of a row that has changed.
enum NotedColumns {
    OfRow {
        key: Column,
        /// Fingerprints, or texts of which they are made.
        fingerprint: Column,
        made: Option<Box<RefCell<TextSite<1>>>>,
        /// The columns of the scope, those in which rows differ, and the text.
        others: Vec<Column>,
        /// Whether any other column may matter, since a function judges whole rows.
        all_matter: bool,
    },
    /// The two keys of a decision.
    OfDecision([Column; 2]),
}

thread_local! {
    static KNOWN: Known<RowTrigger> = RefCell::default();
}

pg_function!(simhash_maintain_clusters);
/// `simhash_catalog.maintain_clusters() -> trigger`
fn simhash_maintain_clusters(args: &Args) -> Datum {
    match TriggerCall::from_arguments(args) {
        Some(call) if call.is_after_row() => {
            remembered(&KNOWN, &call, || RowTrigger::new(&call)).note(&call);
            call.unchanged()
        }
        Some(call) if call.is_after_statement() && call.event() == Event::Truncate => {
            let trigger = remembered(&KNOWN, &call, || RowTrigger::new(&call));
            match &trigger.notes {
                Notes::Stored(notes) => append(*notes, None),
                Notes::AtOnce(at_once) => {
                    check_rights(&call, at_once);
                    let relation = at_once.kept.relation;
                    // The rows are still there if only their decisions are gone, and hidden ones would leave
                    // their clusters.
                    if matches!(trigger.columns, NotedColumns::OfDecision(_))
                        && has_row_security(relation)
                    {
                        call.raise(refuse_row_security(relation));
                    }
                    at_once.compute_all(args);
                }
            }
            call.skip()
        }
        call => raise_wrong_timing(
            call.as_ref(),
            NAME,
            "AFTER INSERT, UPDATE or DELETE FOR EACH ROW, or AFTER TRUNCATE",
        ),
    }
}

impl RowTrigger {
    fn new(call: &TriggerCall<'_>) -> (Validity, Self) {
        let options = accepted(call, parse(&call.arguments()));
        refuse_shard(call, Distribution::check_clusters);
        refuse_foreign(call);
        // A statement trigger (that of TRUNCATE) has no other trigger above it.
        let fired = match call.is_after_row() {
            true => call.origin().table,
            false => table::topmost(call.relation().oid()),
        };
        let find = |what: &str, argument, name: &Option<String>| {
            let find = |name| find_table(fired, argument, what, name);
            name.as_deref()
                .map(|name| find(name).unwrap_or_else(|error| call.raise(*error)))
        };
        let is_of_decisions =
            find("table of decisions", "decisions", &options.decisions) == Some(fired);
        let named = is_of_decisions.then(|| find("table", "table", &options.table));
        let relation = named.flatten().unwrap_or(fired);
        let columns = match is_of_decisions {
            true => NotedColumns::OfDecision(
                ["a", "b"].map(|name| column(call, name, "a key of a decision")),
            ),
            false => NotedColumns::of_row(call, &options),
        };
        let key_name = options.key.clone();
        let (current, notes) = notes(call, options, relation, is_of_decisions);
        let trigger = Self {
            notes,
            columns,
            key_name,
        };
        (current, trigger)
    }

    /// Notes the keys of the old and of the new row. A row without a fingerprint is in no cluster.
    fn note(&self, call: &TriggerCall<'_>) {
        if let Notes::AtOnce(at_once) = &self.notes {
            check_rights(call, at_once);
        }
        let had = call.event() != Event::Insert;
        let has = call.event() != Event::Delete;
        let (key, fingerprint, made) = match &self.columns {
            NotedColumns::OfRow {
                key,
                fingerprint,
                made,
                ..
            } => (key, fingerprint, made),
            NotedColumns::OfDecision(columns) => {
                let old = columns.iter().filter(|_| had).map(|c| call.old_value(c));
                let new = columns.iter().filter(|_| has).map(|c| call.new_value(c));
                return self.add(call, old.chain(new).flatten().collect(), Vec::new());
            }
        };
        let had = call.old_value(fingerprint).filter(|_| had);
        let has = call.new_value(fingerprint).filter(|_| has);
        let mut keeps_key = false;
        if had.is_some() && has.is_some() {
            keeps_key = image(call.old_value(key)) == image(call.new_value(key));
            if keeps_key && self.columns.are_as_before(call) {
                return;
            }
        }
        let old_key = call.old_value(key).filter(|_| had.is_some());
        let new_key = (has.is_some() && !keeps_key)
            .then(|| call.new_value(key).unwrap_or_else(|| self.null_key(call)));
        let keys = old_key.into_iter().chain(new_key).collect();
        let rows = match &self.notes {
            Notes::Stored(_) => Vec::new(),
            Notes::AtOnce(at_once) => {
                let hash = |value| match made {
                    Some(made) => Ok(made
                        .borrow_mut()
                        .default_fingerprint(value)
                        .map(|[bits]| Hash::Fingerprint(bits))),
                    None => read_hash(value).map(Some),
                };
                // What was stored before there was this trigger may be no hash.
                let old = had.and_then(|value| hash(value).ok().flatten());
                let new = has.and_then(|value| hash(value).unwrap_or_else(|e| call.raise(*e)));
                at_once.claims.rows(call, old, new).collect()
            }
        };
        self.add(call, keys, rows);
    }

    /// Notes keys. `rows` are compared with those of others in progress.
    fn add(&self, call: &TriggerCall<'_>, keys: Vec<Value<'_>>, rows: Vec<Compared>) {
        let at_once = match &self.notes {
            Notes::Stored(notes) => {
                keys.into_iter().for_each(|key| append(*notes, Some(key)));
                return;
            }
            Notes::AtOnce(at_once) => at_once,
        };
        let noted: Vec<KeptValue> = keys.iter().map(Value::keep).collect();
        // A deferred trigger runs when there is no statement.
        match call.is_deferrable() {
            true => at_once.answer(call.args(), &noted, &rows),
            false => note_pending(at_once, noted, rows),
        }
    }

    fn null_key(&self, call: &TriggerCall<'_>) -> ! {
        let (column, table) = (&self.key_name, call.relation().name());
        let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
        call.raise(Error::new(ERRCODE_NULL_VALUE_NOT_ALLOWED, message));
    }
}

impl NotedColumns {
    fn of_row(call: &TriggerCall<'_>, options: &KeptOptions) -> Self {
        let visible = |name: &String, column| check_visible(call, name, column);
        let fp = &options.fingerprint;
        let text = table::column(call.relation(), fp).filter(is_made_of);
        let new = |_: &Column| {
            Box::new(RefCell::new(TextSite::new(
                MemoryContext::current(),
                Width::W64,
            )))
        };
        let made = text.as_ref().map(new);
        let fingerprint = text.unwrap_or_else(|| fingerprint_column(call, fp, false));
        check_radius(&fingerprint, options.radius).unwrap_or_else(|error| call.raise(*error));
        let within = options
            .within
            .iter()
            .map(|name| (name, "part of the scope"));
        let across = (options.across.iter()).map(|name| (name, "one in which rows differ"));
        let text = options.text.iter().map(|name| (name, "the text"));
        let others = within.chain(across).chain(text);
        Self::OfRow {
            key: visible(&options.key, column(call, &options.key, "the key")),
            fingerprint: visible(fp, fingerprint),
            made,
            others: (others.map(|(name, what)| visible(name, column(call, name, what)))).collect(),
            all_matter: options.checked_by.is_some() && options.text.is_none(),
        }
    }

    /// Returns whether an UPDATE has left everything as it was, beside the key.
    fn are_as_before(&self, call: &TriggerCall<'_>) -> bool {
        let is_as_before = |c: &Column| image(call.old_value(c)) == image(call.new_value(c));
        match self {
            Self::OfRow {
                fingerprint,
                others,
                all_matter,
                ..
            } => !all_matter && is_as_before(fingerprint) && others.iter().all(is_as_before),
            Self::OfDecision(_) => false,
        }
    }
}

/// Returns where the trigger notes changes of the rows of `relation`, and watches what this depends on.
fn notes(
    call: &TriggerCall<'_>,
    options: KeptOptions,
    relation: Oid,
    is_of_decisions: bool,
) -> (Validity, Notes) {
    let opened = OpenTable::new(relation);
    let key_name = options.key.clone();
    let key = table::column(opened.rel(), &key_name).unwrap_or_else(|| {
        call.raise(table::no_column(opened.rel(), &key_name, "the key"));
    });
    let check = ClusterTableCheck {
        call,
        table: relation,
        key_name: &key_name,
        key: &key,
    };
    let clusters = find_table(relation, "clusters", "table of clusters", &options.clusters)
        .unwrap_or_else(|error| call.raise(*error));
    let trigger = call.function_oid();
    let kept = KeptTable::find(relation, clusters, trigger, options);
    let kept = kept.unwrap_or_else(|error| call.raise(*error));
    let named = (kept.options.table.as_deref()).and_then(TableName::parse);
    let named = named.and_then(|name| name.find(relation));
    if let Some([message, hint]) = renamed(relation, named, clusters) {
        warn(message, hint);
    }
    // Watch them before they are read, so that no change in between is missed.
    let mut watched = kept.tables();
    watched.push(call.relation().oid());
    let current = watch(&watched);
    if let Some(notes) = kept.notes {
        return (current, Notes::Stored(notes));
    }
    current.watch_types(&equality_types(key.storage.type_id));
    kept.checked_by
        .into_iter()
        .for_each(|function| current.watch_function(function));
    // A decision has no scope.
    let within = match is_of_decisions {
        false => &kept.options.within[..],
        true => &[],
    };
    let scope = Scope::new(call, within);
    scope.watch(&current);
    let types = key_types(&key).unwrap_or_else(|| no_key_type(call, &key));
    let cluster_table = check.check(clusters);
    let claims = Claims::new(call, &kept, scope);
    let at_once = AtOnce::new(kept, cluster_table, claims, types, !call.has_condition());
    (current, Notes::AtOnce(Rc::new(at_once)))
}

/// The base type of keys, and that of arrays of them. None for one that has no order, or no arrays.
fn key_types(key: &Column) -> Option<(KeyType, Oid)> {
    let key_type = KeyType::new(key.base_type())?;
    let of_arrays = key_type.array_type()?;
    Some((key_type, of_arrays))
}

fn no_key_type(call: &TriggerCall<'_>, key: &Column) -> ! {
    if KeyType::new(key.base_type()).is_none() {
        call.raise(no_order(key.storage.type_id));
    }
    let name = table::type_name(key.storage.type_id);
    let message = format!("{NAME} cannot look up keys of type {name}");
    call.raise(Error::new(ERRCODE_FEATURE_NOT_SUPPORTED, message));
}

/// Raises an ERROR unless the current user may write clusters, and sees all rows that matter: with
/// `within=` those of a scope.
fn check_rights(call: &TriggerCall<'_>, at_once: &AtOnce) {
    at_once.clusters.check_rights(call);
    let kept = &at_once.kept;
    if let Some(decisions) = kept.decisions.filter(|table| has_row_security(*table)) {
        call.raise(refuse_row_security(decisions));
    }
    // Where not even the owner sees all rows, nobody can tell a hidden row from one that is gone.
    if has_row_security(kept.relation)
        && (kept.options.within.is_empty()
            || OpenTable::new(kept.relation).rel().forces_row_security())
    {
        call.raise(refuse_row_security(kept.relation));
    }
}

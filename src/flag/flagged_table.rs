//! What a session remembers of a flagging trigger: its arguments, the columns that they name
//! ([`super::columns`]), and the queries that look for near-duplicates. It is looked up once in a
//! session, and again after the table was altered.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

use pgrx::PgSqlErrorCode::{ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_UNDEFINED_TABLE};
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::check::{CheckCondition, settle_operands};
use super::columns::Columns;
use super::compared_tables::ComparedTables;
use super::search_query::{QueryBuilder, SearchQueries};
use super::source::{Source, SourceIndex};
use crate::citus::refuse_shard;
use crate::trigger::call::{Known, accepted, refuse_foreign, remembered};
use crate::trigger::hash_column::HashColumn;
use simhash_pg::catalog::indexes::{Serving, is_partitioned_index, serving_index};
use simhash_pg::catalog::invalidation::{Validity, watch};
use simhash_pg::catalog::lookup::equality_types;
use simhash_pg::catalog::table::OpenTable;
use simhash_pg::catalog::{table, table_name};
use simhash_pg::process::error::Error;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_pg::sql::trigger_tree::{Origin, ancestors};
use simhash_trigger::flag_options::{FlagOptions, Mode, parse};

/// Up to this radius an index scan costs less than reading the table, unless the table is small.
const INDEX_SERVES: u32 = 10;

/// A trigger on a table.
pub struct FlaggedTable {
    pub options: FlagOptions,
    /// Bits.
    pub radius: u32,
    /// The index that says what is compared, where no argument does.
    pub index: Option<Oid>,
    /// The trigger of which this one is a partition's copy; this trigger itself if it is not a copy.
    pub origin: Oid,
    /// The table that is searched: the one on which `origin` was created.
    pub searched: Oid,
    /// Whether an UPDATE can move a row from this table to another one that is searched, or back.
    pub rows_move: bool,
    /// The name of the table that is searched, without its schema.
    pub name: String,
    pub columns: Columns,
    pub queries: SearchQueries,
    /// Whether a foreign key requires that the row is stored that a mark names.
    pub keeps_originals: bool,
    /// Where rows in progress are compared; None with lock=off.
    pub compared: Option<ComparedTables>,
    /// How many parts the hashes have that were compared last; 0 before the first.
    pub parts: Cell<usize>,
}

thread_local! {
    static KNOWN: Known<FlaggedTable> = RefCell::default();
    /// Tables for which this session was warned about a missing index.
    static WARNED: RefCell<HashSet<u32>> = RefCell::new(HashSet::new());
}

/// Returns what is remembered of the trigger that was fired.
pub fn flagged_table(call: &TriggerCall<'_>) -> Rc<FlaggedTable> {
    remembered(&KNOWN, call, || FlaggedTable::new(call))
}

impl FlaggedTable {
    fn new(call: &TriggerCall<'_>) -> (Validity, Self) {
        let options = accepted(call, parse(&call.arguments()));
        let fired = call.relation();
        refuse_foreign(call);
        let Origin {
            trigger: origin,
            table: searched,
            ..
        } = call.origin();
        if options.mode == Mode::Skip {
            refuse_unseen_moves(call, searched);
        }
        // Watch them before they are read, so that no change in between is missed.
        let mut tables = ancestors(fired.oid());
        tables.extend([fired.oid(), searched]);
        let current = watch(&tables);
        let mut source = Source::new(searched, &options, Some(origin))
            .unwrap_or_else(|error| call.raise(*error));
        settle_operands(call, searched, &mut source);
        let (columns, has_copies) = columns(call, searched, &options, &source);
        for (_, key) in &columns.key {
            current.watch_types(&equality_types(key.base_type()));
        }
        columns.scope.watch(&current);
        columns.across.watch(&current);
        let name = table::name(searched).unwrap_or_default();
        let hashes = hashes(searched, &name, &options, &source, &columns);
        let prefers_indexes = hashes.has_index()
            && (columns.fingerprint.is_none()
                || hashes.index_radius(source.radius) <= INDEX_SERVES);
        let builder = QueryBuilder::new(
            call,
            searched,
            &options,
            (&source, &columns),
            hashes,
            has_copies,
        );
        let Some(search) = builder else {
            Error::new(
                ERRCODE_UNDEFINED_TABLE,
                format!("relation with OID {} does not exist", searched.to_u32()),
            )
            .raise();
        };
        let search = SearchQueries::new(search, prefers_indexes);
        if let Some(function) = search.checked_by() {
            current.watch_function(function);
        }
        let compared = options.lock.then(|| ComparedTables::new(call, &source));
        let known = Self {
            queries: search,
            keeps_originals: keeps_originals(searched, &options),
            compared,
            parts: Cell::new(0),
            radius: source.radius,
            index: source.index.map(|index| index.oid),
            options,
            origin,
            searched,
            rows_move: searched != fired.oid() && table::is_partition(fired.oid()),
            name,
            columns,
        };
        (current, known)
    }

    /// Raises the ERROR for the arguments of a trigger that is not there yet; returns whether an index of
    /// the table says what it compares.
    pub fn check(call: &TriggerCall<'_>) -> bool {
        let options = accepted(call, parse(&call.arguments()));
        refuse_foreign(call);
        let searched = call.origin().table;
        if options.mode == Mode::Skip {
            refuse_unseen_moves(call, searched);
        }
        let source = Source::proposed(searched, &options);
        let mut source = source.unwrap_or_else(|error| call.raise(*error));
        settle_operands(call, searched, &mut source);
        let (columns, _) = columns(call, searched, &options, &source);
        // A function that checks rows is looked up.
        CheckCondition::new(call, searched, (&source, &columns), 1);
        source.index.is_some() || source.column.is_some()
    }
}

/// Returns the columns that the arguments name, and whether other nodes have copies of the table.
fn columns(
    call: &TriggerCall<'_>,
    searched: Oid,
    options: &FlagOptions,
    source: &Source,
) -> (Columns, bool) {
    let has_copies = refuse_shard(call, |distribution| {
        distribution.check_flags(&source.within)
    });
    (Columns::new(call, searched, options, source), has_copies)
}

fn keeps_originals(searched: Oid, options: &FlagOptions) -> bool {
    let opened = OpenTable::new(searched);
    let mark = options.duplicate_of.as_deref();
    mark.and_then(|name| table::column(opened.rel(), name))
        .is_some_and(|mark| opened.has_foreign_key_on(mark.number()))
}

/// Returns how the rows of the table are compared; warns where no index serves that.
fn hashes(
    searched: Oid,
    name: &str,
    options: &FlagOptions,
    source: &Source,
    columns: &Columns,
) -> HashColumn {
    let (Some(column), Some(fingerprint)) = (&columns.fingerprint, &source.column) else {
        let index = source.index.as_ref();
        if let Some(invalid) = index.filter(|index| !index.valid) {
            warn_once(searched, name, "", columns, Some(invalid.oid));
        }
        if let Some(index) = index.filter(|index| !index.others.is_empty()) {
            warn_of_others(searched, name, index);
        }
        return HashColumn::Fingerprints {
            has_index: index.is_some_and(|index| index.valid),
        };
    };
    let pinned = columns.scope.names();
    let serving = Serving {
        access_method: "simhash",
        column: fingerprint,
        pinned: &pinned,
        condition: options.original(),
    };
    let hashes = HashColumn::new(column, searched, &serving);
    // The index that was asked for may be partial: its own predicate is among the conditions.
    if !hashes.has_index() && source.index.is_none() {
        let invalid = serving_index(searched, &serving).map(|found| found.index);
        warn_once(searched, name, fingerprint, columns, invalid);
    }
    match &source.index {
        Some(index) if !hashes.is_in_parts() => HashColumn::Fingerprints {
            has_index: hashes.has_index() || index.valid,
        },
        _ => hashes,
    }
}

/// Refuses a trigger that may miss moves. A row that an UPDATE moves is deleted first: if it is
/// then skipped, it is lost.
fn refuse_unseen_moves(call: &TriggerCall<'_>, searched: Oid) {
    if may_miss_moves(call, searched) {
        let message = "\"mode=skip\" might lose rows that an UPDATE moves to another partition";
        let hint = "Create the trigger BEFORE INSERT OR UPDATE, without columns or WHEN, \
                    on the topmost partitioned table.";
        call.raise(Error::new(ERRCODE_FEATURE_NOT_SUPPORTED, message).hint(hint));
    }
}

/// Returns whether a row can arrive from another partition although this trigger was not fired for
/// the UPDATE.
fn may_miss_moves(call: &TriggerCall<'_>, searched: Oid) -> bool {
    table::is_partition(call.relation().oid())
        && (table::is_partition(searched) || !call.fires_on_every_update())
}

/// Warns, once in a session, that the table has no index for the trigger, or one that is not valid.
fn warn_once(table: Oid, name: &str, fingerprint: &str, columns: &Columns, invalid: Option<Oid>) {
    if !WARNED.with_borrow_mut(|warned| warned.insert(table.to_u32())) {
        return;
    }
    let (message, hint) = match invalid {
        Some(index) => (
            format!(
                "index \"{}\"{} of table \"{name}\" is not valid: \
                 each new row is compared with every row",
                table::name(index).unwrap_or_default(),
                match fingerprint {
                    "" => String::new(),
                    column => format!(" on \"{column}\""),
                }
            ),
            how_to_make_valid(index),
        ),
        None => (
            format!(
                "table \"{name}\" has no simhash index on \"{fingerprint}\": \
                 each new row is compared with every row"
            ),
            match columns
                .fingerprint
                .is_some_and(|column| column.computed_on_read)
            {
                true => "A virtual column has no index: GENERATED ALWAYS AS (...) STORED.".into(),
                false => how_to_create(table, fingerprint, columns),
            },
        ),
    };
    simhash_pg::process::error::warn(message, hint);
}

/// Warns, once in a session, that other indexes compare other texts.
fn warn_of_others(table: Oid, name: &str, index: &SourceIndex) {
    if WARNED.with_borrow_mut(|warned| warned.insert(table.to_u32())) {
        let taken = table::name(index.oid).unwrap_or_default();
        let message =
            format!("of the simhash indexes of table \"{name}\", its trigger takes \"{taken}\"");
        let hint = format!(
            "Create the trigger again with 'index=...': {taken}, {}.",
            index.others.join(", ")
        );
        simhash_pg::process::error::warn(message, hint);
    }
}

fn how_to_create(table: Oid, fingerprint: &str, columns: &Columns) -> String {
    let scope = columns.scope.indexable(c"simhash");
    let mut keys: Vec<String> = scope.into_iter().map(table_name::identifier).collect();
    let fingerprint = table_name::identifier(fingerprint);
    let is_in_parts = columns
        .fingerprint
        .is_some_and(|column| column.base_type() == pg_sys::INT8ARRAYOID);
    keys.push(match is_in_parts {
        true => format!("({fingerprint}[1])"),
        false => fingerprint,
    });
    let more = match is_in_parts {
        true => " The same for [2] and the other parts.",
        false => "",
    };
    format!(
        "CREATE INDEX ON {} USING simhash ({});{more}",
        table_name::sql(table),
        keys.join(", ")
    )
}

fn how_to_make_valid(index: Oid) -> String {
    let name = table_name::sql(index);
    match is_partitioned_index(index) {
        true => format!(
            "It is valid when an index of each partition is attached to it by \
             ALTER INDEX {name} ATTACH PARTITION."
        ),
        false => format!(
            "It is being built, or CREATE INDEX CONCURRENTLY failed: then REINDEX INDEX \
             CONCURRENTLY {name} rebuilds it."
        ),
    }
}

//! A query that is planned once and run many times, as the current user, from inside a function.
//! The triggers and the refresh of clusters keep their queries as such. Each run checks that the
//! types of parameters and results are those of the plan.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_char;
use std::rc::Rc;

use pgrx::PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH;
use pgrx::pg_sys;

use super::query::{ResultSink, check, check_parameters, connected, prepared, run};
use crate::catalog::table::type_name;
use crate::process::compat::attribute;
use crate::process::error::Error;
use crate::sql::fmgr::Args;
use crate::sql::value::{Storage, Value};

/// The rows that a run sees, besides those that this transaction has written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Those that the isolation level shows: what is committed now, or what was committed when the
    /// transaction took its snapshot.
    OfIsolationLevel,
    /// Those that are committed now, whatever the isolation level.
    Latest,
    /// Those that the active snapshot shows.
    Active,
    /// The same without what the running statement has done: also rows that it has deleted.
    BeforeStatement,
}

thread_local! {
    /// The plans of dropped queries, which are freed before the next queries are saved.
    static DROPPED: RefCell<Vec<pg_sys::SPIPlanPtr>> = const { RefCell::new(Vec::new()) };
    /// The queries that are saved for the life of the session, by their texts and parameters: a table
    /// may be made again with columns of other types.
    static SESSION: RefCell<HashMap<TextAndTypes, Rc<SavedQuery>>> = RefCell::default();
}

/// The text of a query, and the types of its parameters.
type TextAndTypes = (String, Vec<pg_sys::Oid>);

/// How many queries a session saves by their texts: tables come and go.
const MOST: usize = 256;

/// A query with parameters, planned without regard to their values.
pub struct SavedQuery {
    plan: pg_sys::SPIPlanPtr,
    source: *const pg_sys::CachedPlanSource,
    /// Types of the parameters.
    types: Vec<pg_sys::Oid>,
    /// Types of the result's columns. After a table or column was renamed the server analyses the
    /// text of the query again: the names in it may then refer to columns of other types.
    result_types: Vec<pg_sys::Oid>,
    prefers_indexes: bool,
}

impl SavedQuery {
    /// Analyses the query. With `prefers_indexes` a sequential scan is planned only where no index
    /// can be used: the plan may be made while the table is small, and is kept when it has grown.
    pub fn new(sql: &str, parameters: &[pg_sys::Oid], prefers_indexes: bool) -> Self {
        let [query] = Self::all([(sql, parameters)], prefers_indexes);
        query
    }

    /// Returns the query of this text, which is saved for the life of the session.
    pub fn of_session(sql: &str, parameters: &[pg_sys::Oid]) -> Rc<Self> {
        let named = (sql.to_owned(), parameters.to_vec());
        if let Some(query) = SESSION.with_borrow(|queries| queries.get(&named).cloned()) {
            return query;
        }
        let query = Rc::new(Self::new(sql, parameters, false));
        SESSION.with_borrow_mut(|queries| {
            if queries.len() >= MOST {
                queries.clear();
            }
            queries.insert(named, Rc::clone(&query))
        });
        query
    }

    /// Analyses several queries, each with the types of its parameters. When one of them fails,
    /// none is saved.
    pub fn all<const N: usize>(
        queries: [(&str, &[pg_sys::Oid]); N],
        prefers_indexes: bool,
    ) -> [Self; N] {
        for plan in DROPPED.take() {
            // SAFETY: the query that had this plan was dropped, and nothing else refers to it.
            unsafe { pg_sys::SPI_freeplan(plan) };
        }
        let plans = prepared(queries, pg_sys::CURSOR_OPT_GENERIC_PLAN);
        std::array::from_fn(|i| {
            // SAFETY: prepared just now.
            let source = unsafe { source(plans[i]) };
            Self {
                plan: plans[i],
                source,
                types: queries[i].1.to_vec(),
                // SAFETY: as above.
                result_types: unsafe { result_types(source) },
                prefers_indexes,
            }
        })
    }

    /// The first N columns of the first row; None when there is none. The values are copied to the
    /// current memory context, which must live as long as the call with these arguments. An ERROR
    /// unless `parameters` are of the types that `new` was given, and the result's columns of the
    /// types that they had then.
    pub fn first_row<'a, const N: usize>(
        &self,
        _args: &'a Args,
        parameters: &[Option<Value<'_>>],
        sees: Visibility,
    ) -> Option<[Option<Value<'a>>; N]> {
        self.check_values(parameters);
        let mut values: Vec<pg_sys::Datum> = parameters
            .iter()
            .map(|p| p.map_or(pg_sys::Datum::null(), |value| value.datum()))
            .collect();
        let nulls: Vec<c_char> = parameters
            .iter()
            .map(|p| if p.is_none() { b'n' } else { b' ' } as c_char)
            .collect();
        connected(|| {
            // SAFETY: both arrays are as long as the plan's list of parameters, of its types. Most are
            // not read-only: they see what this transaction, even this statement, has done before.
            // The AFTER triggers of the query fire at its end: when a deferred trigger runs it,
            // there is no outer query at whose end they could.
            unsafe {
                if self.prefers_indexes {
                    let plan = self.cached_plan();
                    if !plan.is_null() {
                        pg_sys::ReleaseCachedPlan(plan, pg_sys::CurrentResourceOwner);
                    }
                }
                let snapshot = match sees {
                    Visibility::OfIsolationLevel => std::ptr::null_mut(),
                    Visibility::Latest => pg_sys::GetLatestSnapshot(),
                    Visibility::Active | Visibility::BeforeStatement => pg_sys::GetActiveSnapshot(),
                };
                // Read-only, a run does not see more than the snapshot shows.
                let read_only = sees == Visibility::BeforeStatement;
                check(pg_sys::SPI_execute_snapshot(
                    self.plan,
                    values.as_mut_ptr(),
                    nulls.as_ptr(),
                    snapshot,
                    std::ptr::null_mut(),
                    read_only,
                    true,
                    1,
                ));
                (pg_sys::SPI_processed > 0).then(|| {
                    if N > 0 {
                        self.check_result((*pg_sys::SPI_tuptable).tupdesc);
                    }
                    std::array::from_fn(|i| copied(i))
                })
            }
        })
    }

    /// Calls `sink` with each row of N columns that the active snapshot shows. An ERROR unless
    /// `parameters` are of the types that `new` was given.
    pub fn for_each_row<const N: usize>(
        &self,
        parameters: &[Option<Value<'_>>],
        sink: ResultSink<N>,
    ) {
        self.check_values(parameters);
        run(&self.types, parameters, sink, |options| {
            // SAFETY: the parameters are of the plan's types; the options live during the call.
            unsafe { pg_sys::SPI_execute_plan_extended(self.plan, options) }
        });
    }

    /// Raises an ERROR unless there are as many values as parameters, of their types.
    pub(super) fn check_values(&self, values: &[Option<Value<'_>>]) {
        if values.len() != self.types.len() {
            check_parameters(self.plan, values.len());
        }
        for (value, expected) in values.iter().zip(&self.types) {
            value.iter().for_each(|value| value.require_type(*expected));
        }
    }

    pub(super) fn parameter_types(&self) -> &[pg_sys::Oid] {
        &self.types
    }

    /// Raises an ERROR unless the result's columns are of the types that they had when the query
    /// was saved.
    ///
    /// # Safety
    /// `desc` must be the result's row descriptor.
    pub(super) unsafe fn check_result(&self, desc: pg_sys::TupleDesc) {
        // SAFETY: guaranteed by the caller.
        let found = unsafe { column_types(desc) };
        for (&expected, found) in self.result_types.iter().zip(found) {
            if found != expected {
                let (found, expected) = (type_name(found), type_name(expected));
                Error::new(
                    ERRCODE_DATATYPE_MISMATCH,
                    format!("query returned a value of type {found}, not {expected}"),
                )
                .hint("A table was altered while the statement was running. Run it again.")
                .raise();
            }
        }
    }

    /// The plan, made unless there is a valid one, with its tables locked, so the next run uses it.
    /// The settings hold during planning only: triggers that the run fires see the session's. The
    /// caller releases it for the resource owner that is the current one now; null when there is
    /// none.
    ///
    /// # Safety
    /// Must be called while connected, in a transaction.
    pub(super) unsafe fn cached_plan(&self) -> *mut pg_sys::CachedPlan {
        // SAFETY: the plan has one statement.
        unsafe {
            if !self.prefers_indexes {
                return pg_sys::SPI_plan_get_cached_plan(self.plan);
            }
            let level = prefer_indexes();
            let plan = pg_sys::SPI_plan_get_cached_plan(self.plan);
            pg_sys::AtEOXact_GUC(true, level);
            plan
        }
    }

    /// The analysed query, which tells whether it is still valid. It lives as long as this.
    pub(super) fn source(&self) -> *const pg_sys::CachedPlanSource {
        self.source
    }
}

/// Turns sequential scans and JIT off until AtEOXact_GUC is called with the level returned, or an
/// ERROR is raised. JIT is turned off because a plan that needs a sequential scan all the same
/// looks so expensive that the server would compile it at every run.
///
/// # Safety
/// Must be called in a transaction.
unsafe fn prefer_indexes() -> i32 {
    // SAFETY: static strings; the level makes the changes temporary.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        for setting in [c"enable_seqscan", c"jit"] {
            pg_sys::set_config_option(
                setting.as_ptr(),
                c"off".as_ptr(),
                pg_sys::GucContext::PGC_USERSET,
                pg_sys::GucSource::PGC_S_SESSION,
                pg_sys::GucAction::GUC_ACTION_SAVE,
                true,
                0,
                false,
            );
        }
        level
    }
}

/// The analysed query of a plan.
///
/// # Safety
/// The plan must be one of `prepared`.
unsafe fn source(plan: pg_sys::SPIPlanPtr) -> *const pg_sys::CachedPlanSource {
    // SAFETY: the plan is of one statement.
    unsafe { pg_sys::list_nth(pg_sys::SPI_plan_get_plan_sources(plan), 0).cast() }
}

/// The types of the columns that a query returns.
///
/// # Safety
/// The source must be that of a plan of `prepared`.
unsafe fn result_types(source: *const pg_sys::CachedPlanSource) -> Vec<pg_sys::Oid> {
    // SAFETY: analysed; its descriptor is null when it returns no rows.
    unsafe {
        match (*source).resultDesc {
            desc if desc.is_null() => Vec::new(),
            desc => column_types(desc).collect(),
        }
    }
}

/// # Safety
/// The descriptor must live as long as the iterator.
unsafe fn column_types(desc: pg_sys::TupleDesc) -> impl Iterator<Item = pg_sys::Oid> {
    // SAFETY: guaranteed by the caller; `i` is below `natts`.
    unsafe { (0..(*desc).natts as usize).map(move |i| attribute(desc, i).atttypid) }
}

/// Column `i` of the first row, copied to the memory context that was current before SPI_connect.
/// Returns None for NULL, and when the row has no such column.
///
/// # Safety
/// Must be called after a run that returned a row.
unsafe fn copied<'a>(i: usize) -> Option<Value<'a>> {
    let mut null = false;
    // SAFETY: guaranteed by the caller; for a column that the row lacks the server returns NULL.
    unsafe {
        let rows = pg_sys::SPI_tuptable;
        let (row, desc) = (*(*rows).vals, (*rows).tupdesc);
        let datum = pg_sys::SPI_getbinval(row, desc, i as i32 + 1, &mut null);
        (!null).then(|| {
            let storage = Storage::of_attribute(attribute(desc, i));
            let (by_value, length) = storage.by_value_and_length();
            let copy = pg_sys::SPI_datumTransfer(datum, by_value, i32::from(length));
            Value::new(copy, storage)
        })
    }
}

impl Drop for SavedQuery {
    /// Does not call the server: a query may be dropped while an ERROR is handled, or when the
    /// process exits. Then the list may be gone, and the plan need not be freed.
    fn drop(&mut self) {
        _ = DROPPED.try_with(|dropped| dropped.borrow_mut().push(self.plan));
    }
}

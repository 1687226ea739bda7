//! Queries of a statement trigger, which may read its transition tables.

use std::ffi::c_char;

use pgrx::pg_sys;

use super::connection::{check, connected, prepare};
use super::query::{ResultSink, for_each_row_after};
use super::saved_query::{Sees, copied, plan_with_indexes};
use crate::sql::trigger::TriggerCall;
use crate::sql::value::Value;

/// Queries that see the transition tables of a call by their names. Each is planned when it is run,
/// with a sequential scan only where no index can be used: what a statement has changed is small
/// beside a large table, and how skewed fingerprints are the planner cannot know.
pub struct TransitionQueries<'a, 'c> {
    call: &'c TriggerCall<'a>,
    sees: Sees,
}

impl<'a, 'c> TransitionQueries<'a, 'c> {
    pub fn new(call: &'c TriggerCall<'a>, sees: Sees) -> Self {
        Self { call, sees }
    }

    /// The first N columns of the first row; None when there is none. The values are copied to the
    /// current memory context, which must live as long as the call.
    pub fn first_row<const N: usize>(
        &self,
        sql: &str,
        parameters: &[Value<'_>],
    ) -> Option<[Option<Value<'a>>; N]> {
        let types: Vec<pg_sys::Oid> = parameters.iter().map(Value::type_id).collect();
        let mut values: Vec<pg_sys::Datum> = parameters.iter().map(Value::datum).collect();
        let nulls = vec![b' ' as c_char; values.len()];
        connected(|| {
            // SAFETY: arrays of one length; the trigger's data lives as long as the call; the plan
            // as long as the connection. Not read-only, and the AFTER triggers of the query fire at
            // its end, as in `SavedQuery`.
            unsafe {
                check(pg_sys::SPI_register_trigger_data(self.call.data_for_spi()));
                let plan = prepare(sql, &types, pg_sys::CURSOR_OPT_GENERIC_PLAN);
                let planned = plan_with_indexes(plan);
                if !planned.is_null() {
                    pg_sys::ReleaseCachedPlan(planned, std::ptr::null_mut());
                }
                let snapshot = match self.sees {
                    Sees::Usual => std::ptr::null_mut(),
                    Sees::Latest => pg_sys::GetLatestSnapshot(),
                };
                check(pg_sys::SPI_execute_snapshot(
                    plan,
                    values.as_mut_ptr(),
                    nulls.as_ptr(),
                    snapshot,
                    std::ptr::null_mut(),
                    false,
                    true,
                    1,
                ));
                (pg_sys::SPI_processed > 0).then(|| std::array::from_fn(|i| copied(i)))
            }
        })
    }

    /// Calls `sink` with each row of a query, which is planned like any other and sees what the
    /// active snapshot shows.
    pub fn for_each_row<const N: usize>(&self, sql: &str, sink: ResultSink<N>) {
        // SAFETY: while connected; the trigger's data lives as long as the call.
        let show_tables =
            || unsafe { check(pg_sys::SPI_register_trigger_data(self.call.data_for_spi())) };
        for_each_row_after(show_tables, sql, None, sink);
    }
}

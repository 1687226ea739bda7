//! Queries whose parameters and results are text, prepared once in a session.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;

use pgrx::{IntoDatum, pg_sys};

use super::connection::{check_parameters, connected, prepared};
use crate::process::backend::check_for_interrupts;
use crate::process::encoding::{from_utf8, to_utf8};
use crate::process::memory::owned;

/// Rows fetched at a time.
const BATCH: i64 = 1000;

thread_local! {
    /// Plans by query, for the life of the backend: as many as this library has queries.
    static PLANS: RefCell<HashMap<String, pg_sys::SPIPlanPtr>> = RefCell::new(HashMap::new());
}

/// Runs a query under the snapshot of the statement that called the function, and calls `row` with
/// each row's columns.
pub fn query(text: &str, parameters: &[&str], row: &mut dyn FnMut(&[Option<String>])) {
    let plan = plan(text, parameters.len());
    let mut datums = datums(parameters);
    // SAFETY: the array is as long as the plan's list of parameters, and lives while the cursor is
    // opened; a fetched table has `SPI_processed` rows until it is freed.
    connected(|| unsafe {
        let (name, nulls) = (std::ptr::null(), std::ptr::null());
        let portal = pg_sys::SPI_cursor_open(name, plan, datums.as_mut_ptr(), nulls, true);
        loop {
            pg_sys::SPI_cursor_fetch(portal, true, BATCH);
            let (table, count) = (pg_sys::SPI_tuptable, pg_sys::SPI_processed);
            for i in 0..count as usize {
                check_for_interrupts();
                row(&columns(*(*table).vals.add(i), (*table).tupdesc));
            }
            pg_sys::SPI_freetuptable(table);
            if count < BATCH as u64 {
                break;
            }
        }
        pg_sys::SPI_cursor_close(portal);
    });
}

fn datums(parameters: &[&str]) -> Vec<pg_sys::Datum> {
    // bytea and text are stored alike.
    let datum = |p: &&str| from_utf8(p).as_ref().into_datum();
    let or_null = |p| datum(p).unwrap_or(pg_sys::Datum::null());
    parameters.iter().map(or_null).collect()
}

fn plan(text: &str, parameters: usize) -> pg_sys::SPIPlanPtr {
    if let Some(plan) = PLANS.with_borrow(|plans| plans.get(text).copied()) {
        check_parameters(plan, parameters);
        return plan;
    }
    let [plan] = prepared([(text, &vec![pg_sys::TEXTOID; parameters])], 0);
    PLANS.with_borrow_mut(|plans| plans.insert(text.to_owned(), plan));
    plan
}

/// # Safety
/// The row has this descriptor.
unsafe fn columns(tuple: pg_sys::HeapTuple, desc: pg_sys::TupleDesc) -> Vec<Option<String>> {
    // SAFETY: columns count from 1; a value is a zero-terminated string that we must free.
    let column = |i| unsafe {
        let value = pg_sys::SPI_getvalue(tuple, desc, i);
        (!value.is_null()).then(|| {
            let text = owned(&to_utf8(CStr::from_ptr(value).to_bytes()));
            pg_sys::pfree(value.cast());
            text
        })
    };
    // SAFETY: the descriptor is live.
    let count = unsafe { (*desc).natts };
    (1..=count).map(column).collect()
}

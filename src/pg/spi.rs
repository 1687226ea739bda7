//! Queries from inside of a function: read-only, under the snapshot of the statement that called it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};

use pgrx::{IntoDatum, PgSqlErrorCode, pg_sys};

use super::encoding::{from_utf8, to_utf8};
use super::error::raise;
use super::process::check_for_interrupts;

/// Rows fetched at a time.
const BATCH: i64 = 1000;

thread_local! {
    /// Plans by query, for the life of the backend; the server plans anew what has become stale.
    static PLANS: RefCell<HashMap<String, pg_sys::SPIPlanPtr>> = RefCell::new(HashMap::new());
}

/// Runs a query whose parameters are text, and calls `row` with each row's columns as text.
pub fn query(text: &str, parameters: &[&str], row: &mut dyn FnMut(&[Option<String>])) {
    let mut datums: Vec<pg_sys::Datum> = parameters
        .iter()
        // bytea and text are stored alike.
        .map(|p| {
            from_utf8(p)
                .as_ref()
                .into_datum()
                .unwrap_or(pg_sys::Datum::null())
        })
        .collect();
    // SAFETY: SPI_connect is matched by SPI_finish, or by the server after an ERROR; the arrays live
    // while the cursor is opened; a fetched table has `SPI_processed` rows until it is freed.
    unsafe {
        if pg_sys::SPI_connect() != pg_sys::SPI_OK_CONNECT as i32 {
            raise(
                PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                "cannot connect to SPI",
            );
        }
        let plan = plan(text, parameters.len());
        let nulls = std::ptr::null();
        let portal =
            pg_sys::SPI_cursor_open(std::ptr::null(), plan, datums.as_mut_ptr(), nulls, true);
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
        pg_sys::SPI_finish();
    }
}

/// # Safety
/// Inside of an SPI connection.
unsafe fn plan(text: &str, parameters: usize) -> pg_sys::SPIPlanPtr {
    if let Some(plan) = PLANS.with_borrow(|plans| plans.get(text).copied()) {
        return plan;
    }
    let mut types = vec![pg_sys::TEXTOID; parameters];
    let bytes = from_utf8(text).into_owned();
    let Ok(query) = CString::new(bytes) else {
        raise(
            PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            "query holds a zero byte",
        );
    };
    // SAFETY: the types are as many as said; a kept plan lives until it is freed.
    let plan = unsafe {
        let plan = pg_sys::SPI_prepare(query.as_ptr(), parameters as i32, types.as_mut_ptr());
        if plan.is_null() || pg_sys::SPI_keepplan(plan) != 0 {
            raise(
                PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                "cannot prepare a query",
            );
        }
        plan
    };
    PLANS.with_borrow_mut(|plans| plans.insert(text.to_owned(), plan));
    plan
}

/// # Safety
/// The row has this descriptor.
unsafe fn columns(tuple: pg_sys::HeapTuple, desc: pg_sys::TupleDesc) -> Vec<Option<String>> {
    // SAFETY: columns count from 1; a value is a zero-terminated string of ours to free.
    let column = |i| unsafe {
        let value = pg_sys::SPI_getvalue(tuple, desc, i);
        (!value.is_null()).then(|| {
            let text = to_utf8(CStr::from_ptr(value).to_bytes()).into_owned();
            pg_sys::pfree(value.cast());
            text
        })
    };
    // SAFETY: the descriptor is live.
    let count = unsafe { (*desc).natts };
    (1..=count).map(column).collect()
}

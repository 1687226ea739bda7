//! The server programming interface: what [`super::query`] and [`super::saved_query`] have in
//! common.

use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::process::encoding::name_from_utf8;
use crate::process::error::Error;
use crate::sql::value::Value;

/// Runs `f` between SPI_connect and SPI_finish.
pub(crate) fn connected<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: connects and disconnects in pairs; after an ERROR the server disconnects.
    unsafe {
        check(pg_sys::SPI_connect());
        let result = f();
        check(pg_sys::SPI_finish());
        result
    }
}

/// # Safety
/// `code` must come from an SPI function.
pub(crate) unsafe fn check(code: i32) {
    if code < 0 {
        // SAFETY: the server's text for the code, static.
        let text = unsafe { CStr::from_ptr(pg_sys::SPI_result_code_string(code)) };
        Error::new(
            PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            format!("SPI failed: {}", text.to_string_lossy()),
        )
        .raise();
    }
}

/// Raises an ERROR unless a prepared query has this number of parameters.
pub(crate) fn check_parameters(plan: pg_sys::SPIPlanPtr, count: usize) {
    // SAFETY: a plan of `prepared`.
    let expected = unsafe { pg_sys::SPI_getargcount(plan) };
    if usize::try_from(expected) != Ok(count) {
        Error::new(
            PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            format!("a query of {expected} parameters was given {count}"),
        )
        .raise();
    }
}

/// The parameters of these types with these values, for the executor; NULL where there is no value.
/// The list is made in the current memory context.
pub(crate) fn parameter_list(
    types: &[pg_sys::Oid],
    values: &[Option<Value<'_>>],
) -> pg_sys::ParamListInfo {
    // SAFETY: the list has room for as many as said.
    let (list, places) = unsafe {
        let list = pg_sys::makeParamList(types.len() as i32);
        (list, (*list).params.as_mut_slice(types.len()))
    };
    for (i, place) in places.iter_mut().enumerate() {
        let value = values.get(i).copied().flatten();
        *place = pg_sys::ParamExternData {
            value: value.map_or(pg_sys::Datum::null(), |value| value.datum()),
            isnull: value.is_none(),
            pflags: pg_sys::PARAM_FLAG_CONST as u16,
            ptype: types[i],
        };
    }
    list
}

/// A query in the database's encoding.
pub(crate) fn c_text(sql: &str) -> CString {
    CString::new(name_from_utf8(sql).into_owned()).unwrap_or_else(|_| {
        Error::new(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "a name has a zero byte",
        )
        .raise()
    })
}

/// Prepares queries, each with the types of its parameters; the plans live until they are freed.
/// When one of the queries fails, no plan is left. The server analyses and plans a query again when
/// its plan has become stale. `options` are those of cursors.
pub(crate) fn prepared<const N: usize>(
    queries: [(&str, &[pg_sys::Oid]); N],
    options: u32,
) -> [pg_sys::SPIPlanPtr; N] {
    connected(|| {
        let plans = queries.map(|(sql, parameters)| prepare(sql, parameters, options));
        for plan in plans {
            // SAFETY: prepared in this connection, which has not been closed.
            unsafe { check(pg_sys::SPI_keepplan(plan)) };
        }
        plans
    })
}

/// The plan lives as long as the connection.
pub(crate) fn prepare(sql: &str, parameters: &[pg_sys::Oid], options: u32) -> pg_sys::SPIPlanPtr {
    let text = c_text(sql);
    let mut types = parameters.to_vec();
    // SAFETY: a zero-terminated text, as many types as said.
    unsafe {
        let (count, options) = (types.len() as i32, options as i32);
        let plan = pg_sys::SPI_prepare_cursor(text.as_ptr(), count, types.as_mut_ptr(), options);
        if plan.is_null() {
            check(pg_sys::SPI_result);
        }
        plan
    }
}

//! A query whose rows the caller gets as the executor returns them, one by one; no row is kept. It
//! is run as the current user. [`super::saved_query`] and [`super::open_query`] share the connection to the
//! server programming interface, and how parameters are passed.

use crate::process::compat::attribute;
use crate::process::encoding::name_from_utf8;
use crate::process::error::Error;
use crate::process::memory::MemoryContext;
use crate::sql::value::{Storage, Value};
use pgrx::{PgSqlErrorCode, pg_guard, pg_sys};
use std::ffi::{CStr, CString};

/// Receives a row: the values of its columns, None for NULL. They live until it returns.
pub type ResultSink<'f, const N: usize> = &'f mut dyn FnMut([Option<Value<'_>>; N]);

/// A destination of rows, as the executor knows it, with the sink behind it.
#[repr(C)]
struct Receiver<'f, const N: usize> {
    base: pg_sys::DestReceiver,
    /// The caller's memory context, for the sink: what it allocates outlives the query.
    context: MemoryContext,
    /// Storage of the columns; set by [`start`].
    columns: [Storage; N],
    sink: ResultSink<'f, N>,
}

/// Runs a query of N columns under the active snapshot, which is that of the running statement if
/// the caller has set no other, and calls `sink` with each row. The first parameter is `$1`; the
/// query takes the type of each from its value, and has none for NULL.
pub fn for_each_row<const N: usize>(
    sql: &str,
    parameters: &[Option<Value<'_>>],
    sink: ResultSink<N>,
) {
    let text = c_text(sql);
    let types: Vec<pg_sys::Oid> = (parameters.iter())
        .map(|value| value.map_or(pg_sys::UNKNOWNOID, |value| value.type_id()))
        .collect();
    run(&types, parameters, sink, |options| {
        // SAFETY: a zero-terminated text; the options live during the call.
        unsafe { pg_sys::SPI_execute_extended(text.as_ptr(), options) }
    });
}

/// Calls `execute`, an SPI function, with options that send the rows of a query to `sink`.
pub(super) fn run<const N: usize>(
    types: &[pg_sys::Oid],
    parameters: &[Option<Value<'_>>],
    sink: ResultSink<N>,
    execute: impl FnOnce(&pg_sys::SPIExecuteOptions) -> i32,
) {
    let mut receiver = Receiver {
        base: pg_sys::DestReceiver {
            receiveSlot: Some(receive::<N>),
            rStartup: Some(start::<N>),
            rShutdown: Some(end),
            rDestroy: Some(end),
            mydest: pg_sys::CommandDest::DestNone,
        },
        context: MemoryContext::current(),
        columns: [Storage::varlena(pg_sys::Oid::INVALID); N],
        sink,
    };
    connected(|| {
        let mut options = pg_sys::SPIExecuteOptions {
            read_only: true,
            dest: (&raw mut receiver).cast(),
            ..Default::default()
        };
        if !types.is_empty() {
            options.params = parameter_list(types, parameters);
        }
        // SAFETY: the options that are not set are null; the receiver outlives the call.
        unsafe { check(execute(&options)) };
    });
}

#[pg_guard]
unsafe extern "C-unwind" fn receive<const N: usize>(
    slot: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: the receiver is the first field of ours; a slot of the query's row type, whose
    // columns are unpacked before they are read.
    unsafe {
        let receiver = &mut *receiver.cast::<Receiver<N>>();
        if usize::from((*slot).tts_nvalid.cast_unsigned()) < N {
            pg_sys::slot_getsomeattrs_int(slot, N as i32);
        }
        let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
        let row = std::array::from_fn(|i| {
            (!*nulls.add(i)).then(|| Value::new(*values.add(i), receiver.columns[i]))
        });
        receiver.context.run(|| (receiver.sink)(row));
    }
    true
}

#[pg_guard]
unsafe extern "C-unwind" fn start<const N: usize>(
    receiver: *mut pg_sys::DestReceiver,
    _operation: i32,
    desc: pg_sys::TupleDesc,
) {
    // SAFETY: the receiver is the first field of ours; the query's row descriptor.
    unsafe {
        if (*desc).natts as usize != N {
            Error::new(
                PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                format!("query returns {} columns, not {N}", (*desc).natts),
            )
            .raise();
        }
        let receiver = &mut *receiver.cast::<Receiver<N>>();
        receiver.columns = std::array::from_fn(|i| Storage::of_attribute(attribute(desc, i)));
    }
}

unsafe extern "C-unwind" fn end(_receiver: *mut pg_sys::DestReceiver) {}

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

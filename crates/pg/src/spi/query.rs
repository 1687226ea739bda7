//! A query whose rows the caller gets as the executor returns them, one by one; no row is kept. It
//! is run as the current user.

use pgrx::{PgSqlErrorCode, pg_guard, pg_sys};

use super::connection::{c_text, check, connected, parameter_list};
use crate::process::compat::attribute;
use crate::process::error::Error;
use crate::process::memory::MemoryContext;
use crate::sql::value::{Storage, Value};

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

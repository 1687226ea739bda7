//! The CONTEXT lines of error reports, which say through which functions and statements an error
//! came, and the names of tables and constraints in them. The server keeps a list of those that run,
//! each with a callback that writes its line.
//! Here the callbacks of the extension's own PL/pgSQL functions, and of the statements by which
//! they call one another, are replaced by one that writes nothing. Lines of users' functions stay.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int, c_void};

use pgrx::pg_sys;

use super::reportable::reportable;

unsafe extern "C-unwind" {
    /// Adds a line to the CONTEXT of the report that is being made.
    fn errcontext_msg(format: *const c_char, ...) -> c_int;
    /// Sets a field of the report that is being made to a copy of a text.
    fn err_generic_string(field: c_int, text: *const c_char) -> c_int;
}

/// A function or a statement that runs.
type Running = pg_sys::ErrorContextCallback;

/// One function, so that its address tells which lines are left out.
#[inline(never)]
unsafe extern "C-unwind" fn no_line(_: *mut c_void) {}

/// Leaves out the line of the PL/pgSQL function that calls the running function by PERFORM, and
/// that of the statement that called it, if that is a statement of a function whose line is left
/// out too.
pub fn leave_out_caller() {
    // The statement is the innermost, then comes the function.
    if let Some(function) = innermost().and_then(|perform| outside(perform)) {
        hide(function);
        if let Some(statement) = outside(function) {
            leave_out_inside_hidden(statement);
        }
    }
}

/// Leaves out the line of the statement that calls the running function, if the line of the
/// function that has this statement is left out.
pub fn leave_out_statement() {
    if let Some(statement) = innermost() {
        leave_out_inside_hidden(statement);
    }
}

fn leave_out_inside_hidden(statement: &mut Running) {
    if outside(statement).is_some_and(|function| is_hidden(function)) {
        hide(statement);
    }
}

fn hide(running: &mut Running) {
    running.callback = Some(no_line);
}

fn is_hidden(running: &Running) -> bool {
    running.callback.map(|callback| callback as *const ()) == Some(no_line as *const ())
}

fn innermost<'r>() -> Option<&'r mut Running> {
    // SAFETY: null, or in the stack frame of a function that waits for the running one to return.
    unsafe { pg_sys::error_context_stack.as_mut() }
}

fn outside<'r>(running: &Running) -> Option<&'r mut Running> {
    // SAFETY: as above.
    unsafe { running.previous.as_mut() }
}

/// Runs `f`, with a line in the CONTEXT of reports that are made meanwhile.
pub(crate) fn with_line<R>(line: &str, f: impl FnOnce() -> R) -> R {
    let line = CString::new(reportable(line.to_owned())).unwrap_or_default();
    // SAFETY: the callback and the line live until `f` has returned. After an ERROR the server has
    // set the list of those that run back itself.
    unsafe {
        let mut running = Running {
            previous: pg_sys::error_context_stack,
            callback: Some(add_line),
            arg: line.as_ptr().cast_mut().cast(),
        };
        pg_sys::error_context_stack = &raw mut running;
        let result = f();
        pg_sys::error_context_stack = running.previous;
        result
    }
}

unsafe extern "C-unwind" fn add_line(line: *mut c_void) {
    // SAFETY: `with_line` gives a zero-terminated string.
    unsafe {
        let line = CStr::from_ptr(line.cast());
        pg_sys::set_errcontext_domain(std::ptr::null());
        errcontext_msg(c"%s".as_ptr(), line.as_ptr());
    }
}

/// The fields of [`name_constraint`].
const FIELDS: [u8; 3] = [
    pg_sys::PG_DIAG_SCHEMA_NAME as u8,
    pg_sys::PG_DIAG_TABLE_NAME as u8,
    pg_sys::PG_DIAG_CONSTRAINT_NAME as u8,
];

thread_local! {
    /// The names for the ERROR that is being raised.
    static NAMES: RefCell<[CString; 3]> = RefCell::default();
    /// What sets them. It is in the server's list only while an ERROR is raised.
    static SETS_NAMES: Cell<Running> = const {
        Cell::new(Running {
            previous: std::ptr::null_mut(),
            callback: Some(set_names),
            arg: std::ptr::null_mut(),
        })
    };
}

/// Gives the ERROR that is raised next the names of a schema, a table and a constraint. pgrx has no
/// way to set them, but a callback may.
pub(super) fn name_constraint(names: [String; 3]) {
    NAMES.set(names.map(|name| CString::new(name).unwrap_or_default()));
    SETS_NAMES.with(|running| {
        let running = running.as_ptr();
        // SAFETY: the callback lives as long as the thread. The ERROR sets the list back to what it was
        // where it is caught, so that the callback is not in it when it is added again.
        unsafe {
            (*running).previous = pg_sys::error_context_stack;
            pg_sys::error_context_stack = running;
        }
    });
}

unsafe extern "C-unwind" fn set_names(_: *mut c_void) {
    NAMES.with_borrow(|names| {
        for (field, name) in FIELDS.iter().zip(names) {
            // SAFETY: called while a report is being made; the server copies the text.
            unsafe { err_generic_string((*field).into(), name.as_ptr()) };
        }
    });
}

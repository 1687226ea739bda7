//! Error reports in PostgreSQL's style: lower case, no full stop, the offending value, a hint, and the
//! CONTEXT lines, which say through which functions and statements an error came. Every module that
//! raises an ERROR calls it. The text may quote user data, so each part is made valid in the database's
//! encoding here.
//!
//! The server keeps a list of the functions and statements that run, each with a callback that writes
//! its CONTEXT line. The callbacks of the extension's own PL/pgSQL functions, and of the statements by
//! which they call one another, are replaced by one that writes nothing. Lines of users' functions stay.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode, pg_sys};
use simhash_base::escaped::byte_of;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// Replaces the panic hook of pgrx, which captures a backtrace where RUST_BACKTRACE is set and
/// sends it to the client as an error's DETAIL. Called once, when the library is loaded.
pub fn keep_backtraces_in_the_log() {
    // Below the hook of pgrx lies that of the standard library, which writes to the server log.
    drop(std::panic::take_hook());
    let log = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // An error report unwinds as a panic too, but its payload is not text.
        if panic.payload_as_str().is_some() {
            log(panic);
        }
    }));
}

/// An ERROR as the user sees it, made where the fault is found. An error type of another crate
/// becomes one of these in one place, `src/errors.rs`.
#[derive(Debug)]
#[must_use = "an error does nothing before it is raised"]
pub struct Error {
    /// The SQLSTATE.
    pub code: PgSqlErrorCode,
    /// The primary message.
    pub message: String,
    /// The DETAIL, in whole sentences.
    pub detail: Option<String>,
    /// The HINT, in whole sentences.
    pub hint: Option<String>,
    /// Schema, table and constraint, as programs read them.
    pub constraint: Option<[String; 3]>,
}

impl Error {
    /// An error without DETAIL and HINT.
    pub fn new(code: PgSqlErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            hint: None,
            constraint: None,
        }
    }

    /// Returns the error out_of_memory.
    pub fn out_of_memory() -> Self {
        Self::new(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, "out of memory")
    }

    /// Returns the error index_corrupted.
    pub fn index_corrupted(message: String) -> Self {
        Self::new(PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED, message).hint("Rebuild it with REINDEX.")
    }

    /// Returns the error serialization_failure.
    pub fn not_serializable(why: &str) -> Self {
        Self::new(
            PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
            format!("could not serialize access: {why}"),
        )
        .hint("The transaction might succeed if retried.")
    }

    /// Sets the DETAIL.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Sets the HINT.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the constraint of a table that a row violates.
    pub fn constraint(mut self, schema: &str, table: &str, name: &str) -> Self {
        self.constraint = Some([schema, table, name].map(str::to_owned));
        self
    }

    /// Puts a sentence in front of the DETAIL.
    pub(crate) fn about(mut self, sentence: String) -> Self {
        self.detail = Some(match self.detail {
            Some(detail) => format!("{sentence} {detail}"),
            None => sentence,
        });
        self
    }

    /// Raises the ERROR; never returns.
    #[track_caller]
    pub fn raise(self) -> ! {
        let message = reportable(self.message);
        let mut report = ErrorReport::new(self.code, message, "simhash_dedup");
        if let Some(detail) = self.detail {
            report = report.set_detail(reportable(detail));
        }
        if let Some(hint) = self.hint {
            report = report.set_hint(reportable(hint));
        }
        if let Some(names) = self.constraint {
            name_constraint(names.map(reportable));
        }
        report.report(PgLogLevel::ERROR);
        unreachable!("an ERROR report does not return")
    }
}

/// Sends a WARNING with a HINT.
pub fn warn(message: impl Into<String>, hint: impl Into<String>) {
    let code = PgSqlErrorCode::ERRCODE_WARNING;
    ErrorReport::new(code, reportable(message.into()), "simhash_dedup")
        .set_hint(reportable(hint.into()))
        .report(PgLogLevel::WARNING);
}

/// Sends a NOTICE, with or without a HINT.
pub fn notice(message: impl Into<String>, hint: Option<&str>) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    let mut report = ErrorReport::new(code, reportable(message.into()), "simhash_dedup");
    if let Some(hint) = hint {
        report = report.set_hint(reportable(hint.to_owned()));
    }
    report.report(PgLogLevel::NOTICE);
}

/// Writes to the server log that an operation goes on beyond a limit.
pub fn log_limit(message: impl Into<String>, detail: impl Into<String>) {
    let code = PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    ErrorReport::new(code, reportable(message.into()), "simhash_dedup")
        .set_detail(reportable(detail.into()))
        .report(PgLogLevel::LOG);
}

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

/// The number of UTF-8 among the server's encodings.
pub(super) const UTF8: i32 = pg_sys::pg_enc::PG_UTF8 as i32;
/// That of databases without an encoding, where text may have any.
pub(super) const SQL_ASCII: i32 = pg_sys::pg_enc::PG_SQL_ASCII as i32;

/// Returns the number of the database's encoding.
pub(super) fn database_encoding() -> i32 {
    // A backend never changes its database.
    static ENCODING: OnceLock<i32> = OnceLock::new();
    // SAFETY: reads a variable of the backend.
    *ENCODING.get_or_init(|| unsafe { pg_sys::GetDatabaseEncoding() })
}

/// Text for an error report. pgrx passes it on as it is, without conversion, so in a database of
/// another encoding than UTF-8, characters beyond ASCII become \u{...}, and bytes of names that are
/// not UTF-8 \x...
pub(crate) fn reportable(text: String) -> String {
    if database_encoding() == UTF8 || text.is_ascii() {
        return text;
    }
    let is_ascii = database_encoding() == SQL_ASCII;
    let escape = |c: char| match byte_of(c).filter(|_| is_ascii) {
        Some(byte) => format!("\\x{byte:02x}"),
        None if c.is_ascii() => c.to_string(),
        None => c.escape_unicode().to_string(),
    };
    text.chars().map(escape).collect()
}

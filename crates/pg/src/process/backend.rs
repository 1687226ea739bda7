//! The server process: interrupts, stack, how it was started, the current user, whose rights count, and what
//! `pg_stat_activity` shows of a long call: what it does and how much of it is done, in a comment before the query.
//! `simhash_progress()` takes the comment apart. A call within a call shows what it does under the name of the outer
//! one. Functions that run long, scans and triggers call it. What is switched here is switched back when a value goes out
//! of scope, or by the server after an ERROR.

use crate::catalog::lookup::string;
use crate::process::compat::QueryId;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::time::{Duration, Instant};

/// Lets a pending cancel, timeout or shutdown take effect (raises its ERROR). Costs one load when
/// nothing is pending; does nothing while a page is locked.
#[inline]
pub fn check_for_interrupts() {
    if is_interrupted() {
        // SAFETY: the server's own reaction, on the server's thread.
        unsafe { pg_sys::ProcessInterrupts() };
    }
}

/// Returns whether a cancel, a timeout or a shutdown waits for [`check_for_interrupts`].
#[inline]
pub fn is_interrupted() -> bool {
    // SAFETY: a flag that signal handlers set.
    unsafe { std::ptr::read_volatile(&raw const pg_sys::InterruptPending) != 0 }
}

/// Raises an ERROR when the stack is nearly used up; for recursion whose depth users decide.
#[inline]
pub fn check_stack_depth() {
    // SAFETY: measures the stack.
    unsafe { pg_sys::check_stack_depth() };
}

/// Raises an ERROR in a read-only transaction, such as those of a standby.
#[inline]
pub fn refuse_read_only(command: &CStr) {
    // SAFETY: a zero-terminated text.
    unsafe { pg_sys::PreventCommandIfReadOnly(command.as_ptr()) };
}

/// Returns whether the postmaster is loading this library, for its children to share.
#[inline]
pub fn is_preloading() -> bool {
    // SAFETY: reads a variable of the process.
    unsafe { pg_sys::process_shared_preload_libraries_in_progress }
}

/// The OID of the session's database.
pub fn database() -> u32 {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::MyDatabaseId }.to_u32()
}

/// Restores the user that [`AsUser::switch`] has switched from when it is dropped; after an ERROR
/// the server does.
pub struct AsUser {
    user: pg_sys::Oid,
    context: i32,
}

impl AsUser {
    /// Switches to `user`, as the server does for the triggers of rows that it has changed as
    /// another user.
    pub fn switch(user: pg_sys::Oid) -> Self {
        let (mut before, mut context) = (pg_sys::Oid::INVALID, 0);
        // SAFETY: reads and sets variables of the backend.
        unsafe {
            pg_sys::GetUserIdAndSecContext(&mut before, &mut context);
            if user != before {
                let local = pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32;
                pg_sys::SetUserIdAndSecContext(user, context | local);
            }
        }
        Self {
            user: before,
            context,
        }
    }
}

impl Drop for AsUser {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the values that `switch` saved.
            unsafe { pg_sys::SetUserIdAndSecContext(self.user, self.context) };
        }
    }
}

/// The OID of the role that has begun the session, whatever it has switched to since.
pub fn session_role() -> u32 {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::GetSessionUserId() }.to_u32()
}

/// The name of a role; its number when it is gone.
pub fn role_name(role: u32) -> String {
    // SAFETY: a catalog look-up; null for a role that is gone.
    let name = unsafe { string(pg_sys::GetUserNameFromId(role.into(), true)) };
    name.unwrap_or_else(|| role.to_string())
}

/// Returns whether the running statement is one of the server's own, by which a foreign key changes
/// rows.
pub fn in_foreign_key() -> bool {
    // SAFETY: reads a variable of the backend. Only the queries of foreign keys set it.
    unsafe { pg_sys::InNoForceRLSOperation() }
}

/// Returns whether the session applies what was done elsewhere, as the worker of a subscription: no foreign
/// key changes rows then.
pub fn is_replica() -> bool {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::SessionReplicationRole == pg_sys::SESSION_REPLICATION_ROLE_REPLICA as i32 }
}

/// The shortest time between two reports, except those of [`Activity::begin`].
const EVERY: Duration = Duration::from_millis(500);

thread_local! {
    /// The calls that show something, the innermost last.
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

/// Shows how far a call is. When it is dropped, the query alone is shown again, or what the call around it has shown. After an
/// ERROR it does nothing: the server itself replaces the text when the command ends.
pub struct Activity {
    /// Its place in [`CALLS`]. Calls end in the reverse order in which they began.
    place: usize,
}

/// A call that shows something.
struct Call {
    what: &'static str,
    query: CString,
    query_id: QueryId,
    /// When it last showed something, at first when it began.
    shown: Instant,
    /// What it has shown last, if anything.
    text: Option<CString>,
    searches: Option<Searches>,
}

/// Searches that index scans count.
struct Searches {
    doing: &'static str,
    done: u64,
    total: u64,
}

impl Activity {
    /// Starts to show how far the SQL function `what` is.
    pub fn new(what: &'static str) -> Self {
        // SAFETY: the text of the running command, null or zero-terminated; reads this backend's
        // entry.
        let (query, query_id) = unsafe {
            let text = pg_sys::debug_query_string;
            let query = match text.is_null() {
                true => CString::default(),
                false => shown_part(CStr::from_ptr(text)),
            };
            (query, pg_sys::pgstat_get_my_query_id())
        };
        CALLS.with_borrow_mut(|calls| {
            calls.push(Call {
                what: calls.last().map_or(what, |outer| outer.what),
                query,
                query_id,
                shown: Instant::now(),
                text: None,
                searches: None,
            });
            Activity {
                place: calls.len() - 1,
            }
        })
    }

    /// Shows what is being done, how much of it is done, and of how much if that is known, unless something was shown less
    /// than half a second ago.
    pub fn show(&mut self, doing: &str, done: u64, total: Option<u64>) {
        self.with(|call| call.show(doing, done, total));
    }

    /// Shows at once what begins.
    pub fn begin(&mut self, doing: &str) {
        self.with(|call| call.write(doing));
    }

    /// Shows from now on how many searches the scans of simhash indexes have begun, of about `total`.
    pub fn count_searches(&mut self, doing: &'static str, total: u64) {
        self.with(|call| {
            call.write(&format!("{doing}: 0 of {total}"));
            call.searches = Some(Searches {
                doing,
                done: 0,
                total,
            });
        });
    }

    fn with(&self, f: impl FnOnce(&mut Call)) {
        CALLS.with_borrow_mut(|calls| calls.get_mut(self.place).map(f));
    }
}

/// Counts a search that begins, if the innermost call counts them.
#[inline]
pub fn search_begins() {
    CALLS.with_borrow_mut(|calls| {
        if let Some(call) = calls.last_mut()
            && let Some(searches) = &mut call.searches
        {
            // A table with partitions has one for each, so there may be more than was thought.
            searches.done = searches.total.min(searches.done + 1);
            let Searches { doing, done, total } = *searches;
            call.show(doing, done, Some(total));
        }
    });
}

impl Call {
    fn show(&mut self, doing: &str, done: u64, total: Option<u64>) {
        if self.shown.elapsed() < EVERY {
            return;
        }
        match total {
            Some(total) => self.write(&format!("{doing}: {done} of {total}")),
            None => self.write(&format!("{doing}: {done}")),
        }
    }

    fn write(&mut self, message: &str) {
        self.shown = Instant::now();
        let mut text = format!("/* {}: {message} */ ", self.what).into_bytes();
        text.extend(self.query.as_bytes());
        self.text = CString::new(text).ok();
        if let Some(text) = &self.text {
            self.report(text);
        }
    }

    fn report(&self, text: &CStr) {
        // SAFETY: copies a zero-terminated text into this backend's entry. That resets the query's
        // id, which is why it is reported again.
        unsafe {
            pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, text.as_ptr());
            pg_sys::pgstat_report_query_id(self.query_id, true);
        }
    }
}

/// The part of a query that the server shows: reports need not copy the rest of a long one.
fn shown_part(query: &CStr) -> CString {
    // SAFETY: a setting that only the postmaster changes.
    let most = unsafe { pg_sys::pgstat_track_activity_query_size } as usize;
    let bytes = query.to_bytes();
    // A C string has no zero byte inside, so this does not fail.
    CString::new(&bytes[..bytes.len().min(most)]).unwrap_or_default()
}

impl Drop for Activity {
    fn drop(&mut self) {
        CALLS.with_borrow_mut(|calls| {
            let mut ended = calls.drain(self.place.min(calls.len())..);
            let call = ended.next().filter(|call| call.text.is_some());
            drop(ended);
            if let Some(call) = call
                && !std::thread::panicking()
            {
                let outer = calls.last().and_then(|outer| outer.text.as_deref());
                call.report(outer.unwrap_or(&call.query));
            }
        });
    }
}

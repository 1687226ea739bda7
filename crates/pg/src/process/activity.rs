//! What `pg_stat_activity` shows of a long call: what it does and how much of it is done, in a comment before the query. The
//! SQL functions that take long call it; `simhash_progress()` takes the comment apart.

use std::ffi::{CStr, CString};
use std::time::{Duration, Instant};

use pgrx::pg_sys;

use super::compat::QueryId;

/// The shortest time between two reports, except those of [`Activity::begin`].
const EVERY: Duration = Duration::from_millis(500);

/// Shows how far a call is. When it is dropped, the query alone is shown again. After an ERROR it
/// does nothing: the server itself replaces the text when the command ends.
pub struct Activity {
    what: &'static str,
    query: CString,
    query_id: QueryId,
    shown: Instant,
    /// Whether nothing has been reported yet.
    untouched: bool,
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
        Activity {
            what,
            query,
            query_id,
            shown: Instant::now(),
            untouched: true,
        }
    }

    /// Shows what is being done, how much of it is done, and of how much if that is known, unless something was shown less
    /// than half a second ago.
    pub fn show(&mut self, doing: &str, done: u64, total: Option<u64>) {
        if self.shown.elapsed() < EVERY {
            return;
        }
        match total {
            Some(total) => self.write(&format!("{doing}: {done} of {total}")),
            None => self.write(&format!("{doing}: {done}")),
        }
    }

    /// Shows at once what begins.
    pub fn begin(&mut self, doing: &str) {
        self.write(doing);
    }

    fn write(&mut self, message: &str) {
        self.shown = Instant::now();
        self.untouched = false;
        let mut text = format!("/* {}: {message} */ ", self.what).into_bytes();
        text.extend(self.query.as_bytes());
        if let Ok(text) = CString::new(text) {
            self.report(&text);
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
        if !self.untouched && !std::thread::panicking() {
            self.report(&self.query);
        }
    }
}

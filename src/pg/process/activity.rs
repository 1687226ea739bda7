//! What `pg_stat_activity` shows of a long call: how far it is, in a comment before the query.

use std::ffi::{CStr, CString};
use std::time::{Duration, Instant};

use pgrx::pg_sys;

use super::compat::QueryId;

/// How often it is shown at most.
const EVERY: Duration = Duration::from_millis(500);

/// Shows how far a call is; in the end the query alone is shown again. After an ERROR the session's
/// next command or its end does that.
pub struct Activity {
    what: &'static str,
    query: CString,
    query_id: QueryId,
    shown: Instant,
    /// Does the query stand there alone, as it was?
    untouched: bool,
}

impl Activity {
    /// For the SQL function `what`.
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

    /// Shows what `message` says, if it is time to.
    pub fn show(&mut self, message: impl FnOnce() -> String) {
        if self.shown.elapsed() < EVERY {
            return;
        }
        self.show_now(&message());
    }

    /// Shows where a new phase begins.
    pub fn show_now(&mut self, message: &str) {
        self.shown = Instant::now();
        self.untouched = false;
        let mut text = format!("/* {}: {message} */ ", self.what).into_bytes();
        text.extend(self.query.as_bytes());
        if let Ok(text) = CString::new(text) {
            self.report(&text);
        }
    }

    fn report(&self, text: &CStr) {
        // SAFETY: copies a zero-terminated text into this backend's entry, which forgets the
        // query's id on the way.
        unsafe {
            pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, text.as_ptr());
            pg_sys::pgstat_report_query_id(self.query_id, true);
        }
    }
}

/// As much of a query as the server shows: a long one is not copied again and again.
fn shown_part(query: &CStr) -> CString {
    // SAFETY: a setting that only the postmaster changes.
    let most = unsafe { pg_sys::pgstat_track_activity_query_size } as usize;
    let bytes = query.to_bytes();
    // No zero byte is inside: this does not fail.
    CString::new(&bytes[..bytes.len().min(most)]).unwrap_or_default()
}

impl Drop for Activity {
    fn drop(&mut self) {
        if !self.untouched && !std::thread::panicking() {
            self.report(&self.query);
        }
    }
}

//! What `pg_stat_activity` shows of a long call: what it does and how much of it is done, in a
//! comment before the query. The SQL functions that take long call it, and index scans where a call
//! counts its searches; `simhash_progress()` takes the comment apart. A call within a call shows
//! what it does under the name of the outer one, whose text comes back after it.

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::time::{Duration, Instant};

use pgrx::pg_sys;

use super::compat::QueryId;

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

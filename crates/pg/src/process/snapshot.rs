//! Which rows the active snapshot shows, and snapshots of what is committed now. `row::stored` reads
//! configurations again when the snapshot shows other rows; the refresh of clusters runs under
//! [`with_latest`]. Two [`SnapshotContents`] that compare as equal show the same rows.

use pgrx::pg_sys;

use super::compat::local_transaction;

/// All that decides which rows the active snapshot shows.
pub struct SnapshotContents {
    limits: Limits,
    running: Vec<pg_sys::TransactionId>,
    running_sub: Vec<pg_sys::TransactionId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Limits {
    /// What the transaction itself wrote is visible up to this command, unless it was rolled back
    /// with a subtransaction.
    transaction: u32,
    subtransaction: u32,
    command: u32,
    bounds: (pg_sys::TransactionId, pg_sys::TransactionId),
    overflowed: bool,
}

impl SnapshotContents {
    /// What the active snapshot shows; None when there is none.
    pub fn now() -> Option<Self> {
        active(|limits, [running, running_sub]| Self {
            limits,
            running: running.to_vec(),
            running_sub: running_sub.to_vec(),
        })
    }

    /// Returns whether the active snapshot shows the same. Compares in place: this runs for
    /// every row.
    pub fn is_now(&self) -> bool {
        let same = active(|limits, [running, running_sub]| {
            self.limits == limits && self.running == running && self.running_sub == running_sub
        });
        same.unwrap_or(false)
    }
}

/// Shows the active snapshot and its lists of running transactions and subtransactions; None when
/// there is no snapshot.
fn active<R>(f: impl FnOnce(Limits, [&[pg_sys::TransactionId]; 2]) -> R) -> Option<R> {
    // SAFETY: the active snapshot, if any, lives until `f` returns, with arrays as long as it says.
    unsafe {
        if !pg_sys::ActiveSnapshotSet() {
            return None;
        }
        let snapshot = &*pg_sys::GetActiveSnapshot();
        let limits = Limits {
            transaction: local_transaction(),
            subtransaction: pg_sys::GetCurrentSubTransactionId(),
            command: snapshot.curcid,
            bounds: (snapshot.xmin, snapshot.xmax),
            overflowed: snapshot.suboverflowed,
        };
        let list = |ids: *const pg_sys::TransactionId, count: usize| match count {
            0 => &[],
            _ => std::slice::from_raw_parts(ids, count),
        };
        let running = list(snapshot.xip, snapshot.xcnt as usize);
        let running_sub = list(snapshot.subxip, snapshot.subxcnt.max(0) as usize);
        Some(f(limits, [running, running_sub]))
    }
}

/// The number of the command that is running, and the one whose changes the active snapshot does not
/// show any more: that of the running statement.
pub fn commands() -> (pg_sys::CommandId, Option<pg_sys::CommandId>) {
    // SAFETY: in a transaction; the active snapshot lives while it is read.
    unsafe {
        let shown = pg_sys::ActiveSnapshotSet().then(|| (*pg_sys::GetActiveSnapshot()).curcid);
        (pg_sys::GetCurrentCommandId(false), shown)
    }
}

/// Runs `f` with an active snapshot of its own: what is committed now, whatever the isolation
/// level, and all that this transaction has done before. Reads under the active snapshot see that.
pub fn with_latest<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: in a transaction; pushes and pops in pairs, and after an ERROR the server pops it.
    unsafe {
        pg_sys::CommandCounterIncrement();
        pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
        let result = f();
        pg_sys::PopActiveSnapshot();
        result
    }
}

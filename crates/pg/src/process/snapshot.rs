//! What the active snapshot shows, and snapshots of what is committed now. The refresh of clusters runs
//! under [`with_latest`].

use pgrx::pg_sys;

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

//! A build of an index by several processes, as a parallel operation
//! ([`crate::parallel::operation`]): all scan shares of the table, exchange files and wait for each
//! other. `index::build::parallel` runs it. Rows of a participant are read by others only after it
//! has handed them over.

use super::build::{Build, RowSink, scan_share};
use crate::catalog::relation::Rel;
use crate::parallel::condition_variable::ConditionVariable;
use crate::parallel::operation::{Leader, Participant, run_worker};
use crate::parallel::shared_memory::SharedScan;
use crate::process::compat;
use pgrx::pg_sys;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// State that the participants share: `own` is that of the access method.
#[repr(C)]
pub struct BuildState<S> {
    table: pg_sys::Oid,
    index: pg_sys::Oid,
    concurrent: bool,
    /// Participants that are scanning, or have not yet handed over the rows that they scanned.
    scanning: AtomicU32,
    table_rows: AtomicU64,
    broken_hot_chain: AtomicBool,
    changed: ConditionVariable,
    own: S,
}

/// One process of a build, with the relations as it has opened them.
pub struct BuildParticipant<'p, S> {
    /// Its number, and the files that it shares with the others.
    pub process: &'p Participant<BuildState<S>>,
    /// The index, under the leader's locks.
    pub index: Rel<'p>,
    table: Rel<'p>,
}

impl<'p, S: Sync> BuildParticipant<'p, S> {
    /// The access method's part of the shared state.
    pub fn state(&self) -> &'p S {
        &self.process.state().own
    }

    /// Calls `row` with the rows of this participant's share of the table. The caller must then
    /// call [`Self::hand_over`].
    pub fn scan(&self, row: RowSink) {
        let state = self.process.state();
        // Counted before it takes a block: so a process that finds no more blocks knows of all that
        // have taken some.
        state.scanning.fetch_add(1, Ordering::SeqCst);
        // SAFETY: table and index are open and locked, the description is that of the common scan.
        let (rows, broken) = unsafe {
            scan_share(
                self.table,
                self.index,
                state.concurrent,
                self.process.is_leader(),
                self.process.scan(),
                row,
            )
        };
        state.table_rows.fetch_add(rows as u64, Ordering::SeqCst);
        state.broken_hot_chain.fetch_or(broken, Ordering::SeqCst);
    }

    /// Tells the others that the rows of this participant can be read.
    pub fn hand_over(&self) {
        let state = self.process.state();
        state.scanning.fetch_sub(1, Ordering::SeqCst);
        state.changed.broadcast();
    }

    /// Wakes the participants that wait for a change of the state.
    pub fn announce(&self) {
        self.process.state().changed.broadcast();
    }

    /// Waits until all participants that scan have handed over their rows.
    pub fn wait_for_rows(&self) {
        let scanning = &self.process.state().scanning;
        self.wait_until(|| scanning.load(Ordering::SeqCst) == 0);
    }

    /// Waits until `done` returns true. It is called after every announcement, and several times a
    /// second.
    pub fn wait_until(&self, done: impl FnMut() -> bool) {
        let changed = &self.process.state().changed;
        changed.wait_until(compat::WAIT_FOR_BUILD_WORKERS, done);
    }
}

/// A build's leader and its workers, from launch to end.
pub struct BuildLeader<'r, S> {
    /// The workers, to count them and to see that they have started.
    pub operation: Leader<BuildState<S>>,
    /// The registered snapshot of CREATE INDEX CONCURRENTLY.
    snapshot: Option<pg_sys::Snapshot>,
    table: Rel<'r>,
    index: Rel<'r>,
}

/// Result of the scan of the table, all participants together.
pub struct Scanned {
    /// Live rows of the table, also those that a partial index leaves out.
    pub table_rows: f64,
    /// Whether older transactions must not use the index.
    pub broken_hot_chain: bool,
}

impl<'r, S: Sync> BuildLeader<'r, S> {
    /// Launches up to `workers` workers; None when no shared memory or no worker is available.
    ///
    /// # Safety
    /// As for [`Leader::launch`], with [`run_build_worker`].
    pub unsafe fn launch(
        build: Build<'r>,
        workers: usize,
        function: &CStr,
        own: S,
    ) -> Option<BuildLeader<'r, S>> {
        let Build { table, index, .. } = build;
        let concurrent = build.is_concurrent();
        let state = BuildState {
            table: table.oid(),
            index: index.oid(),
            concurrent,
            scanning: AtomicU32::new(0),
            table_rows: AtomicU64::new(0),
            broken_hot_chain: AtomicBool::new(false),
            changed: ConditionVariable::new(),
            own,
        };
        // SAFETY: unregistered when the operation has ended; after an ERROR the server does so.
        let snapshot = concurrent
            .then(|| unsafe { pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot()) });
        let any = &raw mut pg_sys::SnapshotAnyData;
        // SAFETY: of the two kinds that it takes.
        let scan = unsafe { SharedScan::new(table, snapshot.unwrap_or(any)) };
        // SAFETY: this part of the state is plain data; for the other the caller vouches.
        match unsafe { Leader::launch(function, workers, state, scan) } {
            Some(operation) => Some(BuildLeader {
                operation,
                snapshot,
                table,
                index,
            }),
            None => {
                unregister(snapshot);
                None
            }
        }
    }

    /// The leader, as one that scans and loads like its workers.
    pub fn participant(&self) -> BuildParticipant<'_, S> {
        BuildParticipant {
            process: self.operation.participant(),
            index: self.index,
            table: self.table,
        }
    }

    /// Waits for the workers to end. Returns what they have scanned, and what `result` makes of the
    /// access method's state.
    pub fn finish<R>(self, result: impl FnOnce(&S) -> R) -> (Scanned, R) {
        let results = self.operation.finish(|state| {
            let scanned = Scanned {
                table_rows: state.table_rows.load(Ordering::SeqCst) as f64,
                broken_hot_chain: state.broken_hot_chain.load(Ordering::SeqCst),
            };
            (scanned, result(&state.own))
        });
        unregister(self.snapshot);
        results
    }
}

fn unregister(snapshot: Option<pg_sys::Snapshot>) {
    if let Some(snapshot) = snapshot {
        // SAFETY: registered by `launch`.
        unsafe { pg_sys::UnregisterSnapshot(snapshot) };
    }
}

/// Runs `work` as a worker of the build that the shared memory describes.
///
/// # Safety
/// As for [`run_worker`], with [`BuildLeader::launch`].
pub unsafe fn run_build_worker<S: Sync>(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
    work: impl FnOnce(&BuildParticipant<S>),
) {
    // SAFETY: guaranteed by the caller. The locks are those that the leader holds; they do not
    // conflict within the leader's lock group.
    unsafe {
        run_worker::<BuildState<S>>(segment, toc, |process| {
            let state = process.state();
            let (table_lock, index_lock) = if state.concurrent {
                (pg_sys::ShareUpdateExclusiveLock, pg_sys::RowExclusiveLock)
            } else {
                (pg_sys::ShareLock, pg_sys::AccessExclusiveLock)
            };
            let table = pg_sys::table_open(state.table, table_lock as i32);
            let index = pg_sys::index_open(state.index, index_lock as i32);
            work(&BuildParticipant {
                process,
                index: Rel::from_raw(index),
                table: Rel::from_raw(table),
            });
            pg_sys::index_close(index, index_lock as i32);
            pg_sys::table_close(table, table_lock as i32);
        });
    }
}

//! A build shared among processes: the leader, which runs CREATE INDEX, and background workers.
//!
//! All take part in one scan of the table, exchange files, and share one board, a struct of atomics
//! in dynamic shared memory. The leader raises a worker's ERROR again at its next check for
//! interrupts. When the leader's transaction ends, the server stops the workers and removes the
//! shared files.

use super::build::{Build, RowSink, scan_share};
use super::parallel_memory::{Common, Sizes, fill, part};
use crate::catalog::relation::Rel;
use crate::process::compat;
use crate::process::shared_parts::part_of_leader;
use crate::process::temp_file::{SharedFiles, TempFile};
use pgrx::pg_sys;
use std::ffi::{CString, c_char, c_long};
use std::sync::atomic::Ordering;

/// One process's part in a build.
pub struct Member<'m, B> {
    common: &'m Common<B>,
    scan: pg_sys::ParallelTableScanDesc,
    table: Rel<'m>,
    index: Rel<'m>,
    number: usize,
}

impl<'m, B> Member<'m, B> {
    #[inline]
    pub fn board(&self) -> &B {
        &self.common.board
    }

    #[inline]
    pub fn index(&self) -> Rel<'m> {
        self.index
    }

    /// 0 for the leader, 1 and up for workers.
    #[inline]
    pub fn number(&self) -> usize {
        self.number
    }

    #[inline]
    pub fn is_leader(&self) -> bool {
        self.number == 0
    }

    /// Calls `row` with the rows of this participant's share of the table. The caller must then
    /// call [`Member::hand_over`].
    #[inline]
    pub fn scan(&self, row: RowSink) {
        // Counted before it takes a block: so a process that finds no more blocks knows of all that
        // have taken some.
        self.common.scanning.fetch_add(1, Ordering::SeqCst);
        // SAFETY: table and index are open and locked, the description is that of the common scan.
        let (rows, broken) = unsafe {
            scan_share(
                self.table,
                self.index,
                self.common.concurrent,
                self.is_leader(),
                self.scan,
                row,
            )
        };
        self.common
            .table_rows
            .fetch_add(rows as u64, Ordering::SeqCst);
        self.common
            .broken_hot_chain
            .fetch_or(broken, Ordering::SeqCst);
    }

    /// Tells the others that the rows of this participant can be read.
    #[inline]
    pub fn hand_over(&self) {
        self.common.scanning.fetch_sub(1, Ordering::SeqCst);
        self.announce();
    }

    /// Wakes the participants that wait for a change of the board.
    #[inline]
    pub fn announce(&self) {
        // SAFETY: initialised by the leader before any worker started.
        unsafe { pg_sys::ConditionVariableBroadcast(self.common.changed.get()) };
    }

    /// Waits until all participants that scan have handed over their rows.
    #[inline]
    pub fn wait_for_rows(&self) {
        self.wait_until(|| self.common.scanning.load(Ordering::SeqCst) == 0);
    }

    /// Waits until `done` returns true. It is called after every announcement, and several times a
    /// second.
    #[inline]
    pub fn wait_until(&self, mut done: impl FnMut() -> bool) {
        const TICK_MILLISECONDS: c_long = 200;
        let changed = self.common.changed.get();
        while !done() {
            // SAFETY: as in `announce`; sleeping checks for interrupts.
            unsafe {
                pg_sys::ConditionVariableTimedSleep(
                    changed,
                    TICK_MILLISECONDS,
                    compat::WAIT_FOR_BUILD_WORKERS,
                );
            }
        }
        // SAFETY: harmless when this process does not sleep.
        unsafe { pg_sys::ConditionVariableCancelSleep() };
    }

    /// Creates a file that the others can open after [`TempFile::publish`].
    #[inline]
    pub fn create_file(&self, name: &str) -> TempFile<'_> {
        TempFile::create_shared(self.files(), &file_name(name))
    }

    /// Opens a file that a participant has published.
    #[inline]
    pub fn open_file(&self, name: &str) -> TempFile<'_> {
        TempFile::open_shared(self.files(), &file_name(name))
    }

    fn files(&self) -> SharedFiles<'_> {
        // SAFETY: initialised by the leader, attached to by `run_worker`; it lives as long as the
        // build.
        unsafe { SharedFiles::from_raw(self.common.files.get()) }
    }
}

fn file_name(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

/// A build's leader and its workers, from launch to end.
pub struct Leader<'r, B> {
    context: *mut pg_sys::ParallelContext,
    /// The registered snapshot of CREATE INDEX CONCURRENTLY, or null.
    snapshot: pg_sys::Snapshot,
    member: Member<'r, B>,
}

/// Result of the scan of the table, all participants together.
pub struct Scanned {
    pub table_rows: f64,
    /// Whether older transactions must not use the index.
    pub broken_hot_chain: bool,
}

impl<'r, B: Sync + 'r> Leader<'r, B> {
    /// Launches up to `workers` workers; None when no shared memory or no worker is available.
    ///
    /// # Safety
    /// `B` must hold no pointers, and the worker function must be for the same `B`.
    #[inline]
    pub unsafe fn launch(
        build: Build<'r>,
        workers: usize,
        function: &std::ffi::CStr,
        board: B,
    ) -> Option<Leader<'r, B>> {
        let Build { table, index, .. } = build;
        let concurrent = build.is_concurrent();
        // SAFETY: the server's protocol for parallel operations, in its order: enter, create,
        // estimate, initialise, fill, launch. The shared memory lives until the context is
        // destroyed.
        unsafe {
            pg_sys::EnterParallelMode();
            let context = pg_sys::CreateParallelContext(
                c"$libdir/simhash_dedup".as_ptr(),
                function.as_ptr(),
                workers as i32,
            );
            let registered = if concurrent {
                pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot())
            } else {
                std::ptr::null_mut()
            };
            let snapshot = if concurrent {
                registered
            } else {
                &raw mut pg_sys::SnapshotAnyData
            };
            let sizes = Sizes::for_workers::<B>(table, snapshot, workers);
            sizes.estimate(&mut (*context).estimator);
            pg_sys::InitializeParallelDSM(context);
            if (*context).seg.is_null() {
                end(context, registered);
                return None;
            }
            let common = Common::new(table.oid(), index.oid(), concurrent, board);
            let (common, scan) = fill(context, &sizes, common);
            pg_sys::table_parallelscan_initialize(table.raw(), scan, snapshot);
            pg_sys::LaunchParallelWorkers(context);
            if (*context).nworkers_launched == 0 {
                end(context, registered);
                return None;
            }
            let member = Member {
                common: &*common,
                scan,
                table,
                index,
                number: 0,
            };
            Some(Leader {
                context,
                snapshot: registered,
                member,
            })
        }
    }

    #[inline]
    pub fn member(&self) -> &Member<'r, B> {
        &self.member
    }

    /// Workers that were launched.
    #[inline]
    pub fn workers(&self) -> usize {
        // SAFETY: the context lives until `finish`.
        unsafe { (*self.context).nworkers_launched as usize }
    }

    /// Raises an ERROR if a launched worker could not start: the leader would wait for it forever.
    #[inline]
    pub fn check_workers_started(&self) {
        // SAFETY: the context lives until `finish`.
        unsafe { pg_sys::WaitForParallelWorkersToAttach(self.context) };
    }

    /// Waits for the workers to end, and adds what they read and logged to this process's counts.
    #[inline]
    pub fn finish(self) -> Scanned {
        // SAFETY: the context is live, and not used after `end`; each launched worker has filled
        // its place of the two arrays by the time it has finished.
        unsafe {
            pg_sys::WaitForParallelWorkersToFinish(self.context);
            let toc = (*self.context).toc;
            let buffers = pg_sys::shm_toc_lookup(toc, part::BUFFER_USAGE, false);
            let wal = pg_sys::shm_toc_lookup(toc, part::WAL_USAGE, false);
            for i in 0..self.workers() {
                pg_sys::InstrAccumParallelQuery(
                    buffers.cast::<pg_sys::BufferUsage>().add(i),
                    wal.cast::<pg_sys::WalUsage>().add(i),
                );
            }
            let common = self.member.common;
            let scanned = Scanned {
                table_rows: common.table_rows.load(Ordering::SeqCst) as f64,
                broken_hot_chain: common.broken_hot_chain.load(Ordering::SeqCst),
            };
            end(self.context, self.snapshot);
            scanned
        }
    }
}

/// # Safety
/// Context and snapshot (null, or registered) must be live, and must not be used afterwards.
unsafe fn end(context: *mut pg_sys::ParallelContext, snapshot: pg_sys::Snapshot) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if !snapshot.is_null() {
            pg_sys::UnregisterSnapshot(snapshot);
        }
        pg_sys::DestroyParallelContext(context);
        pg_sys::ExitParallelMode();
    }
}

/// Runs `work` as a worker of the build that the shared memory describes.
///
/// # Safety
/// Must be called by the function given to [`Leader::launch`], with its arguments and for its `B`.
#[inline]
pub unsafe fn run_worker<B: Sync>(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
    work: impl FnOnce(&Member<B>),
) {
    // SAFETY: the leader filled the parts before it launched this process, and waits for it to end.
    // The locks are those that the leader holds; they do not conflict within the leader's lock
    // group.
    unsafe {
        let part = |key| part_of_leader(toc, key);
        let query = part(part::QUERY).cast::<c_char>();
        pg_sys::debug_query_string = query;
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, query);
        let common = &*part(part::COMMON).cast::<Common<B>>();
        let (table_lock, index_lock) = if common.concurrent {
            (pg_sys::ShareUpdateExclusiveLock, pg_sys::RowExclusiveLock)
        } else {
            (pg_sys::ShareLock, pg_sys::AccessExclusiveLock)
        };
        let table = pg_sys::table_open(common.table, table_lock as i32);
        let index = pg_sys::index_open(common.index, index_lock as i32);
        pg_sys::SharedFileSetAttach(common.files.get(), segment);
        let number = pg_sys::ParallelWorkerNumber as usize;
        pg_sys::InstrStartParallelQuery();
        work(&Member {
            common,
            scan: part(part::SCAN).cast(),
            table: Rel::from_raw(table),
            index: Rel::from_raw(index),
            number: number + 1,
        });
        pg_sys::InstrEndParallelQuery(
            part(part::BUFFER_USAGE)
                .cast::<pg_sys::BufferUsage>()
                .add(number),
            part(part::WAL_USAGE).cast::<pg_sys::WalUsage>().add(number),
        );
        pg_sys::index_close(index, index_lock as i32);
        pg_sys::table_close(table, table_lock as i32);
    }
}

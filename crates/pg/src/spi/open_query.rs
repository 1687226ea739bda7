//! A saved query whose executor stays open between the rows of one statement. To start and end the
//! executor costs as much as looking a row up by an index, and a trigger looks up rows for every
//! row of a statement. COPY of 200,000 rows into a million took 9.3 s of processor time with it,
//! and 16.8 s with a query for each row (28 November 2026, PostgreSQL 15, unoptimized wrappers).
//!
//! A run sees what a run of the saved query sees: it has a snapshot of its own, newer than all that
//! the statement has done before.
//!
//! What the server makes for it belongs to the subtransaction in which it is opened: the memory,
//! and what its resource owner counts. It ends with the first of these:
//! * its [`OpenQuery`] is dropped;
//! * the executor of the statement ends ([`MemoryContext::around_row`]). The call site's memory may
//!   live longer: after COPY in a portal, which the client may keep open while it alters the table;
//! * the subtransaction ends. Then the server lets go of everything by itself, and it is only
//!   forgotten: most often that is an abort, in which the memory of the statement may be freed at
//!   any time, before the subtransaction's resources or long after.
//!
//! Only plans of one kind are kept open, `LIMIT 1` over one index scan: their only state beside the
//! parameters is the scan's, which each run starts again, and its snapshot. The server checks the user's
//! rights when the executor starts. So an executor that another user has started, or the same user before
//! `row_security` was changed, is not used.

use super::query::{connected, parameter_list};
use super::saved_query::{SavedQuery, Visibility};
use crate::process::compat::attribute;
use crate::process::memory::MemoryContext;
use crate::process::transaction::is_serializable;
use crate::process::{compat, unguarded};
use crate::sql::fmgr::Args;
use crate::sql::value::{Storage, Value};
use pgrx::{pg_guard, pg_sys};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::{Rc, Weak};

/// The place for a saved query's open executor, in what a statement remembers.
#[derive(Default)]
pub struct OpenQuery {
    state: RefCell<RunState>,
}

#[derive(Default)]
enum RunState {
    /// Most statements run a query once: the saved query does that.
    #[default]
    NotRun,
    Run,
    Open(Rc<Open>),
    /// The plan is of another kind.
    Refused,
}

/// An open executor; None once it has ended.
struct Open(Cell<Option<OpenExecutor>>);

thread_local! {
    /// All that may be open. None before the first: the callbacks are not registered yet.
    static OPEN: RefCell<Option<Vec<Weak<Open>>>> = const { RefCell::new(None) };
}

impl OpenQuery {
    /// As [`SavedQuery::first_row`], which makes the first run of a statement. Must be called from
    /// a row trigger, always with the same query.
    pub fn first_row<'a, const N: usize>(
        &self,
        query: &SavedQuery,
        args: &'a Args,
        parameters: &[Option<Value<'_>>],
        sees: Visibility,
    ) -> Option<[Option<Value<'a>>; N]> {
        match self.opened(query) {
            Some(executor) => {
                query.check_values(parameters);
                executor.first_row(parameters, sees)
            }
            None => query.first_row(args, parameters, sees),
        }
    }

    /// The open executor, if the query is to be run by it.
    fn opened(&self, query: &SavedQuery) -> Option<OpenExecutor> {
        let mut state = self.state.borrow_mut();
        match &*state {
            RunState::NotRun => {
                *state = RunState::Run;
                return None;
            }
            RunState::Refused => return None,
            RunState::Open(open) => match open.0.get() {
                Some(executor) if executor.is_usable(query) => return Some(executor),
                _ => open.end(),
            },
            RunState::Run => {}
        }
        // The server locks what a serializable transaction reads when a scan begins, not when it
        // starts again.
        let executor = match is_serializable() {
            true => None,
            false => OpenExecutor::start(query),
        };
        *state = match executor {
            Some(executor) => RunState::Open(kept(executor)),
            None => RunState::Refused,
        };
        executor
    }
}

impl Drop for OpenQuery {
    fn drop(&mut self) {
        if let RunState::Open(open) = self.state.get_mut() {
            open.end();
        }
    }
}

/// Makes sure that it ends in time.
fn kept(executor: OpenExecutor) -> Rc<Open> {
    struct EndWith(Rc<Open>);
    impl Drop for EndWith {
        fn drop(&mut self) {
            self.0.end();
        }
    }
    let open = Rc::new(Open(Cell::new(Some(executor))));
    MemoryContext::around_row().keep(EndWith(Rc::clone(&open)));
    OPEN.with_borrow_mut(|all| {
        let all = all.get_or_insert_with(|| {
            // SAFETY: registered once in a process; the functions are static.
            unsafe {
                pg_sys::RegisterXactCallback(Some(on_transaction), std::ptr::null_mut());
                pg_sys::RegisterSubXactCallback(Some(on_subtransaction), std::ptr::null_mut());
            }
            Vec::new()
        });
        all.retain(|open| open.strong_count() > 0);
        all.push(Rc::downgrade(&open));
    });
    open
}

/// Forgets those that are concerned.
fn forget(concerned: impl Fn(&OpenExecutor) -> bool) {
    OPEN.with(|all| {
        // The list is borrowed only to add to it, when no transaction can end.
        let Ok(all) = all.try_borrow() else {
            return;
        };
        for open in all.iter().flatten().filter_map(Weak::upgrade) {
            open.0
                .set(open.0.get().filter(|executor| !concerned(executor)));
        }
    });
}

#[pg_guard]
unsafe extern "C-unwind" fn on_transaction(event: pg_sys::XactEvent::Type, _argument: *mut c_void) {
    if !matches!(
        event,
        pg_sys::XactEvent::XACT_EVENT_PRE_COMMIT
            | pg_sys::XactEvent::XACT_EVENT_PARALLEL_PRE_COMMIT
            | pg_sys::XactEvent::XACT_EVENT_PRE_PREPARE
    ) {
        forget(|_| true);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn on_subtransaction(
    event: pg_sys::SubXactEvent::Type,
    ended: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _argument: *mut c_void,
) {
    if matches!(
        event,
        pg_sys::SubXactEvent::SUBXACT_EVENT_COMMIT_SUB
            | pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB
    ) {
        forget(|executor| executor.subtransaction == ended);
    }
}

impl Open {
    fn end(&self) {
        if let Some(executor) = self.0.take() {
            // SAFETY: what a subtransaction that has ended made was forgotten. While one ends the
            // state is another, and the server lets go of it.
            unsafe {
                if pg_sys::IsTransactionState() {
                    executor.end();
                }
            }
        }
    }
}

/// An executor that is open. Dropping this does not end it: see [`OpenExecutor::end`].
#[derive(Clone, Copy)]
pub(super) struct OpenExecutor {
    desc: *mut pg_sys::QueryDesc,
    /// The only node of the plan that reads anything.
    scan: *mut pg_sys::IndexScanState,
    plan: *mut pg_sys::CachedPlan,
    /// All of the above but the plan is in it.
    memory: MemoryContext,
    owner: pg_sys::ResourceOwner,
    pub(super) subtransaction: pg_sys::SubTransactionId,
    rights: Rights,
}

/// What the executor's checks at its start depend on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rights {
    user: pg_sys::Oid,
    context: i32,
    row_security: bool,
}

impl OpenExecutor {
    /// Starts the executor; None when the plan is of another kind.
    pub(super) fn start(query: &SavedQuery) -> Option<Self> {
        // SAFETY: in a transaction, with the tables locked by making the plan. All is made for the
        // subtransaction's owner and in its memory; after an ERROR the server frees it with them.
        connected(|| unsafe {
            let owner = pg_sys::CurTransactionResourceOwner;
            for_owner(owner, || {
                let plan = query.cached_plan();
                if !suits(plan) {
                    pg_sys::ReleaseCachedPlan(plan, owner);
                    return None;
                }
                let memory = MemoryContext::from_raw(pg_sys::CurTransactionContext)
                    .child(c"simhash open query");
                let desc = memory.run(|| started(query, plan));
                query.check_result((*desc).tupDesc);
                Some(Self {
                    memory,
                    desc,
                    scan: (*(*desc).planstate).lefttree.cast(),
                    plan,
                    owner,
                    subtransaction: pg_sys::GetCurrentSubTransactionId(),
                    rights: Rights::now(),
                })
            })
        })
    }

    /// Returns whether the server would run the query by this plan, and allow it.
    pub(super) fn is_usable(&self, query: &SavedQuery) -> bool {
        // SAFETY: not ended, so the plan is counted for its owner; the query lives.
        unsafe {
            (*self.plan).is_valid
                && (*query.source()).is_valid
                && self.subtransaction == unguarded::GetCurrentSubTransactionId()
                && self.rights == Rights::now()
        }
    }

    /// See [`SavedQuery::first_row`].
    pub(super) fn first_row<'a, const N: usize>(
        &self,
        parameters: &[Option<Value<'_>>],
        sees: Visibility,
    ) -> Option<[Option<Value<'a>>; N]> {
        // SAFETY: usable; the values are of the parameters' types, and live until the run's end.
        // After an ERROR the subtransaction ends, and this with it. Nothing that is read is kept:
        // the row's page is let go before the snapshot. One guard for all that finds the row: no
        // frame between it and the server's has a destructor, and none panics.
        unsafe {
            let (state, estate) = ((*self.desc).planstate, (*self.desc).estate);
            self.set(parameters);
            let registered = (*estate).es_snapshot;
            let slot = pg_sys::ffi::pg_guard_ffi_boundary(|| {
                unguarded::CommandCounterIncrement();
                unguarded::PushActiveSnapshot(match sees {
                    Visibility::OfIsolationLevel => unguarded::GetTransactionSnapshot(),
                    Visibility::Latest => unguarded::GetLatestSnapshot(),
                    Visibility::Active | Visibility::BeforeStatement => {
                        unguarded::GetActiveSnapshot()
                    }
                });
                let snapshot = unguarded::GetActiveSnapshot();
                (*estate).es_snapshot = snapshot;
                self.show(snapshot);
                for_owner(self.owner, || {
                    self.in_its_memory(|| {
                        unguarded::ExecReScan(state);
                        (*state).ExecProcNode.map(|run| run(state))
                    })
                })
            });
            let slot = slot.filter(|slot| !slot.is_null() && !is_empty(*slot));
            let row = slot.map(|slot| {
                for_owner(self.owner, || {
                    let row = copied(slot);
                    // Releases the pin of the row's page.
                    self.in_its_memory(|| {
                        pg_sys::ExecReScan(state);
                        compat::release_fetched_page((*self.scan).iss_ScanDesc);
                    });
                    row
                })
            });
            (*estate).es_snapshot = registered;
            self.show(registered);
            pg_sys::PopActiveSnapshot();
            row
        }
    }

    /// # Safety
    /// The executor must not have ended.
    unsafe fn in_its_memory<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: guaranteed by the caller.
        unsafe { MemoryContext::from_raw((*(*self.desc).estate).es_query_cxt).run(f) }
    }

    /// # Safety
    /// The executor must not have ended; there must be as many values as the query has parameters,
    /// of their types.
    unsafe fn set(&self, values: &[Option<Value<'_>>]) {
        // SAFETY: guaranteed by the caller; `of` has made the list.
        unsafe {
            let list = (*(*self.desc).params).params.as_mut_slice(values.len());
            for (parameter, value) in list.iter_mut().zip(values) {
                parameter.isnull = value.is_none();
                parameter.value = value.map_or(pg_sys::Datum::null(), |value| value.datum());
            }
        }
    }

    /// The snapshot of the scan; one that is not begun yet takes the executor's.
    ///
    /// # Safety
    /// The executor must not have ended, and the snapshot must live until another is set.
    unsafe fn show(&self, snapshot: pg_sys::Snapshot) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if let Some(scan) = (*self.scan).iss_ScanDesc.as_mut() {
                scan.xs_snapshot = snapshot;
            }
        }
    }

    /// # Safety
    /// Neither the executor nor the subtransaction that made it may have ended.
    pub(super) unsafe fn end(&self) {
        // SAFETY: guaranteed by the caller; what was taken for the owner is released for it.
        unsafe {
            for_owner(self.owner, || {
                pg_sys::ExecutorFinish(self.desc);
                pg_sys::ExecutorEnd(self.desc);
                pg_sys::FreeQueryDesc(self.desc);
                pg_sys::ReleaseCachedPlan(self.plan, self.owner);
            });
            self.memory.delete();
        }
    }
}

impl Rights {
    fn now() -> Self {
        let (mut user, mut context) = (pg_sys::Oid::INVALID, 0);
        // SAFETY: reads variables of the backend.
        unsafe {
            unguarded::GetUserIdAndSecContext(&mut user, &mut context);
            Self {
                user,
                context,
                row_security: pg_sys::row_security,
            }
        }
    }
}

/// Returns whether it is a plan whose executor can be kept open.
///
/// # Safety
/// `plan` must be a plan of one statement.
unsafe fn suits(plan: *const pg_sys::CachedPlan) -> bool {
    use pg_sys::NodeTag::{T_IndexScan, T_Limit};
    // SAFETY: guaranteed by the caller; a plan of a SELECT has a plan tree.
    unsafe {
        let statement: *const pg_sys::PlannedStmt = pg_sys::list_nth((*plan).stmt_list, 0).cast();
        let limit = (*statement).planTree;
        let is_bare =
            |node: *const pg_sys::Plan, tag| (*node).type_ == tag && (*node).initPlan.is_null();
        (*statement).commandType == pg_sys::CmdType::CMD_SELECT
            && !(*statement).hasModifyingCTE
            && !(*statement).transientPlan
            && (*statement).subplans.is_null()
            && (*statement).rowMarks.is_null()
            && is_bare(limit, T_Limit)
            && is_bare((*limit).lefttree, T_IndexScan)
    }
}

/// The query, with its executor started, in the current memory context.
///
/// # Safety
/// Must be called in a transaction, with a plan of this query.
unsafe fn started(query: &SavedQuery, plan: *const pg_sys::CachedPlan) -> *mut pg_sys::QueryDesc {
    // SAFETY: guaranteed by the caller; the executor registers the snapshot.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let desc = pg_sys::CreateQueryDesc(
            pg_sys::list_nth((*plan).stmt_list, 0).cast(),
            pg_sys::pstrdup((*query.source()).query_string),
            pg_sys::GetActiveSnapshot(),
            std::ptr::null_mut(),
            pg_sys::None_Receiver,
            parameter_list(query.parameter_types(), &[]),
            std::ptr::null_mut(),
            0,
        );
        pg_sys::ExecutorStart(desc, 0);
        pg_sys::PopActiveSnapshot();
        desc
    }
}

/// Runs `f` with the resource owner as the current one.
///
/// # Safety
/// `owner` must be live. When `f` raises an ERROR, the server sets the current one again.
unsafe fn for_owner<R>(owner: pg_sys::ResourceOwner, f: impl FnOnce() -> R) -> R {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let outer = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = owner;
        let result = f();
        pg_sys::CurrentResourceOwner = outer;
        result
    }
}

/// The macro TupIsNull.
///
/// # Safety
/// `slot` must be live.
unsafe fn is_empty(slot: *const pg_sys::TupleTableSlot) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { u32::from((*slot).tts_flags) & pg_sys::TTS_FLAG_EMPTY != 0 }
}

/// The first N columns of a row, copied to the current memory context; None for a column that the
/// row lacks.
///
/// # Safety
/// `slot` must hold a row.
unsafe fn copied<'a, const N: usize>(slot: *mut pg_sys::TupleTableSlot) -> [Option<Value<'a>>; N] {
    // SAFETY: guaranteed by the caller; the columns are unpacked before they are read.
    unsafe {
        let desc = (*slot).tts_tupleDescriptor;
        let count = N.min((*desc).natts as usize);
        if usize::from((*slot).tts_nvalid.cast_unsigned()) < count {
            pg_sys::slot_getsomeattrs_int(slot, count as i32);
        }
        std::array::from_fn(|i| {
            (i < count && !*(*slot).tts_isnull.add(i)).then(|| {
                let storage = Storage::of_attribute(attribute(desc, i));
                let value = *(*slot).tts_values.add(i);
                let (by_value, length) = storage.by_value_and_length();
                let copy = match by_value {
                    true => value,
                    false => pg_sys::datumCopy(value, false, i32::from(length)),
                };
                Value::new(copy, storage)
            })
        })
    }
}

//! A saved query whose executor stays open between the rows of one statement. To start and end the
//! executor costs as much as to look a row up by an index, and a trigger looks up rows for every row
//! of a statement.
//!
//! A run sees what a run of the saved query sees: it has a snapshot of its own, newer than all that
//! the statement has done before. Only plans of one kind are held, `LIMIT 1` over one index scan:
//! their only state beside the parameters is the scan's, which each run starts anew, and its
//! snapshot. The server's checks of the user's rights come with the executor's start: one that
//! another user, or the same with `row_security` changed, has started is not used.
//!
//! What the server makes for it belongs to the subtransaction in which it is opened: the memory,
//! and what its resource owner counts. It ends with the first of these:
//! * its [`HeldQuery`] is dropped;
//! * the executor of the statement ends ([`Memory::around_row`]). The call site's memory may live
//!   longer: after COPY in a portal, which the client may keep open while it alters the table;
//! * the subtransaction ends. Then the server lets go of everything by itself, and it is only
//!   forgotten: most often that is an abort, in which the memory of the statement may be freed at
//!   any time, before the subtransaction's resources or long after.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::{Rc, Weak};

use pgrx::{pg_guard, pg_sys};

use super::connection::connected;
use super::saved_query::{SavedQuery, Sees};
use crate::pg::process::advisory_lock::is_serializable;
use crate::pg::process::compat::attribute;
use crate::pg::sql::call_site::Memory;
use crate::pg::sql::fmgr::Args;
use crate::pg::sql::value::{Storage, Value};

/// The place for a saved query's open executor, in what a statement remembers.
#[derive(Default)]
pub struct HeldQuery {
    state: RefCell<State>,
}

#[derive(Default)]
enum State {
    /// Most statements run a query once: that is the saved query's business.
    #[default]
    NotRun,
    Run,
    Open(Rc<Open>),
    /// The plan is of another kind.
    Refused,
}

/// An open executor; None once it has ended.
struct Open(Cell<Option<Parts>>);

#[derive(Clone, Copy)]
struct Parts {
    desc: *mut pg_sys::QueryDesc,
    /// The only node of the plan that reads anything.
    scan: *mut pg_sys::IndexScanState,
    plan: *mut pg_sys::CachedPlan,
    /// All of the above but the plan is in it.
    memory: pg_sys::MemoryContext,
    owner: pg_sys::ResourceOwner,
    subtransaction: pg_sys::SubTransactionId,
    rights: Rights,
}

/// What the executor's checks at its start depend on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rights {
    user: pg_sys::Oid,
    context: i32,
    row_security: bool,
}

thread_local! {
    /// All that may be open. None before the first: the callbacks are not registered yet.
    static OPEN: RefCell<Option<Vec<Weak<Open>>>> = const { RefCell::new(None) };
}

impl HeldQuery {
    /// As [`SavedQuery::first_row`], which the first run of a statement is. To be called from a row
    /// trigger, always with the same query.
    pub fn first_row<'a, const N: usize>(
        &self,
        query: &SavedQuery,
        args: &'a Args,
        parameters: &[Option<Value<'_>>],
        sees: Sees,
    ) -> Option<[Option<Value<'a>>; N]> {
        match self.opened(query) {
            Some(parts) => {
                query.check_values(parameters);
                parts.first_row(parameters, sees)
            }
            None => query.first_row(args, parameters, sees),
        }
    }

    /// The open executor, if the query is to be run by it.
    fn opened(&self, query: &SavedQuery) -> Option<Parts> {
        let mut state = self.state.borrow_mut();
        match &*state {
            State::NotRun => {
                *state = State::Run;
                return None;
            }
            State::Refused => return None,
            State::Open(open) => match open.0.get() {
                Some(parts) if parts.are_usable(query) => return Some(parts),
                _ => open.end(),
            },
            State::Run => {}
        }
        // The server locks what a serializable transaction reads when a scan begins, not when it
        // starts anew.
        let parts = match is_serializable() {
            true => None,
            false => Parts::of(query),
        };
        *state = match parts {
            Some(parts) => State::Open(kept(parts)),
            None => State::Refused,
        };
        parts
    }
}

impl Drop for HeldQuery {
    fn drop(&mut self) {
        if let State::Open(open) = self.state.get_mut() {
            open.end();
        }
    }
}

/// Makes sure that it ends in time.
fn kept(parts: Parts) -> Rc<Open> {
    struct EndWith(Rc<Open>);
    impl Drop for EndWith {
        fn drop(&mut self) {
            self.0.end();
        }
    }
    let open = Rc::new(Open(Cell::new(Some(parts))));
    Memory::around_row().keep(EndWith(Rc::clone(&open)));
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
fn forget(concerned: impl Fn(&Parts) -> bool) {
    OPEN.with(|all| {
        // The list is borrowed only to add to it, when no transaction can end.
        let Ok(all) = all.try_borrow() else {
            return;
        };
        for open in all.iter().flatten().filter_map(Weak::upgrade) {
            open.0.set(open.0.get().filter(|parts| !concerned(parts)));
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
        forget(|parts| parts.subtransaction == ended);
    }
}

impl Open {
    fn end(&self) {
        if let Some(parts) = self.0.take() {
            // SAFETY: what a subtransaction that has ended made was forgotten. While one ends the
            // state is another, and the server lets go of it.
            unsafe {
                if pg_sys::IsTransactionState() {
                    parts.end();
                }
            }
        }
    }
}

impl Parts {
    /// Starts the executor; None when the plan is of another kind.
    fn of(query: &SavedQuery) -> Option<Self> {
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
                let memory = pg_sys::AllocSetContextCreateInternal(
                    pg_sys::CurTransactionContext,
                    c"simhash held query".as_ptr(),
                    0,
                    1024,
                    8192,
                );
                let outer = pg_sys::MemoryContextSwitchTo(memory);
                let desc = started(query, plan);
                pg_sys::MemoryContextSwitchTo(outer);
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

    /// Would the server run the query by this plan, and allow it?
    fn are_usable(&self, query: &SavedQuery) -> bool {
        // SAFETY: not ended, so the plan is counted for its owner; the query lives.
        unsafe {
            (*self.plan).is_valid
                && (*query.source()).is_valid
                && self.subtransaction == pg_sys::GetCurrentSubTransactionId()
                && self.rights == Rights::now()
        }
    }

    /// See [`SavedQuery::first_row`].
    fn first_row<'a, const N: usize>(
        &self,
        parameters: &[Option<Value<'_>>],
        sees: Sees,
    ) -> Option<[Option<Value<'a>>; N]> {
        // SAFETY: usable; the values are of the parameters' types, and live until the run's end. After
        // an ERROR the subtransaction ends, and this with it. Nothing that is read is kept: the row's
        // page is let go before the snapshot.
        unsafe {
            let (state, estate) = ((*self.desc).planstate, (*self.desc).estate);
            self.set(parameters);
            pg_sys::CommandCounterIncrement();
            pg_sys::PushActiveSnapshot(match sees {
                Sees::Usual => pg_sys::GetTransactionSnapshot(),
                Sees::Latest => pg_sys::GetLatestSnapshot(),
            });
            let snapshot = pg_sys::GetActiveSnapshot();
            let registered = std::mem::replace(&mut (*estate).es_snapshot, snapshot);
            self.show(snapshot);
            let row = for_owner(self.owner, || {
                let slot = self.in_its_memory(|| {
                    pg_sys::ExecReScan(state);
                    let run = (*state).ExecProcNode;
                    pg_sys::ffi::pg_guard_ffi_boundary(|| run.map(|run| run(state)))
                });
                let slot = slot.filter(|slot| !slot.is_null() && !is_empty(*slot))?;
                let row = copied(slot);
                // Lets go of the row's page.
                self.in_its_memory(|| pg_sys::ExecReScan(state));
                Some(row)
            });
            (*estate).es_snapshot = registered;
            self.show(registered);
            pg_sys::PopActiveSnapshot();
            row
        }
    }

    /// # Safety
    /// Not ended.
    unsafe fn in_its_memory<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: the caller's word; after an ERROR in `f` the server sets the current context anew.
        unsafe {
            let outer = pg_sys::MemoryContextSwitchTo((*(*self.desc).estate).es_query_cxt);
            let result = f();
            pg_sys::MemoryContextSwitchTo(outer);
            result
        }
    }

    /// # Safety
    /// Not ended; as many values as the query has parameters, of their types.
    unsafe fn set(&self, values: &[Option<Value<'_>>]) {
        // SAFETY: the caller's word; `of` has made the list.
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
    /// Not ended, and the snapshot lives until another is set.
    unsafe fn show(&self, snapshot: pg_sys::Snapshot) {
        // SAFETY: the caller's word.
        unsafe {
            if let Some(scan) = (*self.scan).iss_ScanDesc.as_mut() {
                scan.xs_snapshot = snapshot;
            }
        }
    }

    /// # Safety
    /// Not ended, nor has the subtransaction that made it.
    unsafe fn end(&self) {
        // SAFETY: the caller's word; what was taken for the owner is released for it.
        unsafe {
            for_owner(self.owner, || {
                pg_sys::ExecutorFinish(self.desc);
                pg_sys::ExecutorEnd(self.desc);
                pg_sys::FreeQueryDesc(self.desc);
                pg_sys::ReleaseCachedPlan(self.plan, self.owner);
            });
            pg_sys::MemoryContextDelete(self.memory);
        }
    }
}

impl Rights {
    fn now() -> Self {
        let (mut user, mut context) = (pg_sys::Oid::INVALID, 0);
        // SAFETY: reads variables of the backend.
        unsafe {
            pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
            Self {
                user,
                context,
                row_security: pg_sys::row_security,
            }
        }
    }
}

/// Is it a plan that can be held?
///
/// # Safety
/// A plan of one statement.
unsafe fn suits(plan: *const pg_sys::CachedPlan) -> bool {
    use pg_sys::NodeTag::{T_IndexScan, T_Limit};
    // SAFETY: the caller's word; a plan of a SELECT has a plan tree.
    unsafe {
        let statement: *const pg_sys::PlannedStmt = pg_sys::list_nth((*plan).stmt_list, 0).cast();
        let limit = (*statement).planTree;
        let plain =
            |node: *const pg_sys::Plan, tag| (*node).type_ == tag && (*node).initPlan.is_null();
        (*statement).commandType == pg_sys::CmdType::CMD_SELECT
            && !(*statement).hasModifyingCTE
            && !(*statement).transientPlan
            && (*statement).subplans.is_null()
            && (*statement).rowMarks.is_null()
            && plain(limit, T_Limit)
            && plain((*limit).lefttree, T_IndexScan)
    }
}

/// The query, with its executor started, in the current memory context.
///
/// # Safety
/// In a transaction, with a plan of this query.
unsafe fn started(query: &SavedQuery, plan: *const pg_sys::CachedPlan) -> *mut pg_sys::QueryDesc {
    // SAFETY: the caller's word; the executor registers the snapshot.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let desc = pg_sys::CreateQueryDesc(
            pg_sys::list_nth((*plan).stmt_list, 0).cast(),
            pg_sys::pstrdup((*query.source()).query_string),
            pg_sys::GetActiveSnapshot(),
            std::ptr::null_mut(),
            pg_sys::None_Receiver,
            no_values(query.parameter_types()),
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
/// A live owner. When `f` raises an ERROR, the server sets the current one anew.
unsafe fn for_owner<R>(owner: pg_sys::ResourceOwner, f: impl FnOnce() -> R) -> R {
    // SAFETY: the caller's word.
    unsafe {
        let outer = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = owner;
        let result = f();
        pg_sys::CurrentResourceOwner = outer;
        result
    }
}

/// A list of parameters of these types, all NULL, in the current memory context.
///
/// # Safety
/// A memory context must be current.
unsafe fn no_values(types: &[pg_sys::Oid]) -> pg_sys::ParamListInfo {
    // SAFETY: the list has room for as many as said.
    unsafe {
        let list = pg_sys::makeParamList(types.len() as i32);
        let places = (*list).params.as_mut_slice(types.len());
        for (place, ptype) in places.iter_mut().zip(types) {
            *place = pg_sys::ParamExternData {
                value: pg_sys::Datum::null(),
                isnull: true,
                pflags: pg_sys::PARAM_FLAG_CONST as u16,
                ptype: *ptype,
            };
        }
        list
    }
}

/// The macro TupIsNull.
///
/// # Safety
/// A live slot.
unsafe fn is_empty(slot: *const pg_sys::TupleTableSlot) -> bool {
    // SAFETY: the caller's word.
    unsafe { u32::from((*slot).tts_flags) & pg_sys::TTS_FLAG_EMPTY != 0 }
}

/// The first N columns of a row, copied to the current memory context; None for a column that the
/// row lacks.
///
/// # Safety
/// A slot that holds a row.
unsafe fn copied<'a, const N: usize>(slot: *mut pg_sys::TupleTableSlot) -> [Option<Value<'a>>; N] {
    unsafe extern "C-unwind" {
        // Missing from the bindings.
        fn datumCopy(value: pg_sys::Datum, by_value: bool, length: i32) -> pg_sys::Datum;
    }
    // SAFETY: the caller's word; the columns are unpacked before they are read; the copy may raise
    // an ERROR, hence the guard.
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
                    false => pg_sys::ffi::pg_guard_ffi_boundary(|| {
                        datumCopy(value, false, i32::from(length))
                    }),
                };
                Value::new(copy, storage)
            })
        })
    }
}

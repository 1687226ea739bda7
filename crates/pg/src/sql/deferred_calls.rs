//! Calls of an AFTER row trigger that are made again later in their statement. `deferred_rows` of
//! the maintaining trigger adds them, and makes them once it has entered them as rows in progress. Rows are stored
//! by their addresses (ctid), as the server does until it fires a trigger.

use std::collections::HashMap;

use pgrx::PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
use pgrx::pg_sys;

use super::fmgr::Args;
use super::trigger::{Event, TriggerCall};
use crate::catalog::relation::Rel;
use crate::catalog::table::OpenTable;
use crate::process::error::Error;
use crate::process::memory::{in_scratch, reserve};
use crate::process::user::AsUser;

/// Calls of triggers, in the order in which they were made.
#[derive(Default)]
pub struct DeferredCalls {
    /// The triggers that were fired, each once, and the position of each.
    fired: Vec<FiredTrigger>,
    positions: HashMap<FiredTrigger, u32>,
    calls: Vec<DeferredCall>,
}

/// A trigger of a table or partition, the event, and the user who is current in its calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FiredTrigger {
    trigger: pg_sys::Oid,
    table: pg_sys::Oid,
    event: pg_sys::TriggerEvent,
    user: pg_sys::Oid,
}

/// One call: few bytes, as a statement may have changed any number of rows.
struct DeferredCall {
    /// The position in the list of what was fired.
    fired: u32,
    /// The only version of the row, or the old and the new one.
    versions: [pg_sys::ItemPointerData; 2],
}

/// What all calls of a trigger share. The table is open, which keeps its row descriptor.
struct Ready {
    table: OpenTable,
    trigger: pg_sys::Trigger,
    slots: [*mut pg_sys::TupleTableSlot; 2],
}

impl DeferredCalls {
    pub fn add(&mut self, call: &TriggerCall<'_>) {
        let data = call.data();
        let new = FiredTrigger {
            trigger: call.trigger_oid(),
            table: call.relation().oid(),
            event: data.tg_event,
            user: AsUser::current(),
        };
        let fired = *self.positions.entry(new).or_insert_with(|| {
            self.fired.push(new);
            self.fired.len() as u32 - 1
        });
        // SAFETY: the rows of a row trigger live as long as the call.
        let place = |tuple: pg_sys::HeapTuple| unsafe { (*tuple).t_self };
        let first = place(data.tg_trigtuple);
        let second = match call.event() {
            Event::Update => place(data.tg_newtuple),
            _ => first,
        };
        reserve(&mut self.calls, 1);
        self.calls.push(DeferredCall {
            fired,
            versions: [first, second],
        });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Makes the calls again, for a function with these arguments, while the statement that has
    /// changed the rows is not over.
    pub fn make(&self, args: &Args, mut answer: impl FnMut(&TriggerCall<'_>)) {
        let mut ready: Vec<Option<Ready>> = self.fired.iter().map(|_| None).collect();
        for call in &self.calls {
            let fired = &self.fired[call.fired as usize];
            let ready = ready[call.fired as usize].get_or_insert_with(|| Ready::new(fired));
            let _user = AsUser::switch(fired.user);
            in_scratch(|| ready.make(fired.event, &call.versions, args, &mut answer));
        }
    }
}

impl Ready {
    fn new(fired: &FiredTrigger) -> Self {
        let table = OpenTable::new(fired.table);
        let raw = table.rel().raw();
        // SAFETY: the table is open, and stays so until the slots are dropped.
        let slot = || unsafe {
            pg_sys::MakeSingleTupleTableSlot((*raw).rd_att, pg_sys::table_slot_callbacks(raw))
        };
        Self {
            trigger: fired.trigger(table.rel()),
            slots: [slot(), slot()],
            table,
        }
    }

    fn make(
        &mut self,
        event: pg_sys::TriggerEvent,
        versions: &[pg_sys::ItemPointerData; 2],
        args: &Args,
        answer: &mut impl FnMut(&TriggerCall<'_>),
    ) {
        let raw = self.table.rel().raw();
        // SAFETY: the slots are the table's; they hold the rows, and outlive the call, as the
        // trigger does.
        unsafe {
            let mut data = pg_sys::TriggerData {
                type_: pg_sys::NodeTag::T_TriggerData,
                tg_event: event,
                tg_relation: raw,
                tg_trigger: &mut self.trigger,
                tg_trigslot: self.slots[0],
                tg_trigtuple: fetched(raw, versions[0], self.slots[0]),
                ..Default::default()
            };
            if event & pg_sys::TRIGGER_EVENT_OPMASK == pg_sys::TRIGGER_EVENT_UPDATE {
                data.tg_newslot = self.slots[1];
                data.tg_newtuple = fetched(raw, versions[1], self.slots[1]);
            }
            answer(&TriggerCall::from_data(&data, args));
        }
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for slot in self.slots {
                // SAFETY: made by `new`; the table is closed after this.
                unsafe { pg_sys::ExecDropSingleTupleTableSlot(slot) };
            }
        }
    }
}

impl FiredTrigger {
    /// A copy of the trigger, since the open table's own may move. A function that the statement
    /// calls can drop it if it is a copy of a trigger of a partitioned table.
    fn trigger(&self, table: Rel<'_>) -> pg_sys::Trigger {
        // SAFETY: an open relation has a list of `numtriggers` triggers, or null.
        let found = unsafe {
            let copy = pg_sys::CopyTriggerDesc((*table.raw()).trigdesc);
            copy.as_ref().and_then(|list| {
                let all = std::slice::from_raw_parts(list.triggers, list.numtriggers as usize);
                all.iter().find(|trigger| trigger.tgoid == self.trigger)
            })
        };
        found.copied().unwrap_or_else(|| {
            Error::new(ERRCODE_INTERNAL_ERROR, "a trigger is gone while it runs").raise()
        })
    }
}

/// Fetches a version of a row, whatever has become of it in this transaction.
///
/// # Safety
/// The table must be open, and the slot of its kind.
unsafe fn fetched(
    table: pg_sys::Relation,
    mut place: pg_sys::ItemPointerData,
    slot: *mut pg_sys::TupleTableSlot,
) -> pg_sys::HeapTuple {
    // SAFETY: guaranteed by the caller; the server keeps what the running transaction has written
    // or deleted; the function may raise an ERROR, and pgrx does not guard calls by pointer.
    unsafe {
        let routines = (*table).rd_tableam.as_ref();
        let found =
            (routines.and_then(|table| table.tuple_fetch_row_version)).is_some_and(|fetch| {
                let any = &raw mut pg_sys::SnapshotAnyData;
                pg_sys::ffi::pg_guard_ffi_boundary(|| fetch(table, &mut place, any, slot))
            });
        if !found {
            Error::new(ERRCODE_INTERNAL_ERROR, "a row of the statement is gone").raise();
        }
        pg_sys::ExecFetchSlotHeapTuple(slot, false, &mut false)
    }
}

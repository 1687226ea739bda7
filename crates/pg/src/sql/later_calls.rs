//! Calls of an AFTER row trigger that are made again later in their statement. The rows are
//! remembered by their places, as the server remembers them until it fires a trigger.

use pgrx::PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
use pgrx::pg_sys;

use super::fmgr::Args;
use super::trigger::{Event, TriggerCall};
use crate::catalog::relation::Rel;
use crate::catalog::table::Opened;
use crate::process::error::raise;

/// Calls of one trigger for one event.
pub struct LaterCalls {
    trigger: pg_sys::Oid,
    table: pg_sys::Oid,
    event: pg_sys::TriggerEvent,
    /// The only version of each row, or the old and the new one.
    versions: Vec<[pg_sys::ItemPointerData; 2]>,
}

impl LaterCalls {
    /// Of the trigger and the event of a call; without the call.
    pub fn like(call: &TriggerCall<'_>) -> Self {
        Self {
            trigger: call.trigger_oid(),
            table: call.relation().oid(),
            event: call.data().tg_event,
            versions: Vec::new(),
        }
    }

    /// Is the call one of the same trigger, table and event?
    pub fn are_like(&self, call: &TriggerCall<'_>) -> bool {
        self.trigger == call.trigger_oid()
            && self.table == call.relation().oid()
            && self.event == call.data().tg_event
    }

    pub fn add(&mut self, call: &TriggerCall<'_>) {
        let data = call.data();
        // SAFETY: the rows of a row trigger live as long as the call.
        let place = |tuple: pg_sys::HeapTuple| unsafe { (*tuple).t_self };
        let first = place(data.tg_trigtuple);
        let second = match call.event() {
            Event::Update => place(data.tg_newtuple),
            _ => first,
        };
        self.versions.push([first, second]);
    }

    /// Makes the calls again, for a function with these arguments, while the statement that has
    /// changed the rows is not over.
    pub fn make(&self, args: &Args, mut answer: impl FnMut(&TriggerCall<'_>)) {
        let table = Opened::new(self.table);
        let raw = table.rel().raw();
        // SAFETY: the table is open, which keeps its row descriptor. The copy of its triggers and the
        // slots, which hold the rows, outlive the calls. What a call allocates is freed after it.
        unsafe {
            let mut trigger = self.trigger(table.rel());
            let slot = || {
                pg_sys::MakeSingleTupleTableSlot((*raw).rd_att, pg_sys::table_slot_callbacks(raw))
            };
            let slots = [slot(), slot()];
            let outer = pg_sys::CurrentMemoryContext;
            let name = c"simhash later call".as_ptr();
            let memory = pg_sys::AllocSetContextCreateInternal(outer, name, 0, 8192, 65536);
            for versions in &self.versions {
                pg_sys::MemoryContextSwitchTo(memory);
                let mut data = pg_sys::TriggerData {
                    type_: pg_sys::NodeTag::T_TriggerData,
                    tg_event: self.event,
                    tg_relation: raw,
                    tg_trigger: &mut trigger,
                    tg_trigslot: slots[0],
                    tg_trigtuple: fetched(raw, versions[0], slots[0]),
                    ..Default::default()
                };
                if self.event & pg_sys::TRIGGER_EVENT_OPMASK == pg_sys::TRIGGER_EVENT_UPDATE {
                    data.tg_newslot = slots[1];
                    data.tg_newtuple = fetched(raw, versions[1], slots[1]);
                }
                answer(&TriggerCall::from_data(&data, args));
                pg_sys::MemoryContextReset(memory);
            }
            pg_sys::MemoryContextSwitchTo(outer);
            pg_sys::MemoryContextDelete(memory);
            for slot in slots {
                pg_sys::ExecDropSingleTupleTableSlot(slot);
            }
        }
    }

    /// A copy of the trigger: what the open table has of it may move. The server lets no trigger be
    /// dropped while a statement that fires it runs.
    fn trigger(&self, table: Rel<'_>) -> pg_sys::Trigger {
        // SAFETY: an open relation has a list of `numtriggers` triggers, or null.
        let found = unsafe {
            let copy = pg_sys::CopyTriggerDesc((*table.raw()).trigdesc);
            copy.as_ref().and_then(|list| {
                let all = std::slice::from_raw_parts(list.triggers, list.numtriggers as usize);
                all.iter().find(|trigger| trigger.tgoid == self.trigger)
            })
        };
        found
            .copied()
            .unwrap_or_else(|| raise(ERRCODE_INTERNAL_ERROR, "a trigger is gone while it runs"))
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
    // SAFETY: the caller's word; the server keeps what the running transaction has written or
    // deleted; the function may raise an ERROR, and pgrx does not guard calls by pointer.
    unsafe {
        let routines = (*table).rd_tableam.as_ref();
        let found =
            (routines.and_then(|table| table.tuple_fetch_row_version)).is_some_and(|fetch| {
                let any = &raw mut pg_sys::SnapshotAnyData;
                pg_sys::ffi::pg_guard_ffi_boundary(|| fetch(table, &mut place, any, slot))
            });
        if !found {
            raise(ERRCODE_INTERNAL_ERROR, "a row of the statement is gone");
        }
        pg_sys::ExecFetchSlotHeapTuple(slot, false, &mut false)
    }
}

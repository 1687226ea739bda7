//! A call of a trigger function: its event, the old and the new row, and the row that it returns.
//! The trigger functions of `flag` and `clusters` are written with it. Values borrow the rows of
//! the call, so that none outlives it.

use super::expression::RowExpression;
use super::fmgr::Args;
use super::value::{Storage, Value};
use crate::catalog::relation::Rel;
use crate::catalog::table::{Column, OpenTable};
use crate::process::compat::attribute;
use crate::process::encoding::{name_from_utf8, name_to_utf8};
use crate::process::error::Error;
use crate::process::memory::MemoryContext;
use pgrx::PgSqlErrorCode::{ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, ERRCODE_INTERNAL_ERROR};
use pgrx::pg_sys;
use std::ffi::{CStr, CString, c_char};

/// The command that fired the trigger.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// INSERT, COPY too.
    Insert,
    /// UPDATE, also that of ON CONFLICT and MERGE.
    Update,
    /// DELETE.
    Delete,
    /// TRUNCATE, for which there are only statement triggers.
    Truncate,
}

/// The running call of a trigger function.
#[derive(Clone, Copy)]
pub struct TriggerCall<'a> {
    data: *const pg_sys::TriggerData,
    args: &'a Args,
}

/// The address of a row version: table and ctid.
pub struct VersionAddress {
    table: pg_sys::Oid,
    place: pg_sys::ItemPointerData,
}

impl VersionAddress {
    /// The table's OID (as oid) and the ctid (as tid).
    pub fn values(&self) -> [Value<'_>; 2] {
        let place = (&raw const self.place).into();
        // SAFETY: an OID, and a pointer to a tid that lives as long as self.
        unsafe {
            [
                Value::new(self.table.into(), Storage::OID),
                Value::new(place, Storage::TID),
            ]
        }
    }

    /// Returns whether the version was deleted by an UPDATE that moved the row to another
    /// partition.
    pub fn has_moved_away(&self) -> bool {
        let table = OpenTable::new(self.table);
        let raw = table.rel().raw();
        // SAFETY: the table is open; the slot, of the table's kind, is dropped before it is closed;
        // the tuple is read while the slot holds it.
        unsafe {
            let slot =
                pg_sys::MakeSingleTupleTableSlot((*raw).rd_att, pg_sys::table_slot_callbacks(raw));
            let mut place = self.place;
            let found = (*(*raw).rd_tableam)
                .tuple_fetch_row_version
                .is_some_and(|fetch| {
                    let any = &raw mut pg_sys::SnapshotAnyData;
                    pg_sys::ffi::pg_guard_ffi_boundary(|| fetch(raw, &mut place, any, slot))
                });
            let moved = found && {
                let mut copied = false;
                let tuple = pg_sys::ExecFetchSlotHeapTuple(slot, false, &mut copied);
                // The macro ItemPointerIndicatesMovedPartitions.
                let next = (*(*tuple).t_data).t_ctid;
                let block = u32::from(next.ip_blkid.bi_hi) << 16 | u32::from(next.ip_blkid.bi_lo);
                block == pg_sys::InvalidBlockNumber
                    && u32::from(next.ip_posid) == pg_sys::MovedPartitionsOffsetNumber
            };
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            moved
        }
    }
}

impl<'a> TriggerCall<'a> {
    /// The call, when the function runs as a trigger.
    pub fn from_arguments(args: &'a Args) -> Option<Self> {
        // SAFETY: the context of a call is null or a live node.
        let data: *const pg_sys::TriggerData = unsafe {
            let context = (*args.fcinfo()).context;
            if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_TriggerData {
                return None;
            }
            context.cast()
        };
        Some(Self { data, args })
    }

    /// The call as the function manager made it.
    pub fn args(&self) -> &'a Args {
        self.args
    }

    pub(super) fn data(&self) -> &'a pg_sys::TriggerData {
        // SAFETY: the node lives as long as the call (`of`).
        unsafe { &*self.data }
    }

    pub(crate) fn trigger(&self) -> &'a pg_sys::Trigger {
        // SAFETY: set for every trigger call, and alive as long as it.
        unsafe { &*self.data().tg_trigger }
    }

    /// The command that fired it.
    pub fn event(&self) -> Event {
        match self.data().tg_event & pg_sys::TRIGGER_EVENT_OPMASK {
            pg_sys::TRIGGER_EVENT_INSERT => Event::Insert,
            pg_sys::TRIGGER_EVENT_UPDATE => Event::Update,
            pg_sys::TRIGGER_EVENT_DELETE => Event::Delete,
            _ => Event::Truncate,
        }
    }

    /// Returns whether it is a row trigger that runs before the change.
    pub fn is_before_row(&self) -> bool {
        let event = self.data().tg_event;
        event & pg_sys::TRIGGER_EVENT_ROW != 0
            && event & pg_sys::TRIGGER_EVENT_TIMINGMASK == pg_sys::TRIGGER_EVENT_BEFORE
    }

    /// Returns whether it is a row trigger that runs after the change.
    pub fn is_after_row(&self) -> bool {
        let event = self.data().tg_event;
        event & pg_sys::TRIGGER_EVENT_ROW != 0
            && event & pg_sys::TRIGGER_EVENT_TIMINGMASK == pg_sys::TRIGGER_EVENT_AFTER
    }

    /// Returns whether it is a statement trigger that runs after the change.
    pub fn is_after_statement(&self) -> bool {
        let event = self.data().tg_event;
        event & pg_sys::TRIGGER_EVENT_ROW == 0
            && event & pg_sys::TRIGGER_EVENT_TIMINGMASK == pg_sys::TRIGGER_EVENT_AFTER
    }

    /// Returns whether the trigger may be deferred.
    pub fn is_deferrable(&self) -> bool {
        self.trigger().tgdeferrable
    }

    /// Returns whether the trigger has a WHEN condition.
    pub fn has_condition(&self) -> bool {
        !self.trigger().tgqual.is_null()
    }

    /// Returns whether the trigger fires on UPDATE, whichever columns change and whatever their
    /// values.
    pub fn fires_on_every_update(&self) -> bool {
        let trigger = self.trigger();
        trigger.tgtype as u32 & pg_sys::TRIGGER_TYPE_UPDATE != 0
            && trigger.tgnattr == 0
            && trigger.tgqual.is_null()
    }

    /// Returns whether a BEFORE trigger of another function fires for each row after this one.
    pub fn is_followed(&self) -> bool {
        const BEFORE_ROW: u32 = pg_sys::TRIGGER_TYPE_ROW | pg_sys::TRIGGER_TYPE_BEFORE;
        let own = self.trigger();
        // SAFETY: an open relation with a trigger has its triggers, in the order in which they fire.
        let all = unsafe {
            let all = &*(*self.data().tg_relation).trigdesc;
            std::slice::from_raw_parts(all.triggers, all.numtriggers as usize)
        };
        let behind = all.iter().skip_while(|trigger| trigger.tgoid != own.tgoid);
        behind.skip(1).any(|trigger| {
            trigger.tgfoid != own.tgfoid
                && trigger.tgtype as u32 & BEFORE_ROW == BEFORE_ROW
                && trigger.tgenabled as u8 != pg_sys::TRIGGER_DISABLED
        })
    }

    /// The table of the row; for a partitioned table the partition.
    pub fn relation(&self) -> Rel<'a> {
        // SAFETY: open and locked while its trigger runs.
        unsafe { Rel::from_raw(self.data().tg_relation) }
    }

    /// pg_trigger.oid; on a partition that of the partition's copy.
    pub fn trigger_oid(&self) -> pg_sys::Oid {
        self.trigger().tgoid
    }

    /// The running function.
    pub fn function_oid(&self) -> pg_sys::Oid {
        self.trigger().tgfoid
    }

    /// pg_trigger.tgname, in the database's encoding.
    pub fn trigger_name(&self) -> &'a CStr {
        // SAFETY: a zero-terminated string that lives as long as the trigger.
        unsafe { CStr::from_ptr(self.trigger().tgname) }
    }

    /// The arguments that CREATE TRIGGER gave.
    pub fn arguments(&self) -> Vec<String> {
        arguments(self.trigger())
    }

    fn new_tuple(&self) -> pg_sys::HeapTuple {
        match self.event() {
            Event::Update => row(self.data().tg_newtuple),
            _ => self.old_tuple(),
        }
    }

    fn old_tuple(&self) -> pg_sys::HeapTuple {
        row(self.data().tg_trigtuple)
    }

    /// The slot of the new row.
    pub(crate) fn new_slot(&self) -> *mut pg_sys::TupleTableSlot {
        match self.event() {
            Event::Update => row(self.data().tg_newslot),
            _ => row(self.data().tg_trigslot),
        }
    }

    /// The slot of the row that an UPDATE or a DELETE replaces.
    pub(crate) fn old_slot(&self) -> *mut pg_sys::TupleTableSlot {
        row(self.data().tg_trigslot)
    }

    /// A column of the new row. In a BEFORE trigger generated columns have no value yet.
    pub fn new_value(&self, column: &Column) -> Option<Value<'a>> {
        self.value(self.new_tuple(), column)
    }

    /// A column of the row that an UPDATE replaces.
    pub fn old_value(&self, column: &Column) -> Option<Value<'a>> {
        self.value(self.old_tuple(), column)
    }

    /// The new row with other values in some columns, as one of this table: that of the row, or one above
    /// it. A BEFORE trigger comes before the server computes the generated columns: these are computed
    /// here. Others are NULL.
    pub fn new_row(
        &self,
        table: pg_sys::Oid,
        changes: &[(&Column, Option<Value<'_>>)],
        generated: &[(Column, RowExpression)],
    ) -> Value<'a> {
        self.row_of(table, self.computed(changes, generated))
    }

    /// The tuple of the new row with other values in some columns, and with generated columns.
    pub(super) fn computed(
        &self,
        changes: &[(&Column, Option<Value<'_>>)],
        generated: &[(Column, RowExpression)],
    ) -> pg_sys::HeapTuple {
        let (mut numbers, mut values, mut nulls) = self.changed(changes);
        for (column, expression) in generated {
            let stored = column.storage;
            let value = expression.value(self, |value| {
                // SAFETY: the value is of the column's type, which `stored` describes.
                unsafe { pg_sys::datumCopy(value.datum(), stored.by_value, stored.len.into()) }
            });
            numbers.push(i32::from(column.number()));
            values.push(value.unwrap_or(pg_sys::Datum::null()));
            nulls.push(value.is_none());
        }
        // SAFETY: the values are of the columns' types.
        unsafe { self.new_tuple_with(&mut numbers, &mut values, &mut nulls) }
    }

    /// The numbers, values and nulls of columns. An ERROR when a value is not of the column's type or
    /// violates the constraints of its domain.
    fn changed(
        &self,
        columns: &[(&Column, Option<Value<'_>>)],
    ) -> (Vec<i32>, Vec<pg_sys::Datum>, Vec<bool>) {
        let (mut numbers, mut values, mut nulls) = (Vec::new(), Vec::new(), Vec::new());
        for (column, value) in columns {
            self.attribute(column);
            column.check(*value);
            numbers.push(i32::from(column.number()));
            values.push(value.map_or(pg_sys::Datum::null(), |value| value.datum()));
            nulls.push(value.is_none());
        }
        (numbers, values, nulls)
    }

    /// The new row with other values in some columns, by their numbers.
    ///
    /// # Safety
    /// Three slices of one length; the columns are the relation's, and the values of their types.
    unsafe fn new_tuple_with(
        &self,
        numbers: &mut [i32],
        values: &mut [pg_sys::Datum],
        nulls: &mut [bool],
    ) -> pg_sys::HeapTuple {
        if numbers.is_empty() {
            return self.new_tuple();
        }
        // SAFETY: as the caller promises.
        unsafe {
            pg_sys::heap_modify_tuple_by_cols(
                self.new_tuple(),
                (*self.data().tg_relation).rd_att,
                numbers.len() as i32,
                numbers.as_mut_ptr(),
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            )
        }
    }

    /// The row that an UPDATE replaces, as one of this table.
    pub fn old_row(&self, table: pg_sys::Oid) -> Value<'a> {
        self.row_of(table, self.old_tuple())
    }

    fn row_of(&self, table: pg_sys::Oid, mut tuple: pg_sys::HeapTuple) -> Value<'a> {
        let opened = OpenTable::new(table);
        // SAFETY: both row descriptors are of open relations, and the tuple is of the first one; the
        // result is a copy.
        unsafe {
            let to = (*opened.rel().raw()).rd_att;
            let map = pg_sys::convert_tuples_by_name((*self.data().tg_relation).rd_att, to);
            if !map.is_null() {
                tuple = pg_sys::execute_attr_map_tuple(tuple, map);
            }
            let row = pg_sys::heap_copy_tuple_as_datum(tuple, to);
            Value::new(row, Storage::for_type((*to).tdtypeid))
        }
    }

    fn value(&self, tuple: pg_sys::HeapTuple, column: &Column) -> Option<Value<'a>> {
        let mut null = false;
        let (desc, storage) = self.attribute(column);
        // SAFETY: the tuple is of the relation's row type, which has the column.
        unsafe {
            let number = i32::from(column.number());
            let datum = pg_sys::SPI_getbinval(tuple, desc, number, &mut null);
            (!null).then(|| Value::new(datum, storage))
        }
    }

    /// The relation's row descriptor, and how it stores a column; an ERROR when the column is not
    /// one of the relation.
    fn attribute(&self, column: &Column) -> (pg_sys::TupleDesc, Storage) {
        // SAFETY: an open relation has its row descriptor; the attribute is read within its length.
        unsafe {
            let desc = (*self.data().tg_relation).rd_att;
            let i = usize::from(column.number().unsigned_abs()) - 1;
            if i < (*desc).natts as usize {
                let attribute = attribute(desc, i);
                if attribute.atttypid == column.storage.type_id {
                    return (desc, Storage::of_attribute(attribute));
                }
            }
        }
        Error::new(
            ERRCODE_INTERNAL_ERROR,
            "a column of another relation was read in a trigger",
        )
        .raise()
    }

    /// The address of the row version that an UPDATE replaces; None for other events.
    pub fn old_address(&self) -> Option<VersionAddress> {
        if self.event() != Event::Update {
            return None;
        }
        // SAFETY: the tuple lives as long as the call.
        let tuple = unsafe { &*self.old_tuple() };
        Some(VersionAddress {
            table: tuple.t_tableOid,
            place: tuple.t_self,
        })
    }

    /// Raises an ERROR about a trigger that was created wrongly, or whose tables do not suit it; its
    /// DETAIL names the trigger.
    #[track_caller]
    pub fn raise(&self, error: Error) -> ! {
        let which = format!(
            "The trigger is \"{}\" on table \"{}\".",
            name_to_utf8(self.trigger_name().to_bytes()),
            self.relation().name()
        );
        error.about(which).raise()
    }

    /// The function's result for the row as it is.
    pub fn unchanged(&self) -> pg_sys::Datum {
        pg_sys::Datum::from(self.new_tuple())
    }

    /// The function's result for a row that is not to be stored.
    pub fn skip(&self) -> pg_sys::Datum {
        pg_sys::Datum::from(0usize)
    }

    /// The function's result for the new row with other values in some columns; None is NULL. An
    /// ERROR when a value is not of the column's type or violates the constraints of its domain.
    pub fn with(&self, columns: &[(&Column, Option<Value<'_>>)]) -> pg_sys::Datum {
        let (mut numbers, mut values, mut nulls) = self.changed(columns);
        // SAFETY: each value was checked against its column.
        pg_sys::Datum::from(unsafe { self.new_tuple_with(&mut numbers, &mut values, &mut nulls) })
    }
}

/// Calls `with` with the call of a trigger that is not there yet, BEFORE INSERT OR UPDATE of each row of a
/// table, by its function, its name and its arguments. It has no row.
pub fn with_proposed<R>(
    args: &Args,
    table: Rel<'_>,
    function: pg_sys::Oid,
    (name, arguments): (&str, &[String]),
    with: impl FnOnce(&TriggerCall<'_>) -> R,
) -> R {
    let owned = |text: &str| CString::new(name_from_utf8(text).into_owned()).unwrap_or_default();
    let name = owned(name);
    let arguments: Vec<CString> = arguments.iter().map(|text| owned(text)).collect();
    let mut pointers: Vec<*mut c_char> = (arguments.iter())
        .map(|text| text.as_ptr().cast_mut())
        .collect();
    let types = pg_sys::TRIGGER_TYPE_ROW
        | pg_sys::TRIGGER_TYPE_BEFORE
        | pg_sys::TRIGGER_TYPE_INSERT
        | pg_sys::TRIGGER_TYPE_UPDATE;
    // SAFETY: zero is a value of each field of both; the pointers live as long as the call.
    unsafe {
        let mut trigger: pg_sys::Trigger = std::mem::zeroed();
        trigger.tgname = name.as_ptr().cast_mut();
        trigger.tgfoid = function;
        trigger.tgtype = types as i16;
        trigger.tgenabled = pg_sys::TRIGGER_FIRES_ON_ORIGIN as c_char;
        trigger.tgnargs = pointers.len() as i16;
        trigger.tgargs = pointers.as_mut_ptr();
        let mut data: pg_sys::TriggerData = std::mem::zeroed();
        data.type_ = pg_sys::NodeTag::T_TriggerData;
        data.tg_event = pg_sys::TRIGGER_EVENT_ROW | pg_sys::TRIGGER_EVENT_BEFORE;
        data.tg_relation = table.raw();
        data.tg_trigger = &raw mut trigger;
        let data = &raw const data;
        with(&TriggerCall { data, args })
    }
}

/// Returns how many trigger functions are running, each inside of a statement of the one before.
pub fn depth() -> i32 {
    // SAFETY: reads a variable of the backend; the function looks at no argument.
    unsafe { pg_sys::pg_trigger_depth(std::ptr::null_mut()).value() as i32 }
}

/// A row of the call; an ERROR in a statement trigger, which has none.
fn row<T>(row: *mut T) -> *mut T {
    if row.is_null() {
        Error::new(
            ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
            "trigger function was not fired for a row",
        )
        .raise();
    }
    row
}

/// The arguments of a trigger of an open table.
pub(crate) fn arguments(trigger: &pg_sys::Trigger) -> Vec<String> {
    // SAFETY: `tgargs` has `tgnargs` zero-terminated strings.
    let argument = |i| unsafe { CStr::from_ptr(*trigger.tgargs.add(i)) };
    (0..trigger.tgnargs as usize)
        .map(|i| name_to_utf8(argument(i).to_bytes()).into_owned())
        .collect()
}

/// Called in an AFTER trigger of a statement: makes the statement fire the AFTER DELETE statement
/// triggers of this table, once it has fired all that it has to fire, as if it had deleted rows
/// there. Must not be called in a deferred trigger, which runs when no statement does.
pub fn fire_at_statement_end(table: pg_sys::Oid) {
    // SAFETY: the table is open while its event is queued, and locked until the transaction ends,
    // as the tables of a statement are; what the queue needs of it is copied. All that is allocated
    // is freed with the executor's state.
    unsafe {
        let opened = pg_sys::table_open(table, pg_sys::RowExclusiveLock as i32);
        let state = pg_sys::CreateExecutorState();
        MemoryContext::from_raw((*state).es_query_cxt).run(|| {
            let size = std::mem::size_of::<pg_sys::ResultRelInfo>();
            let deleted: *mut pg_sys::ResultRelInfo = pg_sys::palloc0(size).cast();
            pg_sys::InitResultRelInfo(deleted, opened, 1, std::ptr::null_mut(), 0);
            pg_sys::ExecASDeleteTriggers(state, deleted, std::ptr::null_mut());
        });
        pg_sys::FreeExecutorState(state);
        pg_sys::table_close(opened, pg_sys::NoLock as i32);
    }
}

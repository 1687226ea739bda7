//! The table of a partition tree on which a trigger was created, and the triggers beside it. A
//! table that inherits from one with the same trigger (of the same name, function and arguments)
//! counts as a partition: the chunks of a hypertable are such.

use std::ffi::CStr;

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::trigger::{TriggerCall, arguments};
use crate::catalog::lookup::{function_schema, string};
use crate::catalog::relation::Rel;
use crate::catalog::table::{OpenTable, function_name, schema_name};
use crate::catalog::table_name;
use crate::process::encoding::name_to_utf8;

/// The trigger that CREATE TRIGGER made on the topmost table. Partitions have copies of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// pg_trigger.oid.
    pub trigger: Oid,
    /// The topmost table.
    pub table: Oid,
    /// Levels from the table with the copy up to this one; 0 when the trigger is not a copy.
    pub levels: u32,
}

/// A trigger with the same function.
pub struct RelatedTrigger {
    /// pg_trigger.tgname.
    pub name: String,
    /// pg_trigger.tgfoid.
    function: Oid,
    /// The arguments that CREATE TRIGGER gave.
    pub arguments: Vec<String>,
    /// Whether it fires before each row that is inserted or updated, whatever its values.
    pub fires_always: bool,
    /// The trigger of which it is a copy, or itself.
    pub origin: Origin,
}

/// A row of pg_trigger.
struct PgTrigger {
    table: Oid,
    copied_from: Oid,
}

impl TriggerCall<'_> {
    /// The trigger of which this one is a copy, or this one.
    pub fn origin(&self) -> Origin {
        origin(self.trigger(), self.relation().oid())
    }

    /// All triggers of this table that call this function, including this one, whether they are
    /// fired now or not. For a BEFORE trigger, these are those of INSERT or UPDATE for each row;
    /// for an AFTER trigger, all AFTER triggers.
    pub fn related_triggers(&self) -> Vec<RelatedTrigger> {
        let table = self.relation();
        let events = pg_sys::TRIGGER_TYPE_INSERT | pg_sys::TRIGGER_TYPE_UPDATE;
        let before_row = pg_sys::TRIGGER_TYPE_ROW | pg_sys::TRIGGER_TYPE_BEFORE;
        let own_kind = self.trigger().tgtype as u32 & before_row;
        triggers(table)
            .iter()
            .filter(|t| {
                let kind = t.tgtype as u32;
                let is_like = match own_kind & pg_sys::TRIGGER_TYPE_BEFORE {
                    0 => kind & pg_sys::TRIGGER_TYPE_BEFORE == 0,
                    _ => kind & before_row == own_kind && kind & events != 0,
                };
                t.tgfoid == self.function_oid() && is_like
            })
            .map(|trigger| RelatedTrigger::new(trigger, table.oid()))
            .collect()
    }
}

/// The triggers of a table that call one of these functions.
pub fn triggers_of(table: Rel<'_>, is_wanted: impl Fn(Oid) -> bool) -> Vec<RelatedTrigger> {
    let wanted = triggers(table).iter().filter(|t| is_wanted(t.tgfoid));
    wanted
        .map(|trigger| RelatedTrigger::new(trigger, table.oid()))
        .collect()
}

impl RelatedTrigger {
    fn new(trigger: &pg_sys::Trigger, table: Oid) -> Self {
        const EACH: u32 = pg_sys::TRIGGER_TYPE_ROW
            | pg_sys::TRIGGER_TYPE_BEFORE
            | pg_sys::TRIGGER_TYPE_INSERT
            | pg_sys::TRIGGER_TYPE_UPDATE;
        // SAFETY: a zero-terminated string that lives as long as the trigger.
        let name = unsafe { CStr::from_ptr(trigger.tgname) };
        Self {
            name: name_to_utf8(name.to_bytes()).into_owned(),
            function: trigger.tgfoid,
            arguments: arguments(trigger),
            fires_always: trigger.tgtype as u32 & EACH == EACH
                && trigger.tgnattr == 0
                && trigger.tgqual.is_null()
                && trigger.tgenabled as u8 != pg_sys::TRIGGER_DISABLED,
            origin: origin(trigger, table),
        }
    }

    /// The statement that makes the trigger again with an argument more.
    pub fn with_argument(&self, argument: &str) -> String {
        // SAFETY: the function takes an OID, and returns a text or NULL.
        let definition = unsafe {
            let oid = self.origin.trigger.into();
            pgrx::direct_function_call_as_datum(pg_sys::pg_get_triggerdef, &[Some(oid)])
                .map(|text| string(pg_sys::text_to_cstring(text.cast_mut_ptr())))
        };
        let definition = definition.flatten().unwrap_or_default();
        // The function has its schema, whatever the search_path of the statement that asks.
        let (schema, name) = (function_schema(self.function), function_name(self.function));
        let schema = table_name::identifier(&schema_name(schema).unwrap_or_default());
        let called = format!("{}(", table_name::identifier(&name));
        let parts = definition
            .strip_prefix("CREATE ")
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|rest| rest.split_once(" EXECUTE FUNCTION "))
            .and_then(|(head, tail)| Some((head, tail.split_once(&called)?.1)));
        let (head, arguments) = parts.unwrap_or_default();
        let argument = table_name::literal(argument);
        format!(
            "CREATE OR REPLACE {head} EXECUTE FUNCTION {schema}.{called}{arguments}, {argument})"
        )
    }
}

fn origin(trigger: &pg_sys::Trigger, table: Oid) -> Origin {
    let mut origin = Origin {
        trigger: trigger.tgoid,
        table,
        levels: 0,
    };
    let mut row = trigger
        .tgisclone
        .then(|| pg_trigger(origin.trigger))
        .flatten();
    while let Some(PgTrigger { copied_from, .. }) = row
        && copied_from != Oid::INVALID
    {
        row = pg_trigger(copied_from);
        if let Some(PgTrigger { table, .. }) = row {
            origin = origin.above(copied_from, table);
        }
    }
    while let Some((same, table)) = same_on_parent(trigger, origin.table) {
        origin = origin.above(same, table);
    }
    origin
}

impl Origin {
    fn above(self, trigger: Oid, table: Oid) -> Self {
        Self {
            trigger,
            table,
            levels: self.levels + 1,
        }
    }
}

/// Returns the same trigger on a table that this one inherits from, and that table.
fn same_on_parent(trigger: &pg_sys::Trigger, table: Oid) -> Option<(Oid, Oid)> {
    parents(table).into_iter().find_map(|parent| {
        let opened = OpenTable::new(parent);
        // SAFETY: the names are zero-terminated, and live as long as the triggers.
        let name = |trigger: &pg_sys::Trigger| unsafe { CStr::from_ptr(trigger.tgname) };
        let same = triggers(opened.rel()).iter().find(|other| {
            name(other) == name(trigger)
                && other.tgfoid == trigger.tgfoid
                && arguments(other) == arguments(trigger)
        })?;
        Some((same.tgoid, parent))
    })
}

/// Returns the tables that this one inherits from, and those that they inherit from.
pub fn ancestors(table: Oid) -> Vec<Oid> {
    let mut found = parents(table);
    let mut next = 0;
    while let Some(&table) = found.get(next) {
        let above = parents(table);
        for table in above {
            if !found.contains(&table) {
                found.push(table);
            }
        }
        next += 1;
    }
    found
}

/// Returns the tables that this one inherits from; that of a partition is the partitioned table.
fn parents(table: Oid) -> Vec<Oid> {
    let mut found = Vec::new();
    // SAFETY: a catalog look-up; the index is of that catalog and column, of which each row has the form.
    unsafe {
        if pg_sys::has_superclass(table) {
            let column = pg_sys::Anum_pg_inherits_inhrelid;
            let index = pg_sys::InheritsRelidSeqnoIndexId;
            for_each_row_of(pg_sys::InheritsRelationId, index, column, table, |row| {
                let form: *const pg_sys::FormData_pg_inherits = pg_sys::GETSTRUCT(row).cast();
                found.push((*form).inhparent);
            });
        }
    }
    found
}

/// Calls `each` with the rows of a catalog that have an OID in a column, which is the first of the index.
///
/// # Safety
/// The catalog must have the index and the column.
unsafe fn for_each_row_of(
    catalog: Oid,
    index: u32,
    column: u32,
    oid: Oid,
    mut each: impl FnMut(pg_sys::HeapTuple),
) {
    // SAFETY: guaranteed by the caller; rows are read before the scan ends.
    unsafe {
        let mut key = pg_sys::ScanKeyData::default();
        pg_sys::ScanKeyInit(
            &mut key,
            column as i16,
            pg_sys::BTEqualStrategyNumber as u16,
            pg_sys::Oid::from(pg_sys::F_OIDEQ),
            pg_sys::Datum::from(oid),
        );
        let lock = pg_sys::AccessShareLock as i32;
        let catalog = pg_sys::table_open(catalog, lock);
        let (index, none) = (pg_sys::Oid::from(index), std::ptr::null_mut());
        let scan = pg_sys::systable_beginscan(catalog, index, true, none, 1, &mut key);
        let mut row = pg_sys::systable_getnext(scan);
        while !row.is_null() {
            each(row);
            row = pg_sys::systable_getnext(scan);
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalog, lock);
    }
}

/// Returns a copy of the triggers of an open table: a catalog look-up may make the server replace the
/// list.
fn triggers<'a>(table: Rel<'a>) -> &'a [pg_sys::Trigger] {
    // SAFETY: an open relation has a list of `numtriggers` triggers, or null.
    unsafe {
        let copy = pg_sys::CopyTriggerDesc((*table.raw()).trigdesc);
        copy.as_ref().map_or(&[][..], |list| {
            std::slice::from_raw_parts(list.triggers, list.numtriggers as usize)
        })
    }
}

/// None when the trigger is gone.
fn pg_trigger(trigger: Oid) -> Option<PgTrigger> {
    let mut found = None;
    // SAFETY: the index is of that catalog and column, of which each row has the form.
    unsafe {
        let (index, column) = (pg_sys::TriggerOidIndexId, pg_sys::Anum_pg_trigger_oid);
        for_each_row_of(pg_sys::TriggerRelationId, index, column, trigger, |row| {
            let form: *const pg_sys::FormData_pg_trigger = pg_sys::GETSTRUCT(row).cast();
            found = Some(PgTrigger {
                table: (*form).tgrelid,
                copied_from: (*form).tgparentid,
            });
        });
    }
    found
}

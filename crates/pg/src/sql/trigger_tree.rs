//! On which table of a partition tree a trigger was created, and which triggers are beside it.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::trigger::{TriggerCall, arguments};

/// The trigger that CREATE TRIGGER made. Partitions have copies of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    pub trigger: Oid,
    pub table: Oid,
    /// Levels from the table with the copy up to this one; 0 when the trigger is not a copy.
    pub levels: u32,
}

/// A trigger of the same table, with the same function.
pub struct Sibling {
    pub arguments: Vec<String>,
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
    /// fired now or not. Of a BEFORE trigger: those of INSERT or UPDATE for each row. Of an AFTER
    /// trigger: all AFTER triggers.
    pub fn siblings(&self) -> Vec<Sibling> {
        let events = pg_sys::TRIGGER_TYPE_INSERT | pg_sys::TRIGGER_TYPE_UPDATE;
        let before_row = pg_sys::TRIGGER_TYPE_ROW | pg_sys::TRIGGER_TYPE_BEFORE;
        let own_kind = self.trigger().tgtype as u32 & before_row;
        let table = self.relation();
        // SAFETY: an open relation has a list of `numtriggers` triggers, or null. A catalog look-up
        // may make the server replace the list, hence the copy.
        let triggers = unsafe {
            let copy = pg_sys::CopyTriggerDesc((*table.raw()).trigdesc);
            copy.as_ref().map_or(&[][..], |list| {
                std::slice::from_raw_parts(list.triggers, list.numtriggers as usize)
            })
        };
        triggers
            .iter()
            .filter(|t| {
                let kind = t.tgtype as u32;
                let is_like = match own_kind & pg_sys::TRIGGER_TYPE_BEFORE {
                    0 => kind & pg_sys::TRIGGER_TYPE_BEFORE == 0,
                    _ => kind & before_row == own_kind && kind & events != 0,
                };
                t.tgfoid == self.function_oid() && is_like
            })
            .map(|trigger| Sibling {
                arguments: arguments(trigger),
                origin: origin(trigger, table.oid()),
            })
            .collect()
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
            origin = Origin {
                trigger: copied_from,
                table,
                levels: origin.levels + 1,
            };
        }
    }
    origin
}

/// None when the trigger is gone.
fn pg_trigger(trigger: Oid) -> Option<PgTrigger> {
    // SAFETY: a scan of the catalog with one key, of the type of the index; the row is read before
    // the scan ends.
    unsafe {
        let mut key = pg_sys::ScanKeyData::default();
        pg_sys::ScanKeyInit(
            &mut key,
            pg_sys::Anum_pg_trigger_oid as i16,
            pg_sys::BTEqualStrategyNumber as u16,
            pg_sys::Oid::from(pg_sys::F_OIDEQ),
            pg_sys::Datum::from(trigger),
        );
        let lock = pg_sys::AccessShareLock as i32;
        let catalog = pg_sys::table_open(pg_sys::TriggerRelationId, lock);
        let (index, none) = (
            pg_sys::Oid::from(pg_sys::TriggerOidIndexId),
            std::ptr::null_mut(),
        );
        let scan = pg_sys::systable_beginscan(catalog, index, true, none, 1, &mut key);
        let row = pg_sys::systable_getnext(scan);
        let found = (!row.is_null()).then(|| {
            let form: *const pg_sys::FormData_pg_trigger = pg_sys::GETSTRUCT(row).cast();
            PgTrigger {
                table: (*form).tgrelid,
                copied_from: (*form).tgparentid,
            }
        });
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalog, lock);
        found
    }
}

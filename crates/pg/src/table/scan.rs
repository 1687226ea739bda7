//! A sequential scan that reads two columns of each row that the active snapshot shows.
//! `pairs::scannable_source` calls it.

use crate::catalog::relation::Rel;
use crate::catalog::table::Column;
use crate::process::compat;
use crate::process::unguarded::{ProcessInterrupts, slot_getsomeattrs_int};
use pgrx::pg_sys;
use std::marker::PhantomData;

/// A column whose values are passed by value, and how they are taken.
#[derive(Clone, Copy)]
pub struct WordColumn {
    number: i16,
    form: StoredForm,
}

#[derive(Clone, Copy)]
enum StoredForm {
    /// The bits as they are.
    Bits,
    /// A smaller integer, as one of 8 bytes.
    Int2,
    Int4,
}

impl WordColumn {
    /// The bits of the values; None when they are not passed by value, or not stored.
    #[inline]
    pub fn bits(column: &Column) -> Option<Self> {
        let is_word = column.storage.by_value_and_length().0 && !column.computed_on_read;
        is_word.then(|| Self {
            number: column.number(),
            form: StoredForm::Bits,
        })
    }

    /// The values as integers of 8 bytes; None when they are none, or not stored.
    #[inline]
    pub fn integer(column: &Column) -> Option<Self> {
        let form = match column.base_type() {
            pg_sys::INT2OID => StoredForm::Int2,
            pg_sys::INT4OID => StoredForm::Int4,
            pg_sys::INT8OID => StoredForm::Bits,
            _ => return None,
        };
        Self::bits(column).map(|bits| Self { form, ..bits })
    }

    fn word(self, value: pg_sys::Datum) -> u64 {
        let bits = value.value() as u64;
        match self.form {
            StoredForm::Bits => bits,
            StoredForm::Int2 => i64::from(bits as i16) as u64,
            StoredForm::Int4 => i64::from(bits as i32) as u64,
        }
    }
}

/// Result of [`TableScan::next`].
pub enum ScannedRows {
    /// This many rows; none is the end.
    Rows(usize),
    /// A row whose first column is NULL, but not the second.
    Null,
}

/// A scan of the rows that the active snapshot shows.
pub struct TableScan<'t> {
    scan: pg_sys::TableScanDesc,
    slot: *mut pg_sys::TupleTableSlot,
    columns: [WordColumn; 2],
    /// The columns up to this one are unpacked.
    last: i32,
    ended: bool,
    table: PhantomData<Rel<'t>>,
}

impl<'t> TableScan<'t> {
    /// Begins a scan of all rows. There must be an active snapshot, which outlives the scan.
    #[inline]
    pub fn begin(table: Rel<'t>, columns: [WordColumn; 2]) -> Self {
        // SAFETY: the table is open and locked as long as the scan lives.
        unsafe {
            let snapshot = pg_sys::GetActiveSnapshot();
            Self {
                scan: compat::begin_scan(table.raw(), snapshot),
                slot: pg_sys::table_slot_create(table.raw(), std::ptr::null_mut()),
                columns,
                last: columns
                    .map(|column| i32::from(column.number))
                    .into_iter()
                    .fold(0, i32::max),
                ended: false,
                table: PhantomData,
            }
        }
    }

    /// Fills `rows` with what `row` makes of the columns of the next rows; a row whose second
    /// column is NULL is left out. The access method, and such rows, check for interrupts.
    #[inline]
    pub fn next<T: Copy>(
        &mut self,
        rows: &mut [T],
        row: impl Fn(u64, u64) -> T + Copy,
    ) -> ScannedRows {
        const FORWARD: pg_sys::ScanDirection::Type = pg_sys::ScanDirection::ForwardScanDirection;
        if self.ended {
            return ScannedRows::Rows(0);
        }
        let (scan, slot, last) = (self.scan, self.slot, self.last);
        let [first, second] = self.columns;
        // SAFETY: all was made by `begin`. One guard for many rows: nothing in it has a destructor. A
        // slot has values up to the column that was asked for.
        let (count, stopped, met_null) = unsafe {
            let next = (*(*(*scan).rs_rd).rd_tableam).scan_getnextslot;
            let Some(next) = next else {
                return ScannedRows::Rows(0);
            };
            pg_sys::ffi::pg_guard_ffi_boundary(|| {
                let mut count = 0;
                while count < rows.len() {
                    if !next(scan, FORWARD, slot) {
                        return (count, true, false);
                    }
                    if i32::from((*slot).tts_nvalid) < last {
                        slot_getsomeattrs_int(slot, last);
                    }
                    let value = |column: WordColumn| {
                        let at = column.number as usize - 1;
                        (!*(*slot).tts_isnull.add(at))
                            .then(|| column.word(*(*slot).tts_values.add(at)))
                    };
                    let Some(second) = value(second) else {
                        // There may be any number of such rows.
                        if pg_sys::InterruptPending != 0 {
                            ProcessInterrupts();
                        }
                        continue;
                    };
                    let Some(first) = value(first) else {
                        return (count, true, true);
                    };
                    rows[count] = row(first, second);
                    count += 1;
                }
                (count, false, false)
            })
        };
        // A scan that has come to its end would begin again.
        self.ended = stopped;
        match met_null {
            true => ScannedRows::Null,
            false => ScannedRows::Rows(count),
        }
    }
}

impl Drop for TableScan<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by `begin`.
            unsafe {
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
                pg_sys::table_endscan(self.scan);
            }
        }
    }
}

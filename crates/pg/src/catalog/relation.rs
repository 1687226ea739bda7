//! An open relation: its name, columns, pages and options. Nearly every module that reads an index
//! or a table has one. It borrows from the caller, who opened and locked the relation, and never
//! closes it.

use crate::process::compat;
use crate::process::encoding::name_to_utf8;
use pgrx::pg_sys;
use std::ffi::CStr;
use std::marker::PhantomData;

/// An open index or table, borrowed from the caller, who opened it.
#[derive(Clone, Copy)]
pub struct Rel<'a> {
    raw: pg_sys::Relation,
    life: PhantomData<&'a pg_sys::RelationData>,
}

impl<'a> Rel<'a> {
    /// # Safety
    /// For 'a, `raw` must be an open relation, with the lock that the caller's work needs.
    pub unsafe fn from_raw(raw: pg_sys::Relation) -> Rel<'a> {
        Rel {
            raw,
            life: PhantomData,
        }
    }

    /// The server's pointer, which is valid as long as the relation is open.
    pub fn raw(self) -> pg_sys::Relation {
        self.raw
    }

    fn data(self) -> &'a pg_sys::RelationData {
        // SAFETY: the relation is open (contract of `from_raw`).
        unsafe { &*self.raw }
    }

    fn class(self) -> &'a pg_sys::FormData_pg_class {
        // SAFETY: an open relation has its pg_class row.
        unsafe { &*self.data().rd_rel }
    }

    /// pg_class.oid.
    pub fn oid(self) -> pg_sys::Oid {
        self.data().rd_id
    }

    /// pg_class.relowner.
    pub fn owner(self) -> pg_sys::Oid {
        self.class().relowner
    }

    /// Returns whether row security applies to the owner too.
    pub fn forces_row_security(self) -> bool {
        self.class().relforcerowsecurity
    }

    /// The type of its rows; INVALID of a relation without any, such as an index.
    pub fn row_type(self) -> pg_sys::Oid {
        self.class().reltype
    }

    fn raw_name(self) -> &'a [u8] {
        // SAFETY: relname is a NUL-terminated name inside the pg_class row.
        unsafe { CStr::from_ptr(self.class().relname.data.as_ptr()) }.to_bytes()
    }

    /// The relation's name, without its schema.
    pub fn name(self) -> String {
        name_to_utf8(self.raw_name()).into_owned()
    }

    /// Returns whether queries may use the index (pg_index.indisvalid).
    pub fn is_valid(self) -> bool {
        // SAFETY: rd_index of an open index is its row of pg_index; of another relation it is null.
        unsafe { self.data().rd_index.as_ref() }.is_some_and(|row| row.indisvalid)
    }

    /// Key columns of an index: the scope columns and, as the last one, the fingerprint.
    pub fn key_columns(self) -> usize {
        // SAFETY: rd_index of an open index is its row of pg_index; of another relation it is null.
        let row = unsafe { self.data().rd_index.as_ref() };
        row.map_or(1, |row| row.indnkeyatts as usize)
    }

    /// The collation of a key column of an index.
    pub fn collation(self, column: usize) -> pg_sys::Oid {
        assert!(column < self.key_columns());
        // SAFETY: an open index has an entry for each key column.
        unsafe { *self.data().rd_indcollation.add(column) }
    }

    /// The table of an index.
    pub fn table(self) -> pg_sys::Oid {
        // SAFETY: an open index has its row of pg_index.
        unsafe { (*self.data().rd_index).indrelid }
    }

    /// Returns whether values of a key column of an index are equal only if their bytes are.
    pub fn collation_is_deterministic(self, column: usize) -> bool {
        let collation = self.collation(column);
        // SAFETY: syscache look-up of the collation of an index that is open.
        collation == pg_sys::Oid::INVALID
            || unsafe { pg_sys::get_collation_isdeterministic(collation) }
    }

    /// The type for which the operator class of a key column was made.
    pub fn operator_class_type(self, column: usize) -> pg_sys::Oid {
        assert!(column < self.key_columns());
        // SAFETY: as above.
        unsafe { *self.data().rd_opcintype.add(column) }
    }

    /// The operator family of a key column.
    pub fn operator_family(self, column: usize) -> pg_sys::Oid {
        assert!(column < self.key_columns());
        // SAFETY: as above.
        unsafe { *self.data().rd_opfamily.add(column) }
    }

    /// Returns whether the relation is a temporary one.
    pub fn is_temporary(self) -> bool {
        self.class().relpersistence as u8 == pg_sys::RELPERSISTENCE_TEMP
    }

    /// Returns whether the relation is neither temporary nor unlogged.
    pub fn is_permanent(self) -> bool {
        self.class().relpersistence as u8 == pg_sys::RELPERSISTENCE_PERMANENT
    }

    /// Returns whether its access method is the heap.
    pub fn is_heap(self) -> bool {
        self.class().relam == pg_sys::HEAP_TABLE_AM_OID
    }

    /// Returns whether changes must be logged (the macro RelationNeedsWAL).
    pub fn needs_wal(self) -> bool {
        // SAFETY: wal_level is a plain int that only the postmaster changes.
        let skips_new_files =
            unsafe { pg_sys::wal_level } < pg_sys::WalLevel::WAL_LEVEL_REPLICA as i32;
        self.is_permanent() && !(skips_new_files && compat::file_is_new(self.data()))
    }

    /// Blocks in the main fork, by the length of its file (in recovery by the cached length).
    pub fn block_count(self) -> u32 {
        // SAFETY: the relation is open.
        unsafe {
            pg_sys::RelationGetNumberOfBlocksInFork(self.raw, pg_sys::ForkNumber::MAIN_FORKNUM)
        }
    }

    /// A lower bound of the blocks in the main fork: the last length that this process measured, 0
    /// if none. A process that truncates a file invalidates this, and the others process that
    /// message before they lock the relation again.
    pub fn least_block_count(self) -> u32 {
        const MAIN: usize = pg_sys::ForkNumber::MAIN_FORKNUM as usize;
        // SAFETY: the relation is open; the server opens its storage handle if it has none.
        let known = unsafe { (*pg_sys::RelationGetSmgr(self.raw)).smgr_cached_nblocks[MAIN] };
        if known == pg_sys::InvalidBlockNumber {
            0
        } else {
            known
        }
    }

    /// Returns how many pages of this relation the server may ask of the operating system at a
    /// time, ahead of reading them: effective_io_concurrency, or the tablespace's own setting.
    pub fn io_concurrency(self) -> usize {
        // SAFETY: a look-up in the server's table of tablespaces.
        let pages = unsafe { pg_sys::get_tablespace_io_concurrency(self.class().reltablespace) };
        pages.max(0) as usize
    }

    /// The same for commands that read whole relations: maintenance_io_concurrency.
    pub fn maintenance_io_concurrency(self) -> usize {
        let tablespace = self.class().reltablespace;
        // SAFETY: a look-up in the server's table of tablespaces.
        let pages = unsafe { pg_sys::get_tablespace_maintenance_io_concurrency(tablespace) };
        pages.max(0) as usize
    }

    /// Returns how many rows the server believes it to have, if it knows.
    pub fn expected_rows(self) -> Option<u64> {
        let rows = self.class().reltuples;
        (rows > 0.0).then_some(rows as u64)
    }

    /// Size of the main fork.
    pub fn bytes(self) -> u64 {
        u64::from(self.block_count()) * u64::from(pg_sys::BLCKSZ)
    }
}

//! Row addresses: as the server has them, and those read from an index's pages, which are checked before
//! the server looks for a row there.

#![allow(unsafe_code)]

use pgrx::pg_sys;
use simhash_base::indexed_row::Tid;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::error::Error;

/// Converts from the server's item pointer.
#[inline]
pub fn tid_from(raw: pg_sys::ItemPointerData) -> Tid {
    let (block, offset) = pgrx::itemptr::item_pointer_get_both(raw);
    Tid { block, offset }
}

/// Converts to the server's item pointer.
#[inline]
pub fn tid_to(tid: Tid) -> pg_sys::ItemPointerData {
    let mut raw = pg_sys::ItemPointerData::default();
    pgrx::itemptr::item_pointer_set_all(&mut raw, tid.block, tid.offset);
    raw
}

/// MaxHeapTuplesPerPage: the most rows on a page of a heap, and the highest offset that a bitmap
/// accepts.
pub const MAX_HEAP_OFFSET: u16 = {
    let header =
        (size_of::<pg_sys::HeapTupleHeaderData>() as u32).next_multiple_of(pg_sys::MAXIMUM_ALIGNOF);
    let row = header + size_of::<pg_sys::ItemIdData>() as u32;
    ((pg_sys::BLCKSZ - size_of::<pg_sys::PageHeaderData>() as u32) / row) as u16
};

/// The addresses at which rows of an index's table can be. The table's length is measured again
/// when an address lies beyond the last one: the table can grow, but not shrink while it is locked.
#[derive(Clone, Copy, Default)]
pub struct RowAddresses {
    blocks: u32,
    last_offset: u16,
}

impl RowAddresses {
    /// Those of the index's table, which must be locked; `length` measures it in blocks. For a
    /// table access method other than heap every address is accepted.
    fn of_table(index: Rel, length: impl FnOnce(Rel) -> u32) -> RowAddresses {
        // SAFETY: an open index has its row of pg_index; a backend that uses an index has its
        // table locked, so that the table's entry in the relation cache can be had and given back.
        unsafe {
            let table = pg_sys::RelationIdGetRelation(index.table());
            if table.is_null() {
                return RowAddresses::default();
            }
            let rel = Rel::from_raw(table);
            let addresses = if rel.is_heap() {
                RowAddresses {
                    blocks: length(rel),
                    last_offset: MAX_HEAP_OFFSET,
                }
            } else {
                RowAddresses {
                    blocks: u32::MAX,
                    last_offset: Tid::MAX_OFFSET,
                }
            };
            pg_sys::RelationClose(table);
            addresses
        }
    }

    /// Pages of the table, as far as this process has had to know.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.blocks
    }

    /// Measures the table, and returns its pages.
    #[inline]
    pub fn measure(&mut self, index: Rel) -> u32 {
        *self = RowAddresses::of_table(index, |table| table.block_count());
        self.blocks
    }

    #[inline]
    fn hold(&self, tid: Tid) -> bool {
        tid.block < self.blocks && tid.offset != 0 && tid.offset <= self.last_offset
    }

    /// Returns whether a row of the index's table can be at this address.
    #[inline]
    pub fn is_possible(&mut self, index: Rel, tid: Tid) -> bool {
        self.hold(tid)
            || self.is_possible_now(index, tid, |table| table.least_block_count())
            || self.is_possible_now(index, tid, |table| table.block_count())
    }

    #[cold]
    fn is_possible_now(&mut self, index: Rel, tid: Tid, length: fn(Rel) -> u32) -> bool {
        *self = RowAddresses::of_table(index, length);
        self.hold(tid)
    }

    /// Raises index_corrupted for an address where no row can be.
    #[inline]
    pub fn check(&mut self, index: Rel, tid: Tid) {
        if !self.is_possible(index, tid) {
            damaged_address(index, tid);
        }
    }
}

/// Raises index_corrupted for a row address.
pub fn damaged_address(index: Rel, tid: Tid) -> ! {
    Error::index_corrupted(format!(
        "index \"{}\" is damaged: no row can be at {tid}",
        index.name()
    ))
    .raise()
}

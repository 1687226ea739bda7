//! Which row addresses of a table are dead: nothing stands there but a line pointer that waits for
//! VACUUM (LP_DEAD). Scans of an index ask it which postings they may remove. It reads pages that
//! are in buffers and no others, so that a caller may hold the lock of an index's page.

use pgrx::pg_sys;
use simhash_base::tid::Tid;
use std::mem::offset_of;

use crate::am::row_address::MAX_HEAP_OFFSET;
use crate::catalog::relation::Rel;
use crate::page::buffer::Pinned;

const BITS: usize = u64::BITS as usize;
const WORDS: usize = MAX_HEAP_OFFSET as usize / BITS + 1;

/// The dead addresses of one page of a heap, as they were when it was read: that of the last address
/// that was asked for.
#[derive(Default)]
pub struct DeadLinePointers {
    block: Option<u32>,
    /// One bit for each offset.
    dead: [u64; WORDS],
}

impl DeadLinePointers {
    /// Returns whether the address was dead when its page was read, which an earlier call for the
    /// same page may have done. False where that is not known: the page is in no buffer, or the
    /// table's access method is not the heap.
    #[inline]
    pub fn has(&mut self, table: Rel, tid: Tid) -> bool {
        if self.block != Some(tid.block) {
            self.block = Some(tid.block);
            self.dead = read(table, tid.block);
        }
        let offset = usize::from(tid.offset);
        let word = self.dead.get(offset / BITS);
        word.is_some_and(|word| word >> (offset % BITS) & 1 != 0)
    }
}

fn read(table: Rel, block: u32) -> [u64; WORDS] {
    let mut dead = [0; WORDS];
    if !table.is_heap() {
        return dead;
    }
    let Some(page) = Pinned::read_if_cached(table, block) else {
        return dead;
    };
    let page = page.share();
    let header = page.as_ptr().cast::<pg_sys::PageHeaderData>();
    // SAFETY: the page is locked for reading, so its line pointers, which begin at `pd_linp` and end
    // at `pd_lower`, stay; no more are read than fit the page. Each is read by pointer: hints
    // elsewhere on a page of a heap may change meanwhile.
    unsafe {
        let end = usize::from((*header).pd_lower);
        let count = end.saturating_sub(offset_of!(pg_sys::PageHeaderData, pd_linp))
            / size_of::<pg_sys::ItemIdData>();
        let pointers = (&raw const (*header).pd_linp).cast::<pg_sys::ItemIdData>();
        for i in 0..count.min(usize::from(MAX_HEAP_OFFSET)) {
            let is_dead = (*pointers.add(i)).lp_flags() == pg_sys::LP_DEAD;
            // The first offset is 1.
            dead[(i + 1) / BITS] |= u64::from(is_dead) << ((i + 1) % BITS);
        }
    }
    dead
}

//! Room for rows in shared memory, which two processes fill from its two ends.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The end that a process fills.
#[derive(Clone, Copy)]
pub enum End {
    Front = 0,
    Back = 1,
}

/// Where a room is, and how far it is filled: for the board that both processes share.
#[repr(C)]
pub struct Fill {
    /// Rows of other rooms before it.
    start: usize,
    capacity: usize,
    /// Rows from both ends; more than the capacity when some did not fit.
    taken: AtomicUsize,
    /// Rows from each end.
    filled: [AtomicUsize; 2],
}

impl Fill {
    /// A room of `capacity` rows behind those of other rooms, with so many rows at its back.
    pub const fn new(start: usize, capacity: usize, at_back: usize) -> Self {
        Self {
            start,
            capacity,
            taken: AtomicUsize::new(at_back),
            filled: [AtomicUsize::new(0), AtomicUsize::new(at_back)],
        }
    }

    /// Rows from one end, so far.
    pub fn at(&self, end: End) -> usize {
        self.filled[end as usize].load(SeqCst)
    }

    /// Did some rows not fit?
    pub fn is_overfull(&self) -> bool {
        self.taken.load(SeqCst) > self.capacity
    }

    /// Rows from both ends, so far.
    pub fn rows(&self) -> usize {
        self.at(End::Front) + self.at(End::Back)
    }
}

/// A room, as one process sees it.
pub struct Room<'r, T> {
    fill: &'r Fill,
    rows: *mut T,
}

impl<'r, T: Copy> Room<'r, T> {
    /// # Safety
    /// `memory` must have space for the rows of all rooms, be aligned for them, live as long as the
    /// room, and be used for nothing else; each end is for one process alone.
    pub unsafe fn new(fill: &'r Fill, memory: *mut c_void) -> Self {
        // SAFETY: the caller's word.
        let rows = unsafe { memory.cast::<T>().add(fill.start) };
        Self { fill, rows }
    }

    /// Adds rows at the end that this process fills. False when there is no room for them: then
    /// there is none for later ones either.
    pub fn add(&mut self, end: End, rows: &[T]) -> bool {
        let fill = self.fill;
        if fill.taken.fetch_add(rows.len(), SeqCst) + rows.len() > fill.capacity {
            return false;
        }
        let filled = fill.at(end);
        let at = match end {
            End::Front => filled,
            End::Back => fill.capacity - filled - rows.len(),
        };
        // SAFETY: both ends together take no more than the capacity, so this place is free.
        unsafe {
            self.rows
                .add(at)
                .copy_from_nonoverlapping(rows.as_ptr(), rows.len())
        };
        fill.filled[end as usize].store(filled + rows.len(), SeqCst);
        true
    }

    /// The rows that the other process has added at the front.
    ///
    /// # Safety
    /// Until the slice is dropped, nobody may move them.
    pub unsafe fn front(&self) -> &'r [T] {
        // SAFETY: so many rows are filled; the caller's word.
        unsafe { std::slice::from_raw_parts(self.rows, self.fill.at(End::Front)) }
    }

    /// All rows, side by side.
    ///
    /// # Safety
    /// No other process may look at the room any more.
    pub unsafe fn into_rows(self) -> &'r mut [T] {
        let (front, back) = (self.fill.at(End::Front), self.fill.at(End::Back));
        // As many of the last rows as fill the gap.
        let moved = back.min(self.fill.capacity - front - back);
        // SAFETY: the caller's word; what is moved lies behind the place that it is moved to.
        unsafe {
            let from = self.rows.add(self.fill.capacity - moved);
            // If the gap is the smaller one, the rows before them stay.
            let to = self.rows.add(front);
            to.copy_from_nonoverlapping(from, moved);
            std::slice::from_raw_parts_mut(self.rows, front + back)
        }
    }
}

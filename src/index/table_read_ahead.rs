//! Asks the operating system for pages of the table during a plain scan: those of the rows that it
//! is going to return.

#![forbid(unsafe_code)]

use simhash_base::tid::Tid;
use simhash_hamming::search::read_ahead::ReadAhead;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::page::buffer::{Pinned, pages_read};
use std::cell::Cell;

/// The table's pages, as one scan finds them.
#[derive(Default)]
pub struct TableReadAhead {
    memory: ReadAhead,
    /// Number of pages of rows that were returned.
    visited: usize,
    /// Number of rows of the batch whose pages need not be read ahead any more.
    asked: usize,
    /// Number of pages that the session had read from files when the last row was returned.
    pages_read: i64,
}

impl TableReadAhead {
    /// Called when there are other rows to return.
    pub fn begin_batch(&mut self) {
        self.asked = 0;
    }

    /// Called when row `next` of the batch is about to be returned. Between two rows the executor
    /// reads a page of the table.
    pub fn before_row(&mut self, table: Option<Rel>, rows: &[Tid], next: usize) {
        let began_page = |i: usize| i == 0 || rows[i].block != rows[i - 1].block;
        if next > 0 && began_page(next - 1) {
            self.memory.note_visit(self.pages_read != pages_read());
            self.visited += 1;
        }
        let Some(table) = table.filter(|_| !self.memory.is_idle()) else {
            return;
        };
        let window = self.memory.window(self.visited, table.io_concurrency());
        let end = rows.len().min(next + 1 + window);
        let start = self.asked.max(next + 1).min(end);
        for pair in rows[start - 1..end].windows(2) {
            if pair[0].block != pair[1].block {
                Pinned::read_ahead(table, pair[1].block, &Cell::new(0));
            }
        }
        self.asked = end;
    }

    /// Called when a row is returned.
    pub fn after_row(&mut self) {
        self.pages_read = pages_read();
    }
}

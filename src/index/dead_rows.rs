//! Which postings VACUUM removes: those whose rows the server calls dead. `vacuum.rs` asks for the
//! postings of each leaf. What it is told is what the server would say: which rows are dead does not
//! change during the pass, since their addresses are free only when all indexes are cleaned.
//!
//! The server keeps the addresses of dead rows in order, and the postings of a leaf lie anywhere in
//! the table: each question to the server would wait for memory. So it is asked for the table's
//! rows first, in their order, and the answers are kept as one bit each.

use simhash_base::tid::Tid;
use simhash_hamming::dead_rows::{self, TableSize};
use simhash_hamming::key::Key;
use simhash_hamming::page::leaf;
use simhash_pg::am::row_address::RowAddresses;
use simhash_pg::am::vacuum::{DeadRows, Vacuum};
use simhash_pg::process::compat::vacuum_delay_point;
use simhash_pg::process::memory::vacuum_memory_bytes;

/// The server's test for dead rows, and the answers that are known.
pub struct KnownDeadRows<'d> {
    server: &'d DeadRows,
    known: dead_rows::DeadRowBits,
}

impl<'d> KnownDeadRows<'d> {
    /// A validation only collects the rows that it is asked about: it must be asked about those of
    /// the index, and no others.
    pub fn of_validation(server: &'d DeadRows) -> Self {
        Self {
            server,
            known: dead_rows::DeadRowBits::unknown(),
        }
    }

    /// Asks the server about the rows of the table, as far as the answers fit the memory of VACUUM.
    pub fn of_table(vacuum: &Vacuum, server: &'d DeadRows, addresses: &mut RowAddresses) -> Self {
        let index = vacuum.index();
        let table = TableSize {
            pages: addresses.measure(index),
            rows: vacuum.likely_table_rows(),
            postings: f64::from(index.block_count()) * f64::from(leaf::LIKELY_COUNT),
        };
        let mut known = dead_rows::DeadRowBits::covering(table, vacuum_memory_bytes());
        for block in 0..known.pages() {
            vacuum_delay_point();
            let asked: Vec<Tid> = known.addresses(block).collect();
            let dead = server.contain_each(&asked);
            std::iter::zip(asked, dead)
                .filter(|(_, is_dead)| *is_dead)
                .for_each(|(tid, _)| known.add(tid));
        }
        Self { server, known }
    }

    /// Returns the postings that stay. The server is asked about the rows that are not known.
    pub fn without_dead(&self, postings: &[Key]) -> Vec<Key> {
        let mut unknown = Vec::new();
        let mut kept = Vec::with_capacity(postings.len());
        for key in postings {
            match self.known.contain(key.tid) {
                Some(true) => {}
                Some(false) => kept.push(*key),
                None => unknown.push(*key),
            }
        }
        if !unknown.is_empty() {
            let tids: Vec<Tid> = unknown.iter().map(|key| key.tid).collect();
            let dead = self.server.contain_each(&tids);
            let alive = std::iter::zip(unknown, dead).filter(|(_, is_dead)| !is_dead);
            kept.extend(alive.map(|(key, _)| key));
        }
        kept
    }
}

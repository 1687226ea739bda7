//! simhash_cluster_number: the number of a row's cluster within its window partition.

use super::union_find::UnionFind;
use crate::pairs::file::Gathered;
use crate::pairs::find::Row;
use crate::pairs::search::{PairSearch, Pairs};
use crate::pairs::source::radius;
use crate::pg::process::activity::Activity;
use crate::pg::process::backend::check_for_interrupts;
use crate::pg::process::error::raise;
use crate::pg::process::memory::{or_out_of_memory, work_mem_bytes};
use crate::pg::sql::fmgr::pg_function;
use crate::pg::sql::window::{self, Window};
use pgrx::PgSqlErrorCode;
use std::cell::Cell;

const NAME: &str = "simhash_cluster_number";

/// Cells before the rows' numbers in a partition's memory: READY once the numbers are there, and
/// the radius.
const HEADER: usize = 2;
const READY: i32 = 1;
/// Most rows of a partition: their numbers are one allocation of the server.
const MOST: usize = window::MOST_NUMBERS - HEADER;
/// The number of a row without a fingerprint.
const NO_CLUSTER: i32 = -1;

/// Unites rows that are paired; tags are places in the partition.
struct Sets(UnionFind);

impl Pairs for Sets {
    fn pair(&mut self, a: u64, b: u64, _distance: u32) {
        self.0.union(a as u32, b as u32);
    }

    fn is_transitive(&self) -> bool {
        true
    }

    fn wants_distinct(&self) -> bool {
        true
    }
}

pg_function! {
    /// simhash_cluster_number(fingerprint bigint, radius int) OVER (...) -> int
    fn simhash_cluster_number, pg_finfo_simhash_cluster_number(args) {
        let window = Window::of(args);
        let (rows, position) = (window.rows(), window.position());
        if rows > MOST {
            raise(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!("{NAME} cannot number {rows} rows in one partition"),
            );
        }
        let radius = radius(window.value::<i32>(1, position), NAME);
        let memory = window.memory(HEADER + rows);
        let [ready, of_radius] = [&memory[0], &memory[1]];
        if ready.get() != READY {
            number(window, radius, &memory[HEADER..]);
            of_radius.set(radius as i32);
            ready.set(READY);
        }
        let first = of_radius.get();
        if first != radius as i32 {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("radius must be the same in the whole partition, not {first} and {radius}"),
            );
        }
        match memory[HEADER + position].get() {
            NO_CLUSTER => args.null(),
            number => args.result(Some(number)),
        }
    }
}

/// Numbers the rows of a partition: connected ones get the same number, in order of appearance.
fn number(window: Window<'_>, radius: u32, numbers: &[Cell<i32>]) {
    let mut search = PairSearch {
        pairs: Sets(UnionFind::new()),
        activity: &mut Activity::new(NAME),
    };
    let mut rows = Gathered::<_, 1>::new(work_mem_bytes());
    window.values(0, numbers.len(), |row, fingerprint: Option<i64>| {
        check_for_interrupts();
        or_out_of_memory(search.pairs.0.add().map(|_| ()));
        numbers[row].set(NO_CLUSTER);
        if let Some(fingerprint) = fingerprint {
            numbers[row].set(0);
            let row = Row {
                fingerprint: fingerprint as u64,
                tag: row as u64,
            };
            or_out_of_memory(rows.add(0, row, &mut search));
        }
    });
    rows.find_pairs(&mut search, radius);
    let mut next = 0;
    for row in 0..numbers.len() {
        check_for_interrupts();
        if numbers[row].get() == NO_CLUSTER {
            continue;
        }
        // The smallest row of a set comes first: its number is set before the others copy it.
        let first = search.pairs.0.find(row as u32) as usize;
        numbers[row].set(numbers[first].get());
        if first == row {
            numbers[row].set(next);
            next += 1;
        }
    }
}

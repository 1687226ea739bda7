//! simhash_cluster_number: the number of a row's cluster within its window partition.

use super::components::Components;
use crate::pairs::source::radius;
use pgrx::PgSqlErrorCode;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::pg_function;
use simhash_pg::sql::window::{self, Window};
use std::cell::Cell;

const NAME: &str = "simhash_cluster_number";

/// Cells before the rows' numbers in a partition's memory: READY once the numbers are there, and
/// the radius.
const HEADER: usize = 2;
const READY: i32 = 1;
/// Maximum number of rows of a partition: their numbers are one allocation of the server.
const MOST: usize = window::MOST_NUMBERS - HEADER;
/// The number of a row without a fingerprint.
const NO_CLUSTER: i32 = -1;

pg_function! {
    /// simhash_cluster_number(fingerprint bigint, radius int) OVER (...) -> int
    fn simhash_cluster_number, pg_finfo_simhash_cluster_number(args) {
        let window = Window::from_arguments(args);
        let (rows, position) = (window.rows(), window.position());
        if rows > MOST {
            Error::new(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, format!("{NAME} cannot number {rows} rows in one partition")).raise();
        }
        let radius = radius(window.value::<i32>(1, position), NAME);
        let memory = window.memory(HEADER + rows);
        let [ready, partition_radius] = [&memory[0], &memory[1]];
        if ready.get() != READY {
            number(window, radius, &memory[HEADER..]);
            partition_radius.set(radius as i32);
            ready.set(READY);
        }
        let first = partition_radius.get();
        if first != radius as i32 {
            Error::new(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, format!("radius must be the same in the whole partition, not {first} and {radius}")).raise();
        }
        match memory[HEADER + position].get() {
            NO_CLUSTER => args.null(),
            number => args.result(Some(number)),
        }
    }
}

/// Numbers the rows of a partition: connected ones get the same number, in order of appearance.
fn number(window: Window<'_>, radius: u32, numbers: &[Cell<i32>]) {
    let mut activity = Activity::new(NAME);
    let mut rows = Components::new(&mut activity);
    window.values(0, numbers.len(), |row, fingerprint: Option<i64>| {
        numbers[row].set(if fingerprint.is_some() { 0 } else { NO_CLUSTER });
        rows.add(fingerprint.map(|fingerprint| fingerprint as u64));
    });
    let mut sets = rows.sets(radius);
    let mut next = 0;
    for row in 0..numbers.len() {
        check_for_interrupts();
        if numbers[row].get() == NO_CLUSTER {
            continue;
        }
        // The smallest row of a set comes first: its number is set before the others copy it.
        let first = sets.find(row as u32) as usize;
        numbers[row].set(numbers[first].get());
        if first == row {
            numbers[row].set(next);
            next += 1;
        }
    }
}

//! simhash_group_pairs: the pairs of rows that are given as two arrays, of keys and of
//! fingerprints. It reads no table, so it is immutable: Citus runs only such functions on its
//! workers.

use super::arguments::radius;
use super::search::{PairSearch, Pairs};
use pgrx::PgSqlErrorCode::{
    ERRCODE_ARRAY_ELEMENT_ERROR, ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_NULL_VALUE_NOT_ALLOWED,
};
use pgrx::pg_sys::Datum;
use simhash_hamming::pairs::find::{Branches, Finder};
use simhash_hamming::pairs::sink::Row;
use simhash_hamming::pairs::split::Task;
use simhash_hamming::routes::Route;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::reserve;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};

const NAME: &str = "simhash_group_pairs";

/// A group's rows that have a fingerprint, and their keys; a row's tag is the place of its key.
#[derive(Default)]
pub struct ArrayRows {
    pub keys: Vec<i64>,
    pub rows: Vec<Row>,
}

impl ArrayRows {
    /// Reads the first two arguments, `keys` and `fingerprints`. NULL stands for no rows.
    pub fn from_arguments(args: &Args, function: &str) -> Self {
        let mut group = Self::default();
        let (Some(keys), Some(fingerprints)) = (args.bigints(0), args.bigints(1)) else {
            return group;
        };
        if keys.len() != fingerprints.len() {
            Error::new(
                ERRCODE_ARRAY_ELEMENT_ERROR,
                format!(
                    "{function} got {} keys and {} fingerprints",
                    keys.len(),
                    fingerprints.len()
                ),
            )
            .raise();
        }
        reserve(&mut group.keys, keys.len());
        reserve(&mut group.rows, keys.len());
        for (key, fingerprint) in keys.iter().zip(fingerprints.iter()) {
            check_for_interrupts();
            let Some(key) = key else {
                Error::new(
                    ERRCODE_NULL_VALUE_NOT_ALLOWED,
                    format!("argument \"keys\" of {function} must not contain nulls"),
                )
                .raise();
            };
            if let Some(fingerprint) = fingerprint {
                group.rows.push(Row {
                    fingerprint: fingerprint as u64,
                    tag: group.keys.len() as u64,
                });
                group.keys.push(key);
            }
        }
        group
    }
}

/// Puts pairs into the function's result.
struct GroupPairRows {
    out: RowsOut,
    keys: Vec<i64>,
}

impl Pairs for GroupPairRows {
    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        let (a, b) = (self.keys[a as usize], self.keys[b as usize]);
        let distance = ResultValue::from(distance as i32);
        let row = [a.min(b).into(), a.max(b).into(), distance];
        self.out.push(row.map(Some));
    }

    fn is_transitive(&self) -> bool {
        false
    }
}

pg_function!(simhash_group_pairs);
/// simhash_group_pairs(keys bigint[], fingerprints bigint[], radius int, met_at bigint)
/// -> SETOF (a, b, distance)
fn simhash_group_pairs(args: &Args) -> Datum {
    let out = RowsOut::begin(args);
    let radius = radius(args.get::<i32>(2), NAME);
    let ArrayRows { keys, mut rows } = ArrayRows::from_arguments(args, NAME);
    let branch = args
        .get::<i64>(3)
        .map(|met_at| branch_of(&rows, radius, met_at));
    let activity = &mut Activity::new(NAME);
    PairSearch::new(GroupPairRows { out, keys }, activity).compare(|search| {
        let mut finder = Finder::new(search, radius);
        match branch {
            None => finder.pairs_in([&mut rows], Task::ALL),
            Some((branches, piece)) => finder.branch([&mut rows], &branches, piece),
        }
    });
    args.null()
}

/// Returns the pairs that meet at a key, as a branch of a division of all rows: those of rows that
/// have the key, and differ in each of the pieces before its own. Raises an ERROR when a row has
/// another key there.
fn branch_of(rows: &[Row], radius: u32, met_at: i64) -> (Branches, usize) {
    let route = Route::for_radius(radius);
    let place = route.and_then(|route| Some((route, route.piece_of(met_at)?)));
    let Some((route, piece)) = place else {
        Error::new(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!("{met_at} is not a key of radius {radius}"),
        )
        .raise();
    };
    for row in rows {
        check_for_interrupts();
        if route.key(row.fingerprint, piece) != met_at {
            Error::new(
                ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "fingerprint {} does not have the key {met_at}",
                    row.fingerprint as i64
                ),
            )
            .hint("Group the rows by the keys that simhash_route gave for this radius.")
            .raise();
        }
    }
    (Branches::by(route.masks()), piece as usize)
}

//! simhash_group_clusters: the clusters of rows that are given as two arrays, of keys and of
//! fingerprints. simhash_components: the components of the graph of pairs, given as two arrays.
//! They read no table, so they are immutable.

use crate::pairs::arguments::radius;
use crate::pairs::group_pairs::ArrayRows;
use crate::pairs::search::{PairSearch, Pairs};
use pgrx::PgSqlErrorCode::{ERRCODE_ARRAY_ELEMENT_ERROR, ERRCODE_NULL_VALUE_NOT_ALLOWED};
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::sets::UnionFind;
use simhash_hamming::pairs::sink::Row;
use simhash_pg::process::backend::{Activity, check_for_interrupts};
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::{collected, filled, or_out_of_memory, reserve, work_mem_bytes};
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::sql::bigint_array::Bigints;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::key_type::{KeyType, no_order};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use std::cmp::Ordering;

const CLUSTERS: &str = "simhash_group_clusters";
const COMPONENTS: &str = "simhash_components";

pg_function!(simhash_group_clusters);
/// simhash_group_clusters(keys bigint[], fingerprints bigint[], radius int)
/// -> SETOF (key, cluster_id)
fn simhash_group_clusters(args: &Args) -> Datum {
    let mut out = RowsOut::begin(args);
    let radius = radius(args.get::<i32>(2), CLUSTERS);
    let mut group = ArrayRows::from_arguments(args, CLUSTERS);
    // Order the rows by key: the row that leads a set is its first one, which has the smallest
    // key then.
    group.rows.sort_unstable_by_key(|row| {
        check_for_interrupts();
        (group.keys[row.tag as usize], row.tag)
    });
    let mut activity = Activity::new(CLUSTERS);
    let mut rows = Components::new(&mut activity);
    group.rows.iter().for_each(|row| rows.add(row.fingerprint));
    let keys = collected(group.rows.iter().map(|row| group.keys[row.tag as usize]));
    put_clusters(&mut out, &keys, rows.sets(radius), 2, ResultValue::from);
    args.null()
}

pg_function!(simhash_components);
/// simhash_components(a bigint[], b bigint[]) -> SETOF (key, cluster_id), strict
fn simhash_components(args: &Args) -> Datum {
    let mut out = RowsOut::begin(args);
    let (Some(a), Some(b)) = (args.bigints(0), args.bigints(1)) else {
        return args.null();
    };
    if a.len() != b.len() {
        Error::new(
            ERRCODE_ARRAY_ELEMENT_ERROR,
            format!(
                "{COMPONENTS} got arrays of {} and {} keys",
                a.len(),
                b.len()
            ),
        )
        .raise();
    }
    let mut keys = Vec::new();
    reserve(&mut keys, a.len() + b.len());
    add(&mut keys, &a, "a");
    add(&mut keys, &b, "b");
    let (a, b) = keys.split_at(a.len());
    let (keys, sets) = components(a, b, i64::cmp);
    put_clusters(&mut out, &keys, sets, 1, ResultValue::from);
    args.null()
}

pg_function!(simhash_components_of_any);
/// simhash_catalog.components(a anyarray, b anyarray): the same of keys of any type with an
/// order, without NULLs
fn simhash_components_of_any(args: &Args) -> Datum {
    let mut out = RowsOut::begin(args);
    let (Some(a), Some(b)) = (
        args.varlena(0, pg_sys::ANYARRAYOID),
        args.varlena(1, pg_sys::ANYARRAYOID),
    ) else {
        return args.null();
    };
    let [a, b] = [a, b].map(|array| array.array());
    let order = KeyType::new(a.element).unwrap_or_else(|| no_order(a.element).raise());
    let [a, b] = [a, b].map(|array| array.items.into_iter().flatten().collect::<Vec<_>>());
    let (keys, sets) = components(&a, &b, |a, b| order.compare(*a, *b));
    put_clusters(&mut out, &keys, sets, 1, ResultValue::Value);
    args.null()
}

/// Returns the keys of two lists of one length in order, each once, and which of them pairs connect.
fn components<K: Copy>(
    a: &[K],
    b: &[K],
    compare: impl Fn(&K, &K) -> Ordering,
) -> (Vec<K>, UnionFind) {
    let mut keys = Vec::new();
    reserve(&mut keys, a.len() + b.len());
    keys.extend(a.iter().chain(b).copied());
    keys.sort_unstable_by(|a, b| {
        check_for_interrupts();
        compare(a, b)
    });
    keys.dedup_by(|a, b| compare(a, b).is_eq());
    let mut sets = UnionFind::new();
    or_out_of_memory(sets.reserve(keys.len()));
    for _ in &keys {
        check_for_interrupts();
        or_out_of_memory(sets.add());
    }
    let place = |key: &K| keys.binary_search_by(|other| compare(other, key)).ok();
    for (a, b) in a.iter().zip(b) {
        check_for_interrupts();
        if let (Some(a), Some(b)) = (place(a), place(b)) {
            sets.union(a as u32, b as u32);
        }
    }
    (keys, sets)
}

/// Adds the elements of an argument; raises an ERROR when one is NULL.
fn add(keys: &mut Vec<i64>, elements: &Bigints<'_>, argument: &str) {
    for key in elements.iter() {
        check_for_interrupts();
        let Some(key) = key else {
            Error::new(
                ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("argument \"{argument}\" of {COMPONENTS} must not contain nulls"),
            )
            .raise();
        };
        keys.push(key);
    }
}

/// Returns the sets of at least `least` rows, by key. `keys` must be in order, so that the first
/// row of a set has its smallest key.
fn put_clusters<'v, K: Copy>(
    out: &mut RowsOut,
    keys: &[K],
    mut sets: UnionFind,
    least: u32,
    shown: impl Fn(K) -> ResultValue<'v>,
) {
    let mut sizes = filled(keys.len(), 0u32);
    for row in 0..keys.len() {
        check_for_interrupts();
        sizes[sets.find(row as u32) as usize] += 1;
    }
    for (row, key) in keys.iter().enumerate() {
        check_for_interrupts();
        let first = sets.find(row as u32) as usize;
        if sizes[first] >= least {
            out.push([*key, keys[first]].map(|key| Some(shown(key))));
        }
    }
}

/// Unites rows that are paired; tags are the rows' numbers.
struct UnitedRows(UnionFind);

impl Pairs for UnitedRows {
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

/// Rows that were added, in the order of their numbers.
pub struct Components<'a> {
    search: PairSearch<'a, UnitedRows>,
    rows: Gathered<TempFile<'static>, 1>,
}

impl<'a> Components<'a> {
    pub fn new(activity: &'a mut Activity) -> Self {
        let pairs = UnitedRows(UnionFind::new());
        Self {
            search: PairSearch::new(pairs, activity),
            rows: Gathered::new(work_mem_bytes()),
        }
    }

    /// Adds the next row.
    pub fn add(&mut self, fingerprint: u64) {
        check_for_interrupts();
        let tag = u64::from(or_out_of_memory(self.search.pairs.0.add()));
        let row = Row { fingerprint, tag };
        or_out_of_memory(self.rows.add(0, row, &mut self.search));
    }

    /// Returns the sets of rows that are connected by distances of at most `radius` bits.
    pub fn sets(mut self, radius: u32) -> UnionFind {
        let rows = &mut self.rows;
        self.search
            .compare(|search| rows.find_pairs(search, radius));
        self.search.pairs.0
    }
}

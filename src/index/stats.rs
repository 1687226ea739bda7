//! simhash_index_stats: what an index holds, counted in one pass over its pages.

use super::buffer::Pinned;
use super::open_index::{OpenIndex, OpenPurpose};
use super::store::read_meta;
use crate::citus::refuse_distributed;
use crate::errors::raise_in_index;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_hamming::check::census::Census;
use simhash_hamming::page::meta::{FORMAT_VERSION, META_BLOCK};
use simhash_hamming::page::{LEAF, is_zero, leaf, special};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};

/// The largest radius for which candidates are counted.
const MAX_RADIUS: u32 = 10;

pg_function!(simhash_index_stats);
/// simhash_index_stats(regclass) -> one row; sql/ names its columns.
fn simhash_index_stats(args: &Args) -> Datum {
    let mut rows = RowsOut::begin(args);
    let Some(oid) = args.get::<pg_sys::Oid>(0) else {
        return args.null();
    };
    let open = OpenIndex::new(oid, OpenPurpose::Statistics);
    refuse_distributed(&open, OpenPurpose::Statistics);
    let index = open.index();
    let meta = read_meta(index);
    let census = take(index, meta.page_stamp());
    let (bytes, pages) = (index.bytes(), i64::from(index.block_count()));
    let indexed = census.fingerprints() + census.null_rows();
    // Nobody searches for keys over all scopes: with scope columns, these numbers say nothing.
    let of_keys = index.key_columns() == 1;
    let hottest = census.hottest().filter(|_| of_keys);
    let candidates: Option<Vec<f64>> =
        of_keys.then(|| (0..=MAX_RADIUS).map(|k| census.candidates(k)).collect());
    rows.push([
        Some(ResultValue::from(census.fingerprints() as i64)),
        Some(ResultValue::from(census.null_rows() as i64)),
        Some(ResultValue::from(pages)),
        Some(ResultValue::from(census.all_leaves() as i64)),
        (indexed > 0).then(|| ResultValue::from(bytes as f64 / indexed as f64)),
        Some(ResultValue::from(census.average_fill())),
        meta.levels
            .iter()
            .max()
            .map(|level| ResultValue::from(i32::from(*level) + 1)),
        Some(ResultValue::from(FORMAT_VERSION as i32)),
        hottest
            .as_ref()
            .map(|h| ResultValue::from(h.quarter as i32)),
        hottest
            .as_ref()
            .map(|h| ResultValue::from(i32::from(h.key))),
        hottest.as_ref().map(|h| ResultValue::from(h.share)),
        candidates.as_deref().map(ResultValue::Numbers),
    ]);
    args.null()
}

/// Counts in physical order. Writers are not locked out: postings that they insert may be missed,
/// and postings that a split moves may be counted twice.
fn take(index: Rel, stamp: u32) -> Census {
    let mut census = Census::default();
    for block in META_BLOCK + 1..index.block_count() {
        check_for_interrupts();
        let page = Pinned::read(index, block).share();
        // A page of zeros: a backend added it and failed before it wrote it, or a build left it.
        if is_zero(&page) {
            continue;
        }
        let kind = special::kind_of(&page, stamp)
            .and_then(|kind| {
                if kind.level == LEAF {
                    leaf::check(&page)?;
                }
                Ok(kind)
            })
            .unwrap_or_else(|error| raise_in_index(index, block, &error));
        if kind.level == LEAF {
            census.add(kind.space, &page);
        }
    }
    census
}

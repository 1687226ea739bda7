//! Finds all pairs of tables by two processes that both read them, for `simhash_pairs`: a worker is
//! launched before a row is read, [`super::row_exchange`] gives each process all rows, and
//! [`super::parallel_search`] searches them.

use super::parallel_search::search_with;
use super::row_exchange::{Exchange, ROW, SideEnd};
use super::scannable_source::ScannableSource;
use super::search::{PairSearch, Tags};
use super::shared_search::{BitValues, SharedSearch, SharedTable, branches, launch};
use super::source::{SourceTable, expected_rows};
use simhash_hamming::pairs::file::Gathered;
use simhash_pg::catalog::table::allows_parallel_scan;
use simhash_pg::parallel::operation::{Leader, may_have_worker};
use simhash_pg::parallel::shared_memory::SharedScan;
use simhash_pg::process::temp_file::TempFile;

/// Reads all rows of tables together with a worker, and gives every pair to `search`. Returns false
/// when there is no worker: nothing was given then, and `rows` are empty.
pub fn find_pairs_of_tables<P: Tags, const N: usize>(
    sources: &[SourceTable; N],
    rows: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
) -> bool {
    let found = sources.iter().map(ScannableSource::new);
    let Some(tables) = found.collect::<Option<Vec<_>>>() else {
        return false;
    };
    let Some(mut leader) = launch_for(&tables, rows, radius) else {
        return false;
    };
    let mut exchange = Exchange {
        rows,
        sink: search,
        bits: BitValues::default(),
        spills: true,
        keeps: true,
    };
    for (side, table) in tables.iter().enumerate() {
        let (rel, process) = (table.source.table.rel(), leader.participant_mut());
        let expected = expected_rows(sources);
        let report = |search: &mut PairSearch<P>, count| {
            search.activity.show("reading rows", count, expected);
        };
        match exchange.share(side, rel, table.columns, process, report) {
            SideEnd::All => (),
            SideEnd::Keyless => table.source.null_key(),
            SideEnd::Lost => {
                // This raises the worker's ERROR again, if there was one.
                leader.finish(|_| ());
                rows.clear();
                return false;
            }
        }
    }
    let varying = exchange.bits.varying();
    let counts = rows.counts().map(|count| count as u64);
    match (branches(counts, varying, radius), rows.in_memory()) {
        (Some(branches), Some(rows)) => search_with(leader, rows, search, &branches),
        _ => {
            // The worker has come to the same end.
            leader.finish(|_| ());
            rows.find_pairs(search, radius);
        }
    }
    true
}

/// Launches a worker that begins to read the tables; returns None where one process is to do it.
fn launch_for<const N: usize>(
    tables: &[ScannableSource],
    rows: &Gathered<TempFile<'static>, N>,
    radius: u32,
) -> Option<Leader<SharedSearch>> {
    let rels: [_; N] = std::array::from_fn(|side| tables[side].source.table.rel());
    let expected: [u64; N] = std::array::from_fn(|side| tables[side].rows as u64);
    // The planner's estimates may be as large as floats are.
    let count = expected
        .iter()
        .fold(0, |sum: u64, rows| sum.saturating_add(*rows));
    let bytes = usize::try_from(count).ok()?.checked_mul(ROW)?;
    let is_worth_it = bytes <= rows.memory()
        && may_have_worker(bytes)
        && rels.into_iter().all(allows_parallel_scan)
        && branches(expected, u64::MAX, radius).is_some();
    if !is_worth_it {
        return None;
    }
    let table = |side: usize| SharedTable {
        oid: rels[side].oid(),
        columns: tables[side].columns,
    };
    let both = Some([table(0), table(N - 1)]);
    let state = SharedSearch::new::<N>(radius, false, rows.memory(), both);
    launch(state, &rels.map(SharedScan::of_active_snapshot))
}

//! The pairs of rows whose fingerprints are hashes of more than 64 bits. simhash_pairs and
//! simhash_clusters call it in place of the search for fingerprints. The rows and their hashes are in
//! memory, whatever work_mem says.

use super::search::{PairSearch, Pairs};
use super::source::SourceTable;
use crate::errors::or_raise;
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::find::sides;
use simhash_hamming::pairs::parts::find_pairs;
use simhash_pg::process::temp_file::TempFile;

/// Returns how many bytes of rows are to be kept in memory, of `memory` bytes for fingerprints.
pub fn memory_of_rows(sources: &[SourceTable], memory: usize) -> usize {
    match sources.iter().any(|source| source.hashes.is_some()) {
        true => usize::MAX,
        false => memory,
    }
}

/// Gives every pair within `radius`. Returns false, with nothing done, if the rows have fingerprints
/// of 64 bits.
pub fn find_pairs_of_hashes<P: Pairs, const N: usize>(
    sources: &[SourceTable; N],
    rows: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
) -> bool {
    let Some((rows, counts)) = rows.in_memory() else {
        return false;
    };
    let borrowed = sources
        .each_ref()
        .map(|source| source.hashes.as_ref().map(|hashes| hashes.borrow()));
    let hashes: Vec<_> = borrowed.iter().flatten().map(|hashes| &**hashes).collect();
    let Ok(hashes) = <[_; N]>::try_from(hashes) else {
        return false;
    };
    or_raise(find_pairs(hashes, sides(rows, counts), search, radius));
    true
}

//! Reports of a damaged index.

use pgrx::PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED;
use simhash_hamming::page::Fault;
use simhash_hamming::page::meta::{FORMAT_VERSION, META_BLOCK, MetaFault};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::error::{raise_index_corrupted, raise_with_hint};

/// Raises index_corrupted for a block of the index.
pub fn corrupted(rel: Rel, block: u32, fault: &Fault) -> ! {
    raise_index_corrupted(format!(
        "index \"{}\" is damaged at block {block}: {}",
        rel.name(),
        fault.0
    ))
}

/// Raises the error for a metapage that cannot be used.
pub fn bad_meta(rel: Rel, fault: MetaFault) -> ! {
    match fault {
        MetaFault::Damaged(fault) => corrupted(rel, META_BLOCK, &fault),
        MetaFault::OtherFormat(version) => raise_with_hint(
            ERRCODE_FEATURE_NOT_SUPPORTED,
            format!(
                "index \"{}\" has format {version}, this library reads {FORMAT_VERSION}",
                rel.name()
            ),
            if version < FORMAT_VERSION {
                "Rebuild it with REINDEX."
            } else {
                "Install a newer simhash_dedup library, or rebuild the index with REINDEX."
            },
        ),
    }
}

//! A source whose rows are read by a scan, without a query: a table that holds them itself, with
//! keys that are passed by value.

use super::search::{PairSearch, Tags};
use super::source::SourceTable;
use pgrx::pg_sys;
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::sink::Row;
use simhash_pg::catalog::{lookup, table};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::table_scan::{ScannedRows, TableScan, WordColumn, is_plain_scan};

/// Rows that are read at a time.
const BATCH: usize = 1024;

/// A source of which a query of its keys and fingerprints would be a sequential scan of one table,
/// and nothing else.
pub struct ScannableSource<'s> {
    source: &'s SourceTable,
    /// The key and the fingerprint.
    columns: [WordColumn; 2],
}

impl<'s> ScannableSource<'s> {
    /// Returns None when a query has to be run: to report a missing privilege, because of row
    /// security, or because it would not be run that way.
    pub fn new(source: &'s SourceTable) -> Option<Self> {
        let (rel, fp) = (source.table.rel(), &source.compared_column);
        let key = source.key_column.as_ref()?;
        let key_column = match source.key_type {
            // A smaller integer is cast to this type.
            pg_sys::INT8OID => WordColumn::integer(key)?,
            same if same == source.column_type() => WordColumn::bits(key)?,
            _ => return None,
        };
        let columns = [key_column, WordColumn::integer(fp)?];
        let numbers = [key.number(), fp.number()];
        let may = table::is_scannable(rel)
            && lookup::may(rel.oid(), lookup::SELECT, &numbers)
            && !lookup::has_row_security(rel.oid());
        let is_scan = may && is_plain_scan(&source.query(), rel.oid(), numbers);
        is_scan.then_some(Self { source, columns })
    }

    /// Adds the rows that have a fingerprint.
    pub fn read<P: Tags, const N: usize>(
        &self,
        side: usize,
        rows: &mut Gathered<TempFile<'static>, N>,
        search: &mut PairSearch<P>,
    ) {
        let before = rows.count();
        let mut scan = TableScan::begin(self.source.table.rel(), self.columns);
        let (mut batch, mut count) = ([Row::default(); BATCH], 0);
        loop {
            check_for_interrupts();
            let some = match scan.next(&mut batch, |tag, fingerprint| Row { fingerprint, tag }) {
                ScannedRows::Null => self.source.null_key(),
                ScannedRows::Rows(0) => return,
                ScannedRows::Rows(some) => some,
            };
            count += some as u64;
            or_out_of_memory(rows.add_all(side, &batch[..some], search));
            let expected = self.source.table.rel().expected_rows();
            (search.activity).show("reading rows", before + count, expected);
        }
    }
}

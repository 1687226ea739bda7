//! The rows of a search by two processes, until each of them has all.
//!
//! Both take part in one scan of each table, table by table, and send each other what they read, a
//! batch at a time. Or the worker only receives, the rows of one side behind those of the other.

use super::plain_table::{BATCH, PlainTable, for_each_batch};
use super::search::{PairSearch, Tags};
use super::shared::{Bits, Board, branches, launch, search_with};
use super::source::SourceTable;
use pgrx::pg_sys;
use simhash_base::bytes::get_u64;
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::find::{Host, Row};
use simhash_pg::catalog::table::{Opened, allows_shared_scan};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::helper::{Channel, Helper, Part, Work, may_help};
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::table::scan::{TableScan, WordColumn, bytes_of_description, describe};
use std::ffi::c_void;

/// A table that both processes read.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Table {
    oid: pg_sys::Oid,
    columns: [WordColumn; 2],
}

const ROW: usize = size_of::<Row>();

/// The messages that are not rows: a process has read its share of a side to the end, or has met a
/// row without a key. Their length is not that of rows.
const END: &[u8] = b"e";
const KEYLESS: &[u8] = b"k";

/// How the rows of a side ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    All,
    /// A row has no key.
    Keyless,
    /// The other process is gone.
    Lost,
}

/// One process's part: it keeps its own rows and those that the other one sends.
struct Exchange<'x, H, const N: usize> {
    rows: &'x mut Gathered<TempFile<'static>, N>,
    host: &'x mut H,
    bits: Bits,
    /// Whether rows go to files when memory does not hold them. Otherwise no row is kept then.
    spills: bool,
    keeps: bool,
}

impl<H: Host<File = TempFile<'static>>, const N: usize> Exchange<'_, H, N> {
    fn add(&mut self, side: usize, rows: &[Row]) {
        self.bits.add(rows);
        let needed = (self.rows.count() as usize + rows.len()) * ROW;
        if !self.spills && needed > self.rows.memory() {
            self.keeps = false;
            self.rows.clear();
        }
        if self.keeps {
            or_out_of_memory(self.rows.add_all(side, rows, self.host));
        }
    }

    /// Takes a message of the other process; returns None unless it is the last one of this side.
    fn take(&mut self, side: usize, message: &[u8]) -> Option<End> {
        match message {
            END => return Some(End::All),
            KEYLESS => return Some(End::Keyless),
            _ => (),
        }
        let mut batch = [Row::default(); BATCH];
        for some in message.chunks(BATCH * ROW) {
            let count = some.len() / ROW;
            for (row, bytes) in batch.iter_mut().zip(some.chunks_exact(ROW)) {
                row.fingerprint = get_u64(bytes, 0);
                row.tag = get_u64(bytes, size_of::<u64>());
            }
            self.add(side, &batch[..count]);
        }
        None
    }

    /// Reads this process's share of a side, and exchanges rows until both have all. `read` is
    /// called with the number of rows so far.
    fn read(
        &mut self,
        side: usize,
        scan: &mut TableScan,
        channel: &mut Channel,
        mut read: impl FnMut(&mut H, u64),
    ) -> End {
        let (mut ended, mut is_there) = (None, true);
        let has_keys = for_each_batch(scan, |batch, _| {
            self.add(side, batch);
            read(self.host, self.rows.count());
            // The other process begins with the next side when it has this one's end: until then
            // all that it sends is of this side, and nothing follows its own end.
            is_there = send_batch(channel, batch, |message| {
                ended = ended.or(self.take(side, message));
            });
            while ended.is_none()
                && let Some(message) = channel.receive(false)
            {
                ended = self.take(side, message);
            }
            is_there && ended != Some(End::Keyless)
        });
        if !is_there {
            return End::Lost;
        }
        let end = if has_keys { END } else { KEYLESS };
        is_there = channel.send(end, |message| ended = ended.or(self.take(side, message)));
        match (has_keys, is_there, ended) {
            (false, ..) => End::Keyless,
            (true, false, _) => End::Lost,
            (true, true, Some(end)) => end,
            (true, true, None) => self.receive(side, channel),
        }
    }

    /// Takes what the other process sends, until that has sent all rows of a side.
    fn receive(&mut self, side: usize, channel: &mut Channel) -> End {
        loop {
            check_for_interrupts();
            match channel
                .receive(true)
                .map(|message| self.take(side, message))
            {
                Some(None) => (),
                Some(Some(end)) => return end,
                None => return End::Lost,
            }
        }
    }
}

/// Sends a batch; returns false when the other process has ended.
fn send_batch(channel: &mut Channel, batch: &[Row], meanwhile: impl FnMut(&[u8])) -> bool {
    let mut message = [[0; ROW]; BATCH];
    for (bytes, row) in message.iter_mut().zip(batch) {
        bytes[..8].copy_from_slice(&row.fingerprint.to_ne_bytes());
        bytes[8..].copy_from_slice(&row.tag.to_ne_bytes());
    }
    channel.send(message[..batch.len()].as_flattened(), meanwhile)
}

/// Sends all rows of a side to a worker that reads none; returns false when it has ended.
pub fn send_rows(channel: &mut Channel, rows: &[Row], host: &mut impl Host) -> bool {
    let mut batches = rows.chunks(BATCH);
    let all = batches.all(|batch| {
        host.pause();
        send_batch(channel, batch, |_| ())
    });
    all && channel.send(END, |_| ())
}

/// Reads all rows of plain tables together with a worker, and gives every pair to `search`. Returns
/// false when there is no worker: nothing was given then, and `rows` are empty.
pub fn find_pairs_of_tables<P: Tags, const N: usize>(
    sources: &[SourceTable; N],
    rows: &mut Gathered<TempFile<'static>, N>,
    search: &mut PairSearch<P>,
    radius: u32,
) -> bool {
    let found = sources.iter().map(PlainTable::for_source);
    let Some(tables) = found.collect::<Option<Vec<_>>>() else {
        return false;
    };
    let Some(mut helper) = launch_for(&tables, rows, radius) else {
        return false;
    };
    let mut exchange = Exchange {
        rows,
        host: search,
        bits: Bits::default(),
        spills: true,
        keeps: true,
    };
    for (side, table) in tables.iter().enumerate() {
        match read(&mut exchange, side, table, &mut helper) {
            End::All => (),
            End::Keyless => table.source.null_key(),
            End::Lost => {
                // This raises the worker's ERROR again, if there was one.
                helper.finish();
                rows.clear();
                return false;
            }
        }
    }
    let varying = exchange.bits.varying();
    let counts = rows.counts().map(|count| count as u64);
    match branches(counts, varying, radius).filter(|_| rows.in_memory().is_some()) {
        Some(branches) => search_with(helper, rows, search, radius, &branches),
        None => {
            // The worker has come to the same end.
            helper.finish();
            rows.find_pairs(search, radius);
        }
    }
    true
}

/// The leader's part of one table.
#[allow(unsafe_code)]
fn read<P: Tags, const N: usize>(
    exchange: &mut Exchange<PairSearch<P>, N>,
    side: usize,
    table: &PlainTable,
    helper: &mut Helper<Board>,
) -> End {
    let description = helper.part(side as u64);
    let rel = table.source.table.rel();
    // SAFETY: this part describes a scan of the table.
    let mut scan = unsafe { TableScan::share(rel, table.columns, description) };
    exchange.read(side, &mut scan, helper.channel(), |search, count| {
        search.activity.show(|| format!("{count} rows read"));
    })
}

/// Launches a worker that begins to read the tables; returns None where one process is to do it.
#[allow(unsafe_code)]
fn launch_for<'h, const N: usize>(
    tables: &[PlainTable],
    rows: &Gathered<TempFile<'static>, N>,
    radius: u32,
) -> Option<Helper<'h, Board>> {
    let rels: [_; N] = std::array::from_fn(|side| tables[side].source.table.rel());
    let expected: [u64; N] = std::array::from_fn(|side| tables[side].rows as u64);
    // The planner's estimates may be as large as floats are.
    let count = expected
        .iter()
        .fold(0, |sum: u64, rows| sum.saturating_add(*rows));
    let bytes = usize::try_from(count).ok()?.checked_mul(ROW)?;
    let is_worth_it = bytes <= rows.memory()
        && may_help(bytes)
        && rels.into_iter().all(allows_shared_scan)
        && branches(expected, u64::MAX, radius).is_some();
    if !is_worth_it {
        return None;
    }
    let table = |side: usize| Table {
        oid: rels[side].oid(),
        columns: tables[side].columns,
    };
    let board = Board::new::<N>(radius, rows.memory(), Some([table(0), table(N - 1)]));
    // SAFETY: the part has room for the description.
    let mut scans = rels.map(|rel| move |at: *mut c_void| unsafe { describe(rel, at) });
    let parts = scans.iter_mut().zip(rels).map(|(scan, rel)| Part {
        bytes: bytes_of_description(rel),
        fill: scan,
    });
    launch(board, &mut parts.collect::<Vec<_>>())
}

/// The worker's part. Returns the bits in which the rows differ, once it has all; None when there
/// is nothing to search.
#[allow(unsafe_code)]
pub fn gather<const N: usize>(
    work: &mut Work<Board>,
    rows: &mut Gathered<TempFile<'static>, N>,
) -> Option<u64> {
    let tables = work.board().tables;
    let mut exchange = Exchange {
        rows,
        host: &mut Reader,
        bits: Bits::default(),
        spills: false,
        keeps: true,
    };
    for side in 0..N {
        let end = match tables.map(|tables| tables[side]) {
            None => exchange.receive(side, work.channel()),
            Some(table) => {
                let opened = Opened::new(table.oid);
                let (rel, scanned) = (opened.rel(), work.part(side as u64));
                // SAFETY: this part describes a scan of the table.
                let mut scan = unsafe { TableScan::share(rel, table.columns, scanned) };
                exchange.read(side, &mut scan, work.channel(), |_, _| ())
            }
        };
        if end != End::All {
            return None;
        }
    }
    exchange.keeps.then(|| exchange.bits.varying())
}

/// The worker's host while it reads.
struct Reader;

impl Host for Reader {
    type File = TempFile<'static>;

    fn file(&mut self) -> TempFile<'static> {
        TempFile::new()
    }

    fn pair(&mut self, _: u64, _: u64, _: u32) {}

    fn pause(&mut self) {
        check_for_interrupts();
    }

    fn progress(&mut self, _: f64) {}
}

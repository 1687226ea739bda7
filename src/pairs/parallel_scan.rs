//! Reads the rows of a search by two processes, for `simhash_pairs` and `parallel_search`.
//!
//! Both take part in one scan of each table, table by table, and send each other what they read, a
//! batch at a time. Where the leader has read all rows before it launches the worker, it
//! sends them, one side after the other. At the end each process has all rows.

use super::parallel_search::{BitValues, SharedSearch, branches, launch, search_with};
use super::scannable_source::{BATCH, ScannableSource, for_each_batch};
use super::search::{PairSearch, Tags};
use super::source::{SourceTable, expected_rows};
use pgrx::pg_sys;
use simhash_base::bytes::get_u64;
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::find::{PairSink, Row};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::catalog::table::{OpenTable, allows_parallel_scan};
use simhash_pg::parallel::message_queues::MessageQueues;
use simhash_pg::parallel::operation::{Leader, Participant, may_have_worker};
use simhash_pg::parallel::shared_memory::SharedScan;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::table::scan::{TableScan, WordColumn};

/// A table that both processes read.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct SharedTable {
    oid: pg_sys::Oid,
    columns: [WordColumn; 2],
}

const ROW: usize = size_of::<Row>();

/// The messages that are not rows: a process has read its share of a side to the end, or has found
/// a row without a key. Their length is not that of rows.
const END: &[u8] = b"e";
const KEYLESS: &[u8] = b"k";

/// How the rows of a side ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SideEnd {
    All,
    /// A row has no key.
    Keyless,
    /// The other process has ended.
    Lost,
}

/// What one process does: it keeps its own rows and those that the other one sends.
struct Exchange<'x, S, const N: usize> {
    rows: &'x mut Gathered<TempFile<'static>, N>,
    sink: &'x mut S,
    bits: BitValues,
    /// Whether rows go to files when memory does not hold them. Otherwise no row is kept then.
    spills: bool,
    keeps: bool,
}

impl<S: PairSink<File = TempFile<'static>>, const N: usize> Exchange<'_, S, N> {
    fn add(&mut self, side: usize, rows: &[Row]) {
        self.bits.add(rows);
        let needed = (self.rows.count() as usize + rows.len()) * ROW;
        if !self.spills && needed > self.rows.memory() {
            self.keeps = false;
            self.rows.clear();
        }
        if self.keeps {
            or_out_of_memory(self.rows.add_all(side, rows, self.sink));
        }
    }

    /// Takes a message of the other process; returns None unless it is the last one of this side.
    fn take(&mut self, side: usize, message: &[u8]) -> Option<SideEnd> {
        match message {
            END => return Some(SideEnd::All),
            KEYLESS => return Some(SideEnd::Keyless),
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

    /// Reads this process's share of a side, and exchanges rows until both have all. `report` is
    /// called with the number of rows so far.
    #[allow(unsafe_code)]
    fn share(
        &mut self,
        side: usize,
        table: Rel,
        columns: [WordColumn; 2],
        process: &mut Participant<SharedSearch>,
        mut report: impl FnMut(&mut S, u64),
    ) -> SideEnd {
        // SAFETY: the scans are those of the tables, in the same order.
        let mut scan = unsafe { TableScan::share(table, columns, process.scan(side)) };
        let (_, queues) = process.state_and_queues();
        let (mut ended, mut is_connected) = (None, true);
        let has_keys = for_each_batch(&mut scan, |batch, _| {
            self.add(side, batch);
            report(self.sink, self.rows.count());
            // The other process begins with the next side when it has this one's end: until then
            // all that it sends is of this side, and nothing follows its own end.
            is_connected = send_batch(queues, batch, |message| {
                ended = ended.or(self.take(side, message));
            });
            while ended.is_none()
                && let Some(message) = queues.receive(false)
            {
                ended = self.take(side, message);
            }
            is_connected && ended != Some(SideEnd::Keyless)
        });
        if !is_connected {
            return SideEnd::Lost;
        }
        let end = if has_keys { END } else { KEYLESS };
        is_connected = queues.send(end, |message| ended = ended.or(self.take(side, message)));
        match (has_keys, is_connected, ended) {
            (false, ..) => SideEnd::Keyless,
            (true, false, _) => SideEnd::Lost,
            (true, true, Some(end)) => end,
            (true, true, None) => self.receive(side, queues),
        }
    }

    /// Takes what the other process sends, until that has sent all rows of a side.
    fn receive(&mut self, side: usize, queues: &mut MessageQueues) -> SideEnd {
        loop {
            check_for_interrupts();
            match queues.receive(true).map(|message| self.take(side, message)) {
                Some(None) => (),
                Some(Some(end)) => return end,
                None => return SideEnd::Lost,
            }
        }
    }
}

/// Sends a batch; returns false when the other process has ended.
fn send_batch(queues: &mut MessageQueues, batch: &[Row], meanwhile: impl FnMut(&[u8])) -> bool {
    let mut message = [[0; ROW]; BATCH];
    for (bytes, row) in message.iter_mut().zip(batch) {
        bytes[..8].copy_from_slice(&row.fingerprint.to_ne_bytes());
        bytes[8..].copy_from_slice(&row.tag.to_ne_bytes());
    }
    queues.send(message[..batch.len()].as_flattened(), meanwhile)
}

/// Sends all rows of a side to a worker that reads none; returns false when it has ended.
pub fn send_rows(queues: &mut MessageQueues, rows: &[Row], sink: &mut impl PairSink) -> bool {
    let mut batches = rows.chunks(BATCH);
    let all = batches.all(|batch| {
        sink.check_interrupts();
        send_batch(queues, batch, |_| ())
    });
    all && queues.send(END, |_| ())
}

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

/// Receives all rows in the worker, which also reads a share of them if the leader has only begun
/// to read. Returns the bits in which the rows differ; None when there is nothing to search.
pub fn receive_all_rows<const N: usize>(
    worker: &mut Participant<SharedSearch>,
    rows: &mut Gathered<TempFile<'static>, N>,
) -> Option<u64> {
    let tables = worker.state().tables;
    let mut exchange = Exchange {
        rows,
        sink: &mut ReadingSink,
        bits: BitValues::default(),
        spills: false,
        keeps: true,
    };
    for side in 0..N {
        let end = match tables.map(|tables| tables[side]) {
            None => exchange.receive(side, worker.state_and_queues().1),
            Some(table) => {
                let opened = OpenTable::new(table.oid);
                exchange.share(side, opened.rel(), table.columns, worker, |_, _| ())
            }
        };
        if end != SideEnd::All {
            return None;
        }
    }
    exchange.keeps.then(|| exchange.bits.varying())
}

/// Takes no pairs: the worker reads.
struct ReadingSink;

impl PairSink for ReadingSink {
    type File = TempFile<'static>;

    fn file(&mut self) -> TempFile<'static> {
        TempFile::new()
    }

    fn pair(&mut self, _: u64, _: u64, _: u32) {}

    fn check_interrupts(&mut self) {
        check_for_interrupts();
    }

    fn progress(&mut self, _: f64) {}
}

//! Gives two processes all rows of a search. Where both read, they take part in one scan of each
//! table, table by table, and send each other what they read, a batch at a time. Where the leader
//! has read all rows before it launches the worker, it sends them, one side after the other.
//!
//! [`super::pairs_of_tables`] and [`super::parallel_search`] call it. At the end each process has
//! all rows.

use super::scannable_source::{BATCH, for_each_batch};
use super::shared_search::{BitValues, SharedSearch};
use simhash_base::bytes::get_u64;
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::find::{PairSink, Row};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::catalog::table::OpenTable;
use simhash_pg::parallel::message_queues::MessageQueues;
use simhash_pg::parallel::operation::Participant;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::table::scan::{TableScan, WordColumn};

/// Bytes of a row, in memory and in a message.
pub const ROW: usize = size_of::<Row>();

/// The messages that are not rows: a process has read its share of a side to the end, or has found
/// a row without a key. Their length is not that of rows.
const END: &[u8] = b"e";
const KEYLESS: &[u8] = b"k";

/// How the rows of a side ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SideEnd {
    All,
    /// A row has no key.
    Keyless,
    /// The other process has ended.
    Lost,
}

/// What one process does: it keeps its own rows and those that the other one sends.
pub struct Exchange<'x, S, const N: usize> {
    pub rows: &'x mut Gathered<TempFile<'static>, N>,
    pub sink: &'x mut S,
    pub bits: BitValues,
    /// Whether rows go to files when memory does not hold them. Otherwise no row is kept then.
    pub spills: bool,
    /// Whether rows are kept at all.
    pub keeps: bool,
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
    pub fn share(
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

//! simhash_index_verify: the structure of every page, each row's postings in all four key spaces,
//! and on request every row of the table in the index.
//!
//! Others read and write during the check. A walk over a key space meets every posting that is
//! there from its start to its end, so what two walks agree on is right. A row on which they do not
//! agree may have been inserted or removed between them: it is looked up again at the end
//! ([`SuspectRows`]).

use super::postings::Postings;
use super::suspect_rows::SuspectRows;
use crate::citus::refuse_distributed;
use crate::index::build::posting_sorter::PostingSorter;
use crate::index::store::read_meta;
use pgrx::pg_sys;
use simhash_hamming::check::key_comparison::KeyComparison;
use simhash_hamming::check::page_source::PageSource;
use simhash_hamming::check::pages::{Finding, StructureCheck};
use simhash_hamming::key::{Key, SPACES, Space};
use simhash_hamming::page::Page;
use simhash_hamming::page::meta::Meta;
use simhash_pg::am::access::OpenPurpose;
use simhash_pg::am::open::{LatestSnapshot, OpenIndex};
use simhash_pg::am::row_address::RowAddresses;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::page::buffer::Pinned;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::maintenance_work_mem_bytes;
use simhash_pg::sql::fmgr::pg_function;
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use std::cell::{Cell, RefCell};

const NAME: &str = "simhash_index_verify";

pg_function! {
    /// simhash_index_verify(regclass, heapallindexed boolean)
    ///     -> SETOF (block bigint, "offset" int, fault text); no row when the index is sound.
    fn simhash_index_verify, pg_finfo_simhash_index_verify(args) {
        let mut rows = RowsOut::begin(args);
        let (Some(oid), Some(all_rows)) = (args.get::<pg_sys::Oid>(0), args.get::<bool>(1)) else {
            return args.null();
        };
        let open = OpenIndex::new(oid, c"simhash", OpenPurpose::Verification);
        refuse_distributed(&open, OpenPurpose::Verification);
        let _owner = open.as_owner();
        // One row at a time: an index that lacks every row of its table has millions of findings.
        verify(&open, all_rows, &mut |finding| {
            rows.push([
                Some(ResultValue::from(i64::from(finding.block))),
                finding.offset.map(|i| ResultValue::from(i as i32)),
                Some(ResultValue::Text(&finding.text)),
            ]);
        });
        args.null()
    }
}

/// The file's pages. Its length is measured again when a link leads beyond what is known.
struct IndexFile<'r> {
    rel: Rel<'r>,
    blocks: Cell<u32>,
    read: Cell<u32>,
    activity: &'r RefCell<Activity>,
}

impl<'r> IndexFile<'r> {
    fn new(rel: Rel<'r>, activity: &'r RefCell<Activity>) -> IndexFile<'r> {
        IndexFile {
            rel,
            blocks: Cell::new(rel.block_count()),
            read: Cell::new(0),
            activity,
        }
    }
}

impl PageSource for IndexFile<'_> {
    fn page(&self, block: u32) -> Option<Box<Page>> {
        check_for_interrupts();
        if block >= self.blocks.get() {
            self.blocks.set(self.rel.block_count());
        }
        if block >= self.blocks.get() {
            return None;
        }
        self.read.set(self.read.get() + 1);
        let (read, blocks) = (self.read.get().into(), self.blocks.get().into());
        (self.activity.borrow_mut()).show("reading pages of the index", read, Some(blocks));
        Some(Box::new(*Pinned::read(self.rel, block).share()))
    }

    fn read_ahead_limit(&self) -> usize {
        self.rel.maintenance_io_concurrency()
    }

    fn read_ahead(&self, block: u32) {
        Pinned::read_ahead(self.rel, block, &Cell::new(0));
    }
}

/// A verification of an index.
struct Verification<'v> {
    open: &'v OpenIndex,
    addresses: RowAddresses,
    suspects: SuspectRows,
    activity: &'v RefCell<Activity>,
    /// Bytes that the sorting of one key space's rows, or of the table's, may use.
    memory: usize,
    /// The key spaces whose pages were found sound so far.
    sound: [bool; SPACES],
}

fn verify(open: &OpenIndex, all_rows: bool, report: &mut dyn FnMut(Finding)) {
    let meta = read_meta(open.index());
    let activity = RefCell::new(Activity::new(NAME));
    let memory = maintenance_work_mem_bytes();
    let mut run = Verification {
        open,
        addresses: RowAddresses::default(),
        suspects: SuspectRows::new(memory / 4),
        activity: &activity,
        memory: memory / 4 * 3,
        sound: [false; SPACES],
    };
    run.check_pages(&meta, report);
    if all_rows {
        run.check_table();
    }
    let Verification {
        suspects, sound, ..
    } = run;
    suspects.recheck(open, &sound, &activity, report);
}

impl Verification<'_> {
    /// Returns the first key space with sound pages: the others, and the table, are compared with
    /// it. A key space files each row that has a fingerprint.
    fn base(&self) -> Option<Space> {
        Space::quarters().find(|space| self.sound[space.index()])
    }

    /// Checks the pages, and that each key space files what the others file.
    fn check_pages(&mut self, meta: &Meta, report: &mut dyn FnMut(Finding)) {
        let index = self.open.index();
        let file = IndexFile::new(index, self.activity);
        let mut structure = StructureCheck::new(&file, meta, report);
        for space in Space::all() {
            let mut rows = (self.base().filter(|_| space != Space::NULL))
                .map(|base| (base, PostingSorter::new(base, self.memory)));
            let addresses = &mut self.addresses;
            let sound = structure.check(space, |key| {
                let possible = addresses.is_possible(index, key.tid);
                if let Some((_, rows)) = rows.as_mut().filter(|_| possible) {
                    rows.add(space.indexed_row(key), key.tid);
                }
                possible
            });
            self.sound[space.index()] = sound;
            if let Some((base, rows)) = rows.filter(|_| sound) {
                self.compare(base, rows, &format!("key space {}", space.index()));
            }
        }
    }

    /// Checks that the index files what the table has.
    fn check_table(&mut self) {
        // Taken before the index is walked, and kept: while it is held, VACUUM removes no posting
        // of a row that it sees.
        let snapshot = LatestSnapshot::take();
        let mut with_fingerprint =
            (self.base()).map(|base| (base, PostingSorter::new(base, self.memory / 2)));
        let mut null = self.sound[Space::NULL.index()].then(|| {
            (
                Space::NULL,
                PostingSorter::new(Space::NULL, self.memory / 2),
            )
        });
        let (activity, mut count) = (self.activity, 0);
        self.open.visible_rows(&snapshot, &mut |row, tid| {
            show_rows(activity, &mut count, || {
                "reading rows of the table".to_owned()
            });
            let rows = match row.fingerprint {
                Some(_) => &mut with_fingerprint,
                None => &mut null,
            };
            if let Some((_, rows)) = rows {
                rows.add(row, tid);
            }
        });
        for (space, rows) in with_fingerprint.into_iter().chain(null) {
            self.compare(space, rows, "the table");
        }
    }

    /// Notes each row that only one of the two has: the key space, and the rows of `what`, which
    /// are sorted in its order.
    fn compare(&mut self, space: Space, rows: PostingSorter, what: &str) {
        let (index, number) = (self.open.index(), space.index());
        let mut count = 0;
        let (addresses, suspects) = (&mut self.addresses, &mut self.suspects);
        let postings =
            Postings::new(index, space).filter(|key| addresses.is_possible(index, key.tid));
        let mut comparison = KeyComparison::new(postings, |key: Key| suspects.add(space, key));
        rows.finish(|key| {
            show_rows(self.activity, &mut count, || {
                format!("comparing {what} with key space {number}")
            });
            comparison.push(key);
        });
        comparison.finish();
    }
}

/// Counts a row, and now and then shows the count as the session's activity.
fn show_rows(activity: &RefCell<Activity>, count: &mut u64, what: impl FnOnce() -> String) {
    *count += 1;
    if count.is_multiple_of(1024) {
        (activity.borrow_mut()).show(&what(), *count, None);
    }
}

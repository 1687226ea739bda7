//! simhash_index_verify: the structure of every page, each row's postings in all four key spaces,
//! and on request every row of the table in the index.
//!
//! Others read and write during the check. A walk over a key space ([`Postings`]) meets every posting that
//! is there from its start to its end, so what two walks agree on is right. A row on which they do not
//! agree may have been inserted or removed between them: it is looked up again at the end
//! ([`SuspectRows`]).

use super::buffer::Pinned;
use super::open_index::{LatestSnapshot, OpenIndex, OpenPurpose, RowReader, VisibleRow};
use super::row_address::RowAddresses;
use super::spool::PostingSorter;
use super::store::{IndexPages, read_meta, tree_of};
use crate::citus::refuse_distributed;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_base::indexed_row::Tid;
use simhash_base::indexed_row::{IndexedRow, NO_SCOPE};
use simhash_hamming::check::pages::{Finding, PageSource, StructureCheck};
use simhash_hamming::check::walks::{KeyComparison, LevelAhead};
use simhash_hamming::key::{Position, QUARTERS, SPACES, Space};
use simhash_hamming::page::kernel::Candidates;
use simhash_hamming::page::leaf_scan::Filter;
use simhash_hamming::page::meta::{META_BLOCK, Meta};
use simhash_hamming::page::{Page, internal, leaf, leaf_scan, list, special};
use simhash_hamming::tree::Tree;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::maintenance_work_mem_bytes;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use std::cell::{Cell, RefCell};

const NAME: &str = "simhash_index_verify";

pg_function!(simhash_index_verify);
/// simhash_index_verify(regclass, heapallindexed boolean)
///     -> SETOF (block bigint, "offset" int, fault text); no row when the index is sound.
fn simhash_index_verify(args: &Args) -> Datum {
    let mut rows = RowsOut::begin(args);
    let (Some(oid), Some(all_rows)) = (args.get::<pg_sys::Oid>(0), args.get::<bool>(1)) else {
        return args.null();
    };
    let open = OpenIndex::new(oid, OpenPurpose::Verification);
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
        let mut comparison = KeyComparison::new(postings, |key: Position| suspects.add(space, key));
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

/// The postings of a key space in order, while others write. Walks the leaves from left to right. Between two leaves it holds no lock and no
/// pin. Still it meets no posting twice, and misses none that was there all the time: a leaf's
/// upper end stays a boundary forever.
struct Postings<'r> {
    rel: Rel<'r>,
    tree: Tree<IndexPages<'r>>,
    /// Where the walk goes on, and the leaf that began there; None at the end.
    next: Option<(Position, u32)>,
    leaf: std::vec::IntoIter<Position>,
    /// Leaves to come, as the level above had them when they were looked up.
    ahead: LevelAhead,
    /// Where the leaves after those begin; None if there are none, or none is known.
    unknown: Option<Position>,
}

impl<'r> Postings<'r> {
    fn new(rel: Rel<'r>, space: Space) -> Postings<'r> {
        let tree = tree_of(rel, space);
        let first = tree.leaf_block(Position::MIN);
        Postings {
            rel,
            tree,
            next: Some((Position::MIN, first)),
            leaf: Vec::new().into_iter(),
            ahead: LevelAhead::default(),
            unknown: Some(Position::MIN),
        }
    }

    /// Asks for the leaves that come after the one that begins at `from`. These are only hints: the
    /// walk follows the right links.
    fn read_ahead(&mut self, from: Position) {
        let window = self.rel.maintenance_io_concurrency();
        if window == 0 {
            return;
        }
        while self.ahead.first().is_some_and(|(low, _)| low < from) {
            self.ahead.pop();
        }
        while self.ahead.known() <= window
            && let Some(begin) = self.unknown.take()
        {
            let begin = begin.max(from);
            let Some((page, _)) = self.tree.parent_of_leaf(None, begin) else {
                return;
            };
            for link in internal::links_between(&page, begin, Position::END) {
                self.ahead.push(link.key, link.child);
            }
            self.unknown = special::high_key(&page);
        }
        (self.ahead).read_ahead(window, |block| {
            Pinned::read_ahead(self.rel, block, &Cell::new(0));
        });
    }
}

impl Iterator for Postings<'_> {
    type Item = Position;

    fn next(&mut self) -> Option<Position> {
        loop {
            if let Some(key) = self.leaf.next() {
                return Some(key);
            }
            let (from, block) = self.next?;
            check_for_interrupts();
            self.read_ahead(from);
            let page = self.tree.leaf_from(Pinned::read(self.rel, block), from);
            self.leaf = leaf::sorted_postings(&page).into_iter();
            self.next = special::right(&page).map(|(right, high)| (high, right));
        }
    }
}

/// A row, and the postings that were found of it.
type SuspectRow = (Tid, IndexedRow);

/// Rows whose postings may be wrong. Each is looked up again under a snapshot that is taken first and kept;
/// what is still wrong then is a fault. If the snapshot sees a row at the address, the postings of that row
/// must all be in the index: the transaction that wrote it has ended, and VACUUM removes none of them while
/// the snapshot is held. There is also no posting left of an earlier row at the same address: VACUUM frees a
/// row's place only after the index has been cleaned. So rows that were inserted or removed during the check
/// are never reported.
struct SuspectRows {
    with_fingerprint: PostingSorter,
    without: PostingSorter,
    memory: usize,
}

impl SuspectRows {
    /// `memory` is the number of bytes that they may use.
    fn new(memory: usize) -> SuspectRows {
        SuspectRows {
            with_fingerprint: PostingSorter::new(Space::of_quarter(0), memory / 2),
            without: PostingSorter::new(Space::NULL, memory / 4),
            memory: memory / 4,
        }
    }

    /// Notes a row as a key space files it, or would.
    fn add(&mut self, space: Space, key: Position) {
        let sorter = if space == Space::NULL {
            &mut self.without
        } else {
            &mut self.with_fingerprint
        };
        sorter.add(space.indexed_row(key), key.tid);
    }

    /// Looks each up again, in the spaces whose pages are sound, and reports the faults.
    fn recheck(
        self,
        open: &OpenIndex,
        sound: &[bool; SPACES],
        activity: &RefCell<Activity>,
        report: &mut dyn FnMut(Finding),
    ) {
        let mut check = SecondCheck {
            open,
            sound,
            activity,
            report,
            checked: 0,
        };
        let sorters = [
            (self.with_fingerprint, Space::of_quarter(0)),
            (self.without, Space::NULL),
        ];
        for (sorter, space) in sorters {
            let limit = (self.memory / size_of::<SuspectRow>()).max(1000);
            let mut batch: Vec<SuspectRow> = Vec::new();
            let mut last = None;
            sorter.finish(|key| {
                // Several comparisons can note the same row.
                if last.replace(key) == Some(key) {
                    return;
                }
                batch.push((key.tid, space.indexed_row(key)));
                if batch.len() >= limit {
                    check.run(&mut batch);
                }
            });
            check.run(&mut batch);
        }
    }
}

struct SecondCheck<'l> {
    open: &'l OpenIndex,
    sound: &'l [bool; SPACES],
    activity: &'l RefCell<Activity>,
    report: &'l mut dyn FnMut(Finding),
    checked: u64,
}

impl SecondCheck<'_> {
    /// Checks some rows again, in the order of the table's pages.
    fn run(&mut self, batch: &mut Vec<SuspectRow>) {
        if batch.is_empty() {
            return;
        }
        batch.sort_unstable_by_key(|(tid, _)| *tid);
        let snapshot = LatestSnapshot::take();
        let mut rows = RowReader::new(self.open, &snapshot);
        for (tid, indexed) in batch.drain(..) {
            check_for_interrupts();
            self.checked += 1;
            (self.activity.borrow_mut()).show("looking rows up again", self.checked, None);
            match rows.row(tid) {
                VisibleRow::None => {}
                VisibleRow::Stored(row) if row == indexed => self.check_indexed_once(tid, row),
                VisibleRow::Stored(row) => {
                    let what = format!("has {}", shown(row));
                    self.check_not_indexed(tid, indexed, &what);
                }
                VisibleRow::LeftOut => {
                    let what = "does not meet the index's predicate";
                    self.check_not_indexed(tid, indexed, what);
                }
            }
        }
    }

    /// Checks that a row has one posting in each key space of its fingerprint.
    fn check_indexed_once(&mut self, tid: Tid, row: IndexedRow) {
        let counts = self.counts(tid, row);
        let numbers = |has_fault: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let found = counts.iter().filter(|(_, count)| has_fault(*count));
            found.map(|(number, _)| *number).collect()
        };
        let (missing, twice) = (numbers(&|count| count == 0), numbers(&|count| count > 1));
        let all = if row.fingerprint.is_some() {
            QUARTERS
        } else {
            1
        };
        if !missing.is_empty() {
            let (n, which) = (missing.len(), list(&missing));
            self.report(format!(
                "row {tid} is missing in {n} of {all} key spaces: {which}"
            ));
        }
        if !twice.is_empty() {
            let which = list(&twice);
            self.report(format!(
                "row {tid} is filed more than once in key space {which}"
            ));
        }
    }

    /// Checks that a row has no posting under another scope or fingerprint than its own.
    fn check_not_indexed(&mut self, tid: Tid, row: IndexedRow, what: &str) {
        let counts = self.counts(tid, row);
        let spaces = counts.iter().filter(|(_, count)| *count > 0);
        let spaces: Vec<usize> = spaces.map(|(number, _)| *number).collect();
        if !spaces.is_empty() {
            let (which, under) = (list(&spaces), shown(row));
            self.report(format!(
                "row {tid} {what}, but is filed in key space {which} with {under}"
            ));
        }
    }

    /// Returns how many such postings a row has, in each sound key space where it would be.
    fn counts(&self, tid: Tid, row: IndexedRow) -> Vec<(usize, usize)> {
        let spaces = Space::all().filter(|space| {
            (*space == Space::NULL) == row.fingerprint.is_none() && self.sound[space.index()]
        });
        spaces
            .map(|space| (space.index(), self.count(space, space.key(row, tid))))
            .collect()
    }

    fn count(&self, space: Space, key: Position) -> usize {
        let index = self.open.index();
        let exactly = Filter {
            first_scope: key.scope,
            last_scope: key.scope,
            query: key.rotated,
            radius: 0,
            beyond: -1,
            within: 0,
            next_least: 0,
        };
        let (mut count, mut room) = (0, Candidates::none());
        let page = tree_of(index, space).leaf(key);
        leaf_scan::scan(&page, &exactly, key, &mut room, |found, _| {
            count += usize::from(found == key);
        });
        count
    }

    /// Reports a fault of the index as a whole rather than of a page.
    fn report(&mut self, text: String) {
        (self.report)(Finding {
            block: META_BLOCK,
            offset: None,
            text,
        });
    }
}

/// Returns a row's fingerprint as SQL shows it, and its scope.
fn shown(row: IndexedRow) -> String {
    let fingerprint = match row.fingerprint {
        Some(bits) => format!("fingerprint {}", bits as i64),
        None => "no fingerprint".to_owned(),
    };
    match row.scope {
        NO_SCOPE => fingerprint,
        scope => format!("{fingerprint} in scope {scope:#010x}"),
    }
}

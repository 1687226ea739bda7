//! Postings in the order of key spaces, in memory up to a limit, beyond it in sorted runs in files: a
//! [`Spool`] has the rows of a build for all spaces, a [`PostingSorter`] those that verification compares
//! with one. `simhash_hamming::build` sorts and loads.

use super::insert::check_tid;
use simhash_base::indexed_row::IndexedRow;
use simhash_base::indexed_row::Tid;
use simhash_base::runs::Runs;
use simhash_hamming::build::load::{BuildOptions, Loaded, Loader, PageSink};
use simhash_hamming::build::sort::{Posting, SortScope, merge, sort_for};
use simhash_hamming::key::{Position, SPACES, Space};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{or_out_of_memory, push_within, reserve};
use simhash_pg::process::temp_file::TempFile;

/// Makes the file for the runs of one space.
type NewFile<'f> = &'f dyn Fn(Space) -> TempFile<'f>;

/// The rows gathered so far.
pub struct Spool<'f, S> {
    with_fingerprint: Vec<Posting<S>>,
    without: Vec<Posting<S>>,
    spare: Vec<Posting<S>>,
    /// Rows that fit the memory.
    limit: usize,
    new_file: NewFile<'f>,
    /// Runs of each space, once the limit was reached.
    runs: Option<[Runs<TempFile<'f>, Posting<S>>; SPACES]>,
    pub rows: u64,
    pub null_rows: u64,
}

impl<'f, S: SortScope> Spool<'f, S> {
    pub fn new(memory: usize, new_file: NewFile<'f>) -> Spool<'f, S> {
        Spool {
            with_fingerprint: Vec::new(),
            without: Vec::new(),
            spare: Vec::new(),
            limit: (memory / 2 / size_of::<Posting<S>>()).max(1000),
            new_file,
            runs: None,
            rows: 0,
            null_rows: 0,
        }
    }

    pub fn add(&mut self, row: IndexedRow, tid: Tid) {
        check_tid(tid);
        let (rows, count) = match row.fingerprint {
            Some(_) => (&mut self.with_fingerprint, &mut self.rows),
            None => (&mut self.without, &mut self.null_rows),
        };
        *count += 1;
        push_within(rows, Posting::new(row, tid), self.limit);
        if self.with_fingerprint.len() + self.without.len() >= self.limit {
            self.spill();
        }
    }

    /// Writes what is in memory as one more run of every space.
    fn spill(&mut self) {
        let mut runs = self.runs.take().unwrap_or_else(|| {
            let mut spaces = Space::all();
            std::array::from_fn(|_| {
                let space = spaces.next().unwrap_or(Space::NULL);
                Runs::new((self.new_file)(space))
            })
        });
        for space in Space::all() {
            sort(
                space,
                of_space(space, &self.with_fingerprint, &self.without),
                &mut self.spare,
            );
            runs[space.index()].add(&self.spare);
        }
        // They are freed, not cleared: otherwise each of the two could hold memory for the whole
        // limit in the end.
        self.with_fingerprint = Vec::new();
        self.without = Vec::new();
        self.runs = Some(runs);
    }

    /// Returns all rows as runs of each space.
    pub fn into_runs(mut self) -> Option<[Runs<TempFile<'f>, Posting<S>>; SPACES]> {
        if self.rows + self.null_rows > 0 {
            self.spill();
        }
        self.runs
    }

    /// Loads every space.
    pub fn load(
        mut self,
        sink: &mut impl PageSink,
        stamp: u32,
        options: BuildOptions,
        memory: usize,
    ) -> [Loaded; SPACES] {
        if self.runs.is_some() {
            self.spill();
        }
        let mut runs = self.runs.take().map(IntoIterator::into_iter);
        let mut spaces = Space::all();
        std::array::from_fn(|_| {
            let space = spaces.next().unwrap_or(Space::NULL);
            let mut loader = Loader::new(sink, space, stamp, options);
            match runs.as_mut().and_then(Iterator::next) {
                Some(runs) => {
                    or_out_of_memory(merge(vec![runs], memory / 2, |key| loader.push(key)))
                }
                None => {
                    sort(
                        space,
                        of_space(space, &self.with_fingerprint, &self.without),
                        &mut self.spare,
                    );
                    let postings = self.spare.iter();
                    postings.for_each(|posting| loader.push(posting.key()));
                }
            }
            loader.finish()
        })
    }
}

/// Sorts into `spare`.
fn sort<S: SortScope>(space: Space, postings: &[Posting<S>], spare: &mut Vec<Posting<S>>) {
    reserve(spare, postings.len().saturating_sub(spare.len()));
    sort_for(space, postings, spare, &mut check_for_interrupts);
}

fn of_space<'p, S>(
    space: Space,
    rows: &'p [Posting<S>],
    null_rows: &'p [Posting<S>],
) -> &'p [Posting<S>] {
    if space == Space::NULL {
        null_rows
    } else {
        rows
    }
}

/// Rows to be sorted into the order of a key space.
pub struct PostingSorter {
    order: Space,
    rows: Vec<Posting<u32>>,
    spare: Vec<Posting<u32>>,
    /// Rows that fit half of the memory; the other half is the sort's target.
    limit: usize,
    memory: usize,
    runs: Option<Runs<TempFile<'static>, Posting<u32>>>,
}

impl PostingSorter {
    /// `memory` is the number of bytes that it may use.
    pub fn new(order: Space, memory: usize) -> PostingSorter {
        PostingSorter {
            order,
            rows: Vec::new(),
            spare: Vec::new(),
            limit: (memory / 2 / size_of::<Posting<u32>>()).max(1000),
            memory,
            runs: None,
        }
    }

    pub fn add(&mut self, row: IndexedRow, tid: Tid) {
        push_within(&mut self.rows, Posting::new(row, tid), self.limit);
        if self.rows.len() >= self.limit {
            self.spill();
        }
    }

    fn spill(&mut self) {
        sort(self.order, &self.rows, &mut self.spare);
        self.rows.clear();
        self.runs
            .get_or_insert_with(|| Runs::new(TempFile::new()))
            .add(&self.spare);
    }

    /// Calls `emit` with all rows in order, each as the key space files it.
    pub fn finish(mut self, mut emit: impl FnMut(Position)) {
        if self.runs.is_some() && !self.rows.is_empty() {
            self.spill();
        }
        match self.runs {
            Some(runs) => {
                (self.rows, self.spare) = (Vec::new(), Vec::new());
                or_out_of_memory(merge(vec![runs], self.memory, emit));
            }
            None if self.rows.is_empty() => {}
            None => {
                sort(self.order, &self.rows, &mut self.spare);
                self.rows = Vec::new();
                self.spare.iter().for_each(|posting| emit(posting.key()));
            }
        }
    }
}

//! The rows of a build, gathered: in memory up to a limit, beyond it in sorted runs of each space.

#![forbid(unsafe_code)]

use super::output::BuildOutput;
use simhash_base::indexed_row::IndexedRow;
use simhash_base::runs::Runs;
use simhash_base::tid::Tid;
use simhash_hamming::build::load::{BuildOptions, Loaded, Loader};
use simhash_hamming::build::sort::{Posting, SortScope, merge, sort_for};
use simhash_hamming::key::{SPACES, Space};
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
        crate::index::insert::check_tid(tid);
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
        output: &mut BuildOutput,
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
            let mut loader = Loader::new(output, space, stamp, options);
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
pub fn sort<S: SortScope>(space: Space, postings: &[Posting<S>], spare: &mut Vec<Posting<S>>) {
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

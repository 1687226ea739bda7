//! Reads what a check needs of the rows that have pairs, and judges the pairs: one row for each
//! class of rows that are judged alike.
//!
//! Values are read in chunks of a few hundred rows, of short ones more, of which at most two are in
//! memory. Where a chunk would take more than half of `work_mem`, smaller ones are read. Rows are put
//! into chunks component by component, so that most pairs lie within one chunk.

use super::judge::Judge;
use super::paired_rows::{
    EdgeList, add_edge, for_each_edge, memory_of_pairs, no_edges, representatives_by,
};
use super::value_reader::ValueReader;
use simhash_hamming::components::edge_sort::{ByNumbers, EdgeSorter, SortedEdges};
use simhash_hamming::components::edges::Edge;
use simhash_hamming::components::group::{Classes, ClusterMethod};
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{
    collected, filled, in_scratch, or_out_of_memory, work_mem_bytes,
};
use simhash_pg::process::temp_file::{TempFile, TempFiles};

/// Rows of the first chunk. All chunks have a power of two.
const CHUNK: u32 = 256;
/// Maximum number of rows of a chunk. A row is read again for each chunk that has a pair with its own.
const LARGEST: u32 = 1 << 14;
/// Factor by which chunks that are too large are divided. Each attempt reads the long values again,
/// so there should be few.
const SHRINK: u32 = 16;
/// Number of pairs that are judged with smaller chunks before the largest are tried again;
/// doubled each time.
const PATIENCE: u64 = 1024;
/// A chunk's number and what is kept of its rows; None where the value is NULL.
type Chunk<K> = (u32, Vec<Option<K>>);

/// The values of one row of each class.
pub struct Chunks<'t, J: Judge> {
    values: &'t ValueReader<'t>,
    classes: &'t Classes,
    judge: J,
    /// Rows in the order of chunks, and each class's place there.
    rows: Vec<u32>,
    places: Vec<u32>,
    /// Rows of a chunk, and of one that most values fit in; None before the first was read.
    chunk: u32,
    largest: Option<u32>,
    chunks: [Option<Chunk<J::Kept>>; 2],
    patience: u64,
}

impl<'t, J: Judge> Chunks<'t, J> {
    pub fn new(
        values: &'t ValueReader<'t>,
        classes: &'t Classes,
        pairs: &mut EdgeList,
        judge: J,
    ) -> Self {
        let components = representatives_by(ClusterMethod::Components, classes, pairs);
        let first = |class: u32| classes.first(class);
        let mut order = collected(0..classes.count() as u32);
        order.sort_unstable_by_key(|class| {
            check_for_interrupts();
            (components[first(*class) as usize], *class)
        });
        let mut places = filled(order.len(), 0);
        for (place, class) in (0..).zip(&order) {
            check_for_interrupts();
            places[*class as usize] = place;
        }
        Chunks {
            values,
            classes,
            judge,
            rows: collected(order.into_iter().map(first)),
            places,
            chunk: CHUNK,
            largest: None,
            chunks: [None, None],
            patience: PATIENCE,
        }
    }

    /// Calls `each` with each pair of classes, in any order, and the verdict; None where it does not
    /// pass, and where a value is NULL or gone. Leaves out the pairs that are not wanted when their
    /// turn comes. All pairs in which a class comes second are shown before those in which it comes first.
    pub fn judge(
        &mut self,
        pairs: EdgeList,
        activity: &mut Activity,
        is_wanted: &mut dyn FnMut(Edge) -> bool,
        each: &mut dyn FnMut(Edge, Option<J::Verdict>),
    ) {
        let (mut done, total) = (0, pairs.count());
        let rows =
            usize::try_from(2 * total).map_or(self.rows.len(), |rows| rows.min(self.rows.len()));
        self.values.prepare(rows, activity);
        let mut places = or_out_of_memory(pairs.map(&mut TempFiles, |pair| self.to_places(pair)));
        while places.count() > 0 {
            let mut sorted = self.by_chunks(places);
            let (mut left, from) = (no_edges(), done);
            for pair in sorted.by_ref() {
                check_for_interrupts();
                activity.show("checking pairs", done, Some(total));
                if !is_wanted(self.to_classes(pair)) {
                    done += 1;
                    continue;
                }
                if !self.is_ready(pair, done - from) {
                    add_edge(&mut left, pair);
                    break;
                }
                let verdict = self.verdict(pair);
                each(self.to_classes(pair), verdict);
                done += 1;
            }
            sorted.for_each(|pair| add_edge(&mut left, pair));
            places = left;
        }
    }

    /// Judges two places.
    fn verdict(&mut self, pair: Edge) -> Option<J::Verdict> {
        let kept = |place| value(&self.chunks, self.chunk, place);
        let (a, b) = (kept(pair.a)?, kept(pair.b)?);
        let row = |place: u32| self.rows[place as usize];
        self.judge.judge((row(pair.a), a), (row(pair.b), b))
    }

    /// Converts a pair of classes to one of places, the smaller first.
    fn to_places(&self, pair: Edge) -> Edge {
        let place = |class: u32| self.places[class as usize];
        let (a, b) = (place(pair.a), place(pair.b));
        Edge {
            a: a.min(b),
            b: a.max(b),
            ..pair
        }
    }

    fn to_classes(&self, pair: Edge) -> Edge {
        let class = |place: u32| self.classes.class_of(self.rows[place as usize]);
        Edge {
            a: class(pair.a),
            b: class(pair.b),
            ..pair
        }
    }

    /// Sorts pairs of places so that those whose values are in the same chunks are side by side, and within them by
    /// the first place.
    fn by_chunks(&self, mut pairs: EdgeList) -> SortedEdges<TempFile<'static>> {
        let mut sorter = EdgeSorter::new(
            memory_of_pairs(),
            ByNumbers::in_squares(self.chunk.trailing_zeros()),
        );
        for_each_edge(&mut pairs, |pair| {
            or_out_of_memory(sorter.add(pair, &mut TempFiles));
        });
        or_out_of_memory(sorter.finish(&mut TempFiles))
    }

    /// Makes sure that the values of two places are in memory; returns false when chunks of another
    /// size are to be tried. `judged` is the number of pairs judged with chunks of this size.
    fn is_ready(&mut self, pair: Edge, judged: u64) -> bool {
        let chunk = self.chunk;
        let Some(largest) = self.largest else {
            let rows = self.rows_that_fit(pair.a / chunk);
            self.largest = Some(rows);
            self.rechunk(rows);
            return false;
        };
        if chunk < largest && judged >= self.patience {
            // A few long values should not cause a query for each row of all that follow.
            self.patience *= 2;
            self.rechunk(largest);
            return false;
        }
        let is_loaded = self.load(pair.a / chunk, pair.b / chunk);
        if !is_loaded {
            self.rechunk(chunk / SHRINK);
        }
        is_loaded
    }

    /// Returns how many rows a chunk may have, if their values are as long as those of this one: an
    /// eighth of `work_mem`.
    fn rows_that_fit(&self, chunk: u32) -> u32 {
        let Some(values) = in_scratch(|| self.read(chunk)) else {
            return CHUNK;
        };
        let bytes: usize = values.iter().flatten().map(J::bytes).sum();
        let row = size_of::<Option<J::Kept>>() + bytes / values.len().max(1);
        let rows = u32::try_from(work_mem_bytes() / 8 / row).unwrap_or(LARGEST);
        1 << rows.clamp(CHUNK, LARGEST).ilog2()
    }

    /// Continues with chunks of `rows` rows.
    fn rechunk(&mut self, rows: u32) {
        self.chunk = rows;
        self.chunks = [None, None];
    }

    /// Makes sure that two chunks are in memory; returns false when they are too large for it.
    fn load(&mut self, first: u32, second: u32) -> bool {
        for (missing, other) in [(first, second), (second, first)] {
            let number = |chunk: &Option<Chunk<J::Kept>>| chunk.as_ref().map(|chunk| chunk.0);
            if self
                .chunks
                .iter()
                .any(|chunk| number(chunk) == Some(missing))
            {
                continue;
            }
            let free = usize::from(number(&self.chunks[0]) == Some(other));
            self.chunks[free] = None;
            // The array of keys is one of many, so it is freed with the scratch memory.
            match in_scratch(|| self.read(missing)) {
                Some(values) => self.chunks[free] = Some((missing, values)),
                None => return false,
            }
        }
        true
    }

    /// Reads the values of a chunk; returns None when they take too much memory, unless it is one
    /// row's.
    fn read(&self, chunk: u32) -> Option<Vec<Option<J::Kept>>> {
        let start = chunk * self.chunk;
        let end = (start + self.chunk).min(self.rows.len() as u32);
        let rows = &self.rows[start as usize..end as usize];
        let mut values: Vec<Option<J::Kept>> = vec![None; rows.len()];
        let (mut bytes, limit) = (0, work_mem_bytes() / 2);
        let place = |row: u32| {
            let place = self.places[self.classes.class_of(row) as usize];
            let is_in_chunk = self.rows[place as usize] == row && (start..end).contains(&place);
            is_in_chunk.then(|| (place - start) as usize)
        };
        self.values.read(rows, place, |place, value| {
            if bytes <= limit || rows.len() == 1 {
                let kept = self.judge.keep(value);
                bytes += J::bytes(&kept);
                values[place] = Some(kept);
            }
        });
        (bytes <= limit || rows.len() == 1).then_some(values)
    }
}

/// Returns what is kept of a place, in chunks of this number of rows.
fn value<K>(chunks: &[Option<Chunk<K>>; 2], chunk: u32, place: u32) -> Option<&K> {
    let mut chunks = chunks.iter().flatten();
    let found = chunks.find(|found| found.0 == place / chunk)?;
    found.1[(place % chunk) as usize].as_ref()
}

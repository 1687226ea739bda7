//! Compares the texts of rows that have pairs by their Jaccard similarity (as simhash_jaccard
//! does): one text for each class of rows whose fingerprints and texts are equal.
//!
//! Texts are read by key, in chunks of a few hundred rows, of which at most two are in memory.
//! Where a chunk would take more than half of `work_mem`, smaller ones are read. Rows are put into
//! chunks component by component, so that most pairs lie within one chunk.

use super::paired_rows::{
    EdgeList, PairedRows, add_edge, for_each_edge, memory_of_pairs, no_edges, representatives_by,
};
use crate::pairs::source::SourceTable;
use crate::row::jaccard::{Comparer, letters};
use pgrx::PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED;
use pgrx::pg_sys;
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::Similarity;
use simhash_fingerprint::text::ngrams::GramLengths;
use simhash_hamming::components::edge_sort::{ByNumbers, EdgeSorter, SortedEdges};
use simhash_hamming::components::edges::Edge;
use simhash_hamming::components::group::{Classes, ClusterMethod};
use simhash_pg::catalog::table::type_name;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::{
    collected, filled, in_scratch, keep_reserve, or_out_of_memory, work_mem_bytes,
};
use simhash_pg::process::temp_file::{TempFile, TempFiles};
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::value::Value;

/// Maximum number of rows of a chunk. Smaller chunks have a power of two as well.
const CHUNK: u32 = 256;
/// Factor by which chunks that are too large are divided. Each attempt reads the long texts again,
/// so there should be few.
const SHRINK: u32 = 16;
/// Number of pairs that are compared with smaller chunks before the largest are tried again;
/// doubled each time.
const PATIENCE: u64 = 1024;
/// Number of rows whose texts one query of [`TextReader::read_all`] reads: where no index serves, it
/// reads the whole table.
const ROWS: usize = 4096;
/// A chunk's number and its rows' letters; None where the text is NULL.
type Chunk = (u32, Vec<Option<Letters>>);

/// The texts of the rows that have pairs, in the table.
pub struct TextReader<'m> {
    pub members: &'m PairedRows,
    source: &'m SourceTable,
    sql: String,
}

impl<'m> TextReader<'m> {
    /// `column` is a column of text, as SQL.
    pub fn new(source: &'m SourceTable, column: &str, members: &'m PairedRows) -> Self {
        let (expression, key, fp) = (source.key_expression(), &source.key, &source.fp);
        let table = &source.table_name;
        let equality = members.order.equality();
        let equality = equality.unwrap_or_else(|| no_arrays(source.key_type));
        let has_listed_key = equality.any_of(key, "$1");
        // Rows without a fingerprint may share a key.
        let sql = format!(
            "SELECT {expression}, {column}::pg_catalog.text FROM {table}
            WHERE {has_listed_key} AND {fp}::pg_catalog.int8 IS NOT NULL"
        );
        TextReader {
            members,
            source,
            sql,
        }
    }

    /// Calls `each` with the place and the text of each of these rows that has one, in any order.
    /// `place` returns the place of a row.
    pub fn read(
        &self,
        rows: &[u32],
        place: impl Fn(u32) -> Option<usize>,
        mut each: impl FnMut(usize, Value<'_>),
    ) {
        let keys = rows.iter().map(|row| self.members.key(*row as usize));
        let array = self.members.order.array(keys);
        let array = array.unwrap_or_else(|| no_arrays(self.source.key_type));
        let mut is_read = filled(rows.len(), false);
        keep_reserve();
        for_each_row(&self.sql, &[Some(array)], &mut |[key, text]| {
            let number = key.and_then(|key| self.members.number_of(key));
            let Some(place) = number.and_then(&place) else {
                return;
            };
            if std::mem::replace(&mut is_read[place], true) {
                self.source.not_unique();
            }
            if let Some(text) = text {
                keep_reserve();
                each(place, text);
            }
        });
    }

    /// Calls `each` with each of these rows, which are in order, that has a text, and the text.
    /// `what` is what is shown behind their number.
    pub fn read_all(
        &self,
        rows: &[u32],
        what: &str,
        activity: &mut Activity,
        mut each: impl FnMut(u32, Value<'_>),
    ) {
        for (i, chunk) in rows.chunks(ROWS).enumerate() {
            check_for_interrupts();
            activity.show(|| format!("{} of {} {what}", i * ROWS, rows.len()));
            let place = |row: u32| chunk.binary_search(&row).ok();
            // The array of keys is one of many, so it is freed with the scratch memory.
            in_scratch(|| self.read(chunk, place, |place, text| each(chunk[place], text)));
        }
    }
}

/// The texts of one row of each class.
pub struct ChunkedTexts<'t> {
    table: &'t TextReader<'t>,
    classes: &'t Classes,
    /// Rows in the order of chunks, and each class's place there.
    rows: Vec<u32>,
    places: Vec<u32>,
    /// Rows of a chunk.
    chunk: u32,
    chunks: [Option<Chunk>; 2],
    patience: u64,
    comparer: Comparer,
    /// The place whose text the comparer has.
    compared_place: Option<u32>,
}

impl<'t> ChunkedTexts<'t> {
    pub fn new(table: &'t TextReader<'t>, classes: &'t Classes, edges: &mut EdgeList) -> Self {
        let components = representatives_by(ClusterMethod::Components, classes, edges);
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
        ChunkedTexts {
            table,
            classes,
            rows: collected(order.into_iter().map(first)),
            places,
            chunk: CHUNK,
            chunks: [None, None],
            patience: PATIENCE,
            comparer: Comparer::default(),
            compared_place: None,
        }
    }

    /// Calls `each` with each pair of classes, in any order, and its similarity; None where it is
    /// below `least`, and where a text is NULL, empty or gone. Leaves out the pairs that are not
    /// wanted when their turn comes.
    pub fn compare(
        &mut self,
        pairs: EdgeList,
        least: f64,
        activity: &mut Activity,
        is_wanted: &mut dyn FnMut(Edge) -> bool,
        each: &mut dyn FnMut(Edge, Option<f64>),
    ) {
        let (mut done, total) = (0, pairs.count());
        let mut places = or_out_of_memory(pairs.map(&mut TempFiles, |pair| self.to_places(pair)));
        while places.count() > 0 {
            let mut sorted = self.by_chunks(places);
            let (mut left, from) = (no_edges(), done);
            for pair in sorted.by_ref() {
                check_for_interrupts();
                activity.show(|| format!("{done} of {total} pairs of texts compared"));
                if !is_wanted(self.to_classes(pair)) {
                    done += 1;
                    continue;
                }
                if !self.is_ready(pair, done - from) {
                    add_edge(&mut left, pair);
                    break;
                }
                let similarity = self.similarity(pair, least);
                each(self.to_classes(pair), similarity);
                done += 1;
            }
            sorted.for_each(|pair| add_edge(&mut left, pair));
            places = left;
        }
    }

    /// Compares the texts of two places.
    fn similarity(&mut self, pair: Edge, least: f64) -> Option<f64> {
        let mut comparer = std::mem::take(&mut self.comparer);
        let similarity = self.text(pair.a).zip(self.text(pair.b)).map(|(a, b)| {
            if self.compared_place != Some(pair.a) {
                comparer.set_first(a, GramLengths::SHINGLES);
            }
            comparer.compare(b, least)
        });
        // A pair without both texts has left the comparer as it was.
        if similarity.is_some() {
            self.compared_place = Some(pair.a);
        }
        self.comparer = comparer;
        match similarity {
            Some(Similarity::Exactly(similarity)) => Some(similarity),
            _ => None,
        }
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

    /// Sorts pairs of places so that those whose texts are in the same chunks are side by side.
    fn by_chunks(&self, mut pairs: EdgeList) -> SortedEdges<TempFile<'static>> {
        let mut sorter = EdgeSorter::new(
            memory_of_pairs(),
            ByNumbers::without_bits(self.chunk.trailing_zeros()),
        );
        for_each_edge(&mut pairs, |pair| {
            or_out_of_memory(sorter.add(pair, &mut TempFiles));
        });
        or_out_of_memory(sorter.finish(&mut TempFiles))
    }

    /// Makes sure that the texts of two places are in memory; returns false when chunks of another
    /// size are to be tried. `compared` is the number of pairs compared with chunks of this size.
    fn is_ready(&mut self, pair: Edge, compared: u64) -> bool {
        let chunk = self.chunk;
        if chunk < CHUNK && compared >= self.patience {
            // A few long texts should not cause a query for each row of all that follow.
            self.patience *= 2;
            self.rechunk(CHUNK);
            return false;
        }
        let is_loaded = self.load(pair.a / chunk, pair.b / chunk);
        if !is_loaded {
            self.rechunk(chunk / SHRINK);
        }
        is_loaded
    }

    /// Continues with chunks of `rows` rows.
    fn rechunk(&mut self, rows: u32) {
        self.chunk = rows;
        self.chunks = [None, None];
    }

    fn text(&self, place: u32) -> Option<&Letters> {
        let mut chunks = self.chunks.iter().flatten();
        let chunk = chunks.find(|chunk| chunk.0 == place / self.chunk)?;
        chunk.1[(place % self.chunk) as usize].as_ref()
    }

    /// Makes sure that two chunks are in memory; returns false when they are too large for it.
    fn load(&mut self, first: u32, second: u32) -> bool {
        for (missing, other) in [(first, second), (second, first)] {
            let number = |chunk: &Option<Chunk>| chunk.as_ref().map(|chunk| chunk.0);
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
                Some(texts) => self.chunks[free] = Some((missing, texts)),
                None => return false,
            }
        }
        true
    }

    /// Reads the texts of a chunk; returns None when they take too much memory, unless it is one
    /// row's.
    fn read(&self, chunk: u32) -> Option<Vec<Option<Letters>>> {
        let start = chunk * self.chunk;
        let end = (start + self.chunk).min(self.rows.len() as u32);
        let rows = &self.rows[start as usize..end as usize];
        let mut texts: Vec<Option<Letters>> = vec![None; rows.len()];
        let (mut bytes, limit) = (0, work_mem_bytes() / 2);
        let place = |row: u32| {
            let place = self.places[self.classes.class_of(row) as usize];
            let is_in_chunk = self.rows[place as usize] == row && (start..end).contains(&place);
            is_in_chunk.then(|| (place - start) as usize)
        };
        self.table.read(rows, place, |place, text| {
            if bytes <= limit || rows.len() == 1 {
                let letters = text.show_bytes(letters);
                bytes += letters.bytes();
                texts[place] = Some(letters);
            }
        });
        (bytes <= limit || rows.len() == 1).then_some(texts)
    }
}

/// Raises the ERROR that texts cannot be looked up by an array of keys: some types have no arrays,
/// or no equality.
fn no_arrays(key_type: pg_sys::Oid) -> ! {
    let name = type_name(key_type);
    Error::new(
        ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("texts cannot be looked up by keys of type {name}"),
    )
    .raise()
}

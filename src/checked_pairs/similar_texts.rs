//! Pairs of texts that may be similar, where one fingerprint has many different texts: found by the
//! rarest n-grams of each text, without looking at every pair.
//!
//! Texts are read twice: to count n-grams, and to write the rarest of each text to a temporary file.
//! A class's texts are put into an index, as many at a time as a quarter of `work_mem` holds, and the
//! texts of the class and of those that are paired with it are looked up there. What is found is
//! compared by [`super::chunks`], so the answer is that of all pairs.

use super::distinct_texts::DistinctTexts;
use super::paired_rows::{EdgeList, add_edge, for_each_edge};
use super::value_reader::ValueReader;
use crate::errors::or_raise;
use crate::row::jaccard::letters;
use simhash_base::bytes::get_u32;
use simhash_fingerprint::similarity::prefix::{Least, PrefixMaker};
use simhash_fingerprint::similarity::prefix_index::PrefixIndex;
use simhash_fingerprint::text::ngrams::GramLengths;
use simhash_hamming::components::edge_sort::{ByNumbers, EdgeSorter, next_of};
use simhash_hamming::components::edges::Edge;
use simhash_hamming::components::group::Classes;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{filled, or_out_of_memory, reserve, work_mem_bytes};
use simhash_pg::process::temp_file::{TempFile, TempFiles};
use std::ops::Range;

/// Number of texts from which on not all pairs of a class are compared.
const MANY: usize = 64;
/// Bytes of an n-gram in the file.
const NGRAM: usize = size_of::<u32>();

/// Bytes for the index, or for the counters of n-grams.
fn memory() -> usize {
    work_mem_bytes() / 4
}

/// Bytes for each of two lists of pairs of classes.
fn memory_of_classes() -> usize {
    work_mem_bytes() / 8
}

/// The classes that have many texts, and the pairs of classes of which one has.
pub struct ManyTexts {
    least: Least,
    /// The class with more texts comes first.
    pairs: EdgeSorter<TempFile<'static>>,
    /// Whether a class is one of them.
    is_indexed: Vec<bool>,
}

impl ManyTexts {
    /// Returns None where every pair is similar enough.
    pub fn new(least: f64, classes: usize) -> Option<Self> {
        Least::new(least).map(|least| Self {
            least,
            pairs: EdgeSorter::new(memory_of_classes(), ByNumbers::ALL),
            is_indexed: filled(classes, false),
        })
    }

    /// Adds a class if it has many texts; returns whether it has.
    pub fn add_class(&mut self, class: u32, texts: &DistinctTexts) -> bool {
        let has_many = texts.range(class).len() >= MANY;
        self.is_indexed[class as usize] |= has_many;
        has_many
    }

    /// Adds a pair of classes if one has many texts; returns whether one has.
    pub fn add_pair(&mut self, pair: Edge, texts: &DistinctTexts) -> bool {
        let count = |class: u32| texts.range(class).len();
        let (a, b) = match count(pair.a) >= count(pair.b) {
            true => (pair.a, pair.b),
            false => (pair.b, pair.a),
        };
        let has_many = count(a) >= MANY;
        if has_many {
            self.is_indexed[a as usize] = true;
            self.is_indexed[b as usize] = true;
            or_out_of_memory(self.pairs.add(Edge { a, b, ..pair }, &mut TempFiles));
        }
        has_many
    }

    /// Calls `each` with the pairs of texts that may be similar, by their classes in `fine`.
    pub fn find(
        self,
        values: &ValueReader<'_>,
        fine: &Classes,
        mut texts: DistinctTexts,
        activity: &mut Activity,
        each: &mut dyn FnMut(Edge),
    ) {
        texts.retain(|class| self.is_indexed[class as usize]);
        if texts.count() == 0 {
            return;
        }
        let mut search = Search {
            prefixes: Prefixes::read(values, fine, &texts, self.least, activity),
            index: PrefixIndex::new(self.least, memory()),
            texts,
            activity,
            each,
        };
        let mut pairs = or_out_of_memory(self.pairs.finish(&mut TempFiles));
        for (class, is_indexed) in (0u32..).zip(&self.is_indexed) {
            check_for_interrupts();
            if !is_indexed || search.texts.range(class).len() < MANY {
                continue;
            }
            let mut others = EdgeList::new(memory_of_classes());
            while let Some(pair) = next_of(&mut pairs, class) {
                add_edge(&mut others, pair);
            }
            search.class(class, &mut others);
        }
    }
}

/// The rarest n-grams of texts, in a temporary file.
struct Prefixes {
    file: TempFile<'static>,
    /// Bytes in the file.
    end: u64,
    places: Vec<Place>,
    /// The n-grams that were written or read last, and their bytes.
    ngrams: Vec<u32>,
    bytes: Vec<u8>,
}

/// Where a text's n-grams are in the file, how many they are, and how many the text has; no n-grams
/// where its row was not read.
#[derive(Clone, Copy, Default)]
struct Place {
    at: u64,
    count: u32,
    size: u32,
}

impl Prefixes {
    fn read(
        values: &ValueReader<'_>,
        fine: &Classes,
        texts: &DistinctTexts,
        least: Least,
        activity: &mut Activity,
    ) -> Self {
        let coarse = &values.paired_rows.classes;
        let rows = texts.first_rows(fine);
        let mut maker = or_raise(PrefixMaker::new(least, GramLengths::SHINGLES, memory()));
        let counted = "reading texts to count n-grams";
        values.read_all(&rows, counted, activity, |_, text| {
            maker.count(&text.show_bytes(letters), &mut check_for_interrupts);
        });
        let mut prefixes = Self {
            file: TempFile::new(),
            end: 0,
            places: filled(texts.count(), Place::default()),
            ngrams: Vec::new(),
            bytes: Vec::new(),
        };
        let chosen = "reading texts to choose rare n-grams";
        values.read_all(&rows, chosen, activity, |row, text| {
            let (ngrams, check_interrupts) = (&mut prefixes.ngrams, &mut check_for_interrupts);
            let size = or_raise(maker.prefix(&text.show_bytes(letters), ngrams, check_interrupts));
            let place = texts.place(coarse.class_of(row), fine.class_of(row));
            prefixes.write(place, size);
        });
        prefixes
    }

    fn write(&mut self, place: usize, size: u32) {
        self.bytes.clear();
        reserve(&mut self.bytes, self.ngrams.len() * NGRAM);
        let bytes = self.ngrams.iter().flat_map(|ngram| ngram.to_ne_bytes());
        self.bytes.extend(bytes);
        self.file.write(&self.bytes);
        self.places[place] = Place {
            at: self.end,
            count: self.ngrams.len() as u32,
            size,
        };
        self.end += self.bytes.len() as u64;
    }

    /// Returns the number of a text's n-grams, and the rarest of them.
    fn get(&mut self, place: usize) -> (u32, &[u32]) {
        let Place { at, count, size } = self.places[place];
        let bytes = count as usize * NGRAM;
        self.bytes.clear();
        reserve(&mut self.bytes, bytes);
        self.bytes.resize(bytes, 0);
        self.file.read(at, &mut self.bytes);
        self.ngrams.clear();
        reserve(&mut self.ngrams, count as usize);
        let ngrams = self.bytes.chunks_exact(NGRAM);
        self.ngrams.extend(ngrams.map(|bytes| get_u32(bytes, 0)));
        (size, &self.ngrams)
    }
}

struct Search<'s> {
    prefixes: Prefixes,
    index: PrefixIndex,
    texts: DistinctTexts,
    activity: &'s mut Activity,
    each: &'s mut dyn FnMut(Edge),
}

impl Search<'_> {
    /// Finds the pairs of a class's texts, and those with the texts of others.
    fn class(&mut self, class: u32, others: &mut EdgeList) {
        let range = self.texts.range(class);
        let mut next = range.start;
        while next < range.end {
            let first = next;
            next = self.fill(first..range.end);
            for place in first..range.end {
                self.look_up(first, place, 0, |other| other < place);
            }
            for_each_edge(others, |pair| {
                for place in self.texts.range(pair.b) {
                    self.look_up(first, place, pair.distance, |_| true);
                }
            });
        }
    }

    /// Puts texts into the index; returns the first one for which it has no room.
    fn fill(&mut self, places: Range<usize>) -> usize {
        self.index.clear();
        let end = places.end;
        let mut is_full = |place: &usize| {
            let (size, ngrams) = self.prefixes.get(*place);
            !or_raise(self.index.add(size, ngrams))
        };
        let next = places.into_iter().find(&mut is_full).unwrap_or(end);
        or_raise(self.index.seal(&mut check_for_interrupts));
        next
    }

    /// Looks a text up in the index, whose texts are those from `first` on, and shows the pairs with
    /// those that `is_wanted` accepts.
    fn look_up(
        &mut self,
        first: usize,
        place: usize,
        distance: u32,
        is_wanted: impl Fn(usize) -> bool,
    ) {
        let Self { texts, each, .. } = self;
        let count = texts.count();
        let (done, all) = (first as u64, Some(count as u64));
        (self.activity).show("pairing texts by rare n-grams", done, all);
        let (size, ngrams) = self.prefixes.get(place);
        let found = |number: u32| {
            let other = first + number as usize;
            if is_wanted(other) {
                each(texts.edge(other, place, distance));
            }
        };
        let check_interrupts = &mut check_for_interrupts;
        or_raise(self.index.find(size, ngrams, check_interrupts, found));
    }
}

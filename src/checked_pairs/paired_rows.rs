//! Finds the rows of one relation or of two that have pairs, then numbers them in the order of their
//! keys. Clusters, and pairs that are checked, begin here. Where pairs are needed, rows of equal
//! fingerprints form a class, and the pairs are those of classes; of two relations each row is one.

use super::known_numbers::KnownNumbers;
use crate::pairs::hashes_in_parts::{find_pairs_of_hashes, memory_of_rows};
use crate::pairs::row_keys::RowKeys;
use crate::pairs::scope_columns::ScopeColumns;
use crate::pairs::search::{PairSearch, Pairs, Tags};
use crate::pairs::source::SourceTable;
use crate::pairs::value_store::ValueBuffer;
use simhash_hamming::components::edges::{Edge, Edges};
use simhash_hamming::components::group::{Classes, ClusterMethod, representatives};
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::sets::UnionFind;
use simhash_hamming::pairs::sink::Row;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::notice;
use simhash_pg::process::memory::{collected, filled, or_out_of_memory, reserve, work_mem_bytes};
use simhash_pg::process::temp_file::{TempFile, TempFiles};
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::value::Value;
use std::collections::HashMap;

/// Pairs from which on a call takes minutes, which a NOTICE says.
const MANY: u64 = 10_000_000;

/// Bytes for a list of pairs, or for sorting it: two of them exist at the same time.
pub fn memory_of_pairs() -> usize {
    work_mem_bytes() / 2
}

/// Pairs, in memory and in a temporary file.
pub type EdgeList = Edges<TempFile<'static>>;

/// Returns an empty list.
pub fn no_edges() -> EdgeList {
    Edges::new(memory_of_pairs())
}

/// Adds a pair.
pub fn add_edge(edges: &mut EdgeList, edge: Edge) {
    or_out_of_memory(edges.add(edge, &mut TempFiles));
}

/// Shows every pair.
pub fn for_each_edge(edges: &mut EdgeList, mut each: impl FnMut(Edge)) {
    or_out_of_memory(edges.for_each(&mut TempFiles, |_, edge| {
        each(edge);
        Ok(())
    }));
}

/// Which pairs a caller needs.
#[derive(Clone, Copy, PartialEq)]
pub enum Needed {
    /// All.
    All,
    /// It only matters which rows of one relation are connected.
    Connections,
    /// Those of texts that `simhash_same` has to judge: others may be left out.
    Undecided,
}

/// Collects pairs while they are found, of one relation or of two.
struct PairCollector<const N: usize> {
    sides: [CollectedRows; N],
    /// Pairs of first rows.
    edges: EdgeList,
    /// The components, where the pairs themselves are not needed. Then `edges` stays empty.
    sets: Option<UnionFind>,
    is_across: bool,
    /// What tells pairs apart; None where all are needed.
    numbers: Option<KnownNumbers>,
}

/// The rows of a relation that have a pair, numbered as they come.
struct CollectedRows {
    keys: RowKeys,
    /// The number of each row of the current group, by its tag.
    numbers: HashMap<u64, u32>,
    tags: Vec<u64>,
    /// The number of the first row with the fingerprint of each; of two relations, and with `across`, its
    /// own.
    firsts: Vec<u32>,
}

impl CollectedRows {
    fn number(&mut self, tag: u64) -> u32 {
        if let Some(number) = self.numbers.get(&tag) {
            return *number;
        }
        or_out_of_memory(self.numbers.try_reserve(1));
        let number = self.tags.len() as u32;
        self.numbers.insert(tag, number);
        reserve(&mut self.tags, 1);
        self.tags.push(tag);
        reserve(&mut self.firsts, 1);
        self.firsts.push(number);
        number
    }

    /// Forgets the tags of the rows from `first` on, whose group ends.
    fn end_group(&mut self, first: usize) {
        for tag in &self.tags[first..] {
            check_for_interrupts();
            self.numbers.remove(tag);
        }
    }
}

impl<const N: usize> Pairs for PairCollector<N> {
    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        if distance > 0
            && let Some(numbers) = &self.numbers
            && numbers.tell_apart(a, b)
        {
            return;
        }
        let (a, b) = (self.sides[0].number(a), self.sides[N - 1].number(b));
        if let Some(sets) = &mut self.sets {
            while sets.count() < self.sides[0].tags.len() {
                or_out_of_memory(sets.add());
            }
            sets.union(a, b);
            return;
        }
        if distance == 0 && self.wants_distinct() {
            let firsts = &mut self.sides[0].firsts;
            firsts[b as usize] = firsts[a as usize];
            return;
        }
        add_edge(&mut self.edges, Edge { a, b, distance });
        if self.edges.count() == MANY {
            let hint = "Texts of one template are near each other. Fewer are compared with within => '...', with another list \
                        of columns, or within a smaller radius.";
            notice(
                format!("more than {MANY} pairs of rows are near"),
                Some(hint),
            );
        }
    }

    fn is_transitive(&self) -> bool {
        self.sets.is_some() && !self.is_across
    }

    fn wants_distinct(&self) -> bool {
        N == 1 && (!self.is_across || self.sets.is_some())
    }

    fn is_across(&self) -> bool {
        self.is_across
    }
}

impl<const N: usize> Tags for PairCollector<N> {
    fn tag(&mut self, side: usize, key: Value<'_>, set: Option<u32>) -> u64 {
        self.sides[side].keys.add(key, set)
    }

    fn wants_texts(&self) -> bool {
        self.numbers.is_some()
    }

    fn text(&mut self, row: Row, text: Value<'_>) {
        if let Some(numbers) = &mut self.numbers {
            numbers.add(row, text);
        }
    }
}

/// Returns the representative of each row's cluster.
pub fn representatives_by(
    method: ClusterMethod,
    classes: &Classes,
    edges: &mut EdgeList,
) -> Vec<u32> {
    or_out_of_memory(representatives(
        method,
        classes,
        edges,
        memory_of_pairs(),
        &mut TempFiles,
    ))
}

/// Makes classes of the class of each row, numbered in the order of their first rows.
pub fn classes(class_of_row: Vec<u32>) -> Classes {
    or_out_of_memory(Classes::new(class_of_row, &mut check_for_interrupts))
}

/// The rows that have pairs: those of each relation in the order of their keys.
pub struct PairedRows {
    sides: Vec<PairedSide>,
    /// Those of the rows of one relation, or the numbers of their hashes; none of two.
    pub fingerprints: Vec<u64>,
    /// Rows of equal fingerprints; where only components are needed, of two relations, and with `across`,
    /// each row alone.
    pub classes: Classes,
    /// The pairs of classes; where only components are needed, each row with one row of its
    /// component.
    pub edges: EdgeList,
}

/// The rows of one relation.
pub struct PairedSide {
    pub order: KeyType,
    /// The number of the first of them.
    first: u32,
    /// The keys, as [`Storage::value`](simhash_pg::sql::value::Storage::value) takes them together
    /// with `key_bytes`.
    keys: Vec<u64>,
    key_bytes: ValueBuffer,
}

impl PairedRows {
    /// Finds the pairs.
    pub fn find<const N: usize>(
        sources: &[SourceTable; N],
        columns: &ScopeColumns<'_>,
        radius: u32,
        needed: Needed,
        activity: &mut Activity,
    ) -> Self {
        let memory = work_mem_bytes();
        let orders = sources.each_ref().map(SourceTable::order);
        let memory_of_keys = orders.map(|order| match order.storage.is_by_value() {
            true => 0,
            false => memory / 4 / N,
        });
        let collected_rows = |side: usize| CollectedRows {
            keys: RowKeys::new(orders[side].storage, memory_of_keys[side]),
            numbers: HashMap::new(),
            tags: Vec::new(),
            firsts: Vec::new(),
        };
        let pairs = PairCollector {
            sides: std::array::from_fn(collected_rows),
            edges: no_edges(),
            sets: (needed == Needed::Connections).then(UnionFind::new),
            is_across: columns.is_across(),
            numbers: (N == 1 && needed == Needed::Undecided).then(KnownNumbers::default),
        };
        let mut search = PairSearch::new(pairs, activity);
        let memory_of_keys: usize = memory_of_keys.iter().sum();
        let memory = memory_of_rows(sources, memory - memory_of_keys);
        let mut rows = Gathered::<_, N>::new(memory);
        let mut fingerprints = Vec::new();
        let mut firsts = [0; N];
        columns.read(sources, &mut search, &mut rows, |search, group| {
            if let Some(numbers) = &mut search.pairs.numbers {
                numbers.settle();
            }
            if !find_pairs_of_hashes(sources, group, search, radius) {
                group.find_pairs(search, radius);
            }
            let sides = &mut search.pairs.sides;
            if let ([source], [rows]) = (&sources[..], &sides[..]) {
                read_fingerprints(source, rows, group, &mut fingerprints);
            }
            for (side, first) in sides.iter_mut().zip(&mut firsts) {
                side.end_group(std::mem::replace(first, side.tags.len()));
            }
        });
        drop(rows);
        search.activity.begin("grouping");
        let paired_rows = search.pairs.into_paired_rows(orders, fingerprints);
        for (side, source) in paired_rows.sides.iter().zip(sources) {
            if !side.has_distinct_keys() {
                source.not_unique();
            }
        }
        paired_rows
    }

    /// Returns the relation of a row, 0 or 1.
    pub fn side_of(&self, row: u32) -> usize {
        usize::from((self.sides.get(1)).is_some_and(|second| row >= second.first))
    }

    /// Returns the rows of a relation.
    pub fn side(&self, side: usize) -> &PairedSide {
        &self.sides[side]
    }

    /// Returns the key of a row.
    pub fn key(&self, row: u32) -> Value<'_> {
        let side = self.side(self.side_of(row));
        side.value(side.keys[side.place_of(row)])
    }
}

/// Adds the fingerprints of the rows of a group that have a pair.
fn read_fingerprints<const N: usize>(
    source: &SourceTable,
    rows: &CollectedRows,
    group: &mut Gathered<TempFile<'static>, N>,
    fingerprints: &mut Vec<u64>,
) {
    let mut found = fingerprints.len();
    reserve(fingerprints, rows.tags.len() - found);
    fingerprints.resize(rows.tags.len(), 0);
    group.for_each(&mut check_for_interrupts, |row| {
        if let Some(number) = rows.numbers.get(&row.tag) {
            fingerprints[*number as usize] = row.fingerprint;
            found += 1;
        }
    });
    if found > fingerprints.len() {
        source.not_unique();
    }
}

impl PairedSide {
    fn value(&self, kept: u64) -> Value<'_> {
        self.order.storage.value(kept, &self.key_bytes)
    }

    /// Returns how many rows there are.
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    /// Returns the keys of the rows.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = Value<'_>> {
        self.keys.iter().map(|kept| self.value(*kept))
    }

    /// Returns how many rows of the relation come before this one.
    pub fn place_of(&self, row: u32) -> usize {
        (row - self.first) as usize
    }

    /// Returns the number of a row, given its key; None when it has no pair.
    pub fn number_of(&self, key: Value<'_>) -> Option<u32> {
        let found = self
            .keys
            .binary_search_by(|kept| self.order.compare(self.value(*kept), key));
        found.ok().map(|number| self.first + number as u32)
    }

    fn has_distinct_keys(&self) -> bool {
        let mut neighbours = self.keys.windows(2);
        neighbours.all(|keys| {
            check_for_interrupts();
            let (one, next) = (self.value(keys[0]), self.value(keys[1]));
            self.order.compare(one, next).is_ne()
        })
    }
}

impl<const N: usize> PairCollector<N> {
    fn into_paired_rows(mut self, orders: [KeyType; N], fingerprints: Vec<u64>) -> PairedRows {
        if let Some(sets) = &mut self.sets {
            for b in 0..sets.count() as u32 {
                let (a, distance) = (sets.find(b), 0);
                add_edge(&mut self.edges, Edge { a, b, distance });
            }
        }
        let (mut sides, mut class_of_row, mut count) = (Vec::new(), Vec::new(), 0);
        let mut of_sorted = Vec::new();
        let class_of = self.sides.map(|mut rows| {
            let (order, first) = (orders[sides.len()], class_of_row.len() as u32);
            let firsts = std::mem::take(&mut rows.firsts);
            let (side, sorted) = rows.sorted(order, first);
            let class_of = number_classes(&firsts, &sorted, &mut count);
            reserve(&mut class_of_row, sorted.len());
            class_of_row.extend(sorted.iter().map(|old| class_of[*old as usize]));
            if N == 1 {
                of_sorted = collected(sorted.iter().map(|old| fingerprints[*old as usize]));
            }
            sides.push(side);
            class_of
        });
        let edges = self.edges.map(&mut TempFiles, |edge| Edge {
            a: class_of[0][edge.a as usize],
            b: class_of[N - 1][edge.b as usize],
            ..edge
        });
        PairedRows {
            sides,
            fingerprints: of_sorted,
            classes: classes(class_of_row),
            edges: or_out_of_memory(edges),
        }
    }
}

impl CollectedRows {
    /// Returns the rows in the order of their keys, of which `first` is the number of the first, and
    /// their numbers so far in this order.
    fn sorted(mut self, order: KeyType, first: u32) -> (PairedSide, Vec<u32>) {
        self.keys.finish();
        let mut key_bytes = ValueBuffer::new();
        let (keys, tags) = (&mut self.keys, &self.tags);
        let kept = collected(tags.iter().map(|tag| keys.append(*tag, &mut key_bytes)));
        let value = |row: u32| order.storage.value(kept[row as usize], &key_bytes);
        let mut sorted = collected(0..kept.len() as u32);
        // Sort in place: a stable sort would allocate memory, and abort where there is none.
        sorted.sort_unstable_by(|a, b| {
            check_for_interrupts();
            let by_key = order.compare(value(*a), value(*b));
            by_key.then(a.cmp(b))
        });
        let side = PairedSide {
            order,
            first,
            keys: collected(sorted.iter().map(|old| kept[*old as usize])),
            key_bytes,
        };
        (side, sorted)
    }
}

/// Returns the class of each row. `firsts` are the rows that they are equal to, and `sorted` the
/// rows in the order of their keys: classes are numbered in the order of their first rows, from
/// `count` on, which becomes their number.
fn number_classes(firsts: &[u32], sorted: &[u32], count: &mut u32) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut class_of_first = filled(sorted.len(), NONE);
    let mut class_of = filled(sorted.len(), NONE);
    for row in sorted {
        check_for_interrupts();
        let class = &mut class_of_first[firsts[*row as usize] as usize];
        if *class == NONE {
            *class = *count;
            *count += 1;
        }
        class_of[*row as usize] = *class;
    }
    class_of
}

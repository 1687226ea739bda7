//! Finds the rows that have pairs, then numbers them in the order of their keys. Where pairs are
//! needed, rows of equal fingerprints form a class, and the pairs are those of classes.

use crate::pairs::keys::{KeyBuffer, Keys};
use crate::pairs::scope_columns::ScopeColumns;
use crate::pairs::search::{PairSearch, Pairs, Tags};
use crate::pairs::source::SourceTable;
use simhash_hamming::components::edges::{Edge, Edges};
use simhash_hamming::components::group::{Classes, ClusterMethod, representatives};
use simhash_hamming::pairs::file::Gathered;
use simhash_hamming::pairs::union_find::UnionFind;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{collected, filled, or_out_of_memory, reserve, work_mem_bytes};
use simhash_pg::process::temp_file::{TempFile, TempFiles};
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::value::Value;
use std::collections::HashMap;

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

/// Collects pairs while they are found.
struct PairCollector {
    keys: Keys,
    /// The number of each row of the current group that has a pair, by its tag.
    numbers: HashMap<u64, u32>,
    tags: Vec<u64>,
    /// The number of the first row with the fingerprint of each.
    firsts: Vec<u32>,
    /// Pairs of first rows.
    edges: EdgeList,
    /// The components, where the pairs themselves are not needed. Then `edges` stays empty.
    sets: Option<UnionFind>,
}

impl PairCollector {
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
        if let Some(sets) = &mut self.sets {
            or_out_of_memory(sets.add().map(|_| ()));
        }
        number
    }
}

impl Pairs for PairCollector {
    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        let (a, b) = (self.number(a), self.number(b));
        if let Some(sets) = &mut self.sets {
            sets.union(a, b);
            return;
        }
        if distance == 0 {
            self.firsts[b as usize] = self.firsts[a as usize];
            return;
        }
        add_edge(&mut self.edges, Edge { a, b, distance });
    }

    fn is_transitive(&self) -> bool {
        self.sets.is_some()
    }

    fn wants_distinct(&self) -> bool {
        true
    }
}

impl Tags for PairCollector {
    fn tag(&mut self, _side: usize, key: Value<'_>) -> u64 {
        self.keys.add(key)
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

/// The rows that have pairs, in the order of their keys.
pub struct PairedRows {
    pub order: KeyType,
    /// The keys, as [`KeyType::value`] takes them together with `key_bytes`.
    keys: Vec<u64>,
    key_bytes: KeyBuffer,
    pub fingerprints: Vec<u64>,
    /// Rows of equal fingerprints; where only components are needed, each row alone.
    pub classes: Classes,
    /// The pairs of classes; where only components are needed, each row with one row of its
    /// component.
    pub edges: EdgeList,
}

impl PairedRows {
    /// Finds the pairs. `verified` says whether the caller will check each pair; then components
    /// need them too.
    pub fn find(
        sources: &[SourceTable; 1],
        within: &ScopeColumns<'_>,
        radius: u32,
        method: ClusterMethod,
        verified: bool,
        activity: &mut Activity,
    ) -> Self {
        let source = &sources[0];
        let order = source.order();
        let memory = work_mem_bytes();
        let memory_of_keys = if order.is_by_value() { 0 } else { memory / 4 };
        let mut search = PairSearch {
            pairs: PairCollector {
                keys: Keys::new(order, memory_of_keys),
                numbers: HashMap::new(),
                tags: Vec::new(),
                firsts: Vec::new(),
                edges: no_edges(),
                sets: (method == ClusterMethod::Components && !verified).then(UnionFind::new),
            },
            activity,
        };
        let mut rows = Gathered::<_, 1>::new(memory - memory_of_keys);
        let mut fingerprints = Vec::new();
        within.read(sources, &mut search, &mut rows, |search, group| {
            group.find_pairs(search, radius);
            let collector = &mut search.pairs;
            let first = fingerprints.len();
            reserve(&mut fingerprints, collector.tags.len() - first);
            fingerprints.resize(collector.tags.len(), 0);
            let mut found = first;
            group.for_each(&mut check_for_interrupts, |row| {
                if let Some(number) = collector.numbers.get(&row.tag) {
                    fingerprints[*number as usize] = row.fingerprint;
                    found += 1;
                }
            });
            if found > fingerprints.len() {
                source.not_unique();
            }
            for tag in &collector.tags[first..] {
                check_for_interrupts();
                collector.numbers.remove(tag);
            }
        });
        drop(rows);
        search.activity.show_now("grouping");
        let mut collector = search.pairs;
        collector.keys.finish();
        let members = collector.into_members(fingerprints);
        let has_same_key = |row: usize| {
            check_for_interrupts();
            let (one, next) = (members.key(row - 1), members.key(row));
            members.order.compare(one, next).is_eq()
        };
        if (1..members.keys.len()).any(has_same_key) {
            source.not_unique();
        }
        members
    }

    /// Returns the key of a row.
    pub fn key(&self, row: usize) -> Value<'_> {
        self.order.value(self.keys[row], &self.key_bytes)
    }

    /// Returns the number of a row, given its key; None when it has no pair.
    pub fn number_of(&self, key: Value<'_>) -> Option<u32> {
        let value = |kept| self.order.value(kept, &self.key_bytes);
        let found = self
            .keys
            .binary_search_by(|kept| self.order.compare(value(*kept), key));
        found.ok().map(|number| number as u32)
    }
}

impl PairCollector {
    fn into_members(mut self, fingerprints: Vec<u64>) -> PairedRows {
        if let Some(sets) = &mut self.sets {
            for b in 0..sets.count() as u32 {
                let (a, distance) = (sets.find(b), 0);
                add_edge(&mut self.edges, Edge { a, b, distance });
            }
        }
        let mut key_bytes = KeyBuffer::new();
        let PairCollector { keys, tags, .. } = &mut self;
        let kept = collected(tags.iter().map(|tag| keys.append(*tag, &mut key_bytes)));
        let order = self.keys.key_type;
        let value = |row: u32| order.value(kept[row as usize], &key_bytes);
        let mut sorted = collected(0..kept.len() as u32);
        // Sort in place: a stable sort would allocate memory, and abort where there is none.
        sorted.sort_unstable_by(|a, b| {
            check_for_interrupts();
            let by_key = order.compare(value(*a), value(*b));
            by_key.then(a.cmp(b))
        });
        let class_of = number_classes(&self.firsts, &sorted);
        let edges = self.edges.map(&mut TempFiles, |edge| Edge {
            a: class_of[edge.a as usize],
            b: class_of[edge.b as usize],
            ..edge
        });
        let class_of_row = collected(sorted.iter().map(|old| class_of[*old as usize]));
        let sorted = || sorted.iter().map(|old| *old as usize);
        PairedRows {
            keys: collected(sorted().map(|old| kept[old])),
            fingerprints: collected(sorted().map(|old| fingerprints[old])),
            classes: classes(class_of_row),
            order,
            key_bytes,
            edges: or_out_of_memory(edges),
        }
    }
}

/// Returns the class of each row. `firsts` are the rows that they are equal to, and `sorted` the
/// rows in the order of their keys: classes are numbered in the order of their first rows.
fn number_classes(firsts: &[u32], sorted: &[u32]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut class_of_first = filled(sorted.len(), NONE);
    let mut class_of = filled(sorted.len(), NONE);
    let mut count = 0;
    for row in sorted {
        check_for_interrupts();
        let class = &mut class_of_first[firsts[*row as usize] as usize];
        if *class == NONE {
            *class = count;
            count += 1;
        }
        class_of[*row as usize] = *class;
    }
    class_of
}

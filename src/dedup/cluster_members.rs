//! The rows that have pairs: found, then numbered in the order of their keys.

use super::clusters::{Edge, Method};
use super::keys::{KeyBuffer, Keys};
use super::pairs::Host;
use super::pairs_file::Gathered;
use super::source::{Reader, Source};
use super::union_find::UnionFind;
use crate::pg::activity::Activity;
use crate::pg::build::TempFile;
use crate::pg::error::raise_with_hint;
use crate::pg::index_am::work_mem_bytes;
use crate::pg::key_type::KeyType;
use crate::pg::memory::{or_out_of_memory, push_within, reserve};
use crate::pg::process::check_for_interrupts;
use pgrx::PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
use pgrx::pg_sys::Datum;
use std::collections::HashMap;

/// Bytes that a pair takes until its cluster is known.
const PAIR: usize = 3 * size_of::<Edge>();

/// Collects pairs while they are found.
struct Collector {
    keys: Keys,
    activity: Activity,
    /// The number of each row that has a pair, by its tag.
    numbers: HashMap<u64, u32>,
    tags: Vec<u64>,
    edges: Vec<Edge>,
    /// Pairs that memory holds.
    limit: usize,
    /// Where the pairs themselves are not asked for.
    sets: Option<UnionFind>,
}

impl Collector {
    fn number(&mut self, tag: u64) -> u32 {
        if let Some(number) = self.numbers.get(&tag) {
            return *number;
        }
        or_out_of_memory(self.numbers.try_reserve(1));
        let number = self.tags.len() as u32;
        self.numbers.insert(tag, number);
        reserve(&mut self.tags, 1);
        self.tags.push(tag);
        if let Some(sets) = &mut self.sets {
            or_out_of_memory(sets.add().map(|_| ()));
        }
        number
    }
}

impl Host for Collector {
    type File = TempFile;

    fn file(&mut self) -> TempFile {
        TempFile::new()
    }

    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        let (a, b) = (self.number(a), self.number(b));
        if let Some(sets) = &mut self.sets {
            return sets.union(a, b);
        }
        if self.edges.len() == self.limit {
            raise_with_hint(
                ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                format!("more than {} pairs do not fit in work_mem", self.limit),
                "Raise work_mem, lower k, or use method components without a text column.",
            );
        }
        push_within(&mut self.edges, Edge { a, b, distance }, self.limit);
    }

    fn pause(&mut self) {
        check_for_interrupts();
    }

    fn progress(&mut self, share: f64) {
        self.activity
            .show(|| format!("{:.0} % compared", share * 100.0));
    }
}

impl Reader for Collector {
    fn tag(&mut self, key: Datum) -> u64 {
        self.keys.add(key)
    }

    fn activity(&mut self) -> &mut Activity {
        &mut self.activity
    }
}

/// The rows that have pairs, in the order of their keys.
pub struct Members {
    pub order: KeyType,
    pub keys: Vec<Datum>,
    /// Behind the keys of types that are passed by reference.
    _buffers: Vec<KeyBuffer>,
    pub fingerprints: Vec<u64>,
    /// Pairs; with components alone, each row and another of its component.
    pub edges: Vec<Edge>,
}

impl Members {
    /// Finds the pairs. `verified`: will the pairs be looked at once more?
    pub fn find(
        source: &Source,
        radius: u32,
        method: Method,
        verified: bool,
        name: &'static str,
    ) -> Self {
        let order = source.order();
        let memory = work_mem_bytes();
        let of_keys = if order.is_by_value() { 0 } else { memory / 4 };
        let mut collector = Collector {
            keys: Keys::new(order, of_keys),
            activity: Activity::new(name),
            numbers: HashMap::new(),
            tags: Vec::new(),
            edges: Vec::new(),
            limit: memory / PAIR,
            sets: (method == Method::Components && !verified).then(UnionFind::new),
        };
        let mut rows = Gathered::new(memory - of_keys);
        source.read(&mut rows, &mut collector);
        collector.keys.finish();
        rows.find_pairs(&mut collector, radius);
        let mut fingerprints = vec![0; collector.tags.len()];
        rows.for_each(|row| {
            if let Some(number) = collector.numbers.get(&row.tag) {
                fingerprints[*number as usize] = row.fingerprint;
            }
        });
        drop(rows);
        collector.into_members(fingerprints)
    }

    /// The number of a row, given its key; None when it has no pair.
    pub fn number_of(&self, key: Datum) -> Option<u32> {
        let found = self
            .keys
            .binary_search_by(|other| self.order.compare(*other, key));
        found.ok().map(|number| number as u32)
    }
}

impl Collector {
    fn into_members(mut self, fingerprints: Vec<u64>) -> Members {
        if let Some(sets) = &mut self.sets {
            let rows = sets.count() as u32;
            self.edges.extend((0..rows).map(|row| Edge {
                a: sets.find(row),
                b: row,
                distance: 0,
            }));
        }
        let (mut keys, mut buffers) = (Vec::new(), Vec::new());
        for tag in &self.tags {
            let mut buffer = KeyBuffer::new();
            keys.push(self.keys.get(*tag, &mut buffer));
            if !buffer.is_empty() {
                buffers.push(buffer);
            }
        }
        let order = self.keys.of_type;
        let mut sorted: Vec<u32> = (0..keys.len() as u32).collect();
        sorted.sort_by(|a, b| {
            check_for_interrupts();
            order.compare(keys[*a as usize], keys[*b as usize])
        });
        let mut place = vec![0; keys.len()];
        for (i, old) in (0..).zip(&sorted) {
            place[*old as usize] = i;
        }
        for edge in &mut self.edges {
            edge.a = place[edge.a as usize];
            edge.b = place[edge.b as usize];
        }
        Members {
            keys: sorted.iter().map(|old| keys[*old as usize]).collect(),
            fingerprints: sorted
                .iter()
                .map(|old| fingerprints[*old as usize])
                .collect(),
            order,
            _buffers: buffers,
            edges: self.edges,
        }
    }
}

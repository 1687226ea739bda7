//! The texts of rows that have pairs, compared by their Jaccard similarity (as simhash_jaccard does).
//!
//! Texts are read by key, a few hundred rows at a time, and at most two such chunks are in memory. Rows
//! are put into chunks component by component, so that most pairs lie within one chunk.

use super::cluster_members::Members;
use super::clusters::{Edge, Method};
use super::clusters_function::group;
use super::source::{Source, required};
use crate::fingerprint::jaccard::Shingles;
use crate::pg::activity::Activity;
use crate::pg::encoding::to_utf8;
use crate::pg::memory::{collected, filled, keep_reserve};
use crate::pg::process::check_for_interrupts;
use crate::pg::query::for_each_row;
use crate::pg::value::text_bytes;
use crate::row::errors::or_raise;

/// Rows of a chunk.
const CHUNK: u32 = 256;
/// Characters of an n-gram, as simhash_jaccard has it.
const CHARACTERS: usize = 5;

/// A chunk's number and its rows' n-grams; None where the text is NULL.
type Chunk = (u32, Vec<Option<Shingles>>);

pub struct Texts<'m> {
    members: &'m Members,
    name: &'static str,
    sql: String,
    /// Rows in the order of chunks, and each row's place there.
    rows: Vec<u32>,
    places: Vec<u32>,
    chunks: [Option<Chunk>; 2],
}

impl<'m> Texts<'m> {
    /// `column` is a column of text, as SQL.
    pub fn new(
        source: &Source,
        column: &str,
        members: &'m Members,
        edges: &[Edge],
        name: &'static str,
    ) -> Self {
        let components = group(Method::Components, members, edges);
        let mut rows = collected(0..components.len() as u32);
        rows.sort_unstable_by_key(|row| {
            check_for_interrupts();
            (components[*row as usize], *row)
        });
        let mut places = filled(rows.len(), 0);
        for (place, row) in (0..).zip(&rows) {
            check_for_interrupts();
            places[*row as usize] = place;
        }
        let (expression, key, table) = (source.key_expression(), &source.key, &source.table_name);
        let equal = required(members.order.equality(), name, "key_type");
        let sql = format!(
            "SELECT {expression}, {column}::pg_catalog.text FROM {table} WHERE {key} {equal} ANY ($1)"
        );
        Texts {
            members,
            name,
            sql,
            rows,
            places,
            chunks: [None, None],
        }
    }

    /// The similarity of each pair; None where a text is NULL, empty or gone.
    pub fn similarities(
        &mut self,
        pairs: impl ExactSizeIterator<Item = (u32, u32)>,
        activity: &mut Activity,
    ) -> Vec<Option<f64>> {
        let place = |row: u32| self.places[row as usize];
        let mut order: Vec<(u32, u32, usize)> = collected(pairs.enumerate().map(|(i, (a, b))| {
            let (a, b) = (place(a), place(b));
            (a.min(b), a.max(b), i)
        }));
        order.sort_unstable_by_key(|(low, high, pair)| {
            check_for_interrupts();
            (low / CHUNK, high / CHUNK, *low, *high, *pair)
        });
        let mut found = filled(order.len(), None);
        let of = order.len();
        for (done, (low, high, pair)) in order.into_iter().enumerate() {
            check_for_interrupts();
            activity.show(|| format!("{done} of {of} pairs of texts compared"));
            self.load(low / CHUNK, high / CHUNK);
            found[pair] = match (self.text(low), self.text(high)) {
                (Some(a), Some(b)) => a.jaccard(b),
                _ => None,
            };
        }
        found
    }

    fn text(&self, place: u32) -> Option<&Shingles> {
        let mut chunks = self.chunks.iter().flatten();
        let chunk = chunks.find(|chunk| chunk.0 == place / CHUNK)?;
        chunk.1[(place % CHUNK) as usize].as_ref()
    }

    /// Makes sure that two chunks are in memory.
    fn load(&mut self, first: u32, second: u32) {
        for (wanted, other) in [(first, second), (second, first)] {
            let number = |chunk: &Option<Chunk>| chunk.as_ref().map(|chunk| chunk.0);
            if self
                .chunks
                .iter()
                .any(|chunk| number(chunk) == Some(wanted))
            {
                continue;
            }
            let free = usize::from(number(&self.chunks[0]) == Some(other));
            self.chunks[free] = None;
            self.chunks[free] = Some((wanted, self.read(wanted)));
        }
    }

    fn read(&self, chunk: u32) -> Vec<Option<Shingles>> {
        let start = chunk * CHUNK;
        let end = (start + CHUNK).min(self.rows.len() as u32);
        let rows = &self.rows[start as usize..end as usize];
        let mut keys = collected(rows.iter().map(|r| self.members.keys[*r as usize]));
        let array = required(self.members.order.array(&mut keys), self.name, "key_type");
        let mut texts: Vec<Option<Shingles>> = vec![None; rows.len()];
        keep_reserve();
        for_each_row(&self.sql, Some(array), &mut |[key, text]| {
            let number = key.and_then(|key| self.members.number_of(key));
            let place = number.map(|number| self.places[number as usize]);
            if let (Some(place), Some(text)) = (place, text)
                && (start..end).contains(&place)
            {
                keep_reserve();
                let shingles = text_bytes(text, |bytes| {
                    Shingles::new(&to_utf8(bytes), CHARACTERS, &mut check_for_interrupts)
                });
                texts[(place - start) as usize] = Some(or_raise(shingles));
            }
        });
        texts
    }
}

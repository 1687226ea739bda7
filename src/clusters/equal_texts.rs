//! Classes of rows whose texts are equal too, for clusters that are checked by texts.
//!
//! Two rows of equal fingerprints need not have similar texts. Rows whose texts have the same letters
//! do: they form a class, and one row of it is compared with other classes. Texts are distinguished
//! by a 128-bit hash of their letters.

use super::paired_rows::{EdgeList, add_edge, classes, for_each_edge, no_edges};
use super::similar_texts::ManyTexts;
use super::texts::TextReader;
use crate::row::jaccard::letters;
use simhash_fingerprint::similarity::letters::Letters;
use simhash_hamming::components::edges::Edge;
use simhash_hamming::components::group::Classes;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{collected, filled, or_out_of_memory, push_within};
use std::collections::HashMap;
use std::ops::Range;

/// State of a row's text.
#[derive(Clone, Copy, PartialEq)]
enum TextContent {
    /// The row is alone in its class.
    NotRead,
    /// NULL, or the row is gone: similar to nothing.
    None,
    /// The text has no letter: similar to nothing either, though a comparison with others gives 0.
    Empty,
    /// A hash of its letters.
    Text(u128),
}

/// The different texts, each as the class of its rows behind that of the rows with its fingerprint;
/// in order, so that the texts of one fingerprint are side by side.
pub struct DistinctTexts(Vec<(u32, u32)>);

impl DistinctTexts {
    fn new(mut texts: Vec<(u32, u32)>) -> Self {
        texts.sort_unstable_by_key(|text| {
            check_for_interrupts();
            *text
        });
        Self(texts)
    }

    /// Keeps those of some fingerprints.
    pub fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.0.retain(|(coarse, _)| {
            check_for_interrupts();
            is_kept(*coarse)
        });
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the places of the texts of one fingerprint.
    pub fn range(&self, coarse: u32) -> Range<usize> {
        let start = self.0.partition_point(|text| text.0 < coarse);
        let texts = &self.0[start..];
        start..start + texts.partition_point(|text| text.0 == coarse)
    }

    /// Returns the place of a text.
    pub fn place(&self, coarse: u32, fine: u32) -> usize {
        self.0.partition_point(|text| *text < (coarse, fine))
    }

    /// Returns the pair of the texts at two places.
    pub fn edge(&self, a: usize, b: usize, distance: u32) -> Edge {
        Edge {
            a: self.0[a].1,
            b: self.0[b].1,
            distance,
        }
    }

    /// Returns a row for each text, in order.
    pub fn first_rows(&self, fine: &Classes) -> Vec<u32> {
        let mut rows = collected(self.0.iter().map(|text| fine.first(text.1)));
        rows.sort_unstable_by_key(|row| {
            check_for_interrupts();
            *row
        });
        rows
    }
}

/// Returns the classes of rows that are equal in fingerprint and letters, and the pairs of them
/// that have to be compared: those within a class of equal fingerprints, and those of two such
/// classes that `edges` pairs. Of many texts, pairs are left out that are not as similar as `least`.
pub fn classes_by_text(
    table: &TextReader,
    mut edges: EdgeList,
    least: f64,
    activity: &mut Activity,
) -> (Classes, EdgeList) {
    let coarse = &table.members.classes;
    let contents = read(table, activity);
    let (fine, texts) = divide(coarse, &contents, least);
    drop(contents);
    let mut many = ManyTexts::new(least, coarse.count());
    let mut found = no_edges();
    let mut add = |edge| {
        check_for_interrupts();
        add_edge(&mut found, edge);
    };
    for class in 0..coarse.count() as u32 {
        check_for_interrupts();
        if many
            .as_mut()
            .is_some_and(|many| many.add_class(class, &texts))
        {
            continue;
        }
        let range = texts.range(class);
        for b in range.clone() {
            (range.start..b).for_each(|a| add(texts.edge(a, b, 0)));
        }
    }
    for_each_edge(&mut edges, |edge| {
        if many
            .as_mut()
            .is_some_and(|many| many.add_pair(edge, &texts))
        {
            return;
        }
        for a in texts.range(edge.a) {
            let others = texts.range(edge.b);
            others.for_each(|b| add(texts.edge(a, b, edge.distance)));
        }
    });
    drop(edges);
    if let Some(many) = many {
        many.find(table, &fine, texts, activity, &mut add);
    }
    (fine, found)
}

/// Reads the texts of rows that are not alone in their class.
fn read(table: &TextReader, activity: &mut Activity) -> Vec<TextContent> {
    let coarse = &table.members.classes;
    let all = coarse.rows() as u32;
    let is_alone = |row: &u32| coarse.size(coarse.class_of(*row)) == 1;
    let mut contents = filled(all as usize, TextContent::NotRead);
    let mut rows = collected(0..all);
    rows.retain(|row| {
        check_for_interrupts();
        !is_alone(row)
    });
    rows.iter()
        .for_each(|row| contents[*row as usize] = TextContent::None);
    table.read_all(&rows, "equal rows read", activity, |row, text| {
        let letters = text.show_bytes(letters);
        contents[row as usize] = match letters.count() {
            0 => TextContent::Empty,
            _ => TextContent::Text(hash(&letters)),
        };
    });
    contents
}

fn hash(letters: &Letters) -> u128 {
    match letters {
        Letters::Ascii(letters) => cityhash_rs::cityhash_110_128(letters),
        Letters::Wide(letters) => {
            let mut bytes = Vec::new();
            or_out_of_memory(bytes.try_reserve_exact(size_of_val(letters.as_slice())));
            letters
                .iter()
                .for_each(|letter| bytes.extend(letter.to_ne_bytes()));
            cityhash_rs::cityhash_110_128(&bytes)
        }
    }
}

/// Divides classes by content. Also returns those of the new classes that can be similar to others.
fn divide(coarse: &Classes, contents: &[TextContent], least: f64) -> (Classes, DistinctTexts) {
    let mut class_of_row = filled(contents.len(), 0);
    let mut paired = Vec::new();
    let mut texts: HashMap<(u32, u128), u32> = HashMap::new();
    let mut count = 0;
    for (row, (content, class_of_row)) in (0u32..).zip(contents.iter().zip(&mut class_of_row)) {
        check_for_interrupts();
        let class = coarse.class_of(row);
        if let TextContent::Text(hash) = content {
            or_out_of_memory(texts.try_reserve(1));
            let first_class = texts.entry((class, *hash)).or_insert(count);
            *class_of_row = *first_class;
            if *first_class != count {
                continue;
            }
        }
        *class_of_row = count;
        let is_similar_to_some = match content {
            TextContent::NotRead | TextContent::Text(_) => true,
            // A similarity of 0 may be enough.
            TextContent::Empty => least <= 0.0,
            TextContent::None => false,
        };
        if is_similar_to_some {
            push_within(&mut paired, (class, count), contents.len());
        }
        count += 1;
    }
    (classes(class_of_row), DistinctTexts::new(paired))
}

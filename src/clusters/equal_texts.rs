//! Classes of rows whose texts are equal too, for clusters that are checked by texts.
//!
//! Two rows of equal fingerprints need not have similar texts. Rows whose texts have the same letters
//! do: they form a class, and one row of it is compared with other classes. Texts are distinguished
//! by a 128-bit hash of their letters.

use super::paired_rows::{EdgeList, add_edge, classes, for_each_edge, no_edges};
use super::texts::TextReader;
use crate::row::jaccard::letters;
use simhash_fingerprint::similarity::letters::Letters;
use simhash_hamming::components::edges::Edge;
use simhash_hamming::components::group::Classes;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{collected, filled, in_scratch, or_out_of_memory, push_within};
use std::collections::HashMap;

/// Number of rows whose texts one query reads: where no index serves, it reads the whole table.
const CHUNK: usize = 4096;

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

/// Returns the classes of rows that are equal in fingerprint and letters, and the pairs of them
/// that have to be compared: those within a class of equal fingerprints, and those of two such
/// classes that `edges` pairs. `least` is the similarity that is asked for.
pub fn classes_by_text(
    table: &TextReader,
    edges: &mut EdgeList,
    least: f64,
    activity: &mut Activity,
) -> (Classes, EdgeList) {
    let coarse = &table.members.classes;
    let contents = read(table, activity);
    let (fine, mut paired) = divide(coarse, &contents, least);
    // Put the pairs of one coarse class side by side.
    paired.sort_unstable_by_key(|pair| {
        check_for_interrupts();
        *pair
    });
    let fine_classes = |class: u32| {
        let start = paired.partition_point(|pair| pair.0 < class);
        let end = paired.partition_point(|pair| pair.0 <= class);
        &paired[start..end]
    };
    let mut found = no_edges();
    let mut add = |a: u32, b: u32, distance| {
        check_for_interrupts();
        add_edge(&mut found, Edge { a, b, distance });
    };
    for class in 0..coarse.count() as u32 {
        check_for_interrupts();
        let classes = fine_classes(class);
        for (i, (_, a)) in classes.iter().enumerate() {
            classes[..i].iter().for_each(|(_, b)| add(*b, *a, 0));
        }
    }
    for_each_edge(edges, |edge| {
        for (_, a) in fine_classes(edge.a) {
            fine_classes(edge.b)
                .iter()
                .for_each(|(_, b)| add(*a, *b, edge.distance));
        }
    });
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
    for (i, chunk) in rows.chunks(CHUNK).enumerate() {
        check_for_interrupts();
        activity.show(|| format!("{} of {} equal rows read", i * CHUNK, rows.len()));
        chunk
            .iter()
            .for_each(|row| contents[*row as usize] = TextContent::None);
        let place = |row: u32| chunk.binary_search(&row).ok();
        // The array of keys is one of many, so it is freed with the scratch memory.
        in_scratch(|| {
            table.read(chunk, place, |place, text| {
                let letters = text.show_bytes(letters);
                contents[chunk[place] as usize] = match letters.count() {
                    0 => TextContent::Empty,
                    _ => TextContent::Text(hash(&letters)),
                };
            });
        });
    }
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

/// Divides classes by content. Also returns which of the new classes can be similar to others, each
/// behind the class that it comes from.
fn divide(coarse: &Classes, contents: &[TextContent], least: f64) -> (Classes, Vec<(u32, u32)>) {
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
    (classes(class_of_row), paired)
}

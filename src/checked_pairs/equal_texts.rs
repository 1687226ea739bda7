//! Classes of rows that a check judges alike, since their texts are equal too.
//!
//! Two rows of equal fingerprints need not have similar texts. Rows whose texts are equal form a
//! class, if the check passes their text beside itself. One row of a class is then compared with
//! other classes. Texts are distinguished by a 128-bit hash.

use super::distinct_texts::DistinctTexts;
use super::judge::{Content, Judge};
use super::paired_rows::{EdgeList, add_edge, classes, for_each_edge, no_edges};
use super::similar_texts::ManyTexts;
use super::value_reader::ValueReader;
use simhash_hamming::components::group::Classes;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{collected, filled, or_out_of_memory, push_within};
use std::collections::HashMap;

/// Returns the classes of rows that are equal in fingerprint and for the judge, and the pairs of
/// them that have to be judged: those within a class of equal fingerprints, and those of two such
/// classes that `edges` pairs. Where texts have to be similar, pairs of many that are not are left
/// out.
pub fn classes_by_text(
    values: &ValueReader,
    mut edges: EdgeList,
    judge: &mut impl Judge,
    activity: &mut Activity,
) -> (Classes, EdgeList) {
    let coarse = &values.paired_rows.classes;
    let contents = read(values, judge, activity);
    let (fine, texts) = divide(coarse, &contents);
    drop(contents);
    let least = judge.least_jaccard();
    let mut many = least.and_then(|least| ManyTexts::new(least, coarse.count()));
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
        many.find(values, &fine, texts, activity, &mut add);
    }
    (fine, found)
}

/// Reads the texts of rows that are not alone in their class.
fn read(values: &ValueReader, judge: &mut impl Judge, activity: &mut Activity) -> Vec<Content> {
    let coarse = &values.paired_rows.classes;
    let all = coarse.rows() as u32;
    let mut contents = filled(all as usize, Content::Alone);
    if !judge.may_be_equal() {
        return contents;
    }
    let is_alone = |row: &u32| coarse.size(coarse.class_of(*row)) == 1;
    let mut rows = collected(0..all);
    rows.retain(|row| {
        check_for_interrupts();
        !is_alone(row)
    });
    rows.iter()
        .for_each(|row| contents[*row as usize] = Content::None);
    values.read_all(&rows, "reading equal rows", activity, |row, text| {
        contents[row as usize] = judge.content(row, text);
    });
    contents
}

/// Divides classes by content. Also returns those of the new classes that can pass with others.
fn divide(coarse: &Classes, contents: &[Content]) -> (Classes, DistinctTexts) {
    let mut class_of_row = filled(contents.len(), 0);
    let mut paired = Vec::new();
    let mut texts: HashMap<(u32, u128), u32> = HashMap::new();
    let mut count = 0;
    for (row, (content, class_of_row)) in (0u32..).zip(contents.iter().zip(&mut class_of_row)) {
        check_for_interrupts();
        let class = coarse.class_of(row);
        if let Content::Equal(hash) = content {
            or_out_of_memory(texts.try_reserve(1));
            let first_class = texts.entry((class, *hash)).or_insert(count);
            *class_of_row = *first_class;
            if *first_class != count {
                continue;
            }
        }
        *class_of_row = count;
        if *content != Content::None {
            push_within(&mut paired, (class, count), contents.len());
        }
        count += 1;
    }
    (classes(class_of_row), DistinctTexts::new(paired))
}

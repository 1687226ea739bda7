//! Which of the pairs that a search has found pass a check. simhash_pairs and simhash_clusters ask
//! here. The answer is that of judging each pair, though rows that are judged alike are judged once.

use super::check::{AnyJudge, Check};
use super::chunks::Chunks;
use super::decisions::{Decided, DifferentRows};
use super::equal_texts::classes_by_text;
use super::judge::Judge;
use super::paired_rows::{EdgeList, PairedRows, add_edge, no_edges};
use super::value_reader::ValueReader;
use crate::pairs::source::SourceTable;
use simhash_hamming::components::edges::Edge;
use simhash_hamming::components::group::Classes;
use simhash_hamming::pairs::union_find::UnionFind;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::or_out_of_memory;
use std::cell::RefCell;

/// The pairs that pass.
pub struct PassingPairs {
    /// Rows of equal fingerprints that are judged alike, and pass with each other.
    pub classes: Classes,
    /// Pairs of classes. All their rows pass.
    pub pairs: EdgeList,
}

impl PassingPairs {
    /// Judges the pairs of `edges`, and those of rows with equal fingerprints. If it only matters
    /// which rows are connected, pairs that others connect are left out.
    pub fn find(
        sources: &[SourceTable],
        check: Check,
        different: Option<DifferentRows>,
        members: &PairedRows,
        edges: EdgeList,
        connects: bool,
        activity: &mut Activity,
    ) -> Self {
        let table = ValueReader::new(sources, &check.values, members);
        match check.judge {
            AnyJudge::Jaccard(judge) => {
                decided(&table, judge, different, edges, connects, activity)
            }
            AnyJudge::Function(judge) => {
                decided(&table, judge, different, edges, connects, activity)
            }
            AnyJudge::Every(judge) => decided(&table, judge, different, edges, connects, activity),
        }
    }
}

fn decided(
    table: &ValueReader<'_>,
    judge: impl Judge,
    different: Option<DifferentRows>,
    edges: EdgeList,
    connects: bool,
    activity: &mut Activity,
) -> PassingPairs {
    match different {
        Some(different) => judged(
            table,
            Decided { judge, different },
            edges,
            connects,
            activity,
        ),
        None => judged(table, judge, edges, connects, activity),
    }
}

fn judged(
    table: &ValueReader<'_>,
    mut judge: impl Judge,
    edges: EdgeList,
    connects: bool,
    activity: &mut Activity,
) -> PassingPairs {
    let (classes, mut candidates) = classes_by_text(table, edges, &mut judge, activity);
    let mut chunks = Chunks::new(table, &classes, &mut candidates, judge);
    let sets = RefCell::new(connects.then(|| separate(classes.count())));
    let mut pairs = no_edges();
    let mut is_wanted = |pair: Edge| {
        let mut sets = sets.borrow_mut();
        let is_separate = |sets: &mut UnionFind| sets.find(pair.a) != sets.find(pair.b);
        sets.as_mut().is_none_or(is_separate)
    };
    let mut each = |pair: Edge, verdict: Option<_>| {
        if verdict.is_some() {
            add_edge(&mut pairs, pair);
            if let Some(sets) = sets.borrow_mut().as_mut() {
                sets.union(pair.a, pair.b);
            }
        }
    };
    chunks.judge(candidates, activity, &mut is_wanted, &mut each);
    drop(chunks);
    PassingPairs { classes, pairs }
}

/// Returns sets of one class each.
fn separate(classes: usize) -> UnionFind {
    let mut sets = UnionFind::new();
    or_out_of_memory(sets.reserve(classes));
    for _ in 0..classes {
        check_for_interrupts();
        or_out_of_memory(sets.add());
    }
    sets
}

//! Which of the pairs that a search has found pass a check. simhash_pairs and simhash_clusters ask
//! here. The answer is that of judging each pair, though rows that are judged alike are judged once.

use super::check::AnyJudge;
use super::chunks::Chunks;
use super::decisions::{Decided, DifferentRows};
use super::equal_texts::classes_by_text;
use super::judge::Judge;
use super::paired_rows::{EdgeList, add_edge, no_edges};
use super::value_reader::ValueReader;
use simhash_base::bytes::{get_u32, get_u64};
use simhash_base::runs::Item;
use simhash_hamming::components::edges::{Edge, List};
use simhash_hamming::components::group::{Classes, ClusterMethod};
use simhash_hamming::pairs::sets::UnionFind;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{filled, or_out_of_memory, work_mem_bytes};
use simhash_pg::process::temp_file::{TempFile, TempFiles};
use std::cell::RefCell;

/// What a call needs to know.
#[derive(Clone, Copy)]
pub struct Asked {
    /// The pairs are for clusters of this method: those that change none are left out.
    pub method: Option<ClusterMethod>,
    /// The similarities of texts are needed too.
    pub similarities: bool,
}

/// How similar the texts of two classes are.
#[derive(Clone, Copy)]
pub struct SimilarClasses {
    pub a: u32,
    pub b: u32,
    pub similarity: f64,
}

impl Item for SimilarClasses {
    const BYTES: usize = size_of::<Self>();

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.a.to_ne_bytes());
        bytes.extend(self.b.to_ne_bytes());
        bytes.extend(self.similarity.to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> Self {
        SimilarClasses {
            a: get_u32(bytes, 0),
            b: get_u32(bytes, 4),
            similarity: f64::from_bits(get_u64(bytes, 8)),
        }
    }
}

/// Similarities, in memory and in a temporary file.
pub type SimilarityList = List<TempFile<'static>, SimilarClasses>;

/// The pairs that pass.
pub struct PassingPairs {
    /// Rows of equal fingerprints that are judged alike, and pass with each other.
    pub classes: Classes,
    /// Pairs of classes. All their rows pass.
    pub pairs: EdgeList,
    /// Their similarities, if they are asked for and the check is one of similarity.
    pub similarities: SimilarityList,
}

impl PassingPairs {
    /// Judges by the values of `values` the pairs of `edges`, and those of rows with equal
    /// fingerprints.
    pub fn find(
        values: &ValueReader<'_>,
        judge: AnyJudge,
        different: Option<DifferentRows>,
        edges: EdgeList,
        asked: Asked,
        activity: &mut Activity,
    ) -> Self {
        match judge {
            AnyJudge::Jaccard(judge) => decided(values, judge, different, edges, asked, activity),
            AnyJudge::Function(judge) => match judge.own() {
                Some(judge) => decided(values, judge, different, edges, asked, activity),
                None => decided(values, judge, different, edges, asked, activity),
            },
            AnyJudge::Every(judge) => decided(values, judge, different, edges, asked, activity),
        }
    }
}

fn decided(
    values: &ValueReader<'_>,
    judge: impl Judge,
    different: Option<DifferentRows>,
    edges: EdgeList,
    asked: Asked,
    activity: &mut Activity,
) -> PassingPairs {
    match different {
        Some(different) => judged(values, Decided { judge, different }, edges, asked, activity),
        None => judged(values, judge, edges, asked, activity),
    }
}

fn judged<J: Judge>(
    values: &ValueReader<'_>,
    mut judge: J,
    edges: EdgeList,
    asked: Asked,
    activity: &mut Activity,
) -> PassingPairs {
    let (classes, mut candidates) = classes_by_text(values, edges, &mut judge, activity);
    let mut chunks = Chunks::new(values, &classes, &mut candidates, judge);
    let is_for = |method| asked.method == Some(method);
    let sets = RefCell::new(is_for(ClusterMethod::Components).then(|| separate(classes.count())));
    // The classes that join another one, and lead none: those before a class are known when its turn comes.
    let joined = is_for(ClusterMethod::Leader).then(|| filled(classes.count(), false));
    let joined = RefCell::new(joined);
    let mut pairs = no_edges();
    let mut similarities = List::new(work_mem_bytes() / 4);
    let mut is_wanted = |pair: Edge| {
        let mut sets = sets.borrow_mut();
        let is_separate = |sets: &mut UnionFind| sets.find(pair.a) != sets.find(pair.b);
        let leads = |joined: &Vec<bool>| !joined[pair.a as usize];
        sets.as_mut().is_none_or(is_separate) && joined.borrow().as_ref().is_none_or(leads)
    };
    let mut each = |pair: Edge, verdict: Option<J::Verdict>| {
        if let Some(verdict) = verdict {
            add_edge(&mut pairs, pair);
            if let (true, Some(similarity)) = (asked.similarities, J::similarity(&verdict)) {
                let Edge { a, b, .. } = pair;
                let similar = SimilarClasses { a, b, similarity };
                or_out_of_memory(similarities.add(similar, &mut TempFiles));
            }
            if let Some(sets) = sets.borrow_mut().as_mut() {
                sets.union(pair.a, pair.b);
            }
            if let Some(joined) = joined.borrow_mut().as_mut() {
                joined[pair.b as usize] = true;
            }
        }
    };
    chunks.judge(candidates, activity, &mut is_wanted, &mut each);
    drop(chunks);
    PassingPairs {
        classes,
        pairs,
        similarities,
    }
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

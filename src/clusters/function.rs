//! simhash_clusters: groups of near-duplicate rows. The server calls it from SQL, and
//! `clusters::kept` with the keys of some rows. Each row is in one cluster at most, and the
//! representative of a cluster is one of its rows.

use super::equal_texts::classes_by_text;
use super::paired_rows::{EdgeList, PairedRows, add_edge, no_edges, representatives_by};
use super::texts::{ChunkedTexts, TextReader};
use crate::pairs::scope_columns::ScopeColumns;
use crate::pairs::source::{SourceTable, first_argument_after, in_range, radius, required};
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;
use simhash_hamming::components::edges::Edge;
use simhash_hamming::components::group::{Classes, ClusterMethod};
use simhash_hamming::pairs::union_find::UnionFind;
use simhash_pg::catalog::table_name;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::{collected, filled, or_out_of_memory};
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;
use std::cell::RefCell;

/// The check of texts.
struct Check {
    /// The column, as SQL text.
    column: String,
    /// Least Jaccard similarity.
    least: f64,
}

pg_function! {
    /// simhash_clusters(relation, key, fingerprint, radius, method, text, min_jaccard, within)
    /// -> SETOF (cluster_id, key, size, representative, distance, jaccard)
    fn simhash_clusters, pg_finfo_simhash_clusters(args) {
        clusters(args, "simhash_clusters", false, None)
    }
}

pg_function! {
    /// simhash_clusters_keyed(key_type, relation, key, fingerprint, radius, method, text,
    /// min_jaccard, within)
    fn simhash_clusters_keyed, pg_finfo_simhash_clusters_keyed(args) {
        clusters(args, "simhash_clusters_keyed", true, None)
    }
}

pg_function! {
    /// simhash_catalog.clusters_among(key_type, relation, key, fingerprint, radius, method, text,
    /// min_jaccard, within, keys): as simhash_clusters_keyed, of the rows with these keys; of all
    /// if keys is NULL
    fn simhash_clusters_among, pg_finfo_simhash_clusters_among(args) {
        // The arguments before it are key_type, the relation and its columns, radius, method, text,
        // min_jaccard and within.
        let keys = args.varlena(9, pg_sys::ANYARRAYOID);
        clusters(args, "simhash_keep_clusters", true, keys)
    }
}

/// Returns the clusters of the SQL function `name`; if `keyed`, it has the argument key_type before
/// the others. With `keys`, an array, returns those of the rows with these keys.
fn clusters(
    args: &Args,
    name: &'static str,
    keyed: bool,
    keys: Option<Value<'_>>,
) -> pg_sys::Datum {
    let rows = RowsOut::begin(args);
    let mut sources: [SourceTable; 1] = SourceTable::from_arguments(args, name, keyed);
    let keys = keys.map(|keys| {
        let order = sources[0].order();
        sources[0].restrict_to_keys(&order);
        let items: Vec<_> = keys.array().items.into_iter().flatten().collect();
        order.array(items.into_iter())
    });
    let source = &sources[0];
    // Position of the radius, which method, text, min_jaccard and within follow.
    let radius_at = first_argument_after::<1>(keyed);
    let radius = radius(args.get::<i32>(radius_at), name);
    let check = args.name(radius_at + 2).map(|column| Check {
        column: source.text_column(&column),
        least: min_jaccard(args.get::<f64>(radius_at + 3), name),
    });
    let method = method(args, radius_at + 1, source, check.is_some());
    let within = ScopeColumns::from_arguments(args, radius_at + 4, name, &sources);
    let within = match keys.flatten() {
        Some(keys) => within.with_parameter(keys),
        None => within,
    };
    let mut activity = Activity::new(name);
    let verified = check.is_some();
    let mut members = PairedRows::find(&sources, &within, radius, method, verified, &mut activity);
    let mut edges = std::mem::replace(&mut members.edges, no_edges());
    let assigned = match check {
        Some(check) => verify(source, &check, &members, edges, method, &mut activity),
        None => {
            let representatives = representatives_by(method, &members.classes, &mut edges);
            collected(representatives.into_iter().map(|row| (row, None)))
        }
    };
    return_clusters(rows, &members, &assigned);
    args.null()
}

fn min_jaccard(given: Option<f64>, function: &str) -> f64 {
    in_range(
        "min_jaccard",
        required(given, function, "min_jaccard"),
        0.0..=1.0,
    )
}

fn method(args: &Args, i: usize, source: &SourceTable, with_text: bool) -> ClusterMethod {
    let Some(text) = args.varlena(i, pg_sys::TEXTOID) else {
        return if with_text {
            ClusterMethod::Star
        } else {
            ClusterMethod::Components
        };
    };
    let name = name_to_utf8(text.bytes());
    ClusterMethod::from_name(&name).unwrap_or_else(|| {
        let names: Vec<&str> = ClusterMethod::NAMES.iter().map(|m| m.0).collect();
        let mut hint = format!("Methods are {}.", names.join(", "));
        // Most calls name the text column next, so it may have been given as the method.
        if source.has_text_column(&name) {
            let (column, literal) = (table_name::identifier(&name), table_name::literal(&name));
            hint =
                format!("To compare the texts of column {column}, write text => {literal}. {hint}");
        }
        let message = format!("unknown method \"{name}\"");
        Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message)
            .hint(hint)
            .raise()
    })
}

/// The representative of each row, and how similar its text is to the row's.
type Assignment = (u32, Option<f64>);

/// Keeps the pairs whose texts are similar, and groups the rows by them.
fn verify(
    source: &SourceTable,
    check: &Check,
    members: &PairedRows,
    edges: EdgeList,
    method: ClusterMethod,
    activity: &mut Activity,
) -> Vec<Assignment> {
    let table = TextReader::new(source, &check.column, members);
    let (classes, mut text_pairs) = classes_by_text(&table, edges, check.least, activity);
    let mut texts = ChunkedTexts::new(&table, &classes, &mut text_pairs);
    let mut alike = alike(
        &mut texts,
        &classes,
        text_pairs,
        check.least,
        method,
        activity,
    );
    let representatives = representatives_by(method, &classes, &mut alike);
    drop(alike);
    // Rows of a class that join the same row are equally similar to it.
    let to_classes = |(row, representative): (u32, &u32)| {
        (classes.class_of(row), classes.class_of(*representative))
    };
    let mut pairs = collected(
        (0..classes.rows() as u32)
            .zip(&representatives)
            .map(to_classes),
    );
    pairs.sort_unstable_by_key(|pair| {
        check_for_interrupts();
        *pair
    });
    pairs.dedup();
    let mut similar = filled(pairs.len(), None);
    let mut class_pairs = no_edges();
    for (number, (a, b)) in (0..).zip(&pairs) {
        // The pair's number takes the place of a distance.
        let pair = Edge {
            a: *a,
            b: *b,
            distance: number,
        };
        add_edge(&mut class_pairs, pair);
    }
    let keep = &mut |pair: Edge, similarity| similar[pair.distance as usize] = similarity;
    texts.compare(class_pairs, 0.0, activity, &mut |_| true, keep);
    let rows = (0..classes.rows() as u32).zip(&representatives);
    collected(rows.map(|(row, representative)| {
        let found = pairs.binary_search(&to_classes((row, representative)));
        (*representative, found.ok().and_then(|at| similar[at]))
    }))
}

/// Returns the pairs of classes whose texts are similar. For components, those that others connect
/// are not compared.
fn alike(
    texts: &mut ChunkedTexts<'_>,
    classes: &Classes,
    pairs: EdgeList,
    least: f64,
    method: ClusterMethod,
    activity: &mut Activity,
) -> EdgeList {
    let sets = match method {
        ClusterMethod::Components => Some(separate(classes.count())),
        _ => None,
    };
    let sets = RefCell::new(sets);
    let mut alike = no_edges();
    let mut is_wanted = |pair: Edge| {
        let mut sets = sets.borrow_mut();
        let is_separate = |sets: &mut UnionFind| sets.find(pair.a) != sets.find(pair.b);
        sets.as_mut().is_none_or(is_separate)
    };
    let mut each = |pair: Edge, similarity: Option<f64>| {
        if similarity.is_some() {
            add_edge(&mut alike, pair);
            if let Some(sets) = sets.borrow_mut().as_mut() {
                sets.union(pair.a, pair.b);
            }
        }
    };
    texts.compare(pairs, least, activity, &mut is_wanted, &mut each);
    alike
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

/// Returns the clusters of two or more rows by their smallest keys, and the rows of each by key.
fn return_clusters(mut out: RowsOut, members: &PairedRows, assigned: &[Assignment]) {
    let mut sizes = filled(assigned.len(), 0i64);
    let mut first = filled(assigned.len(), u32::MAX);
    for (row, (representative, _)) in (0u32..).zip(assigned) {
        check_for_interrupts();
        sizes[*representative as usize] += 1;
        first[*representative as usize] = first[*representative as usize].min(row);
    }
    let mut order = collected(0..assigned.len() as u32);
    order.retain(|row| {
        check_for_interrupts();
        sizes[assigned[*row as usize].0 as usize] > 1
    });
    order.sort_unstable_by_key(|row| {
        check_for_interrupts();
        (first[assigned[*row as usize].0 as usize], *row)
    });
    for row in order {
        check_for_interrupts();
        let (representative, jaccard) = assigned[row as usize];
        let (row, representative) = (row as usize, representative as usize);
        let differing = members.fingerprints[row] ^ members.fingerprints[representative];
        out.push([
            Some(ResultValue::Value(
                members.key(first[representative] as usize),
            )),
            Some(ResultValue::Value(members.key(row))),
            Some(ResultValue::from(sizes[representative])),
            Some(ResultValue::Value(members.key(representative))),
            Some(ResultValue::from(differing.count_ones() as i32)),
            jaccard.map(ResultValue::from),
        ]);
    }
}

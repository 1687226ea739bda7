//! simhash_clusters: groups of near-duplicate rows.

use super::cluster_members::Members;
use super::cluster_texts::Texts;
use super::clusters::{Edge, Method, representatives};
use super::source::{Source, radius, required};
use crate::pg::encoding::to_utf8;
use crate::pg::error::{raise, raise_with_hint};
use crate::pg::fmgr::{Args, pg_function};
use crate::pg::memory::or_out_of_memory;
use crate::pg::rows_out::RowsOut;
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::{IntoDatum, pg_sys};

const NAME: &str = "simhash_clusters";

/// How texts are checked.
struct Check {
    /// As SQL.
    column: String,
    least: f64,
}

pg_function! {
    /// simhash_clusters(rel, key_column, fp, k, method, text_column, min_jaccard)
    /// -> SETOF (cluster_id, key, size, representative, distance, jaccard)
    fn simhash_clusters, pg_finfo_simhash_clusters(args) {
        clusters(args, 3, None)
    }
}

pg_function! {
    /// simhash_clusters(rel, key_column, fp, key_type, k, method, text_column, min_jaccard)
    fn simhash_clusters_keyed, pg_finfo_simhash_clusters_keyed(args) {
        clusters(args, 4, Some(3))
    }
}

/// With `k` and what follows it from argument `k` on.
fn clusters(args: &Args, k: usize, key_type: Option<usize>) -> pg_sys::Datum {
    let rows = RowsOut::begin(args);
    let source = Source::of(args, NAME, key_type);
    let radius = radius(required(args.get::<i32>(k), NAME, "k"));
    let check = args.name(k + 2).map(|column| Check {
        column: source.text_column(&column),
        least: least(args, k + 3),
    });
    let method = method(args, k + 1, check.is_some());
    let mut members = Members::find(&source, radius, method, check.is_some(), NAME);
    let mut edges = std::mem::take(&mut members.edges);
    let placed = match check {
        Some(check) => verify(&source, &check, &members, &mut edges, method),
        None => group(method, &members, &edges)
            .into_iter()
            .map(|of| (of, None))
            .collect(),
    };
    put(rows, &members, &placed);
    args.null()
}

fn least(args: &Args, i: usize) -> f64 {
    let least = required(args.get::<f64>(i), NAME, "min_jaccard");
    if !(0.0..=1.0).contains(&least) {
        raise(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!("min_jaccard must be between 0 and 1, not {least}"),
        );
    }
    least
}

fn method(args: &Args, i: usize, with_text: bool) -> Method {
    let Some(text) = args.varlena(i, pg_sys::TEXTOID) else {
        return if with_text {
            Method::Star
        } else {
            Method::Components
        };
    };
    let name = to_utf8(text.bytes());
    Method::from_name(&name).unwrap_or_else(|| {
        let known: Vec<&str> = Method::NAMES.iter().map(|m| m.0).collect();
        raise_with_hint(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!("unknown method \"{name}\""),
            format!("Methods are {}.", known.join(", ")),
        )
    })
}

fn group(method: Method, members: &Members, edges: &[Edge]) -> Vec<u32> {
    let mut found = Vec::new();
    or_out_of_memory(representatives(method, members.keys.len(), edges).map(|of| found = of));
    found
}

/// The representative of each row, and how similar its text is to the row's.
type Placed = (u32, Option<f64>);

/// Keeps the pairs whose texts are similar, and groups by them.
fn verify(
    source: &Source,
    check: &Check,
    members: &Members,
    edges: &mut Vec<Edge>,
    method: Method,
) -> Vec<Placed> {
    let mut texts = Texts::new(source, &check.column, members, edges, NAME);
    let pairs: Vec<(u32, u32)> = edges.iter().map(|e| (e.a, e.b)).collect();
    let mut similar = texts.similarities(&pairs).into_iter();
    edges.retain(|_| similar.next().flatten().is_some_and(|j| j >= check.least));
    let of = group(method, members, edges);
    let to_representative: Vec<(u32, u32)> = (0..).zip(of.iter().copied()).collect();
    let similar = texts.similarities(&to_representative);
    of.into_iter().zip(similar).collect()
}

/// Puts out the clusters of two rows and more, by their smallest key and within by key.
fn put(mut out: RowsOut, members: &Members, placed: &[Placed]) {
    let mut sizes = vec![0i64; placed.len()];
    let mut first = vec![u32::MAX; placed.len()];
    for (row, (of, _)) in (0u32..).zip(placed) {
        sizes[*of as usize] += 1;
        first[*of as usize] = first[*of as usize].min(row);
    }
    let mut order: Vec<u32> = (0u32..)
        .zip(placed)
        .filter(|(_, (of, _))| sizes[*of as usize] > 1)
        .map(|(row, _)| row)
        .collect();
    order.sort_by_key(|row| (first[placed[*row as usize].0 as usize], *row));
    for row in order {
        let (of, jaccard) = placed[row as usize];
        let (row, of) = (row as usize, of as usize);
        let differing = members.fingerprints[row] ^ members.fingerprints[of];
        out.push(|| {
            [
                Some(members.keys[first[of] as usize]),
                Some(members.keys[row]),
                sizes[of].into_datum(),
                Some(members.keys[of]),
                (differing.count_ones() as i32).into_datum(),
                jaccard.into_datum(),
            ]
        });
    }
}

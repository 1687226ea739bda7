//! simhash_clusters: groups of near-duplicate rows.

use super::equal_texts::refined;
use super::members::{EdgeList, Members, add_edge, clustered, no_edges};
use super::texts::{TextTable, Texts};
use crate::pairs::source::{SourceTable, behind, radius, required};
use crate::pairs::within::Within;
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;
use simhash_hamming::components::edges::Edge;
use simhash_hamming::components::group::Method;
use simhash_pg::catalog::table_name;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::{raise, raise_with_hint};
use simhash_pg::process::memory::{collected, filled};
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;

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
        sources[0].narrow(&order);
        let items: Vec<_> = keys.array().items.into_iter().flatten().collect();
        order.array(items.into_iter())
    });
    let source = &sources[0];
    // Position of the radius, which method, text, min_jaccard and within follow.
    let at = behind::<1>(keyed);
    let radius = radius(args.get::<i32>(at), name);
    let check = args.name(at + 2).map(|column| Check {
        column: source.text_column(&column),
        least: least(args.get::<f64>(at + 3), name),
    });
    let method = method(args, at + 1, source, check.is_some());
    let within = Within::from_arguments(args, at + 4, name, &sources);
    let within = match keys.flatten() {
        Some(keys) => within.with(keys),
        None => within,
    };
    let mut activity = Activity::new(name);
    let verified = check.is_some();
    let mut members = Members::find(&sources, &within, radius, method, verified, &mut activity);
    let mut edges = std::mem::replace(&mut members.edges, no_edges());
    let placed = match check {
        Some(check) => verify(source, &check, &members, edges, method, &mut activity),
        None => {
            let of = clustered(method, &members.classes, &mut edges);
            collected(of.into_iter().map(|of| (of, None)))
        }
    };
    put(rows, &members, &placed);
    args.null()
}

fn least(given: Option<f64>, function: &str) -> f64 {
    let least = required(given, function, "min_jaccard");
    if !(0.0..=1.0).contains(&least) {
        raise(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!("min_jaccard must be between 0 and 1, not {least}"),
        );
    }
    least
}

fn method(args: &Args, i: usize, source: &SourceTable, with_text: bool) -> Method {
    let Some(text) = args.varlena(i, pg_sys::TEXTOID) else {
        return if with_text {
            Method::Star
        } else {
            Method::Components
        };
    };
    let name = name_to_utf8(text.bytes());
    Method::from_name(&name).unwrap_or_else(|| {
        let known: Vec<&str> = Method::NAMES.iter().map(|m| m.0).collect();
        let mut hint = format!("Methods are {}.", known.join(", "));
        // Most calls name the text column next, so it may have been given as the method.
        if source.has_text_column(&name) {
            let (column, literal) = (table_name::identifier(&name), table_name::literal(&name));
            hint =
                format!("To compare the texts of column {column}, write text => {literal}. {hint}");
        }
        let message = format!("unknown method \"{name}\"");
        raise_with_hint(ERRCODE_INVALID_PARAMETER_VALUE, message, hint)
    })
}

/// The representative of each row, and how similar its text is to the row's.
type Placed = (u32, Option<f64>);

/// Keeps the pairs whose texts are similar, and groups the rows by them.
fn verify(
    source: &SourceTable,
    check: &Check,
    members: &Members,
    mut edges: EdgeList,
    method: Method,
    activity: &mut Activity,
) -> Vec<Placed> {
    let table = TextTable::new(source, &check.column, members);
    let (classes, mut of_texts) = refined(&table, &mut edges, check.least, activity);
    drop(edges);
    let mut texts = Texts::new(&table, &classes, &mut of_texts);
    let mut alike = no_edges();
    texts.compare(of_texts, check.least, activity, &mut |pair, similarity| {
        if similarity.is_some() {
            add_edge(&mut alike, pair);
        }
    });
    let of = clustered(method, &classes, &mut alike);
    drop(alike);
    // Rows of a class that join the same row are equally similar to it.
    let to_representative = |(row, of): (u32, &u32)| (classes.class_of(row), classes.class_of(*of));
    let mut pairs = collected((0..classes.rows() as u32).zip(&of).map(to_representative));
    pairs.sort_unstable_by_key(|pair| {
        check_for_interrupts();
        *pair
    });
    pairs.dedup();
    let mut similar = filled(pairs.len(), None);
    let mut asked_for = no_edges();
    for (number, (a, b)) in (0..).zip(&pairs) {
        // The pair's number takes the place of a distance.
        let pair = Edge {
            a: *a,
            b: *b,
            distance: number,
        };
        add_edge(&mut asked_for, pair);
    }
    texts.compare(asked_for, 0.0, activity, &mut |pair, similarity| {
        similar[pair.distance as usize] = similarity;
    });
    collected((0..classes.rows() as u32).zip(&of).map(|(row, of)| {
        let found = pairs.binary_search(&to_representative((row, of)));
        (*of, found.ok().and_then(|at| similar[at]))
    }))
}

/// Returns the clusters of two or more rows by their smallest keys, and the rows of each by key.
fn put(mut out: RowsOut, members: &Members, placed: &[Placed]) {
    let mut sizes = filled(placed.len(), 0i64);
    let mut first = filled(placed.len(), u32::MAX);
    for (row, (of, _)) in (0u32..).zip(placed) {
        check_for_interrupts();
        sizes[*of as usize] += 1;
        first[*of as usize] = first[*of as usize].min(row);
    }
    let mut order = collected(0..placed.len() as u32);
    order.retain(|row| {
        check_for_interrupts();
        sizes[placed[*row as usize].0 as usize] > 1
    });
    order.sort_unstable_by_key(|row| {
        check_for_interrupts();
        (first[placed[*row as usize].0 as usize], *row)
    });
    for row in order {
        check_for_interrupts();
        let (of, jaccard) = placed[row as usize];
        let (row, of) = (row as usize, of as usize);
        let differing = members.fingerprints[row] ^ members.fingerprints[of];
        out.push([
            Some(ResultValue::Value(members.key(first[of] as usize))),
            Some(ResultValue::Value(members.key(row))),
            Some(ResultValue::from(sizes[of])),
            Some(ResultValue::Value(members.key(of))),
            Some(ResultValue::from(differing.count_ones() as i32)),
            jaccard.map(ResultValue::from),
        ]);
    }
}

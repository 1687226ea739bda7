//! simhash_clusters: groups of near-duplicate rows. The server calls it from SQL, and
//! `clusters::kept` with the keys of some rows. Each row is in one cluster at most, and the
//! representative of a cluster is one of its rows.

use crate::checked_pairs::check::{Check, CheckArguments, no_check};
use crate::checked_pairs::chunks::Chunks;
use crate::checked_pairs::decisions::{DifferentKeys, DifferentRows};
use crate::checked_pairs::judge::JaccardJudge;
use crate::checked_pairs::paired_rows::{
    EdgeList, Needed, PairedRows, add_edge, no_edges, representatives_by,
};
use crate::checked_pairs::passing::{Asked, PassingPairs, SimilarityList};
use crate::checked_pairs::value_reader::ValueReader;
use crate::pairs::arguments::{named, required};
use crate::pairs::chosen_columns::named_list;
use crate::pairs::named_columns::open_relation;
use crate::pairs::scope_columns::ScopeColumns;
use crate::pairs::source::{SourceTable, radius_of};
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_hamming::components::edges::Edge;
use simhash_hamming::components::group::{Classes, ClusterMethod};
use simhash_pg::catalog::table_name;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::{name_to_utf8, to_utf8};
use simhash_pg::process::error::{Error, leave_out_statement};
use simhash_pg::process::memory::{MemoryContext, collected, filled, or_out_of_memory};
use simhash_pg::process::temp_file::TempFiles;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::type_output::Output;
use simhash_pg::sql::value::Value;

pg_function!(simhash_clusters);
/// simhash_clusters(relation regclass, key text, ...) and (relation regclass, key_type anyelement, ...)
/// -> SETOF (cluster_id, key, size, representative, distance, jaccard)
fn simhash_clusters(args: &Args) -> Datum {
    clusters(args, "simhash_clusters", None)
}

pg_function!(simhash_clusters_among);
/// simhash_catalog.clusters_among(relation, key_type, ..., decisions, keys): as simhash_clusters, of the rows with
/// these keys; of all if keys is NULL. Pairs that the table of decisions says are different do not count
fn simhash_clusters_among(args: &Args) -> Datum {
    let kept = KeptArguments {
        decisions: args.get::<pg_sys::Oid>(args.at("decisions")),
        keys: args.varlena(args.at("keys"), pg_sys::ANYARRAYOID),
    };
    clusters(args, "simhash_keep_clusters", Some(kept))
}

/// What kept clusters ask for besides.
#[derive(Default)]
struct KeptArguments<'a> {
    /// The table of what a person has decided about pairs.
    decisions: Option<pg_sys::Oid>,
    /// The keys of the rows that count, an array.
    keys: Option<Value<'a>>,
}

/// Returns the clusters of the SQL function `name`.
fn clusters(args: &Args, name: &'static str, kept: Option<KeptArguments<'_>>) -> pg_sys::Datum {
    let rows = RowsOut::begin(args);
    let radius = args.get::<i32>(args.at("radius"));
    if kept.is_some() {
        required(radius, name, "radius");
    }
    let kept = kept.unwrap_or_default();
    let mut sources: [SourceTable; 1] = SourceTable::from_arguments(args, name);
    let order = sources[0].order();
    let keys = kept.keys.and_then(|keys| {
        let items: Vec<_> = keys.array().items.into_iter().flatten().collect();
        order.array(items.into_iter())
    });
    let different = kept
        .decisions
        .and_then(|table| DifferentKeys::read(table, &sources[0], keys));
    if keys.is_some() {
        sources[0].restrict_to_keys(&order);
    }
    let checked = CheckArguments::from_arguments(args, name);
    let radius = radius_of(radius, name, &sources, checked.texts[0].is_some());
    let columns = ScopeColumns::from_arguments(args, name, &sources);
    let columns = match keys {
        Some(keys) => columns.with_parameter(keys),
        None => columns,
    };
    let check = Check::new(checked, &sources).or_else(|| different.as_ref().map(|_| no_check()));
    let method = method(args, &sources[0], check.is_some());
    let mut activity = Activity::new(name);
    let needed = match &check {
        Some(check) => check.needed(&sources[0]),
        None if method == ClusterMethod::Components => Needed::Connections,
        None => Needed::All,
    };
    let mut paired_rows = PairedRows::find(&sources, &columns, radius, needed, &mut activity);
    let mut edges = std::mem::replace(&mut paired_rows.edges, no_edges());
    let assigned = match check {
        Some(check) => {
            let check = (check, different.map(|keys| keys.among(&paired_rows)));
            verify(&sources, check, &paired_rows, edges, method, &mut activity)
        }
        None => {
            let representatives = representatives_by(method, &paired_rows.classes, &mut edges);
            collected(representatives.into_iter().map(|row| (row, None)))
        }
    };
    return_clusters(rows, &sources[0], &paired_rows, &assigned);
    args.null()
}

fn method(args: &Args, source: &SourceTable, is_checked: bool) -> ClusterMethod {
    let Some(text) = args.varlena(args.at("method"), pg_sys::TEXTOID) else {
        return if is_checked {
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

/// Keeps the pairs that pass the check, and groups the rows by them.
fn verify(
    sources: &[SourceTable; 1],
    (check, different): (Check, Option<DifferentRows>),
    paired_rows: &PairedRows,
    edges: EdgeList,
    method: ClusterMethod,
    activity: &mut Activity,
) -> Vec<Assignment> {
    let asked = Asked {
        method: Some(method),
        similarities: check.texts.is_some(),
    };
    let least = check.least_jaccard();
    let values = ValueReader::new(sources, &check.values, paired_rows);
    let passing = PassingPairs::find(&values, check.judge, different, edges, asked, activity);
    let PassingPairs {
        classes,
        mut pairs,
        similarities,
    } = passing;
    let representatives = representatives_by(method, &classes, &mut pairs);
    drop(pairs);
    let Some(texts) = check.texts else {
        return collected(representatives.into_iter().map(|row| (row, None)));
    };
    // What is left of the values is used again where they are the texts.
    let values = match texts == check.values {
        true => values,
        false => ValueReader::new(sources, &texts, paired_rows),
    };
    let known = (similarities, least);
    with_similarities(&values, &classes, &representatives, known, activity)
}

/// Returns how similar the text of each row is to that of its representative. What is known of
/// pairs that passed is not compared again. If texts had to be similar by `least`, the text of a row
/// in a cluster has letters, and is equal to itself.
fn with_similarities(
    values: &ValueReader<'_>,
    classes: &Classes,
    representatives: &[u32],
    (mut known, least): (SimilarityList, Option<f64>),
    activity: &mut Activity,
) -> Vec<Assignment> {
    // Rows of a class that join the same row are equally similar to it.
    let to_classes = |(row, representative): (u32, &u32)| {
        (classes.class_of(row), classes.class_of(*representative))
    };
    let rows = || (0..classes.rows() as u32).zip(representatives);
    let mut pairs = collected(rows().map(to_classes));
    pairs.sort_unstable_by_key(|pair| {
        check_for_interrupts();
        *pair
    });
    pairs.dedup();
    let mut similar = filled(pairs.len(), None);
    or_out_of_memory(known.for_each(&mut TempFiles, |_, pair| {
        for found in [(pair.a, pair.b), (pair.b, pair.a)] {
            if let Ok(at) = pairs.binary_search(&found) {
                similar[at] = Some(pair.similarity);
            }
        }
        Ok(())
    }));
    let mut left = no_edges();
    for (number, (&(a, b), similar)) in (0..).zip(pairs.iter().zip(&mut similar)) {
        if a == b && least.is_some_and(|least| least > 0.0) {
            *similar = Some(1.0);
        }
        if similar.is_none() {
            // The pair's number takes the place of a distance.
            let distance = number;
            add_edge(&mut left, Edge { a, b, distance });
        }
    }
    if left.count() > 0 {
        let mut chunks = Chunks::new(values, classes, &mut left, JaccardJudge::new(0.0));
        let keep = &mut |pair: Edge, similarity| similar[pair.distance as usize] = similarity;
        chunks.judge(left, activity, &mut |_| true, keep);
    }
    collected(rows().map(|(row, representative)| {
        let found = pairs.binary_search(&to_classes((row, representative)));
        (*representative, found.ok().and_then(|at| similar[at]))
    }))
}

/// Returns the clusters of two or more rows by their smallest keys, and the rows of each by key.
fn return_clusters(
    mut out: RowsOut,
    source: &SourceTable,
    paired_rows: &PairedRows,
    assigned: &[Assignment],
) {
    for_each_clustered(assigned, |[first, row, representative], size, jaccard| {
        let [a, b] = [row, representative].map(|row| paired_rows.fingerprints[row as usize]);
        out.push([
            Some(ResultValue::Value(paired_rows.key(first))),
            Some(ResultValue::Value(paired_rows.key(row))),
            Some(ResultValue::from(size)),
            Some(ResultValue::Value(paired_rows.key(representative))),
            Some(ResultValue::from(source.distance(a, b) as i32)),
            jaccard.map(ResultValue::from),
        ]);
    });
}

/// Calls `each` with the first row of its cluster, the row, the representative, the cluster's size and how
/// similar the row is, for each row in a cluster of two or more.
fn for_each_clustered(assigned: &[Assignment], mut each: impl FnMut([u32; 3], i64, Option<f64>)) {
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
        let at = representative as usize;
        each([first[at], row, representative], sizes[at], jaccard);
    }
}

pg_function!(simhash_duplicate_groups);
/// simhash_catalog.duplicate_groups(relation, keys, numbered, columns, within, across)
/// -> SETOF (cluster, row, size, key): the groups of simhash_duplicates, with rows numbered in the order
/// of their keys. Several keys are one, and come back as text
fn simhash_duplicate_groups(args: &Args) -> Datum {
    const NAME: &str = "simhash_duplicates";
    let mut out = RowsOut::begin(args);
    let oid = required(args.get::<pg_sys::Oid>(0), NAME, "relation");
    leave_out_statement();
    let (opened, _) = open_relation(oid);
    let [keys, compared] = [1, 3].map(|i| named_list(args, i, &opened));
    let sources = [SourceTable::open_by_keys(
        oid,
        &keys,
        named(args, 2).as_deref(),
        &compared,
    )];
    let columns = ScopeColumns::from_arguments(args, NAME, &sources);
    let checked = CheckArguments {
        function: NAME,
        own: args.function(),
        texts: [None],
        min_jaccard: None,
        checked_by: None,
    };
    let check = Check::new(checked, &sources).unwrap_or_else(no_check);
    let radius = radius_of(None, NAME, &sources, false);
    let mut activity = Activity::new(NAME);
    let needed = check.needed(&sources[0]);
    let mut paired_rows = PairedRows::find(&sources, &columns, radius, needed, &mut activity);
    let edges = std::mem::replace(&mut paired_rows.edges, no_edges());
    // The similarities of texts are not asked for.
    let check = (
        Check {
            texts: None,
            ..check
        },
        None,
    );
    let assigned = verify(
        &sources,
        check,
        &paired_rows,
        edges,
        ClusterMethod::Leader,
        &mut activity,
    );
    let output = Output::for_type(sources[0].key_type, MemoryContext::current());
    for_each_clustered(&assigned, |[first, row, _], size, _| {
        output.text(paired_rows.key(row), |key| {
            let [first, row] = [first, row].map(|row| ResultValue::from(i64::from(row)));
            let key = to_utf8(key);
            out.push([first, row, ResultValue::from(size), ResultValue::Text(&key)].map(Some));
        });
    });
    args.null()
}

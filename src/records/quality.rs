//! simhash_record_quality: precision and recall by threshold, from a sample that a person has
//! labelled. The server calls it from SQL. It reads the table of labels alone: each line says how
//! many pairs its stratum has.

use crate::pairs::arguments::required;
use crate::pairs::named_columns::{column, open_relation};
use pgrx::PgSqlErrorCode::{ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_NULL_VALUE_NOT_ALLOWED};
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_pg::process::error::Error;
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;
use simhash_records::quality::{Labelled, Share, qualities};

const NAME: &str = "simhash_record_quality";

pg_function!(simhash_record_quality);
/// simhash_record_quality(labelled) -> SETOF (threshold, pairs, labels, precision, precision_low, precision_high, recall,
/// recall_low, recall_high)
fn simhash_record_quality(args: &Args) -> Datum {
    let mut out = RowsOut::begin(args);
    let oid = required(args.get::<pg_sys::Oid>(0), NAME, "labelled");
    let strata = read(oid);
    let mut labels = strata.iter().rev().scan(0, |sum, stratum| {
        *sum += stratum.labels as i64;
        Some(*sum)
    });
    for quality in qualities(&strata) {
        let shares = [quality.precision, quality.recall].map(|share: Option<Share>| {
            let number = |of: fn(&Share) -> f64| share.as_ref().map(of).map(ResultValue::from);
            [
                number(|s| s.estimate),
                number(|s| s.low),
                number(|s| s.high),
            ]
        });
        let [
            [precision, precision_low, precision_high],
            [recall, recall_low, recall_high],
        ] = shares;
        out.push([
            Some(ResultValue::from(quality.threshold)),
            Some(ResultValue::from(quality.pairs as i64)),
            labels.next().map(ResultValue::from),
            precision,
            precision_low,
            precision_high,
            recall,
            recall_low,
            recall_high,
        ]);
    }
    args.null()
}

/// Reads what was labelled of each stratum, from the lowest up.
fn read(oid: pg_sys::Oid) -> Vec<Labelled> {
    let (table, name) = open_relation(oid);
    for needed in ["stratum", "stratum_pairs", "same"] {
        column(&table, needed, "part of a labelled sample");
    }
    let query = format!(
        "SELECT stratum::pg_catalog.float8, pg_catalog.min(stratum_pairs)::pg_catalog.int8,
            pg_catalog.max(stratum_pairs)::pg_catalog.int8, pg_catalog.count(same),
            pg_catalog.count(*) FILTER (WHERE same::pg_catalog.bool)
        FROM {name} GROUP BY 1 ORDER BY 1"
    );
    let mut lines = Vec::new();
    for_each_row(&query, &[], &mut |[
        threshold,
        least,
        most,
        labels,
        same,
    ]| {
        let integer = |value: Value<'_>| value.integer();
        let threshold = threshold.map(|value| f64::from_bits(value.datum().value() as u64));
        let counts = [labels, same].map(|count| count.map_or(0, |count| count.integer() as u64));
        lines.push((threshold, least.map(integer), most.map(integer), counts));
    });
    lines.into_iter().map(stratum).collect()
}

/// A threshold, the least and the largest number of pairs that its rows name, its labels and those that say the same.
type Line = (Option<f64>, Option<i64>, Option<i64>, [u64; 2]);

/// Returns what a stratum is; raises an ERROR unless its rows are of one sample.
fn stratum((threshold, least, most, [labels, same]): Line) -> Labelled {
    let (Some(threshold), Some(least), Some(most)) = (threshold, least, most) else {
        Error::new(
            ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("{NAME} got a stratum that is null"),
        )
        .hint("Keep what simhash_record_sample returned.")
        .raise()
    };
    if least != most || most < labels as i64 {
        Error::new(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!("labels of stratum {threshold} are not those of one sample"),
        )
        .hint("Label the rows of one call of simhash_record_sample, each once.")
        .raise()
    }
    Labelled {
        threshold,
        pairs: most as u64,
        labels,
        same,
    }
}

//! The SQL function `simhash_explain`: what each column of two rows has to do with their distance.
//! The server calls it; `simhash_fingerprint` attributes the bits. Its features are those of
//! `simhash_features`, made on the same way.

use pgrx::PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;

use super::record::RowSite;
use super::text::TextSite;
use crate::errors::or_raise;
use simhash_fingerprint::builder::{FingerprintBuilder, ShownRow};
use simhash_fingerprint::explain::{ColumnExplained, explain};
use simhash_fingerprint::hash::Width;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::from_utf8;
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::{self, Args, pg_function};
use simhash_pg::sql::record::Record;
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;

/// The argument behind the two rows or texts.
const OPTIONS: usize = 2;

pg_function!(simhash_explain_row);
/// `simhash_explain(a record, b record, weights jsonb, preset text) -> SETOF (column_name text,
/// features_a int, features_b int, shared int, similarity float8, bits float8, only_a text[],
/// only_b text[])`
fn simhash_explain_row(args: &Args) -> Datum {
    let mut out = RowsOut::begin(args);
    if let Some(rows) = both(args, pg_sys::RECORDOID) {
        check_types(&rows);
        let new = |memory| RowSite::<1>::new(memory, Width::W64);
        fmgr::with(args, new, |site: &mut RowSite<1>| {
            let shown = rows.map(|row| shown(|builder| site.add_to(builder, args, OPTIONS, row)));
            let (fields, names): (Vec<usize>, Vec<&str>) = site.counted().unzip();
            let explained = or_raise(explain(&fields, shown, &mut check_for_interrupts));
            for (name, column) in names.into_iter().zip(&explained) {
                push(&mut out, Some(name), column);
            }
        });
    }
    args.null()
}

pg_function!(simhash_explain_text);
/// `simhash_explain(a text, b text, options jsonb, preset text)`: the same, one row without a
/// column's name
fn simhash_explain_text(args: &Args) -> Datum {
    let mut out = RowsOut::begin(args);
    if let Some(texts) = both(args, pg_sys::TEXTOID) {
        let new = |memory| TextSite::<1>::new(memory, Width::W64);
        fmgr::with(args, new, |site: &mut TextSite<1>| {
            let shown =
                texts.map(|text| shown(|builder| site.add_to(builder, args, OPTIONS, text)));
            for column in or_raise(explain(&[0], shown, &mut check_for_interrupts)) {
                push(&mut out, None, &column);
            }
        });
    }
    args.null()
}

fn both(args: &Args, type_id: pg_sys::Oid) -> Option<[Value<'_>; 2]> {
    Some([args.varlena(0, type_id)?, args.varlena(1, type_id)?])
}

/// Raises an ERROR unless two rows have one type.
fn check_types(rows: &[Value<'_>; 2]) {
    let [a, b] = rows.map(|row| Record::open(row).row_type());
    if a != b {
        Error::new(
            ERRCODE_DATATYPE_MISMATCH,
            "rows a and b have different types",
        )
        .hint("Build both with ROW(...) from columns of the same types, in one order.")
        .raise();
    }
}

/// Returns the row whose features `add` adds to a builder.
fn shown(add: impl FnOnce(&mut FingerprintBuilder<1>)) -> ShownRow {
    let mut builder = FingerprintBuilder::showing(Width::W64);
    add(&mut builder);
    or_raise(builder.into_row())
}

fn push(out: &mut RowsOut, name: Option<&str>, column: &ColumnExplained) {
    let only = column.only.each_ref().map(|features| {
        let features = features.iter().map(|feature| from_utf8(feature));
        features.collect::<Vec<_>>()
    });
    let [only_a, only_b] = only.each_ref().map(|features| {
        let features = features.iter().map(|feature| feature.as_ref());
        features.collect::<Vec<&[u8]>>()
    });
    let number = |number: usize| Some(ResultValue::from(number as i32));
    out.push([
        name.map(ResultValue::Text),
        number(column.features[0]),
        number(column.features[1]),
        number(column.shared),
        column.similarity.map(ResultValue::from),
        column.bits.map(ResultValue::from),
        Some(ResultValue::Texts(&only_a)),
        Some(ResultValue::Texts(&only_b)),
    ]);
}

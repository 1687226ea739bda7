//! simhash_catalog.record_features, record_links and write_groups: what the refresh of stored
//! records needs. The PL/pgSQL of simhash_refresh_records calls them. Links are between records, by
//! their hashes: equal rows are one record. Groups are entries of a table of clusters.

use super::source::{RecordTable, Records};
use super::stored::{Stored, StoredRecord};
use super::threshold::compare_from;
use crate::clusters::kept::entries::Entries;
use crate::clusters::kept::refresh::{lock, require_update};
use crate::pairs::arguments::required;
use crate::pairs::value_store::ValueBuffer;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::spi::saved_query::{SavedQuery, Visibility};
use simhash_pg::sql::bigint_array::bigints;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;
use simhash_records::together::value_hashes;

const FEATURES: &str = "simhash_catalog.record_features";
const LINKS: &str = "simhash_catalog.record_links";
/// New records that are compared together.
const CHUNK: usize = 512;

pg_function!(simhash_record_features);
/// simhash_catalog.record_features(columns text[], scope bigint, differ text[], ngram int) -> SETOF (record, features, parts): one row
fn simhash_record_features(args: &Args) -> Datum {
    let mut out = RowsOut::begin(args);
    let columns = args.varlena(0, pg_sys::TEXTARRAYOID);
    let columns = required(columns, FEATURES, "columns");
    let scope = required(args.get::<i64>(1), FEATURES, "scope");
    let differ = args.varlena(2, pg_sys::TEXTARRAYOID);
    let ngram: i32 = required(args.get(3), FEATURES, "ngram");
    let record = StoredRecord::new(columns, scope, differ, ngram as usize);
    let mut features: Vec<i64> = record
        .features
        .iter()
        .map(|(hash, _)| *hash as i64)
        .collect();
    features.sort_unstable();
    features.dedup();
    let parts = value_hashes(&record.features);
    let parts: Vec<i64> = parts.into_iter().map(|(_, hash)| hash as i64).collect();
    out.push([
        record.hash.map(ResultValue::from),
        Some(ResultValue::Value(bigints(features.into_iter()))),
        Some(ResultValue::Value(bigints(parts.into_iter()))),
    ]);
    args.null()
}

pg_function!(simhash_record_links);
/// simhash_catalog.record_links(records regclass, among bigint[]) -> SETOF (a, b, similarity): the pairs of
/// records of which one is among these, or all
fn simhash_record_links(args: &Args) -> Datum {
    let mut out = RowsOut::begin(args);
    let stored = Stored::open(required(args.get(0), LINKS, "records"));
    let least = stored.threshold;
    let mut push = |a: i64, b: i64, similarity: f64| {
        check_for_interrupts();
        let (a, b) = (a.min(b), a.max(b));
        out.push([a.into(), b.into(), ResultValue::from(similarity)].map(Some));
    };
    let mut activity = Activity::new("simhash_refresh_records");
    let Some(among) = args.varlena(1, pg_sys::INT8ARRAYOID) else {
        link_all(args, stored, &mut activity, push);
        return args.null();
    };
    let among = among.array().items;
    let among: Vec<i64> = among
        .into_iter()
        .flatten()
        .map(|hash| hash.integer())
        .collect();
    for (i, some) in among.chunks(CHUNK).enumerate() {
        let (done, all) = ((i * CHUNK) as u64, among.len() as u64);
        activity.show("comparing new records", done, Some(all));
        let (asked, _) = stored.read(some.iter().copied());
        stored.compare(&asked, true, |a, other, similarity| {
            if let Some(hash) = asked[a].hash.filter(|_| similarity >= least) {
                push(hash, other, similarity);
            }
        });
    }
    args.null()
}

/// Finds the pairs of all stored records. What the rows say about columns is stored: new records and questions count by it
/// until all pairs are found again.
fn link_all(
    args: &Args,
    mut stored: Stored,
    activity: &mut Activity,
    mut push: impl FnMut(i64, i64, f64),
) {
    // Rows without features are records, though in no pair.
    let query = format!(
        "SELECT DISTINCT ON (record, CASE WHEN record IS NULL THEN key END)
            COALESCE(record, 0::pg_catalog.int8), columns, scope, differ FROM {}",
        stored.rows
    );
    if stored.learns {
        stored.settings.learn();
    }
    let tables = [RecordTable::of_query(stored.table, query)];
    let records = Records::read(&tables, &stored.settings, activity, &mut |_, _, _, _| {});
    let Records {
        mut keys,
        tags,
        mut found,
    } = records;
    let mut buffer = ValueBuffer::new();
    let mut hash = |row: u32| keys[0].get(tags[row as usize], &mut buffer).integer();
    let threshold = compare_from(
        &mut found,
        &stored.settings,
        activity,
        (!stored.chooses).then_some(stored.threshold),
        false,
        |copies, pair, similarity| {
            copies.for_each(pair, |a, b| push(hash(a), hash(b), similarity));
        },
    );
    if stored.learns || stored.chooses {
        store_learnt(args, &stored.about, threshold, &found.weights);
    }
}

pg_function!(simhash_write_groups);
/// simhash_catalog.write_groups(records regclass, groups text) -> bigint: how many entries have changed
fn simhash_write_groups(args: &Args) -> Datum {
    const NAME: &str = "simhash_catalog.write_groups";
    let clusters = required(args.get(0), NAME, "records");
    let groups = args.varlena(1, pg_sys::TEXTOID);
    let groups = required(groups, NAME, "groups").to_text();
    require_update(clusters);
    // Nobody judges a cluster meanwhile.
    lock(clusters, false);
    let write = Entries::of(clusters).replace_all("", &groups);
    let changed = SavedQuery::new(&write, &[], false).first_row(args, &[], Visibility::Latest);
    let Some([Some(changed)]) = changed else {
        return args.result(Some(0i64));
    };
    args.result(Some(changed.integer()))
}

/// Stores how much each column counts, if no weights were given, and the threshold.
fn store_learnt(args: &Args, about: &str, threshold: f64, weights: &[f64]) {
    let numbers = weights.iter().map(|weight| Value::from(*weight));
    let array = KeyType::new(pg_sys::FLOAT8OID).and_then(|number| number.array(numbers));
    let array = array.unwrap_or_else(|| Error::out_of_memory().raise());
    let update = format!(
        "UPDATE {about} SET threshold = $1, weights = CASE WHEN learns THEN $2 ELSE weights END"
    );
    let types = [pg_sys::FLOAT8OID, pg_sys::FLOAT8ARRAYOID];
    let update = SavedQuery::new(&update, &types, false);
    let values = [Some(Value::from(threshold)), Some(array)];
    update.first_row::<0>(args, &values, Visibility::Latest);
}

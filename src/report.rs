//! What a radius would find: `simhash_radius_report`, which counts the pairs at each distance by a sample of the
//! rows, and compares their texts. `simhash_hamming::report` draws the sample and estimates. The rows are read
//! to draw a sample, again to compare each with the sample, and last what is compared of the pairs that were
//! drawn. So memory grows with the sample alone; values of more than an eighth of `work_mem` are in a
//! temporary file.

use crate::checked_pairs::check::{AnyJudge, Check, CheckArguments};
use crate::checked_pairs::judge::FunctionJudge;
use crate::errors::ToError;
use crate::hashes::read_hash;
use crate::pairs::arguments::{named, required};
use crate::pairs::chosen_columns::{Chosen, NamedColumns};
use crate::pairs::scope_columns::ScopeColumns;
use crate::pairs::source::{Key, SourceTable, bits_of, expected_rows};
use crate::pairs::value_store::{ValueBuffer, ValueStore};
use crate::row::jaccard::{Comparer, letters};
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::Similarity;
use simhash_fingerprint::text::ngrams::GramLengths;
use simhash_hamming::Error as HammingError;
use simhash_hamming::parts::Hash;
use simhash_hamming::report::compared::PairSimilarities;
use simhash_hamming::report::draw::Random;
use simhash_hamming::report::sample::{Drawing, GroupAndSet, Sample};
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::{filled, keep_reserve, push_within, work_mem_bytes};
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::key_type::{KeyType, no_order};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::{Storage, Value};
use simhash_trigger::arguments::DEFAULT_MIN_JACCARD;

const NAME: &str = "simhash_radius_report";
/// Number of rows between two reports of how many were read, and two looks at the memory that is
/// left: keys are allocated in small pieces.
const REPORTED: u64 = 4096;

pg_function!(simhash_radius_report);
/// simhash_radius_report(relation regclass, key text, ...) -> SETOF (distance, pairs, pairs_low, pairs_high, compared, jaccard_mean, jaccard_p5,
/// jaccard_median, low_example, median_example, passing)
fn simhash_radius_report(args: &Args) -> Datum {
    let rows = RowsOut::begin(args);
    let relation = [relation(args)];
    let mut checked = CheckArguments::from_arguments(args, NAME);
    // Of texts beside fingerprints the report has the Jaccard similarity, and what passes only where asked.
    if checked.texts[0].is_some() && checked.checked_by.is_none() {
        checked.min_jaccard = Some(DEFAULT_MIN_JACCARD);
    }
    let check = Check::new(checked, &relation);
    let columns = ScopeColumns::from_arguments(args, NAME, &relation);
    let max_radius = args.get::<i32>(args.at("max_radius"));
    let max_distance = bits_of(max_radius, NAME, "max_radius", &relation);
    let size = size(args.get::<i32>(args.at("sample")));
    let mut activity = Activity::new(NAME);
    let rows_read = Rows {
        relation: &relation,
        columns,
    };
    let sample = draw(&rows_read, size, max_distance, &mut activity);
    let sample = compare_with_sample(&rows_read, sample, size, &mut activity);
    let [relation] = &relation;
    let compared = check.map(|check| read_compared(relation, check, &sample, &mut activity));
    return_rows(rows, &sample, compared.unwrap_or_default(), &mut activity);
    args.null()
}

/// Returns the table, view or foreign table. Keys of all types are
/// distinguished, and returned, as text.
fn relation(args: &Args) -> SourceTable {
    let oid = required(
        args.get::<pg_sys::Oid>(args.at("relation")),
        NAME,
        "relation",
    );
    let named = NamedColumns {
        key: named(args, args.at("key")),
        compared: named(args, args.at("columns")),
        text: args.name(args.at("text")),
    };
    let Chosen { key, compared } = Chosen::new(oid, named, NAME, "key");
    SourceTable::open(oid, Key::Column(&key), &compared, pg_sys::TEXTOID)
}

fn size(given: Option<i32>) -> usize {
    let given = required(given, NAME, "sample");
    match usize::try_from(given) {
        Ok(size) if size > 0 => size,
        _ => Error::new(
            ERRCODE_INVALID_PARAMETER_VALUE,
            format!("sample must be at least 1 row, not {given}"),
        )
        .raise(),
    }
}

/// Calls `row` with the key, as text, of each row that has a fingerprint, and with these columns,
/// which are one fewer than M.
fn read<const M: usize>(
    relation: &SourceTable,
    columns: &[&str],
    mut row: impl FnMut(&[u8], &[Option<Value<'_>>]),
) {
    let (key, fp) = (&relation.key, relation.fingerprint_expression());
    let (table, has_fingerprint) = match columns.contains(&fp.as_str()) {
        true => (&relation.with_fingerprints, &format!("{fp} IS NOT NULL")),
        false => (&relation.table_name, &relation.has_fingerprint),
    };
    let columns = columns.join(", ");
    let sql =
        format!("SELECT {key}::pg_catalog.text, {columns} FROM {table} WHERE {has_fingerprint}");
    for_each_row::<M>(&sql, &[], &mut |values| {
        check_for_interrupts();
        let key = values[0].unwrap_or_else(|| relation.null_key());
        key.show_bytes(|key| row(key, &values[1..]));
    });
}

/// The rows of the relation, and the columns in which two that are compared are equal or differ.
struct Rows<'r> {
    relation: &'r [SourceTable; 1],
    columns: ScopeColumns<'r>,
}

impl Rows<'_> {
    /// As [`read`], with the hash, of the rows that are compared with any.
    fn read(&self, row: &mut dyn FnMut(&[u8], Hash, GroupAndSet)) {
        let [relation] = self.relation;
        let hash = |value: Option<Value<'_>>| {
            let value = value.map(|value| read_hash(value).unwrap_or_else(|error| error.raise()));
            value.unwrap_or(Hash::Fingerprint(0))
        };
        if !self.columns.is_empty() {
            return self
                .columns
                .for_each(self.relation, &mut |_, [key, fp], place| {
                    check_for_interrupts();
                    let key = key.unwrap_or_else(|| relation.null_key());
                    key.show_bytes(|key| row(key, hash(fp), place));
                });
        }
        // A domain is cast to its base type, so that the values are those of that.
        read::<2>(
            relation,
            &[&relation.fingerprint_expression()],
            |key, fp| row(key, hash(fp[0]), GroupAndSet::default()),
        );
    }
}

/// Draws the sample.
fn draw(rows: &Rows<'_>, size: usize, max_distance: u32, activity: &mut Activity) -> Sample {
    let [relation] = rows.relation;
    let drawing = Drawing::new(size, max_distance, work_mem_bytes(), random());
    let mut drawing = drawing.across(rows.columns.is_across());
    let expected = expected_rows(rows.relation);
    rows.read(&mut |key, hash, place| {
        if let Err(error) = drawing.add(hash, place, key) {
            raise_in_sample(relation, size, drawing.drawn(), &error);
        }
        if drawing.read().is_multiple_of(REPORTED) {
            keep_reserve();
            activity.show("reading rows for a sample", drawing.read(), expected);
        }
    });
    let drawn = drawing.drawn();
    let sample = drawing.finish(&mut check_for_interrupts);
    sample.unwrap_or_else(|error| raise_in_sample(relation, size, drawn, &error))
}

/// Raises the ERROR for a sample, for which `size` rows were asked, when `drawn` rows were in it.
fn raise_in_sample(relation: &SourceTable, size: usize, drawn: usize, error: &HammingError) -> ! {
    match error {
        HammingError::SameKey => relation.not_unique(),
        HammingError::SampleTooLarge => Error {
            message: format!("a sample of {size} rows and its pairs do not fit in work_mem"),
            ..error.to_error()
        }
        .detail(format!(
            "work_mem, which is {} kB, was full when the sample had {drawn} rows.",
            work_mem_bytes() / 1024
        ))
        .hint("Raise work_mem, lower max_radius, or take a smaller sample."),
        _ => error.to_error(),
    }
    .raise()
}

/// Returns a generator that continues the session's random numbers: setseed makes them repeat.
fn random() -> Random {
    let mut seed = 0;
    for_each_row("SELECT pg_catalog.random()", &[], &mut |[value]| {
        // Take the bits of a float8.
        seed = value.map_or(0, |value| value.integer() as u64);
    });
    Random::new(seed)
}

/// Compares every row with the sample, for which `size` rows were asked for.
fn compare_with_sample(
    rows: &Rows<'_>,
    mut sample: Sample,
    size: usize,
    activity: &mut Activity,
) -> Sample {
    let [relation] = rows.relation;
    let (mut compared, total) = (0u64, sample.population());
    rows.read(&mut |key, hash, place| {
        if let Err(error) = sample.meet(&hash, place, key) {
            raise_in_sample(relation, size, sample.size(), &error);
        }
        compared += 1;
        if compared.is_multiple_of(REPORTED) {
            keep_reserve();
            activity.show("comparing rows with the sample", compared, Some(total));
        }
    });
    sample
}

/// What is compared of the rows of drawn pairs.
#[derive(Default)]
struct Compared<'s> {
    texts: Option<DrawnValues<'s>>,
    checked: Option<CheckedRows<'s>>,
}

/// Reads what is compared of the rows of the pairs that were drawn.
fn read_compared<'s>(
    relation: &SourceTable,
    check: Check,
    sample: &'s Sample,
    activity: &mut Activity,
) -> Compared<'s> {
    let values_of = |storage| DrawnValues::of_pairs(sample, storage);
    let texts = check.texts.map(|texts| {
        let mut drawn = [values_of(Storage::for_type(pg_sys::TEXTOID))];
        read_drawn::<2>(relation, &[&texts[0]], &mut drawn, activity);
        let [drawn] = drawn;
        drawn
    });
    let checked = match check.judge {
        AnyJudge::Jaccard(_) | AnyJudge::Every(_) => None,
        AnyJudge::Function(judge) => {
            let key_type = relation
                .key_column
                .map_or(relation.key_type, |key| key.base_type());
            let order = KeyType::new(key_type).unwrap_or_else(|| no_order(key_type).raise());
            let judged = Storage::for_type(judge.value_type());
            let mut drawn = [judged, order.storage].map(values_of);
            let columns = [&*check.values[0], &*relation.key];
            read_drawn::<3>(relation, &columns, &mut drawn, activity);
            let [values, keys] = drawn;
            Some(CheckedRows {
                judge,
                values,
                keys,
                order,
            })
        }
    };
    Compared { texts, checked }
}

/// Reads columns of the rows of the pairs that were drawn.
fn read_drawn<const M: usize>(
    relation: &SourceTable,
    columns: &[&str],
    drawn: &mut [DrawnValues<'_>],
    activity: &mut Activity,
) {
    let mut count = 0u64;
    read::<M>(relation, columns, |key, values| {
        for (drawn, value) in drawn.iter_mut().zip(values) {
            if !drawn.add(key, *value) {
                relation.not_unique();
            }
        }
        count += 1;
        if count.is_multiple_of(REPORTED) {
            let expected = relation.table.rel().expected_rows();
            activity.show("reading rows of the pairs drawn", count, expected);
        }
    });
    drawn.iter_mut().for_each(DrawnValues::finish);
}

/// Returns a row for each distance.
fn return_rows<'s>(
    mut rows: RowsOut,
    sample: &'s Sample,
    mut compared: Compared<'s>,
    activity: &mut Activity,
) {
    for distance in 0..=sample.max_distance() {
        check_for_interrupts();
        let estimate = sample.estimate(distance);
        let all = sample.max_distance() as u64;
        activity.show(
            "comparing the pairs drawn by bits",
            distance as u64,
            Some(all),
        );
        let passing =
            (compared.checked.as_mut()).and_then(|checked| checked.passing(sample, distance));
        let compared = (compared.texts.as_mut()).map(|texts| similarities(texts, sample, distance));
        let numbers = compared.as_ref().filter(|compared| compared.count() > 0);
        let examples = match &compared {
            Some(compared) => compared.examples(),
            None => {
                let mut drawn = sample.drawn(distance);
                let first = drawn.next();
                [first, drawn.next().or(first)]
            }
        };
        let [low, median] = &examples;
        rows.push([
            Some(ResultValue::from(distance as i32)),
            Some(ResultValue::from(estimate.pairs.round() as i64)),
            Some(ResultValue::from(estimate.low.floor() as i64)),
            Some(ResultValue::from(estimate.high.ceil() as i64)),
            compared
                .as_ref()
                .map(|compared| ResultValue::from(compared.count() as i32)),
            numbers.map(|compared| ResultValue::from(compared.mean())),
            numbers.map(|compared| ResultValue::from(compared.percentile(5))),
            numbers.map(|compared| ResultValue::from(compared.percentile(50))),
            low.as_ref().map(|keys| ResultValue::Texts(keys)),
            median.as_ref().map(|keys| ResultValue::Texts(keys)),
            passing.map(ResultValue::from),
        ]);
    }
}

/// Compares the texts of the pairs drawn at a distance.
fn similarities<'s>(
    texts: &mut DrawnValues<'s>,
    sample: &'s Sample,
    distance: usize,
) -> PairSimilarities<'s> {
    let mut found = Vec::new();
    let mut comparer = Comparer::default();
    let mut buffer = ValueBuffer::new();
    for pair in sample.drawn(distance) {
        check_for_interrupts();
        let mut read = |key| -> Option<Letters> {
            let text = texts.get(key, &mut buffer)?;
            Some(text.show_bytes(letters))
        };
        let Some((a, b)) = read(pair[0]).zip(read(pair[1])) else {
            continue;
        };
        comparer.set_first(&a, GramLengths::SHINGLES);
        if let Similarity::Exactly(similarity) = comparer.compare(&b, 0.0) {
            push_within(&mut found, (similarity, pair), usize::MAX);
        }
    }
    PairSimilarities::new(found)
}

/// The check that the user names, and what it needs of the rows.
struct CheckedRows<'s> {
    judge: FunctionJudge,
    values: DrawnValues<'s>,
    keys: DrawnValues<'s>,
    order: KeyType,
}

impl<'s> CheckedRows<'s> {
    /// Returns which share of the pairs drawn at a distance passes; None where none was drawn.
    fn passing(&mut self, sample: &'s Sample, distance: usize) -> Option<f64> {
        let (mut passing, mut count) = (0, 0);
        for pair in sample.drawn(distance) {
            check_for_interrupts();
            count += 1;
            if self.passes(pair) {
                passing += 1;
            }
        }
        (count > 0).then(|| f64::from(passing) / f64::from(count))
    }

    fn passes(&mut self, [a, b]: [&[u8]; 2]) -> bool {
        let (mut left, mut right) = (ValueBuffer::new(), ValueBuffer::new());
        let keys = self
            .keys
            .get(a, &mut left)
            .zip(self.keys.get(b, &mut right));
        let in_order = match keys.map(|(a, b)| self.order.compare(a, b)) {
            Some(order) if order.is_gt() => [b, a],
            _ => [a, b],
        };
        let [a, b] = in_order;
        let values = (self.values.get(a, &mut left)).zip(self.values.get(b, &mut right));
        values.is_some_and(|(a, b)| self.judge.holds([a, b]))
    }
}

/// A value of each row.
struct DrawnValues<'s> {
    /// The keys of the rows, in order.
    keys: Vec<&'s [u8]>,
    /// The tag of each row's value; None for one that is NULL or was not read.
    tags: Vec<Option<u64>>,
    values: ValueStore,
}

impl<'s> DrawnValues<'s> {
    /// Makes room for values of the pairs that were drawn.
    fn of_pairs(sample: &'s Sample, storage: Storage) -> Self {
        let mut keys = Vec::new();
        for distance in 0..=sample.max_distance() {
            let drawn = sample.drawn(distance).flatten();
            drawn.for_each(|key| push_within(&mut keys, key, usize::MAX));
        }
        keys.sort_unstable();
        keys.dedup();
        DrawnValues {
            tags: filled(keys.len(), None),
            keys,
            values: ValueStore::new(storage, work_mem_bytes() / 8),
        }
    }

    /// Takes a row of the relation; returns false when another one has the same key.
    fn add(&mut self, key: &[u8], value: Option<Value<'_>>) -> bool {
        let Ok(row) = self.keys.binary_search(&key) else {
            return true;
        };
        let Some(value) = value else {
            return true;
        };
        keep_reserve();
        let tag = self.values.add(value);
        self.tags[row].replace(tag).is_none()
    }

    /// Ends the reading, before the first look-up.
    fn finish(&mut self) {
        self.values.finish();
    }

    /// Returns the value of the row with a key.
    fn get<'b>(&mut self, key: &[u8], buffer: &'b mut ValueBuffer) -> Option<Value<'b>> {
        let row = self.keys.binary_search(&key).ok()?;
        Some(self.values.get(self.tags[row]?, buffer))
    }
}

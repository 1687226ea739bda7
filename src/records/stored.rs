//! Stored records: the tables beside that of clusters, which `simhash_keep_records` has made. `search`
//! asks about one record that is in no row, `links` about rows that are new. What is found has the
//! similarity that a search of all stored records would give it; everything is read from these
//! tables, none from the relation that they are of.

use super::source::{RecordSettings, add_differing, for_each_column};
use crate::errors::or_raise;
use crate::pairs::arguments::in_range;
use crate::pairs::named_columns::open_relation;
use pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT;
use pgrx::pg_sys::Oid;
use simhash_fingerprint::hash::Hashed;
use simhash_pg::catalog::table::{self, OpenTable, quoted};
use simhash_pg::catalog::table_name::TableName;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::process::memory::{or_out_of_memory, work_mem_bytes};
use simhash_pg::process::temp_file::TempFiles;
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::bigint_array::bigints;
use simhash_pg::sql::value::Value;
use simhash_records::copies::Candidate;
use simhash_records::frequencies::record_hash;
use simhash_records::known::KnownRecords;
use simhash_records::notes;
use simhash_records::scope::differ;
use simhash_records::together::{Value as Shared, for_each_two, value_hashes};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasherDefault;

/// What is known of features, by their hashes.
type ByFeature<T> = HashMap<u64, T, BuildHasherDefault<Hashed>>;

/// How many records have each of the features that a session has looked up, of the table and the version that it asked last:
/// nine of ten features of a question's candidates are frequent, and come again.
#[derive(Default)]
struct KnownFrequencies {
    of: (Oid, i64),
    frequencies: ByFeature<u32>,
}

/// Bytes that a feature takes there, about.
const KNOWN_BYTES: usize = 32;

thread_local! {
    static KNOWN: RefCell<KnownFrequencies> = RefCell::default();
}

/// A table of stored records, and what it was made with.
pub struct Stored {
    /// The table itself, locked against DDL.
    pub table: OpenTable,
    /// The tables of its rows and of features, as SQL text.
    pub rows: String,
    terms: String,
    /// The relation whose rows are stored, and the names of its columns.
    pub relation: Oid,
    pub columns: Vec<String>,
    pub within: Vec<String>,
    pub differ: Vec<String>,
    pub threshold: f64,
    /// Whether the pairs say which threshold is taken, whenever all are found.
    pub chooses: bool,
    /// Number of different records.
    count: u32,
    /// Another one after each refresh.
    version: i64,
    pub settings: RecordSettings,
    /// The table that holds what this one was made with, as SQL text.
    pub about: String,
    /// Whether the rows say how much columns count, whenever all pairs are found.
    pub learns: bool,
}

/// A record, and which pairs it may be in.
pub struct StoredRecord {
    /// Each feature with its column.
    pub features: Vec<(u64, u32)>,
    /// What else is kept of its values.
    notes: Vec<u8>,
    pub scope: i64,
    /// What tells it from others.
    differ: Vec<u64>,
    /// The hash of all; None without features.
    pub hash: Option<i64>,
}

impl StoredRecord {
    /// Makes a record of the columns of a row, its scope and its columns of `differ`.
    pub fn new(columns: Value<'_>, scope: i64, differ: Option<Value<'_>>, ngram: usize) -> Self {
        let (mut features, mut noted) = (Vec::new(), Vec::new());
        let add = |column, text: &str, of_column: &[u64]| {
            or_raise(notes::add(
                column,
                text,
                &mut noted,
                &mut check_for_interrupts,
            ));
            features.extend(of_column.iter().map(|hash| (*hash, column)));
        };
        for_each_column(columns.array().items, ngram, &mut Vec::new(), add);
        let mut differing = Vec::new();
        add_differing(differ, &mut differing);
        let hash = or_out_of_memory(record_hash(scope as u64, &differing, &features));
        StoredRecord {
            features,
            notes: noted,
            scope,
            differ: differing,
            hash: hash.map(|hash| hash as i64),
        }
    }

    /// Whether two records may be a pair, whatever they share.
    fn may_pair(&self, other: &Self) -> bool {
        self.scope == other.scope && !differ(&self.differ, &other.differ)
    }
}

/// The keys of the rows of each record, as text.
pub type Keys = HashMap<i64, Vec<String>>;

impl Stored {
    /// Opens a table of stored records; raises an ERROR if it is another one.
    pub fn open(oid: Oid) -> Self {
        let (table, _) = open_relation(oid);
        let schema = table::schema_name(table::schema(oid)).unwrap_or_default();
        let beside = |ending: &str| {
            let name = table.rel().name();
            format!("{}.{}", quoted(&schema), quoted(&format!("{name}{ending}")))
        };
        let rows = beside("_row");
        if TableName::parse(&rows).is_none_or(|name| name.find(oid).is_none()) {
            let message = format!(
                "\"{}\" is not a table of stored records",
                table.rel().name()
            );
            Error::new(ERRCODE_UNDEFINED_OBJECT, message)
                .hint("Call simhash_keep_records first, and name the table that it returns.")
                .raise()
        }
        let about = beside("_about");
        let query = format!(
            "SELECT relation::pg_catalog.oid, columns, within, differ, weights, learns, threshold, chooses, rare, rarity, ngram, count, version
            FROM {about}"
        );
        let mut stored = None;
        for_each_row(&query, &[], &mut |[
            relation,
            columns,
            within,
            differ,
            weights,
            learns,
            threshold,
            chooses,
            rare,
            rarity,
            ngram,
            count,
            version,
        ]| {
            let integer = |value: Option<Value<'_>>| value.map_or(0, |value| value.integer());
            let names = |array: Option<Value<'_>>| -> Vec<String> {
                let items = array.map_or(Vec::new(), |array| array.array().items);
                items
                    .into_iter()
                    .flatten()
                    .map(|name| name.to_text())
                    .collect()
            };
            let weights = weights.map_or(Vec::new(), |array| array.array().items);
            let weights: Vec<f64> = weights.into_iter().map(number).collect();
            let (rare, ngram) = (integer(rare) as i32, integer(ngram) as i32);
            stored = Some((
                relation.map_or(Oid::INVALID, |relation| Oid::from(relation.oid())),
                [names(columns), names(within), names(differ)],
                (number(threshold), integer(chooses) != 0),
                (integer(count) as u32, integer(version)),
                (rare, number(rarity), ngram, weights),
                integer(learns) != 0,
            ));
        });
        let Some((relation, names, (threshold, chooses), (count, version), settings, learns)) =
            stored
        else {
            let message = format!("table {about} is empty");
            Error::new(ERRCODE_UNDEFINED_OBJECT, message).raise()
        };
        let [columns, within, differ] = names;
        let (rare, rarity, ngram, weights) = settings;
        let threshold = in_range("threshold", threshold, 0.0..=1.0);
        let settings = RecordSettings::new(rare, rarity, ngram, Some(weights), columns.len());
        let terms = beside("_term");
        Stored {
            table,
            rows,
            terms,
            relation,
            columns,
            within,
            differ,
            threshold,
            chooses,
            count,
            version,
            settings,
            about,
            learns,
        }
    }

    /// Returns whether there is a row of this record.
    pub fn has(&self, hash: i64) -> bool {
        let query = format!(
            "SELECT true FROM {} WHERE record OPERATOR(pg_catalog.=) $1 LIMIT 1",
            self.rows
        );
        let mut found = false;
        for_each_row(&query, &[Some(Value::from(hash))], &mut |[_]| found = true);
        found
    }

    /// Reads the records with these hashes, each once, and the keys of their rows.
    pub fn read(&self, hashes: impl ExactSizeIterator<Item = i64>) -> (Vec<StoredRecord>, Keys) {
        let query = format!(
            "SELECT record, scope, columns, differ, key::pg_catalog.text FROM {} WHERE record OPERATOR(pg_catalog.=) ANY ($1)",
            self.rows
        );
        let (mut records, mut keys) = (Vec::new(), Keys::new());
        for_each_row(&query, &[Some(bigints(hashes))], &mut |row| {
            let [Some(hash), Some(scope), Some(columns), differ, Some(key)] = row else {
                return;
            };
            let rows = keys.entry(hash.integer()).or_default();
            if rows.is_empty() {
                let ngram = self.settings.ngram;
                let mut record = StoredRecord::new(columns, scope.integer(), differ, ngram);
                record.hash = Some(hash.integer());
                records.push(record);
            }
            rows.push(key.to_text());
        });
        (records, keys)
    }

    /// Calls `each` with each of these features that a record has: how many have it, and which, if they are few.
    fn read_terms(&self, features: &[u64], each: &mut dyn FnMut(u64, u32, Vec<i64>)) {
        let query = format!(
            "SELECT feature, df, records FROM {} WHERE feature OPERATOR(pg_catalog.=) ANY ($1)",
            self.terms
        );
        let features = bigints(features.iter().map(|feature| *feature as i64));
        for_each_row(&query, &[Some(features)], &mut |[feature, df, records]| {
            let items = records.map_or(Vec::new(), |records| records.array().items);
            let records = items.into_iter().flatten().map(|hash| hash.integer());
            let integer = |value: Option<Value<'_>>| value.map_or(0, |value| value.integer());
            each(
                integer(feature) as u64,
                integer(df) as u32,
                records.collect(),
            );
        });
    }

    /// Returns for each record those that share the values of two columns with it, if few do.
    fn read_together(
        &self,
        asked: &[StoredRecord],
        more: u32,
        frequencies: &ByFeature<u32>,
    ) -> Vec<Vec<i64>> {
        let rare = self.settings.rare;
        let mut keys: [Vec<i64>; 3] = Default::default();
        for (i, record) in asked.iter().enumerate() {
            let frequency = |(hash, _): &(u64, u32)| frequencies.get(hash).copied().unwrap_or(1);
            let mut of_columns = record.features.chunk_by(|a, b| a.1 == b.1);
            let values = value_hashes(&record.features).into_iter();
            let values = values.map(|(column, hash)| Shared {
                hash,
                column,
                frequency: (of_columns.next().into_iter().flatten())
                    .map(frequency)
                    .min()
                    .unwrap_or(0),
            });
            let values: Vec<Shared> = values.collect();
            for_each_two(&values, self.count + more, rare, |a, b| {
                let key = [i as i64, a.hash as i64, b.hash as i64];
                (keys.iter_mut().zip(key)).for_each(|(keys, part)| keys.push(part));
            });
        }
        // With a LIMIT the server would go through all records in their order instead of the index of parts.
        let query = format!(
            "SELECT k.i, r.records FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3)) AS k (i, a, b),
                LATERAL (SELECT pg_catalog.array_agg(DISTINCT s.record) AS records FROM {} AS s
                    WHERE s.parts OPERATOR(pg_catalog.@>) ARRAY[k.a, k.b]) AS r",
            self.rows
        );
        let mut together = vec![Vec::new(); asked.len()];
        if keys[0].is_empty() {
            return together;
        }
        let keys = keys.map(|keys| Some(bigints(keys.into_iter())));
        for_each_row(&query, &keys, &mut |[i, records]| {
            let records = records.map_or(Vec::new(), |records| records.array().items);
            if records.len() + more as usize <= rare {
                let hashes = records.into_iter().flatten().map(|hash| hash.integer());
                together[i.map_or(0, |i| i.integer()) as usize].extend(hashes);
            }
        });
        together
    }

    /// Returns how many stored records have each feature of these, and others that the session has looked up. Those that
    /// are in `asked` need not be there.
    fn known_frequencies(
        &self,
        records: &[StoredRecord],
        asked: &ByFeature<u32>,
    ) -> KnownFrequencies {
        let mut known = KNOWN.take();
        let this = (self.table.rel().oid(), self.version);
        // The server shows one version with the features of it.
        if known.of != this || known.frequencies.len() * KNOWN_BYTES > work_mem_bytes() {
            known = KnownFrequencies {
                of: this,
                frequencies: ByFeature::default(),
            };
        }
        let KnownFrequencies { frequencies, .. } = &mut known;
        let is_unknown = |hash| !frequencies.contains_key(&hash) && !asked.contains_key(&hash);
        let unknown = all_features(records, is_unknown);
        if !unknown.is_empty() {
            self.read_terms(&unknown, &mut |hash, df, _| {
                frequencies.insert(hash, df);
            });
        }
        known
    }

    /// Calls `each` with the number of one of these records, a stored record that shares something rare with it, and
    /// their similarity. `are_stored` says that they are rows of the table; else there is one, which counts as a
    /// row more. Returns the keys of the rows that were compared.
    pub fn compare(
        &self,
        asked: &[StoredRecord],
        are_stored: bool,
        mut each: impl FnMut(usize, i64, f64),
    ) -> Keys {
        let more = u32::from(!are_stored);
        let features = all_features(asked, |_| true);
        let mut of_asked: ByFeature<u32> = features.iter().map(|hash| (*hash, 1)).collect();
        let mut lists: ByFeature<Vec<i64>> = ByFeature::default();
        self.read_terms(&features, &mut |hash, df, records| {
            of_asked.insert(hash, df + more);
            if (df + more) as usize <= self.settings.rare {
                lists.insert(hash, records);
            }
        });
        let together = self.read_together(asked, more, &of_asked);
        let near: Vec<BTreeSet<i64>> = (asked.iter().zip(&together))
            .map(|(record, together)| {
                let lists = record
                    .features
                    .iter()
                    .filter_map(|(hash, _)| lists.get(hash));
                let hashes = lists.flatten().chain(together).copied();
                hashes.filter(|hash| Some(*hash) != record.hash).collect()
            })
            .collect();
        let wanted: BTreeSet<i64> = near.iter().flatten().copied().collect();
        let (others, keys) = self.read(wanted.into_iter());
        let known = self.known_frequencies(&others, &of_asked);
        let mut compared = KnownRecords::default();
        for record in asked.iter().chain(&others) {
            or_out_of_memory(compared.add(&record.features, &record.notes));
        }
        let numbers: HashMap<i64, usize> = (others.iter().enumerate())
            .filter_map(|(i, record)| Some((record.hash?, i)))
            .collect();
        let mut pairs = Vec::new();
        for (a, near) in near.iter().enumerate() {
            for other in near.iter().filter_map(|hash| numbers.get(hash)) {
                if others[*other].may_pair(&asked[a]) {
                    let b = (asked.len() + other) as u32;
                    pairs.push(Candidate { a: a as u32, b });
                }
            }
        }
        let frequency = |hash: u64| {
            let frequency = of_asked.get(&hash).or_else(|| known.frequencies.get(&hash));
            frequency.copied().unwrap_or(1)
        };
        let count = (self.count + more, self.settings.columns);
        let rating = self.settings.rating();
        let found = compared.compare(
            &pairs,
            count,
            frequency,
            rating,
            &mut TempFiles,
            |pair, s| {
                if let Some(hash) = others[pair.b as usize - asked.len()].hash {
                    each(pair.a as usize, hash, s);
                }
            },
        );
        or_out_of_memory(found);
        KNOWN.set(known);
        keys
    }
}

/// Returns those features of records that are wanted, each once.
fn all_features(records: &[StoredRecord], is_wanted: impl Fn(u64) -> bool) -> Vec<u64> {
    let features = records.iter().flat_map(|record| &record.features);
    let wanted = features
        .map(|(hash, _)| *hash)
        .filter(|hash| is_wanted(*hash));
    let mut wanted: Vec<u64> = wanted.collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// A value of type float8; 0 for NULL.
fn number(value: Option<Value<'_>>) -> f64 {
    value.map_or(0.0, |value| f64::from_bits(value.datum().value() as u64))
}

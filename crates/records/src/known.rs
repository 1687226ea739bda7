//! A few records beside others, where the document frequencies of all are known: a question about
//! one record, and new rows of a stored table. The extension reads features and frequencies from
//! tables. Similarities are those that [`super::comparison`] finds with all records, to the last
//! bit.

use crate::copies::Candidate;
use crate::notes::Notes;
use crate::pair::Pair;
use crate::vectors::{Rating, VectorsWriter};
use simhash_base::store::TempStores;
use std::collections::TryReserveError;

/// Records whose similarities are asked for.
#[derive(Default)]
pub struct KnownRecords {
    /// Each feature of a record, with its number and its column.
    entries: Vec<(u64, u32, u32)>,
    records: u32,
    /// What else is kept of each.
    notes: Vec<Vec<u8>>,
}

impl KnownRecords {
    /// Adds a record, and returns its number.
    pub fn add(&mut self, features: &[(u64, u32)], notes: &[u8]) -> Result<u32, TryReserveError> {
        let record = self.records;
        self.entries.try_reserve(features.len())?;
        let entries = features
            .iter()
            .map(|&(hash, column)| (hash, record, column));
        self.entries.extend(entries);
        self.records += 1;
        self.notes.try_reserve(1)?;
        self.notes.push(notes.to_vec());
        Ok(record)
    }

    /// Calls `each` with the similarity of every pair, whose order is by `a`. `frequency` says how many of the
    /// `count` records have a feature, and `columns` how many columns are compared.
    pub fn compare<S: TempStores>(
        mut self,
        pairs: &[Candidate],
        (count, columns): (u32, usize),
        frequency: impl Fn(u64) -> u32,
        rating: Rating<'_>,
        stores: &mut S,
        mut each: impl FnMut(Candidate, f64),
    ) -> Result<(), TryReserveError> {
        self.entries.sort_unstable();
        let writer = VectorsWriter::new(self.records, self.entries.len() as u64, usize::MAX);
        let mut writer = writer.with_frequencies_of(count);
        for of_feature in self.entries.chunk_by(|a, b| a.0 == b.0) {
            let frequency = frequency(of_feature[0].0);
            // A record may be there twice, as one that is asked about and as another's partner.
            let mut of_records = of_feature.chunk_by(|a, b| a.1 == b.1);
            if frequency <= 1 && of_records.all(|of_record| of_record.len() == 1) {
                for &(_, record, column) in of_feature {
                    writer.add_single(record, column, stores)?;
                }
                continue;
            }
            for &(_, record, column) in of_feature {
                writer.add(record, column, stores)?;
            }
            writer.end_feature(frequency)?;
        }
        let mut vectors = writer.finish(rating, stores, |_, _, _| Ok(()))?;
        vectors.notes = Notes::new(usize::MAX);
        for notes in &self.notes {
            vectors.notes.push(notes, stores)?;
        }
        vectors.for_each_pair(pairs.iter().copied(), stores, |pair, a, b| {
            each(pair, Pair { a, b, columns }.similarity());
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::compare;
    use crate::frequencies::Rows;
    use simhash_base::store::InMemory;
    use std::collections::BTreeMap;

    #[test]
    fn a_few_records_are_as_similar_as_among_all() {
        let rating = Rating {
            rarity: 2.0,
            columns: Some(&[1.0, 2.5, 1.0]),
        };
        // Some features are in several columns, some in one record.
        let record = |i: u64| -> Vec<(u64, u32)> {
            let feature = |k: u64| (k * i * 7919 % (40 + 900 * (k % 3)), (k % 3) as u32);
            let mut features: Vec<_> = (1..25).map(feature).collect();
            features.push((10_000 + i, 1));
            features.sort_unstable_by_key(|(hash, column)| (*column, *hash));
            features.dedup();
            features
        };
        let records: Vec<Vec<(u64, u32)>> = (1..200).map(record).collect();
        let notes = |i: u32| {
            let mut notes = Vec::new();
            let (name, title) = (format!("name{i}"), format!("a title ab{}", i % 3 + 100));
            crate::notes::add(0, &name, &mut notes, &mut || {}).unwrap();
            crate::notes::add(1, &title, &mut notes, &mut || {}).unwrap();
            notes
        };
        let mut rows = Rows::new(1 << 20);
        let mut frequencies: BTreeMap<u64, u32> = BTreeMap::new();
        for features in &records {
            for column in 0..3 {
                let of_column = features.iter().filter(|(_, c)| *c == column);
                let hashes: Vec<u64> = of_column.map(|(hash, _)| *hash).collect();
                rows.add(column, &hashes).unwrap();
            }
            let mut hashes: Vec<u64> = features.iter().map(|(hash, _)| *hash).collect();
            hashes.sort_unstable();
            hashes.dedup();
            hashes
                .iter()
                .for_each(|hash| *frequencies.entry(*hash).or_default() += 1);
            let row = rows.count();
            rows.notes().extend(notes(row));
            rows.end_row(0, &mut InMemory).unwrap();
        }
        let mut found = rows.finish(30, rating, &mut InMemory).unwrap();
        let mut all = Vec::new();
        compare(&mut found, 3, &mut InMemory, |_, pair, s| {
            all.push((pair, s))
        })
        .unwrap();
        assert!(all.len() > 1000, "{}", all.len());
        // Those of three records, which are numbered anew.
        for asked in [3, 77, 150] {
            let of_asked = all
                .iter()
                .filter(|(pair, _)| pair.a == asked || pair.b == asked);
            let others: Vec<(u32, f64)> = of_asked
                .map(|(pair, s)| (if pair.a == asked { pair.b } else { pair.a }, *s))
                .collect();
            let mut known = KnownRecords::default();
            known.add(&records[asked as usize], &notes(asked)).unwrap();
            // It is there a second time.
            let mut pairs = Vec::new();
            known.add(&records[asked as usize], &notes(asked)).unwrap();
            for (other, _) in &others {
                let b = known
                    .add(&records[*other as usize], &notes(*other))
                    .unwrap();
                pairs.push(Candidate { a: 0, b });
            }
            let mut similarities = Vec::new();
            let count = records.len() as u32;
            known
                .compare(
                    &pairs,
                    (count, 3),
                    |hash| frequencies[&hash],
                    rating,
                    &mut InMemory,
                    |_, s| {
                        similarities.push(s);
                    },
                )
                .unwrap();
            for ((other, expected), found) in others.iter().zip(&similarities) {
                assert!(
                    (expected - found).abs() < 1e-12,
                    "{asked} {other}: {expected} {found}"
                );
            }
            assert!(others.len() > 5 && similarities.len() == others.len());
        }
    }
}

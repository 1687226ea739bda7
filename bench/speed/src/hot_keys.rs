//! Three ways to look up within 3 bits when keys are hot, as a model in memory with one thread:
//! fixed radii; fixed radii with hot buckets divided again (as S2 does, docs/sources.md); and
//! radii chosen for each query, as the index does. All are exact; what differs is how much they
//! compare.

use std::time::Instant;

use simhash_hamming::page::leaf::LIKELY_COUNT;
use simhash_hamming::search::probe::{KeyCounts, choose, for_each_key};

use crate::cells::percentile;
use crate::pq::Outcome;
use crate::report::Measure;

const K: u32 = 3;
/// A bucket with more than (1 + this) times the average is divided again.
const MU: usize = 2;

/// Postings sorted by a key, and where those of each key begin.
struct Buckets {
    starts: Vec<u32>,
    postings: Vec<(u64, u32)>,
}

impl Buckets {
    /// Counting sort by a key of `bits` bits.
    fn new(
        rows: impl Iterator<Item = (u64, u32)> + Clone,
        bits: u32,
        key: impl Fn(u64) -> usize,
    ) -> Buckets {
        let mut starts = vec![0u32; (1 << bits) + 1];
        for (fp, _) in rows.clone() {
            starts[key(fp) + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut at = starts.clone();
        let mut postings = vec![(0, 0); starts[1 << bits] as usize];
        for (fp, id) in rows {
            let place = &mut at[key(fp)];
            postings[*place as usize] = (fp, id);
            *place += 1;
        }
        Buckets { starts, postings }
    }

    fn bucket(&self, key: usize) -> &[(u64, u32)] {
        &self.postings[self.starts[key] as usize..self.starts[key + 1] as usize]
    }
}

fn key_of(fp: u64, b: usize) -> u16 {
    (fp >> (48 - 16 * b)) as u16
}

/// Sub-key `s` of the 48 bits that are not block `b`.
fn sub_key(fp: u64, b: usize, s: usize) -> usize {
    let rest = fp.rotate_left(16 * b as u32) & 0xFFFF_FFFF_FFFF;
    (rest >> (36 - 12 * s) & 0xFFF) as usize
}

/// Four key spaces; the hot buckets of each also by their sub-keys.
pub struct Model {
    spaces: Vec<Buckets>,
    divided: Vec<Vec<Option<Vec<Buckets>>>>,
}

impl KeyCounts for Model {
    fn leaves(&self, _: usize) -> u64 {
        self.spaces[0].postings.len() as u64 / u64::from(LIKELY_COUNT) + 1
    }

    fn rows(&self, b: usize, key: u16) -> u64 {
        self.spaces[b].bucket(usize::from(key)).len() as u64
    }
}

/// What a look-up found, and how many postings it compared.
#[derive(Default)]
struct Found {
    ids: Vec<u32>,
    compared: usize,
}

impl Found {
    /// Compares a bucket's postings; those that `earlier` buckets have reported already are left
    /// out.
    fn look(&mut self, bucket: &[(u64, u32)], q: u64, earlier: impl Fn(u64) -> bool) {
        self.compared += bucket.len();
        for (fp, id) in bucket {
            if (fp ^ q).count_ones() <= K && !earlier(*fp) {
                self.ids.push(*id);
            }
        }
    }
}

/// Whether a block before `b` has it: then that block's bucket reports it.
fn in_earlier_block(fp: u64, q: u64, b: usize) -> bool {
    (0..b).any(|earlier| key_of(fp, earlier) == key_of(q, earlier))
}

impl Model {
    pub fn new(rows: &[u64]) -> Model {
        let numbered = rows.iter().copied().zip(0u32..);
        let spaces: Vec<Buckets> = (0..4)
            .map(|b| Buckets::new(numbered.clone(), 16, |fp| usize::from(key_of(fp, b))))
            .collect();
        let hot = (1 + MU) * rows.len().div_ceil(1 << 16);
        let divided = (spaces.iter().enumerate())
            .map(|(b, space)| {
                (0..1 << 16)
                    .map(|key| divide(space.bucket(key), b, hot))
                    .collect()
            })
            .collect();
        Model { spaces, divided }
    }

    /// Postings kept for a row: four, and four more for each hot bucket that it is in.
    fn stored(&self, with_divisions: bool) -> f64 {
        let plain: usize = self.spaces.iter().map(|space| space.postings.len()).sum();
        let subs = self.divided.iter().flatten().flatten().flatten();
        let copies: usize = subs.map(|sub| sub.postings.len()).sum();
        let all = plain + if with_divisions { copies } else { 0 };
        all as f64 / self.spaces[0].postings.len().max(1) as f64
    }

    fn fixed(&self, q: u64) -> Found {
        let mut found = Found::default();
        for (b, space) in self.spaces.iter().enumerate() {
            let bucket = space.bucket(usize::from(key_of(q, b)));
            found.look(bucket, q, |fp| in_earlier_block(fp, q, b));
        }
        found
    }

    /// What is within 3 bits and equal in block `b` is equal in one of four sub-keys of the rest.
    fn divided(&self, q: u64) -> Found {
        let mut found = Found::default();
        for (b, space) in self.spaces.iter().enumerate() {
            let key = usize::from(key_of(q, b));
            let Some(subs) = &self.divided[b][key] else {
                found.look(space.bucket(key), q, |fp| in_earlier_block(fp, q, b));
                continue;
            };
            for (s, sub) in subs.iter().enumerate() {
                found.look(sub.bucket(sub_key(q, b, s)), q, |fp| {
                    in_earlier_block(fp, q, b)
                        || (0..s).any(|e| sub_key(fp, b, e) == sub_key(q, b, e))
                });
            }
        }
        found
    }

    fn chosen(&self, q: u64) -> Found {
        let radii = choose(q, K, self);
        let mut found = Found::default();
        for (b, radius) in radii.into_iter().enumerate() {
            for_each_key(key_of(q, b), radius, |key| {
                found.look(self.spaces[b].bucket(usize::from(key)), q, |fp| {
                    (0..b).any(|e| ((key_of(fp, e) ^ key_of(q, e)).count_ones() as i32) <= radii[e])
                });
            });
        }
        found
    }

    /// Times the three over the centres. Fails when they do not find the same rows.
    pub fn measure(&self, centres: &[u64]) -> Outcome<Vec<Measure>> {
        type Way = fn(&Model, u64) -> Found;
        let ways: [(&str, bool, Way); 3] = [
            ("fixed radii", false, Model::fixed),
            ("fixed radii, hot buckets divided", true, Model::divided),
            ("chosen radii", false, Model::chosen),
        ];
        let mut measures = Vec::new();
        let mut first: Vec<Vec<u32>> = Vec::new();
        for (name, divided, way) in ways {
            let (mut times, mut compared) = (Vec::new(), Vec::new());
            // Once untimed, or each way would warm the processor's caches for the next.
            centres.iter().for_each(|q| drop(way(self, *q)));
            for (i, q) in centres.iter().enumerate() {
                let start = Instant::now();
                let mut found = way(self, *q);
                times.push(start.elapsed().as_secs_f64() * 1e6);
                compared.push(found.compared as f64);
                found.ids.sort_unstable();
                match first.get(i) {
                    None => first.push(found.ids),
                    Some(ids) if *ids == found.ids => {}
                    Some(_) => return Err(format!("{name} finds other rows around {q}").into()),
                }
            }
            let stored = vec![self.stored(divided)];
            for (what, values, unit) in [
                ("hot keys, compared", compared, "postings"),
                ("hot keys, time", times, "us"),
                ("hot keys, stored", stored, "postings a row"),
            ] {
                measures.push(Measure {
                    what: what.to_owned(),
                    peer: name.to_owned(),
                    k: K.to_string(),
                    n: values.len(),
                    value: percentile(&values, 0.5),
                    unit,
                    p95: (values.len() > 1).then(|| percentile(&values, 0.95)),
                    ..Measure::default()
                });
            }
        }
        Ok(measures)
    }
}

/// The four divisions of a bucket, when it is hot.
fn divide(bucket: &[(u64, u32)], b: usize, hot: usize) -> Option<Vec<Buckets>> {
    (bucket.len() > hot).then(|| {
        (0..4)
            .map(|s| Buckets::new(bucket.iter().copied(), 12, |fp| sub_key(fp, b, s)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    #[test]
    fn all_ways_find_what_brute_force_finds() {
        let rows = sets::skewed(20_000);
        let model = Model::new(&rows);
        assert!(model.divided.iter().flatten().any(Option::is_some));
        for q in sets::centres(&rows, 200, 1) {
            let near = |id: &u32| (rows[*id as usize] ^ q).count_ones() <= K;
            let wanted: Vec<u32> = (0..rows.len() as u32).filter(near).collect();
            for mut found in [model.fixed(q), model.divided(q), model.chosen(q)] {
                found.ids.sort_unstable();
                assert_eq!(found.ids, wanted);
            }
        }
    }
}

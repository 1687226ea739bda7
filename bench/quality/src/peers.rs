//! Other methods, small: I-Match, sampled shingles, MinHash with locality-sensitive hashing.

use std::collections::{HashMap, HashSet};
use std::error::Error;

use simhash_fingerprint::hash::city64;
use simhash_fingerprint::similarity::jaccard::of_sorted;
use simhash_fingerprint::similarity::minhash::Signature;

use crate::configurations::{for_each_word_set, frequencies};
use crate::data::Set;
use crate::measure::Tally;

/// A method and the pairs that it finds.
type Method = fn(&Set) -> Result<HashSet<(u32, u32)>, Box<dyn Error>>;

pub const METHODS: [(&str, Method); 3] = [
    ("I-Match", i_match),
    ("sampled shingles", sampled_shingles),
    ("MinHash-LSH", minhash_lsh),
];

pub fn tally(set: &Set, method: Method) -> Result<Tally, Box<dyn Error>> {
    let mut tally = Tally::new(set, 1);
    for pair in method(set)? {
        tally.add(set, 0, pair, 1.0);
    }
    Ok(tally)
}

/// One hash of the sorted words whose idf, scaled to 0..1 over the set, is between 0.1 and 0.9:
/// rows match when their hashes are equal.
fn i_match(set: &Set) -> Result<HashSet<(u32, u32)>, Box<dyn Error>> {
    let counts = &frequencies(set)?.counts;
    let rows = (set.texts.len() as f64).ln();
    let mut buckets: HashMap<u64, Vec<u32>> = HashMap::new();
    for_each_word_set(set, &mut |row, mut words| {
        words.retain(|word| {
            let df = counts.get(word).copied().unwrap_or(1) as f64;
            (0.1..=0.9).contains(&(1.0 - df.ln() / rows))
        });
        words.sort();
        if !words.is_empty() {
            let bucket = buckets.entry(city64(words.join(" ").as_bytes()));
            bucket.or_default().push(row as u32);
        }
    })?;
    Ok(pairs(buckets.into_values()))
}

/// Character 5-grams of which one in eight is kept, by hash; rows match when those of both have a
/// Jaccard similarity of 0.8 or more.
fn sampled_shingles(set: &Set) -> Result<HashSet<(u32, u32)>, Box<dyn Error>> {
    let samples: Vec<Vec<u64>> = (set.shingles.iter())
        .map(|s| s.hashes().iter().copied().filter(|h| h % 8 == 0).collect())
        .collect();
    // Of a sorted set two that are alike by 0.8 share one of the first fifth and one more.
    let mut buckets: HashMap<u64, Vec<u32>> = HashMap::new();
    for (sample, row) in samples.iter().zip(0..) {
        for &hash in sample.iter().take(sample.len() / 5 + 1) {
            buckets.entry(hash).or_default().push(row);
        }
    }
    let mut found = pairs(buckets.into_values());
    found.retain(|&(a, b)| of_sorted(&samples[a as usize], &samples[b as usize]) >= Some(0.8));
    Ok(found)
}

/// 128 minima of the character 5-grams in 16 bands of 8: rows match when a band is equal, which 61
/// % of the pairs of similarity 0.7 have, and 95 % of those of 0.8.
fn minhash_lsh(set: &Set) -> Result<HashSet<(u32, u32)>, Box<dyn Error>> {
    let mut buckets: HashMap<(usize, u64), Vec<u32>> = HashMap::new();
    for (shingles, row) in set.shingles.iter().zip(0..) {
        let mut signature = Signature::new(128);
        for hash in shingles.hashes() {
            signature.add(&hash.to_le_bytes());
        }
        for (band, minima) in signature.into_values().chunks(8).enumerate() {
            let bytes: Vec<u8> = minima.iter().flat_map(|m| m.to_le_bytes()).collect();
            buckets.entry((band, city64(&bytes))).or_default().push(row);
        }
    }
    Ok(pairs(buckets.into_values()))
}

fn pairs(buckets: impl Iterator<Item = Vec<u32>>) -> HashSet<(u32, u32)> {
    let mut found = HashSet::new();
    for rows in buckets {
        for (i, &a) in rows.iter().enumerate() {
            found.extend(rows[i + 1..].iter().map(|&b| (a, b)));
        }
    }
    found
}

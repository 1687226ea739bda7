//! How good pairs of records are, on sets of which the truth is known; no server is needed.
//! `sets FOLDER [NAME...]` reads NAME_a.csv, NAME_b.csv where there are two tables, and
//! NAME_pairs.csv, the true pairs of ids, which are unique over both tables. It prints a line of a
//! table for each set: how many pairs were compared, and how many of them are true; F at the best
//! threshold, and at the one that is taken without any, as a part of the best; the best F of the same
//! pairs by a plain TF-IDF cosine of the rows' words and n-grams; the time from the first row to the last pair.

use simhash_base::store::InMemory;
use simhash_records::comparison::compare;
use simhash_records::features::features;
use simhash_records::frequencies::Rows;
use simhash_records::notes::add;
use simhash_records::partners::Partners;
use simhash_records::report::Report;
use simhash_records::vectors::Rating;
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// A set: the names of its columns, and its tables of ids and values.
struct Set {
    tables: Vec<Vec<Vec<String>>>,
    truth: HashSet<(u32, u32)>,
}

/// The words and n-grams of rows with their TF-IDF weights, in the order of their hashes, each row of length 1.
#[derive(Default)]
struct Plain(Vec<Vec<(u64, f64)>>);

impl Plain {
    /// Adds features to the last row.
    fn add(&mut self, features: &[u64]) {
        if let Some(row) = self.0.last_mut() {
            row.extend(features.iter().map(|hash| (*hash, 1.0)));
        }
    }

    fn weigh(&mut self) {
        let mut df: HashMap<u64, f64> = HashMap::new();
        for row in &mut self.0 {
            row.sort_unstable_by_key(|(hash, _)| *hash);
            row.dedup_by(|next, this| {
                let is_same = next.0 == this.0;
                this.1 += if is_same { next.1 } else { 0.0 };
                is_same
            });
            for (hash, _) in row {
                *df.entry(*hash).or_default() += 1.0;
            }
        }
        let count = self.0.len() as f64;
        for row in &mut self.0 {
            for (hash, weight) in row.iter_mut() {
                *weight *= (count / df[hash]).ln();
            }
            let length = row
                .iter()
                .map(|(_, weight)| weight * weight)
                .sum::<f64>()
                .sqrt();
            row.iter_mut().for_each(|(_, weight)| *weight /= length);
        }
    }

    fn cosine(&self, [a, b]: [u32; 2]) -> f64 {
        let (a, mut b) = (&self.0[a as usize], &self.0[b as usize][..]);
        let mut sum = 0.0;
        for (hash, weight) in a {
            b = &b[b.partition_point(|(other, _)| other < hash)..];
            sum += b
                .first()
                .filter(|(other, _)| other == hash)
                .map_or(0.0, |(_, other)| weight * other);
        }
        sum
    }
}

/// Some pairs of rows: how similar they are, how many there are, and how many of them are true.
type Scored = (f64, u64, u64);

/// Returns the best F of pairs, at which threshold, and F at a given one.
fn best_f(mut pairs: Vec<Scored>, truth: usize, given: f64) -> [f64; 3] {
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let f = |count: u64, right: u64| 2.0 * right as f64 / (count as f64 + truth as f64);
    let (mut count, mut right, mut best, mut at, mut at_given) = (0, 0, 0.0, 0.0, 0.0);
    for of_one in pairs.chunk_by(|a, b| a.0 == b.0) {
        for pair in of_one {
            (count, right) = (count + pair.1, right + pair.2);
        }
        let f = f(count, right);
        if f > best {
            (best, at) = (f, of_one[0].0);
        }
        if of_one[0].0 >= given {
            at_given = f;
        }
    }
    [best, at, at_given]
}

fn read(folder: &Path, name: &str) -> Result<Set, Box<dyn Error>> {
    let file = |ending: &str| {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_path(folder.join(format!("{name}_{ending}.csv")))?;
        reader
            .deserialize()
            .collect::<csv::Result<Vec<Vec<String>>>>()
    };
    let mut tables = vec![file("a")?];
    tables.extend(file("b").ok());
    let mut truth = HashSet::new();
    for pair in &file("pairs")?[1..] {
        let (a, b): (u32, u32) = (pair[0].parse()?, pair[1].parse()?);
        truth.insert((a.min(b), a.max(b)));
    }
    Ok(Set { tables, truth })
}

fn measure(name: &str, set: &Set) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut plain = Plain::default();
    let (mut rows, mut ids, mut found) = (Rows::new(1 << 28), Vec::new(), Vec::new());
    let heads: Vec<&[String]> = set.tables.iter().map(|table| &table[0][1..]).collect();
    let is_shared = |name: &&String| heads.iter().all(|head| head.contains(name));
    let columns: Vec<&String> = heads[0].iter().filter(is_shared).collect();
    for (side, table) in set.tables.iter().enumerate() {
        let place = |name: &&String| table[0].iter().position(|other| other == *name);
        let places: Vec<usize> = columns.iter().filter_map(place).collect();
        if side == 1 {
            rows.begin_second_table();
        }
        for line in &table[1..] {
            ids.push(line[0].parse::<u32>()?);
            plain.0.push(Vec::new());
            for (column, place) in (0..).zip(&places) {
                let value = &line[*place];
                if !value.is_empty() {
                    features(value, 3, &mut found, &mut || {}).map_err(|_| "memory")?;
                    rows.add(column, &found)?;
                    plain.add(&found);
                    add(column, value, rows.notes(), &mut || {}).map_err(|_| "memory")?;
                }
            }
            rows.end_row(0, &mut InMemory)?;
        }
    }
    let rating = Rating {
        rarity: 2.0,
        columns: None,
    };
    let mut found = rows.finish(30, rating, &mut InMemory)?;
    plain.weigh();
    let (mut pairs, mut by_tf_idf): (Vec<Scored>, Vec<Scored>) = (Vec::new(), Vec::new());
    let mut added = Ok(());
    let mut report = Report::default();
    let mut partners = Partners::new(found.copies.records())?;
    compare(
        &mut found,
        columns.len(),
        &mut InMemory,
        |copies, pair, similarity| {
            let (mut count, mut right) = (0, 0);
            copies.for_each(pair, |a, b| {
                let (a, b) = (ids[a as usize], ids[b as usize]);
                count += 1;
                right += u64::from(set.truth.contains(&(a.min(b), a.max(b))));
            });
            pairs.push((similarity, count, right));
            let cosine = plain.cosine(copies.first_pair(pair));
            by_tf_idf.push((cosine, count, right));
            report.add(pair, similarity, count);
            if let Err(error) = partners.add(pair, similarity) {
                added = Err(error);
            }
        },
    )?;
    added?;
    report.add_partners(partners, &found.copies)?;
    let (taken, why) = report.choose(set.tables.len() > 1);
    let seconds = start.elapsed().as_secs_f64();
    let compared = (pairs.iter()).fold((0, 0), |sum, pair| (sum.0 + pair.1, sum.1 + pair.2));
    let [best, at, at_taken] = best_f(pairs, set.truth.len(), taken);
    let [tf_idf, ..] = best_f(by_tf_idf, set.truth.len(), 0.0);
    println!(
        "| {name} | {} | {} | {:.3} | {} | {best:.3} | {at:.2} | {taken:.2} {why:?} | {:.3} | {tf_idf:.3} | {seconds:.1} |",
        ids.len(),
        set.truth.len(),
        compared.1 as f64 / set.truth.len() as f64,
        compared.0,
        at_taken / best,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("sets FOLDER [NAME...]")?;
    let folder = Path::new(&folder);
    let mut names: Vec<String> = arguments.collect();
    if names.is_empty() {
        for entry in std::fs::read_dir(folder)? {
            let file = entry?.file_name();
            names.extend(
                file.to_string_lossy()
                    .strip_suffix("_pairs.csv")
                    .map(str::to_string),
            );
        }
        names.sort();
    }
    println!(
        "| set | rows | true pairs | compared | candidates | F | at | taken | F there / F | TF-IDF | s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for name in names {
        measure(&name, &read(folder, &name)?)?;
    }
    Ok(())
}

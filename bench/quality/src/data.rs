//! Data sets: texts and the truth about their pairs.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use flate2::read::GzDecoder;
use simhash_fingerprint::hash::city64;
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::jaccard;
use simhash_fingerprint::terms::Idf;
use simhash_fingerprint::text::ngrams::{GramLengths, Ngrams};
use simhash_fingerprint::text::normal::for_each_chunk;

/// What the truth says of a pair that is listed in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKind {
    /// Equal in normal form.
    Exact,
    /// Jaccard similarity of at least 0.8.
    Near,
    /// Between 0.5 and 0.8: neither right nor wrong.
    Grey,
}

/// Pairs by the positions of their texts, the smaller first.
pub type Truth = HashMap<(u32, u32), PairKind>;

pub struct LabelledSet {
    pub name: String,
    /// The rows of which the truth speaks.
    pub texts: Vec<String>,
    /// Their titles; empty when the set has no column `subject`.
    pub titles: Vec<String>,
    pub letters: Vec<Letters>,
    pub truth: Truth,
    /// For each row the first of those that it is connected with by exact and near pairs.
    pub groups: Vec<u32>,
    /// How many near pairs each of these has.
    pub near: Vec<f32>,
    /// In how many rows each word occurs, once that is counted.
    pub frequencies: OnceLock<Arc<Idf>>,
}

/// Letters and digits that a text must have to be in the truth.
fn least_length(name: &str) -> usize {
    match name.starts_with("zh_reviews") {
        true => 15,
        false => 20,
    }
}

pub fn rows(path: &Path) -> Result<csv::Reader<GzDecoder<File>>, Box<dyn Error>> {
    let file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(csv::Reader::from_reader(GzDecoder::new(file)))
}

/// The letters and digits of the normal form.
fn letters(text: &str) -> String {
    let (mut letters, mut grams) = (String::new(), Ngrams::new(GramLengths::all(1)));
    for_each_chunk(text, &mut String::new(), &mut || {}, &mut |chunk| {
        grams.chunk(chunk, &mut |letter| letters.push_str(letter));
    });
    letters
}

impl LabelledSet {
    /// Reads NAME.csv.gz, and the truth from NAME_pairs.csv.gz, or finds the truth when there is no
    /// such file. None when the folder does not have the set.
    pub fn read(folder: &Path, name: &str) -> Result<Option<LabelledSet>, Box<dyn Error>> {
        let path = folder.join(format!("{name}.csv.gz"));
        if !path.exists() {
            return Ok(None);
        }
        let mut reader = rows(&path)?;
        let headers = reader.headers()?.clone();
        let column = |title| headers.iter().position(|h| h == title);
        let (Some(id), Some(text)) = (column("id"), column("text")) else {
            return Err(format!("{}: no column id or text", path.display()).into());
        };
        let title = column("subject");
        let (mut texts, mut titles, mut positions) = (Vec::new(), Vec::new(), HashMap::new());
        for record in reader.records() {
            let record = record?;
            if letters(&record[text]).chars().count() >= least_length(name) {
                positions.insert(record[id].to_owned(), texts.len() as u32);
                texts.push(record[text].to_owned());
                titles.extend(title.map(|title| record[title].to_owned()));
            }
        }
        let pairs = folder.join(format!("{name}_pairs.csv.gz"));
        let truth = match pairs.exists() {
            true => read_truth(&pairs, &positions)?,
            false => find_truth(&texts, &letters_of_texts(&texts)?),
        };
        Ok(Some(LabelledSet::new(
            name.to_owned(),
            texts,
            titles,
            truth,
        )?))
    }

    pub fn new(
        name: String,
        texts: Vec<String>,
        titles: Vec<String>,
        truth: Truth,
    ) -> Result<LabelledSet, Box<dyn Error>> {
        let mut parents: Vec<u32> = (0..texts.len() as u32).collect();
        for (&(a, b), _) in truth.iter().filter(|(_, kind)| **kind != PairKind::Grey) {
            let (a, b) = (root(&mut parents, a), root(&mut parents, b));
            // The same in whatever order the pairs come: intervals are drawn by it.
            parents[a.max(b) as usize] = a.min(b);
        }
        let groups: Vec<u32> = (0..texts.len() as u32)
            .map(|row| root(&mut parents, row))
            .collect();
        let mut near = vec![0.0; texts.len()];
        for (&(a, _), _) in truth.iter().filter(|(_, kind)| **kind == PairKind::Near) {
            near[groups[a as usize] as usize] += 1.0;
        }
        let letters = letters_of_texts(&texts)?;
        Ok(LabelledSet {
            name,
            texts,
            titles,
            letters,
            truth,
            groups,
            near,
            frequencies: OnceLock::new(),
        })
    }

    pub fn count(&self, kind: PairKind) -> f64 {
        self.truth.values().filter(|k| **k == kind).count() as f64
    }
}

/// Number of letters of an n-gram.
const NGRAM: usize = 5;

fn letters_of_texts(texts: &[String]) -> Result<Vec<Letters>, Box<dyn Error>> {
    let letters = texts.iter().map(|text| Letters::new(text, &mut || {}));
    Ok(letters.collect::<Result<_, _>>()?)
}

/// The Jaccard similarity of two texts; 0 if neither has a letter.
pub fn similarity(a: &Letters, b: &Letters) -> f64 {
    jaccard(a, b, GramLengths::all(NGRAM))
        .ok()
        .flatten()
        .unwrap_or(0.0)
}

fn read_truth(path: &Path, positions: &HashMap<String, u32>) -> Result<Truth, Box<dyn Error>> {
    let mut truth = Truth::new();
    for record in rows(path)?.records() {
        let record = record?;
        let kind = match &record[3] {
            "exact" => PairKind::Exact,
            "near" => PairKind::Near,
            _ => PairKind::Grey,
        };
        let (Some(&a), Some(&b)) = (positions.get(&record[0]), positions.get(&record[1])) else {
            return Err(format!("{}: names a row that is not there", path.display()).into());
        };
        truth.insert((a.min(b), a.max(b)), kind);
    }
    Ok(truth)
}

/// The truth by comparing all pairs: for small sets.
fn find_truth(texts: &[String], letters_of_texts: &[Letters]) -> Truth {
    let hashes: Vec<u64> = texts
        .iter()
        .map(|text| city64(letters(text).as_bytes()))
        .collect();
    let mut truth = Truth::new();
    for (a, first) in letters_of_texts.iter().enumerate() {
        for (b, second) in letters_of_texts.iter().enumerate().skip(a + 1) {
            let kind = match similarity(first, second) {
                _ if hashes[a] == hashes[b] => PairKind::Exact,
                0.8.. => PairKind::Near,
                0.5.. => PairKind::Grey,
                _ => continue,
            };
            truth.insert((a as u32, b as u32), kind);
        }
    }
    truth
}

fn root(parents: &mut [u32], mut row: u32) -> u32 {
    while parents[row as usize] != row {
        parents[row as usize] = parents[parents[row as usize] as usize];
        row = parents[row as usize];
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_named_by_its_first_row() {
        let texts = vec!["a text".to_owned(); 4];
        let pairs = [
            ((2, 3), PairKind::Exact),
            ((1, 2), PairKind::Near),
            ((0, 1), PairKind::Grey),
        ];
        let set =
            LabelledSet::new("set".to_owned(), texts, Vec::new(), Truth::from(pairs)).unwrap();
        assert_eq!(set.groups, [0, 1, 1, 1]);
    }
}

//! Data sets: texts and the truth about their pairs.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::path::Path;

use flate2::read::GzDecoder;
use simhash_dedup::fingerprint::jaccard::Shingles;
use simhash_dedup::fingerprint::text::Ngrams;
use simhash_dedup::fingerprint::text::for_each_chunk;

/// What the truth says of a pair that is listed in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Equal in normal form.
    Exact,
    /// Jaccard similarity of at least 0.8.
    Near,
    /// Between 0.5 and 0.8: neither right nor wrong.
    Grey,
}

pub struct Set {
    pub name: String,
    /// The rows of which the truth speaks.
    pub texts: Vec<String>,
    pub shingles: Vec<Shingles>,
    /// By positions in `texts`, the smaller first.
    pub truth: HashMap<(u32, u32), Kind>,
}

/// Letters and digits that a text must have to be in the truth.
fn least_length(name: &str) -> usize {
    if name.starts_with("zh_reviews") {
        15
    } else {
        20
    }
}

fn rows(path: &Path) -> Result<csv::Reader<GzDecoder<File>>, Box<dyn Error>> {
    let file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(csv::Reader::from_reader(GzDecoder::new(file)))
}

fn letters(text: &str) -> usize {
    let (mut count, mut grams) = (0, Ngrams::new(1));
    for_each_chunk(text, &mut String::new(), &mut || {}, &mut |chunk| {
        grams.chunk(chunk, &mut |_| count += 1);
    });
    count
}

impl Set {
    /// Reads NAME.csv.gz and NAME_pairs.csv.gz; None when the folder does not have them.
    pub fn read(folder: &Path, name: &str) -> Result<Option<Set>, Box<dyn Error>> {
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
        let (mut texts, mut positions) = (Vec::new(), HashMap::new());
        for record in reader.records() {
            let record = record?;
            if letters(&record[text]) >= least_length(name) {
                positions.insert(record[id].to_owned(), texts.len() as u32);
                texts.push(record[text].to_owned());
            }
        }
        let mut truth = HashMap::new();
        for record in rows(&folder.join(format!("{name}_pairs.csv.gz")))?.records() {
            let record = record?;
            let kind = match &record[3] {
                "exact" => Kind::Exact,
                "near" => Kind::Near,
                _ => Kind::Grey,
            };
            let (Some(&a), Some(&b)) = (positions.get(&record[0]), positions.get(&record[1]))
            else {
                return Err(format!("{name}: the truth names a row that is not there").into());
            };
            truth.insert((a.min(b), a.max(b)), kind);
        }
        let shingles = texts
            .iter()
            .map(|t| Shingles::new(t, 5, &mut || {}))
            .collect::<Result<_, _>>()?;
        Ok(Some(Set {
            name: name.to_owned(),
            texts,
            shingles,
            truth,
        }))
    }
}

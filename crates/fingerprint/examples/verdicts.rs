//! What the extension says of pairs of texts, for bench/quality/verdicts.py: a line for each, with
//! what `simhash_same` returns, the distance of the fingerprints, and `simhash_jaccard`. The pairs
//! come on standard input, each as a line with a JSON array of two texts. With arguments,
//! `verdicts [--wrong] FILE.csv ...`, it scores files of the form of tests/data/verdicts.csv instead:
//! by kind, the pairs that are right of those on which people agree; `--strict` scores `simhash_same_strict`; with `--wrong` also each pair that
//! is not, with what decides; with `--all` the verdict on every pair, to compare two builds.

use simhash_fingerprint::Error;
use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::options::grammar::parse_text;
use simhash_fingerprint::options::{plan, presets};
use simhash_fingerprint::same::{Strictness, differences, same, same_as};
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::{NgramSet, Scratch, Similarity};
use simhash_fingerprint::text::ngrams::GramLengths;
use std::collections::BTreeMap;

fn fingerprint(text: &str) -> Result<Option<u64>, Error> {
    let plan = plan::text(presets::find(None)?, &parse_text("{}", &mut || {})?)?;
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    builder.begin();
    builder.column(&plan, Content::Text(text), &mut || {})?;
    Ok(builder.fingerprint().map(|[bits]| bits))
}

fn distance(a: &str, b: &str) -> Result<u32, Error> {
    Ok(match (fingerprint(a)?, fingerprint(b)?) {
        (Some(a), Some(b)) => (a ^ b).count_ones(),
        _ => 64,
    })
}

fn jaccard(a: &str, b: &str) -> Result<f64, Error> {
    let (mut set, mut scratch) = (NgramSet::default(), Scratch::default());
    set.fill(
        &Letters::new(a, &mut || {})?,
        GramLengths::SHINGLES,
        &mut scratch,
        &mut || {},
    )?;
    let letters = Letters::new(b, &mut || {})?;
    Ok(
        match set.compare(&letters, 0.0, &mut scratch, &mut || {})? {
            Similarity::Exactly(similarity) => similarity,
            _ => 0.0,
        },
    )
}

/// The rows of comma-separated values behind the first; quotes may hold commas and line breaks.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => (),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    rows.split_off(1)
}

/// What decides between two texts, or all that is tolerated, in one line.
fn decisive(a: &str, b: &str) -> Result<String, String> {
    let differences = differences(a, b, &mut || {}).map_err(|error| error.to_string())?;
    let any = differences.iter().any(|difference| difference.decides);
    let decide = differences
        .iter()
        .filter(|difference| difference.decides || !any);
    let shown = decide.map(|d| format!("{} [{}|{}]", d.kind.name(), d.in_a, d.in_b));
    Ok(shown.collect::<Vec<_>>().join("; "))
}

/// Scores a file of verdicts by kind.
fn score(file: &str, wanted: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    // Per kind: right and all of the same pairs, and of the different ones.
    let mut kinds: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for row in rows(&std::fs::read_to_string(file)?) {
        let (a, b, label, strict) = (&row[3], &row[4], row[5] == "true", row[6] == "true");
        let strictness = match wanted {
            Some("--strict") => Strictness::Strict,
            _ => Strictness::Person,
        };
        let said = same_as(a, b, strictness, &mut || {}).map_err(|error| error.to_string())?;
        if wanted == Some("--all") {
            println!("{} {}", row[0], u8::from(said));
        }
        if !strict {
            continue;
        }
        let counts = kinds.entry(row[1].clone()).or_default();
        let of = if label { 0 } else { 2 };
        counts[of + 1] += 1;
        counts[of] += usize::from(said == label);
        if said != label && wanted == Some("--wrong") {
            println!(
                "{} {} same={label}\n  {a:?}\n  {b:?}\n  {}",
                row[0],
                row[1],
                decisive(a, b)?
            );
        }
    }
    let mut all = [0; 4];
    for (kind, counts) in &kinds {
        let [same_right, same, different_right, different] = counts;
        println!("{kind:28} same {same_right}/{same}  different {different_right}/{different}");
        all.iter_mut()
            .zip(counts)
            .for_each(|(all, count)| *all += count);
    }
    let share = 100.0 * (all[0] + all[2]) as f64 / (all[1] + all[3]) as f64;
    println!(
        "{file}: same {}/{}, different {}/{}, right {share:.1} %",
        all[0], all[1], all[2], all[3]
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (flags, files): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("--"));
    if !files.is_empty() {
        let wanted = flags.first().map(String::as_str);
        return files.iter().try_for_each(|file| score(file, wanted));
    }
    for line in std::io::stdin().lines() {
        let [a, b]: [String; 2] = serde_json::from_str(&line?)?;
        let said = same(&a, &b, &mut || {}).map_err(|error| error.to_string())?;
        let distance = distance(&a, &b).map_err(|error| error.to_string())?;
        let jaccard = jaccard(&a, &b).map_err(|error| error.to_string())?;
        println!("{} {distance} {jaccard}", u8::from(said));
    }
    Ok(())
}

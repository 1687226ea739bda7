//! `short TEXTS VERDICTS...`: what presets find of pairs that a person calls the same, by the length
//! of the texts, and how many of the rows in TEXTS, one on a line, a search finds that have nothing
//! to do with it. VERDICTS are CSV files with the columns a, b, same and strict. Prints tables in
//! Markdown; bench/quality/short.sh calls it.

use std::error::Error;

use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::options::grammar::parse_text;
use simhash_fingerprint::options::{plan, presets};
use simhash_fingerprint::same::same;
use simhash_fingerprint::text::ngrams::is_letter;
use simhash_fingerprint::text::normal::{Normalize, normal_form};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What is measured: presets, each within some radii.
const MEASURED: [(&str, &[u32]); 2] = [("adaptive", &[10, 12, 15]), ("shingles", &[10, 12])];
/// Letters from which a text is in the next class.
const CLASSES: [usize; 3] = [20, 60, 200];
const CLASS_COUNT: usize = CLASSES.len() + 1;
/// This number of the rows ask too.
const ROWS_THAT_ASK: usize = 2000;
const MILLION: f64 = 1e6;

/// Two texts, the class of the shorter one, and what is said of them.
struct Pair {
    texts: [String; 2],
    class: usize,
    same: bool,
    accepted: bool,
}

fn class(text: &str) -> Outcome<usize> {
    let mut normal = String::new();
    normal_form(text, Normalize::Fold, &mut normal, &mut || {})?;
    let letters = normal.chars().filter(|&c| is_letter(c)).count();
    Ok(CLASSES.iter().filter(|&&least| letters >= least).count())
}

fn read_pairs(path: &str) -> Outcome<Vec<Pair>> {
    let mut reader = csv::Reader::from_path(path).map_err(|e| format!("{path}: {e}"))?;
    let heading = reader.headers()?.clone();
    let position = |name| heading.iter().position(|h| h == name);
    let columns = ["a", "b", "same", "strict"].map(position);
    let [Some(a), Some(b), Some(is_same), Some(strict)] = columns else {
        return Err(format!("{path}: a, b, same or strict is missing").into());
    };
    let mut pairs = Vec::new();
    for record in reader.records() {
        let record = record?;
        if &record[strict] == "true" {
            let texts = [a, b].map(|column| record[column].to_owned());
            let class = class(&texts[0])?.min(class(&texts[1])?);
            let accepted = same(&texts[0], &texts[1], &mut || {})?;
            let same = &record[is_same] == "true";
            pairs.push(Pair {
                texts,
                class,
                same,
                accepted,
            });
        }
    }
    Ok(pairs)
}

/// The fingerprints of texts, those of no feature left out.
fn fingerprints<'a>(
    preset: &str,
    texts: impl Iterator<Item = &'a str>,
) -> Outcome<Vec<Option<u64>>> {
    let plan = plan::text(presets::find(Some(preset))?, &parse_text("{}", &mut || {})?)?;
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    let fingerprint = |text| {
        builder.begin();
        builder.column(&plan, Content::Text(text), &mut || {})?;
        Ok(builder.fingerprint().map(|[bits]| bits))
    };
    texts.map(fingerprint).collect()
}

/// The mean and the greatest number of rows of a million within a radius of some questions, by class.
fn candidates(rows: &[u64], questions: &[(usize, u64)], radius: u32) -> ([f64; CLASS_COUNT], f64) {
    let (mut sums, mut counts, mut most) = ([0.0; CLASS_COUNT], [0.0; CLASS_COUNT], 0.0f64);
    let of_million = MILLION / rows.len() as f64;
    for &(class, asked) in questions {
        let near = |row: &&u64| (**row ^ asked).count_ones() <= radius;
        let found = rows.iter().filter(near).count() as f64 * of_million;
        sums[class] += found;
        counts[class] += 1.0;
        most = most.max(found);
    }
    let mean = |class| sums[class] / f64::max(counts[class], 1.0);
    (std::array::from_fn(mean), most)
}

/// Rows of a million that the fullest key of each of the four blocks holds.
fn fullest_keys(rows: &[u64]) -> [f64; 4] {
    std::array::from_fn(|block| {
        let mut counts = vec![0u32; 1 << 16];
        for row in rows {
            counts[(row >> (16 * block)) as usize & 0xffff] += 1;
        }
        let fullest = counts.iter().copied().max().unwrap_or(0);
        f64::from(fullest) * MILLION / rows.len() as f64
    })
}

fn percent(found: usize, of: usize) -> f64 {
    100.0 * found as f64 / of as f64
}

fn joined(numbers: [f64; CLASS_COUNT]) -> String {
    numbers.map(|n| format!("{n:.0}")).join(" | ")
}

fn measure(preset: &str, radii: &[u32], pairs: &[Pair], texts: &[&str]) -> Outcome<()> {
    let all = fingerprints(preset, texts.iter().copied())?;
    let rows: Vec<u64> = all.iter().copied().flatten().collect();
    let of_pairs = |side: usize| fingerprints(preset, pairs.iter().map(|p| p.texts[side].as_str()));
    let (a, b) = (of_pairs(0)?, of_pairs(1)?);
    let asked = pairs.iter().zip(&a);
    let asked = asked.filter_map(|(pair, bits)| Some((pair.class, (*bits)?)));
    let asked: Vec<(usize, u64)> = asked.collect();
    let step = rows.len().div_ceil(ROWS_THAT_ASK);
    let rows_ask: Vec<(usize, u64)> = rows.iter().step_by(step).map(|&bits| (0, bits)).collect();
    for &radius in radii {
        let near =
            |i: usize| matches!((a[i], b[i]), (Some(a), Some(b)) if (a ^ b).count_ones() <= radius);
        let share = |chosen: &dyn Fn(&Pair) -> bool| {
            let chosen: Vec<usize> = (0..pairs.len()).filter(|&i| chosen(&pairs[i])).collect();
            percent(chosen.iter().filter(|&&i| near(i)).count(), chosen.len())
        };
        let found = share(&|pair| pair.same);
        let by_class = std::array::from_fn(|class| share(&|p| p.same && p.class == class));
        let accepted = share(&|pair| pair.same && pair.accepted);
        let different = share(&|pair| !pair.same);
        let (candidates_of_pairs, most) = candidates(&rows, &asked, radius);
        let (of_rows, most_of_rows) = candidates(&rows, &rows_ask, radius);
        println!(
            "| `{preset}` within {radius} | {found:.1} | {} | {accepted:.1} | {different:.0} | {} | {most:.0} | {:.0} | {most_of_rows:.0} |",
            joined(by_class),
            joined(candidates_of_pairs),
            of_rows[0]
        );
    }
    let keys = fullest_keys(&rows).map(|rows| format!("{rows:.0}"));
    println!(
        "<!-- {preset}: rows of a million under the fullest key: {} -->",
        keys.join(", ")
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [texts, verdicts @ ..] = arguments.as_slice() else {
        return Err("usage: short TEXTS VERDICTS...".into());
    };
    let texts = std::fs::read_to_string(texts)?;
    let texts: Vec<&str> = texts.lines().collect();
    let mut pairs = Vec::new();
    for path in verdicts {
        pairs.extend(read_pairs(path)?);
    }
    let classes = "under 20 | 20 to 59 | 60 to 199 | 200 and more";
    println!(
        "{} pairs, {} of them the same; {} rows\n\n| | same found, % | {classes} | of those that `simhash_same` accepts, % | different within, % | \
         candidates of a million: {classes} | most | when a row asks | most |\n|---|{}",
        pairs.len(),
        pairs.iter().filter(|pair| pair.same).count(),
        texts.len(),
        "---:|".repeat(2 * CLASS_COUNT + 6)
    );
    for (preset, radii) in MEASURED {
        measure(preset, radii, &pairs, &texts)?;
    }
    Ok(())
}

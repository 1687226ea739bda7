//! `quality DATA_FOLDER [CONFIGURATIONS [SET...]]`: precision and recall of fingerprint configurations
//! on labelled text. CSV goes to standard output; `make quality` makes the table of it.

mod data;
mod measure;

use std::error::Error;
use std::path::Path;

use data::{Kind, Set};
use measure::{Found, Outcome, RADII, interval};
use simhash_dedup::fingerprint::hash::Width;
use simhash_dedup::fingerprint::options::parse_text;
use simhash_dedup::fingerprint::sketch::{Content, Sketch};
use simhash_dedup::fingerprint::{plan, presets};

const SETS: [&str; 6] = [
    "petition_all_dev",
    "shangluo_mailbox_dev",
    "debian_desc_dev",
    "debian_desc_zh_dev",
    "reuters21578_dev",
    "zh_reviews_dev",
];

/// A line of the list of configurations: name, preset, options as JSON, between white space.
struct Configuration {
    name: String,
    preset: String,
    options: String,
}

fn configurations(path: &Path) -> Result<Vec<Configuration>, Box<dyn Error>> {
    let list = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let lines = list
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    lines
        .map(|line| {
            let mut parts = line.splitn(3, char::is_whitespace).map(str::trim);
            let mut part = || {
                parts
                    .next()
                    .ok_or_else(|| format!("incomplete line: {line}"))
            };
            Ok(Configuration {
                name: part()?.to_owned(),
                preset: part()?.to_owned(),
                options: part()?.to_owned(),
            })
        })
        .collect()
}

/// How often each configuration is drawn. A fingerprint is a random projection; the name of the column
/// stands for the random numbers, and which one it is decides some pairs by luck.
const DRAWS: usize = 8;

/// Fingerprints as of a column with a name that belongs to the draw; of a lone text in the first.
fn fingerprints(
    set: &Set,
    configuration: &Configuration,
    draw: usize,
) -> Result<Vec<Option<u64>>, Box<dyn Error>> {
    let preset = presets::find(Some(&configuration.preset))?;
    let mut plan = plan::text(preset, &parse_text(&configuration.options)?)?;
    if draw > 0 {
        plan.prefix = format!("{draw}\u{1f}").into_bytes();
    }
    let mut sketch = Sketch::<1>::new(Width::W64);
    let of_text = |text: &String| {
        sketch.begin();
        sketch.column(&plan, Content::Text(text), &mut || {})?;
        Ok(sketch.fingerprint().map(|[bits]| bits))
    };
    set.texts.iter().map(of_text).collect()
}

fn run(set: &Set, configuration: &Configuration) -> Result<(), Box<dyn Error>> {
    let (mut outcome, mut skews) = (Outcome::default(), 0.0);
    for draw in 0..DRAWS {
        let fingerprints = fingerprints(set, configuration, draw)?;
        outcome.add(set, &fingerprints, 1.0 / DRAWS as f64);
        skews += skew(&fingerprints) / DRAWS as f64;
    }
    print(set, &configuration.name, &outcome, skews);
    Ok(())
}

/// The load of the fullest key of the four 16-bit blocks, as a share of the rows.
fn skew(fingerprints: &[Option<u64>]) -> f64 {
    let fullest = (0..4).map(|block| {
        let mut counts = vec![0u32; 1 << 16];
        for fingerprint in fingerprints.iter().flatten() {
            counts[(fingerprint >> (16 * block)) as usize & 0xffff] += 1;
        }
        counts.into_iter().max().unwrap_or(0)
    });
    f64::from(fullest.max().unwrap_or(0)) / fingerprints.len() as f64
}

fn print(set: &Set, name: &str, outcome: &Outcome, skew: f64) {
    let near = set
        .truth
        .values()
        .filter(|kind| **kind == Kind::Near)
        .count() as f64;
    let exact = set
        .truth
        .values()
        .filter(|kind| **kind == Kind::Exact)
        .count() as f64;
    for (i, k) in RADII.iter().enumerate() {
        let (low, high) = interval(set, &outcome.near[i], 1.0 / DRAWS as f64);
        let line = |check: &str, found: &Found| {
            println!(
                "{},{name},{k},{check},{:.1},{:.1},{:.1},{:.1},{:.4},{:.4},{low:.4},{high:.4},{:.4},{skew:.4}",
                set.name,
                found.exact,
                found.near,
                found.grey,
                found.wrong,
                found.precision(),
                found.near / near,
                found.exact / exact,
            );
        };
        line("none", &outcome.plain[i]);
        line("jaccard", &outcome.checked[i]);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, list, sets @ ..] = arguments.as_slice() else {
        return Err("usage: quality DATA_FOLDER CONFIGURATIONS [SET...]".into());
    };
    let configurations = configurations(Path::new(list))?;
    println!(
        "set,configuration,k,check,exact,near,grey,wrong,precision,recall_near,recall_low,recall_high,recall_exact,fullest_key"
    );
    for name in SETS
        .iter()
        .filter(|name| sets.is_empty() || sets.iter().any(|s| s == *name))
    {
        let Some(set) = Set::read(Path::new(folder), name)? else {
            continue;
        };
        for configuration in &configurations {
            run(&set, configuration)?;
        }
    }
    Ok(())
}

//! `records FOLDER OUT`: how well fingerprints find the records that mean the same person, on the
//! made sets febrl2 and febrl3 in FOLDER (5,000 records each, with typing errors). What there is to
//! choose is chosen on febrl2, and measured on both. Leaves records.md in the folder OUT.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use simhash_fingerprint::hash::Width;
use simhash_fingerprint::options::grammar::parse_row;
use simhash_fingerprint::options::plan::{self, ColumnPlan, Field};
use simhash_fingerprint::options::presets;
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::jaccard;
use simhash_fingerprint::sketch::{Content, Sketch};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The set on which everything is chosen stands first.
const FILES: [&str; 2] = ["dataset2.csv", "dataset3.csv"];
/// A fingerprint is a random projection: each figure is the mean of so many, of columns of other
/// names.
const DRAWS: usize = 16;

const ALL: [&str; 10] = [
    "given_name",
    "surname",
    "street_number",
    "address_1",
    "address_2",
    "suburb",
    "postcode",
    "state",
    "date_of_birth",
    "soc_sec_id",
];
/// Columns that say more count more. Chosen on febrl2.
const WEIGHTS: [(&str, f64); 3] = [("state", 0.5), ("date_of_birth", 2.0), ("soc_sec_id", 2.0)];

/// The groups of columns of a pattern, each with a fingerprint of its own.
type Groups = &'static [&'static [&'static str]];
const NAMES: &[&str] = &["given_name", "surname"];
const ADDRESS: &[&str] = &[
    "street_number",
    "address_1",
    "address_2",
    "suburb",
    "postcode",
];
const PATTERNS: [(&str, Groups); 3] = [
    ("names, address", &[NAMES, ADDRESS]),
    (
        "names, numbers, address",
        &[NAMES, &["date_of_birth", "soc_sec_id"], ADDRESS],
    ),
    (
        "names, birth date, number, address",
        &[NAMES, &["date_of_birth"], &["soc_sec_id"], ADDRESS],
    ),
];
const RADII: [u32; 6] = [0, 3, 6, 8, 10, 12];
/// Length of the n-grams of which the check counts the common ones, as simhash_record_pattern has it.
const NGRAM: usize = 3;

struct Records {
    /// By the order of [`ALL`].
    rows: Vec<Vec<String>>,
    /// Whom a record is about.
    persons: Vec<u32>,
    /// How many pairs mean the same person.
    pairs: f64,
}

impl Records {
    fn read(folder: &Path, file: &str) -> Outcome<Self> {
        let path = folder.join(file);
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_path(&path)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        let head = reader.headers()?.clone();
        let columns = ALL.map(|column| head.iter().position(|h| h == column));
        let columns: Option<Vec<usize>> = columns.into_iter().collect();
        let columns = columns.ok_or_else(|| format!("{}: a column is missing", path.display()))?;
        let (mut rows, mut persons) = (Vec::new(), Vec::new());
        for record in reader.records() {
            let record = record?;
            // rec-552-dup-3 is a copy of rec-552-org.
            let person = record[0].split('-').nth(1).ok_or("no number in rec_id")?;
            persons.push(person.parse()?);
            rows.push(columns.iter().map(|&i| record[i].to_owned()).collect());
        }
        let mut sizes: HashMap<u32, f64> = HashMap::new();
        for &person in &persons {
            *sizes.entry(person).or_default() += 1.0;
        }
        Ok(Records {
            rows,
            persons,
            pairs: sizes.values().map(|n| n * (n - 1.0) / 2.0).sum(),
        })
    }

    fn is_pair(&self, a: usize, b: usize) -> bool {
        self.persons[a] == self.persons[b]
    }

    /// The fingerprints of some columns, under names that belong to the draw.
    fn fingerprints(
        &self,
        preset: &str,
        columns: &[(&str, f64)],
        draw: usize,
    ) -> Outcome<Vec<Option<u64>>> {
        let plans = plans(preset, columns, draw)?;
        let fields = columns.iter().map(|(name, _)| place(name));
        let fields: Vec<usize> = fields.collect::<Outcome<_>>()?;
        let mut sketch = Sketch::<1>::new(Width::W64);
        let row = |row: &Vec<String>| {
            sketch.begin();
            for plan in &plans {
                let text = &row[fields[plan.field]];
                sketch.column(plan, Content::Text(text), &mut || {})?;
            }
            Ok(sketch.fingerprint().map(|[bits]| bits))
        };
        self.rows.iter().map(row).collect()
    }
}

fn place(column: &str) -> Outcome<usize> {
    let place = ALL.iter().position(|name| *name == column);
    Ok(place.ok_or_else(|| format!("no column {column}"))?)
}

fn plans(preset: &str, columns: &[(&str, f64)], draw: usize) -> Outcome<Vec<ColumnPlan>> {
    let name = |column: &str| format!("{draw} {column}");
    let fields: Vec<Field> = (columns.iter())
        .map(|(column, _)| Field {
            name: name(column),
            generated: false,
        })
        .collect();
    let weights: Vec<String> = (columns.iter())
        .map(|(column, weight)| format!("\"{}\": {weight}", name(column)))
        .collect();
    let options = parse_row(&format!("{{{}}}", weights.join(", ")), &mut || {})?;
    Ok(plan::row(presets::find(Some(preset))?, &options, &fields)?)
}

fn equal(columns: &[&'static str]) -> Vec<(&'static str, f64)> {
    columns.iter().map(|&column| (column, 1.0)).collect()
}

/// Calls `found` with every pair of rows within the radius.
fn pairs(fingerprints: &[Option<u64>], radius: u32, found: &mut dyn FnMut(usize, usize, u32)) {
    let rows: Vec<(usize, u64)> = (fingerprints.iter().enumerate())
        .filter_map(|(row, fingerprint)| Some((row, (*fingerprint)?)))
        .collect();
    for (i, &(a, first)) in rows.iter().enumerate() {
        for &(b, second) in &rows[i + 1..] {
            let distance = (first ^ second).count_ones();
            if distance <= radius {
                found(a, b, distance);
            }
        }
    }
}

/// Means over the draws.
#[derive(Clone, Copy, Default)]
struct Figures {
    precision: f64,
    recall: f64,
    f: f64,
    candidates: f64,
}

impl Figures {
    /// Of `right` pairs among `found`, of candidates.
    fn add(&mut self, records: &Records, right: f64, found: f64, candidates: f64) {
        let share = 1.0 / DRAWS as f64;
        let precision = if found > 0.0 { right / found } else { 1.0 };
        self.precision += precision * share;
        self.recall += right / records.pairs * share;
        // The harmonic mean of precision and recall.
        self.f += 2.0 * right / (found + records.pairs) * share;
        self.candidates += candidates * share;
    }
}

fn best<T: Copy>(all: impl Iterator<Item = (T, Figures)>) -> Outcome<T> {
    let best = all.max_by(|(_, a), (_, b)| a.f.total_cmp(&b.f));
    Ok(best.ok_or("nothing to choose from")?.0)
}

/// One fingerprint of all columns, by radius.
fn one(records: &Records, preset: &str, columns: &[(&str, f64)]) -> Outcome<[Figures; 65]> {
    let mut by_radius = [Figures::default(); 65];
    for draw in 0..DRAWS {
        let fingerprints = records.fingerprints(preset, columns, draw)?;
        let (mut all, mut right) = ([0u32; 65], [0u32; 65]);
        pairs(&fingerprints, 64, &mut |a, b, distance| {
            all[distance as usize] += 1;
            right[distance as usize] += u32::from(records.is_pair(a, b));
        });
        let (mut found, mut true_ones) = (0.0, 0.0);
        for (figures, (all, right)) in by_radius.iter_mut().zip(all.iter().zip(right)) {
            found += f64::from(*all);
            true_ones += f64::from(right);
            figures.add(records, true_ones, found, found);
        }
    }
    Ok(by_radius)
}

/// A pair that a pattern finds.
struct Candidate {
    /// The least of its fingerprints.
    distance: u32,
    similarity: f64,
    is_pair: bool,
}

/// The Jaccard similarity of two records; 0 if neither has a letter.
fn similarity(a: &Letters, b: &Letters) -> f64 {
    jaccard(a, b, NGRAM).ok().flatten().unwrap_or(0.0)
}

/// What the check compares, of each record.
fn checked(records: &Records, groups: Groups) -> Outcome<Vec<Letters>> {
    let mut fields: Vec<usize> = Vec::new();
    for column in groups.concat() {
        fields.push(place(column)?);
    }
    let text = |row: &Vec<String>| -> String {
        let texts: Vec<&str> = fields.iter().map(|&i| row[i].as_str()).collect();
        texts.join(" ")
    };
    let letters = |row| Ok(Letters::new(&text(row), &mut || {})?);
    records.rows.iter().map(letters).collect()
}

/// All pairs that one of the groups' fingerprints finds within the radius.
fn candidates(
    records: &Records,
    groups: Groups,
    radius: u32,
    draw: usize,
) -> Outcome<Vec<Candidate>> {
    let mut least: HashMap<(usize, usize), u32> = HashMap::new();
    for group in groups {
        let fingerprints = records.fingerprints("record", &equal(group), draw)?;
        pairs(&fingerprints, radius, &mut |a, b, distance| {
            let known = least.entry((a, b)).or_insert(distance);
            *known = distance.min(*known);
        });
    }
    let letters = checked(records, groups)?;
    let candidate = |((a, b), distance): ((usize, usize), u32)| Candidate {
        distance,
        similarity: similarity(&letters[a], &letters[b]),
        is_pair: records.is_pair(a, b),
    };
    Ok(least.into_iter().map(candidate).collect())
}

/// The candidates of every draw.
type Drawn = Vec<Vec<Candidate>>;

fn drawn(records: &Records, groups: Groups) -> Outcome<Drawn> {
    let most = RADII[RADII.len() - 1];
    let draws = (0..DRAWS).map(|draw| candidates(records, groups, most, draw));
    draws.collect()
}

/// What is left of the candidates within a radius that are as similar as the check asks for.
fn check(records: &Records, drawn: &Drawn, radius: u32, least: f64) -> Figures {
    let mut figures = Figures::default();
    for candidates in drawn {
        let (mut all, mut found, mut right) = (0.0, 0.0, 0.0);
        for candidate in candidates.iter().filter(|c| c.distance <= radius) {
            all += 1.0;
            if candidate.similarity >= least {
                found += 1.0;
                right += f64::from(u8::from(candidate.is_pair));
            }
        }
        figures.add(records, right, found, all);
    }
    figures
}

/// The candidates of plain equality: the same text in every column of a group. Their n-grams are
/// those of the pattern.
fn of_equal_columns(records: &Records, groups: Groups) -> Outcome<Drawn> {
    let mut found = HashSet::new();
    for group in groups {
        let fields: Vec<usize> = group.iter().map(|c| place(c)).collect::<Outcome<_>>()?;
        let mut blocks: HashMap<Vec<&str>, Vec<usize>> = HashMap::new();
        for (i, row) in records.rows.iter().enumerate() {
            let key: Vec<&str> = fields.iter().map(|&field| row[field].as_str()).collect();
            if key.iter().all(|text| !text.is_empty()) {
                blocks.entry(key).or_default().push(i);
            }
        }
        for block in blocks.values() {
            for (i, &a) in block.iter().enumerate() {
                found.extend(block[i + 1..].iter().map(|&b| (a, b)));
            }
        }
    }
    let letters = checked(records, groups)?;
    let candidates = || {
        let candidate = |&(a, b): &(usize, usize)| Candidate {
            distance: 0,
            similarity: similarity(&letters[a], &letters[b]),
            is_pair: records.is_pair(a, b),
        };
        found.iter().map(candidate).collect()
    };
    Ok((0..DRAWS).map(|_| candidates()).collect())
}

fn figures(f: &Figures) -> String {
    let share = |value: f64| format!("{value:.3}").trim_start_matches('0').to_owned();
    format!(
        "{} / {} | {}",
        share(f.precision),
        share(f.recall),
        share(f.f)
    )
}

const SETS_OF_A_LINE: &str = "febrl2 precision / recall | F | febrl3 precision / recall | F";

fn one_table(text: &mut String, sets: &[Records; 2]) -> Outcome<()> {
    let weighted = ALL.map(|column| {
        let own = WEIGHTS.iter().find(|(name, _)| *name == column);
        (column, own.map_or(1.0, |(_, weight)| *weight))
    });
    writeln!(
        text,
        "| one fingerprint, preset | radius | {SETS_OF_A_LINE} |"
    )?;
    writeln!(text, "|---|---|---|---|---|---|")?;
    for (label, preset, columns) in [
        ("`words`", "words", equal(&ALL)),
        ("`minwise`", "minwise", equal(&ALL)),
        ("`record`", "record", equal(&ALL)),
        ("`record`, weights", "record", weighted.to_vec()),
    ] {
        let [first, second] = [&sets[0], &sets[1]].map(|set| one(set, preset, &columns));
        let (first, second) = (first?, second?);
        let radius = best(first.iter().copied().enumerate())?;
        let [first, second] = [figures(&first[radius]), figures(&second[radius])];
        writeln!(text, "| {label} | {radius} | {first} | {second} |")?;
    }
    Ok(())
}

fn line(
    text: &mut String,
    sets: &[Records; 2],
    label: &str,
    drawn: &[Drawn; 2],
    radius: u32,
) -> Outcome<()> {
    let thresholds = (10..70).map(|percent| f64::from(percent) / 100.0);
    let least = best(thresholds.map(|t| (t, check(&sets[0], &drawn[0], radius, t))))?;
    let [first, second] = [0, 1].map(|i| check(&sets[i], &drawn[i], radius, least));
    writeln!(
        text,
        "| {label} | {least:.2} | {} | {} | {:.0}, {:.0} |",
        figures(&first),
        figures(&second),
        first.candidates,
        second.candidates
    )?;
    Ok(())
}

fn pattern_table(text: &mut String, sets: &[Records; 2]) -> Outcome<()> {
    for (name, groups) in PATTERNS {
        let both = |find: fn(&Records, Groups) -> Outcome<Drawn>| -> Outcome<[Drawn; 2]> {
            Ok([find(&sets[0], groups)?, find(&sets[1], groups)?])
        };
        let head = format!("{} fingerprints: {name}", groups.len());
        writeln!(text, "\n| {head} | check | {SETS_OF_A_LINE} | candidates |")?;
        writeln!(text, "|---|---|---|---|---|---|---|")?;
        let equal = both(of_equal_columns)?;
        line(text, sets, "none: equal columns", &equal, 0)?;
        let found = both(drawn)?;
        for radius in RADII {
            line(text, sets, &format!("radius {radius}"), &found, radius)?;
        }
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, out] = arguments.as_slice() else {
        return Err("usage: records FOLDER OUT_FOLDER".into());
    };
    let read = |file| Records::read(Path::new(folder), file);
    let [first, second] = FILES.map(read);
    let sets = [first?, second?];
    let mut text = String::from("\n");
    one_table(&mut text, &sets)?;
    pattern_table(&mut text, &sets)?;
    std::fs::write(Path::new(out).join("records.md"), text)?;
    Ok(())
}

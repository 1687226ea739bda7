//! How fast texts become fingerprints. `text rows DATA OUT` writes the rows as files in the format
//! of COPY, `text measure OUT` times one round over them, `text hashes OUT` the feature hashes, and
//! `text table OUT` makes tables of the medians. Measurements are lines `rows,what,microseconds a
//! row,megabytes a second`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::hash::{FeatureHash, Width};
use simhash_fingerprint::options::grammar::parse_text;
use simhash_fingerprint::options::plan::{self, ColumnPlan};
use simhash_fingerprint::options::presets;
use simhash_fingerprint::text::normal::for_each_chunk;
use simhash_fingerprint::text::words::{dictionary, for_each_word};
use simhash_fingerprint::warm;

type Outcome<T> = Result<T, Box<dyn Error>>;

const SETS: [&str; 4] = ["zh_short", "zh_long", "en_short", "en_long"];
/// Fingerprints that are timed: name, preset and options.
const FINGERPRINTS: [(&str, &str, &str); 5] = [
    ("simhash64 words", "words", "{}"),
    ("simhash64 minwise", "minwise", "{}"),
    ("simhash64 minwise by tf", "minwise", r#"{"tf": "log"}"#),
    ("simhash64 shingles", "shingles", "{}"),
    ("simhash64 adaptive", "adaptive", "{}"),
];
/// A slow peer has to finish, too.
const MOST_ROWS: usize = 2000;
/// Short rows in a long one.
const JOINED: usize = 20;
/// Each measure of a round has so long for its passes over the rows.
const SECONDS: f64 = 0.7;
/// The last row of S0's Table 2 has this number of rows.
const HASHED_ROWS: usize = 30_000;
const HASH_ROUNDS: usize = 5;

/// The texts of the first file that is there, on one line each.
fn texts(data: &Path, names: &[&str]) -> Outcome<Vec<String>> {
    let paths = names.iter().map(|name| data.join(format!("{name}.csv.gz")));
    let Some(path) = paths.into_iter().find(|path| path.exists()) else {
        return Ok(Vec::new());
    };
    let mut reader = csv::Reader::from_reader(GzDecoder::new(fs::File::open(&path)?));
    let column = reader.headers()?.iter().position(|h| h == "text");
    let column = column.ok_or("no column text")?;
    let one_line = |text: &str| {
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || c == '\\')
            .collect();
        words.join(" ")
    };
    let records = reader.records();
    records
        .map(|record| Ok(one_line(&record?[column])))
        .collect()
}

fn write_rows(data: &Path, out: &Path) -> Outcome<()> {
    let chinese = texts(data, &["debian_desc_zh_dev", "debian_desc_zh"])?;
    let english = texts(data, &["debian_desc_dev"])?;
    let manual = texts(data, &["manpages_zh_dev"])?;
    for (rows, short, long) in [
        (&chinese, "zh_short", "zh_long"),
        (&english, "en_short", "en_long"),
    ] {
        if rows.is_empty() {
            continue;
        }
        let rows = &rows[..rows.len().min(MOST_ROWS)];
        fs::write(out.join(format!("{short}.rows")), rows.join("\n") + "\n")?;
        let joined: Vec<String> = rows.chunks(JOINED).map(|rows| rows.join(" ")).collect();
        fs::write(out.join(format!("{long}.rows")), joined.join("\n") + "\n")?;
    }
    // Pieces of long pages, so that there are enough rows.
    let pieces = manual.iter().flat_map(|page| {
        let letters: Vec<char> = page.chars().collect();
        let pieces = letters
            .chunks(200)
            .map(|piece| piece.iter().collect::<String>());
        pieces.collect::<Vec<_>>()
    });
    let all: Vec<String> = chinese.into_iter().chain(english).chain(pieces).collect();
    fs::write(out.join("hashes.rows"), all.join("\n") + "\n")?;
    Ok(())
}

fn read_rows(out: &Path, name: &str) -> Outcome<Vec<String>> {
    let path = out.join(format!("{name}.rows"));
    if !path.exists() {
        return Ok(Vec::new());
    }
    Ok(fs::read_to_string(path)?
        .lines()
        .map(str::to_owned)
        .collect())
}

/// Processor time of this thread so far: on a shared machine a clock on the wall tells what others
/// do.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time` alone; this clock exists wherever PostgreSQL does.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Seconds of processor time that the fastest pass of each call takes, all in turns: what else the
/// machine does only ever makes a pass slower, and one that is short is spared now and then.
fn fastest(calls: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let start = Instant::now();
    let mut fastest = vec![f64::MAX; calls.len()];
    while start.elapsed().as_secs_f64() < SECONDS * calls.len() as f64 {
        for (call, fastest) in calls.iter_mut().zip(&mut fastest) {
            let start = processor_time();
            call();
            *fastest = fastest.min((processor_time() - start).as_secs_f64());
        }
    }
    fastest
}

fn text_plan(preset: &str, options: &str) -> Outcome<ColumnPlan> {
    Ok(plan::text(
        presets::find(Some(preset))?,
        &parse_text(options, &mut || {})?,
    )?)
}

fn fingerprint_all(plan: &ColumnPlan, rows: &[String]) {
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    for row in rows {
        builder.begin();
        // Natural text has no error but want of memory.
        let _ = builder.column(plan, Content::Text(row), &mut || {});
        black_box(builder.fingerprint());
    }
}

fn cut_all(rows: &[String], word: &mut dyn FnMut(&str)) {
    let mut buffer = String::new();
    for row in rows {
        for_each_chunk(row, &mut buffer, &mut || {}, &mut |chunk| {
            for_each_word(chunk, None, false, &mut |w, _| word(w));
        });
    }
}

fn measure(out: &Path) -> Outcome<()> {
    warm();
    let plan = |&(name, preset, options)| Ok((name, text_plan(preset, options)?));
    let plans: Vec<(&str, ColumnPlan)> = FINGERPRINTS.iter().map(plan).collect::<Outcome<_>>()?;
    for name in SETS {
        let rows = read_rows(out, name)?;
        if rows.is_empty() {
            continue;
        }
        let jieba = || {
            for row in &rows {
                black_box(dictionary().cut(row, true));
            }
        };
        let cutting = || cut_all(&rows, &mut |word| _ = black_box(word));
        let mut names = vec!["jieba-rs alone", "cutting alone"];
        let mut calls: Vec<Box<dyn FnMut() + '_>> = vec![Box::new(jieba), Box::new(cutting)];
        for (name, plan) in &plans {
            names.push(name);
            calls.push(Box::new(|| fingerprint_all(plan, &rows)));
        }
        let bytes: usize = rows.iter().map(String::len).sum();
        for (what, seconds) in names.iter().zip(fastest(&mut calls)) {
            let each = 1e6 * seconds / rows.len() as f64;
            println!(
                "{name},{what},{each:.3},{:.3}",
                bytes as f64 / 1e6 / seconds
            );
        }
    }
    Ok(())
}

/// Total time of a fingerprint by each hash, and that of hashing its features alone.
fn hashes(out: &Path) -> Outcome<()> {
    warm();
    let different = read_rows(out, "hashes")?;
    let rows: Vec<String> = different
        .iter()
        .cycle()
        .take(HASHED_ROWS)
        .cloned()
        .collect();
    let (mut features, mut ends) = (String::new(), Vec::new());
    cut_all(&rows, &mut |word| {
        features.push_str(word);
        ends.push(features.len());
    });
    eprintln!(
        "{} rows, {} of them different, {} words",
        rows.len(),
        different.len(),
        ends.len()
    );
    for _ in 0..HASH_ROUNDS {
        for (name, hash) in FeatureHash::NAMES {
            let plan = text_plan("words", &format!("{{\"hash\": \"{name}\"}}"))?;
            let total = || fingerprint_all(&plan, &rows);
            let alone = || {
                let mut from = 0;
                for &end in &ends {
                    black_box(hash.hash(Width::W64, &features.as_bytes()[from..end]));
                    from = end;
                }
            };
            let seconds = fastest(&mut [Box::new(total), Box::new(alone)]);
            println!("{name},{:.2},{:.2}", 1e3 * seconds[0], 1e3 * seconds[1]);
        }
    }
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The medians of lines `KEY,number,number`, in the order in which the keys first came.
fn medians(lines: &str, keys: usize) -> Vec<(Vec<&str>, [f64; 2])> {
    let mut order: Vec<Vec<&str>> = Vec::new();
    let mut values: BTreeMap<Vec<&str>, [Vec<f64>; 2]> = BTreeMap::new();
    for line in lines.lines() {
        let parts: Vec<&str> = line.split(',').collect();
        let (key, numbers) = parts.split_at(keys.min(parts.len()));
        let [Ok(a), Ok(b)] = [0, 1].map(|i| numbers.get(i).unwrap_or(&"").parse()) else {
            continue;
        };
        if !order.contains(&key.to_vec()) {
            order.push(key.to_vec());
        }
        let known = values.entry(key.to_vec()).or_default();
        known[0].push(a);
        known[1].push(b);
    }
    order
        .into_iter()
        .filter_map(|key| {
            let [mut a, mut b] = values.remove(&key)?;
            Some((key, [median(&mut a), median(&mut b)]))
        })
        .collect()
}

/// Medians of [`measure`], by set and what was measured: microseconds a row, megabytes a second.
type Medians<'m> = [(Vec<&'m str>, [f64; 2])];

/// A row's time in one way, relative to that in another.
fn ratio(found: &Medians, key: &[&str], other: &str) -> f64 {
    let time = |key: &[&str]| {
        found
            .iter()
            .find(|f| f.0 == key)
            .map_or(f64::NAN, |f| f.1[0])
    };
    time(key) / time(&[key[0], other])
}

fn table(out: &Path) -> Outcome<()> {
    let lines = fs::read_to_string(out.join("text.csv"))?;
    let found = medians(&lines, 2);
    let mut text = "| rows | measured | rows a second | MB a second | time relative to cutting \
        | time relative to the default |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for (key, [each, rate]) in &found {
        let default = match key[1].starts_with("SQL") {
            true => "SQL default",
            false => FINGERPRINTS[0].0,
        };
        writeln!(
            text,
            "| {} | {} | {:.0} | {rate:.2} | {:.2} | {:.2} |",
            key[0],
            key[1],
            1e6 / each,
            ratio(&found, key, "cutting alone"),
            ratio(&found, key, default)
        )?;
    }
    text += "\n| hash | fingerprints of 30,000 rows, ms | hashing alone, ms |\n|---|---|---|\n";
    let lines = fs::read_to_string(out.join("hashes.csv"))?;
    for (key, [total, alone]) in medians(&lines, 1) {
        writeln!(text, "| `{}` | {total:.0} | {alone:.1} |", key[0])?;
    }
    print!("{text}");
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["rows", data, out] => write_rows(Path::new(data), Path::new(out)),
        ["measure", out] => measure(Path::new(out)),
        ["hashes", out] => hashes(Path::new(out)),
        ["table", out] => table(Path::new(out)),
        _ => Err("usage: text rows DATA OUT | measure OUT | hashes OUT | table OUT".into()),
    }
}

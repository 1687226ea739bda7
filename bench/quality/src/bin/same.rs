//! How long `simhash_same` takes beside `simhash_jaccard`. `bench/text/run.sh` calls `same VERDICTS`, which
//! reads pairs of texts with what a person says of them and prints tables: these pairs, texts of 10 kB,
//! kinds of text by length, and a megabyte that is made to be slow. `--kinds` prints that table alone.
//! Every time is processor time of the fastest of several calls.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use simhash_fingerprint::same::{differences, same};
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::jaccard;
use simhash_fingerprint::text::ngrams::GramLengths;

type Outcome<T> = Result<T, Box<dyn Error>>;
type Pair = (String, String);

/// Bytes of the pairs that are compared as they are: 560 on average.
const BYTES: std::ops::Range<usize> = 300..900;
/// Texts that are joined to one of about 10 kB.
const JOINED: usize = 18;
/// Bytes of a text that is made to be slow.
const CRAFTED: usize = 1 << 20;
const ROUNDS: usize = 40;

/// Processor time of this thread so far: on a shared machine a clock on the wall tells what others do.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time` alone; this clock exists wherever PostgreSQL does.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn fastest(rounds: usize, call: &dyn Fn()) -> f64 {
    let times = (0..rounds).map(|_| {
        let begin = processor_time();
        call();
        (processor_time() - begin).as_secs_f64()
    });
    times.fold(f64::MAX, f64::min)
}

fn is_same(a: &str, b: &str) -> bool {
    same(a, b, &mut || {}).unwrap_or_default()
}

fn similarity(a: &str, b: &str) -> Option<f64> {
    let letters = |text| Letters::new(text, &mut || {});
    let (a, b) = (letters(a).ok()?, letters(b).ok()?);
    jaccard(&a, &b, GramLengths::SHINGLES).ok()?
}

/// The pairs, and whether a person calls them the same.
fn verdicts(path: &str) -> Outcome<Vec<(Pair, bool)>> {
    let mut reader = csv::Reader::from_path(path)?;
    let records = reader.records();
    records
        .map(|record| {
            let record = record?;
            Ok((
                (record[3].to_owned(), record[4].to_owned()),
                &record[5] == "true",
            ))
        })
        .collect()
}

/// Prints a row of the table: mean times, their ratio, and the pair with the largest one.
fn row(name: &str, pairs: &[Pair], rounds: usize) {
    let (mut totals, mut worst) = ([0.0; 2], 0.0_f64);
    for (a, b) in pairs {
        let times = [
            fastest(rounds, &|| _ = black_box(is_same(a, b))),
            fastest(rounds, &|| _ = black_box(similarity(a, b))),
        ];
        worst = worst.max(times[0] / times[1]);
        totals = [totals[0] + times[0], totals[1] + times[1]];
    }
    let count = pairs.len().max(1) as f64;
    let bytes = pairs.iter().map(|(a, _)| a.len()).sum::<usize>() as f64 / count;
    println!(
        "| {name} | {} | {bytes:.0} | {:.1} | {:.1} | {:.2} | {worst:.1} |",
        pairs.len(),
        1e6 * totals[0] / count,
        1e6 * totals[1] / count,
        totals[0] / totals[1]
    );
}

/// Pairs of the two texts of neighbouring rows, which have nothing to do with each other.
fn unlike(pairs: &[Pair]) -> Vec<Pair> {
    let neighbours = pairs.windows(2);
    neighbours
        .map(|pairs| (pairs[0].0.clone(), pairs[1].0.clone()))
        .collect()
}

fn is_equal(pair: &Pair) -> bool {
    differences(&pair.0, &pair.1, &mut || {}).is_ok_and(|found| found.is_empty())
}

fn tables(pairs: Vec<(Pair, bool)>) {
    println!(
        "| pairs | number | bytes | `simhash_same`, µs | `simhash_jaccard`, µs | ratio | worst ratio |\n\
        |---|---:|---:|---:|---:|---:|---:|"
    );
    let long: Vec<&(Pair, bool)> = pairs
        .iter()
        .filter(|pair| BYTES.contains(&pair.0.0.len()))
        .collect();
    let of = |said: bool| {
        long.iter()
            .filter(move |pair| pair.1 == said)
            .map(|pair| pair.0.clone())
    };
    let (equal, near): (Vec<Pair>, Vec<Pair>) = of(true).partition(is_equal);
    let different: Vec<Pair> = of(false).collect();
    row("equal words", &equal, ROUNDS);
    row("the same", &near, ROUNDS);
    row("different", &different, ROUNDS);
    row("unlike", &unlike(&different), ROUNDS);
    let joined = |pairs: &[Pair]| -> Vec<Pair> {
        let texts = pairs.chunks_exact(JOINED);
        let join = |texts: Vec<&str>| texts.join("\n\n");
        texts
            .map(|pairs| {
                (
                    join(pairs.iter().map(|pair| pair.0.as_str()).collect()),
                    join(pairs.iter().map(|pair| pair.1.as_str()).collect()),
                )
            })
            .collect()
    };
    row("10 kB, equal words", &joined(&equal), ROUNDS / 4);
    row("10 kB, the same", &joined(&near), ROUNDS / 4);
    row("10 kB, different", &joined(&different), ROUNDS / 4);
    row("10 kB, unlike", &unlike(&joined(&different)), ROUNDS / 4);
}

/// Lengths of the texts of each kind.
const LENGTHS: [usize; 3] = [60, 600, 10_000];
/// Texts of each kind and length, and bytes for each edit of a near copy.
const TEXTS: usize = 12;
const BYTES_OF_AN_EDIT: usize = 250;
/// Kinds of text that are prose: the script of the pairs of which they are made.
const PROSE: [(&str, &str); 5] = [
    ("English", "en"),
    ("German", "de"),
    ("Russian", "ru"),
    ("Chinese", "zh_hans"),
    ("Japanese", "ja"),
];

/// Sentences of each kind: prose of the pairs, and what a program may write.
fn kinds(path: &str) -> Outcome<Vec<(&'static str, Vec<String>)>> {
    let mut prose = PROSE.map(|(name, _)| (name, Vec::new()));
    for record in csv::Reader::from_path(path)?.records() {
        let record = record?;
        let of_script = PROSE.iter().zip(&mut prose);
        for (_, (_, sentences)) in of_script.filter(|((_, script), _)| *script == &record[2]) {
            sentences.push(record[3].to_owned());
        }
    }
    let made = |sentence: fn(usize) -> String| (0..400).map(sentence).collect::<Vec<_>>();
    let mut kinds = Vec::from(prose);
    kinds.push(("names", made(name)));
    kinds.push(("log lines", made(log_line)));
    kinds.push(("figures and dates", made(figures)));
    Ok(kinds)
}

/// A number that follows from another one and looks random.
fn mixed(n: usize) -> usize {
    let mixed = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as usize
}

fn pick<'t>(n: usize, of: &[&'t str]) -> &'t str {
    of[mixed(n) % of.len()]
}

fn name(n: usize) -> String {
    let first = ["Anna", "Björn", "Chinedu", "Mei", "Fatima", "Jean-Luc"];
    let last = [
        "Okafor", "Schmidt", "Nguyen", "O'Brien", "Kowalska", "da Silva",
    ];
    let of = ["Street", "Lane", "Road"];
    let (first, last) = (pick(n, &first), pick(7 * n + 1, &last));
    let street = [pick(5 * n + 2, &["Mill", "High", "Station"]), pick(n, &of)].join(" ");
    format!("{first} {last}, {} {street}, ", mixed(n) % 200 + 1)
}

fn log_line(n: usize) -> String {
    let level = pick(n, &["INFO", "WARN", "ERROR", "DEBUG"]);
    let what = [
        "connection reset by peer",
        "request served",
        "retrying after timeout",
        "cache miss for key",
    ];
    let what = pick(3 * n + 1, &what);
    let (second, client) = (n % 60, mixed(n) % 250);
    format!(
        "2026-11-{:02}T10:{second:02}:07Z {level} [worker-{}] {what} id={} client=10.0.3.{client} took {} ms\n",
        n % 28 + 1,
        mixed(n) % 16,
        mixed(5 * n) % 100_000,
        mixed(9 * n) % 5000,
    )
}

fn figures(n: usize) -> String {
    let month = pick(n, &["January", "March", "June", "October"]);
    let thing = pick(3 * n + 1, &["apples", "copper wire", "desks", "paper"]);
    format!(
        "On {} {month} 2026 at {}:{:02} pm we sold {} kg of {thing} for €{}.{:02}, {} % more than in {}. ",
        n % 28 + 1,
        n % 12 + 1,
        mixed(n) % 60,
        mixed(n) % 900,
        mixed(3 * n) % 2000,
        mixed(4 * n) % 100,
        mixed(5 * n) % 40,
        1990 + n % 35,
    )
}

/// Texts of about a length, which begin at different sentences.
fn texts(sentences: &[String], length: usize) -> Vec<String> {
    let text = |n: usize| {
        let mut text = String::new();
        let mut at = n * sentences.len() / TEXTS;
        while text.len() < length {
            text.push_str(&sentences[at % sentences.len()]);
            text.push(' ');
            at += 1;
        }
        text.truncate(text.floor_char_boundary(length));
        text
    };
    (0..TEXTS).map(text).collect()
}

/// A copy in which a letter is doubled here and there, and a word left out.
fn near(text: &str) -> String {
    let edits = text.len().div_ceil(BYTES_OF_AN_EDIT);
    let mut near = text.to_owned();
    for n in 0..edits {
        let from = n * text.len() / edits + text.len() / edits / 2;
        let at = near.floor_char_boundary(from.min(near.len().saturating_sub(1)));
        let behind = &near[at..];
        match (n % 2, behind.find(' ')) {
            (1, Some(begin)) if begin < 40 => {
                let begin = at + begin;
                let word = near[begin + 1..].find(' ').map_or(0, |end| end + 1);
                near.replace_range(begin..begin + word, "");
            }
            _ => {
                let letter = behind.find(char::is_alphabetic).unwrap_or_default();
                let doubled = near[at + letter..].chars().next().unwrap_or(' ');
                near.insert(at + letter, doubled);
            }
        }
    }
    near
}

/// Prints the table of kinds, of the rows whose names and bytes hold `wanted`.
fn table_of_kinds(path: &str, wanted: &str) -> Outcome<()> {
    println!(
        "| pairs | number | bytes | `simhash_same`, µs | `simhash_jaccard`, µs | ratio | worst ratio |\n\
        |---|---:|---:|---:|---:|---:|---:|"
    );
    for (kind, sentences) in kinds(path)? {
        for length in LENGTHS {
            let texts = texts(&sentences, length);
            let rounds = (200_000 / length).clamp(20, 400);
            let others = texts.iter().cycle().skip(TEXTS / 2);
            let pairs = |other: &dyn Fn(&str, &str) -> String| -> Vec<Pair> {
                let pairs = texts.iter().zip(others.clone());
                pairs.map(|(a, b)| (a.clone(), other(a, b))).collect()
            };
            let (near, unlike) = (pairs(&|a, _| near(a)), pairs(&|_, b| b.to_owned()));
            for (name, pairs) in [("near", near), ("unlike", unlike)] {
                let name = format!("{kind}, {name}");
                if format!("{name}, {length} ").contains(wanted) {
                    row(&name, &pairs, rounds);
                }
            }
        }
    }
    Ok(())
}

/// Texts made to be slow: repeated words, words that are all alike, one word, letters that are words.
fn crafted() -> Vec<(&'static str, Pair)> {
    let of = |piece: &str| piece.repeat(CRAFTED / piece.len());
    let pairs = [
        ("a b ", "b a a "),
        ("one. two. ", "two. one. "),
        ("x", "y"),
        ("的不", "不了的"),
        ("1 2,3 ", "1 23 "),
        ("<b ", "<i "),
        ("&x?a=", "?&x=a"),
        ("(一", "(1"),
        ("> 1.\n2-\n", "1.\n> a-\n"),
        ("नम", "मन् "),
        ("a'", "b'c'"),
        ("1 234 567", "1.234,5"),
        ("$ 1 ", "$$ 1 "),
    ];
    let mut crafted: Vec<_> = pairs
        .into_iter()
        .map(|(a, b)| (a, (of(a), of(b))))
        .collect();
    let words = |word: &dyn Fn(usize) -> String| (0..CRAFTED / 10).map(word).collect::<String>();
    crafted.push((
        "numbered words",
        (
            words(&|i| format!("w{i} ")),
            words(&|i| format!("w{} ", 2 * i)),
        ),
    ));
    let typed = |letter: char| {
        move |i: usize| format!("wordwo{letter}{} ", char::from(b'a' + (i * i % 26) as u8))
    };
    crafted.push((
        "words with errors",
        (words(&typed('x')), words(&typed('y'))),
    ));
    crafted
}

/// The longest time between two places where a query could be cancelled, and the whole.
fn pauses(a: &str, b: &str) -> (f64, f64) {
    let (begin, mut last, mut longest) = (processor_time(), processor_time(), 0.0_f64);
    black_box(same(a, b, &mut || {
        longest = longest.max((processor_time() - last).as_secs_f64());
        last = processor_time();
    }))
    .unwrap_or_default();
    let end = processor_time();
    (
        longest.max((end - last).as_secs_f64()),
        (end - begin).as_secs_f64(),
    )
}

fn main() -> Outcome<()> {
    let (flags, files): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|a| a == "--kinds");
    let path = files
        .first()
        .ok_or("usage: same [--kinds] VERDICTS [WANTED]")?;
    if !flags.is_empty() {
        return table_of_kinds(path, files.get(1).map_or("", String::as_str));
    }
    tables(verdicts(path)?);
    println!();
    table_of_kinds(path, "")?;
    println!(
        "\n| crafted texts of 1 MB | `simhash_same`, s | `simhash_jaccard`, s | ratio | without a check for interrupts, s |\n\
        |---|---:|---:|---:|---:|"
    );
    for (name, (a, b)) in crafted() {
        let (longest, whole) = pauses(&a, &b);
        let other = fastest(2, &|| _ = black_box(similarity(&a, &b)));
        let name = name.replace('\n', "\\n");
        println!(
            "| `{name}` | {whole:.2} | {other:.3} | {:.1} | {longest:.2} |",
            whole / other
        );
    }
    Ok(())
}

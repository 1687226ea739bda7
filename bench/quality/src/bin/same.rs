//! How long `simhash_same` takes beside `simhash_jaccard`. `bench/text/run.sh` calls `same VERDICTS`, which
//! reads pairs of texts with what a person says of them and prints a table. Its rows are these pairs,
//! texts that have nothing to do with each other, texts of 10 kB, and a megabyte that is made to be
//! slow; every time is processor time of the fastest of several calls.

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
    let path = std::env::args().nth(1).ok_or("usage: same VERDICTS")?;
    tables(verdicts(&path)?);
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

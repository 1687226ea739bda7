//! `quality DATA_FOLDER CONFIGURATIONS OUT_FOLDER`: precision and recall of fingerprint
//! configurations on labelled text. Leaves quality.csv, quality.md, advice.md
//! and bare.md in the folder OUT.

mod advice;
mod configurations;
mod data;
mod lengths;
mod measure;
mod planted;
mod report;

use std::error::Error;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use configurations::Configuration;
use data::{LabelledSet, PairKind};
use measure::{PairTally, RADII, Skew, TallyByRadius};
use report::{MethodLine, SetReport};

type Outcomes<T> = Result<T, Box<dyn Error>>;

/// In the folder of labelled sets, and the last in this project's own.
const SETS: [&str; 9] = [
    "petition_all_dev",
    "shangluo_mailbox_dev",
    "debian_desc_dev",
    "debian_desc_zh_dev",
    "reuters21578_dev",
    "zh_reviews_dev",
    "minhash_articles2500_dev",
    "manpages_zh_dev",
    "debian_desc_zh",
];
/// Near-copies are planted in the first of these that is there.
const PLANTED_IN: [&str; 2] = ["petition_all_dev", "debian_desc_zh"];
const PLANTED: [&str; 10] = [
    "words", "minwise", "adaptive", "shingles", "plain", "s0", "s2", "s2_idf", "s3", "s3_idf",
];
/// Longer and shorter texts are made of these.
const LENGTHS_OF: [&str; 3] = [
    "petition_all_dev",
    "minhash_articles2500_dev",
    "debian_desc_zh",
];
/// Sets with fewer near pairs only inform.
pub const ENOUGH: f64 = 50.0;

const PLANTED_DRAWS: usize = 2;

fn lines_of(
    set: &LabelledSet,
    name: &str,
    k: u32,
    tally: &PairTally,
    skew: Skew,
) -> [MethodLine; 2] {
    [false, true].map(|check| MethodLine {
        set: set.name.clone(),
        method: name.to_owned(),
        k,
        measure: tally.result(set, check),
        skew,
    })
}

fn configuration(
    set: &LabelledSet,
    configuration: &Configuration,
    draws: usize,
) -> Outcomes<Vec<MethodLine>> {
    let (mut outcome, mut skew) = (TallyByRadius::new(set, draws), Skew::default());
    let share = 1.0 / draws as f64;
    for draw in 0..draws {
        let fingerprints = configuration.fingerprints(set, draw)?;
        outcome.add(set, draw, &fingerprints);
        let one = Skew::measure(&fingerprints);
        skew.fullest += one.fullest * share;
        skew.load += one.load * share;
    }
    let lines = |(tally, &k)| lines_of(set, &configuration.name, k, tally, skew);
    Ok(outcome.0.iter().zip(&RADII).flat_map(lines).collect())
}

/// Runs the jobs on all processors; their results in their order.
fn in_parallel<T: Send>(
    jobs: usize,
    job: impl Fn(usize) -> Outcomes<T> + Sync,
) -> Outcomes<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        if i >= jobs {
            return;
        }
        let result = job(i).map_err(|e| e.to_string());
        if let Ok(mut done) = done.lock() {
            done.push((i, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().map_err(|_| "a measurement panicked")?;
    done.sort_by_key(|(i, _)| *i);
    Ok(done
        .into_iter()
        .map(|(_, result)| result)
        .collect::<Result<_, _>>()?)
}

/// Everything that is measured on a set.
fn section(set: &LabelledSet, list: &[&Configuration], planted: bool) -> Outcomes<SetReport> {
    let lines = in_parallel(list.len(), |i| {
        let one = list[i];
        configuration(set, one, if planted { PLANTED_DRAWS } else { one.draws })
    })?;
    Ok(SetReport {
        set: set.name.clone(),
        rows: set.texts.len(),
        near: set.count(PairKind::Near),
        exact: set.count(PairKind::Exact),
        lines: lines.into_iter().flatten().collect(),
    })
}

fn main() -> Outcomes<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, list, out] = arguments.as_slice() else {
        return Err("usage: quality DATA_FOLDER CONFIGURATIONS OUT_FOLDER".into());
    };
    let list = configurations::read(Path::new(list))?;
    let (mut sections, mut planted, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for name in SETS {
        let Some(set) = LabelledSet::read(Path::new(folder), name)? else {
            continue;
        };
        let fitting: Vec<&Configuration> = list.iter().filter(|c| c.fits(&set)).collect();
        sections.push(section(&set, &fitting, false)?);
        if planted.is_empty() && PLANTED_IN.contains(&name) {
            let some: Vec<&Configuration> = (list.iter())
                .filter(|c| PLANTED.contains(&c.name.as_str()))
                .collect();
            for set in planted::sets(&set)? {
                planted.push(section(&set, &some, true)?);
            }
        }
        if LENGTHS_OF.contains(&name) {
            lengths.extend(lengths::measure(&set)?);
        }
        eprintln!("{name}: measured");
    }
    report::write(Path::new(out), &sections, &planted, &lengths)?;
    advice::write(Path::new(out), &sections)
}

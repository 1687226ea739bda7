//! `speed model OUT_FOLDER`: what the index costs at sizes that no machine here holds, up to a
//! billion rows. Leaves are simulated, not stored: of evenly spread fingerprints each leaf of a key
//! space holds the same share of it, so the search plan itself (`probe::choose`,
//! `probe::next_in_ball`) tells which leaves a query visits. docs/scaling.md says what comes out,
//! and how far it agrees with measurements.

use std::fmt::Write;
use std::path::Path;

use simhash_hamming::page::format::Format;
use simhash_hamming::page::{internal, leaf};
use simhash_hamming::search::directory::Directory;
use simhash_hamming::search::key_counts::ScopeCounts;
use simhash_hamming::search::probe::{
    KeyCounts, MAX_PROBED_RADIUS, Radii, choose, next_in_ball, radii, shell_cost, walk_cost,
};

use crate::cells::percentile;
use crate::model_plot;
use crate::pq::Outcome;

const BLOCKS: usize = 4;
const KEYS: f64 = 65536.0;
const PAGE: f64 = 8192.0;
/// How full a build leaves its leaves on average.
const FILL: f64 = 0.9;
/// Slots of a leaf that are searched apart.
const SLOTS: f64 = 32.0;
/// Queries of a size.
const QUERIES: u64 = 20;
/// WAL of an insert whose pages were all logged before, in bytes: measured, splits included.
const WAL_INSERT: f64 = 422.0;
/// Bytes of a page's image: all but the hole in its middle.
const IMAGE: f64 = PAGE * FILL + 120.0;
/// Inserts between two checkpoints, for the table.
const CHECKPOINT: f64 = 1e6;

/// Microseconds: a search, a visited leaf, a compared posting. The first two were fitted to k = 3
/// and k = 8 at 10 M rows, the third is that of probe.rs.
const SEARCH_US: f64 = 4.7;
const VISIT_US: f64 = 0.77;
const POSTING_US: f64 = 0.0007;
/// A random read of one page, which nothing has read ahead: a solid-state disk.
const READ_US: f64 = 100.0;

/// An index over evenly spread fingerprints.
pub struct Index {
    pub rows: f64,
    /// Of one key space.
    pub leaves: f64,
    postings: f64,
}

impl KeyCounts for Index {
    fn leaves(&self, _: usize) -> u64 {
        self.leaves as u64
    }

    fn rows(&self, _: usize, _: u16) -> u64 {
        (self.rows / KEYS).round() as u64
    }
}

/// What searches of one kind cost on average.
#[derive(Default, Clone, Copy)]
pub struct Cost {
    pub leaves: f64,
    pub postings: f64,
}

impl Cost {
    pub fn in_memory(&self) -> f64 {
        SEARCH_US + VISIT_US * self.leaves + POSTING_US * self.postings
    }

    /// Every leaf from the disk, one after the other; internal pages in memory.
    pub fn reading_disk(&self) -> f64 {
        self.in_memory() + READ_US * self.leaves
    }

    fn add(&mut self, more: Cost) {
        self.leaves += more.leaves;
        self.postings += more.postings;
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Task {
    Within(u32),
    /// The ten nearest.
    Nearest,
}

pub const TASKS: [(Task, &str); 3] = [
    (Task::Within(3), "within 3"),
    (Task::Within(8), "within 8"),
    (Task::Nearest, "ten nearest"),
];

/// Pseudo-random numbers (SplitMix64), the same in every run.
fn random(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

fn choices(n: u32, k: u32) -> f64 {
    (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1))
}

impl Index {
    pub fn new(rows: f64) -> Index {
        // A leaf that spans more than 32 keys stores each posting's whole key.
        let narrow = leaf::CAPACITY as f64 * FILL;
        let postings = if narrow * KEYS / rows > 32.0 {
            Format::new(false, true).capacity() as f64 * FILL
        } else {
            narrow
        };
        Index {
            rows,
            leaves: (rows / postings).max(1.0).ceil(),
            postings,
        }
    }

    /// Positions of one key space that a search within `radius`, `within` bits of the key, has to
    /// look at, when the space is cut into equal parts.
    fn parts(&self, parts: f64, query: u64, within: i32, radius: u32) -> f64 {
        let width = (u64::MAX as f64 / parts) as u64;
        let (mut count, mut at) = (0.0, next_in_ball(0, query, within, radius));
        while let Some(position) = at {
            count += 1.0;
            let end = (position / width + 1).checked_mul(width);
            at = end.and_then(|end| next_in_ball(end, query, within, radius));
        }
        count
    }

    fn read(&self, query: u64, b: usize, within: i32, radius: u32) -> Cost {
        let rotated = query.rotate_left(16 * b as u32);
        let slots = self.parts(self.leaves * SLOTS, rotated, within, radius);
        Cost {
            leaves: self.parts(self.leaves, rotated, within, radius),
            postings: slots * self.postings / SLOTS,
        }
    }

    fn within(&self, query: u64, k: u32, radii: &Radii) -> Cost {
        let mut cost = Cost::default();
        for (b, t) in radii.iter().enumerate().filter(|(_, t)| **t >= 0) {
            cost.add(self.read(query, b, *t, k));
        }
        cost
    }

    /// The distance of the tenth nearest of so many rows, for one query: the rings' rows by their
    /// expected number, the last one by chance.
    fn tenth(&self, chance: f64) -> u32 {
        let mut expected = 0.0;
        for ring in 0..64 {
            expected += self.rows * choices(64, ring) / 2f64.powi(64);
            // Ten or more of a Poisson's number.
            let mut term = (-expected).exp();
            let mut fewer = 0.0;
            for n in 0..10 {
                fewer += term;
                term *= expected / f64::from(n + 1);
            }
            if 1.0 - fewer >= chance {
                return ring;
            }
        }
        64
    }

    /// As nearest.rs: passes with horizons, each widening the cheapest block until its rings
    /// suffice.
    fn nearest(&self, query: u64, chance: f64) -> Cost {
        let (last, mut cost) = (self.tenth(chance), Cost::default());
        let share = |k: u32| (0..=k).map(|r| choices(64, r)).sum::<f64>() / 2f64.powi(64);
        let likely = (7..MAX_PROBED_RADIUS)
            .find(|k| share(*k) * self.rows >= 32.0)
            .unwrap_or(MAX_PROBED_RADIUS);
        for horizon in [7, likely, MAX_PROBED_RADIUS] {
            let mut radii: Radii = [-1; BLOCKS];
            for _ in 0..=horizon.min(last) {
                let narrow = (0..BLOCKS).filter(|b| radii[*b] < 3);
                let price = |b: usize| {
                    let key = (query.rotate_left(16 * b as u32) >> 48) as u16;
                    shell_cost(self, b, key, (radii[b] + 1) as usize)
                };
                let cheapest = narrow.map(|b| (price(b), b)).min();
                let Some((_, b)) = cheapest.filter(|c| c.0 < walk_cost(self)) else {
                    cost.add(Cost {
                        leaves: self.leaves,
                        postings: self.rows,
                    });
                    return cost;
                };
                radii[b] += 1;
                cost.add(self.read(query, b, radii[b], horizon));
            }
            if horizon >= last {
                break;
            }
        }
        cost
    }

    /// Of many queries, the mean. Without a directory the radii are even.
    pub fn cost(&self, task: Task, directory: bool) -> Cost {
        let mut sum = Cost::default();
        for n in 0..QUERIES {
            let (query, chance) = (random(n + 1), (n as f64 + 0.5) / QUERIES as f64);
            sum.add(match task {
                Task::Within(k) if directory => self.within(query, k, &choose(query, k, self)),
                Task::Within(k) => self.within(query, k, &radii(k)),
                Task::Nearest => self.nearest(query, chance),
            });
        }
        Cost {
            leaves: sum.leaves / QUERIES as f64,
            postings: sum.postings / QUERIES as f64,
        }
    }

    pub fn bytes(&self) -> f64 {
        let internal = self.leaves / (internal::CAPACITY as f64 * FILL);
        BLOCKS as f64 * (self.leaves + internal) * PAGE
    }

    fn levels(&self) -> u32 {
        let (mut pages, mut levels) = (self.leaves, 1);
        while pages > 1.0 {
            pages = (pages / (internal::CAPACITY as f64 * FILL)).ceil();
            levels += 1;
        }
        levels
    }

    fn directory_bytes(&self) -> f64 {
        let blocks = BLOCKS as f64 * self.leaves;
        let pages = blocks / (internal::CAPACITY as f64 * FILL);
        (Directory::size_for(pages as usize, (blocks + pages) as usize) + ScopeCounts::SIZE) as f64
    }

    /// WAL of one insert among `between` between two checkpoints: the first change of each leaf
    /// logs the leaf.
    pub fn wal(&self, between: f64) -> f64 {
        let leaves = BLOCKS as f64 * self.leaves * (1.0 - (-between / self.leaves).exp());
        WAL_INSERT + leaves * IMAGE / between
    }
}

/// A measured median of `bench.csv`: rows, task, microseconds.
fn measured(csv: &str) -> Vec<(f64, String, f64)> {
    let fields = |line: &str| -> Option<(f64, String, f64)> {
        let cells: Vec<&str> = line.split(',').map(|f| f.trim_matches('"')).collect();
        let [set, rows, what, peer, k, _, value, ..] = cells[..] else {
            return None;
        };
        let wanted = set == "A" && what == "search" && peer == "simhash";
        wanted.then_some((rows.parse().ok()?, k.to_owned(), value.parse().ok()?))
    };
    csv.lines().filter_map(fields).collect()
}

fn task_of(k: &str) -> Task {
    k.parse().map_or(Task::Nearest, Task::Within)
}

/// Sizes of the table.
const SIZES: [f64; 6] = [1e5, 1e6, 1e7, 1e8, 3e8, 1e9];

fn sizes_table() -> String {
    let mut text = String::from(
        "| rows | leaves a space | levels | index, GB | directory, MB | WAL an insert, bytes |\n|---|---|---|---|---|---|\n",
    );
    for index in SIZES.map(Index::new) {
        let _ = writeln!(
            text,
            "| {:.0e} | {:.0} | {} | {:.3} | {:.1} | {:.0} |",
            index.rows,
            index.leaves,
            index.levels(),
            index.bytes() / 1e9,
            index.directory_bytes() / 1e6,
            index.wal(CHECKPOINT),
        );
    }
    text
}

fn searches_table() -> String {
    let mut text = String::from(
        "| rows | search | leaves | postings | in memory, us | from disk, ms | leaves with even radii |\n|---|---|---|---|---|---|---|\n",
    );
    for index in SIZES.map(Index::new) {
        for (task, name) in TASKS {
            let cost = index.cost(task, true);
            let even = match task {
                Task::Nearest => String::new(),
                _ => format!("{:.0}", index.cost(task, false).leaves),
            };
            let _ = writeln!(
                text,
                "| {:.0e} | {name} | {:.0} | {:.0} | {:.0} | {:.1} | {even} |",
                index.rows,
                cost.leaves,
                cost.postings,
                cost.in_memory(),
                cost.reading_disk() / 1000.0,
            );
        }
    }
    text
}

fn check_table(points: &[(f64, String, f64)]) -> String {
    let mut text = String::from(
        "| rows | search | measured, us | model, us | model / measured |\n|---|---|---|---|---|\n",
    );
    let mut ratios = Vec::new();
    for (rows, k, us) in points {
        let model = Index::new(*rows).cost(task_of(k), true).in_memory();
        let _ = writeln!(
            text,
            "| {rows:.0e} | {k} | {us:.1} | {model:.1} | {:.2} |",
            model / us
        );
        ratios.push(model / us);
    }
    let _ = writeln!(text, "\nmedian ratio {:.2}", percentile(&ratios, 0.5));
    text
}

/// Writes `model.md` and `model.svg`, checked against the measurements in `csv` files.
pub fn run(folder: &str, measurements: &[String]) -> Outcome<bool> {
    let mut points = Vec::new();
    for file in measurements {
        points.extend(measured(&std::fs::read_to_string(file)?));
    }
    let text = format!(
        "{}\n{}\n{}",
        sizes_table(),
        searches_table(),
        check_table(&points)
    );
    std::fs::write(format!("{folder}/model.md"), &text)?;
    model_plot::draw(&Path::new(folder).join("model.svg"), &points)?;
    println!("{text}");
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The oracle: made-up matches. The leaves that hold one must be among those visited, which
    /// must not be more than the keys' own.
    #[test]
    fn visits_cover_every_match() {
        let index = Index::new(300_000.0);
        let width = (u64::MAX as f64 / index.leaves) as u64;
        for n in 1..50 {
            let query = random(n);
            let leaves = index.parts(index.leaves, query, 1, 8);
            let mut holding = std::collections::BTreeSet::new();
            for a in 0..17 {
                for m in 0..2_000u64 {
                    let key = if a == 16 { 0 } else { 1u64 << (48 + a) };
                    let low = 1u64 << (random(m) % 48) | 1u64 << (random(m + 7) % 48);
                    holding.insert((query ^ key ^ low) / width);
                }
            }
            assert!(leaves >= holding.len() as f64, "{leaves} {}", holding.len());
            assert!(leaves <= 17.0 * 3.0);
        }
    }

    #[test]
    fn ten_million_rows_are_as_measured() {
        let index = Index::new(1e7);
        let bytes = index.bytes() / index.rows;
        assert!((54.0..55.0).contains(&bytes), "{bytes}");
        let four = index.cost(Task::Within(3), true).leaves;
        assert!((4.0..6.0).contains(&four), "{four}");
    }

    #[test]
    fn a_checkpoint_costs_what_was_measured() {
        let wal = Index::new(1e7).wal(1e5);
        assert!((4_500.0..6_500.0).contains(&wal), "{wal}");
    }

    #[test]
    fn the_tenth_is_farther_with_fewer_rows() {
        let distances = [1e4, 1e6, 1e8, 1e9].map(|rows| Index::new(rows).tenth(0.5));
        assert!(distances.windows(2).all(|w| w[0] > w[1]), "{distances:?}");
    }
}

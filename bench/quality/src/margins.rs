//! Low-margin bits: how many of the bits that differ they are, and what trying or masking them
//! finds.

use std::error::Error;

use crate::configurations::Configuration;
use crate::data::{Kind, Set};
use crate::measure::{Measure, Tally};

/// How many low-margin bits are looked at.
pub const BITS: [usize; 2] = [4, 8];
const RADIUS: u32 = 3;

/// A fingerprint and its masks, by position in [`BITS`].
type Doubtful = (u64, [u64; BITS.len()]);

/// One way to search within 3 bits.
#[derive(Clone, Copy)]
enum Way {
    Plain,
    /// The query with up to so many of its low-margin bits flipped.
    Probes {
        bits: usize,
        flips: u32,
    },
    /// Without the low-margin bits of both rows.
    Masked {
        bits: usize,
    },
}

const WAYS: [Way; 7] = [
    Way::Plain,
    Way::Probes { bits: 0, flips: 1 },
    Way::Probes { bits: 0, flips: 2 },
    Way::Probes { bits: 1, flips: 1 },
    Way::Probes { bits: 1, flips: 2 },
    Way::Masked { bits: 0 },
    Way::Masked { bits: 1 },
];

impl Way {
    fn name(self) -> String {
        match self {
            Way::Plain => "k = 3".to_owned(),
            Way::Probes { bits, flips } => {
                let n = BITS[bits] as u32;
                let searches = 1 + n + if flips > 1 { n * (n - 1) / 2 } else { 0 };
                format!("probes, n = {n}, {flips} flipped ({searches} searches)")
            }
            Way::Masked { bits } => format!("masked, n = {}", BITS[bits]),
        }
    }

    /// Does `query` find `row`?
    fn finds(self, query: &Doubtful, row: &Doubtful) -> bool {
        let differ = query.0 ^ row.0;
        let left = match self {
            Way::Plain => differ.count_ones(),
            Way::Probes { bits, flips } => {
                // The best probe flips as many of the bits that differ as it may.
                let flipped = (differ & query.1[bits]).count_ones().min(flips);
                differ.count_ones() - flipped
            }
            Way::Masked { bits } => (differ & !(query.1[bits] | row.1[bits])).count_ones(),
        };
        left <= RADIUS
    }
}

/// What the measure of one configuration and set says.
pub struct Margins {
    /// Of the bits in which near pairs differ, the share that is among the low-margin bits of one
    /// of the two rows, and of at least one of them; by position in [`BITS`].
    pub of_one: [f64; BITS.len()],
    pub of_either: [f64; BITS.len()],
    pub ways: Vec<(String, Measure)>,
}

pub fn measure(
    set: &Set,
    configuration: &Configuration,
    draws: usize,
) -> Result<Margins, Box<dyn Error>> {
    let mut tallies: Vec<Tally> = WAYS.iter().map(|_| Tally::new(set, draws)).collect();
    let (mut one, mut either, mut all) = ([0u32; BITS.len()], [0u32; BITS.len()], 0u32);
    for draw in 0..draws {
        let rows = configuration.sketch(set, draw, &|sketch| {
            let [bits] = sketch.fingerprint()?;
            Some((
                bits,
                BITS.map(|n| sketch.margin(n).ok().flatten().unwrap_or(0)),
            ))
        })?;
        all_pairs(set, draw, &rows, &mut tallies);
        for (pair, _) in set.truth.iter().filter(|(_, kind)| **kind == Kind::Near) {
            let (Some(a), Some(b)) = (rows[pair.0 as usize], rows[pair.1 as usize]) else {
                continue;
            };
            let differ = a.0 ^ b.0;
            all += differ.count_ones();
            for i in 0..BITS.len() {
                one[i] += (differ & a.1[i]).count_ones() + (differ & b.1[i]).count_ones();
                either[i] += (differ & (a.1[i] | b.1[i])).count_ones();
            }
        }
    }
    let all = f64::from(all);
    Ok(Margins {
        of_one: one.map(|n| f64::from(n) / 2.0 / all),
        of_either: either.map(|n| f64::from(n) / all),
        ways: (WAYS.iter().zip(&tallies))
            .map(|(way, tally)| (way.name(), tally.result(set, false)))
            .collect(),
    })
}

/// Each row of a pair is the query once.
fn all_pairs(set: &Set, draw: usize, rows: &[Option<Doubtful>], tallies: &mut [Tally]) {
    let rows: Vec<(u32, Doubtful)> = (rows.iter().zip(0..))
        .filter_map(|(doubtful, row)| Some((row, (*doubtful)?)))
        .collect();
    // More than this no way can leave out.
    let most = RADIUS + 2 * BITS[BITS.len() - 1] as u32;
    for (i, (a, first)) in rows.iter().enumerate() {
        for (b, second) in &rows[i + 1..] {
            if (first.0 ^ second.0).count_ones() > most {
                continue;
            }
            for (way, tally) in WAYS.iter().zip(&mut *tallies) {
                for found in [way.finds(first, second), way.finds(second, first)] {
                    if found {
                        tally.add(set, draw, (*a, *b), 0.5);
                    }
                }
            }
        }
    }
}

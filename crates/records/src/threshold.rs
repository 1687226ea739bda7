//! The threshold that is taken if nobody gives one, by how many pairs there are of each similarity.
//! [`super::report`] counts them, the extension asks it once all pairs are compared. It knows no
//! labels: what it takes depends on the similarities alone.
//!
//! Pairs of two things become many fast as similarity falls; pairs of one thing do not. Where the
//! first begin, the logarithm of the number of pairs has a valley, or at least a kink: it is a
//! place farthest below a straight line (the triangle method of Zack, Rogers and Latt 1977). Names and
//! dates that are frequent make other ones, lower down: so one above which nearly each pair is the best
//! of both its rows comes before all others. Of two
//! tables without a clear one, each row has one partner or none: the threshold is where the pairs
//! agree best with those of which each row is the other's best.

use crate::copies::Candidate;
use crate::report::{PARTS, Part};
use simhash_base::bytes::get_u64;
use simhash_base::runs::{Item, Order};

/// Where the line begins and ends, in parts of [`PARTS`]. What is more similar is too few pairs.
const LINE: [usize; 2] = [30, 95];

/// The numbers of pairs are smoothed by a normal distribution of this deviation, in parts.
const SMOOTH: f64 = 5.0;

/// How far below the line a kink is, at least, and a clear one: in logarithms of the number of pairs.
const KINK: f64 = 0.03;
const CLEAR: f64 = 0.7;
/// Kinks that differ by less than this are equally deep: the lower one is taken.
const EQUAL: f64 = 0.1;
/// The share of pairs that are the best of both rows, from which on they are in no groups of several.
const IN_TWOS: f64 = 0.8;

/// What is taken without a reason for another one.
const UNKNOWN: f64 = 0.5;

/// Nothing less similar is taken.
pub const LEAST: f64 = 0.2;

/// Why a threshold is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// Pairs become many below it.
    Kink,
    /// Its pairs agree best with mutual best partners.
    Agreement,
    /// There is no reason for another one.
    Unknown,
}

/// A pair that waits for the threshold.
#[derive(Clone, Copy)]
pub struct Scored {
    /// Two records.
    pub pair: Candidate,
    /// How similar they are, 0 to 1.
    pub similarity: f64,
}

impl Item for Scored {
    const BYTES: usize = Candidate::BYTES + 8;

    fn write(&self, bytes: &mut Vec<u8>) {
        self.pair.write(bytes);
        bytes.extend(self.similarity.to_bits().to_ne_bytes());
    }

    fn read(bytes: &[u8]) -> Self {
        Scored {
            pair: Candidate::read(bytes),
            similarity: f64::from_bits(get_u64(bytes, Candidate::BYTES)),
        }
    }
}

/// By the pair.
pub struct ScoredByPair;

impl Order<Scored> for ScoredByPair {
    type Key = Candidate;

    fn key(&self, scored: &Scored) -> Candidate {
        scored.pair
    }
}

/// Returns the threshold for pairs that are counted in these parts; `has_two` says that they are of two tables.
pub(crate) fn choose(parts: &[Part], has_two: bool) -> (f64, Why) {
    let (below, kink) = kink(parts);
    let at = |part: usize| part as f64 / PARTS as f64;
    match below >= if has_two { CLEAR } else { KINK } {
        true => (at(kink), Why::Kink),
        false => match agreement(parts).filter(|_| has_two) {
            Some(part) => (at(part), Why::Agreement),
            None => (UNKNOWN, Why::Unknown),
        },
    }
}

/// Returns how far below the line a kink is, and its part: the deepest one with pairs in twos, else the deepest.
fn kink(parts: &[Part]) -> (f64, usize) {
    let [first, last] = LINE;
    let below = below_line(parts);
    let is_kink = |at: &usize| {
        let before = below
            .get(at.wrapping_sub(1))
            .is_none_or(|x| *x < below[*at]);
        before && below.get(at + 1).is_none_or(|x| *x <= below[*at])
    };
    let kinks = (0..last - first).filter(is_kink);
    let kinks: Vec<(f64, usize)> = kinks.map(|at| (below[at], first + at)).collect();
    let deepest =
        |kinks: &mut dyn Iterator<Item = (f64, usize)>| kinks.max_by(|a, b| a.0.total_cmp(&b.0));
    let mut in_twos = (kinks.iter().copied())
        .filter(|(below, at)| *below >= KINK && mutual_share(&parts[*at..]) >= IN_TWOS);
    deepest(&mut in_twos).unwrap_or_else(|| {
        let deep = deepest(&mut kinks.iter().copied()).map_or(0.0, |kink| kink.0);
        let lowest = kinks.iter().find(|kink| kink.0 > deep - EQUAL);
        lowest.copied().unwrap_or((0.0, first))
    })
}

/// Returns how far each part of the line is above the smoothed logarithms of the numbers of pairs.
fn below_line(parts: &[Part]) -> Vec<f64> {
    let logarithms: Vec<f64> = (parts.iter().take(PARTS))
        .map(|part| ((part.pairs - part.equal) as f64 + 1.0).ln())
        .collect();
    let smooth = |at: usize| {
        let (mut sum, mut all) = (0.0, 0.0);
        for (i, logarithm) in logarithms.iter().enumerate() {
            let weight = (-0.5 * ((i as f64 - at as f64) / SMOOTH).powi(2)).exp();
            (sum, all) = (sum + weight * logarithm, all + weight);
        }
        sum / all
    };
    let [first, last] = LINE;
    let ends = [smooth(first), smooth(last)];
    let below = |at: usize| {
        let share = (at - first) as f64 / (last - first) as f64;
        ends[0] + (ends[1] - ends[0]) * share - smooth(at)
    };
    (first..=last).map(below).collect()
}

/// Returns which share of pairs is the best of both rows.
fn mutual_share(parts: &[Part]) -> f64 {
    let sum = |count: fn(&Part) -> u64| parts.iter().map(count).sum::<u64>();
    sum(|part| part.mutual) as f64 / sum(|part| part.pairs).max(1) as f64
}

/// Returns from which part on the pairs agree best with all mutual best partners: by the F measure of the two sets.
fn agreement(parts: &[Part]) -> Option<usize> {
    let all: u64 = parts.iter().map(|part| part.mutual).sum();
    let (mut pairs, mut mutual, mut best) = (0, 0, (0.0, None));
    for (at, part) in parts.iter().enumerate().rev() {
        (pairs, mutual) = (pairs + part.pairs, mutual + part.mutual);
        let f = 2.0 * mutual as f64 / (pairs + all).max(1) as f64;
        if f > best.0 && at as f64 >= LEAST * PARTS as f64 {
            best = (f, Some(at));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(pairs: impl Fn(f64) -> f64, mutual: impl Fn(f64) -> f64) -> Vec<Part> {
        let part = |i: usize| Part {
            pairs: pairs(i as f64 / 100.0) as u64,
            mutual: mutual(i as f64 / 100.0) as u64,
            ..Part::default()
        };
        (0..=PARTS).map(part).collect()
    }

    fn hill(s: f64, at: f64, width: f64) -> f64 {
        (-0.5 * ((s - at) / width).powi(2)).exp()
    }

    #[test]
    fn a_valley_and_a_kink_are_found() {
        let people = parts(
            |s| 1e6 * hill(s, 0.2, 0.1) + 100.0 * hill(s, 0.9, 0.08),
            |_| 0.0,
        );
        let (valley, why) = choose(&people, false);
        assert!(
            (0.55..0.7).contains(&valley) && why == Why::Kink,
            "{valley}"
        );
        // No valley: the number of pairs falls fast, then slowly.
        let offers = parts(
            |s| 10f64.powf(9.0 - 12.0 * s.min(0.6) - (s - 0.6).max(0.0)),
            |_| 0.0,
        );
        let (kink, why) = choose(&offers, false);
        assert!((0.55..0.65).contains(&kink) && why == Why::Kink, "{kink}");
        // Thousandfold pairs are thousandfold pairs everywhere.
        assert!(
            (choose(
                &parts(
                    |s| 1e9 * hill(s, 0.2, 0.1) + 1e5 * hill(s, 0.9, 0.08),
                    |_| 0.0
                ),
                false
            )
            .0 - valley)
                .abs()
                < 0.05
        );
    }

    #[test]
    fn a_kink_with_pairs_in_twos_comes_before_a_deeper_one() {
        // Copies at 0.9, neighbours at 0.6, and what is left.
        let pairs = |s: f64| {
            1e5 * hill(s, 0.3, 0.05) + 3e4 * hill(s, 0.55, 0.05) + 300.0 * hill(s, 0.9, 0.05)
        };
        let in_twos = parts(pairs, |s| if s > 0.7 { pairs(s) } else { 0.0 });
        let (upper, why) = choose(&in_twos, false);
        assert!((0.7..0.8).contains(&upper) && why == Why::Kink, "{upper}");
        // Groups of several have the lower of two that are equally deep.
        let two = |s: f64| (12.0 - 8.0 * s - hill(s, 0.45, 0.05) - hill(s, 0.75, 0.05)).exp();
        let lower = choose(&parts(two, |_| 0.0), false).0;
        assert!((0.42..0.48).contains(&lower), "{lower}");
    }

    #[test]
    fn without_a_kink_best_partners_tell() {
        let round = |s: f64| (20.0 - 8.0 * s * s).exp();
        let two = parts(round, |s| if s >= 0.4 { round(s) } else { 0.0 });
        assert_eq!(choose(&two, true), (0.4, Why::Agreement));
        assert_eq!(choose(&two, false), (UNKNOWN, Why::Unknown));
        let none = parts(|_| 0.0, |_| 0.0);
        assert_eq!(choose(&none, true), (UNKNOWN, Why::Unknown));
    }
}

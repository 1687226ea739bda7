//! Rows that have nothing to do with each other: how many of them a search among a million compares
//! and finds, by the length of the texts.

use std::collections::HashSet;
use std::error::Error;
use std::fmt::Write;

use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::options::grammar::parse_text;
use simhash_fingerprint::options::plan;
use simhash_fingerprint::options::presets;

use crate::data::LabelledSet;
use crate::measure::{LinearCongruential, Skew};
use crate::{Outcomes, in_parallel};

const PRESETS: [&str; 3] = ["words", "minwise", "shingles"];
/// Bytes of a made text, and how many are made.
const LENGTHS: [(usize, usize); 4] = [(200, 4000), (2000, 4000), (20_000, 2000), (200_000, 500)];
/// Bytes of the pieces that texts are made of.
const PIECE: usize = 200;
const DRAWS: usize = 2;
const MILLION: f64 = 1e6;
/// The radii that are looked at, each with those of the four blocks that a search reads when no key
/// is hot.
const BLOCK_RADII: [(u32, [u32; 4]); 2] = [(3, [0; 4]), (8, [2, 1, 1, 1])];

/// One preset on texts of one length.
pub struct LengthLine {
    set: String,
    texts: String,
    preset: &'static str,
    found: Unrelated,
}

/// Means of the draws.
#[derive(Default)]
struct Unrelated {
    /// Hamming distance of two rows.
    distance: f64,
    /// The share of the rows that the fullest key has.
    fullest: f64,
    /// By position in [`BLOCK_RADII`], of a million rows those whose block a search compares, and
    /// those that it finds.
    compared: [f64; BLOCK_RADII.len()],
    within: [f64; BLOCK_RADII.len()],
}

impl Unrelated {
    /// Of all pairs of a sample.
    fn add(&mut self, fingerprints: &[Option<u64>], weight: f64) {
        let rows: Vec<u64> = fingerprints.iter().copied().flatten().collect();
        let pairs = rows.len() as f64 * (rows.len() as f64 - 1.0) / 2.0;
        let (mut distances, mut compared, mut within) = (0u64, [0u64; 2], [0u64; 2]);
        for (i, first) in rows.iter().enumerate() {
            for second in &rows[i + 1..] {
                let differ = first ^ second;
                distances += u64::from(differ.count_ones());
                for (i, (k, radii)) in BLOCK_RADII.iter().enumerate() {
                    within[i] += u64::from(differ.count_ones() <= *k);
                    compared[i] += blocks_within(differ, radii);
                }
            }
        }
        self.distance += weight * distances as f64 / pairs;
        self.fullest += weight * Skew::measure(fingerprints).fullest;
        for i in 0..BLOCK_RADII.len() {
            self.compared[i] += weight * MILLION * compared[i] as f64 / pairs;
            self.within[i] += weight * MILLION * within[i] as f64 / pairs;
        }
    }
}

/// In how many of the blocks two fingerprints differ by no more than the block's radius.
fn blocks_within(differ: u64, radii: &[u32; 4]) -> u64 {
    let near = |(block, radius): (usize, &u32)| {
        u64::from((differ >> (16 * block) & 0xffff).count_ones() <= *radius)
    };
    radii.iter().enumerate().map(near).sum()
}

/// The rows as they are, one of each group of duplicates, and made texts of each length.
pub fn measure(set: &LabelledSet) -> Outcomes<Vec<LengthLine>> {
    let single = |row: &(usize, &String)| set.groups[row.0] as usize == row.0;
    let rows = set.texts.iter().enumerate().filter(single);
    let rows: Vec<String> = rows.map(|(_, text)| text.clone()).collect();
    let bytes = rows.iter().map(String::len).sum::<usize>() / rows.len();
    let mut pieces = pieces(&rows);
    let mut samples = vec![(format!("rows, {bytes} on average"), rows)];
    for (bytes, count) in LENGTHS {
        samples.push((bytes.to_string(), texts(&mut pieces, bytes, count)));
    }
    in_parallel(samples.len() * PRESETS.len(), |job| {
        let (texts, rows) = &samples[job / PRESETS.len()];
        let preset = PRESETS[job % PRESETS.len()];
        let mut found = Unrelated::default();
        for draw in 0..DRAWS {
            found.add(&fingerprints(preset, draw, rows)?, 1.0 / DRAWS as f64);
        }
        Ok(LengthLine {
            set: set.name.clone(),
            texts: texts.clone(),
            preset,
            found,
        })
    })
}

/// Different pieces of all rows, cut where a character ends.
fn pieces(rows: &[String]) -> Vec<String> {
    let mut pieces = HashSet::new();
    for row in rows {
        let mut rest = row.as_str();
        while rest.len() >= PIECE {
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(PIECE));
            pieces.insert(piece.to_owned());
            rest = after;
        }
    }
    // In an order that is the same in every run.
    let mut pieces: Vec<String> = pieces.into_iter().collect();
    pieces.sort();
    pieces
}

/// Joins pieces at random. None is in two texts before all have been in one.
fn texts(pieces: &mut [String], bytes: usize, count: usize) -> Vec<String> {
    let (mut random, mut next) = (LinearCongruential(11), pieces.len());
    let mut text = |_| {
        let mut text = String::new();
        while text.len() < bytes {
            if next == pieces.len() {
                shuffle(pieces, &mut random);
                next = 0;
            }
            text.push_str(&pieces[next]);
            text.push(' ');
            next += 1;
        }
        text
    };
    (0..count).map(&mut text).collect()
}

fn shuffle(pieces: &mut [String], random: &mut LinearCongruential) {
    for i in (1..pieces.len()).rev() {
        pieces.swap(i, random.below(i + 1));
    }
}

fn fingerprints(
    preset: &str,
    draw: usize,
    texts: &[String],
) -> Result<Vec<Option<u64>>, Box<dyn Error>> {
    let options = parse_text("{}", &mut || {})?;
    let mut plan = plan::text(presets::find(Some(preset))?, &options)?;
    plan.prefix.extend(draw.to_string().into_bytes());
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    let fingerprint = |text: &String| {
        builder.begin();
        builder.column(&plan, Content::Text(text), &mut || {})?;
        Ok(builder.fingerprint().map(|[bits]| bits))
    };
    texts.iter().map(fingerprint).collect()
}

pub fn table(text: &mut String, lines: &[LengthLine]) -> Outcomes<()> {
    writeln!(
        text,
        "\n## Lengths: table\n\n\
        | set | bytes of a text | preset | distance | fullest key | compared, k = 3 | k = 8 | found, k = 3 | k = 8 |\n\
        |---|---|---|---|---|---|---|---|---|"
    )?;
    for line in lines {
        let Unrelated {
            distance,
            fullest,
            compared,
            within,
        } = &line.found;
        writeln!(
            text,
            "| {} | {} | `{}` | {distance:.1} | {:.2} % | {:.0} | {:.0} | {} | {} |",
            line.set,
            line.texts,
            line.preset,
            100.0 * fullest,
            compared[0],
            compared[1],
            rounded(within[0]),
            rounded(within[1])
        )?;
    }
    Ok(())
}

/// Small numbers have been seen too seldom for a digit after the point.
fn rounded(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        ..1.0 => "< 1".to_owned(),
        _ => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_by_their_own_radius() {
        // Bits 0, 1 and 2 are in the first block, 16 and 17 in the second.
        assert_eq!(blocks_within(0b11 << 16 | 0b111, &[2, 1, 1, 1]), 2);
        assert_eq!(blocks_within(0b1 << 16 | 0b11, &[2, 1, 1, 1]), 4);
        assert_eq!(blocks_within(0b1 << 16, &[0; 4]), 3);
    }

    #[test]
    fn no_piece_is_used_twice_before_all_are_used() {
        let mut pieces: Vec<String> = (0..10).map(|i| i.to_string()).collect();
        let texts = texts(&mut pieces, 4, 5);
        let mut used: Vec<&str> = texts
            .iter()
            .flat_map(|text| text.split_whitespace())
            .collect();
        used.sort();
        assert_eq!(used, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    }
}

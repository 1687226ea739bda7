//! S0's experiment: 300 known near-copies among 5,000 other rows. The rows are those of a real set,
//! the copies are made by edits.

use std::error::Error;

use crate::data::{LabelledSet, PairKind, Truth};
use crate::measure::LinearCongruential;

const OTHERS: usize = 5000;
const COPIES: usize = 300;

/// How a copy differs.
#[derive(Clone, Copy)]
enum Edit {
    /// This share of the characters, at least one, replaced by characters of other places of the same text.
    Characters {
        share: f64,
    },
    Greeting,
}

const EDITS: [(&str, Edit); 5] = [
    ("1 character", Edit::Characters { share: 0.0 }),
    ("1 %", Edit::Characters { share: 0.01 }),
    ("2 %", Edit::Characters { share: 0.02 }),
    ("5 %", Edit::Characters { share: 0.05 }),
    ("greeting", Edit::Greeting),
];

impl Edit {
    fn apply(self, text: &str, chinese: bool, random: &mut LinearCongruential) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        let places: Vec<usize> = (0..letters.len())
            .filter(|&i| letters[i].is_alphanumeric())
            .collect();
        match self {
            Edit::Characters { share } => {
                let count = ((places.len() as f64 * share).round() as usize).max(1);
                for _ in 0..count {
                    let at = places[random.below(places.len())];
                    // Another character, if the text has one.
                    let other = (0..100)
                        .map(|_| letters[places[random.below(places.len())]])
                        .find(|&c| c != letters[at]);
                    letters[at] = other.unwrap_or('x');
                }
                letters.into_iter().collect()
            }
            Edit::Greeting if chinese => format!("尊敬的领导，您好！{text}谢谢！"),
            Edit::Greeting => format!("Dear Sir or Madam, {text} Thank you."),
        }
    }
}

/// One set for each edit, and one in which each has a fifth of the copies.
pub fn sets(from: &LabelledSet) -> Result<Vec<LabelledSet>, Box<dyn Error>> {
    let mut sets = Vec::new();
    for edit in &EDITS {
        sets.push(plant(from, edit.0, std::slice::from_ref(edit))?);
    }
    sets.push(plant(from, "all five", &EDITS)?);
    Ok(sets)
}

fn plant(
    from: &LabelledSet,
    name: &str,
    edits: &[(&str, Edit)],
) -> Result<LabelledSet, Box<dyn Error>> {
    let mut random = LinearCongruential(7);
    let others = from.texts.len().min(OTHERS);
    let mut texts = from.texts[..others].to_vec();
    let chinese = !texts.iter().take(100).all(|text| text.is_ascii());
    // What the set has by itself is neither right nor wrong here.
    let mut truth: Truth = (from.truth.keys())
        .filter(|pair| (pair.1 as usize) < others)
        .map(|&pair| (pair, PairKind::Grey))
        .collect();
    let relatives: Vec<(u32, u32)> = truth.keys().copied().collect();
    let mut originals: Vec<usize> = (0..others).collect();
    for (i, edit) in (0..COPIES.min(others / 4)).zip(edits.iter().cycle()) {
        let chosen = i + random.below(others - i);
        originals.swap(i, chosen);
        let (original, copy) = (originals[i] as u32, texts.len() as u32);
        texts.push(
            edit.1
                .apply(&from.texts[originals[i]], chinese, &mut random),
        );
        truth.insert((original, copy), PairKind::Near);
        for &(a, b) in relatives
            .iter()
            .filter(|p| p.0 == original || p.1 == original)
        {
            truth.insert((a + b - original, copy), PairKind::Grey);
        }
    }
    // Two copies of originals that are relatives.
    let copies: Vec<u32> = originals[..texts.len() - others]
        .iter()
        .map(|&o| o as u32)
        .collect();
    for (i, &a) in copies.iter().enumerate() {
        for (j, &b) in copies.iter().enumerate().skip(i + 1) {
            if truth.contains_key(&(a.min(b), a.max(b))) {
                truth.insert(((others + i) as u32, (others + j) as u32), PairKind::Grey);
            }
        }
    }
    LabelledSet::new(format!("planted: {name}"), texts, Vec::new(), truth)
}

//! Which changes hold what decides. [`super`] asks before it marks them. [`crate::same`] has judged
//! both texts in a form of its own, and tells words without places; as it goes through the texts in
//! order too, a difference belongs to the next change that has its words.

use super::Change;
use super::cutting::pieces;
use crate::error::Error;
use crate::hash::city64;
use crate::same::Difference;
use crate::text::normal::{Normalize, normal_form};

/// Changes in front of the last one that was found, and behind it, among which one is looked for.
const NEAR: usize = 64;

/// Words of a difference beyond which it is taken for all of the text.
const MOST_WORDS: usize = 1 << 12;

/// Letters of a change that are compared with those of a difference.
const MOST_LETTERS: usize = 256;

/// Marks the changes that decide. Returns whether each difference that does was found in one.
pub fn mark_deciding(
    a: &str,
    b: &str,
    changes: &mut [Change],
    judged: &[Difference],
    check_interrupts: &mut dyn FnMut(),
) -> Result<bool, Error> {
    if !judged.iter().any(|difference| difference.decides) {
        return Ok(true);
    }
    let mut contents = Vec::new();
    let more = contents.try_reserve_exact(changes.len());
    more.map_err(|_| Error::OutOfMemory)?;
    for change in changes.iter() {
        contents.push(Content::new(
            &a[change.a.clone()],
            &b[change.b.clone()],
            check_interrupts,
        )?);
    }
    let (mut at, mut all) = (0, true);
    for difference in judged {
        let sought = Content::new(&difference.in_a, &difference.in_b, check_interrupts)?;
        if sought.words.iter().any(|words| words.len() > MOST_WORDS) {
            changes
                .iter_mut()
                .for_each(|change| change.decides |= difference.decides);
            continue;
        }
        let Some(found) = find(&contents, at, &sought) else {
            all &= !difference.decides;
            continue;
        };
        at = found;
        if difference.decides {
            // What is one difference may be several changes, with equal words between.
            let is_part = |content: &&Content| content.is_in(&sought);
            let behind = contents[found + 1..].iter().take_while(is_part).count();
            let in_front = contents[..found].iter().rev().take_while(is_part).count();
            let parts = &mut changes[found - in_front..=found + behind];
            parts.iter_mut().for_each(|change| change.decides = true);
        }
    }
    Ok(all)
}

/// The change that has the words of a difference on both sides, or else on one.
fn find(contents: &[Content], at: usize, sought: &Content) -> Option<usize> {
    let near = || {
        let behind = at..contents.len().min(at + NEAR);
        behind.chain(at.saturating_sub(NEAR)..at)
    };
    let both = near().find(|i| contents[*i].sides_with(sought) == sought.sides());
    both.or_else(|| near().find(|i| contents[*i].sides_with(sought) > 0))
}

/// The words of the two sides of a change, or of a difference.
struct Content {
    /// Hashes of the words, sorted.
    words: [Vec<u64>; 2],
    /// Letters and digits, if they are few.
    letters: [String; 2],
}

impl Content {
    fn new(in_a: &str, in_b: &str, check_interrupts: &mut dyn FnMut()) -> Result<Self, Error> {
        let (words_of_a, letters_of_a) = words_and_letters(in_a, check_interrupts)?;
        let (words_of_b, letters_of_b) = words_and_letters(in_b, check_interrupts)?;
        Ok(Self {
            words: [words_of_a, words_of_b],
            letters: [letters_of_a, letters_of_b],
        })
    }

    /// On how many sides there are words.
    fn sides(&self) -> usize {
        self.words.iter().filter(|words| !words.is_empty()).count()
    }

    /// On how many sides there are words of another one.
    fn sides_with(&self, other: &Self) -> usize {
        let has_words = |side: &usize| {
            let (words, letters) = (&self.words[*side], &self.letters[*side]);
            let (words_sought, letters_sought) = (&other.words[*side], &other.letters[*side]);
            let in_letters = || {
                let lengths = [letters.len(), letters_sought.len()];
                !lengths.contains(&0)
                    && (letters.contains(letters_sought) || letters_sought.contains(letters))
            };
            words_sought
                .iter()
                .any(|word| words.binary_search(word).is_ok())
                || in_letters()
        };
        (0..2).filter(has_words).count()
    }

    /// Whether another one has all these words on the same sides.
    fn is_in(&self, other: &Self) -> bool {
        let mut sides = self.words.iter().zip(&other.words);
        sides.all(|(words, others)| words.iter().all(|word| others.binary_search(word).is_ok()))
    }
}

fn words_and_letters(
    text: &str,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(Vec<u64>, String), Error> {
    let mut normal = String::new();
    normal_form(text, Normalize::Fold, &mut normal, check_interrupts)?;
    let mut words = Vec::new();
    for word in pieces(&normal).filter(|word| !word.is_empty()) {
        words.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
        words.push(city64(normal[word].as_bytes()));
    }
    check_interrupts();
    words.sort_unstable();
    let letters = normal.chars().filter(|c| c.is_alphanumeric());
    let letters: String = letters.take(MOST_LETTERS + 1).collect();
    let few = letters.chars().count() <= MOST_LETTERS;
    Ok((words, if few { letters } else { String::new() }))
}

//! Two texts with the sentences that both have taken out, and those that are much alike in one order:
//! the order of sentences does not decide. [`crate::same`] asks where something else does.

use super::Shape;
use super::finding::{Finding, Kind, finding};
use super::{Judged, Wanted, judge};
use crate::error::Error;
use crate::same::align::{Numbers, reserved};
use crate::same::cut::tokens::{TokenKind, Tokens};
use crate::same::limits::{ALIKE_SHARE, LEAST_STEMS, MOST_ALIKE, MOST_TURNED, STEM};
use crate::same::lists::Classes;
use crate::same::quick_hash;
use std::collections::HashMap;
use std::ops::Range;

/// What differs between the sentences that only one text has, if nothing of it decides. Where fewer words
/// than half of a sentence stand elsewhere in the other text, they do by chance.
pub fn in_any_order(
    a: &Tokens,
    b: &Tokens,
    shape: &Shape,
    judged: &Judged,
    wanted: Wanted,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Option<Vec<Finding>>, Error> {
    let moved = judged.moved;
    let (middle_of_a, middle_of_b) = middles(a, b);
    let (in_a, in_b) = (
        sentences(a, middle_of_a.clone())?,
        sentences(b, middle_of_b.clone())?,
    );
    let least = if shape.is_long { 1 } else { 2 };
    let is_short = in_a.len().min(in_b.len()) < least;
    if is_short || !shape.is_long && !may_be_moved(moved, &in_a) {
        return Ok(None);
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    left.try_reserve(in_a.len())
        .map_err(|_| Error::OutOfMemory)?;
    for sentence in &in_a {
        *left.entry(a.joined(sentence)).or_default() += 1;
    }
    let mut rest_of_b: Vec<_> = in_b
        .iter()
        .filter(|sentence| !take(&mut left, b.joined(sentence)))
        .cloned()
        .collect();
    // The last ones of those that the first text has more often are its own.
    let mut rest_of_a: Vec<_> = in_a
        .iter()
        .rev()
        .filter(|sentence| take(&mut left, a.joined(sentence)))
        .cloned()
        .collect();
    rest_of_a.reverse();
    let others = rest_of_b.len();
    if shape.is_long {
        drop_reworded(a, &mut rest_of_a, b, &mut rest_of_b, check_interrupts);
    }
    // Words that the other text lacks are as many without equal sentences, and in any order.
    if judged.is_unlike && rest_of_b.len() == others {
        return Ok(None);
    }
    let is_turned = shape.is_long
        && may_be_moved(moved, &rest_of_a)
        && put_in_order(a, &rest_of_a, b, &mut rest_of_b)?;
    if rest_of_a.len() == in_a.len() && rest_of_b.len() == in_b.len() && !is_turned {
        return Ok(None);
    }
    if rest_of_a.is_empty() && rest_of_b.is_empty() {
        return Ok(Some(vec![finding(
            Kind::Order,
            middle_of_a,
            middle_of_b,
            false,
        )]));
    }
    let (words_of_a, words_of_b) = (words(&rest_of_a), words(&rest_of_b));
    let (only_a, only_b) = (
        a.picked(words_of_a.iter().copied()),
        b.picked(words_of_b.iter().copied()),
    );
    let judged = judge(&only_a, &only_b, None, shape, wanted, check_interrupts)?;
    if judged.decides() {
        return Ok(None);
    }
    let mut findings = Vec::new();
    for finding in judged.findings {
        // Places in the sentences that are left, back to places in the texts.
        findings.push(Finding {
            a: back(&finding.a, &words_of_a),
            b: back(&finding.b, &words_of_b),
            ..finding
        });
    }
    findings.push(Finding {
        kind: Kind::Order,
        a: in_a.first().cloned().unwrap_or_default(),
        b: in_b.first().cloned().unwrap_or_default(),
        decides: false,
    });
    Ok(Some(findings))
}

/// The words of each text that are not in sentences with which both begin, or both end.
fn middles(a: &Tokens, b: &Tokens) -> (Range<usize>, Range<usize>) {
    let shorter = a.len().min(b.len());
    let is_equal = |i: usize, j: usize| {
        a.at(i).ends_sentence == b.at(j).ends_sentence && a.word(i) == b.word(j)
    };
    let front = (0..shorter).take_while(|&i| is_equal(i, i)).count();
    let back = (0..shorter - front)
        .take_while(|&i| is_equal(a.len() - 1 - i, b.len() - 1 - i))
        .count();
    let begin = (0..front)
        .rev()
        .find(|&i| a.at(i).ends_sentence)
        .map_or(0, |last| last + 1);
    let kept = (0..back)
        .rev()
        .find(|&i| {
            i + 1 < a.len().min(b.len())
                && a.at(a.len() - 2 - i).ends_sentence
                && b.at(b.len() - 2 - i).ends_sentence
        })
        .map_or(0, |i| i + 1);
    (
        begin..(a.len() - kept).max(begin),
        begin..(b.len() - kept).max(begin),
    )
}

/// Whether a sentence ends within a text.
pub fn are_several(text: &Tokens) -> bool {
    (1..text.len()).any(|i| text.at(i - 1).ends_sentence)
}

/// The words of each sentence.
fn sentences(text: &Tokens, words: Range<usize>) -> Result<Vec<Range<usize>>, Error> {
    let mut sentences = Vec::new();
    let mut begin = words.start;
    for i in words.clone() {
        if text.at(i).ends_sentence || i + 1 == words.end {
            sentences.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
            sentences.push(begin..i + 1);
            begin = i + 1;
        }
    }
    Ok(sentences)
}

/// Whether that many words may be those of a sentence.
fn may_be_moved(moved: usize, sentences: &[Range<usize>]) -> bool {
    let shortest = sentences.iter().map(Range::len).min();
    shortest.is_some_and(|words| 2 * moved >= words)
}

/// Takes out the sentences that both texts have with the same words in another form, or with a part of it
/// in front that the other has at the end.
fn drop_reworded(
    a: &Tokens,
    of_a: &mut Vec<Range<usize>>,
    b: &Tokens,
    of_b: &mut Vec<Range<usize>>,
    check_interrupts: &mut dyn FnMut(),
) {
    let mut left: HashMap<u64, Vec<usize>> = HashMap::new();
    for (n, sentence) in of_b.iter().enumerate() {
        check_interrupts();
        left.entry(sum_of_stems(b, sentence)).or_default().push(n);
    }
    let mut taken = vec![false; of_b.len()];
    of_a.retain(|sentence| {
        check_interrupts();
        let Some(others) = left.get(&sum_of_stems(a, sentence)) else {
            return true;
        };
        let own: Vec<&str> = stems(a, sentence).collect();
        let is_free = |n: &&usize| {
            let other = || stems(b, &of_b[**n]).collect::<Vec<_>>();
            !taken[**n] && is_rotated(&own, &other())
        };
        let found = others.iter().take(MOST_ALIKE).find(is_free);
        match found {
            Some(n) if own.len() >= LEAST_STEMS => taken[*n] = true,
            _ => return true,
        }
        false
    });
    let mut n = 0;
    of_b.retain(|_| {
        n += 1;
        !taken[n - 1]
    });
}

/// The begins of the words of a sentence that count.
fn stems<'t>(text: &'t Tokens, sentence: &Range<usize>) -> impl Iterator<Item = &'t str> {
    let left_out = Classes::FUNCTION.or(Classes::LIGHT).or(Classes::GREETING);
    let counts = move |i: &usize| {
        let classes = text.classes(*i);
        !classes.has(left_out) || classes.has(Classes::NEGATION)
    };
    let stem = move |i: usize| {
        let word = text.word(i);
        let is_word = text.at(i).kind == TokenKind::Word;
        match word.char_indices().nth(STEM) {
            Some((end, _)) if is_word => &word[..end],
            _ => word,
        }
    };
    sentence.clone().filter(counts).map(stem)
}

/// A number that is equal for sentences with the same stems in whatever order.
fn sum_of_stems(text: &Tokens, sentence: &Range<usize>) -> u64 {
    let stems = stems(text, sentence).map(|stem| quick_hash(stem) as u64);
    stems.fold(0, u64::wrapping_add)
}

/// Whether words are others with two blocks in turn, or the same.
fn is_rotated(a: &[&str], b: &[&str]) -> bool {
    a.len() == b.len()
        && (0..a.len().min(MOST_TURNED))
            .any(|by| a[by..] == b[..a.len() - by] && a[..by] == b[a.len() - by..])
}

/// Puts the sentences of the second text in the order of those of the first one that are much alike; one
/// that is like none stays behind the one in front of it. Returns whether any has moved.
fn put_in_order(
    a: &Tokens,
    of_a: &[Range<usize>],
    b: &Tokens,
    of_b: &mut [Range<usize>],
) -> Result<bool, Error> {
    if of_a.len() < 2 || of_b.len() < 2 {
        return Ok(false);
    }
    let mut owners = Owners::new(a, of_a, words_in(of_b))?;
    let mut votes = reserved(of_a.len())?;
    votes.resize(of_a.len(), 0);
    let mut places = reserved(of_b.len())?;
    let mut voters: Vec<u32> = Vec::new();
    for sentence in &*of_b {
        voters.clear();
        voters.extend(owners.of(b, sentence));
        let mut best = (0, 0);
        for n in &voters {
            votes[*n as usize] += 1;
            best = best.max((votes[*n as usize], *n));
        }
        voters.iter().for_each(|n| votes[*n as usize] = 0);
        let shorter = sentence.len().min(of_a[best.1 as usize].len());
        let is_alike = f64::from(best.0) >= ALIKE_SHARE * shorter as f64;
        places.push(match is_alike {
            true => best.1,
            false => places.last().copied().unwrap_or_default(),
        });
    }
    let is_turned = !places.is_sorted();
    let mut order: Vec<(u32, Range<usize>)> = places.into_iter().zip(of_b.to_vec()).collect();
    order.sort_by_key(|(place, _)| *place);
    for (sentence, (_, other)) in of_b.iter_mut().zip(order) {
        *sentence = other;
    }
    Ok(is_turned)
}

/// Which sentence has two words in a row, if it is the only one.
struct Owners<'t> {
    numbers: Numbers<'t>,
    /// By the number of both words.
    owners: Vec<u32>,
}

const SEVERAL: u32 = u32::MAX;

impl<'t> Owners<'t> {
    /// Those of a text; `others` words of the other one will be asked for.
    fn new(text: &'t Tokens, sentences: &[Range<usize>], others: usize) -> Result<Self, Error> {
        let words = words_in(sentences);
        let mut owners = Self {
            numbers: Numbers::new(words + others)?,
            owners: reserved(words)?,
        };
        for (n, sentence) in (0..).zip(sentences) {
            for pair in pairs(text, sentence) {
                let number = owners.numbers.number_of(pair) as usize;
                match owners.owners.get_mut(number) {
                    Some(owner) if *owner == n => (),
                    Some(owner) => *owner = SEVERAL,
                    None => owners.owners.push(n),
                }
            }
        }
        Ok(owners)
    }

    /// The owners of the pairs of words of a sentence.
    fn of(&mut self, text: &'t Tokens, sentence: &Range<usize>) -> impl Iterator<Item = u32> {
        let owner = |pair| {
            let number = self.numbers.number_of(pair) as usize;
            self.owners.get(number).copied()
        };
        let owners = pairs(text, sentence).filter_map(owner);
        owners.filter(|owner| *owner != SEVERAL)
    }
}

/// Each two words in a row of a sentence.
fn pairs<'t>(text: &'t Tokens, sentence: &Range<usize>) -> impl Iterator<Item = &'t str> {
    let pairs = sentence.start + 1..sentence.end;
    pairs.map(|i| text.joined(&(i - 1..i + 1)))
}

fn words_in(sentences: &[Range<usize>]) -> usize {
    sentences.iter().map(Range::len).sum()
}

/// Takes one of the sentences that are left.
fn take<'t>(left: &mut HashMap<&'t str, usize>, sentence: &'t str) -> bool {
    match left.get_mut(sentence) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}

fn words(sentences: &[Range<usize>]) -> Vec<usize> {
    sentences.iter().cloned().flatten().collect()
}

fn back(words: &Range<usize>, places: &[usize]) -> Range<usize> {
    match words.is_empty() {
        true => 0..0,
        false => places[words.start]..places[words.end - 1] + 1,
    }
}

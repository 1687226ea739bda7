//! Two texts with the sentences that both have taken out: their order does not decide.

use super::judge::{Finding, Kind, Wanted, judge};
use super::shape::Shape;
use super::tokens::Tokens;
use crate::error::Error;
use std::collections::HashMap;
use std::ops::Range;

/// What differs between the sentences that only one text has; None when none of those that differ
/// stands elsewhere in the other text.
pub fn in_any_order(
    a: &Tokens,
    b: &Tokens,
    shape: &Shape,
    wanted: Wanted,
    pause: &mut dyn FnMut(),
) -> Result<Option<Vec<Finding>>, Error> {
    let (middle_of_a, middle_of_b) = middles(a, b);
    let (in_a, in_b) = (sentences(a, middle_of_a)?, sentences(b, middle_of_b)?);
    if in_a.len() < 2 || in_b.len() < 2 {
        return Ok(None);
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    left.try_reserve(in_a.len())
        .map_err(|_| Error::OutOfMemory)?;
    for sentence in &in_a {
        *left.entry(a.joined(sentence)).or_default() += 1;
    }
    let rest_of_b: Vec<_> = in_b
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
    if rest_of_a.len() == in_a.len() {
        return Ok(None);
    }
    let (words_of_a, words_of_b) = (words(&rest_of_a), words(&rest_of_b));
    let (only_a, only_b) = (
        a.picked(words_of_a.iter().copied()),
        b.picked(words_of_b.iter().copied()),
    );
    let mut findings = Vec::new();
    for finding in judge(&only_a, &only_b, shape, wanted, pause)? {
        // Places in the sentences that are left, back to places in the texts.
        findings.push(Finding {
            a: back(&finding.a, &words_of_a),
            b: back(&finding.b, &words_of_b),
            ..finding
        });
    }
    findings.push(Finding {
        kind: Kind::Order,
        a: in_a[0].clone(),
        b: in_b[0].clone(),
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

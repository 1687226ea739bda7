//! Two texts with the sentences that both have taken out: their order does not decide.

use super::judge::{Finding, Kind, judge};
use super::shape::Shape;
use super::tokens::Tokens;
use crate::error::Error;
use std::collections::HashMap;
use std::ops::Range;

/// What differs between the sentences that only one text has; None when no sentence is in both.
pub fn in_any_order(
    a: &Tokens,
    b: &Tokens,
    shape: &Shape,
    pause: &mut dyn FnMut(),
) -> Result<Option<Vec<Finding>>, Error> {
    let (in_a, in_b) = (sentences(a)?, sentences(b)?);
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
    for finding in judge(&only_a, &only_b, shape, pause)? {
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

/// The words of each sentence.
fn sentences(text: &Tokens) -> Result<Vec<Range<usize>>, Error> {
    let mut sentences = Vec::new();
    let mut begin = 0;
    for i in 0..text.len() {
        if text.at(i).ends_sentence || i + 1 == text.len() {
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

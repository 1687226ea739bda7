//! Two texts that are cut, compared: which of their words differ, and whether that decides. [`super`] asks;
//! a text of code is compared name by name, any other in the order values, wordings, alignment, judge.
//! Most pairs that a search finds have nothing to do with each other: what tells so soonest is asked first.

use super::align::{self, Alignment};
use super::cut::tokens::Tokens;
use super::cut::{code, frame, layout};
use super::judge::finding::{Finding, Kind, finding};
use super::judge::{self, Shape, Wanted, judge, order, reference, sentences, written};
use super::prepared::{self, Prepared};
use super::{Difference, copied, values};
use crate::error::Error;
use std::borrow::Cow;

/// What differs between two texts.
pub enum Comparison<'t> {
    /// The words of both texts, and which of them differ.
    Findings {
        in_a: Cow<'t, Tokens>,
        in_b: Cow<'t, Tokens>,
        findings: Vec<Finding>,
    },
    /// What differs between texts that are not compared by words.
    Signs(Vec<Difference>),
}

impl Comparison<'_> {
    fn owned(self) -> Comparison<'static> {
        match self {
            Comparison::Findings {
                in_a,
                in_b,
                findings,
            } => Comparison::Findings {
                in_a: Cow::Owned(in_a.into_owned()),
                in_b: Cow::Owned(in_b.into_owned()),
                findings,
            },
            Comparison::Signs(differences) => Comparison::Signs(differences),
        }
    }

    fn swapped(self) -> Self {
        match self {
            Comparison::Findings {
                in_a,
                in_b,
                mut findings,
            } => {
                findings.iter_mut().for_each(Finding::swap);
                Comparison::Findings {
                    in_a: in_b,
                    in_b: in_a,
                    findings,
                }
            }
            Comparison::Signs(mut differences) => {
                let swap = |one: &mut Difference| std::mem::swap(&mut one.in_a, &mut one.in_b);
                differences.iter_mut().for_each(swap);
                Comparison::Signs(differences)
            }
        }
    }
}

pub fn compare<'t>(
    a: (&str, &'t Prepared),
    b: (&str, &'t Prepared),
    wanted: Wanted,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Comparison<'t>, Error> {
    if a.1.is_code || b.1.is_code || a.1.is_element && b.1.is_element {
        let of_code = |a, b| of_code(a, b, check_interrupts);
        return in_one_order(b.0 < a.0, a.0, b.0, of_code);
    }
    if let Some(latin) = a.1.in_script_of(b.1)? {
        return of_forms((a.0, &latin), b, wanted, check_interrupts).map(Comparison::owned);
    }
    if let Some(latin) = b.1.in_script_of(a.1)? {
        return of_forms(a, (b.0, &latin), wanted, check_interrupts).map(Comparison::owned);
    }
    of_forms(a, b, wanted, check_interrupts)
}

fn of_code(
    a: &str,
    b: &str,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Comparison<'static>, Error> {
    let (in_a, in_b) = (code::cut(a)?, code::cut(b)?);
    let findings = every_word(&in_a, &in_b, check_interrupts)?;
    Ok(Comparison::Findings {
        in_a: Cow::Owned(in_a),
        in_b: Cow::Owned(in_b),
        findings,
    })
}

fn of_forms<'t>(
    a: (&str, &'t Prepared),
    b: (&str, &'t Prepared),
    wanted: Wanted,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Comparison<'t>, Error> {
    let (form_of_a, form_of_b) = (&a.1.form, &b.1.form);
    let different = || Ok(Comparison::Signs(vec![whole(form_of_a, form_of_b)?]));
    if form_of_a == form_of_b || are_one_layout(a.0, b.0) {
        return match written::accents_decide(a.0, b.0) {
            true => different(),
            false => Ok(Comparison::Signs(Vec::new())),
        };
    }
    let cuts = (a.1.cut(check_interrupts)?, b.1.cut(check_interrupts)?);
    let (Some(cut_of_a), Some(cut_of_b)) = cuts else {
        return different();
    };
    if (cut_of_a.len() == 0) != (cut_of_b.len() == 0) {
        return different();
    }
    if cut_of_a.len() == 0 {
        return match signs(form_of_a).eq(signs(form_of_b)) {
            true => Ok(Comparison::Signs(Vec::new())),
            false => different(),
        };
    }
    let is_turned = form_of_b < form_of_a;
    let (a, b) = ((a.0, a.1, cut_of_a), (b.0, b.1, cut_of_b));
    in_one_order(is_turned, a, b, |a, b| {
        of_words(a, b, wanted, check_interrupts)
    })
}

/// Compares two texts in the order that both orders of the arguments have, so that both have one answer.
fn in_one_order<'t, T>(
    is_turned: bool,
    a: T,
    b: T,
    compare: impl FnOnce(T, T) -> Result<Comparison<'t>, Error>,
) -> Result<Comparison<'t>, Error> {
    match is_turned {
        true => Ok(compare(b, a)?.swapped()),
        false => compare(a, b),
    }
}

/// Compares two texts by their words.
fn of_words<'t>(
    (a, of_a, cut_of_a): (&str, &'t Prepared, &'t Tokens),
    (b, of_b, cut_of_b): (&str, &'t Prepared, &'t Tokens),
    wanted: Wanted,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Comparison<'t>, Error> {
    let (mut in_a, mut in_b) = (Cow::Borrowed(cut_of_a), Cow::Borrowed(cut_of_b));
    let middle = align::middle(cut_of_a, cut_of_b);
    let sketches = match wanted {
        Wanted::All => None,
        _ => (of_a.sketch(cut_of_a)).zip(of_b.sketch(cut_of_b)),
    };
    let mut is_far = sketches.is_some_and(|(a, b)| a.is_far_from(b));
    let (mut common, mut hunks) = (0, Vec::new());
    if !is_far {
        let numbered = align::numbered(cut_of_a, cut_of_b, &middle, check_interrupts)?;
        is_far = wanted != Wanted::All && judge::are_far(cut_of_a, cut_of_b, &middle, &numbered);
        if !is_far {
            (common, hunks) = (
                numbered.common,
                align::hunks(&middle, &numbered, check_interrupts)?,
            );
        }
    }
    if !is_far && hunks.is_empty() {
        let all = || finding(Kind::Word, 0..in_a.len(), 0..in_b.len(), true);
        let asks = |[i, j]: [usize; 2]| finding(Kind::Symbol, i..i + 1, j..j + 1, true);
        let accents = written::accents_decide(a, b).then(all);
        let decisive = accents.or_else(|| written::asks_alone(&in_a, &in_b, &[]).map(asks));
        let findings = decisive.into_iter().collect();
        return Ok(Comparison::Findings {
            in_a,
            in_b,
            findings,
        });
    }
    let has_replaced = || {
        sketches.is_some_and(|(of_a, of_b)| {
            of_a.has_replaced(of_b, [cut_of_a, cut_of_b], &hunks)
                && !frame::is_cut_off([a, b])
                && !(sentences::are_several(cut_of_a) && sentences::are_several(cut_of_b))
        })
    };
    if is_far || has_replaced() {
        let findings = vec![finding(Kind::Word, middle.a, middle.b, true)];
        return Ok(Comparison::Findings {
            in_a,
            in_b,
            findings,
        });
    }
    if let Some([i, j]) = written::asks_alone(cut_of_a, cut_of_b, &hunks) {
        let findings = vec![finding(Kind::Symbol, i..i + 1, j..j + 1, true)];
        return Ok(Comparison::Findings {
            in_a,
            in_b,
            findings,
        });
    }
    let (text_a, text_b) = ((cut_of_a, &*of_a.form), (cut_of_b, &*of_b.form));
    let met = values::meet(text_a, text_b, &hunks, check_interrupts)?;
    let mut has_changed = met.iter().any(Option::is_some);
    let sides = [(&mut in_a, of_a), (&mut in_b, of_b)];
    for ((words, prepared), met) in sides.into_iter().zip(met) {
        let Cow::Borrowed(cut) = *words else { continue };
        *words = match (met, wanted) {
            (Some(met), Wanted::Strict) => Cow::Owned(met),
            (None, Wanted::Strict) => Cow::Borrowed(cut),
            (Some(met), _) => {
                let worded = prepared::in_one_wording(&met, check_interrupts)?.0;
                match worded {
                    Cow::Owned(worded) => Cow::Owned(worded),
                    Cow::Borrowed(_) => Cow::Owned(met),
                }
            }
            (None, _) => {
                let (worded, has_other_words) = prepared.worded(cut, check_interrupts)?;
                has_changed |= has_other_words;
                Cow::Borrowed(worded)
            }
        };
    }
    let alignment = Alignment {
        middle,
        common,
        hunks,
    };
    let alignment = (!has_changed).then_some(alignment);
    let texts = [(a, &*of_a.form, &*in_a), (b, &*of_b.form, &*in_b)];
    let findings = judged(texts, alignment, wanted, check_interrupts)?;
    Ok(Comparison::Findings {
        in_a,
        in_b,
        findings,
    })
}

/// Judges two texts by their words, behind the text and its form.
fn judged(
    [(a, form_of_a, in_a), (b, form_of_b, in_b)]: [(&str, &str, &Tokens); 2],
    alignment: Option<Alignment>,
    wanted: Wanted,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<Finding>, Error> {
    // Some wordings say nothing.
    if in_a.len() == 0 || in_b.len() == 0 {
        let decides = in_a.len() != in_b.len() || !signs(form_of_a).eq(signs(form_of_b));
        let all = finding(Kind::Word, 0..in_a.len(), 0..in_b.len(), decides);
        return Ok(vec![all]);
    }
    if let Some(cut_off) = frame::cut_off([a, b], [in_a, in_b]) {
        return Ok(vec![cut_off]);
    }
    if written::accents_decide(a, b) {
        return Ok(vec![finding(
            Kind::Word,
            0..in_a.len(),
            0..in_b.len(),
            true,
        )]);
    }
    let shape = Shape::of(in_a, in_b);
    let judged = judge(in_a, in_b, alignment, &shape, wanted, check_interrupts)?;
    // Steps that both texts number are in an order that counts.
    if !judged.decides() || layout::is_numbered(a) && layout::is_numbered(b) {
        return Ok(judged.findings);
    }
    let (a, b) = (in_a, in_b);
    if order::is_reordered(a, b) || reference::is_same_reference(a, b) {
        let order = finding(Kind::Order, 0..a.len(), 0..b.len(), false);
        return Ok(vec![order]);
    }
    let reordered = sentences::in_any_order(a, b, &shape, &judged, wanted, check_interrupts)?;
    Ok(reordered.unwrap_or(judged.findings))
}

/// Whether two texts differ in white space alone, which does not count, even where it makes a line
/// of a number.
fn are_one_layout(a: &str, b: &str) -> bool {
    let last = |text: &str| text.trim_end().as_bytes().last().copied();
    // Most texts differ in a letter.
    let equal = align::equal_bytes(a.as_bytes(), b.as_bytes());
    let is_letter = |text: &str| {
        let next = text[text.floor_char_boundary(equal)..].chars().next();
        next.is_some_and(|c| !c.is_whitespace())
    };
    !(is_letter(a) && is_letter(b))
        && last(a) == last(b)
        && a.split_whitespace().eq(b.split_whitespace())
}

/// The differences of texts in which each word counts.
fn every_word(
    a: &Tokens,
    b: &Tokens,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<Finding>, Error> {
    let middle = align::middle(a, b);
    let numbered = align::numbered(a, b, &middle, check_interrupts)?;
    let hunks = align::hunks(&middle, &numbered, check_interrupts)?;
    let kind = |hunk: &align::Hunk| match (hunk.a.is_empty(), hunk.b.is_empty()) {
        (false, false) => Kind::Word,
        _ => Kind::Added,
    };
    let found = hunks
        .iter()
        .map(|hunk| finding(kind(hunk), hunk.a.clone(), hunk.b.clone(), true));
    Ok(found.collect())
}

/// The signs of a text without a word: white space and repetitions do not count.
fn signs(text: &str) -> impl Iterator<Item = char> {
    let mut last = None;
    text.chars()
        .filter(move |c| !c.is_whitespace() && last.replace(*c) != Some(*c))
}

/// Two texts as one difference.
fn whole(a: &str, b: &str) -> Result<Difference, Error> {
    Ok(Difference {
        kind: Kind::Word,
        in_a: copied(a)?,
        in_b: copied(b)?,
        decides: true,
    })
}

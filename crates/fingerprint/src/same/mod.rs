//! Whether a person would call two texts the same, by what differs instead of how much.
//! `simhash_same` and `simhash_why` return it.
//!
//! In the order in which two texts flow through: `code` takes texts of code, of which each name and
//! operator counts. `layout` takes mark-up, quotation marks of mail, hyphens at line ends and page
//! numbers away, `form` what case, accents, invisible characters and look-alike letters make. `cutting`
//! and `marks` make `tokens` of it. `values` brings what stands for one value into one form,
//! `wording` what is said in other words, `frame` marks salutations and signatures. `align` finds
//! the words that differ. `judge` says of each stretch that differs whether it decides, as `replaced`
//! or `added`: by the kind of its words (`nature`), by the words of `lists`, and by `alike` and
//! `characters`: whether two words are forms of one. `finding` settles what all together decide. Texts
//! that differ are compared once more by their `order`, and with their equal sentences taken out
//! (`sentences`). All figures by which they judge are in `limits`, each with its reason.
//!
//! The answer depends on the texts alone, and its time is linear in their length. What must not
//! live here: a threshold for how alike two texts are; that is `similarity`.

mod added;
mod align;
mod alike;
mod characters;
mod code;
mod cutting;
mod endings;
mod finding;
mod form;
mod frame;
mod judge;
mod layout;
mod limits;
mod lists;
mod marks;
mod nature;
mod order;
mod replaced;
mod sentences;
#[cfg(test)]
mod tests;
mod tokens;
mod values;
mod wording;

use crate::error::Error;
use finding::{Finding, finding};
use judge::Shape;
use judge::{Wanted, judge};
use tokens::Tokens;

pub use finding::Kind;

/// Words of a text that are compared: one by one up to here, all together beyond.
pub use cutting::MOST_WORDS;

/// Something in which two texts differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What differs.
    pub kind: Kind,
    /// The words of the first text, in the form in which they are compared; empty if it lacks them.
    pub in_a: String,
    /// The same of the second text.
    pub in_b: String,
    /// Whether it makes another text.
    pub decides: bool,
}

/// Whether a person would call two texts the same. `check_interrupts` is called now and then and may unwind.
pub fn same(a: &str, b: &str, check_interrupts: &mut dyn FnMut()) -> Result<bool, Error> {
    if a == b {
        return Ok(true);
    }
    Ok(match compare(a, b, Wanted::Verdict, check_interrupts)? {
        Comparison::Findings(_, _, findings) => findings.iter().all(|finding| !finding.decides),
        Comparison::Signs(differences) => differences.is_empty(),
    })
}

/// How much two texts may differ that are called the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// As a person would say it.
    Person,
    /// In spelling and layout alone: whatever is added, left out, moved or mistyped decides. For what
    /// deletes, merges or refuses.
    Strict,
}

/// Whether two texts are the same, as strictly as wanted.
pub fn same_as(
    a: &str,
    b: &str,
    strictness: Strictness,
    check_interrupts: &mut dyn FnMut(),
) -> Result<bool, Error> {
    if strictness == Strictness::Person || a == b {
        return same(a, b, check_interrupts);
    }
    Ok(match compare(a, b, Wanted::Strict, check_interrupts)? {
        Comparison::Findings(_, _, findings) => {
            let is_layout = |finding: &Finding| finding.kind == Kind::Spelling && !finding.decides;
            findings.iter().all(is_layout)
        }
        Comparison::Signs(differences) => differences.is_empty(),
    })
}

/// What differs between two texts.
pub fn differences(
    a: &str,
    b: &str,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<Difference>, Error> {
    if a == b {
        return Ok(Vec::new());
    }
    let (in_a, in_b, findings) = match compare(a, b, Wanted::All, check_interrupts)? {
        Comparison::Findings(in_a, in_b, findings) => (in_a, in_b, findings),
        Comparison::Signs(differences) => return Ok(differences),
    };
    let mut differences = Vec::new();
    for finding in findings {
        differences.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
        differences.push(Difference {
            kind: finding.kind_shown(&in_a, &in_b),
            in_a: in_a.shown(&finding.a),
            in_b: in_b.shown(&finding.b),
            decides: finding.decides,
        });
    }
    Ok(differences)
}

enum Comparison {
    /// The words of both texts, and which of them differ.
    Findings(Tokens, Tokens, Vec<Finding>),
    /// What differs between texts that are not compared by words.
    Signs(Vec<Difference>),
}

fn compare(
    a: &str,
    b: &str,
    wanted: Wanted,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Comparison, Error> {
    let is_code =
        code::is_code(a) || code::is_code(b) || code::is_element(a) && code::is_element(b);
    if is_code {
        let (in_a, in_b) = (code::cut(a), code::cut(b));
        let swapped = b < a;
        let (first, second) = if swapped {
            (&in_b, &in_a)
        } else {
            (&in_a, &in_b)
        };
        let mut findings = every_word(first, second, check_interrupts)?;
        if swapped {
            findings.iter_mut().for_each(Finding::swap);
        }
        return Ok(Comparison::Findings(in_a, in_b, findings));
    }
    let (mut form_of_a, mut form_of_b) = (form(a, check_interrupts)?, form(b, check_interrupts)?);
    form::in_one_script(&mut form_of_a, &mut form_of_b);
    if form_of_a == form_of_b || are_one_layout(a, b) {
        return Ok(Comparison::Signs(Vec::new()));
    }
    let (Some(mut in_a), Some(mut in_b)) = (
        Tokens::cut(&form_of_a, check_interrupts)?,
        Tokens::cut(&form_of_b, check_interrupts)?,
    ) else {
        return Ok(Comparison::Signs(vec![whole(form_of_a, form_of_b)]));
    };
    // No value and no other wording brings texts together that have hardly a word in common.
    let are_far = wanted == Wanted::Verdict && judge::are_far(&in_a, &in_b, check_interrupts)?;
    if !are_far {
        values::meet(
            (&mut in_a, &form_of_a),
            (&mut in_b, &form_of_b),
            check_interrupts,
        );
    }
    if !are_far && wanted != Wanted::Strict {
        in_a = prepared(in_a, check_interrupts);
        in_b = prepared(in_b, check_interrupts);
    }
    if (in_a.len() == 0) != (in_b.len() == 0) {
        return Ok(Comparison::Signs(vec![whole(form_of_a, form_of_b)]));
    }
    if in_a.len() == 0 {
        let equal = signs(&form_of_a).eq(signs(&form_of_b));
        let differences = (!equal).then(|| whole(form_of_a, form_of_b));
        return Ok(Comparison::Signs(differences.into_iter().collect()));
    }
    // One order, so that both orders of the arguments have one answer.
    let swapped = form_of_b < form_of_a;
    let (first, second) = if swapped {
        (&in_b, &in_a)
    } else {
        (&in_a, &in_b)
    };
    if let Some(cut_off) = frame::cut_off([a, b], [&in_a, &in_b]) {
        return Ok(Comparison::Findings(in_a, in_b, vec![cut_off]));
    }
    let mut findings = verdict(first, second, wanted, check_interrupts)?;
    if swapped {
        findings.iter_mut().for_each(Finding::swap);
    }
    Ok(Comparison::Findings(in_a, in_b, findings))
}

/// The words in the form in which they are compared, with what carries the text marked.
fn prepared(words: Tokens, check_interrupts: &mut dyn FnMut()) -> Tokens {
    check_interrupts();
    let mut words = wording::in_one_form(words, check_interrupts);
    frame::mark(&mut words);
    check_interrupts();
    words
}

/// The form in which the words of a text are compared.
fn form(text: &str, check_interrupts: &mut dyn FnMut()) -> Result<String, Error> {
    let plain = layout::plain(text.trim(), check_interrupts)?;
    let plain = layout::signs_joined(&plain);
    let plain = layout::signs_apart(&plain);
    let mut folded = String::new();
    folded
        .try_reserve(3 * plain.len())
        .map_err(|_| Error::OutOfMemory)?;
    check_interrupts();
    form::fold_into(&plain, &mut folded);
    check_interrupts();
    Ok(form::one_spelling(folded))
}

fn verdict(
    a: &Tokens,
    b: &Tokens,
    wanted: Wanted,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<Finding>, Error> {
    let shape = Shape::of(a, b);
    let judged = judge(a, b, &shape, wanted, check_interrupts)?;
    if !judged.decides() {
        return Ok(judged.findings);
    }
    if order::is_reordered(a, b) {
        let order = finding(Kind::Order, 0..a.len(), 0..b.len(), false);
        return Ok(vec![order]);
    }
    match sentences::in_any_order(a, b, &shape, judged.moved, wanted, check_interrupts)? {
        Some(findings) => Ok(findings),
        None => Ok(judged.findings),
    }
}

/// Whether two texts differ in white space alone, which does not count, even where it makes a line
/// of a number.
fn are_one_layout(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
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
fn whole(in_a: String, in_b: String) -> Difference {
    Difference {
        kind: Kind::Word,
        in_a,
        in_b,
        decides: true,
    }
}

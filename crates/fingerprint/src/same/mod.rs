//! Whether a person would call two texts the same, by what differs instead of how much.
//! `simhash_same` and `simhash_differences` return it.
//!
//! In the order in which two texts flow through: `layout` takes mark-up, quotation marks of mail,
//! hyphens at line ends and page numbers away, `fold` what case, accents and invisible characters
//! make, `spelling` letters that only look alike. `serbian` writes the two in one script.
//! `cutting` makes `tokens` of it, by `letters`, with `numbers` in one form; `values` gives
//! numerals, dates and amounts of both texts one form. `hunks` aligns the words of both, by their
//! longest common `subsequence`. `judge` says of each stretch that differs whether it decides, as `replaced` or
//! `added`: by the kind of its words (`nature`), by the words of `lists` and their `phrases`, and
//! by `alike`: whether two words are forms of one. `tally` settles what all together decide. Texts
//! that differ are compared once more with their equal sentences taken out (`sentences`), where
//! these stand in another order.
//!
//! The answer depends on the texts alone, and its time is linear in their length. What must not
//! live here: a threshold for how alike two texts are; that is `similarity`.

mod added;
mod alike;
mod cutting;
mod finding;
mod fold;
mod hunks;
mod judge;
mod layout;
mod letters;
mod lists;
mod marks;
mod nature;
mod numbers;
mod order;
mod pairing;
mod phrases;
mod replaced;
mod sentences;
mod serbian;
mod shape;
mod spelling;
mod subsequence;
mod tally;
#[cfg(test)]
mod tests;
mod tokens;
mod values;

use crate::error::Error;
use finding::Finding;
use judge::{Wanted, judge};
use shape::Shape;
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
            kind: finding.kind,
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
    let (mut form_of_a, mut form_of_b) = (form(a, check_interrupts)?, form(b, check_interrupts)?);
    serbian::in_one_script(&mut form_of_a, &mut form_of_b);
    if form_of_a == form_of_b {
        return Ok(Comparison::Signs(Vec::new()));
    }
    let (Some(mut in_a), Some(mut in_b)) = (
        Tokens::cut(&form_of_a, check_interrupts)?,
        Tokens::cut(&form_of_b, check_interrupts)?,
    ) else {
        return Ok(Comparison::Signs(vec![whole(form_of_a, form_of_b)]));
    };
    values::meet(
        (&mut in_a, &form_of_a),
        (&mut in_b, &form_of_b),
        check_interrupts,
    );
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
    let mut findings = verdict(first, second, wanted, check_interrupts)?;
    if swapped {
        findings.iter_mut().for_each(Finding::swap);
    }
    Ok(Comparison::Findings(in_a, in_b, findings))
}

/// The form in which the words of a text are compared.
fn form(text: &str, check_interrupts: &mut dyn FnMut()) -> Result<String, Error> {
    let plain = layout::plain(text.trim(), check_interrupts)?;
    let mut folded = String::new();
    folded
        .try_reserve(3 * plain.len())
        .map_err(|_| Error::OutOfMemory)?;
    check_interrupts();
    fold::fold_into(&plain, &mut folded);
    check_interrupts();
    Ok(spelling::one_spelling(folded))
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
    match sentences::in_any_order(a, b, &shape, judged.moved, wanted, check_interrupts)? {
        Some(findings) => Ok(findings),
        None => Ok(judged.findings),
    }
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

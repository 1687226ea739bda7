//! Whether a person would call two texts the same, by what differs instead of how much.
//! `simhash_same` and `simhash_why` return it.
//!
//! In the order in which two texts flow through: `numbers` tells most texts of one template apart, `prepared` is a text as it is compared, `cut` into words
//! without what carries it. `compare` brings two of them together. `values` gives what stands for one value
//! one form. `align` finds the words that differ and those that are forms of one. `judge` says of each
//! stretch that differs whether it decides, and then what all together decide. `lists` has the words that
//! decide and those that do not; all figures by which texts are judged are in `limits`, with their reasons.
//!
//! The answer depends on the texts alone, and its time is linear in their length. What must not
//! live here: a threshold for how alike two texts are; that is `similarity`.

mod align;
mod compare;
mod cut;
mod judge;
mod limits;
mod lists;
mod numbers;
mod prepared;
#[cfg(test)]
mod tests;
mod values;

use crate::error::Error;
use crate::hash::packed;
use crate::text::markup::with_room;
use compare::{Comparison, compare};
use judge::Wanted;
use judge::finding::Finding;

pub use judge::finding::Kind;
pub use numbers::{Numbers, OneNumber};
pub use prepared::Prepared;

/// Words of a text that are compared: one by one up to here, all together beyond. So it is with those
/// between the common ends of two texts that [`crate::similarity::diff`] shows.
pub use cut::MOST_WORDS;

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

/// How much two texts may differ that are called the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// As a person would say it.
    Person,
    /// In spelling and layout alone: whatever is added, left out, moved or mistyped decides. For what
    /// deletes, merges or refuses.
    Strict,
}

/// Whether a person would call two texts the same. `check_interrupts` is called now and then and may unwind.
pub fn same(a: &str, b: &str, check_interrupts: &mut dyn FnMut()) -> Result<bool, Error> {
    same_as(a, b, Strictness::Person, check_interrupts)
}

/// Whether two texts are the same, as strictly as wanted.
pub fn same_as(
    a: &str,
    b: &str,
    strictness: Strictness,
    check_interrupts: &mut dyn FnMut(),
) -> Result<bool, Error> {
    if a == b {
        return Ok(true);
    }
    if Numbers::of(a)?.differ(&Numbers::of(b)?) {
        return Ok(false);
    }
    let prepared = [
        Prepared::new(a, check_interrupts)?,
        Prepared::new(b, check_interrupts)?,
    ];
    same_prepared(
        (a, &prepared[0]),
        (b, &prepared[1]),
        strictness,
        check_interrupts,
    )
}

/// Whether two texts are the same that were prepared before, whose [`Numbers`] do not differ.
pub fn same_prepared(
    a: (&str, &Prepared),
    b: (&str, &Prepared),
    strictness: Strictness,
    check_interrupts: &mut dyn FnMut(),
) -> Result<bool, Error> {
    let wanted = match strictness {
        _ if a.0 == b.0 => return Ok(true),
        Strictness::Person => Wanted::Verdict,
        Strictness::Strict => Wanted::Strict,
    };
    Ok(match compare(a, b, wanted, check_interrupts)? {
        Comparison::Findings { findings, .. } => {
            let is_tolerated = |finding: &Finding| {
                !finding.decides && (wanted == Wanted::Verdict || finding.kind == Kind::Spelling)
            };
            findings.iter().all(is_tolerated)
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
    let prepared = [
        Prepared::new(a, check_interrupts)?,
        Prepared::new(b, check_interrupts)?,
    ];
    let (a, b) = ((a, &prepared[0]), (b, &prepared[1]));
    let (in_a, in_b, findings) = match compare(a, b, Wanted::All, check_interrupts)? {
        Comparison::Findings {
            in_a,
            in_b,
            findings,
        } => (in_a, in_b, findings),
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

/// Whether a word is one of those between spaces.
fn is_one_of(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// A hash for which texts can be made, the same everywhere.
#[inline]
fn quick_hash(word: &str) -> usize {
    let mixed =
        |hash: u64, eight: u64| (hash.rotate_left(5) ^ eight).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (eights, rest) = word.as_bytes().as_chunks();
    let hash = word.len() as u64;
    let hash = eights
        .iter()
        .fold(hash, |hash, eight| mixed(hash, u64::from_le_bytes(*eight)));
    (mixed(hash, packed(rest)) >> 32) as usize
}

fn copied(text: &str) -> Result<String, Error> {
    let mut copied = with_room(text.len())?;
    copied.push_str(text);
    Ok(copied)
}

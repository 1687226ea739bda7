//! The words in which two texts differ, marked as `git diff --word-diff=plain` marks them; those that
//! decide are marked in another way. `simhash_diff` returns them. The answer depends on the texts
//! alone, and its time is linear in their length: what differs for too long is not compared by
//! words, and the answer says so.
//!
//! A word is a Unicode word of the normal form (UAX #29), so a Chinese character is one, and any
//! other character but white space. `cutting` finds words, `alignment` those that differ, `deciding`
//! says which of them decide, `marking` writes them down.

pub(crate) mod alignment;
mod cutting;
mod deciding;
mod marking;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::same::{Difference, MOST_WORDS};
use alignment::{Hunk, align};
use cutting::{Form, Words, common_ends};
use deciding::mark_deciding;
use marking::Marked;
use std::ops::Range;

/// Rounds of a loop between two pauses.
const CHECKED_EVERY: usize = 4096;

/// Longest answer, in bytes: what a value of the server may have.
pub const MOST_BYTES: usize = 0x3fff_ffff - 4;

/// Returns what differs between two texts, each stretch of equal words shortened to `context` words
/// at both ends. `judged` is what [`crate::same::differences`] says of them. `check_interrupts` is called now
/// and then and may unwind.
pub fn diff(
    a: &str,
    b: &str,
    context: usize,
    judged: &[Difference],
    check_interrupts: &mut dyn FnMut(),
) -> Result<String, Error> {
    let mut found = changes(a, b, Form::Normal, check_interrupts)?;
    if !mark_deciding(a, b, &mut found, judged, check_interrupts)? {
        // The normal form does not have it: 10⁶ and 106.
        found = changes(a, b, Form::AsWritten, check_interrupts)?;
        if !mark_deciding(a, b, &mut found, judged, check_interrupts)?
            && !found.iter().any(|change| change.decides)
        {
            found.iter_mut().for_each(|change| change.decides = true);
        }
    }
    let mut marked = Marked::new(b, context);
    for change in found {
        marked.change(a, &change, check_interrupts)?;
    }
    marked.finish(check_interrupts)
}

/// Bytes of each text that differ, from the first word to the last; empty behind the word in front
/// when there is none.
#[derive(Debug)]
struct Change {
    a: Range<usize>,
    b: Range<usize>,
    /// The white space of the first text in front and behind.
    gaps_of_a: [Range<usize>; 2],
    /// Too long to be compared by words.
    coarse: bool,
    /// It makes another text.
    decides: bool,
}

/// Returns the changes from one text to the other, in order.
fn changes(
    a: &str,
    b: &str,
    form: Form,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<Change>, Error> {
    let (front, back) = common_ends(a, b, check_interrupts);
    let (in_a, in_b) = (front..a.len() - back, front..b.len() - back);
    let words_of_a = Words::cut(a, in_a.clone(), form, MOST_WORDS, check_interrupts)?;
    let words_of_b = Words::cut(b, in_b.clone(), form, MOST_WORDS, check_interrupts)?;
    let (Some(words_of_a), Some(words_of_b)) = (words_of_a, words_of_b) else {
        let whole = [Words::one(a, in_a), Words::one(b, in_b)];
        let hunk = Hunk {
            a: 0..1,
            b: 0..1,
            coarse: true,
        };
        return Ok(vec![hunk.in_bytes(&whole[0], &whole[1])]);
    };
    let hunks = align(&words_of_a, &words_of_b, check_interrupts)?;
    let mut changes = Vec::new();
    changes
        .try_reserve_exact(hunks.len())
        .map_err(|_| Error::OutOfMemory)?;
    changes.extend(
        hunks
            .iter()
            .map(|hunk| hunk.in_bytes(&words_of_a, &words_of_b)),
    );
    Ok(changes)
}

impl Hunk {
    fn in_bytes(&self, a: &Words, b: &Words) -> Change {
        Change {
            a: a.bytes(&self.a),
            b: b.bytes(&self.b),
            gaps_of_a: a.gaps(&self.a),
            coarse: self.coarse,
            decides: false,
        }
    }
}

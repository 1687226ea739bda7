//! Two texts as one, with what only the first has in `[-` `-]` and what only the second has in `{+`
//! `+}`, or in `[!` `!]` and `{!` `!}` where that decides. [`super`] calls it. Without the marks and
//! the words of the first it is the second text, white space aside; equal words are those of the
//! second.

use super::cutting::{end_of_first, start_of_last};
use super::{Change, MOST_BYTES};
use crate::error::Error;

/// Written for the words that a stretch of equal ones is shortened by.
const LEFT_OUT: &str = "...";

/// Written in front of a change that is too long to be compared by words.
const COARSE: &str = "(not compared by words) ";

/// Writes changes down.
pub struct Marked<'a> {
    /// The second text, of which equal words are shown.
    b: &'a str,
    context: usize,
    /// How far `b` is written.
    at: usize,
    /// Whether there was a change, and the white space of the first text behind it.
    last: Option<&'a str>,
    text: String,
}

impl<'a> Marked<'a> {
    pub fn new(b: &'a str, context: usize) -> Self {
        Self {
            b,
            context,
            at: 0,
            last: None,
            text: String::new(),
        }
    }

    /// Writes the equal words in front of a change, and the change.
    pub fn change(
        &mut self,
        a: &'a str,
        change: &Change,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let in_front = self.b[self.at..change.b.start].trim_end();
        let gap = &self.b[self.at + in_front.len()..change.b.start];
        let left_out = self.equal(in_front, true, check_interrupts)?;
        let gap_of_a = &a[change.gaps_of_a[0].clone()];
        let gap = match (change.a.is_empty(), change.b.is_empty()) {
            (false, true) => gap_of_a,
            (false, false) if gap.is_empty() => gap_of_a,
            _ => gap,
        };
        self.push(if left_out && gap.is_empty() { " " } else { gap })?;
        if change.coarse {
            self.push(COARSE)?;
        }
        let (in_a, in_b) = (&a[change.a.clone()], &self.b[change.b.clone()]);
        match change.decides {
            true => self.marked(["[!", in_a, "!]"], ["{!", in_b, "!}"])?,
            false => self.marked(["[-", in_a, "-]"], ["{+", in_b, "+}"])?,
        }
        self.at = change.b.end;
        let behind = &a[change.gaps_of_a[1].clone()];
        self.last = Some(if change.a.is_empty() { "" } else { behind });
        Ok(())
    }

    fn marked(&mut self, in_a: [&str; 3], in_b: [&str; 3]) -> Result<(), Error> {
        let parts = [in_a, in_b]
            .into_iter()
            .filter(|[_, words, _]| !words.is_empty());
        parts.flatten().try_for_each(|part| self.push(part))
    }

    /// Writes words that both texts have, in front of a change or, unless `changes`, of the end.
    /// Returns whether the last of them were left out.
    fn equal(
        &mut self,
        words: &str,
        changes: bool,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<bool, Error> {
        if words.trim_start().len() == words.len() && !words.is_empty() {
            self.push(self.last.unwrap_or_default())?;
        }
        let alone = !changes && self.last.is_none();
        let head = match self.last.is_some() || alone {
            true => end_of_first(words, self.context, check_interrupts),
            false => 0,
        };
        let tail = match changes || alone {
            true => start_of_last(words, self.context, check_interrupts)?,
            false => words.len(),
        };
        if head >= tail || words[head..tail].trim().is_empty() {
            self.push(words)?;
            return Ok(false);
        }
        self.push(&words[..head])?;
        if !self.text.is_empty() {
            self.push(" ")?;
        }
        self.push(LEFT_OUT)?;
        let left_out = tail == words.len();
        if !left_out {
            self.push(" ")?;
            self.push(&words[tail..])?;
        }
        Ok(left_out)
    }

    fn push(&mut self, text: &str) -> Result<(), Error> {
        if text.len() > MOST_BYTES - self.text.len() {
            return Err(Error::ResultTooLong { most: MOST_BYTES });
        }
        self.text
            .try_reserve(text.len())
            .map_err(|_| Error::OutOfMemory)?;
        self.text.push_str(text);
        Ok(())
    }

    /// Writes the equal words behind the last change.
    pub fn finish(mut self, check_interrupts: &mut dyn FnMut()) -> Result<String, Error> {
        let rest = &self.b[self.at..];
        self.equal(rest, false, check_interrupts)?;
        Ok(self.text)
    }
}

//! The words of a text's normal form with their places in the text, and the ends that two texts have
//! in common. [`super`] cuts both texts with it. White space alone is in no word.

use super::CHECKED_EVERY;
use crate::error::Error;
use crate::text::pieces::PlacedForm;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Bytes that are compared between two pauses.
const BLOCK: usize = 1 << 16;

/// In which form words are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Normal,
    AsWritten,
}

/// The words of a part of a text.
pub struct Words {
    part: Range<usize>,
    /// The form of the part in which its words are compared.
    form: String,
    places: Vec<WordPlace>,
}

/// Where a word begins and ends, in bytes of the text and of the form. Words of one character, as
/// those of ½, have one place in the text.
struct WordPlace {
    written: (u32, u32),
    form: (u32, u32),
}

impl Words {
    /// Cuts a part of a text; None when it has more words than `most`.
    pub fn cut(
        text: &str,
        part: Range<usize>,
        form: Form,
        most: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Option<Self>, Error> {
        let placed = match form {
            Form::Normal => PlacedForm::normal(&text[part.clone()], check_interrupts)?,
            Form::AsWritten => PlacedForm::as_written(&text[part.clone()])?,
        };
        let mut places = Vec::new();
        for (n, word) in pieces(&placed.form).enumerate() {
            if n.is_multiple_of(CHECKED_EVERY) {
                check_interrupts();
            }
            if word.is_empty() {
                continue;
            }
            if places.len() == most {
                return Ok(None);
            }
            places.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
            let written = placed.written(word.clone());
            let place = |at: usize| (part.start + at) as u32;
            places.push(WordPlace {
                written: (place(written.start), place(written.end)),
                form: (word.start as u32, word.end as u32),
            });
        }
        Ok(Some(Self {
            part,
            form: placed.form,
            places,
        }))
    }

    /// A part of a text as one word, without the white space at its ends.
    pub fn one(text: &str, part: Range<usize>) -> Self {
        let inner = &text[part.clone()];
        let start = part.start + (inner.len() - inner.trim_start().len());
        let end = start + inner.trim().len();
        Self {
            part,
            form: String::new(),
            places: vec![WordPlace {
                written: (start as u32, end as u32),
                form: (0, 0),
            }],
        }
    }

    /// Returns how many words there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The words in the form in which they are compared.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        let form = |place: &WordPlace| &self.form[place.form.0 as usize..place.form.1 as usize];
        self.places.iter().map(form)
    }

    /// Returns whether word `i` and the one in front of it come from one character.
    pub fn splits_character(&self, i: usize) -> bool {
        i > 0 && i < self.len() && self.start(i) < self.end_before(i)
    }

    /// Where the word in front of word `i` ends.
    fn end_before(&self, i: usize) -> usize {
        match i.checked_sub(1) {
            Some(before) => self.places[before].written.1 as usize,
            None => self.part.start,
        }
    }

    /// Where word `i` begins, or the part ends.
    fn start(&self, i: usize) -> usize {
        self.places
            .get(i)
            .map_or(self.part.end, |word| word.written.0 as usize)
    }

    /// The bytes from the first to the last of these words.
    pub fn bytes(&self, words: &Range<usize>) -> Range<usize> {
        match words.is_empty() {
            true => self.end_before(words.start)..self.end_before(words.start),
            false => self.start(words.start)..self.end_before(words.end),
        }
    }

    /// The white space in front of these words and behind them.
    pub fn gaps(&self, words: &Range<usize>) -> [Range<usize>; 2] {
        [words.start, words.end].map(|i| self.end_before(i)..self.start(i))
    }
}

/// The words of a text, in bytes, with an empty one between two white spaces. White space ends a
/// word, and what has no space, mark or the like between letters is one.
pub fn pieces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let base = text.as_ptr().addr();
    text.split(char::is_whitespace).flat_map(move |chunk| {
        let start = chunk.as_ptr().addr() - base;
        let plain = chunk.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let words = (!plain).then(|| chunk.split_word_bound_indices());
        let words = words.into_iter().flatten();
        let words = plain.then_some((0, chunk)).into_iter().chain(words);
        words.map(move |(at, word)| start + at..start + at + word.len())
    })
}

/// Returns how many bytes two texts have in common at the front and at the back, up to white space:
/// all of the text in front when both are the same.
pub fn common_ends<'a>(
    a: &'a str,
    b: &'a str,
    check_interrupts: &mut dyn FnMut(),
) -> (usize, usize) {
    let blocks = |a: &[u8], b: &[u8]| a.len().min(b.len()).div_ceil(BLOCK);
    let mut common = 0;
    for _ in 0..blocks(a.as_bytes(), b.as_bytes()) {
        check_interrupts();
        let (a, b) = (
            block(&a.as_bytes()[common..]),
            block(&b.as_bytes()[common..]),
        );
        let equal = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        common += equal;
        if equal < BLOCK {
            break;
        }
    }
    if common == a.len() && common == b.len() {
        return (common, 0);
    }
    let front = a[..a.floor_char_boundary(common)]
        .rfind(char::is_whitespace)
        .unwrap_or(0);
    let (a, b) = (&a[front..], &b[front..]);
    let mut common = 0;
    for _ in 0..blocks(a.as_bytes(), b.as_bytes()) {
        check_interrupts();
        let tail = |text: &'a str| last(&text.as_bytes()[..text.len() - common]);
        let (a, b) = (tail(a), tail(b));
        let equal = a.iter().rev().zip(b.iter().rev());
        let equal = equal.take_while(|(a, b)| a == b).count();
        common += equal;
        if equal < BLOCK {
            break;
        }
    }
    let suffix = &a[a.ceil_char_boundary(a.len() - common)..];
    let space = suffix.find(char::is_whitespace);
    (front, space.map_or(0, |at| suffix.len() - at))
}

fn block(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(BLOCK)]
}

fn last(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.len().saturating_sub(BLOCK)..]
}

/// Returns where the first `count` words of a text end.
pub fn end_of_first(text: &str, count: usize, check_interrupts: &mut dyn FnMut()) -> usize {
    let (mut end, mut found) = (0, 0);
    for (n, word) in pieces(text).enumerate() {
        if n.is_multiple_of(CHECKED_EVERY) {
            check_interrupts();
        }
        if found == count {
            break;
        }
        if !word.is_empty() {
            (end, found) = (word.end, found + 1);
        }
    }
    end
}

/// Returns where the last `count` words of a text begin.
pub fn start_of_last(
    text: &str,
    count: usize,
    check_interrupts: &mut dyn FnMut(),
) -> Result<usize, Error> {
    if count == 0 {
        return Ok(text.len());
    }
    // A few words do not need the whole text.
    let mut bytes = count.saturating_mul(16);
    loop {
        let from = text.len().saturating_sub(bytes);
        let from = text[..text.floor_char_boundary(from)]
            .rfind(char::is_whitespace)
            .unwrap_or(0);
        let words = Words::cut(
            text,
            from..text.len(),
            Form::AsWritten,
            usize::MAX,
            check_interrupts,
        )?;
        if let Some(words) = words
            && (from == 0 || words.len() >= count)
        {
            return Ok(words.start(words.len().saturating_sub(count)));
        }
        bytes = bytes.saturating_mul(4);
    }
}

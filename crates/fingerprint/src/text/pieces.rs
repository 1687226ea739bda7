//! A text in pieces, each with a normal form that does not depend on what stands beside it. What
//! compares normal forms and shows a text as it is written reads it so: `similarity::diff` and
//! `similarity::shared_passages`. One behind the other, the forms of the pieces are that of the text.

use std::ops::Range;

use super::normal::{Normalize, depends_on_others, normalize_into, simple_form};
use crate::error::Error;

/// Bytes of characters that are composed, at most: texts that mean something have few marks in a row.
const COMPOSED: usize = 256;
const JOINER: char = '\u{200d}';
/// Pieces between two checks for interrupts.
const CHECKED_EVERY: usize = 4096;

/// Whether a character is composed with those in front of it, or shown as one with them, as the
/// members of a family of emoji are.
fn belongs_to(last: char, c: char) -> bool {
    simple_form(c).is_none() && depends_on_others(c)
        || last == JOINER && !c.is_alphanumeric() && !c.is_whitespace()
}

/// Calls `piece` with the bytes and the normal form of each piece: a character with those that are
/// composed with it. Stops at the first error.
pub fn for_each_piece(
    text: &str,
    check_interrupts: &mut dyn FnMut(),
    mut piece: impl FnMut(Range<usize>, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut characters = text.char_indices().peekable();
    let (mut normal, mut utf8) = (String::new(), [0; 4]);
    let mut pieces = 0usize;
    while let Some((start, first)) = characters.next() {
        if pieces.is_multiple_of(CHECKED_EVERY) {
            check_interrupts();
        }
        pieces += 1;
        let mut end = start + first.len_utf8();
        let alone = end;
        let mut last = first;
        while let Some((at, c)) =
            characters.next_if(|(at, c)| at - start < COMPOSED && belongs_to(last, *c))
        {
            (end, last) = (at + c.len_utf8(), c);
        }
        match simple_form(first) {
            Some(c) if end == alone => piece(start..end, c.encode_utf8(&mut utf8))?,
            _ => {
                normal.clear();
                normalize_into(&text[start..end], Normalize::Fold, &mut normal);
                piece(start..end, &normal)?;
            }
        }
    }
    Ok(())
}

/// A form of a text, and which bytes of the text each of its bytes comes from.
#[derive(Default)]
pub struct PlacedForm {
    pub form: String,
    /// The pieces that are not one character with a form of one character of that length.
    moved: Vec<Moved>,
}

/// The bytes of a piece and of its form.
struct Moved {
    written: Range<u32>,
    form: Range<u32>,
}

impl PlacedForm {
    /// The text itself.
    pub fn as_written(text: &str) -> Result<Self, Error> {
        let mut placed = Self::default();
        placed.push(text)?;
        Ok(placed)
    }

    /// The normal form of a text.
    pub fn normal(text: &str, check_interrupts: &mut dyn FnMut()) -> Result<Self, Error> {
        if text.is_ascii() {
            let mut placed = Self::as_written(text)?;
            placed.form.make_ascii_lowercase();
            return Ok(placed);
        }
        let mut placed = Self::default();
        for_each_piece(text, check_interrupts, |written, form| {
            let begin = placed.form.len();
            placed.push(form)?;
            if form.len() != written.len() || form.chars().nth(1).is_some() {
                let more = placed.moved.try_reserve(1);
                more.map_err(|_| Error::OutOfMemory)?;
                placed.moved.push(Moved {
                    written: written.start as u32..written.end as u32,
                    form: begin as u32..placed.form.len() as u32,
                });
            }
            Ok(())
        })?;
        Ok(placed)
    }

    fn push(&mut self, form: &str) -> Result<(), Error> {
        let more = self.form.try_reserve(form.len());
        more.map_err(|_| Error::OutOfMemory)?;
        self.form.push_str(form);
        match u32::try_from(self.form.len()) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::OutOfMemory),
        }
    }

    /// Where some bytes of the form come from: whole pieces.
    pub fn written(&self, form: Range<usize>) -> Range<usize> {
        let (start, end) = (form.start as u32, form.end as u32);
        let after = |moved: &Moved, at: u32| moved.written.end + (at - moved.form.end);
        let start = match self.last_moved(|moved| moved.form.start <= start) {
            Some(moved) if start < moved.form.end => moved.written.start,
            moved => moved.map_or(start, |moved| after(moved, start)),
        };
        let end = match self.last_moved(|moved| moved.form.start < end) {
            Some(moved) if end <= moved.form.end => moved.written.end,
            moved => moved.map_or(end, |moved| after(moved, end)),
        };
        start as usize..end as usize
    }

    fn last_moved(&self, begins: impl Fn(&Moved) -> bool) -> Option<&Moved> {
        self.moved[..self.moved.partition_point(begins)].last()
    }
}

#[cfg(test)]
mod tests {
    use super::super::normal::normal_word;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_place_is_that_of_whole_characters() {
        for (text, part, written) in [
            ("The LAMP", "lamp", "LAMP"),
            ("un cafe\u{301} noir", "cafe", "cafe\u{301}"),
            ("\u{feff}große ß", "grosse", "große"),
            ("a re\u{ad}pair", "repair", "re\u{ad}pair"),
            ("1½ h", "2", "½"),
            ("1½ h", " h", " h"),
            ("℃ x", "c", "℃"),
            ("x 👩‍👧 y", "👧", "👩‍👧"),
        ] {
            let placed = PlacedForm::normal(text, &mut || {}).unwrap();
            let begin = placed.form.find(part).unwrap();
            let found = placed.written(begin..begin + part.len());
            assert_eq!(&text[found], written, "{text:?}");
        }
    }

    #[test]
    fn the_text_itself_has_the_places_of_the_text() {
        let placed = PlacedForm::as_written("Ｘß").unwrap();
        assert_eq!((placed.form.as_str(), placed.written(3..5)), ("Ｘß", 3..5));
    }

    #[test]
    fn long_texts_pause() {
        for letter in ["é", "中", "\u{301}"] {
            let (text, mut pauses) = (letter.repeat(1 << 16), 0);
            PlacedForm::normal(&text, &mut || pauses += 1).unwrap();
            assert!(pauses > 0, "{letter}");
        }
    }

    proptest! {
        #[test]
        fn forms_of_pieces_are_the_normal_form(
            text in "[aZ é中ß，Ａ…½“か\u{301}\u{3099}\u{1100}\u{1161}ﬁ🙂👩👧\u{ad}\u{200d}İς\u{648}\u{654}٣]{0,24}",
        ) {
            let (mut forms, mut end) = (String::new(), 0);
            for_each_piece(&text, &mut || {}, |written, form| {
                assert_eq!(written.start, end);
                end = written.end;
                forms.push_str(form);
                Ok(())
            }).unwrap();
            prop_assert_eq!(end, text.len());
            let placed = PlacedForm::normal(&text, &mut || {}).unwrap();
            prop_assert_eq!(&placed.form, &forms);
            prop_assert_eq!(forms.trim(), normal_word(&text).unwrap());
            // The place of each character of the form has it in its own form.
            for (at, c) in forms.char_indices() {
                let written = placed.written(at..at + c.len_utf8());
                let mut own = String::new();
                normalize_into(&text[written], Normalize::Fold, &mut own);
                prop_assert!(own.contains(c), "{:?} {:?}", own, c);
            }
        }
    }
}

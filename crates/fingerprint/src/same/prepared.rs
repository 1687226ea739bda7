//! A text as it is compared, which is made once and compared with many: its form, the words it is cut into,
//! and these in one wording, each when it is first asked for. [`super`] makes two of them for each pair, unless a caller keeps them. What
//! depends on the other text is in none.

use super::cut::bytes::Bytes;
use super::cut::{code, form, frame, layout, wording};
use crate::error::Error;
use crate::same::align::sketch::Sketch;
use crate::same::cut::tokens::Tokens;
use std::borrow::Cow;
use std::cell::OnceCell;

/// A text, cut.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(super) is_code: bool,
    pub(super) is_element: bool,
    may_be_cyrillic: bool,
    /// Empty for code.
    pub(super) form: String,
    /// None for more words than are compared.
    cut: OnceCell<Option<Tokens>>,
    worded: OnceCell<Worded>,
    sketch: OnceCell<Option<Sketch>>,
}

/// What other wordings and the frame make of the words.
#[derive(Clone, Debug, Default)]
struct Worded {
    /// None where they are as they were cut.
    tokens: Option<Tokens>,
    has_other_words: bool,
}

impl Prepared {
    /// Cuts a text.
    pub fn new(text: &str, check_interrupts: &mut dyn FnMut()) -> Result<Self, Error> {
        let bytes = Bytes::of(text);
        if code::is_code(text, &bytes) {
            return Ok(Self {
                is_code: true,
                is_element: false,
                may_be_cyrillic: false,
                form: String::new(),
                cut: OnceCell::new(),
                worded: OnceCell::new(),
                sketch: OnceCell::new(),
            });
        }
        Ok(Self {
            is_element: bytes.have(b"<") && code::is_element(text),
            ..Self::of_form(form(text, &bytes, check_interrupts)?)
        })
    }

    /// A text in the form in which it is compared.
    fn of_form(form: String) -> Self {
        Self {
            is_code: false,
            is_element: false,
            may_be_cyrillic: form::may_be_cyrillic(&form),
            form,
            cut: OnceCell::new(),
            worded: OnceCell::new(),
            sketch: OnceCell::new(),
        }
    }

    /// Its words; None for more than are compared.
    pub(super) fn cut(&self, check_interrupts: &mut dyn FnMut()) -> Result<Option<&Tokens>, Error> {
        let cut = match self.cut.get() {
            Some(cut) => cut,
            None => {
                let cut = Tokens::cut(&self.form, check_interrupts)?;
                self.cut.get_or_init(|| cut)
            }
        };
        Ok(cut.as_ref())
    }

    /// Makes all that is made once, without room for more: it is kept for many comparisons.
    pub fn complete(&mut self, check_interrupts: &mut dyn FnMut()) -> Result<(), Error> {
        self.form.shrink_to_fit();
        self.cut(check_interrupts)?;
        if let Some(Some(cut)) = self.cut.get_mut() {
            cut.shrink();
        }
        if let Some(cut) = self.cut(check_interrupts)? {
            self.sketch(cut);
            self.worded(cut, check_interrupts)?;
        }
        Ok(())
    }

    /// Bytes that it takes once it is complete.
    pub fn bytes(&self) -> usize {
        let worded = self.worded.get().and_then(|worded| worded.tokens.as_ref());
        let cut = self.cut.get().and_then(Option::as_ref);
        let tokens = cut.into_iter().chain(worded).map(Tokens::bytes);
        let sketch = self.sketch.get().and_then(Option::as_ref);
        size_of::<Self>()
            + self.form.capacity()
            + tokens.sum::<usize>()
            + sketch.map_or(0, Sketch::bytes)
    }

    /// The same text in Latin letters, if it is in Cyrillic ones and the other one in Latin ones.
    pub(super) fn in_script_of(&self, other: &Self) -> Result<Option<Self>, Error> {
        if !self.may_be_cyrillic || other.may_be_cyrillic {
            return Ok(None);
        }
        let latin = form::in_script_of(&self.form, &other.form)?;
        Ok(latin.map(Self::of_form))
    }

    pub(super) fn sketch(&self, cut: &Tokens) -> Option<&Sketch> {
        self.sketch.get_or_init(|| Sketch::new(cut)).as_ref()
    }

    /// The words in one wording, with what carries the text marked; and whether other words are among them.
    pub(super) fn worded<'t>(
        &'t self,
        cut: &'t Tokens,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(&'t Tokens, bool), Error> {
        let worded = match self.worded.get() {
            Some(worded) => worded,
            None => {
                let (tokens, has_other_words) = in_one_wording(cut, check_interrupts)?;
                let tokens = match tokens {
                    Cow::Owned(tokens) => Some(tokens),
                    Cow::Borrowed(_) => None,
                };
                self.worded.get_or_init(|| Worded {
                    tokens,
                    has_other_words,
                })
            }
        };
        let tokens = worded.tokens.as_ref().unwrap_or(cut);
        Ok((tokens, worded.has_other_words))
    }
}

/// Words in one wording, with what carries the text marked; and whether other words are among them.
pub(super) fn in_one_wording<'t>(
    words: &'t Tokens,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(Cow<'t, Tokens>, bool), Error> {
    check_interrupts();
    let other = wording::in_one_form(words, check_interrupts)?;
    let has_other_words = other.is_some();
    let mut words = other.map_or(Cow::Borrowed(words), Cow::Owned);
    if let Some(inner) = frame::inner(&words) {
        let mut marked = match words {
            Cow::Owned(words) => words,
            Cow::Borrowed(words) => words.copied()?,
        };
        frame::mark(&mut marked, inner);
        words = Cow::Owned(marked);
    }
    check_interrupts();
    Ok((words, has_other_words))
}

/// The form in which the words of a text are compared.
fn form(text: &str, bytes: &Bytes, check_interrupts: &mut dyn FnMut()) -> Result<String, Error> {
    let plain = layout::plain(text.trim(), bytes, check_interrupts)?;
    let of_plain;
    let bytes = match &plain {
        Cow::Borrowed(_) => bytes,
        Cow::Owned(plain) => {
            of_plain = Bytes::of(plain);
            &of_plain
        }
    };
    let plain = layout::signs_apart(&plain, bytes)?;
    let mut folded = String::new();
    folded
        .try_reserve(plain.len() + if plain.is_ascii() { 0 } else { 2 * plain.len() })
        .map_err(|_| Error::OutOfMemory)?;
    check_interrupts();
    form::fold_into(&plain, &mut folded)?;
    check_interrupts();
    form::one_spelling(folded)
}

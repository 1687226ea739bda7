//! Text out of HTML: tags, comments, scripts and styles go, character references are decoded. Mails and
//! subtitles have files of their own.
//!
//! html5gum reads a text as the HTML standard's tokenizer does; here is what becomes of its tokens.
//! No tree is built: an element that hides its content ends at its own end tag, and nothing else
//! depends on what stands in what. docs/reference/options.md (Markup) has the rules.

use std::borrow::Cow;

use html5gum::{Emitter, Readable, Reader, State, Tokenizer};
use serde::Deserialize;

use super::mail::own_text;
use super::subtitles::spoken;
use crate::error::{Error, check_memory};

/// Markup of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Markup {
    /// All of the text is read as it is.
    None,
    /// Tags, comments, scripts and styles are taken out, and character references are decoded.
    Html,
    /// Quoted replies, the signature and notices of a mail are taken out.
    Mail,
    /// The numbers, times and tags of subtitles are taken out.
    Subtitles,
}

/// Bytes between two checks for interrupts.
const CHUNK: usize = 1 << 16;

/// The text without its markup. `check_interrupts` is called often, and may unwind.
pub fn strip<'t>(
    markup: Markup,
    text: &'t str,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Cow<'t, str>, Error> {
    match markup {
        Markup::None => return Ok(Cow::Borrowed(text)),
        Markup::Html => (),
        Markup::Mail => return own_text(text, check_interrupts).map(Cow::Owned),
        Markup::Subtitles => return spoken(text, check_interrupts).map(Cow::Owned),
    }
    let mut stripped = Vec::new();
    let input = HtmlReader {
        rest: text.as_bytes(),
        since_pause: 0,
        letters: 0,
        check_interrupts,
    };
    // The emitter has no token but a failure.
    let failure = Tokenizer::new_with_emitter(input, TextEmitter::new(&mut stripped)).next();
    if let Some(Ok(error) | Err(error)) = failure {
        return Err(error);
    }
    // Markup begins and ends with ASCII, so that what is left is UTF-8.
    let stripped = String::from_utf8(stripped);
    debug_assert!(stripped.is_ok());
    Ok(stripped.map_or(Cow::Borrowed(text), Cow::Owned))
}

/// An empty text with room for that many bytes.
pub fn with_room(bytes: usize) -> Result<String, Error> {
    let mut text = String::new();
    let reserved = text.try_reserve_exact(bytes);
    reserved.map_err(|_| Error::OutOfMemory)?;
    Ok(text)
}

/// The text, as the tokenizer reads it. Calls of these functions for each byte would take as long
/// as the rest.
struct HtmlReader<'a> {
    rest: &'a [u8],
    /// Bytes read since the last check for interrupts.
    since_pause: usize,
    /// Number of letters that have been read one by one.
    letters: usize,
    check_interrupts: &'a mut dyn FnMut(),
}

impl<'a> HtmlReader<'a> {
    #[inline(always)]
    fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (read, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.since_pause += bytes;
        if self.since_pause >= CHUNK {
            self.since_pause = 0;
            (self.check_interrupts)();
        }
        read
    }
}

impl Reader for HtmlReader<'_> {
    type Error = Error;

    /// The tokenizer keeps letters that may be an end tag's name, those after `</` in a script for
    /// one, in a vector of its own, which aborts the process when there is no memory for it. It
    /// reads them one by one.
    #[inline(always)]
    fn read_byte(&mut self) -> Result<Option<u8>, Error> {
        let Some(&byte) = self.rest.first() else {
            return Ok(None);
        };
        self.take(1);
        self.letters = match byte.is_ascii_alphabetic() {
            true => self.letters + 1,
            false => 0,
        };
        if self.letters >= CHUNK && self.letters.is_power_of_two() {
            // The vector doubles once before the next check, starting from less than twice this.
            check_memory(4 * self.letters)?;
        }
        Ok(Some(byte))
    }

    fn try_read_string(&mut self, string: &[u8], case_sensitive: bool) -> Result<bool, Error> {
        let found = match self.rest.get(..string.len()) {
            Some(found) if case_sensitive => found == string,
            Some(found) => found.eq_ignore_ascii_case(string),
            None => false,
        };
        if found {
            self.take(string.len());
        }
        Ok(found)
    }

    #[inline(always)]
    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        char_buf: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Error> {
        let mut window = self.rest[..self.rest.len().min(CHUNK)].to_reader();
        let Ok(read) = window.read_until(needle, char_buf);
        let read = read.map(<[u8]>::len);
        Ok(read.map(|bytes| self.take(bytes)))
    }
}

/// An element whose content is not markup up to its end tag.
struct RawElement {
    name: &'static [u8],
    state: State,
    /// Whether its content counts.
    counts: bool,
}

const fn raw(name: &'static [u8], state: State, counts: bool) -> RawElement {
    RawElement {
        name,
        state,
        counts,
    }
}

static RAW_ELEMENTS: [RawElement; 9] = [
    raw(b"script", State::ScriptData, false),
    raw(b"style", State::RawText, false),
    raw(b"iframe", State::RawText, false),
    raw(b"noembed", State::RawText, false),
    raw(b"noframes", State::RawText, false),
    raw(b"xmp", State::RawText, true),
    raw(b"textarea", State::RcData, true),
    raw(b"title", State::RcData, true),
    raw(b"plaintext", State::PlainText, true),
];

/// Elements in the run of a text, whose tags may stand within a word.
static TEXT_LEVEL: [&str; 33] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "ins", "kbd", "mark", "nobr", "q", "s", "samp", "small", "span", "strike",
    "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
];

/// Bytes of a tag's name that are kept: one more than those of any name above.
const NAME: usize = 10;

/// Takes the tokens, and keeps those of text.
struct TextEmitter<'a> {
    text: &'a mut Vec<u8>,
    /// The name of the last tag.
    name: [u8; NAME],
    length: usize,
    is_end: bool,
    /// The raw element that is open.
    open: Option<&'static RawElement>,
    failure: Option<Error>,
}

impl<'a> TextEmitter<'a> {
    fn new(text: &'a mut Vec<u8>) -> Self {
        Self {
            text,
            name: [0; NAME],
            length: 0,
            is_end: false,
            open: None,
            failure: None,
        }
    }

    fn begin_tag(&mut self, is_end: bool) {
        self.length = 0;
        self.is_end = is_end;
    }

    fn name(&self) -> &[u8] {
        &self.name[..self.length]
    }
}

impl Emitter for TextEmitter<'_> {
    type Token = Error;

    fn pop_token(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn emit_string(&mut self, text: &[u8]) {
        if self.open.is_some_and(|open| !open.counts) {
            return;
        }
        match self.text.try_reserve(text.len()) {
            Ok(()) => self.text.extend_from_slice(text),
            Err(_) => self.failure = Some(Error::OutOfMemory),
        }
    }

    fn init_start_tag(&mut self) {
        self.begin_tag(false);
    }

    fn init_end_tag(&mut self) {
        self.begin_tag(true);
    }

    fn push_tag_name(&mut self, name: &[u8]) {
        for (to, from) in self.name[self.length..].iter_mut().zip(name) {
            *to = *from;
            self.length += 1;
        }
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        let in_word = TEXT_LEVEL.iter().any(|name| name.as_bytes() == self.name());
        let element = RAW_ELEMENTS.iter().find(|raw| raw.name == self.name());
        self.open = None;
        // One space at most, so that it does not matter how many tags stand between two texts.
        if !in_word && self.text.last().is_some_and(|c| !c.is_ascii_whitespace()) {
            self.emit_string(b" ");
        }
        self.open = element.filter(|_| !self.is_end);
        self.open.map(|element| element.state)
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.is_end && self.open.is_some_and(|open| open.name == self.name())
    }

    /// A CDATA section is text in XML, thus in feeds and in XHTML; in HTML it is a mistake.
    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        true
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    // The rest is of no interest.
    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_eof(&mut self) {}
    fn emit_error(&mut self, _: html5gum::Error) {}
    fn init_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn emit_current_comment(&mut self) {}
    fn init_doctype(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn set_force_quirks(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_self_closing(&mut self) {}
    fn init_attribute(&mut self) {}
    fn push_attribute_name(&mut self, _: &[u8]) {}
    fn push_attribute_value(&mut self, _: &[u8]) {}
}

#[cfg(test)]
#[test]
fn the_memory_of_the_tokenizer_is_asked_for() {
    let text = "a".repeat(4 * CHUNK);
    let mut input = HtmlReader {
        rest: text.as_bytes(),
        since_pause: 0,
        letters: usize::MAX / 8,
        check_interrupts: &mut || {},
    };
    assert_eq!(input.read_byte(), Err(Error::OutOfMemory));
}

//! Natural text: its normal form and its words.
//!
//! Normal form: NFKC, then lower case, character by character. Words: jieba's words in runs of Han
//! characters, Unicode words (UAX 29) elsewhere. Text is worked off in chunks, so that memory stays
//! small and a caller can stop the work between them; the time is linear in the length.

use std::collections::VecDeque;
use std::sync::OnceLock;

use jieba_rs::Jieba;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::error::Error;
use super::terms::Speech;
use super::user_words::UserWords;

/// Bytes of raw text between two pauses.
const CHUNK: usize = 1 << 16;

/// The word dictionary, loaded at the first use.
pub fn dictionary() -> &'static Jieba {
    static DICTIONARY: OnceLock<Jieba> = OnceLock::new();
    DICTIONARY.get_or_init(Jieba::new)
}

/// Calls `chunk` for each chunk of the normal form of `text`, which cuts no word, and `pause` before
/// it. `buffer` is scratch space.
pub fn for_each_chunk(
    text: &str,
    buffer: &mut String,
    pause: &mut dyn FnMut(),
    chunk: &mut dyn FnMut(&str),
) {
    for raw in chunks(text) {
        pause();
        buffer.clear();
        normalize_into(raw, buffer);
        chunk(buffer);
    }
}

/// Calls `word` for each word of a text in normal form; those of the user come first. Parts of speech
/// are looked up when `tagged`; otherwise all are `Other`.
pub fn for_each_word(
    mut text: &str,
    user: Option<&UserWords>,
    tagged: bool,
    word: &mut dyn FnMut(&str, Speech),
) {
    while let Some(found) = user.and_then(|user| user.find(text)) {
        words(&text[..found.from], tagged, word);
        word(&text[found.from..found.to], found.speech);
        text = &text[found.to..];
    }
    words(text, tagged, word);
}

/// Calls `gram` for each run of `n` letters and digits of the chunks of a text in normal form, whatever
/// else stands between them.
pub struct Ngrams {
    n: usize,
    /// The last letters of the text before, and where each begins.
    window: String,
    starts: VecDeque<usize>,
}

impl Ngrams {
    pub fn new(n: usize) -> Self {
        Self {
            n,
            window: String::new(),
            starts: VecDeque::new(),
        }
    }

    pub fn chunk(&mut self, text: &str, gram: &mut dyn FnMut(&str)) {
        for c in text.chars().filter(|c| c.is_alphanumeric()) {
            self.starts.push_back(self.window.len());
            self.window.push(c);
            if self.starts.len() < self.n {
                continue;
            }
            if let Some(start) = self.starts.pop_front() {
                gram(&self.window[start..]);
                self.forget_before(start);
            }
        }
    }

    /// Drops what no gram needs any more, not at each letter.
    fn forget_before(&mut self, start: usize) {
        if start >= 1024 {
            let keep = self.starts.front().copied().unwrap_or(self.window.len());
            self.window.drain(..keep);
            self.starts.iter_mut().for_each(|at| *at -= keep);
        }
    }
}

/// Writes the normal form of `text`, without white space at its ends, into `buffer`.
pub fn normal_form(text: &str, buffer: &mut String, pause: &mut dyn FnMut()) -> Result<(), Error> {
    buffer.clear();
    for chunk in chunks(text.trim()) {
        pause();
        // NFKC makes at most 11 times the bytes, lower case 1.5 times those.
        buffer
            .try_reserve(17 * chunk.len())
            .map_err(|_| Error::OutOfMemory)?;
        normalize_into(chunk, buffer);
    }
    Ok(())
}

/// The normal form of a word of a list.
pub fn normal_word(word: &str) -> Result<String, Error> {
    let mut normal = String::new();
    normal_form(word, &mut normal, &mut || {})?;
    Ok(normal)
}

/// NFKC, then lower case. Most characters of most texts are plain and need no look at the tables.
fn normalize_into(text: &str, buffer: &mut String) {
    if text.is_ascii() {
        let start = buffer.len();
        buffer.push_str(text);
        return buffer[start..].make_ascii_lowercase();
    }
    let mut rest = text;
    while !rest.is_empty() {
        let (mut last, mut end) = (0, 0);
        for c in rest.chars() {
            let Some(normal) = plain(c) else { break };
            buffer.push(normal);
            (last, end) = (end, end + c.len_utf8());
        }
        if end == rest.len() {
            return;
        }
        // The plain character in front may compose with what follows.
        if end > 0 {
            buffer.pop();
        }
        let stop = rest[end..].find(|c| plain(c).is_some());
        let stop = stop.map_or(rest.len(), |n| end + n);
        buffer.extend(rest[last..stop].nfkc().flat_map(char::to_lowercase));
        rest = &rest[stop..];
    }
}

/// The normal form of a character that composes with nothing in front of it: ASCII, its wide forms, common Han
/// characters and their punctuation.
fn plain(c: char) -> Option<char> {
    match c {
        '\0'..='\x7f' => Some(c.to_ascii_lowercase()),
        '\u{4e00}'..='\u{9fff}'
        | '\u{3001}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}'
        | '\u{2018}'
        | '\u{2019}'
        | '\u{201c}'
        | '\u{201d}' => Some(c),
        '\u{3000}' => Some(' '),
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(c) - 0xfee0).map(|c| c.to_ascii_lowercase())
        }
        _ => None,
    }
}

/// Calls `word` for each Unicode word. The rules for ASCII alone are several times faster, so that text is cut in
/// front of the spaces around what is not ASCII: no word goes over a space.
fn foreign_words(mut text: &str, word: &mut dyn FnMut(&str)) {
    while let Some(odd) = text.bytes().position(|byte| !byte.is_ascii()) {
        // A mark may belong to the space itself, and spaces in a row to each other.
        let gap = |at: &usize| {
            text.as_bytes()[*at] == b' ' && !text[..*at].ends_with(char::is_whitespace)
        };
        let from = (0..odd).rev().find(gap).unwrap_or(0);
        let to = (odd..text.len()).find(gap).unwrap_or(text.len());
        text[..from].unicode_words().for_each(&mut *word);
        text[from..to].unicode_words().for_each(&mut *word);
        text = &text[to..];
    }
    text.unicode_words().for_each(word);
}

fn words(text: &str, tagged: bool, word: &mut dyn FnMut(&str, Speech)) {
    let foreign = |text: &str, word: &mut dyn FnMut(&str, Speech)| {
        foreign_words(text, &mut |w| match tagged {
            true => word(w, Speech::of_foreign(w)),
            false => word(w, Speech::Other),
        });
    };
    if text.is_ascii() {
        return foreign(text, word);
    }
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let han = is_han(first);
        let end = rest.find(|c| is_han(c) != han).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        match (han, tagged) {
            (true, true) => dictionary()
                .tag(run, true)
                .iter()
                .for_each(|tag| word(tag.word, Speech::of_tag(tag.tag))),
            (true, false) => dictionary()
                .cut(run, true)
                .iter()
                .for_each(|token| word(token.word, Speech::Other)),
            (false, _) => foreign(run, word),
        }
        rest = tail;
    }
}

pub fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3005}' | '\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (chunk, tail) = rest.split_at(chunk_end(rest));
        rest = tail;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Where the first chunk of `text` ends: in front of white space when there is any, else of another
/// character that is part of no word, else (a 'word' as long as a chunk) between two characters.
fn chunk_end(text: &str) -> usize {
    if text.len() <= CHUNK {
        return text.len();
    }
    let window = &text[..text.floor_char_boundary(CHUNK)];
    let gap = |c: char| !c.is_alphanumeric() && !is_combining_mark(c);
    [
        window.rfind(|c: char| c.is_ascii_whitespace()),
        window.rfind(gap),
    ]
    .into_iter()
    .flatten()
    .find(|&end| end > 0)
    .unwrap_or(window.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words_of(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut buffer = String::new();
        for_each_chunk(text, &mut buffer, &mut || {}, &mut |chunk| {
            for_each_word(chunk, None, false, &mut |w, _| words.push(w.to_owned()));
        });
        words
    }

    #[test]
    fn words_of_several_scripts() {
        assert_eq!(
            words_of("The QUICK, brown fox's 3.14!"),
            ["the", "quick", "brown", "fox's", "3.14"]
        );
        assert_eq!(
            words_of("我来到北京清华大学"),
            ["我", "来到", "北京", "清华大学"]
        );
        assert_eq!(
            words_of("用 PostgreSQL 数据库"),
            ["用", "postgresql", "数据库"]
        );
        assert_eq!(words_of("Straße ÄÖ"), ["straße", "äö"]);
        assert_eq!(words_of("。，!?  "), Vec::<String>::new());
        assert_eq!(words_of(""), Vec::<String>::new());
    }

    #[test]
    fn forms_that_nfkc_unifies_give_the_same_words() {
        assert_eq!(words_of("ＰｏｓｔｇｒｅＳＱＬ ﬁle"), ["postgresql", "file"]);
        assert_eq!(words_of("e\u{301}te\u{301}"), words_of("été"));
    }

    #[test]
    fn plain_characters_are_what_the_tables_say() {
        let mut buffer = String::new();
        let neighbours = [
            "", "e", "E", "\u{301}", "中", "Ａ", "か", "\u{3099}", "\u{1100}", "\u{1161}", "ß",
        ];
        for c in '\0'..='\u{1ffff}' {
            for before in neighbours {
                for after in ["", "a", "\u{301}", "\u{338}", "\u{3099}"] {
                    let text = format!("{before}{c}{after}");
                    buffer.clear();
                    normalize_into(&text, &mut buffer);
                    let expected: String = text.nfkc().flat_map(char::to_lowercase).collect();
                    assert_eq!(buffer, expected, "{text:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn cuts_at_spaces_change_no_word(text in "[ab1.'_ \t\u{301}\u{345}\u{200d}é中か🙂\r\n\u{a0}\u{3000}-]{0,24}") {
            let mut found = Vec::new();
            foreign_words(&text, &mut |word| found.push(word.to_owned()));
            prop_assert_eq!(found, text.unicode_words().map(str::to_owned).collect::<Vec<_>>());
        }
    }

    #[test]
    fn chunks_cut_no_word_and_lose_nothing() {
        for word in ["word ", "词语，", "été "] {
            let text = word.repeat(3 * CHUNK / word.len());
            assert!(chunks(&text).count() >= 3);
            assert!(chunks(&text).all(|c| c.len() <= CHUNK));
            assert_eq!(chunks(&text).collect::<String>(), text);
            let words = words_of(&text);
            assert_eq!(words.len(), 3 * CHUNK / word.len());
            assert!(words.iter().all(|w| *w == words[0]));
        }
    }

    #[test]
    fn a_word_longer_than_a_chunk_is_cut_between_characters() {
        let text = "é".repeat(CHUNK);
        for gap in ["", " ", "。"] {
            let text = format!("{gap}{text}");
            assert_eq!(chunks(&text).collect::<String>(), text);
        }
        let mut pauses = 0;
        for_each_chunk(&text, &mut String::new(), &mut || pauses += 1, &mut |_| {});
        assert_eq!(pauses, 2);
    }

    #[test]
    fn ngrams_pass_over_gaps_and_chunks() {
        let grams = |chunks: &[&str], n| {
            let (mut grams, mut all) = (Ngrams::new(n), Vec::new());
            for chunk in chunks {
                grams.chunk(chunk, &mut |g| all.push(g.to_owned()));
            }
            all
        };
        assert_eq!(grams(&["中国 a-b。"], 2), ["中国", "国a", "ab"]);
        assert_eq!(grams(&["ab", "", "cd"], 3), ["abc", "bcd"]);
        assert_eq!(grams(&["ab"], 3), Vec::<String>::new());
        assert_eq!(grams(&["ab"], 1), ["a", "b"]);
        let long: String = ('a'..='z').cycle().take(5000).collect();
        let letters: Vec<char> = long.chars().collect();
        let windows: Vec<String> = letters.windows(4).map(|w| w.iter().collect()).collect();
        assert_eq!(grams(&[&long[..3000], &long[3000..]], 4), windows);
    }
}

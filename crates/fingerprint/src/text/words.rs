//! The words of text in normal form.
//!
//! Words are jieba's in runs of Han characters, Unicode words (UAX 29) elsewhere. Words of jieba's
//! dictionary that have letters, digits or signs beside Han characters, or stand in a text with such,
//! stay whole: T恤, 4S店, C++.

use std::ops::Range;
use std::sync::OnceLock;

use jieba_rs::Jieba;
use unicode_segmentation::UnicodeSegmentation;

use super::normal::{byte_table, length_in_table};
use super::part_of_speech::PartOfSpeech;
use super::scripts::is_han;
use super::user_words::UserWords;

/// The word dictionary, loaded at the first use.
pub fn dictionary() -> &'static Jieba {
    static DICTIONARY: OnceLock<Jieba> = OnceLock::new();
    DICTIONARY.get_or_init(Jieba::new)
}

/// Calls `word` for each word of a text in normal form; those of the user come first. Parts of
/// speech are looked up when `tagged`; otherwise all are `Other`.
pub fn for_each_word(
    mut text: &str,
    user: Option<&UserWords>,
    tagged: bool,
    word: &mut dyn FnMut(&str, PartOfSpeech),
) {
    let has_han = !text.is_ascii() && find_han(text).is_some();
    let words = match has_han {
        true => words_beside_han,
        false => words_without_han,
    };
    while let Some(found) = user.and_then(|user| user.find(text)) {
        words(&text[..found.from], tagged, word);
        word(&text[found.from..found.to], found.part_of_speech);
        text = &text[found.to..];
    }
    words(text, tagged, word);
}

fn words_without_han(text: &str, tagged: bool, word: &mut dyn FnMut(&str, PartOfSpeech)) {
    foreign_words(text, &mut |w| word(w, part_of_foreign(w, tagged)));
}

fn part_of_foreign(word: &str, tagged: bool) -> PartOfSpeech {
    match tagged {
        true => PartOfSpeech::of_foreign(word),
        false => PartOfSpeech::Other,
    }
}

/// Calls `word` for each Unicode word. No word spans a space, and ASCII is simpler: the text is cut
/// at the spaces around what is not ASCII.
fn foreign_words(text: &str, word: &mut dyn FnMut(&str)) {
    let mut text = without_gaps(text);
    while !text.is_ascii() {
        let odd = text.bytes().take_while(u8::is_ascii).count();
        // A mark may combine with the space itself, and adjacent spaces belong together.
        let gap = |at: &usize| {
            text.as_bytes()[*at] == b' ' && !text[..*at].ends_with(char::is_whitespace)
        };
        let from = (0..odd).rev().find(gap).unwrap_or(0);
        let to = (odd..text.len()).find(gap).unwrap_or(text.len());
        ascii_words(&text[..from], word);
        text[from..to].unicode_words().for_each(&mut *word);
        text = &text[to..];
    }
    ascii_words(text, word);
}

/// The text without the gaps at its ends, which belong to no word. Next to a character that is not
/// ASCII they stay: it may be a mark that combines with the gap, and an apostrophe after a Hebrew
/// letter is part of its word.
fn without_gaps(text: &str) -> &str {
    let trimmed = text.trim_end_matches(is_gap);
    let text = match trimmed.ends_with(|c: char| !c.is_ascii()) {
        true => text,
        false => trimmed,
    };
    let trimmed = text.trim_start_matches(is_gap);
    match trimmed.starts_with(|c: char| c.is_ascii()) {
        true => trimmed,
        false => text,
    }
}

/// The Unicode words of ASCII text. Letters and digits between gaps, of which one is a space or an
/// end, are one word; around other characters the rules say where words end.
fn ascii_words(text: &str, word: &mut dyn FnMut(&str)) {
    let is_gap = |byte: u8| GAPS[usize::from(byte)];
    let mut rest = text;
    while let Some(start) = rest.bytes().position(|byte| !is_gap(byte)) {
        rest = &rest[start..];
        let letters = rest.bytes().position(|byte| !LETTERS[usize::from(byte)]);
        let mut end = letters.unwrap_or(rest.len());
        match rest.as_bytes()[end..] {
            [] | [b' ', ..] => word(&rest[..end]),
            [gap] | [gap, b' ', ..] if is_gap(gap) => word(&rest[..end]),
            _ => {
                end = rest.find(' ').unwrap_or(rest.len());
                rest[..end].unicode_words().for_each(&mut *word);
            }
        }
        rest = &rest[end..];
    }
}

/// The words of a text with Han characters, or of a part of one.
fn words_beside_han(mut text: &str, tagged: bool, word: &mut dyn FnMut(&str, PartOfSpeech)) {
    // All words of the dictionary that have letters are nouns.
    let noun = match tagged {
        true => PartOfSpeech::Noun,
        false => PartOfSpeech::Other,
    };
    let foreign = |mut text: &str, word: &mut dyn FnMut(&str, PartOfSpeech)| {
        while let Some(name) = find_name_with_signs(text) {
            words_without_han(&text[..name.start], tagged, word);
            word(&text[name.clone()], noun);
            text = &text[name.end..];
        }
        words_without_han(text, tagged, word);
    };
    while let Some(han) = find_han(text) {
        if let Some(mixed) = mixed_word(text, han) {
            foreign(&text[..mixed.start], word);
            word(&text[mixed.clone()], noun);
            text = &text[mixed.end..];
            continue;
        }
        foreign(&text[..han], word);
        text = &text[han..];
        let end = han_stretch(text);
        match mixed_word_behind(text, end) {
            Some(mixed) => {
                han_words(&text[..mixed.start], tagged, word);
                word(&text[mixed.clone()], noun);
                text = &text[mixed.end..];
            }
            None => {
                han_words(&text[..end], tagged, word);
                text = &text[end..];
            }
        }
    }
    foreign(text, word);
}

/// Bytes of the letters of a word of the dictionary that has Han characters too, at most.
const MOST_LETTERS: usize = 8;

/// A word of the dictionary that has letters in front of the Han character at `han`.
fn mixed_word(text: &str, han: usize) -> Option<Range<usize>> {
    let start = text[..han].trim_end_matches(char::is_alphanumeric).len();
    if start == han || han - start > MOST_LETTERS {
        return None;
    }
    let ends = text[han..].char_indices().take_while(|(_, c)| is_han(*c));
    let ends: Vec<usize> = ends
        .take(3)
        .map(|(at, c)| han + at + c.len_utf8())
        .collect();
    let end = ends
        .into_iter()
        .rev()
        .find(|end| is_in_dictionary(&text[start..*end]))?;
    Some(start..end)
}

/// A word of the dictionary that ends with the letters behind the Han characters that end at `end`.
fn mixed_word_behind(text: &str, end: usize) -> Option<Range<usize>> {
    let rest = &text[end..];
    let letters = rest.find(|c: char| !c.is_alphanumeric() || is_han(c));
    let letters = letters.unwrap_or(rest.len());
    if letters == 0 || letters > MOST_LETTERS {
        return None;
    }
    let starts = text[..end]
        .char_indices()
        .rev()
        .take_while(|(_, c)| is_han(*c));
    let starts: Vec<usize> = starts.take(2).map(|(at, _)| at).collect();
    let whole = |start: &usize| is_in_dictionary(&text[*start..end + letters]);
    let start = starts.into_iter().rev().find(whole)?;
    Some(start..end + letters)
}

/// A name of letters and signs that is in the dictionary: C++, AT&T.
fn find_name_with_signs(text: &str) -> Option<Range<usize>> {
    let is_sign = |byte: u8| matches!(byte, b'+' | b'#' | b'&');
    let is_part = |byte: &u8| is_sign(*byte) || LETTERS[usize::from(*byte)];
    let mut from = 0;
    while let Some(sign) = text.bytes().skip(from).position(is_sign) {
        let sign = from + sign;
        let start = sign - text.bytes().take(sign).rev().take_while(is_part).count();
        let end = sign + text.bytes().skip(sign).take_while(is_part).count();
        if end - start <= MOST_LETTERS && is_in_dictionary(&text[start..end]) {
            return Some(start..end);
        }
        from = end;
    }
    None
}

/// Whether a word in normal form is in the dictionary, which has most letters as capitals.
fn is_in_dictionary(word: &str) -> bool {
    let dictionary = dictionary();
    dictionary.has_word(word)
        || word.bytes().any(|byte| byte.is_ascii_lowercase())
            && dictionary.has_word(&word.to_ascii_uppercase())
}

/// Returns where the first Han character begins.
fn find_han(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(n) = text.as_bytes()[at..].iter().position(|b| !b.is_ascii()) {
        at += n;
        match text[at..].chars().next() {
            Some(c) if !is_han(c) => at += c.len_utf8(),
            _ => return Some(at),
        }
    }
    None
}

/// Returns where the Han characters in front end, with gaps between them. They are cut in one call,
/// as each call costs as much as several words, and a gap is a token of its own.
fn han_stretch(text: &str) -> usize {
    const COMMON: [bool; 256] = byte_table(GAPS);
    let mut end = 0;
    loop {
        end += length_in_table(&text[end..], &COMMON);
        match text[end..].chars().next() {
            Some(c) if is_han(c) || is_gap(c) => end += c.len_utf8(),
            _ => return text[..end].trim_end_matches(is_gap).len(),
        }
    }
}

fn han_words(stretch: &str, tagged: bool, word: &mut dyn FnMut(&str, PartOfSpeech)) {
    // Most tokens can be recognized by their first byte.
    let is_word =
        |token: &str| matches!(token.as_bytes(), [0xe5..=0xe9, ..]) || !token.starts_with(is_gap);
    if tagged {
        let tags = dictionary().tag(stretch, true);
        let words = tags.iter().filter(|tag| is_word(tag.word));
        return words.for_each(|tag| word(tag.word, PartOfSpeech::of_tag(tag.tag)));
    }
    let tokens = dictionary().cut(stretch, true);
    let words = tokens.iter().filter(|token| is_word(token.word));
    words.for_each(|token| word(token.word, PartOfSpeech::Other));
}

/// Common spaces and punctuation that begin no word and, except for an apostrophe after a Hebrew
/// letter, end none: neither a Unicode one nor one of the dictionary (whose words may have a plus,
/// a point and the like).
fn is_gap(c: char) -> bool {
    match c {
        '\0'..='\x7f' => GAPS[c as usize],
        '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' => true,
        '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => true,
        // Hexagrams, which stand among the Han characters.
        '\u{4dc0}'..='\u{4dff}' => true,
        _ => false,
    }
}

/// Tables of bytes: testing for each of several ranges would cost more than the rest of cutting.
const GAPS: [bool; 256] = {
    let mut gaps = [false; 256];
    let mut c = 0;
    while c < 128 {
        let part = matches!(c as u8, b'+' | b'#' | b'&' | b'.' | b'_' | b'%' | b'-');
        gaps[c] = !part && !LETTERS[c];
        c += 1;
    }
    gaps
};

/// The letters and digits of ASCII.
pub const LETTERS: [bool; 256] = {
    let mut letters = [false; 256];
    let mut c = 0;
    while c < 256 {
        letters[c] = (c as u8).is_ascii_alphanumeric();
        c += 1;
    }
    letters
};

#[cfg(test)]
mod tests {
    use super::super::normal::for_each_chunk;
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
        assert_eq!(words_of("Straße ÄÖ"), ["strasse", "ao"]);
        assert_eq!(words_of("re\u{ad}pair fox’s"), ["repair", "fox's"]);
        assert_eq!(words_of("א'一א'"), ["א'", "一", "א'"]);
        assert_eq!(words_of("。，!?  "), Vec::<String>::new());
        assert_eq!(words_of(""), Vec::<String>::new());
    }

    #[test]
    fn words_of_the_dictionary_with_letters_stay_whole() {
        for (text, words) in [
            ("买T恤衫和Ｔ恤", &["买", "t恤衫", "和", "t恤"][..]),
            ("4S店的IP地址", &["4s店", "的", "ip地址"]),
            ("在A座，K歌之王", &["在", "a座", "k歌之王"]),
            ("读阿Q，跳江南Style", &["读", "阿q", "跳", "江南style"]),
            ("γ射线", &["γ射线"]),
            ("C++和C#，at&t的", &["c++", "和", "c#", "at&t", "的"]),
            // Not in the middle of longer words, not by themselves in other texts.
            ("11号店的XT恤", &["11", "号店", "的", "xt", "恤"]),
            ("C++ and R&D", &["c", "and", "r", "d"]),
            ("学R&D", &["学", "r", "d"]),
        ] {
            assert_eq!(words_of(text), words, "{text}");
        }
        let mut tagged = Vec::new();
        for_each_word("t恤5", None, true, &mut |w, part| {
            tagged.push((w.to_owned(), part))
        });
        let expected = [("t恤", PartOfSpeech::Noun), ("5", PartOfSpeech::Other)];
        assert_eq!(tagged, expected.map(|(w, part)| (w.to_owned(), part)));
    }

    #[test]
    fn forms_that_nfkc_unifies_give_the_same_words() {
        assert_eq!(words_of("ＰｏｓｔｇｒｅＳＱＬ ﬁle"), ["postgresql", "file"]);
        assert_eq!(words_of("e\u{301}te\u{301}"), words_of("été"));
    }

    /// Words without any shortcut: each run of Han characters and each between them by itself.
    fn words_of_runs(mut text: &str, tagged: bool) -> Vec<(String, PartOfSpeech)> {
        let mut words = Vec::new();
        while let Some(first) = text.chars().next() {
            let han = is_han(first);
            let end = text.find(|c| is_han(c) != han).unwrap_or(text.len());
            let (run, rest) = text.split_at(end);
            match (han, tagged) {
                (true, true) => {
                    let tags = dictionary().tag(run, true).into_iter();
                    words.extend(tags.map(|t| (t.word.to_owned(), PartOfSpeech::of_tag(t.tag))));
                }
                (true, false) => {
                    let tokens = dictionary().cut(run, true).into_iter();
                    words.extend(tokens.map(|t| (t.word.to_owned(), PartOfSpeech::Other)));
                }
                (false, true) => words.extend(
                    run.unicode_words()
                        .map(|w| (w.to_owned(), PartOfSpeech::of_foreign(w))),
                ),
                (false, false) => words.extend(
                    run.unicode_words()
                        .map(|w| (w.to_owned(), PartOfSpeech::Other)),
                ),
            }
            text = rest;
        }
        words
    }

    #[test]
    fn gaps_are_in_no_word() {
        for c in ('\0'..=char::MAX).filter(|&c| is_gap(c)) {
            assert!(!c.is_alphanumeric() && !is_han(c), "{c:?}");
            let text = format!("中{c}文");
            let tokens = dictionary().cut(&text, true);
            let tokens: Vec<&str> = tokens.iter().map(|token| token.word).collect();
            assert_eq!(tokens, ["中", &text[3..3 + c.len_utf8()], "文"]);
        }
    }

    proptest! {
        #[test]
        fn stretches_change_no_word(
            text in "[中文数据库电脑软件和的在一个人民大学生々〇㐀,;:'!?+#&._%\\- \n。、“’ab1א\u{301}\u{345}\u{200d}é]{0,40}",
            tagged: bool,
        ) {
            let mut found = Vec::new();
            for_each_word(&text, None, tagged, &mut |word, tag| found.push((word.to_owned(), tag)));
            prop_assert_eq!(found, words_of_runs(&text, tagged));
        }

        #[test]
        fn cuts_at_spaces_change_no_word(text in "[abA1א.,:;'\"_+/ \t\u{301}\u{345}\u{200d}é中か🙂\r\n\u{a0}\u{3000}。“’-]{0,24}") {
            let mut found = Vec::new();
            foreign_words(&text, &mut |word| found.push(word.to_owned()));
            prop_assert_eq!(found, text.unicode_words().map(str::to_owned).collect::<Vec<_>>());
        }
    }

    #[test]
    fn chunks_cut_no_word() {
        for word in ["word ", "词语，", "été "] {
            let words = words_of(&word.repeat((1 << 18) / word.len()));
            assert_eq!(words.len(), (1 << 18) / word.len());
            assert!(words.iter().all(|w| *w == words[0]));
        }
    }
}

//! The normal form of text: what people take for the same letters, written in one way. What it does
//! is said once, in docs/reference/options.md (Normal form): compatibility forms, full case
//! folding, without characters that nobody sees, and what [`super::folding`] knows of single
//! scripts.
//!
//! Text is processed in chunks, so that memory stays small and a caller can stop the work between
//! them; the time is linear in the length.

use std::sync::OnceLock;

use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::folding;
pub use super::folding::Normalize;
use crate::error::Error;

/// Bytes of raw text between two checks for interrupts.
const CHUNK: usize = 1 << 16;

/// Calls `chunk` for each chunk of the normal form of `text`, and `check_interrupts` before it. No word is cut
/// at the end of a chunk unless it is longer than one. `buffer` is scratch space.
pub fn for_each_chunk(
    text: &str,
    buffer: &mut String,
    check_interrupts: &mut dyn FnMut(),
    chunk: &mut dyn FnMut(&str),
) {
    for_each_chunk_as(Normalize::Fold, text, buffer, check_interrupts, chunk);
}

/// As [`for_each_chunk`], with accents or without.
pub fn for_each_chunk_as(
    normalize: Normalize,
    text: &str,
    buffer: &mut String,
    check_interrupts: &mut dyn FnMut(),
    chunk: &mut dyn FnMut(&str),
) {
    for raw in chunks(text) {
        check_interrupts();
        buffer.clear();
        normalize_into(raw, normalize, buffer);
        chunk(buffer);
    }
}

/// Writes the normal form of `text`, without white space at its ends, into `buffer`.
pub fn normal_form(
    text: &str,
    normalize: Normalize,
    buffer: &mut String,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    buffer.clear();
    for chunk in chunks(text) {
        check_interrupts();
        // NFKD makes at most 11 times the bytes, folding 1.5 times those.
        buffer
            .try_reserve(17 * chunk.len())
            .map_err(|_| Error::OutOfMemory)?;
        normalize_into(chunk, normalize, buffer);
    }
    buffer.truncate(buffer.trim_end().len());
    buffer.drain(..buffer.len() - buffer.trim_start().len());
    Ok(())
}

/// The normal form of a word, for tests.
#[cfg(test)]
pub fn normal_word(word: &str) -> Result<String, Error> {
    let mut normal = String::new();
    normal_form(word, Normalize::Fold, &mut normal, &mut || {})?;
    Ok(normal)
}

/// The normal form. Most characters of most texts have one of their own, whatever stands beside them; stretches of
/// the others are worked out by the rules.
pub fn normalize_into(text: &str, normalize: Normalize, buffer: &mut String) {
    const KEPT: [bool; 256] = byte_table([true; 256]);
    let begin = buffer.len();
    // What lies before `copied` is in the buffer, before `at` has a form of its own, before `done` has been
    // worked out by the rules.
    let (mut copied, mut at, mut done) = (0, 0, 0);
    if text.is_ascii() {
        at = text.len();
    }
    let mut scratch = String::new();
    while at < text.len() {
        at += length_in_table(&text[at..], &KEPT);
        let Some(c) = text[at..].chars().next() else {
            break;
        };
        let normal = own_form(c, normalize);
        if normal == Some(c) {
            at += c.len_utf8();
            continue;
        }
        buffer.push_str(&text[copied..at]);
        if let Some(normal) = normal {
            buffer.push(normal);
            at += c.len_utf8();
        } else {
            // The character in front may compose with what follows.
            let in_front = text[done..at].chars().next_back();
            let from = at - in_front.map_or(0, char::len_utf8);
            if in_front.is_some() {
                buffer.pop();
            }
            let end = text[at..].find(|c| own_form(c, normalize).is_some());
            at = end.map_or(text.len(), |n| at + n);
            done = at;
            by_the_rules(&text[from..at], normalize, &mut scratch, buffer);
        }
        copied = at;
    }
    buffer.push_str(&text[copied..]);
    buffer[begin..].make_ascii_lowercase();
}

/// Adds the normal form of a text to `buffer`, without a shortcut: decomposed, folded character by
/// character, composed. `scratch` is scratch space.
fn by_the_rules(text: &str, normalize: Normalize, scratch: &mut String, buffer: &mut String) {
    scratch.clear();
    // The last letter or the like that marks may follow, folded.
    let mut base = '\0';
    for c in text.nfkd() {
        if c.is_ascii() {
            base = c.to_ascii_lowercase();
            scratch.push(base);
        } else if folding::is_dropped(c) {
        } else if canonical_combining_class(c) == 0 {
            base = c;
            folding::fold(c, normalize, &mut |c| {
                base = c;
                scratch.push(c);
            });
        } else if folding::mark_counts(base, c, normalize) {
            folding::fold(c, normalize, &mut |c| {
                // An iota below a letter becomes one beside it.
                if canonical_combining_class(c) == 0 {
                    base = c;
                }
                scratch.push(c);
            });
        } else if c == folding::HAMZA_ABOVE && scratch.ends_with(folding::ARABIC_AE) {
            // As Persian writes it, a heh whose hamza does not count.
            scratch.pop();
            scratch.push(folding::HEH);
        }
    }
    // Mostly nothing is left to compose.
    match is_nfc_quick(scratch.chars()) {
        IsNormalized::Yes => buffer.push_str(scratch),
        _ => buffer.extend(scratch.nfc()),
    }
}

/// A table of the bytes of common Han characters (U+4000 to U+9FFF) and of the ASCII characters of
/// another table.
pub const fn byte_table(ascii: [bool; 256]) -> [bool; 256] {
    let mut bytes = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = match byte {
            0..=0x7f => ascii[byte],
            0x80..=0xbf | 0xe4..=0xe9 => true,
            _ => false,
        };
        byte += 1;
    }
    bytes
}

/// Returns the number of bytes in front that belong to characters of a table. Most text is made of
/// a few kinds that stand in no order that a processor could foresee, so that each byte is looked
/// at by itself, without a branch for its kind.
pub fn length_in_table(text: &str, table: &[bool; 256]) -> usize {
    let mut bytes = text.bytes();
    bytes
        .position(|byte| !table[usize::from(byte)])
        .unwrap_or(text.len())
}

/// The normal form of a character, where that is one character whatever stands beside it.
#[inline(always)]
pub fn simple_form(c: char) -> Option<char> {
    own_form(c, Normalize::Fold)
}

#[inline(always)]
fn own_form(c: char, normalize: Normalize) -> Option<char> {
    match c {
        '\0'..='\x7f' => Some(c.to_ascii_lowercase()),
        '\u{4000}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{3001}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}' => Some(c),
        _ => form_in_pages(c, normalize),
    }
}

/// The forms of 256 characters in a row; [`NONE`] where a character has none of its own.
type Page = [u32; 1 << PAGE_BITS];
const PAGE_BITS: u32 = 8;
const NONE: u32 = u32::MAX;

/// Pages, each worked out at its first use, up to the last plane of Han characters.
type Pages = [OnceLock<Box<Page>>; 0x40000 >> PAGE_BITS];

#[inline]
fn form_in_pages(c: char, normalize: Normalize) -> Option<char> {
    static FOLDED: Pages = [const { OnceLock::new() }; 0x40000 >> PAGE_BITS];
    static WITH_ACCENTS: Pages = [const { OnceLock::new() }; 0x40000 >> PAGE_BITS];
    let pages = match normalize {
        Normalize::Fold => &FOLDED,
        Normalize::KeepAccents => &WITH_ACCENTS,
    };
    let number = u32::from(c) >> PAGE_BITS;
    let page = pages.get(number as usize)?;
    let forms = page.get_or_init(|| Box::new(page_of(number, normalize)));
    char::from_u32(forms[c as usize % forms.len()])
}

#[cold]
fn page_of(number: u32, normalize: Normalize) -> Page {
    let (mut scratch, mut form) = (String::new(), String::new());
    std::array::from_fn(|i| {
        let Some(c) = char::from_u32((number << PAGE_BITS) + i as u32) else {
            return NONE;
        };
        form.clear();
        let mut utf8 = [0; 4];
        by_the_rules(c.encode_utf8(&mut utf8), normalize, &mut scratch, &mut form);
        let (mut chars, mut raw) = (form.chars(), std::iter::once(c).nfkd());
        match (raw.next(), chars.next(), chars.next()) {
            (Some(raw), Some(one), None) if stands_alone(raw) && stands_alone(one) => {
                u32::from(one)
            }
            _ => NONE,
        }
    })
}

/// Returns whether the normal form of a character may depend on what stands in front of it: marks, the
/// vowels and finals of Hangul syllables, and what is dropped between these and a letter.
pub fn depends_on_others(c: char) -> bool {
    c >= '\u{ad}'
        && (folding::is_dropped(c)
            || std::iter::once(c)
                .nfkd()
                .next()
                .is_some_and(|c| is_combining_mark(c) || !stands_alone(c)))
}

/// Returns whether a character changes nothing in front of it.
fn stands_alone(c: char) -> bool {
    canonical_combining_class(c) == 0 && is_nfc_quick(std::iter::once(c)) != IsNormalized::Maybe
}

fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (chunk, tail) = rest.split_at(chunk_end(rest));
        rest = tail;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Returns where the first chunk of `text` ends: in front of white space when there is any, else of
/// another character that is part of no word, else (a 'word' as long as a chunk) between two
/// characters.
fn chunk_end(text: &str) -> usize {
    if text.len() <= CHUNK {
        return text.len();
    }
    let window = &text[..text.floor_char_boundary(CHUNK)];
    let gap = |c: char| !c.is_alphanumeric() && !is_combining_mark(c) && !folding::is_dropped(c);
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

    const BOTH: [Normalize; 2] = [Normalize::Fold, Normalize::KeepAccents];

    fn normalized(text: &str, normalize: Normalize) -> String {
        let mut buffer = "before".to_owned();
        normalize_into(text, normalize, &mut buffer);
        buffer.split_off("before".len())
    }

    fn folded(text: &str) -> String {
        normalized(text, Normalize::Fold)
    }

    /// Without shortcuts: the whole text by the rules.
    fn expected(text: &str, normalize: Normalize) -> String {
        let mut buffer = String::new();
        by_the_rules(text, normalize, &mut String::new(), &mut buffer);
        buffer
    }

    #[test]
    fn plain_characters_are_what_the_rules_say() {
        let neighbours = [
            "", "e", "\u{ad}", "中", "Ａ", "か", "\u{1100}", "ß", "\u{648}", "е",
        ];
        // Of the larger scripts not every one.
        let some = |c: &char| *c < '\u{3400}' || u32::from(*c).is_multiple_of(37);
        for c in ('\0'..='\u{1ffff}').filter(some) {
            for before in neighbours {
                for after in ["", "a", "\u{301}", "\u{338}", "\u{3099}", "\u{654}"] {
                    let text = format!("{before}{c}{after}");
                    let expected = expected(&text, Normalize::Fold);
                    assert_eq!(folded(&text), expected, "{text:?}");
                }
            }
        }
    }

    const LETTERS: &str = "[aZ1 é中鿿一䷿ß，ＡＺ。　、“か\u{301}\u{308}\u{323}\u{3099}\u{1100}\u{1161}\u{11a8}ﬁ🙂\u{ad}\u{200d}’İıŁйёΣς\u{345}\u{648}\u{6cc}\u{6d5}\u{654}\u{64e}٣אּ⺼]{0,24}";

    proptest! {
        #[test]
        fn shortcuts_give_what_the_rules_give(text in LETTERS, both in 0usize..2) {
            prop_assert_eq!(normalized(&text, BOTH[both]), expected(&text, BOTH[both]));
        }

        #[test]
        fn a_normal_form_is_its_own(text in LETTERS, both in 0usize..2) {
            let normal = normalized(&text, BOTH[both]);
            prop_assert_eq!(normalized(&normal, BOTH[both]), normal.clone());
            prop_assert!(!normal.chars().any(folding::is_dropped));
        }

        #[test]
        fn of_ascii_only_the_case_changes(text in "[ -~\t\n]{0,40}", both in 0usize..2) {
            prop_assert_eq!(normalized(&text, BOTH[both]), text.to_ascii_lowercase());
        }

        /// Whatever the case and the form, and as the pieces of [`depends_on_others`].
        #[test]
        fn forms_of_one_text_have_one_normal_form(text in LETTERS, both in 0usize..2) {
            let normal = normalized(&text, BOTH[both]);
            let forms: [String; 3] = [text.nfd().collect(), text.nfkc().collect(), text.nfc().collect()];
            for form in forms {
                prop_assert_eq!(normalized(&form, BOTH[both]), normal.clone());
            }
            let mut pieces = String::new();
            let mut rest = text.as_str();
            while let Some(first) = rest.chars().next() {
                let end = rest[first.len_utf8()..].find(|c| !depends_on_others(c));
                let end = end.map_or(rest.len(), |n| first.len_utf8() + n);
                normalize_into(&rest[..end], BOTH[both], &mut pieces);
                rest = &rest[end..];
            }
            prop_assert_eq!(pieces, normal);
        }
    }

    #[test]
    fn every_character_has_one_form() {
        for (c, normalize) in ('\0'..='\u{1ffff}').flat_map(|c| BOTH.map(|n| (c, n))) {
            let text = c.to_string();
            let normal = normalized(&text, normalize);
            assert_eq!(normalized(&normal, normalize), normal, "{c:?}");
            for case in [text.to_lowercase(), text.to_uppercase()] {
                let exact = normalize == Normalize::Fold || !matches!(c, 'ı' | 'İ' | 'I');
                assert!(!exact || normalized(&case, normalize) == normal, "{c:?}");
            }
        }
    }

    #[test]
    fn what_people_take_for_the_same() {
        for (text, normal) in [
            ("Große STRASSE ẞ ﬁle", "grosse strasse ss file"),
            ("ΟΔΟΣ Σπασμένος", "οδοσ σπασμενοσ"),
            ("DİYARBAKIR ISPARTA ışık", "diyarbakir isparta isik"),
            (
                "Łukasz Śliwiński Søren Ødegård",
                "lukasz sliwinski soren odegard",
            ),
            ("Nguyễn Thị Hồng Đà", "nguyen thi hong da"),
            ("cœur, Ægir, niño", "coeur, aegir, nino"),
            ("мой Её подъём їжак за́мок ќе", "мой ее подъем їжак замок ќе"),
            (
                "re\u{ad}pair zero\u{200b}width \u{feff}x",
                "repair zerowidth x",
            ),
            ("fox’s l‘eau \u{2bc}a", "fox's l'eau 'a"),
            ("١٢٣ ۴۵ ９ ๓ ७", "123 45 9 3 7"),
            ("⺼⻋⼈", "肉车人"),
            ("المِصْعَدُ مُعَطَّلٌ", "المصعد معطل"),
            ("أحمد إلى آخر ـــ مؤ شئ", "احمد الي اخر  مؤ شئ"),
            ("خانۀ خانهٔ کتاب یک", "خانه خانه كتاب يك"),
            ("שְׁעַת סִיפּוּר", "שעת סיפור"),
            ("が ｶﾞ ﾊﾟ 한글 \u{1112}\u{1161}\u{11ab}", "が ガ パ 한글 한"),
            ("हिन्दी हाँ फ़ोन", "हिन्दी हां फोन"),
            ("👍🏽 ❤️ ‼️", "👍🏽 ❤ !!"),
        ] {
            assert_eq!(folded(text), normal, "{text:?}");
            let decomposed: String = text.nfd().collect();
            assert_eq!(folded(&decomposed), normal, "{text:?}");
        }
    }

    #[test]
    fn accents_may_count() {
        let keep = |text| normalized(text, Normalize::KeepAccents);
        for (text, normal) in [
            ("E\u{301}te\u{301} GROẞ", "été gross"),
            ("ΌΛΟΙ", "όλοι"),
            ("Ё Й Ł ı", "ё й ł ı"),
            ("مُعَطَّلٌ re\u{ad}pair", "معطل repair"),
        ] {
            assert_eq!(keep(text), normal, "{text:?}");
        }
    }

    #[test]
    fn white_space_at_the_ends_goes() {
        for text in [" a b\n", "\u{feff} a b \u{ad}", "　a b\u{a0}"] {
            assert_eq!(normal_word(text).as_deref(), Ok("a b"), "{text:?}");
        }
        assert_eq!(normal_word(" \u{ad} ").as_deref(), Ok(""));
    }

    #[test]
    fn bytes_tell_the_common_characters() {
        let digits = byte_table(std::array::from_fn(|byte| (byte as u8).is_ascii_digit()));
        for c in '\0'..=char::MAX {
            let is_in_table = matches!(c, '0'..='9' | '\u{4000}'..='\u{9fff}');
            for (before, after) in [("", ""), ("1中", ""), ("", "1"), ("中", "㐀1")] {
                let text = format!("{before}{c}{after}");
                let more = after.bytes().take_while(u8::is_ascii_digit).count();
                let expected = before.len() + usize::from(is_in_table) * (c.len_utf8() + more);
                assert_eq!(length_in_table(&text, &digits), expected, "{text:?}");
            }
        }
        assert_eq!(length_in_table("", &digits), 0);
    }

    #[test]
    fn chunks_lose_nothing() {
        for word in ["word ", "词语，", "été ", "re\u{ad}pair-"] {
            let text = word.repeat(3 * CHUNK / word.len());
            assert!(chunks(&text).count() >= 3);
            assert!(chunks(&text).all(|c| c.len() <= CHUNK));
            assert_eq!(chunks(&text).collect::<String>(), text);
            assert!(chunks(&text).all(|c| !c.ends_with('\u{ad}')));
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
}

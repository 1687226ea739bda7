//! The passages that two texts share: which stretches of letters of one stand in the other too.
//! `simhash_shared_passages` returns them. The time is linear in the length of the texts, whatever
//! they are: a stretch that one text has many times is looked for in its first places only.

use crate::error::Error;
use crate::hash::Hashed;
use crate::text::ngrams::{GramLengths, is_letter, is_symbol};
use crate::text::pieces::for_each_piece;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

/// Places of one text that are tried for a stretch of the other.
const PLACES: usize = 8;
/// Letters between two pauses.
const CHECKED_EVERY: usize = 4096;

/// A passage: where it begins in each text, and how long it is there, in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The number of its first character in each text, from 0.
    pub start: [usize; 2],
    /// Number of its characters in each text.
    pub length: [usize; 2],
    /// The same of the first text, in bytes.
    pub bytes_of_a: Range<usize>,
}

/// A character of a text, or several that are composed.
#[derive(Clone, Copy)]
struct CharacterPlace {
    /// How many characters and bytes are in front of it.
    start: (u32, u32),
    /// The same with it.
    end: (u32, u32),
}

/// The letters of a text in normal form, and the characters that each comes from.
struct PlacedLetters {
    letters: Vec<char>,
    places: Vec<CharacterPlace>,
}

impl PlacedLetters {
    fn new(text: &str, check_interrupts: &mut dyn FnMut()) -> Result<Self, Error> {
        let letters = Self::of(text, is_letter, check_interrupts)?;
        match letters.letters.is_empty() {
            true => Self::of(text, is_symbol, check_interrupts),
            false => Ok(letters),
        }
    }

    fn of(
        text: &str,
        counts: fn(char) -> bool,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self, Error> {
        let mut placed = PlacedLetters {
            letters: Vec::new(),
            places: Vec::new(),
        };
        let mut characters = 0;
        for_each_piece(text, check_interrupts, |bytes, normal| {
            let start = (characters, bytes.start as u32);
            characters += text[bytes.clone()].chars().count() as u32;
            let end = (characters, bytes.end as u32);
            for letter in normal.chars().filter(|c| counts(*c)) {
                let more = placed.letters.try_reserve(1);
                more.and(placed.places.try_reserve(1))
                    .map_err(|_| Error::OutOfMemory)?;
                placed.letters.push(letter);
                placed.places.push(CharacterPlace { start, end });
            }
            Ok(())
        })?;
        Ok(placed)
    }

    /// Returns where some letters begin, and how long they are, in characters; and their bytes.
    fn place(&self, from: usize, count: usize) -> (usize, usize, Range<usize>) {
        let (start, end) = (self.places[from].start, self.places[from + count - 1].end);
        let bytes = start.1 as usize..end.1 as usize;
        (start.0 as usize, (end.0 - start.0) as usize, bytes)
    }
}

/// How long a passage is at least.
#[derive(Clone, Copy)]
pub enum Least {
    /// That many letters, at least 1.
    Letters(usize),
    /// That many letters of an alphabet, or fewer where they say more: a Han letter counts as 2.4
    /// of them, a kana or a syllable of Hangul as 1.6.
    ByScript(usize),
}

/// Units of a letter of an alphabet, for [`Least::ByScript`].
const UNITS: usize = 5;

/// Units of a letter.
fn units(letter: char) -> usize {
    let lengths = GramLengths::PASSAGES;
    UNITS * lengths.others / lengths.for_letter(letter)
}

impl Least {
    /// Letters of the stretches that are looked up. Few are needed in a text of which most letters
    /// count for more.
    fn stretch(&self, a: &[char], b: &[char]) -> usize {
        match *self {
            Least::Letters(least) => least,
            Least::ByScript(least) => {
                let mean = |letters: &[char]| {
                    let all: usize = letters.iter().map(|letter| units(*letter)).sum();
                    all / letters.len().max(1)
                };
                let most = mean(a).max(mean(b)).max(UNITS);
                (least * UNITS / most.next_multiple_of(UNITS)).max(1)
            }
        }
    }

    fn allows(&self, passage: &[char]) -> bool {
        match *self {
            Least::Letters(least) => passage.len() >= least,
            Least::ByScript(least) => {
                passage.iter().map(|letter| units(*letter)).sum::<usize>() >= UNITS * least
            }
        }
    }
}

/// Returns the passages that two texts share, in the order of the second text, in which none
/// overlaps another.
pub fn shared_passages(
    a: &str,
    b: &str,
    least: Least,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<Passage>, Error> {
    let a = PlacedLetters::new(a, check_interrupts)?;
    let b = PlacedLetters::new(b, check_interrupts)?;
    let (allows, least) = (
        |passage: &[char]| least.allows(passage),
        least.stretch(&a.letters, &b.letters),
    );
    let places = Places::new(
        &hashes(&a.letters, least, check_interrupts)?,
        check_interrupts,
    )?;
    let hashes = hashes(&b.letters, least, check_interrupts)?;
    let mut found = Vec::new();
    let mut at = 0;
    while at + least <= b.letters.len() {
        if at.is_multiple_of(CHECKED_EVERY) {
            check_interrupts();
        }
        let mut longest = (0, 0);
        for start in places.of_hash(hashes[at]) {
            let length = common_prefix(&a.letters[start..], &b.letters[at..], check_interrupts);
            // The first of equally long ones.
            if length > longest.0 {
                longest = (length, start);
            }
        }
        let (length, start) = longest;
        if length < least || !allows(&b.letters[at..at + length]) {
            at += 1;
            continue;
        }
        let (in_a, in_b) = (a.place(start, length), b.place(at, length));
        found.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
        found.push(Passage {
            start: [in_a.0, in_b.0],
            length: [in_a.1, in_b.1],
            bytes_of_a: in_a.2,
        });
        at += length;
    }
    Ok(found)
}

/// The places of the stretches of a text.
struct Places {
    /// The first place of each stretch, by its hash.
    first: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    /// The place behind each place that has the same hash, or [`NONE`].
    next: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Places {
    /// Finds the places of each of these hashes.
    fn new(hashes: &[u64], check_interrupts: &mut dyn FnMut()) -> Result<Self, Error> {
        let mut places = Places {
            first: HashMap::default(),
            next: Vec::new(),
        };
        let next = places.next.try_reserve_exact(hashes.len());
        next.and(places.first.try_reserve(hashes.len()))
            .map_err(|_| Error::OutOfMemory)?;
        places.next.resize(hashes.len(), NONE);
        for (at, hash) in hashes.iter().enumerate().rev() {
            if at.is_multiple_of(CHECKED_EVERY) {
                check_interrupts();
            }
            let behind = places.first.insert(*hash, at as u32);
            places.next[at] = behind.unwrap_or(NONE);
        }
        Ok(places)
    }

    /// The first places of a hash.
    fn of_hash(&self, hash: u64) -> impl Iterator<Item = usize> {
        let first = self.first.get(&hash).copied();
        let next = |at: &u32| Some(self.next[*at as usize]).filter(|next| *next != NONE);
        std::iter::successors(first, next)
            .map(|at| at as usize)
            .take(PLACES)
    }
}

/// Returns the hash of each stretch of `length` letters: a polynomial of which the first letter's
/// part is taken away when the next one comes (Rabin and Karp 1987).
fn hashes(
    letters: &[char],
    length: usize,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Vec<u64>, Error> {
    let mut hashes = Vec::new();
    let count = (letters.len() + 1).saturating_sub(length);
    hashes
        .try_reserve_exact(count)
        .map_err(|_| Error::OutOfMemory)?;
    let gone = (0..length).fold(1u64, |power, _| power.wrapping_mul(FACTOR));
    let mut sum = 0u64;
    for (at, letter) in letters.iter().enumerate() {
        if at.is_multiple_of(CHECKED_EVERY) {
            check_interrupts();
        }
        sum = sum.wrapping_mul(FACTOR).wrapping_add(u64::from(*letter));
        if at >= length {
            sum = sum.wrapping_sub(gone.wrapping_mul(u64::from(letters[at - length])));
        }
        if at + 1 >= length {
            // A map looks at some bits, and the sum's low bits know little.
            hashes.push((sum ^ (sum >> 32)).wrapping_mul(FACTOR));
        }
    }
    Ok(hashes)
}

/// An odd number without a pattern, the fraction of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns how many letters two texts have in common from their beginnings on.
fn common_prefix(a: &[char], b: &[char], check_interrupts: &mut dyn FnMut()) -> usize {
    let mut count = 0;
    for (a, b) in a.chunks(CHECKED_EVERY).zip(b.chunks(CHECKED_EVERY)) {
        let equal = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        count += equal;
        if equal < CHECKED_EVERY {
            break;
        }
        check_interrupts();
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(a: &str, b: &str, least: usize) -> Vec<(String, String)> {
        let part = |text: &str, start, length| -> String {
            text.chars().skip(start).take(length).collect()
        };
        let passages = shared_passages(a, b, Least::Letters(least), &mut || {}).unwrap();
        let bytes = |p: &Passage| a[p.bytes_of_a.clone()] == part(a, p.start[0], p.length[0]);
        assert!(passages.iter().all(bytes));
        let texts = |p: &Passage| {
            (
                part(a, p.start[0], p.length[0]),
                part(b, p.start[1], p.length[1]),
            )
        };
        passages.iter().map(texts).collect()
    }

    #[test]
    fn a_sentence_of_han_is_a_passage() {
        let sentence = "公司从去年三月起就不再清理楼道垃圾，夏天臭气熏天";
        let (a, b) = (
            format!("我家住在幸福路。物业{sentence}。请派人调查"),
            format!("网友称，{sentence}，引起不满"),
        );
        let found =
            |a: &str, b: &str| shared_passages(a, b, Least::ByScript(40), &mut || {}).unwrap();
        let passages = found(&a, &b);
        assert_eq!(passages.len(), 1);
        assert_eq!(&a[passages[0].bytes_of_a.clone()], sentence);
        let short = "公司从去年三月起就不再清理楼道垃";
        assert_eq!(short.chars().count(), 16);
        assert!(found(&format!("我{short}在"), &format!("你{short}的")).is_empty());
        // Letters of an alphabet in a text of Han need as many as elsewhere.
        let latin = "an english phrase with some letters";
        assert!(
            found(
                &format!("{a}{latin}"),
                &format!("{latin}图书馆每天下午五点关门")
            )
            .is_empty()
        );
        let latin = format!("{latin} and more of them than forty");
        assert_eq!(
            found(
                &format!("{a}{latin}"),
                &format!("{latin}图书馆每天下午五点关门")
            )
            .len(),
            1
        );
    }

    #[test]
    fn passages_have_the_places_of_the_original_texts() {
        let a = "He wrote: \"The lamps in Mill Lane\nhave been dark for weeks.\" I agree.";
        let b = "-- the lamps  in MILL Lane have been dark for weeks, says he. He wrote it.";
        let expected = (
            "The lamps in Mill Lane\nhave been dark for weeks",
            "the lamps  in MILL Lane have been dark for weeks",
        );
        assert_eq!(
            found(a, b, 20),
            [(expected.0.to_owned(), expected.1.to_owned())]
        );
        assert_eq!(found(a, b, 7).len(), 2);
        assert!(found(a, b, 60).is_empty());
        assert!(
            found("", b, 1).is_empty()
                && found(a, "", 1).is_empty()
                && found(".", "-", 1).is_empty()
        );
    }

    #[test]
    fn letters_are_compared_in_normal_form() {
        let found = found("x Ｃafe\u{301} ﬁn y", "caféfin", 7);
        assert_eq!(
            found,
            [("Ｃafe\u{301} ﬁn".to_owned(), "caféfin".to_owned())]
        );
    }

    #[test]
    fn letters_are_those_of_the_whole_text() {
        use crate::similarity::letters::Letters;
        let whole = |text: &str| match Letters::new(text, &mut || {}).unwrap() {
            Letters::Ascii(letters) => letters.into_iter().map(char::from).collect::<Vec<_>>(),
            Letters::Wide(letters) => letters.into_iter().filter_map(char::from_u32).collect(),
        };
        let placed = |text: &str| PlacedLetters::new(text, &mut || {}).unwrap().letters;
        for c in '\0'..='\u{1ffff}' {
            for text in [c.to_string(), format!("a{c}"), format!("か{c}가{c}b")] {
                assert_eq!(placed(&text), whole(&text), "{text:?}");
            }
        }
        for text in [
            "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}",
            "ｶﾞｷﾞ",
            "e\u{301}\u{323}x",
        ] {
            assert_eq!(placed(text), whole(text), "{text:?}");
        }
        assert_eq!(found("ｶﾞｷﾞｸﾞ", "ガギグ", 3).len(), 1);
    }

    #[test]
    fn many_marks_and_long_passages_pause() {
        let (marks, mut pauses) = ("\u{301}".repeat(100_000), 0);
        shared_passages(&marks, "a", Least::Letters(1), &mut || pauses += 1).unwrap();
        assert!(pauses >= 20, "{pauses}");
    }

    #[test]
    fn repeated_stretches_are_linear() {
        let (a, b) = ("ab".repeat(200_000), "ba".repeat(200_000) + "c");
        let mut pauses = 0;
        let passages = shared_passages(&a, &b, Least::Letters(40), &mut || pauses += 1).unwrap();
        assert_eq!(passages.iter().map(|p| p.length[1]).sum::<usize>(), 399_999);
        assert!(pauses > 100);
    }

    proptest! {
        #[test]
        fn every_shared_stretch_is_in_a_passage(a in "[ab ]{0,60}", b in "[ab ]{0,60}", least in 1usize..8) {
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            for (in_a, in_b) in found(&a, &b, least) {
                prop_assert_eq!(letters(&in_a), letters(&in_b));
                prop_assert!(letters(&in_a).len() >= least);
            }
            // What is left of the second text between passages has no stretch of the first.
            let passages = shared_passages(&a, &b, Least::Letters(least), &mut || {}).unwrap();
            let mut end = 0;
            for start in passages.iter().map(|p| (p.start[1], p.length[1])).chain([(b.len(), 0)]) {
                prop_assert!(start.0 >= end);
                let gap = letters(&b[end..start.0]);
                let has = |stretch: &[u8]| letters(&a).as_bytes().windows(least).any(|w| w == stretch);
                prop_assert!(!gap.as_bytes().windows(least).any(has));
                end = start.0 + start.1;
            }
        }
    }
}

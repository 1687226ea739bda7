//! Words that stand for values, from `text/lists/same/values.txt` (CLDR): numerals, months, days,
//! units, currencies. [`super`] and its files look up words that lie beside each other, without what
//! stands between them. The compiler makes the index, so that nothing is read at the first use and all
//! processes share it.

const LIST: &str = include_str!("../../text/lists/same/values.txt");

/// Places of the index, of which a third is taken.
const PLACES: usize = 1 << 16;

/// For a hash of a word, where its line begins, plus 1; 0 for none. Equal hashes lie behind each other.
#[allow(
    long_running_const_eval,
    reason = "the list is read once, while it is compiled"
)]
static INDEX: [u32; PLACES] = index(LIST.as_bytes());

const fn index(list: &[u8]) -> [u32; PLACES] {
    let mut index = [0; PLACES];
    let mut begin = 0;
    while begin < list.len() {
        let mut at = begin;
        let mut hash = SEED;
        while list[at] != b' ' {
            hash = step(hash, list[at]);
            at += 1;
        }
        let mut place = hash as usize % PLACES;
        if list[begin] != b'#' {
            while index[place] != 0 {
                place = (place + 1) % PLACES;
            }
            index[place] = begin as u32 + 1;
        }
        while list[at] != b'\n' {
            at += 1;
        }
        begin = at + 1;
    }
    index
}

/// A bit for each word of the list by its outline, which says of most others that they are not there.
static OUTLINES: [u64; OUTLINE_BITS / 64] = outlines(LIST.as_bytes());
const OUTLINE_BITS: usize = 1 << 17;

const fn outlines(list: &[u8]) -> [u64; OUTLINE_BITS / 64] {
    let mut outlines = [0; OUTLINE_BITS / 64];
    let mut begin = 0;
    while begin < list.len() {
        let mut end = begin;
        while list[end] != b' ' {
            end += 1;
        }
        let bit = outline(list.split_at(end).0, begin);
        outlines[bit / 64] |= 1 << (bit % 64);
        while list[end] != b'\n' {
            end += 1;
        }
        begin = end + 1;
    }
    outlines
}

/// A number that few words share: of the length and four bytes of the word that begins at a place.
const fn outline(text: &[u8], begin: usize) -> usize {
    let (last, length) = (text.len() - 1, text.len() - begin);
    let second = begin + (length > 1) as usize;
    let before = last - (length > 1) as usize;
    let parts = [text[begin], text[second], text[before], text[last]];
    let mixed = (u32::from_le_bytes(parts) ^ length as u32).wrapping_mul(0x9e37_79b1);
    (mixed >> (u32::BITS - OUTLINE_BITS.ilog2())) as usize
}

/// The hash FNV-1a, with its high bits in the low ones.
const SEED: u32 = 0x811c_9dc5;

const fn step(hash: u32, byte: u8) -> u32 {
    let hash = (hash ^ byte as u32).wrapping_mul(0x0100_0193);
    hash ^ hash >> 15
}

/// What a word may mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Meaning {
    Number(u64),
    Ordinal(u64),
    /// From 1 on.
    Month(u32),
    /// Of the week, from Monday on, which is 1.
    Day(u32),
    /// In the hours before noon: 0, or behind it: 12.
    Meridiem(u32),
    /// It stands beside the time of a clock.
    Clock,
    /// The hour of a time of day: noon, midnight.
    Time(u32),
    /// That many of a base unit.
    Unit(u64, &'static str),
    Currency(&'static str),
}

/// What the table has of a word; nothing of most.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Line(&'static str);

impl Line {
    /// The words of the longest phrase that the word begins; 0 if it begins none.
    pub fn longest_phrase(self) -> usize {
        let longest = self.0.rsplit_once('+');
        longest
            .and_then(|(_, words)| words.parse().ok())
            .unwrap_or_default()
    }

    /// The meanings of the word.
    pub fn meanings(self) -> impl Iterator<Item = Meaning> {
        self.0.split(' ').filter_map(meaning)
    }
}

/// The meanings of words without what stands between them.
pub fn meanings(word: &str) -> impl Iterator<Item = Meaning> {
    line(word).meanings()
}

/// Looks a word up.
pub fn line(word: &str) -> Line {
    if word.is_empty() {
        return Line::default();
    }
    let bit = outline(word.as_bytes(), 0);
    if OUTLINES[bit / 64] >> (bit % 64) & 1 == 0 {
        return Line::default();
    }
    let hash = word.bytes().fold(SEED, step);
    let mut place = hash as usize % PLACES;
    while let Some(begin) = INDEX[place].checked_sub(1) {
        let behind = LIST[begin as usize..].strip_prefix(word);
        if let Some(line) = behind.and_then(|behind| behind.strip_prefix(' ')) {
            return Line(line.split('\n').next().unwrap_or_default());
        }
        place = (place + 1) % PLACES;
    }
    Line::default()
}

fn meaning(code: &'static str) -> Option<Meaning> {
    let (kind, about) = code.split_at_checked(1)?;
    let number = || about.parse().ok();
    Some(match kind {
        "n" => Meaning::Number(about.parse().ok()?),
        "o" => Meaning::Ordinal(about.parse().ok()?),
        "m" => Meaning::Month(number()?),
        "d" => Meaning::Day(number()?),
        "p" => Meaning::Meridiem(number()?),
        "h" => Meaning::Clock,
        "t" => Meaning::Time(about.strip_suffix(":00")?.parse().ok()?),
        "u" => {
            let digits = about.bytes().take_while(u8::is_ascii_digit).count();
            Meaning::Unit(about[..digits].parse().ok()?, &about[digits..])
        }
        "c" => Meaning::Currency(about),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::same::cut::form::fold;

    #[test]
    fn each_line_has_a_folded_word_and_is_found() {
        let mut lines = 0;
        for line in LIST.lines().filter(|line| !line.starts_with('#')) {
            let (word, codes) = line.split_once(' ').unwrap();
            assert_eq!(fold(word), word);
            assert_eq!(super::line(word).0, codes);
            let count = codes
                .split(' ')
                .filter(|code| !code.starts_with('+'))
                .count();
            let read = codes.split(' ').filter_map(meaning).count();
            assert_eq!(read, count, "{line}");
            lines += 1;
        }
        assert!(lines > 20_000);
        assert_eq!(meanings("hippopotamus").count(), 0);
        assert_eq!(meanings("").count(), 0);
    }

    #[test]
    fn meanings_of_words() {
        for (word, meaning) in [
            ("zwanzig", Meaning::Number(20)),
            ("vingtetun", Meaning::Number(21)),
            ("третий", Meaning::Ordinal(3)),
            ("czerwca", Meaning::Month(6)),
            ("friday", Meaning::Day(5)),
            ("下午", Meaning::Meridiem(12)),
            ("uhr", Meaning::Clock),
            ("ミリリットル", Meaning::Unit(1, "ml")),
            ("килограмма", Meaning::Unit(1_000_000, "mg")),
            ("рублей", Meaning::Currency("RUB")),
        ] {
            let fold = fold(word);
            assert!(meanings(&fold).any(|found| found == meaning), "{word}");
        }
    }
}

//! The words that decide and those that do not, from `text/lists/same`. They are few, and none is
//! looked up where two texts agree.

use super::fold::fold;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// What a word is, one bit each.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Classes(u8);

impl Classes {
    pub const NEGATION: Self = Self(1);
    /// Days, months, numerals: they decide when another text lacks them.
    pub const CALENDAR: Self = Self(2);
    pub const GREETING: Self = Self(4);
    /// Articles, and words that could be left out.
    pub const FUNCTION: Self = Self(8);
    /// Offices, and how one addresses them.
    pub const ADDRESSEE: Self = Self(16);
    /// By which a sentence says what the text is about: "package" or "edition", "this", "contains".
    pub const ITEM: Self = Self(32);
    pub const THIS: Self = Self(64);
    pub const HOLDS: Self = Self(128);

    pub fn has(self, class: Self) -> bool {
        self.0 & class.0 != 0
    }
}

/// What the lists say of a word.
#[derive(Default)]
struct Entry {
    classes: Classes,
    /// The line of equal words that it stands in, and the lines of opposites.
    equal: Option<u16>,
    opposites: Vec<u16>,
}

/// All lists, in folded form.
pub struct Lists {
    words: HashMap<String, Entry>,
    pub negation_parts: Vec<String>,
    pub negation_not: Vec<String>,
    pub greeting_parts: Vec<String>,
    pub addressee_parts: Vec<String>,
    pub item_parts: Vec<String>,
    pub decisions: Vec<String>,
    pub numerals_han_not: Vec<String>,
    pub negating_prefixes: Vec<String>,
    pub organisations: Vec<String>,
    pub tracking_parameters: Vec<String>,
    /// Short forms and what they are short for.
    pub abbreviations: Vec<(String, String)>,
    currencies: HashSet<String>,
    place_endings: HashSet<char>,
    rating_symbols: HashSet<char>,
    deciding_characters: HashSet<char>,
    surnames: HashSet<char>,
    numerals_han: HashSet<char>,
    page_words: HashSet<String>,
}

macro_rules! list {
    ($name:literal) => {
        include_str!(concat!("../text/lists/same/", $name, ".txt"))
    };
}

/// The lists, read at the first use.
pub fn lists() -> &'static Lists {
    static LISTS: OnceLock<Lists> = OnceLock::new();
    LISTS.get_or_init(Lists::new)
}

impl Lists {
    fn new() -> Self {
        let mut words: HashMap<String, Entry> = HashMap::new();
        for (class, list) in [
            (Classes::NEGATION, list!("negation")),
            (Classes::CALENDAR, list!("calendar")),
            (Classes::CALENDAR, list!("numerals")),
            (Classes::GREETING, list!("greetings")),
            (Classes::FUNCTION, list!("function_words")),
            (Classes::FUNCTION, list!("fillers")),
            (Classes::ADDRESSEE, list!("addressees")),
            (Classes::ITEM, list!("items")),
            (Classes::THIS, list!("this")),
            (Classes::HOLDS, list!("holds")),
        ] {
            for word in folded(list) {
                words.entry(word).or_default().classes.0 |= class.0;
            }
        }
        for (line, group) in list!("equal_words").lines().enumerate() {
            for word in folded(group) {
                words.entry(word).or_default().equal = Some(line as u16);
            }
        }
        for (line, group) in list!("opposites").lines().enumerate() {
            for word in folded(group) {
                words.entry(word).or_default().opposites.push(line as u16);
            }
        }
        Self {
            words,
            negation_parts: folded(list!("negation_parts")).collect(),
            negation_not: folded(list!("negation_not")).collect(),
            greeting_parts: folded(list!("greeting_parts")).collect(),
            addressee_parts: folded(list!("addressee_parts")).collect(),
            decisions: folded(list!("decisions")).collect(),
            item_parts: folded(list!("item_parts")).collect(),
            numerals_han_not: folded(list!("numerals_han_not")).collect(),
            negating_prefixes: folded(list!("negating_prefixes")).collect(),
            organisations: folded(list!("organisations")).collect(),
            tracking_parameters: folded(list!("tracking_parameters")).collect(),
            abbreviations: folded(list!("abbreviations"))
                .zip(folded(list!("abbreviations")).skip(1))
                .step_by(2)
                .collect(),
            place_endings: characters(list!("place_endings")),
            rating_symbols: characters(list!("rating_symbols")),
            currencies: folded(list!("currencies")).collect(),
            deciding_characters: characters(list!("deciding_characters")),
            surnames: characters(list!("surnames")),
            numerals_han: characters(list!("numerals_han")),
            page_words: folded(list!("page_words")).collect(),
        }
    }

    pub fn classes(&self, word: &str) -> Classes {
        self.words
            .get(word)
            .map_or(Classes::default(), |entry| entry.classes)
    }

    /// Whether two words are forms of one.
    pub fn are_equal(&self, a: &str, b: &str) -> bool {
        let line = |word| self.words.get(word).and_then(|entry| entry.equal);
        line(a).is_some_and(|in_a| line(b) == Some(in_a))
    }

    pub fn is_opposite(&self, a: &str, b: &str) -> bool {
        match (self.words.get(a), self.words.get(b)) {
            (Some(a), Some(b)) => a.opposites.iter().any(|line| b.opposites.contains(line)),
            _ => false,
        }
    }

    /// Whether one character for another makes another thing, not an error: both are of a list.
    pub fn characters_decide(&self, a: char, b: char) -> bool {
        [
            &self.deciding_characters,
            &self.surnames,
            &self.numerals_han,
        ]
        .iter()
        .any(|list| list.contains(&a) && list.contains(&b))
    }

    pub fn is_numeral_han(&self, c: char) -> bool {
        self.numerals_han.contains(&c)
    }

    pub fn is_place_ending(&self, word: &str) -> bool {
        word.chars().all(|c| self.place_endings.contains(&c))
    }

    pub fn is_rating(&self, symbol: &str) -> bool {
        symbol.chars().all(|c| self.rating_symbols.contains(&c))
    }

    pub fn is_currency(&self, word: &str) -> bool {
        self.currencies.contains(word)
    }

    pub fn is_page_word(&self, word: &str) -> bool {
        self.page_words.contains(&fold(word))
    }

    /// Whether a parameter of an address says where a visitor came from.
    pub fn is_tracking(&self, parameter: &str) -> bool {
        self.tracking_parameters
            .iter()
            .any(|name| match name.strip_suffix('*') {
                Some(begin) => parameter.starts_with(begin),
                None => parameter == name,
            })
    }
}

fn folded(list: &'static str) -> impl Iterator<Item = String> {
    list.split_whitespace()
        .map(|word| fold(word).replace('\'', ""))
}

fn characters(list: &str) -> HashSet<char> {
    fold(list).chars().filter(|c| !c.is_whitespace()).collect()
}

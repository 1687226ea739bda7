//! The words that decide and those that do not, from `text/lists/same`. They are few, and none is
//! looked up where two texts agree.

use crate::same::align::endings::Endings;
use crate::same::cut::form::fold;
use crate::same::cut::wording::{Phrases, firsts as firsts_of_phrases};
use crate::same::quick_hash;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// What a word is, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Classes(u32);

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
    pub const CURRENCY: Self = Self(256);
    pub const CONJUNCTION: Self = Self(512);
    /// Prepositions, pronouns, forms of be and have: one more or less is no other text.
    pub const LIGHT: Self = Self(1 << 10);
    /// What makes another thing of the one beside it wherever it stands: draft, former, void.
    pub const MODIFIER: Self = Self(1 << 11);
    /// What came of something: approved, rejected, reversed.
    pub const OUTCOME: Self = Self(1 << 12);
    /// if, unless, only.
    pub const CONDITION: Self = Self(1 << 13);
    /// Titles and degrees beside a name.
    pub const TITLE: Self = Self(1 << 14);
    /// What an editor writes beside a text: edited, update, repost.
    pub const NOTE: Self = Self(1 << 15);
    /// Agencies and papers, as the source of a report.
    pub const SOURCE: Self = Self(1 << 16);
    /// Ends a letter, in front of the name: regards.
    pub const CLOSING: Self = Self(1 << 17);
    /// Asks, or begins a question: what, is.
    pub const ASKS: Self = Self(1 << 18);

    /// Says that the order of the words around it counts: before, than, from.
    pub const ORDERS: Self = Self(1 << 19);

    /// A number in words.
    pub const NUMERAL: Self = Self(1 << 20);
    /// Whom a salutation may address without a name: all, team, ladies and gentlemen.
    pub const GENERIC: Self = Self(1 << 21);

    /// Greets only beside another greeting: good, best.
    pub const WEAK: Self = Self(1 << 22);

    /// Says in front of a name what kind of thing has it: the program, the library.
    pub const APPOSITION: Self = Self(1 << 23);

    /// What a note says that changes nothing: spelling, thanks for the replies.
    pub const TOPIC: Self = Self(1 << 24);

    /// Stands in front of a number and says what it numbers: no., page, vol.
    pub const LABEL: Self = Self(1 << 25);

    /// Stands beside the number of a request or an issue: fixes, pull request.
    pub const REFERS: Self = Self(1 << 26);

    /// Wishes something in front of a part of a day, and what it wishes: good morning.
    pub const WISH: Self = Self(1 << 27);
    pub const DAY_PART: Self = Self(1 << 28);

    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn has(self, class: Self) -> bool {
        self.0 & class.0 != 0
    }
}

/// Languages that lists name, one bit each, by their codes of ISO 639.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Languages(u32);

const LANGUAGES: [&str; 24] = [
    "en", "de", "fr", "es", "pt", "it", "nl", "ru", "pl", "uk", "sv", "da", "tr", "ro", "hi", "ar",
    "vi", "id", "fi", "hu", "cs", "sr", "et", "ca",
];

impl Languages {
    /// The languages in front of the colon of a line, and the rest of it.
    pub fn of_line(line: &str) -> (Self, &str) {
        let Some((codes, words)) = line.split_once(": ") else {
            return (Self::default(), line);
        };
        let bit = |code| LANGUAGES.iter().position(|known| *known == code);
        let bits = codes.split(' ').filter_map(bit);
        (Self(bits.fold(0, |all, bit| all | 1 << bit)), words)
    }

    pub fn meet(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Those of which words have at least half as many of the most words that a language has; none
    /// without any such word.
    pub fn spoken<'e>(words: impl Iterator<Item = &'e Entry>) -> Self {
        let mut votes = [0u16; LANGUAGES.len()];
        for entry in words.filter(|entry| !entry.is_consonant) {
            let mut of_word = entry.light_in.0 | entry.negates_in.0;
            while of_word != 0 {
                votes[of_word.trailing_zeros() as usize] += 1;
                of_word &= of_word - 1;
            }
        }
        let most = votes.iter().max().copied().unwrap_or_default();
        let spoken = (0..votes.len()).filter(|bit| most > 0 && 2 * votes[*bit] >= most);
        Self(spoken.fold(0, |all, bit| all | 1 << bit))
    }
}

/// What the lists say of a word.
#[derive(Debug, Default)]
pub struct Entry {
    pub classes: Classes,
    /// It is one consonant, which may name anything where no other word tells the language.
    is_consonant: bool,
    /// The languages of which it is a light word, and those in which it negates.
    light_in: Languages,
    negates_in: Languages,
    /// The lines that it stands in of the lists that have words in groups.
    groups: Vec<(Group, u16)>,
    /// The number of those phrases of `wordings` that it begins.
    pub phrases: Option<u16>,
}

/// What the words of a line are to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Group {
    Equal,
    /// They say the same beside the same words.
    Synonyms,
    Opposites,
    /// They look like errors of each other and are not.
    Confused,
}

impl Entry {
    /// What a word is in a text of some languages: a light word of theirs negates in no other one, and
    /// one of another language is not light. Nothing without an entry.
    #[inline]
    pub fn classes_of(entry: Option<&Self>, languages: Languages) -> Classes {
        match entry {
            Some(entry) => entry.classes_in(languages),
            None => Classes::default(),
        }
    }

    fn classes_in(&self, languages: Languages) -> Classes {
        let is_own = self.light_in.meet(languages);
        let is_known = languages != Languages::default() || self.is_consonant;
        let is_known = is_known && self.light_in != Languages::default();
        let left_out = match (is_own, is_known) {
            (true, _) if !self.negates_in.meet(languages) => Classes::NEGATION.0,
            (false, true) => Classes::LIGHT.0,
            _ => 0,
        };
        Classes(self.classes.0 & !left_out)
    }

    /// Whether the word only labels a number or a note: no other one stands for it.
    pub fn is_label(&self) -> bool {
        let labels = (Classes::TOPIC.or(Classes::LABEL))
            .or(Classes::REFERS)
            .or(Classes::ASKS);
        self.groups.is_empty() && self.phrases.is_none() && self.classes.0 & !labels.0 == 0
    }

    /// Whether two words are forms of one.
    pub fn is_equal(&self, other: &Entry) -> bool {
        self.are(Group::Equal, other)
    }

    /// Whether two words say the same.
    pub fn is_synonym(&self, other: &Entry) -> bool {
        self.are(Group::Synonyms, other)
    }

    pub fn is_opposite(&self, other: &Entry) -> bool {
        self.are(Group::Opposites, other)
    }

    fn are(&self, group: Group, other: &Entry) -> bool {
        let mut lines = self.groups.iter().filter(|line| line.0 == group);
        lines.any(|line| other.groups.contains(line))
    }
}

/// The words of all lists, by a hash of their letters.
#[derive(Default)]
struct Words {
    words: Vec<(String, Entry)>,
    /// The number of a word plus 1, or 0, at the place of its hash or behind it.
    places: Vec<u16>,
}

/// Places, of which at most a half is taken.
const PLACES: usize = 1 << 16;

impl Words {
    fn entry(&mut self, word: String) -> &mut Entry {
        self.places.resize(PLACES, 0);
        let (place, number) = self.find(&word);
        let number = number.unwrap_or_else(|| {
            self.words.push((word, Entry::default()));
            self.places[place] = self.words.len() as u16;
            self.words.len() - 1
        });
        &mut self.words[number].1
    }

    /// The place of a word or for it, and its number.
    #[inline]
    fn find(&self, word: &str) -> (usize, Option<usize>) {
        let mut place = quick_hash(word) % PLACES;
        loop {
            match usize::from(self.places[place]).checked_sub(1) {
                Some(number) if self.words[number].0 == word => return (place, Some(number)),
                Some(_) => place = (place + 1) % PLACES,
                None => return (place, None),
            }
        }
    }
}

const OUTLINES: usize = 1 << 15;

/// All lists, in folded form.
pub struct Lists {
    words: Words,
    /// A bit for each of them, which says of most others that they are not there.
    outlines: Vec<u64>,
    /// The first word of each line of forms of one word.
    first_forms: Vec<String>,
    pub negation_parts: Phrases,
    pub negation_not: Phrases,
    /// What asks in scripts without spaces.
    pub asking_parts: Phrases,
    /// Characters of which one is written for another by mistake, and one negates.
    negation_errors: Vec<String>,
    pub greeting_parts: Phrases,
    pub addressee_parts: Phrases,
    /// What a form of courtesy is made of beside greetings and whom it addresses.
    courtesy_parts: Phrases,
    pub heading_parts: Phrases,
    pub item_parts: Phrases,
    pub decisions: Phrases,
    pub numerals_han_not: Vec<String>,
    pub negating_prefixes: Vec<String>,
    /// Prefixes of which another one makes another word, by lines.
    prefixes: Vec<Vec<String>>,
    /// Parts of a notice that is added to a text: subscribe to our newsletter, all rights reserved.
    pub notice_parts: Phrases,
    /// What makes another thing of the one beside it, in scripts without spaces.
    pub modifier_parts: Phrases,
    /// Words that order what stands around them, in scripts without spaces.
    pub ordering_parts: Phrases,
    surnames: HashSet<char>,
    pub organisations: Phrases,
    /// Short forms and what they are short for.
    pub abbreviations: Vec<(String, String)>,
    pub endings: Endings,
    rating_symbols: HashSet<char>,
    /// A bit for each group in which a character is. One for another of the same group makes another
    /// thing.
    deciding_characters: HashMap<char, u128>,
    numerals_han: HashSet<char>,
    page_words: HashSet<String>,
}

macro_rules! list {
    ($name:literal) => {
        include_str!(concat!("../text/lists/same/", $name, ".txt"))
    };
}

/// The classes of words with the names of their lists.
macro_rules! classes {
    ($($class:ident $name:ident),*) => {
        [$((Classes::$class, include_str!(concat!("../text/lists/same/", stringify!($name), ".txt")))),*]
    };
}

/// The lists, read at the first use.
pub fn lists() -> &'static Lists {
    static LISTS: OnceLock<Lists> = OnceLock::new();
    LISTS.get_or_init(Lists::new)
}

impl Lists {
    fn new() -> Self {
        let mut words = Words::default();
        for (class, list) in classes![
            NEGATION negation, CALENDAR calendar, NUMERAL numerals, GREETING greetings,
            FUNCTION function_words, FUNCTION fillers, ADDRESSEE addressees, ITEM items, THIS this,
            HOLDS holds, CURRENCY currencies, CONJUNCTION conjunctions, LIGHT light_words,
            FUNCTION light_characters, MODIFIER modifiers, OUTCOME outcomes, CONDITION conditions,
            TITLE titles, NOTE notes, TOPIC note_topics, REFERS references, LABEL number_labels,
            SOURCE sources, CLOSING closings, WEAK weak_greetings, GENERIC generic_addressees,
            ORDERS ordering_words, APPOSITION appositions, WISH wishes, DAY_PART day_parts, ASKS question_words
        ] {
            for (languages, line) in list.lines().map(Languages::of_line) {
                for word in folded(line) {
                    let is_consonant = word.len() == 1 && !"aeiouy".contains(&word);
                    let entry = words.entry(word);
                    entry.is_consonant = is_consonant;
                    entry.classes.0 |= class.0;
                    match class {
                        Classes::NUMERAL => entry.classes.0 |= Classes::CALENDAR.0,
                        Classes::LIGHT => entry.light_in.0 |= languages.0,
                        Classes::NEGATION => entry.negates_in.0 |= languages.0,
                        _ => (),
                    }
                }
            }
        }
        for (group, list) in [
            (Group::Equal, list!("equal_words")),
            (Group::Synonyms, list!("synonyms")),
            (Group::Opposites, list!("opposites")),
            (Group::Confused, list!("confused_words")),
        ] {
            for (n, line) in (0..).zip(list.lines()) {
                for word in folded(line) {
                    words.entry(word).groups.push((group, n));
                }
            }
        }
        let mut deciding_characters: HashMap<char, u128> = HashMap::new();
        let others = [list!("surnames"), list!("numerals_han")].map(fold);
        for (n, group) in folded(list!("deciding_characters"))
            .chain(others)
            .enumerate()
        {
            for c in group.chars() {
                *deciding_characters.entry(c).or_default() |= 1 << n;
            }
        }
        let mut firsts = 0;
        for first in firsts_of_phrases() {
            let entry = words.entry(first);
            if entry.phrases.is_none() {
                entry.phrases = Some(firsts);
                firsts += 1;
            }
        }
        let mut outlines = vec![0; OUTLINES / u64::BITS as usize];
        for (word, _) in &words.words {
            let outline = outline(word);
            outlines[outline / 64] |= 1 << (outline % 64);
        }
        Self {
            words,
            outlines,
            first_forms: list!("equal_words")
                .lines()
                .map(|line| folded(line).next().unwrap_or_default())
                .collect(),
            negation_parts: Phrases::new(list!("negation_parts")),
            negation_not: Phrases::new(list!("negation_not")),
            asking_parts: Phrases::new(list!("asking_parts")),
            negation_errors: folded(list!("negation_errors")).collect(),
            greeting_parts: Phrases::new(list!("greeting_parts")),
            addressee_parts: Phrases::new(list!("addressee_parts")),
            courtesy_parts: Phrases::new(list!("courtesy_parts")),
            decisions: Phrases::new(list!("decisions")),
            heading_parts: Phrases::new(list!("heading_parts")),
            item_parts: Phrases::new(list!("item_parts")),
            numerals_han_not: folded(list!("numerals_han_not")).collect(),
            negating_prefixes: folded(list!("negating_prefixes")).collect(),
            prefixes: list!("prefixes")
                .lines()
                .map(|line| folded(line).collect())
                .collect(),
            notice_parts: Phrases::new(list!("notice_parts")),
            modifier_parts: Phrases::new(list!("modifier_parts")),
            ordering_parts: Phrases::new("然后 之后 战胜 胜 比 先 再 从 到"),
            surnames: characters(list!("surnames")),
            organisations: Phrases::new(list!("organisations")),
            abbreviations: folded(list!("abbreviations"))
                .zip(folded(list!("abbreviations")).skip(1))
                .step_by(2)
                .collect(),
            endings: Endings::new(list!("endings")),
            rating_symbols: characters(list!("rating_symbols")),
            deciding_characters,
            numerals_han: characters(list!("numerals_han")),
            page_words: folded(list!("page_words")).collect(),
        }
    }

    pub fn classes(&self, word: &str) -> Classes {
        self.entry(word)
            .map_or(Classes::default(), |entry| entry.classes)
    }

    #[inline]
    pub fn entry(&self, word: &str) -> Option<&Entry> {
        let outline = outline(word);
        if self.outlines[outline / 64] >> (outline % 64) & 1 == 0 {
            return None;
        }
        let number = self.words.find(word).1?;
        Some(&self.words.words[number].1)
    }

    /// The form that stands for all of a word's forms.
    pub fn first_form(&self, entry: &Entry) -> Option<&str> {
        let line = entry.groups.iter().find(|line| line.0 == Group::Equal)?;
        self.first_forms
            .get(usize::from(line.1))
            .map(String::as_str)
    }

    /// Whether two words are forms of one.
    pub fn are_equal(&self, a: &str, b: &str) -> bool {
        matches!((self.entry(a), self.entry(b)), (Some(a), Some(b)) if a.is_equal(b))
    }

    /// Whether two words that look like one with an error are two, by the lists or by prefixes.
    pub fn are_two_words(&self, a: &str, b: &str) -> bool {
        let are_listed = matches!((self.entry(a), self.entry(b)), (Some(a), Some(b))
            if a.are(Group::Confused, b));
        are_listed
            || is_confused_pair(a, b)
            || self.prefixes.iter().any(|line| {
                line.iter().any(|first| {
                    a.strip_prefix(first.as_str()).is_some_and(|stem| {
                        let has_other = |other: &String| {
                            other != first && b.strip_prefix(other.as_str()) == Some(stem)
                        };
                        stem.chars().nth(2).is_some() && line.iter().any(has_other)
                    })
                })
            })
    }

    pub fn is_opposite(&self, a: &str, b: &str) -> bool {
        matches!((self.entry(a), self.entry(b)), (Some(a), Some(b)) if a.is_opposite(b))
    }

    /// Whether one character for another makes another thing, not an error: both are of a group.
    pub fn characters_decide(&self, a: char, b: char) -> bool {
        let groups = |c| {
            self.deciding_characters
                .get(&c)
                .copied()
                .unwrap_or_default()
        };
        groups(a) & groups(b) != 0
    }

    /// Whether a text without spaces is a form of courtesy and nothing else.
    pub fn is_courtesy(&self, text: &str) -> bool {
        let mut rest = text;
        while !rest.is_empty() {
            let parts = [
                &self.greeting_parts,
                &self.addressee_parts,
                &self.courtesy_parts,
            ];
            let Some(length) = parts
                .into_iter()
                .filter_map(|part| part.at_begin(rest))
                .max()
            else {
                return false;
            };
            rest = &rest[length..];
        }
        true
    }

    /// Whether one character is written for another that negates, by mistake.
    pub fn is_negation_error(&self, a: &str, b: &str) -> bool {
        let mut groups = self.negation_errors.iter();
        groups.any(|group| group.contains(a) && group.contains(b))
    }

    pub fn is_numeral_han(&self, c: char) -> bool {
        self.numerals_han.contains(&c)
    }

    pub fn is_surname(&self, c: char) -> bool {
        self.surnames.contains(&c)
    }

    pub fn is_rating(&self, symbol: &str) -> bool {
        symbol.chars().all(|c| self.rating_symbols.contains(&c))
    }

    pub fn is_currency(&self, word: &str) -> bool {
        self.classes(word).has(Classes::CURRENCY)
    }

    pub fn is_page_word(&self, word: &str) -> bool {
        !word.contains(|c: char| c.is_ascii_digit()) && self.page_words.contains(&fold(word))
    }
}

/// A number that few words share: of the length and three bytes.
#[inline]
fn outline(word: &str) -> usize {
    let bytes = word.as_bytes();
    let parts = match bytes.len() {
        0 => [0; 4],
        length => [
            bytes[0],
            bytes[(length - 1) / 2],
            bytes[length - 1],
            length as u8,
        ],
    };
    (u32::from_le_bytes(parts).wrapping_mul(0x9e37_79b1) >> (u32::BITS - OUTLINES.ilog2())) as usize
}

/// Whether both are words of English, of which one looks like the other with an error.
pub fn is_confused_pair(a: &str, b: &str) -> bool {
    // A line for each pair, sorted.
    const PAIRS: &str = list!("confused_pairs");
    let wanted = [a.min(b), " ", a.max(b)].concat();
    let (mut begin, mut end) = (0, PAIRS.len());
    while begin < end {
        let at = PAIRS.floor_char_boundary((begin + end) / 2);
        let first = PAIRS[..at].rfind('\n').map_or(0, |last| last + 1);
        let line = PAIRS[first..].split('\n').next().unwrap_or_default();
        match line.cmp(&wanted) {
            Ordering::Equal => return true,
            Ordering::Less => begin = first + line.len() + 1,
            Ordering::Greater => end = first,
        }
    }
    false
}

fn folded(list: &'static str) -> impl Iterator<Item = String> {
    list.split_whitespace()
        .map(|word| fold(word).replace('\'', ""))
}

fn characters(list: &str) -> HashSet<char> {
    fold(list).chars().filter(|c| !c.is_whitespace()).collect()
}

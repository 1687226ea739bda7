//! Judges each stretch of words that differs, then lets the tally of [`finding`] settle what all of
//! them decide together. What two texts are like, their shape, says how much may differ. [`crate::same`]
//! calls it once for two texts, [`sentences`] once more. Within one call a finding that decides
//! is never taken back.
//!
//! A stretch is `replaced` or `added`, its words have a `nature`. Texts that differ are compared once more
//! by their `order`, and with their equal `sentences` taken out; how equal words are `written` may decide.

mod added;
mod addition;
pub mod finding;
mod nature;
pub mod order;
pub mod reference;
mod replaced;
pub mod sentences;
pub mod written;

use crate::error::Error;
use crate::same::align::alike::{Likeness, is_scan};
use crate::same::align::{Alignment, Hunk, Middle, Numbered, hunks, middle, numbered};
use crate::same::align::{Pairing, pair};
use crate::same::cut::tokens::{Token, TokenKind, Tokens};
use crate::same::limits::{
    AROUND, FAR_SHARE, FAR_SHARE_OF_CHARACTERS, FAR_WORDS, HEAD, LEAST_REORDERED, LONG,
    MOST_PAIRED, NAME, SCANNED, UNLIKE_SHARE, UNLIKE_WORDS, WORDS_OF_A_FIELD,
};
use crate::same::lists::{Classes, lists};
use finding::Tally;
use finding::{Finding, Kind, finding};
use nature::{are_without_particles, cover, describes_itself, is_contraction};
use order::is_rotated;
use std::ops::Range;

const VOWELS: [char; 5] = ['a', 'e', 'i', 'o', 'u'];

/// What the caller needs.
#[derive(Clone, Copy, PartialEq)]
pub enum Wanted {
    /// Whether something decides: what does ends the work.
    Verdict,
    All,
    /// Whether something differs beyond spelling and layout.
    Strict,
}

/// What differs, and how many words both texts have in different orders.
pub struct Judged {
    pub findings: Vec<Finding>,
    pub moved: usize,
    /// Most words are in one text alone, so that nothing else was asked.
    pub is_unlike: bool,
}

impl Judged {
    pub fn decides(&self) -> bool {
        self.findings.iter().any(|finding| finding.decides)
    }
}

/// Judges all words that differ. The alignment is None where it is not known yet.
pub fn judge(
    a: &Tokens,
    b: &Tokens,
    alignment: Option<Alignment>,
    shape: &Shape,
    wanted: Wanted,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Judged, Error> {
    let (middle, common, found, mut numbers) = match alignment {
        Some(found) => (found.middle, found.common, found.hunks, None),
        None => {
            let middle = middle(a, b);
            let numbered = numbered(a, b, &middle, check_interrupts)?;
            (middle, numbered.common, Vec::new(), Some(numbered))
        }
    };
    let whole = finding(Kind::Word, middle.a.clone(), middle.b.clone(), true);
    let others = middle.a.len().min(middle.b.len()) - common;
    let is_unlike = others > UNLIKE_WORDS && shape.weight(others) > UNLIKE_SHARE * shape.words;
    if is_unlike && wanted == Wanted::Verdict {
        return Ok(Judged {
            findings: vec![whole],
            moved: common,
            is_unlike,
        });
    }
    let hunks = match numbers.take() {
        Some(numbered) => hunks(&middle, &numbered, check_interrupts)?,
        None => found,
    };
    let differ: usize = hunks.iter().map(|hunk| hunk.a.len()).sum();
    let moved = common + differ - middle.a.len();
    if !shape.by_characters && others == 0 && is_rotated(a, b, &middle) {
        let order = |hunk: &Hunk| finding(Kind::Order, hunk.a.clone(), hunk.b.clone(), false);
        let findings = hunks.iter().map(order).collect();
        return Ok(Judged {
            findings,
            moved,
            is_unlike: false,
        });
    }
    let mut judge = Judge::new(a, b, shape, &hunks);
    for (n, hunk) in hunks.iter().enumerate() {
        check_interrupts();
        let in_front = n.checked_sub(1).map_or(0, |n| hunks[n].a.end);
        let behind = hunks.get(n + 1).map_or(a.len(), |next| next.a.start);
        judge.around = [hunk.a.start - in_front, behind - hunk.a.end].map(|gap| gap.min(AROUND));
        judge
            .findings
            .try_reserve(4)
            .map_err(|_| Error::OutOfMemory)?;
        judge.hunk(hunk);
        let is_decided = judge.is_decided || judge.tally.exceeded(shape).next().is_some();
        if is_decided && wanted == Wanted::Verdict {
            break;
        }
    }
    judge.tally.settle(a, b, shape, &mut judge.findings);
    if is_unlike && !judge.findings.iter().any(|finding| finding.decides) {
        judge.findings.push(whole);
    }
    Ok(Judged {
        findings: judge.findings,
        moved,
        is_unlike: false,
    })
}

/// Whether most words of both texts are not in the other: no value, no other wording and no order brings
/// them together.
pub fn are_far(a: &Tokens, b: &Tokens, middle: &Middle, numbered: &Numbered) -> bool {
    let shorter = middle.a.len().min(middle.b.len());
    let is_beyond =
        |share: f64| (shorter - numbered.common) as f64 > share * a.len().min(b.len()) as f64;
    shorter > FAR_WORDS
        && is_beyond(FAR_SHARE_OF_CHARACTERS)
        && (is_beyond(FAR_SHARE) || are_of_characters(a, b))
}

/// Whether most words of two texts are letters of scripts without spaces.
fn are_of_characters(a: &Tokens, b: &Tokens) -> bool {
    let words = || a.all().iter().chain(b.all());
    let characters = words().filter(|token| token.kind == TokenKind::Character);
    2 * characters.count() > words().count()
}

/// Words in a row, or those of a row that are left.
type Rest = Vec<usize>;

pub struct Judge<'t> {
    pub a: &'t Tokens,
    pub b: &'t Tokens,
    pub shape: &'t Shape,
    /// Fields are missing in one of two records, and nothing else differs.
    pub has_fewer_fields: bool,
    /// Nothing else differs.
    pub is_only: bool,
    /// Equal words in front of the stretch that is judged, and behind it.
    pub around: [usize; 2],
    /// The last words that one text alone has, and whether it is the first one.
    pub last_added: Option<(Hunk, bool, &'t str)>,
    /// Names that stand for each other in the salutations.
    pub addressed: Vec<(String, String)>,
    findings: Vec<Finding>,
    is_decided: bool,
    pub tally: Tally<'t>,
}

impl<'t> Judge<'t> {
    fn new(a: &'t Tokens, b: &'t Tokens, shape: &'t Shape, hunks: &[Hunk]) -> Self {
        let only_in_a = hunks.iter().all(|hunk| hunk.b.is_empty());
        let only_in_b = hunks.iter().all(|hunk| hunk.a.is_empty());
        // A value alone is not a record with fewer fields.
        let are_fields = [a, b]
            .iter()
            .all(|text| text.marks.colons + text.marks.semicolons + text.marks.commas > 0);
        Self {
            a,
            b,
            shape,
            has_fewer_fields: shape.is_record && are_fields && (only_in_a || only_in_b),
            is_only: hunks.len() == 1,
            around: [0; 2],
            last_added: None,
            addressed: Vec::new(),
            findings: Vec::new(),
            is_decided: false,
            tally: Tally::default(),
        }
    }

    fn hunk(&mut self, hunk: &Hunk) {
        let (in_a, in_b) = (self.a.joined(&hunk.a), self.b.joined(&hunk.b));
        let both = !hunk.a.is_empty() && !hunk.b.is_empty();
        // 1 12 is not 11 2, and 8h30 is 8 h 30.
        let are_apart = |text: &Tokens, words: &Range<usize>| {
            let is_number = |token: &Token| token.kind == TokenKind::Number;
            let mut pairs = text.all()[words.clone()].windows(2);
            pairs.all(|pair| !(is_number(&pair[0]) && is_number(&pair[1])))
        };
        let in_one_piece = in_a == in_b && are_apart(self.a, &hunk.a) && are_apart(self.b, &hunk.b);
        let is_scan = || {
            hunk.a.len() != hunk.b.len()
                && in_a.len().min(in_b.len()) >= SCANNED
                && is_scan(in_a, in_b)
        };
        let is_equal = || {
            lists().are_equal(in_a, in_b)
                || self.is_same_code(hunk)
                || is_scan()
                || is_contraction((self.a, &hunk.a), (self.b, &hunk.b))
                || is_contraction((self.b, &hunk.b), (self.a, &hunk.a))
                || are_without_particles(in_a, in_b)
                || self.is_first_verb(hunk)
                || self.is_progressive(hunk)
        };
        if both && (in_one_piece || is_equal()) {
            return self.found(Kind::Spelling, hunk.a.clone(), hunk.b.clone(), false);
        }
        if both && hunk.a.len().max(hunk.b.len()) > MOST_PAIRED {
            return self.rewritten(hunk);
        }
        let (rest_a, rest_b) = match both {
            true => self.paired(hunk),
            false => (hunk.a.clone().collect(), hunk.b.clone().collect()),
        };
        let all = (cover(&rest_a), cover(&rest_b));
        let rest_a = self.counting(self.a, rest_a);
        let rest_b = self.counting(self.b, rest_b);
        match (rest_a.is_empty(), rest_b.is_empty()) {
            (false, false) => self.replaced(hunk, &rest_a, &rest_b),
            (false, true) => self.added(hunk, &rest_a, true),
            (true, false) => self.added(hunk, &rest_b, false),
            (true, true) => {
                self.count_negations(hunk);
                if !all.0.is_empty() || !all.1.is_empty() {
                    self.found(Kind::Light, all.0, all.1, false);
                }
            }
        }
    }

    /// Whether both texts begin with a verb, in other forms: Add a test, Adds a test, Added a test.
    fn is_first_verb(&self, hunk: &Hunk) -> bool {
        let is_first = |text: &Tokens, words: &Range<usize>| {
            let mut behind = words.start + 1..words.end;
            text.at(words.start).kind == TokenKind::Word
                && behind.all(|i| text.classes(i).has(Classes::FUNCTION))
                && (words.start == 0 || text.at(words.start - 1).colon && words.start < HEAD / 4)
                && !text.classes(words.start).has(Classes::OUTCOME)
                && text.len() >= LEAST_REORDERED
        };
        is_first(self.a, &hunk.a)
            && is_first(self.b, &hunk.b)
            && are_forms_of_verb(self.a.word(hunk.a.start), self.b.word(hunk.b.start))
    }

    /// Whether one text says what goes on with a form of "be": is planning, plans; has been living, has lived.
    fn is_progressive(&self, hunk: &Hunk) -> bool {
        let is_be = |word: &str| matches!(word, "is" | "are" | "am" | "was" | "were" | "been");
        let goes_on = |text: &Tokens, words: &Range<usize>| {
            let be = text.word(words.start);
            words.len() == 2 && is_be(be) && text.word(words.end - 1).ends_with("ing")
        };
        let (last_a, last_b) = (self.a.word(hunk.a.end - 1), self.b.word(hunk.b.end - 1));
        let is_past = |word: &str| matches!(word, "was" | "were" | "been");
        // He was planning is not he plans.
        let in_one_time = |text: &Tokens, words: &Range<usize>, verb: &str| {
            is_past(text.word(words.start)) == verb.ends_with('d')
        };
        (goes_on(self.a, &hunk.a) && hunk.b.len() == 1 && in_one_time(self.a, &hunk.a, last_b)
            || goes_on(self.b, &hunk.b)
                && hunk.a.len() == 1
                && in_one_time(self.b, &hunk.b, last_a))
            && are_forms_of_verb(last_a, last_b)
    }

    pub fn weight(&self, words: usize) -> f64 {
        self.shape.weight(words)
    }

    pub fn count_negations(&mut self, hunk: &Hunk) {
        self.tally.negations(self.a, self.b, hunk, self.around);
    }

    /// Whether words stand at the begin or the end of both texts.
    pub fn is_at_end(&self, words: &Range<usize>, other: &Range<usize>, in_a: bool) -> bool {
        let (length, other_length) = match in_a {
            true => (self.a.len(), self.b.len()),
            false => (self.b.len(), self.a.len()),
        };
        words.start == 0 && other.start == 0 || words.end == length && other.end == other_length
    }

    pub fn found(&mut self, kind: Kind, a: Range<usize>, b: Range<usize>, decides: bool) {
        self.is_decided |= decides;
        self.findings.push(finding(kind, a, b, decides));
    }

    /// Pairs the words of both sides that are forms of one, and returns the others.
    fn paired(&mut self, hunk: &Hunk) -> (Rest, Rest) {
        let Pairing {
            pairs,
            rest_a,
            rest_b,
        } = pair(self.a, self.b, hunk);
        for (i, j, likeness) in pairs {
            let kind = match likeness {
                Likeness::Typing => Kind::Typing,
                Likeness::Synonym => Kind::Light,
                _ => Kind::Spelling,
            };
            self.tally.likeness(likeness);
            self.found(kind, i..i + 1, j..j + 1, self.is_other_name(i, j, likeness));
        }
        (rest_a, rest_b)
    }

    /// Whether words that are nearly one name two things where the entry of a catalogue says what it is:
    /// with other ends, without a vowel, or with the name of the thing in them.
    fn is_other_name(&self, i: usize, j: usize, likeness: Likeness) -> bool {
        let (x, y, thing) = (self.a.word(i), self.b.word(j), self.a.word(0));
        let is_name = |word: &str| {
            word.is_ascii() && !word.contains(VOWELS) || thing.len() >= NAME && word.contains(thing)
        };
        let is_listed = |word| lists().entry(word).is_some();
        matches!(likeness, Likeness::Typing | Likeness::Short)
            && (likeness == Likeness::Short
                || x.chars().last() != y.chars().last()
                || is_name(x)
                || is_name(y))
            && !is_listed(x)
            && !is_listed(y)
            && (describes_itself(self.a, &(i..i + 1)) || describes_itself(self.b, &(j..j + 1)))
    }

    /// Without articles and the like.
    fn counting(&mut self, text: &Tokens, words: Rest) -> Rest {
        let counts = |i: &usize| !text.classes(*i).has(Classes::FUNCTION);
        let all = words.len();
        let counting: Rest = words.into_iter().filter(counts).collect();
        self.tally.has_fillers |= counting.len() < all;
        counting
    }

    /// Whether numbers have the same digits, cut in other places: a telephone number.
    fn is_same_code(&self, hunk: &Hunk) -> bool {
        let all_numbers = |text: &Tokens, words: &Range<usize>| {
            text.all()[words.clone()]
                .iter()
                .all(|token| token.kind == TokenKind::Number)
        };
        let is_long = hunk.a.len().max(hunk.b.len()) > MOST_PAIRED;
        if is_long || !all_numbers(self.a, &hunk.a) || !all_numbers(self.b, &hunk.b) {
            return false;
        }
        let (in_a, in_b) = (self.a.joined(&hunk.a), self.b.joined(&hunk.b));
        let digits = |text: &str| {
            text.chars()
                .filter(char::is_ascii_digit)
                .collect::<String>()
        };
        let groups = |text: &Tokens, words: &Range<usize>| -> Vec<String> {
            let words = words.clone().map(|i| text.word(i).to_owned());
            words
                .flat_map(|word| word.split('.').map(str::to_owned).collect::<Vec<_>>())
                .collect()
        };
        // The area code, which is equal.
        let in_front = match hunk.a.start.checked_sub(1) {
            Some(last) => self.a.word(last),
            None => "",
        };
        let (in_groups_a, in_groups_b) = (groups(self.a, &hunk.a), groups(self.b, &hunk.b));
        let one_is_whole = !(in_a.contains('.') && in_b.contains('.'));
        in_groups_a.len() > 3 && in_groups_a == in_groups_b
            || one_is_whole
                && digits(in_front).len() + digits(in_a).len() >= 7
                && digits(in_a) == digits(in_b)
    }
}

/// Whether two words are forms of one English verb.
fn are_forms_of_verb(a: &str, b: &str) -> bool {
    const ENDINGS: [&str; 7] = ["", "e", "s", "es", "d", "ed", "ing"];
    let stem = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let is_form = |word: &str| {
        let ending = word.get(stem..).unwrap_or("?");
        // Refer, referred.
        ENDINGS.contains(&ending)
            || ending.get(1..).is_some_and(|ending| {
                word[..stem].ends_with(&word[stem..stem + 1]) && ENDINGS.contains(&ending)
            })
    };
    let is_plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphabetic());
    stem > 2 && is_plain(a) && is_plain(b) && is_form(a) && is_form(b)
}

/// What two texts are like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Most of it is in a script without spaces.
    pub by_characters: bool,
    /// Words of the shorter text; two characters count as one.
    pub words: f64,
    pub is_long: bool,
    /// The entry of a catalogue: however long it is, nothing more may differ in it.
    pub is_entry: bool,
    /// Fields of a record, of which one text may have fewer.
    pub is_record: bool,
    /// The name of an organisation.
    pub is_name: bool,
}

impl Shape {
    pub fn of(a: &Tokens, b: &Tokens) -> Self {
        let by_characters = are_of_characters(a, b);
        let words = a.len().min(b.len()) as f64 / if by_characters { 2.0 } else { 1.0 };
        let is_entry = words >= LONG && !by_characters && (is_entry(a) || is_entry(b));
        Self {
            by_characters,
            words,
            is_long: words >= LONG && !is_entry,
            is_entry,
            is_record: is_record(a) || is_record(b),
            is_name: by_characters && (is_name(a) || is_name(b)),
        }
    }
}

impl Shape {
    /// Words as they count: two characters are one.
    pub fn weight(&self, words: usize) -> f64 {
        words as f64 / if self.by_characters { 2.0 } else { 1.0 }
    }
}

/// Whether a text says somewhere what thing it is about: this package, the library contains.
fn is_entry(text: &Tokens) -> bool {
    if !text.any.has(Classes::ITEM) {
        return false;
    }
    let mut last = Classes::default();
    (0..text.len()).any(|i| {
        let classes = text.classes(i);
        let in_front = std::mem::replace(&mut last, classes);
        classes.has(Classes::ITEM) && in_front.has(Classes::THIS)
            || classes.has(Classes::HOLDS) && in_front.has(Classes::ITEM)
    })
}

/// Whether a text is a row of fields: many marks between them, and hardly a sentence.
fn is_record(text: &Tokens) -> bool {
    let marks = &text.marks;
    marks.semicolons >= 2
        || marks.colons >= 4
        || marks.commas >= 3
            && text.len() < 40.min(WORDS_OF_A_FIELD * (marks.commas + 1))
            && marks.sentences <= 1
}

fn is_name(text: &Tokens) -> bool {
    let all = text.joined(&(0..text.len()));
    text.len() < 25 && lists().organisations.are_in(all)
}

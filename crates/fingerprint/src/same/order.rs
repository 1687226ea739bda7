//! Orders of words that say nothing: names written with the surname first, lists, a block at the other end.
//! `judge` asks for the first, [`super`] for the others where something decides.

use super::hunks::Middle;
use super::lists::{Classes, lists};
use super::tokens::{TokenKind, Tokens};
use std::ops::Range;

/// Words that change places with each other at most.
const MOST_MOVED: usize = 4;

/// Whether two texts differ in the order of neighbouring words alone, and in initials.
pub fn is_rotated(a: &Tokens, b: &Tokens, middle: &Middle) -> bool {
    let full = |text: &Tokens, words: &Range<usize>| -> Vec<usize> {
        words
            .clone()
            .filter(|&i| !(text.at(i).dot && text.word(i).chars().count() == 1))
            .collect()
    };
    let (in_a, in_b) = (full(a, &middle.a), full(b, &middle.b));
    if in_a.len() != in_b.len() {
        return false;
    }
    let mut at = 0;
    while at < in_a.len() {
        if a.word(in_a[at]) == b.word(in_b[at]) {
            at += 1;
            continue;
        }
        let most = MOST_MOVED.min(in_a.len() - at);
        let names = |length: &usize| in_a[at..at + length].iter().all(|&i| may_be_name(a, i));
        let turned = |length: &usize| {
            let (x, y) = (&in_a[at..at + length], &in_b[at..at + length]);
            (1..*length)
                .any(|by| (0..*length).all(|i| a.word(x[(i + by) % length]) == b.word(y[i])))
        };
        match (2..=most).find(|length| turned(length) && names(length)) {
            Some(length) => at += length,
            None => return false,
        }
    }
    true
}

fn may_be_name(text: &Tokens, i: usize) -> bool {
    let word = text.word(i);
    let classes = lists().classes(word);
    text.at(i).kind == TokenKind::Word
        && word.chars().nth(1).is_some()
        && !classes.has(Classes::NEGATION)
        && !classes.has(Classes::CALENDAR)
}

/// Words that are looked through for a block that has moved.
const MOST_REORDERED: usize = 200;

/// Words of a text in which a block may have moved.
const LEAST_REORDERED: usize = 3;

/// Whether two texts have the same words, and differ in an order that says nothing: of the items of a list,
/// of two things joined by "and", of a block at the begin or the end, of the words that say when.
pub fn is_reordered(a: &Tokens, b: &Tokens) -> bool {
    if a.len().max(b.len()) > MOST_REORDERED {
        return false;
    }
    let (in_a, in_b) = (Content::of(a), Content::of(b));
    if in_a.words.len() != in_b.words.len() || in_a.sorted() != in_b.sorted() {
        return false;
    }
    if in_a.neighbours() != in_b.neighbours()
        && in_a.neighbours_behind() != in_b.neighbours_behind()
    {
        return false;
    }
    is_joined_anew(a, b)
        || in_a.items() == in_b.items() && in_a.is_list() && in_b.is_list()
        || is_block_moved(&in_a, &in_b)
}

/// Whether two texts have two things in turn around a word that joins them: X and Y, Y and X.
fn is_joined_anew(a: &Tokens, b: &Tokens) -> bool {
    let middle = super::hunks::middle(a, b);
    let words = |text: &Tokens, range: Range<usize>| {
        range.map(|i| text.word(i).to_owned()).collect::<Vec<_>>()
    };
    let (in_a, in_b) = (words(a, middle.a.clone()), words(b, middle.b.clone()));
    let joins = |word: &String| lists().classes(word).has(Classes::CONJUNCTION);
    let found = (1..in_a.len().saturating_sub(1))
        .filter(|at| joins(&in_a[*at]))
        .any(|at| {
            let turned = [&in_a[at + 1..], &in_a[at..at + 1], &in_a[..at]].concat();
            turned == in_b
        });
    found
}

/// The words of a text that count, without articles, conjunctions and the like.
struct Content<'t> {
    text: &'t Tokens,
    words: Vec<usize>,
}

impl<'t> Content<'t> {
    fn of(text: &'t Tokens) -> Self {
        let left_out = Classes::FUNCTION
            .or(Classes::LIGHT)
            .or(Classes::CONJUNCTION);
        let counts = |i: &usize| {
            let classes = lists().classes(text.word(*i));
            !classes.has(left_out) || classes.has(Classes::NEGATION) || classes.has(Classes::ORDERS)
        };
        Self {
            text,
            words: (0..text.len()).filter(counts).collect(),
        }
    }

    fn word(&self, n: usize) -> &'t str {
        self.text.word(self.words[n])
    }

    fn sorted(&self) -> Vec<&'t str> {
        let mut words: Vec<&str> = self.words.iter().map(|i| self.text.word(*i)).collect();
        words.sort_unstable();
        words
    }

    fn holds_on(&self, n: usize) -> bool {
        self.text.at(self.words[n]).kind == TokenKind::Number
            || lists().classes(self.word(n)).has(Classes::NEGATION)
    }

    /// Each number and negation with the word in front of it.
    fn neighbours(&self) -> Vec<(&'t str, &'t str)> {
        let all = (0..self.words.len()).filter(|n| self.holds_on(*n));
        let mut pairs: Vec<_> = all
            .map(|n| (if n > 0 { self.word(n - 1) } else { "" }, self.word(n)))
            .collect();
        pairs.sort_unstable();
        pairs
    }

    /// Each number and negation with the word behind it.
    fn neighbours_behind(&self) -> Vec<(&'t str, &'t str)> {
        let all = (0..self.words.len()).filter(|n| self.holds_on(*n));
        let mut pairs: Vec<_> = all
            .map(|n| {
                (
                    self.word(n),
                    if n + 1 < self.words.len() {
                        self.word(n + 1)
                    } else {
                        ""
                    },
                )
            })
            .collect();
        pairs.sort_unstable();
        pairs
    }

    /// The items of a list, sorted. In fields with names a colon is within an item.
    fn items(&self) -> Vec<String> {
        let are_fields = self.text.marks.colons >= 2;
        let mut items = vec![String::new()];
        for i in 0..self.text.len() {
            let token = self.text.at(i);
            let joins = lists().classes(self.text.word(i)).has(Classes::CONJUNCTION);
            if joins && !are_fields {
                items.push(String::new());
            } else if self.words.binary_search(&i).is_ok()
                && let Some(last) = items.last_mut()
            {
                last.push_str(self.text.word(i));
                last.push(' ');
            }
            let ends = token.ends_line || token.ends_clause && !(are_fields && token.colon);
            if ends {
                items.push(String::new());
            }
        }
        items.retain(|item| !item.is_empty());
        items.sort_unstable();
        items
    }

    /// Whether there are several items, and they are not numbers alone.
    fn is_list(&self) -> bool {
        let items = self.items();
        let is_number = |item: &String| !item.contains(char::is_alphabetic);
        items.len() >= 2 && !items.iter().any(is_number) && !self.orders()
    }

    /// Whether a word says that the order counts.
    fn orders(&self) -> bool {
        self.words
            .iter()
            .any(|i| lists().classes(self.text.word(*i)).has(Classes::ORDERS))
            || lists()
                .ordering_parts
                .are_in(self.text.joined(&(0..self.text.len())))
    }

    /// Without the words that say when: days, months.
    fn timeless(&self) -> Vec<&'t str> {
        let is_time = |i: &&usize| lists().classes(self.text.word(**i)).has(Classes::CALENDAR);
        self.words
            .iter()
            .filter(|i| !is_time(i))
            .map(|i| self.text.word(*i))
            .collect()
    }
}

/// Whether a block of words stands at the other end of the text, or of what differs up to one of its ends.
fn is_block_moved(a: &Content, b: &Content) -> bool {
    let all = |content: &Content| {
        (0..content.words.len())
            .map(|n| content.text.word(content.words[n]).to_owned())
            .collect::<Vec<_>>()
    };
    let owned = |words: Vec<&str>| {
        words
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    let (whole_a, whole_b) = (all(a), all(b));
    let (timeless_a, timeless_b) = (owned(a.timeless()), owned(b.timeless()));
    if whole_a.len() < LEAST_REORDERED {
        return false;
    }
    is_rotation(&whole_a, &whole_b)
        || timeless_a.len() < whole_a.len()
            && (timeless_a == timeless_b || is_rotation(&timeless_a, &timeless_b))
}

/// Whether words are others with two blocks in turn, which reach to one end at least.
fn is_rotation(a: &[String], b: &[String]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let front = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let back = a[front..]
        .iter()
        .rev()
        .zip(b[front..].iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    let (x, y) = (&a[front..a.len() - back], &b[front..b.len() - back]);
    // Two words in turn are two things in turn, with a word around them that says how they stand.
    let is_long = x.len() >= LEAST_REORDERED || x.len() == 2 && a.len() > LEAST_REORDERED;
    (front == 0 || back == 0)
        && is_long
        && (1..x.len()).any(|by| x[by..] == y[..x.len() - by] && x[..by] == y[x.len() - by..])
}

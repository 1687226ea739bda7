//! Orders of words that say nothing: names written with the surname first, lists, a block at the other end.
//! `judge` asks for the first, [`crate::same`] for the others where something decides.

use crate::same::align::Middle;
use crate::same::cut::tokens::{TokenKind, Tokens};
use crate::same::limits::{
    LEAST_OF_GROUP, LEAST_REORDERED, MOST_MOVED, MOST_REORDERED, MOST_SHARED,
};
use crate::same::lists::{Classes, lists};
use std::ops::Range;

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

/// Whether two texts have the same words in an order that says nothing. It is that of the items of a list,
/// of two things joined by "and", of a block at the begin or the end, or of the words that say when.
pub fn is_reordered(a: &Tokens, b: &Tokens) -> bool {
    if a.len().max(b.len()) > MOST_REORDERED {
        return false;
    }
    if content(a) != content(b) {
        return false;
    }
    let (in_a, in_b) = (Content::of(a), Content::of(b));
    // Where nothing has moved, a light word that stands for another one decides.
    if in_a.all() == in_b.all() && in_a.has_other_light(&in_b) && in_b.has_other_light(&in_a) {
        return false;
    }
    let (items_a, items_b) = (in_a.items(), in_b.items());
    if items_a == items_b && in_a.is_list(&items_a) && in_b.is_list(&items_b) {
        return true;
    }
    let have_same_words = in_a.words.len() == in_b.words.len() && in_a.sorted() == in_b.sorted();
    have_same_words
        && (in_a.held(-1) == in_b.held(-1) || in_a.held(1) == in_b.held(1))
        && in_a.ordered() == in_b.ordered()
        && (is_joined_anew(&in_a, &in_b) || is_block_moved(&in_a, &in_b))
}

/// A number that is equal for texts with the same content in whatever order and layout.
fn content(text: &Tokens) -> u64 {
    let counts = |i: &usize| {
        Content::counts(text.classes(*i)) && !text.classes(*i).has(Classes::CONJUNCTION)
    };
    let words = (0..text.len()).filter(counts).map(|i| text.word(i));
    let letters = words.flat_map(str::bytes).filter(|b| !b" ,".contains(b));
    letters.fold(0, |all, byte| all.wrapping_add(u64::from(byte).pow(4)))
}

/// Whether two texts have two things in turn around a word that joins them: X and Y, Y and X.
fn is_joined_anew(a: &Content, b: &Content) -> bool {
    let (in_a, in_b) = (a.with_conjunctions(), b.with_conjunctions());
    if in_a.len() != in_b.len() {
        return false;
    }
    let (x, _) = between_equal_ends(&in_a, &in_b);
    let begin = in_a.iter().zip(&in_b).take_while(|(x, y)| x == y).count();
    let end = begin + x.len();
    let joins = |at: &usize| lists().classes(in_a[*at]).has(Classes::CONJUNCTION);
    // Both things may begin with one word, or end with one.
    let begins = begin.saturating_sub(MOST_SHARED)..=begin;
    let ends = || end..=(end + MOST_SHARED).min(in_a.len());
    begins.into_iter().any(|from| {
        ends().any(|to| {
            (from + 1..to.saturating_sub(1)).filter(joins).any(|at| {
                [&in_a[at + 1..to], &in_a[at..at + 1], &in_a[from..at]].concat() == in_b[from..to]
            })
        })
    })
}

/// What two rows of words have between equal ends.
fn between_equal_ends<'r, 't>(
    a: &'r [&'t str],
    b: &'r [&'t str],
) -> (&'r [&'t str], &'r [&'t str]) {
    let front = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[front..], &b[front..]);
    let back = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    (&a[..a.len() - back], &b[..b.len() - back])
}

/// The words of a text that count, without articles, conjunctions and the like.
struct Content<'t> {
    text: &'t Tokens,
    words: Vec<usize>,
}

impl<'t> Content<'t> {
    fn of(text: &'t Tokens) -> Self {
        let counts = |i: &usize| Self::counts(text.classes(*i));
        Self {
            text,
            words: (0..text.len()).filter(counts).collect(),
        }
    }

    fn counts(classes: Classes) -> bool {
        const LEFT_OUT: Classes = Classes::FUNCTION
            .or(Classes::LIGHT)
            .or(Classes::CONJUNCTION);
        const KEPT: Classes = Classes::NEGATION.or(Classes::ORDERS);
        !classes.has(LEFT_OUT) || classes.has(KEPT)
    }

    fn has(&self, i: usize, class: Classes) -> bool {
        self.text.classes(i).has(class)
    }

    fn all(&self) -> Vec<&'t str> {
        self.words.iter().map(|i| self.text.word(*i)).collect()
    }

    fn sorted(&self) -> Vec<&'t str> {
        let mut words = self.all();
        words.sort_unstable();
        words
    }

    fn with_conjunctions(&self) -> Vec<&'t str> {
        let counts =
            |i: &usize| self.words.binary_search(i).is_ok() || self.has(*i, Classes::CONJUNCTION);
        (0..self.text.len())
            .filter(counts)
            .map(|i| self.text.word(i))
            .collect()
    }

    /// Whether a light word is not in another text.
    fn has_other_light(&self, other: &Content) -> bool {
        let is_in = |word| (0..other.text.len()).any(|j| other.text.word(j) == word);
        (0..self.text.len()).any(|i| self.has(i, Classes::LIGHT) && !is_in(self.text.word(i)))
    }

    /// Each number and negation with the word in front of it or behind it, sorted: it counts that one.
    fn held(&self, side: isize) -> Vec<(&'t str, &'t str)> {
        let holds = |i: &usize| {
            self.text.at(*i).kind == TokenKind::Number || self.has(*i, Classes::NEGATION)
        };
        let beside = |i: usize| {
            let at = i
                .checked_add_signed(side)
                .filter(|at| *at < self.text.len());
            at.map_or("", |at| self.text.word(at))
        };
        let mut held: Vec<_> = (0..self.text.len())
            .filter(holds)
            .map(|i| (self.text.word(i), beside(i)))
            .collect();
        held.sort_unstable();
        held
    }

    /// Each word that orders what stands around it with the word behind it, sorted.
    fn ordered(&self) -> Vec<(&'t str, &'t str)> {
        let pairs = self
            .words
            .windows(2)
            .filter(|pair| self.has(pair[0], Classes::ORDERS));
        let mut ordered: Vec<_> = pairs
            .map(|pair| (self.text.word(pair[0]), self.text.word(pair[1])))
            .collect();
        ordered.sort_unstable();
        ordered
    }

    /// The fields of a record, each with its name and its sorted items, sorted; or the items of a list.
    fn items(&self) -> Vec<String> {
        let are_fields = self.text.marks.colons >= 2;
        let (mut fields, mut field, mut item) = (Vec::new(), Vec::new(), String::new());
        for i in 0..self.text.len() {
            let token = self.text.at(i);
            if self.has(i, Classes::CONJUNCTION) {
                field.push(std::mem::take(&mut item).trim_start().to_owned());
            } else if self.words.binary_search(&i).is_ok() {
                // The groups of a telephone number may be cut in other places.
                let is_group = |i: usize| {
                    self.text.at(i).kind == TokenKind::Number
                        && self.text.word(i).len() >= LEAST_OF_GROUP
                };
                if i > 0 && !(is_group(i) && is_group(i - 1)) {
                    item.push(' ');
                }
                item.push_str(self.text.word(i));
            }
            let ends_field =
                !are_fields || token.ends_line || token.ends_sentence || i + 1 == self.text.len();
            if token.ends_clause || token.ends_line || i + 1 == self.text.len() {
                // The name of a field begins with a sign that sorts it in front of all items.
                let item = std::mem::take(&mut item).trim_start().to_owned();
                field.push(if token.colon && are_fields {
                    format!("\0{item}")
                } else {
                    item
                });
                if ends_field {
                    field.retain(|item| !item.trim_matches('\0').is_empty());
                    field.sort_unstable();
                    fields.extend(
                        are_fields
                            .then(|| field.join(","))
                            .filter(|field| !field.is_empty()),
                    );
                    if !are_fields {
                        fields.append(&mut field);
                    }
                    field.clear();
                }
            }
        }
        fields.sort_unstable();
        fields
    }

    /// Whether there are several items, they are not numbers alone, and no word says that their order counts.
    fn is_list(&self, items: &[String]) -> bool {
        let is_number = |item: &String| !item.contains(char::is_alphabetic);
        items.len() >= 2
            && !items.iter().all(is_number)
            && !self.words.iter().any(|i| self.has(*i, Classes::ORDERS))
            && !lists().ordering_parts.are_in(&self.text.text)
    }

    /// Without the words that say when: days, months.
    fn timeless(&self) -> Vec<&'t str> {
        let is_time = |i: &&usize| self.has(**i, Classes::CALENDAR) || self.has(**i, Classes::NOTE);
        self.words
            .iter()
            .filter(|i| !is_time(i))
            .map(|i| self.text.word(*i))
            .collect()
    }
}

/// Whether a block of words stands at the other end of the text, or of what differs up to one of its ends.
fn is_block_moved(a: &Content, b: &Content) -> bool {
    let (whole_a, whole_b) = (a.all(), b.all());
    if whole_a.len() < LEAST_REORDERED || lists().ordering_parts.are_in(&a.text.text) {
        return false;
    }
    let (timeless_a, timeless_b) = (a.timeless(), b.timeless());
    is_rotation(&whole_a, &whole_b)
        || timeless_a.len() < whole_a.len()
            && (timeless_a == timeless_b || is_rotation(&timeless_a, &timeless_b))
}

/// Whether words are others with two blocks in turn, which reach to one end at least. Two words in turn are
/// two things in turn, with a word around them that says how they stand.
fn is_rotation(a: &[&str], b: &[&str]) -> bool {
    let (x, y) = between_equal_ends(a, b);
    let reaches = a.first() != b.first() || a.last() != b.last();
    let turned = |by: usize| x[by..] == y[..x.len() - by] && x[..by] == y[x.len() - by..];
    x.len() == y.len() && x.len() >= LEAST_REORDERED && reaches && (1..x.len()).any(turned)
}

//! Orders of words that say nothing: names written with the surname first, lists, a block at the other end.
//! `judge` asks for the first, [`crate::same`] for the others where something decides.

use crate::same::align::Middle;
use crate::same::cut::tokens::{TokenKind, Tokens};
use crate::same::limits::{
    LEAST_OF_GROUP, LEAST_REORDERED, LEAST_TILES, MOST_MOVED, MOST_OF_RANKED, MOST_OF_TILE,
    MOST_OF_TURNED_NAME, MOST_REORDERED, MOST_SHARED,
};
use crate::same::lists::{Classes, Languages, lists};
use crate::same::values::is_unit;
use std::ops::Range;

/// Whether two texts differ in the order of neighbouring words alone, and in initials.
pub fn is_rotated(a: &Tokens, b: &Tokens, middle: &Middle) -> bool {
    let is_initial =
        |text: &Tokens, i: &usize| text.at(*i).dot && text.word(*i).chars().count() == 1;
    let full = |text: &Tokens, words: &Range<usize>| -> Vec<usize> {
        words.clone().filter(|i| !is_initial(text, i)).collect()
    };
    let (in_a, in_b) = (full(a, &middle.a), full(b, &middle.b));
    if in_a.len() != in_b.len() {
        return false;
    }
    let initials = |text: &Tokens, words: &Range<usize>| -> Vec<String> {
        let words = words.clone().filter(|i| is_initial(text, i));
        words.map(|i| text.word(i).to_owned()).collect()
    };
    let (mut of_a, mut of_b) = (initials(a, &middle.a), initials(b, &middle.b));
    if of_a != of_b {
        of_a.sort_unstable();
        of_b.sort_unstable();
        if of_a == of_b {
            return false;
        }
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
        && !classes.has(
            Classes::NEGATION
                .or(Classes::CALENDAR)
                .or(Classes::MODIFIER)
                .or(Classes::OUTCOME),
        )
}

/// Whether two texts have the same words in an order that says nothing. It is that of the items of a list,
/// of two things joined by "and", of a block at the begin or the end, or of the words that say when.
pub fn is_reordered(a: &Tokens, b: &Tokens) -> bool {
    if a.len().max(b.len()) > MOST_REORDERED {
        return false;
    }
    if is_name_turned(a, b) {
        return true;
    }
    if content(a) != content(b) {
        return false;
    }
    let (in_a, in_b) = (Content::of(a), Content::of(b));
    // Where nothing has moved, and in fields, a light word that stands for another one decides.
    let has_fields = a.marks.colons >= 2 || b.marks.colons >= 2;
    if (has_fields || in_a.all() == in_b.all())
        && in_a.has_other_light(&in_b)
        && in_b.has_other_light(&in_a)
    {
        return false;
    }
    let (items_a, items_b) = (in_a.items(), in_b.items());
    if items_a == items_b && in_a.is_list(&items_a) && in_b.is_list(&items_b) {
        return true;
    }
    if in_a.is_tiled_by(&in_b) || in_b.is_tiled_by(&in_a) {
        return true;
    }
    let have_same_words = in_a.words.len() == in_b.words.len() && in_a.sorted() == in_b.sorted();
    have_same_words
        && (in_a.held(-1) == in_b.held(-1) || in_a.held(1) == in_b.held(1))
        && in_a.ordered() == in_b.ordered()
        && (is_joined_anew(&in_a, &in_b) || is_block_moved(&in_a, &in_b))
}

/// Whether a word greets in a salutation or below a text.
fn is_courtesy(text: &Tokens, i: usize) -> bool {
    let of_courtesy = Classes::GREETING.or(Classes::GENERIC).or(Classes::CLOSING);
    text.at(i).in_frame && text.classes(i).has(of_courtesy)
}

/// A number that is equal for texts with the same content in whatever order and layout.
fn content(text: &Tokens) -> u64 {
    let counts = |i: &usize| {
        Content::counts(text.classes(*i))
            && !text.classes(*i).has(Classes::CONJUNCTION)
            && !is_courtesy(text, *i)
    };
    let words = (0..text.len()).filter(counts).map(|i| text.form(i));
    let letters = words.flat_map(str::bytes).filter(|b| !b" ,".contains(b));
    let square = |byte: u64| byte * byte;
    letters.fold(0, |all, byte| all.wrapping_add(square(square(byte.into()))))
}

/// Whether two texts are one name with the surname at either end, beside a title or in front of a comma.
fn is_name_turned(a: &Tokens, b: &Tokens) -> bool {
    const AROUND: Classes = Classes::TITLE.or(Classes::FUNCTION);
    let name = |text: &Tokens| -> Option<Vec<String>> {
        let is_around = |i: &usize| text.classes(*i).has(AROUND);
        let words: Vec<usize> = (0..text.len().min(MOST_OF_RANKED))
            .filter(|i| !is_around(i))
            .collect();
        let is_name = text.len() < MOST_OF_RANKED
            && (2..=MOST_OF_TURNED_NAME).contains(&words.len())
            && words.iter().all(|i| may_be_name(text, *i));
        is_name.then(|| words.iter().map(|i| text.word(*i).to_owned()).collect())
    };
    let says_so = |text: &Tokens| {
        text.marks.commas > 0
            || text.all().iter().any(|token| {
                token
                    .entry
                    .is_some_and(|entry| entry.classes.has(Classes::TITLE))
            })
    };
    let (Some(x), Some(y)) = (name(a), name(b)) else {
        return false;
    };
    let is_turned = || (0..x.len()).any(|by| [&x[by..], &x[..by]].concat() == y);
    (says_so(a) || says_so(b)) && is_turned()
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
pub struct Content<'t> {
    text: &'t Tokens,
    words: Vec<usize>,
}

impl<'t> Content<'t> {
    fn of(text: &'t Tokens) -> Self {
        let counts = |i: &usize| Self::counts(text.classes(*i)) && !is_courtesy(text, *i);
        Self {
            text,
            words: (0..text.len()).filter(counts).collect(),
        }
    }

    pub fn counts(classes: Classes) -> bool {
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
        self.words.iter().map(|i| self.text.form(*i)).collect()
    }

    /// The words of each clause among some of them, and whether they may stand in any order: no number
    /// counts one of them. A number with its unit or its label is a clause.
    fn clauses(&self, among: &Range<usize>) -> Vec<Clause<'t>> {
        let (mut clauses, mut clause, mut is_set) = (Vec::new(), Vec::new(), true);
        let words = &self.words[among.clone()];
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return clauses;
        };
        let is_code = |i: usize| {
            self.text.at(i).kind == TokenKind::Number
                && self
                    .text
                    .word(i)
                    .ends_with(|c: char| c.is_ascii_alphabetic())
        };
        let is_amount = |i: usize| {
            i < *last
                && (self.has(i, Classes::LABEL) && self.text.at(i + 1).kind == TokenKind::Number
                    || self.text.at(i).kind == TokenKind::Number
                        && (self.has(i + 1, Classes::LABEL) || is_unit(self.text.word(i + 1))))
        };
        let mut end_of_amount = *first;
        for i in *first..=*last {
            let token = self.text.at(i);
            let joins = self.has(i, Classes::CONJUNCTION);
            let words = match i >= end_of_amount {
                true if is_amount(i) => 2,
                true if is_code(i) => 1,
                _ => 0,
            };
            if words > 0 {
                end_of_amount = i + words;
                clauses.extend(take_some(&mut clause, &mut is_set));
            }
            if !joins && self.words.binary_search(&i).is_ok() {
                clause.push(self.text.form(i));
                is_set &= token.kind == TokenKind::Word || i < end_of_amount;
            }
            if joins || token.ends_clause || token.ends_line || i + 1 == end_of_amount {
                clauses.extend(take_some(&mut clause, &mut is_set));
            }
        }
        clauses.extend(take_some(&mut clause, &mut is_set));
        clauses
    }

    /// Whether the words are the clauses of a list, one behind the other in any order. What is equal at both
    /// ends may stand around the list.
    fn is_tiled_by(&self, list: &Content) -> bool {
        let (whole, others) = (self.all(), list.all());
        let equal = |(x, y): &(&&str, &&str)| x == y;
        let front = whole.iter().zip(&others).take_while(equal).count();
        let tails = whole[front..]
            .iter()
            .rev()
            .zip(others[front..].iter().rev());
        let back = tails.take_while(equal).count();
        let clauses = list.clauses(&(front..others.len() - back));
        let inner = whole[front..whole.len() - back].iter().copied();
        let mut left: Vec<Option<&str>> = inner.map(Some).collect();
        let has_fields = |text: &Tokens| text.marks.colons >= 2;
        clauses.len() >= LEAST_TILES
            && left.len() <= MOST_OF_TILE * clauses.len()
            && whole.len() == others.len()
            && !(has_fields(self.text) || has_fields(list.text))
            && !self.words.iter().any(|i| self.has(*i, Classes::ORDERS))
            && !lists().ordering_parts.are_in(&self.text.text)
            && clauses.iter().all(|clause| take_clause(clause, &mut left))
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
            .map(|i| self.text.form(i))
            .collect()
    }

    /// Whether a light word is not in another text.
    fn has_other_light(&self, other: &Content) -> bool {
        let is_in = |word| (0..other.text.len()).any(|j| other.text.word(j) == word);
        (0..self.text.len()).any(|i| self.has(i, Classes::LIGHT) && !is_in(self.text.word(i)))
    }

    /// Each number and negation with the word in front of it or behind it, sorted: it counts that one.
    fn held(&self, side: isize) -> Vec<(&'t str, &'t str)> {
        // A value with its unit counts nothing beside it.
        let holds = |i: &usize| {
            self.text.at(*i).kind == TokenKind::Number && !self.text.word(*i).contains(' ')
                || self.has(*i, Classes::NEGATION)
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
                item.push_str(self.text.form(i));
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
        let is_time = |i: &&usize| self.has(**i, Classes::CALENDAR);
        self.words
            .iter()
            .filter(|i| !is_time(i))
            .map(|i| self.text.form(*i))
            .collect()
    }
}

/// The words of a clause, and whether they may stand in any order.
type Clause<'t> = (Vec<&'t str>, bool);

fn take_some<'t>(words: &mut Vec<&'t str>, is_set: &mut bool) -> Option<Clause<'t>> {
    let of_clause = std::mem::replace(is_set, true);
    (!words.is_empty()).then(|| (std::mem::take(words), of_clause))
}

/// Takes the words of a clause out of those that are left, where they stand beside each other.
fn take_clause((clause, is_set): &Clause, left: &mut [Option<&str>]) -> bool {
    let mut sorted = clause.clone();
    sorted.sort_unstable();
    let is_here = |row: &[Option<&str>]| {
        let row: Option<Vec<&str>> = row.iter().copied().collect();
        row.is_some_and(|mut row| {
            row == *clause
                || *is_set && {
                    row.sort_unstable();
                    row == sorted
                }
        })
    };
    let place = left.windows(clause.len()).position(is_here);
    if let Some(at) = place {
        left[at..at + clause.len()].fill(None);
    }
    place.is_some()
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
            && (timeless_a == timeless_b
                || is_rotation(&timeless_a, &timeless_b)
                || is_inverted((a, &timeless_a), &timeless_b)
                || is_inverted((b, &timeless_b), &timeless_a))
}

/// Whether a text begins with a word that says when, which puts its verb in front of what the other one
/// begins with: heute fährt der Zug.
fn is_inverted((text, a): (&Content, &[&str]), b: &[&str]) -> bool {
    let (of_verb_second, _) = Languages::of_line("de nl sv da es pt it ro: ");
    let begins = text
        .words
        .first()
        .is_some_and(|first| text.has(*first, Classes::CALENDAR));
    let most = MOST_OF_TURNED_NAME.min(a.len().saturating_sub(1));
    begins
        && text.text.languages.meet(of_verb_second)
        && a.len() == b.len()
        && (1..=most).any(|by| b[..by] == a[1..=by] && b[by] == a[0] && b[by + 1..] == a[by + 1..])
}

/// Whether words are others with two blocks in turn, which reach to one end at least. Two words in turn are
/// two things in turn, with a word around them that says how they stand.
fn is_rotation(a: &[&str], b: &[&str]) -> bool {
    let (x, y) = between_equal_ends(a, b);
    let reaches = a.first() != b.first() || a.last() != b.last();
    let turned = |by: usize| x[by..] == y[..x.len() - by] && x[..by] == y[x.len() - by..];
    let is_value = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    // At 200 °C in the oven: two phrases, of which one has a number.
    let are_phrases = || x.len() == 2 && is_value(x[0]) != is_value(x[1]);
    x.len() == y.len()
        && (x.len() >= LEAST_REORDERED || are_phrases())
        && reaches
        && (1..x.len()).any(turned)
}

//! What is kept of a record beside its features: the letters of short values, in which a typing
//! error is found, and the codes in titles. [`super::frequencies`] takes it while rows are read,
//! [`super::vector_blocks`] gives it back with a row's vector, [`super::pair`] compares two. It
//! depends on the value and its column alone.

use simhash_base::store::{Store, TempStores};
use simhash_fingerprint::error::Error;
use simhash_fingerprint::similarity::letters::Letters;
use std::collections::TryReserveError;

/// Letters of a value in which typing errors are looked for, at most.
const MOST_LETTERS: usize = 32;
/// Bytes of such a value, at most: a letter has four, and there are as many spaces.
const MOST_BYTES: usize = 5 * MOST_LETTERS;
/// Letters of a code, with digits or of digits alone, and at most.
const LEAST_OF_CODE: usize = 4;
const LEAST_DIGITS: usize = 5;
const MOST_OF_CODE: usize = 24;
/// Letters behind the digits of a measure, as in 1080p and 500GB, at most.
const MOST_OF_UNIT: usize = 4;
/// Bytes of a value in which codes are looked for.
const MOST_OF_TITLE: usize = 1 << 16;
/// Words of a title, at least.
const LEAST_OF_TITLE: usize = 3;
/// Codes that are kept of a record.
const MOST_CODES: usize = 16;
/// The column of codes: they count wherever they stand.
const CODES: u16 = u16::MAX;

/// Adds what is kept of the value of a column; columns come in their order.
pub fn add(
    column: u32,
    value: &str,
    notes: &mut Vec<u8>,
    check_interrupts: &mut dyn FnMut(),
) -> Result<(), Error> {
    let column = u16::try_from(column).unwrap_or(CODES);
    if column == CODES || value.is_empty() {
        return Ok(());
    }
    if value.len() <= MOST_BYTES {
        let letters = match Letters::new(value, check_interrupts)? {
            Letters::Ascii(letters) => letters,
            // Letters of one script differ in their last byte.
            Letters::Wide(letters) => letters.iter().map(|letter| *letter as u8 | 0x80).collect(),
        };
        let digits = letters.iter().filter(|b| b.is_ascii_digit()).count();
        // Beside letters another digit is another thing: a house number, a model.
        let is_one_kind = digits == 0 || digits == letters.len();
        if is_one_kind && (1..=MOST_LETTERS).contains(&letters.len()) {
            push(column, &letters, notes)?;
        }
    }
    add_codes(value, notes)
}

/// Adds the codes of a value that is a title.
fn add_codes(value: &str, notes: &mut Vec<u8>) -> Result<(), Error> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '/' | '_');
    let begin = &value[..value.floor_char_boundary(MOST_OF_TITLE)];
    let words = begin.split(|c: char| c.is_ascii() && !is_inner(c));
    let words = words.filter(|word| word.contains(char::is_alphanumeric));
    let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let (mut count, mut is_title) = (0, false);
    for word in words.clone() {
        count += 1;
        is_title |= !has_digit(word);
    }
    if !is_title || count < LEAST_OF_TITLE {
        return Ok(());
    }
    let present = of_column(notes, CODES).count();
    for word in words
        .filter(|word| has_digit(word))
        .take(MOST_CODES - present.min(MOST_CODES))
    {
        let code: Vec<u8> = (word.bytes().filter(u8::is_ascii_alphanumeric))
            .map(|byte| byte.to_ascii_lowercase())
            .collect();
        if is_code(&code, word) && !of_column(notes, CODES).any(|other| other == code) {
            push(CODES, &code, notes)?;
        }
    }
    Ok(())
}

/// Whether a word of a title names a model or an article: digits and letters, but no measure.
fn is_code(code: &[u8], word: &str) -> bool {
    let digits = code.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == word.len() {
        return (LEAST_DIGITS..=MOST_OF_CODE).contains(&digits);
    }
    let leading = code.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_measure = leading == digits && code.len() - digits <= MOST_OF_UNIT;
    digits >= 2
        && !is_measure
        && (LEAST_OF_CODE..=MOST_OF_CODE).contains(&code.len())
        && digits < code.len()
}

fn push(column: u16, bytes: &[u8], notes: &mut Vec<u8>) -> Result<(), Error> {
    let reserved = notes.try_reserve(3 + bytes.len());
    reserved.map_err(|_| Error::OutOfMemory)?;
    notes.extend(column.to_le_bytes());
    notes.push(bytes.len() as u8);
    notes.extend(bytes);
    Ok(())
}

/// Returns the column and the bytes of each note.
fn each(notes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> + Clone {
    let mut rest = notes;
    std::iter::from_fn(move || {
        let ([a, b, length], others) = rest.split_first_chunk::<3>()?;
        let (bytes, others) = others.split_at_checked(usize::from(*length))?;
        rest = others;
        Some((u16::from_le_bytes([*a, *b]), bytes))
    })
}

fn of_column(notes: &[u8], column: u16) -> impl Iterator<Item = &[u8]> + Clone {
    each(notes)
        .filter(move |note| note.0 == column)
        .map(|note| note.1)
}

/// Calls `found` with every column in which both records have short values that differ, and how
/// much of one is left in the other: 1 without a typing error, 0 if half the letters are wrong.
pub fn for_each_spelling(a: &[u8], b: &[u8], mut found: impl FnMut(usize, f64)) {
    let is_value = |note: &(u16, &[u8])| note.0 != CODES;
    let mut others = each(b).filter(is_value).peekable();
    for (column, own) in each(a).filter(is_value) {
        while others.next_if(|other| other.0 < column).is_some() {}
        if let Some((_, other)) = others.next_if(|other| other.0 == column)
            && own != other
            && own[0].is_ascii_digit() == other[0].is_ascii_digit()
        {
            let length = own.len().max(other.len());
            if 2 * own.len().abs_diff(other.len()) < length {
                let left = 1.0 - 2.0 * f64::from(edits(own, other)) / length as f64;
                if left > 0.0 {
                    found(usize::from(column), left);
                }
            }
        }
    }
}

/// Returns whether two records share a code; None if one of them has none. A code that stands
/// within another one is it, with its maker before it for example.
pub fn share_code(a: &[u8], b: &[u8]) -> Option<bool> {
    let (a, b) = (of_column(a, CODES), of_column(b, CODES));
    a.clone().next()?;
    b.clone().next()?;
    let is_within = |x: &[u8], y: &[u8]| y.windows(x.len()).any(|part| part == x);
    let mut pairs = a.flat_map(|x| b.clone().map(move |y| (x, y)));
    Some(pairs.any(|(x, y)| is_within(x, y) || is_within(y, x)))
}

/// Returns the edit distance of two values: letters that are inserted, deleted, replaced, or exchanged
/// with the next one, of which none is edited again (optimal string alignment). Each letter of `b`
/// takes one step for all letters of `a`, which are the bits of a word (Hyyrö 2003, A bit-vector
/// algorithm for computing Levenshtein and Damerau edit distances).
fn edits(a: &[u8], b: &[u8]) -> u32 {
    let Some(last) = a.len().checked_sub(1) else {
        return b.len() as u32;
    };
    let (mut plus, mut minus, mut zero, mut before) = (u64::MAX, 0u64, 0u64, 0u64);
    let mut distance = a.len() as u32;
    for letter in b {
        let places = a
            .iter()
            .rev()
            .fold(0, |bits, own| bits << 1 | u64::from(own == letter));
        let exchanged = (!zero & places) << 1 & before;
        zero = ((places & plus).wrapping_add(plus) ^ plus) | places | minus | exchanged;
        let (more, less) = (minus | !(zero | plus), zero & plus);
        distance += (more >> last & 1) as u32;
        distance -= (less >> last & 1) as u32;
        let (more, less) = (more << 1 | 1, less << 1);
        (plus, minus, before) = (less | !(zero | more), more & zero, places);
    }
    distance
}

/// The notes of all records, in memory or in a store.
#[derive(Default)]
pub struct Notes<F> {
    /// Where those of each record end, counted over all.
    ends: Vec<u64>,
    count: u64,
    /// All, or those that are not in the store yet.
    in_memory: Vec<u8>,
    file: Option<F>,
    memory: usize,
}

impl<F: Store> Notes<F> {
    /// None yet; more than `memory` bytes go to a store.
    pub fn new(memory: usize) -> Self {
        Notes {
            ends: Vec::new(),
            count: 0,
            in_memory: Vec::new(),
            file: None,
            memory,
        }
    }

    /// Adds those of the next record.
    pub fn push(
        &mut self,
        notes: &[u8],
        stores: &mut impl TempStores<File = F>,
    ) -> Result<(), TryReserveError> {
        self.ends.try_reserve(1)?;
        self.in_memory.try_reserve(notes.len())?;
        self.in_memory.extend(notes);
        self.count += notes.len() as u64;
        self.ends.push(self.count);
        if self.in_memory.len() > self.memory {
            let file = self.file.get_or_insert_with(|| stores.file());
            file.write(&self.in_memory);
            self.in_memory.clear();
            // What is written at a time from now on.
            self.memory = self.memory.min(1 << 16);
        }
        Ok(())
    }

    /// Ends the last record: all are in memory, or all are in the store.
    pub fn end(&mut self) {
        if let Some(file) = &mut self.file {
            file.write(&self.in_memory);
            self.in_memory = Vec::new();
        }
    }

    /// Sets `notes` to those of a record; none if none were added.
    pub fn read(&mut self, record: u32, notes: &mut Vec<u8>) -> Result<(), TryReserveError> {
        notes.clear();
        let record = record as usize;
        let Some(end) = self.ends.get(record) else {
            return Ok(());
        };
        let start = record.checked_sub(1).map_or(0, |before| self.ends[before]);
        notes.try_reserve((end - start) as usize)?;
        match &mut self.file {
            Some(file) => {
                notes.resize((end - start) as usize, 0);
                file.read(start, notes);
            }
            None => notes.extend(&self.in_memory[start as usize..*end as usize]),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use simhash_base::store::InMemory;

    fn of(values: &[&str]) -> Vec<u8> {
        let mut notes = Vec::new();
        for (column, value) in (0..).zip(values) {
            add(column, value, &mut notes, &mut || {}).unwrap();
        }
        notes
    }

    fn spelling(a: &str, b: &str) -> f64 {
        let mut found = 0.0;
        for_each_spelling(&of(&[a]), &of(&[b]), |_, left| found = left);
        found
    }

    #[test]
    fn a_typing_error_leaves_most_of_a_value() {
        for (a, b, left) in [
            ("Mueller", "MUELXER", 5.0 / 7.0),
            ("Smith", "Smiht", 3.0 / 5.0),
            ("1961-03-14", "1961-08-14", 6.0 / 8.0),
            ("Иван", "Иванн", 3.0 / 5.0),
            ("Anna", "Rita", 0.0),
            ("27", "28", 0.0),
            // Beside letters a digit says what it is.
            ("12 Mill Lane", "13 Mill Lane", 0.0),
            ("abcdefgh", "12345678", 0.0),
        ] {
            assert!(
                (spelling(a, b) - left).abs() < 1e-9,
                "{a} {b} {}",
                spelling(a, b)
            );
            assert_eq!(spelling(a, b), spelling(b, a));
        }
        let mut columns = Vec::new();
        let (a, b) = (
            of(&["", "Anna", "Smith", "x"]),
            of(&["Ann", "Anna", "Smyth"]),
        );
        for_each_spelling(&a, &b, |column, _| columns.push(column));
        assert_eq!(columns, [2]);
    }

    #[test]
    fn codes_stand_in_titles() {
        let share = |a, b| share_code(&of(&[a]), &of(&[b]));
        let phone = "Panasonic KX-TG1034S cordless phone";
        assert_eq!(
            share(phone, "Cordless Phone KXTG1034S by Panasonic"),
            Some(true)
        );
        assert_eq!(share(phone, "Panasonic TG1034S (black)"), Some(true));
        assert_eq!(
            share(phone, "Panasonic KX-TG5432M cordless phone"),
            Some(false)
        );
        // Measures, prices and addresses are none; a code alone is a value.
        for other in [
            "Panasonic phone 500GB 1080p",
            "Phone for 299.99 dollars",
            "12 Mill Lane",
            "KX-TG5432M",
        ] {
            assert_eq!(share(phone, other), None, "{other}");
        }
        assert_eq!(share("Lego set 75192 new", "Lego 75192 set"), Some(true));
    }

    proptest! {
        #[test]
        fn edits_are_those_of_the_definition(a in "[ab]{0,7}", b in "[abc]{0,7}") {
            fn slow(a: &[u8], b: &[u8]) -> usize {
                let ([x, rest_a @ ..], [y, rest_b @ ..]) = (a, b) else {
                    return a.len().max(b.len());
                };
                let replaced = slow(rest_a, rest_b) + usize::from(x != y);
                let mut least = replaced.min(slow(rest_a, b) + 1).min(slow(a, rest_b) + 1);
                if a.len() > 1 && b.len() > 1 && a[0] == b[1] && a[1] == b[0] {
                    least = least.min(slow(&a[2..], &b[2..]) + 1);
                }
                least
            }
            prop_assert_eq!(edits(a.as_bytes(), b.as_bytes()), slow(a.as_bytes(), b.as_bytes()) as u32);
        }

        #[test]
        fn notes_come_back_from_memory_and_store(
            all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..20), memory in 0usize..200,
        ) {
            let mut notes = Notes::new(memory);
            for of_one in &all {
                notes.push(of_one, &mut InMemory).unwrap();
            }
            notes.end();
            let mut found = Vec::new();
            for (i, of_one) in all.iter().enumerate().rev() {
                notes.read(i as u32, &mut found).unwrap();
                prop_assert_eq!(&found, of_one);
            }
        }
    }
}

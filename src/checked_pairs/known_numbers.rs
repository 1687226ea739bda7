//! What the one number in the text of each row says. Most pairs of texts of one template are told apart by it
//! as soon as the search finds them: thousands of such texts have more pairs than any list can hold. `paired_rows` gives it
//! each text that is read, and asks about each pair. It knows no texts that are judged in another way than `simhash_same` does.

use simhash_fingerprint::same::{Numbers, OneNumber};
use simhash_hamming::pairs::sink::Row;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::memory::{or_out_of_memory, reserve, work_mem_bytes};
use simhash_pg::sql::value::Value;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use crate::errors::or_raise;

/// Rows with one fingerprint whose numbers are compared.
const MOST: usize = 32;

/// The numbers of rows, by their tags, once all are read.
#[derive(Default)]
pub struct KnownNumbers {
    read: Vec<(Row, Option<OneNumber>)>,
    numbers: Vec<OneNumber>,
    /// The places in `numbers` of those of all rows with the fingerprint of a row.
    by_tag: HashMap<u64, Range<usize>, BuildHasherDefault<TagHasher>>,
    is_too_many: bool,
}

/// Tags are keys or numbers of rows: close to each other, and all different.
#[derive(Default)]
struct TagHasher(u64);

impl Hasher for TagHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // The odd number next to 2^64 divided by the golden ratio (Knuth, volume 3, 6.4).
        self.0 = (self.0 ^ number)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(26);
    }
}

impl KnownNumbers {
    /// Takes the text of a row that is read.
    pub fn add(&mut self, row: Row, text: Value<'_>) {
        if (self.read.len() + 1) * size_of::<(Row, Option<OneNumber>)>() > work_mem_bytes() {
            self.is_too_many = true;
        }
        if self.is_too_many {
            self.read = Vec::new();
            return;
        }
        let number = text.show_bytes(|bytes| or_raise(Numbers::of(&to_utf8(bytes))).one());
        reserve(&mut self.read, 1);
        self.read.push((row, number));
    }

    /// Called when all rows are read. Of rows with one fingerprint the search shows the first in pairs, which stands for
    /// the others: the numbers of all count, if each has one.
    pub fn settle(&mut self) {
        let mut read = std::mem::take(&mut self.read);
        read.sort_unstable_by_key(|(row, _)| {
            check_for_interrupts();
            row.fingerprint
        });
        for equal in read.chunk_by(|(a, _), (b, _)| a.fingerprint == b.fingerprint) {
            check_for_interrupts();
            let start = self.numbers.len();
            reserve(&mut self.numbers, equal.len().min(MOST));
            for number in equal.iter().take(MOST).filter_map(|(_, number)| *number) {
                if !self.numbers[start..].contains(&number) {
                    self.numbers.push(number);
                }
            }
            if equal.len() <= MOST && equal.iter().all(|(_, number)| number.is_some()) {
                or_out_of_memory(self.by_tag.try_reserve(equal.len()));
                let all = start..self.numbers.len();
                let tags = equal.iter().map(|(row, _)| (row.tag, all.clone()));
                self.by_tag.extend(tags);
            }
        }
    }

    /// Whether the texts of two rows with other fingerprints differ, and those of all rows for which they stand.
    pub fn tell_apart(&self, a: u64, b: u64) -> bool {
        let numbers = |tag| Some(&self.numbers[self.by_tag.get(&tag)?.clone()]);
        let differ =
            |(a, b): (&[OneNumber], &[OneNumber])| a.iter().all(|a| b.iter().all(|b| a.differs(b)));
        numbers(a).zip(numbers(b)).is_some_and(differ)
    }
}

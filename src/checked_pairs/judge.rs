//! The ways to judge a candidate pair: by the Jaccard similarity of its texts, as simhash_jaccard does, as
//! simhash_same does, and by a function that the user names. [`super::chunks`] calls them with
//! what it has read of two rows. Each judges by the values alone, so rows of equal values are
//! judged alike.

use crate::errors::or_raise;
use crate::row::jaccard::{Comparer, letters};
use pgrx::pg_sys::Oid;
use simhash_fingerprint::same::{Numbers, Prepared, Strictness, same_prepared};
use simhash_fingerprint::similarity::letters::Letters;
use simhash_fingerprint::similarity::ngram_set::Similarity;
use simhash_fingerprint::text::ngrams::GramLengths;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::memory::{or_out_of_memory, work_mem_bytes};
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::pair_function::PairFunction;
use simhash_pg::sql::value::Value;
use std::collections::HashMap;

/// Judges pairs of rows by a value of each.
pub trait Judge {
    /// What is kept of a value.
    type Kept: Clone;
    /// What is said of a pair that passes.
    type Verdict;

    fn keep(&self, value: Value<'_>) -> Self::Kept;

    /// Number of bytes that it takes.
    fn bytes(kept: &Self::Kept) -> usize;

    /// Returns None of a pair that does not pass. Each row comes with its number.
    fn judge(&mut self, a: (u32, &Self::Kept), b: (u32, &Self::Kept)) -> Option<Self::Verdict>;

    /// Returns the Jaccard similarity of texts that a verdict is; None where it says nothing of it.
    fn similarity(_verdict: &Self::Verdict) -> Option<f64> {
        None
    }

    /// Returns whether rows may have equal values.
    fn may_be_equal(&self) -> bool;

    /// Returns which rows the row of this number, which has this value, is equal to.
    fn content(&mut self, row: u32, value: Value<'_>) -> Content;

    /// Returns the least Jaccard similarity of texts whose pairs pass; None where nothing of the
    /// kind is known.
    fn least_jaccard(&self) -> Option<f64> {
        None
    }
}

/// What of a value decides which others it is equal to.
#[derive(Clone, Copy, PartialEq)]
pub enum Content {
    /// It is equal to none.
    Alone,
    /// It does not pass with any.
    None,
    /// Those with this hash are equal, and pass with each other.
    Equal(u128),
}

/// A similarity of at least this passes, and is the verdict.
pub struct JaccardJudge {
    least: f64,
    comparer: Comparer,
    /// The row whose text the comparer has.
    first: Option<u32>,
}

impl JaccardJudge {
    pub fn new(least: f64) -> Self {
        JaccardJudge {
            least,
            comparer: Comparer::default(),
            first: None,
        }
    }
}

impl Judge for JaccardJudge {
    type Kept = Letters;
    type Verdict = f64;

    fn keep(&self, value: Value<'_>) -> Letters {
        value.show_bytes(letters)
    }

    fn bytes(kept: &Letters) -> usize {
        kept.bytes()
    }

    fn judge(&mut self, a: (u32, &Letters), b: (u32, &Letters)) -> Option<f64> {
        if self.first != Some(a.0) {
            self.comparer.set_first(a.1, GramLengths::SHINGLES);
            self.first = Some(a.0);
        }
        match self.comparer.compare(b.1, self.least) {
            Similarity::Exactly(similarity) => Some(similarity),
            _ => None,
        }
    }

    fn similarity(verdict: &f64) -> Option<f64> {
        Some(*verdict)
    }

    fn may_be_equal(&self) -> bool {
        true
    }

    fn content(&mut self, _row: u32, text: Value<'_>) -> Content {
        let letters = text.show_bytes(letters);
        match letters.count() {
            // Similar to nothing. A comparison with others gives 0, which may be enough.
            0 if self.least <= 0.0 => Content::Alone,
            0 => Content::None,
            _ => Content::Equal(hash(&letters)),
        }
    }

    fn least_jaccard(&self) -> Option<f64> {
        Some(self.least)
    }
}

fn hash(letters: &Letters) -> u128 {
    match letters {
        Letters::Ascii(letters) => cityhash_rs::cityhash_110_128(letters),
        Letters::Wide(letters) => {
            let mut bytes = Vec::new();
            or_out_of_memory(bytes.try_reserve_exact(size_of_val(letters.as_slice())));
            letters
                .iter()
                .for_each(|letter| bytes.extend(letter.to_ne_bytes()));
            cityhash_rs::cityhash_110_128(&bytes)
        }
    }
}

/// A pair passes if simhash_same says so, or simhash_same_strict. Each text is cut once, as long as there is
/// memory for what it is cut into.
pub struct SameJudge {
    strictness: Strictness,
    /// The texts cut, by the numbers of their rows.
    prepared: HashMap<u32, Prepared>,
    bytes: usize,
}

impl SameJudge {
    pub fn new(strictness: Strictness) -> Self {
        Self {
            strictness,
            prepared: HashMap::new(),
            bytes: 0,
        }
    }

    fn prepare(&mut self, row: u32, text: &str) {
        if self.prepared.contains_key(&row) {
            return;
        }
        let mut prepared = or_raise(Prepared::new(text, &mut check_for_interrupts));
        or_raise(prepared.complete(&mut check_for_interrupts));
        or_out_of_memory(self.prepared.try_reserve(1));
        self.bytes += prepared.bytes();
        self.prepared.insert(row, prepared);
    }
}

/// A text and its numbers, of which many pairs need no more.
#[derive(Clone)]
pub struct KeptText {
    text: String,
    numbers: Numbers,
}

impl Judge for SameJudge {
    type Kept = KeptText;
    type Verdict = ();

    fn keep(&self, value: Value<'_>) -> KeptText {
        value.show_bytes(|bytes| {
            let found = to_utf8(bytes);
            let mut text = String::new();
            or_out_of_memory(text.try_reserve_exact(found.len()));
            text.push_str(&found);
            let numbers = or_raise(Numbers::of(&text));
            KeptText { text, numbers }
        })
    }

    fn bytes(kept: &KeptText) -> usize {
        kept.text.len() + kept.numbers.bytes()
    }

    fn judge(&mut self, a: (u32, &KeptText), b: (u32, &KeptText)) -> Option<()> {
        if a.1.numbers.differ(&b.1.numbers) {
            return None;
        }
        let [a, b] = [a, b].map(|(row, kept)| (row, &kept.text));
        if self.bytes > work_mem_bytes() / 2 {
            self.prepared.clear();
            self.bytes = 0;
        }
        self.prepare(a.0, a.1);
        self.prepare(b.0, b.1);
        let of = |row: (u32, &String)| self.prepared.get(&row.0);
        let (of_a, of_b) = (of(a)?, of(b)?);
        let (a, b) = ((a.1.as_str(), of_a), (b.1.as_str(), of_b));
        or_raise(same_prepared(
            a,
            b,
            self.strictness,
            &mut check_for_interrupts,
        ))
        .then_some(())
    }

    fn may_be_equal(&self) -> bool {
        true
    }

    /// A text is the same as itself.
    fn content(&mut self, _row: u32, text: Value<'_>) -> Content {
        Content::Equal(text.show_bytes(cityhash_rs::cityhash_110_128))
    }
}

/// A pair passes if the function says so. It gets the row with the smaller number first.
pub struct FunctionJudge {
    function: PairFunction,
    /// Whether the values are texts; else they are rows, which differ at least in their keys.
    of_texts: bool,
    /// How strictly it judges, if it is simhash_same or simhash_same_strict.
    own: Option<Strictness>,
    /// Texts that the function was asked about, each beside itself.
    beside_itself: HashMap<u128, bool>,
}

impl FunctionJudge {
    pub fn new(function: PairFunction, of_texts: bool, own: Option<Strictness>) -> Self {
        FunctionJudge {
            function,
            of_texts,
            own,
            beside_itself: HashMap::new(),
        }
    }

    /// Returns the judge that says the same without calling the function.
    pub fn own(&self) -> Option<SameJudge> {
        self.own.map(SameJudge::new)
    }

    /// Returns the type of the values of one relation.
    pub fn value_type(&self) -> Oid {
        self.function.types()[0]
    }

    /// Returns whether the function says yes to two values.
    pub fn holds(&mut self, pair: [Value<'_>; 2]) -> bool {
        self.function.holds(pair)
    }
}

impl Judge for FunctionJudge {
    type Kept = KeptValue;
    type Verdict = ();

    fn keep(&self, value: Value<'_>) -> KeptValue {
        value.keep()
    }

    fn bytes(kept: &KeptValue) -> usize {
        kept.bytes()
    }

    fn judge(&mut self, a: (u32, &KeptValue), b: (u32, &KeptValue)) -> Option<()> {
        let (a, b) = if a.0 <= b.0 { (a.1, b.1) } else { (b.1, a.1) };
        self.function.holds([a.value(), b.value()]).then_some(())
    }

    fn may_be_equal(&self) -> bool {
        self.of_texts
    }

    fn content(&mut self, _row: u32, text: Value<'_>) -> Content {
        let hash = text.show_bytes(cityhash_rs::cityhash_110_128);
        or_out_of_memory(self.beside_itself.try_reserve(1));
        let function = &mut self.function;
        let passes =
            (self.beside_itself.entry(hash)).or_insert_with(|| function.holds([text, text]));
        match *passes {
            true => Content::Equal(hash),
            false => Content::Alone,
        }
    }
}

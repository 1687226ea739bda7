//! Counts the features of a text: its words, pairs of words and character n-grams, in a bag.
//! `builder` calls it for each text of a row. After the first failure it adds nothing, and returns
//! the failure at the end of the text.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use super::bag::{Bag, NGRAM};
use super::error::Error;
use super::hash::{Hashed, Width, city64};
use super::minwise::one_permutation::HashBins;
use super::options::plan::ColumnPlan;
use super::options::presets::{Features, Input, Rules};
use super::terms::Terms;
use super::text::ngrams::{Ngrams, is_symbol};
use super::text::part_of_speech::PartOfSpeech;
use super::text::words::for_each_word;
use super::text::{markup, normal};

/// A set of words, by CityHash64.
pub type WordHashes = HashSet<u64, BuildHasherDefault<Hashed>>;

/// Calls `term` with each distinct word of a text that the plan's rules do not leave out.
pub fn for_each_term(
    plan: &ColumnPlan,
    text: &str,
    check_interrupts: &mut dyn FnMut(),
    term: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    let Input::Words(rules) = &plan.input else {
        return Ok(());
    };
    let (mut seen, mut buffer) = (WordHashes::default(), String::new());
    gather_words(
        rules,
        text,
        &mut seen,
        &mut buffer,
        check_interrupts,
        &mut |word| {
            if !rules.skips(word) {
                term(word);
            }
        },
    )
}

/// Adds the words of a text to a set, and calls `new` with each that was not in it. `buffer` is
/// scratch space.
pub fn gather_words(
    rules: &Rules,
    text: &str,
    words: &mut WordHashes,
    buffer: &mut String,
    check_interrupts: &mut dyn FnMut(),
    new: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    let text = markup::strip(rules.markup, text, check_interrupts)?;
    let mut done = Ok(());
    normal::for_each_chunk_as(
        rules.normalize,
        &text,
        buffer,
        check_interrupts,
        &mut |chunk| {
            for_each_word(chunk, rules.dictionary.as_deref(), false, &mut |word, _| {
                if words.try_reserve(1).is_err() {
                    done = Err(Error::OutOfMemory);
                } else if words.insert(city64(word.as_bytes())) {
                    new(word);
                }
            });
        },
    );
    if words.is_empty() && done.is_ok() {
        // A text of nothing but symbols.
        normal::for_each_chunk_as(
            rules.normalize,
            &text,
            buffer,
            check_interrupts,
            &mut |chunk| {
                for_each_symbol(chunk, &mut |symbol| {
                    if words.try_reserve(1).is_err() {
                        done = Err(Error::OutOfMemory);
                    } else if words.insert(city64(symbol.as_bytes())) {
                        new(symbol);
                    }
                });
            },
        );
    }
    done
}

/// Calls `symbol` with each character of a text that has no words.
fn for_each_symbol(text: &str, symbol: &mut dyn FnMut(&str)) {
    let mut utf8 = [0; 4];
    for c in text.chars().filter(|&c| is_symbol(c)) {
        symbol(c.encode_utf8(&mut utf8));
    }
}

/// Destination of the features of a column.
pub struct ColumnFeatures<'a, const W: usize> {
    /// How the column's text becomes features.
    pub plan: &'a ColumnPlan,
    /// Bits of the hashes.
    pub width: Width,
    /// Takes each feature, with how often it occurs.
    pub bag: &'a mut Bag<W>,
    /// Used instead of the bag when it does not matter how often a feature occurs.
    pub bins: Option<&'a mut [HashBins; W]>,
}

impl<const W: usize> ColumnFeatures<'_, W> {
    /// Adds the feature whose bytes, behind the column's prefix, are `key`.
    #[inline]
    pub fn add(&mut self, key: &[u8], weight: f64) -> Result<(), Error> {
        let Some(all_bins) = &mut self.bins else {
            return self.bag.add(self.plan, self.width, key, weight);
        };
        let words = self.plan.hash.words::<W>(self.width, key);
        for (bins, word) in all_bins.iter_mut().zip(words) {
            bins.add(word);
        }
        Ok(())
    }

    /// Returns whether no feature was added.
    pub fn is_empty(&self) -> bool {
        match &self.bins {
            Some(bins) => bins.iter().all(HashBins::is_empty),
            None => self.bag.is_empty(),
        }
    }
}

/// Counts the words, pairs and character n-grams of one text.
pub struct FeatureCounter<'a, const W: usize> {
    rules: &'a Rules,
    title: &'a WordHashes,
    /// Whether all words weigh 1.
    equal: bool,
    add_to: ColumnFeatures<'a, W>,
    /// The column's prefix, and the last word.
    key: &'a mut Vec<u8>,
    /// The column's prefix, what marks an n-gram, and the last of them.
    gram_key: Vec<u8>,
    /// Whether a word or an n-gram was left out.
    skipped: bool,
    /// The first failure. The walk over the text cannot stop half-way: from then on nothing is
    /// added.
    done: Result<(), Error>,
}

impl<'a, const W: usize> FeatureCounter<'a, W> {
    /// `title` has the words of the column's title; `key` begins with the column's prefix.
    pub fn new(
        rules: &'a Rules,
        title: &'a WordHashes,
        add_to: ColumnFeatures<'a, W>,
        key: &'a mut Vec<u8>,
    ) -> Self {
        // An earlier count of the same text has left its last word, which must not begin a pair.
        key.truncate(add_to.plan.prefix.len());
        let mut gram_key = Vec::new();
        if rules.features.ngrams > 0.0 {
            gram_key.extend_from_slice(&add_to.plan.prefix);
            gram_key.push(NGRAM);
        }
        Self {
            rules,
            title,
            equal: rules.terms == Terms::EQUAL && title.is_empty(),
            add_to,
            key,
            gram_key,
            skipped: false,
            done: Ok(()),
        }
    }

    /// Counts a text; true when something was left out. `buffer` is scratch space.
    pub fn count(
        mut self,
        text: &str,
        buffer: &mut String,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<bool, Error> {
        let rules = self.rules;
        let dictionary = rules.dictionary.as_deref();
        let tagged = rules.terms.part_of_speech.is_some();
        let mut grams = (rules.features.ngrams > 0.0).then(|| Ngrams::new(rules.ngram));
        normal::for_each_chunk_as(
            rules.normalize,
            text,
            buffer,
            check_interrupts,
            &mut |chunk| {
                if rules.features.words > 0.0 || rules.features.pairs > 0.0 {
                    for_each_word(chunk, dictionary, tagged, &mut |word, part_of_speech| {
                        self.word(word, part_of_speech);
                    });
                }
                if let Some(grams) = &mut grams {
                    grams.chunk(chunk, &mut |gram| self.gram(gram));
                }
            },
        );
        if let Some(grams) = grams {
            grams.finish(&mut |gram| self.gram(gram));
        }
        self.done.map(|()| self.skipped)
    }

    /// Counts the symbols of a text without letters: each is a word, and a letter of n-grams. Few texts
    /// are so, and what adds words to all others is to be inlined there.
    #[cold]
    pub fn count_symbols(
        mut self,
        text: &str,
        buffer: &mut String,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let rules = self.rules;
        let mut grams = (rules.features.ngrams > 0.0).then(|| Ngrams::new(rules.ngram));
        normal::for_each_chunk_as(
            rules.normalize,
            text,
            buffer,
            check_interrupts,
            &mut |chunk| {
                if rules.features.words > 0.0 || rules.features.pairs > 0.0 {
                    for_each_symbol(chunk, &mut |symbol| self.word(symbol, PartOfSpeech::Other));
                }
                if let Some(grams) = &mut grams {
                    grams.chunk_of(is_symbol, chunk, &mut |gram| self.gram(gram));
                }
            },
        );
        if let Some(grams) = grams {
            grams.finish(&mut |gram| self.gram(gram));
        }
        self.done
    }

    #[inline]
    fn word(&mut self, word: &str, part_of_speech: PartOfSpeech) {
        let rules = self.rules;
        if rules.skips(word) {
            self.skipped = true;
            return;
        }
        let Features { words, pairs, .. } = rules.features;
        let start = self.add_to.plan.prefix.len();
        // The key still holds the word before this one.
        if pairs > 0.0 && self.key.len() > start {
            self.key.push(b' ');
            self.key.extend_from_slice(word.as_bytes());
            add(&mut self.add_to, self.key, pairs, &mut self.done);
        }
        self.key.truncate(start);
        self.key.extend_from_slice(word.as_bytes());
        if words > 0.0 {
            let weight = match self.equal {
                true => words,
                false => words * self.weight(word, part_of_speech),
            };
            add(&mut self.add_to, self.key, weight, &mut self.done);
        }
    }

    fn weight(&self, word: &str, part_of_speech: PartOfSpeech) -> f64 {
        let in_title = self.title.contains(&city64(word.as_bytes()));
        self.rules.terms.weight(word, part_of_speech, in_title)
    }

    #[inline]
    fn gram(&mut self, gram: &str) {
        if self.rules.drop_runs && is_run(gram) {
            self.skipped = true;
            return;
        }
        self.gram_key.truncate(self.add_to.plan.prefix.len() + 1);
        self.gram_key.extend_from_slice(gram.as_bytes());
        let weight = self.rules.features.ngrams;
        add(&mut self.add_to, &self.gram_key, weight, &mut self.done);
    }
}

/// Adds a feature to a bag, unless adding one has failed before.
#[inline]
fn add<const W: usize>(
    to: &mut ColumnFeatures<'_, W>,
    key: &[u8],
    weight: f64,
    done: &mut Result<(), Error>,
) {
    // Assigned on failure only: copying the result of each word costs as much as its hash.
    if done.is_ok()
        && let Err(error) = to.add(key, weight)
    {
        *done = Err(error);
    }
}

impl Rules {
    /// Returns whether this word is left out.
    pub fn skips(&self, word: &str) -> bool {
        (self.drop_runs && is_run(word))
            // Many cue words are stop words too.
            || (self.stop_words.contains(word) && !self.terms.cue_words.contains(word))
    }
}

/// Three or more characters, all the same.
pub fn is_run(feature: &str) -> bool {
    let one = feature.chars().next().map_or(1, char::len_utf8);
    let bytes = feature.as_bytes();
    // Most features are out with the second character.
    bytes.len() >= 3 * one && bytes[one] == bytes[0] && bytes[one..] == bytes[..bytes.len() - one]
}

//! The features of a row with their weights, made into its fingerprint.
//!
//! SimHash: the features of one column are counted, weighed by their tf, and summed; the column's
//! sums then join the row's, multiplied by the column's factor (and divided by the length of its
//! vector when columns are balanced). Within a column all weights are multiples of 2^-32, so that
//! sums up to 2^21 are exact and do not depend on the order of the words. Minwise hashing: the bits
//! that were drawn from each column join those of the row ([`crate::minwise`]).
//!
//! `counting` makes a column's text into features, `joining` adds them to the row.

mod counting;
mod joining;

use crate::bag::{Bag, KEPT_CAPACITY};
use crate::counter::{WordHashes, gather_words};
use crate::error::Error;
use crate::hash::Width;
use crate::lexeme::{Given, Lexeme};
use crate::minwise::Owners;
use crate::minwise::one_permutation::HashBins;
use crate::options::grammar::ContentKind;
use crate::options::plan::ColumnPlan;
use crate::options::presets::Input;
use crate::simhash::{Sums, least_margin};
use crate::text::{markup, normal};
use crate::weighted_tokens;

/// Content of a column.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Natural text.
    Text(&'a str),
    /// The canonical text of a value of another type.
    Canonical(&'a str),
    /// A tsvector, whose lexemes come with their weights.
    Lexemes(&'a [Lexeme<'a>]),
}

/// One feature of a row, for showing.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// The name of its column.
    pub column: String,
    /// The feature as readers know it: words, or the letters of an n-gram.
    pub feature: String,
    /// Number of its occurrences; with `token^weight` input the given weight.
    pub tf: f64,
    /// The amount that it adds to or subtracts from each sum; for a minwise fingerprint with
    /// balanced columns, the share of the bits that are drawn from it, on average, when all columns
    /// have a feature.
    pub weight: f64,
    /// The low word of its hash.
    pub hash: u64,
}

/// A column of a row, for showing.
#[derive(Clone, Debug)]
pub struct ShownColumn {
    /// Its position among the fields.
    pub field: usize,
    /// What its text or value became.
    pub features: Vec<Feature>,
    /// The bits of the fingerprint's low word that were drawn from it; None of a SimHash.
    pub drawn: Option<u64>,
}

/// A row whose features are shown.
#[derive(Clone, Debug, Default)]
pub struct ShownRow {
    /// The low word of its fingerprint.
    pub fingerprint: Option<u64>,
    /// The columns that were added, in their order.
    pub columns: Vec<ShownColumn>,
}

/// Bytes of text that a builder keeps room for.
const KEPT_BYTES: usize = 1 << 20;

/// Builds one fingerprint of `W` words after the other, reusing its memory.
pub struct FingerprintBuilder<const W: usize = 1> {
    width: Width,
    totals: Sums<W>,
    /// By how much a sum may differ from what it would be without rounding.
    rounding: f64,
    any: bool,
    owners: Owners<W>,
    bag: Bag<W>,
    /// Used instead of the bag, see [`ColumnFeatures`].
    bins: [HashBins; W],
    /// Scratch space: the features of a column with their weights.
    weighted: Vec<([u64; W], f64)>,
    /// The bytes under the hash: the column's prefix and the feature.
    key: Vec<u8>,
    text: String,
    /// The words of the next column's title.
    title: WordHashes,
    shown: Option<Vec<Feature>>,
    /// Of the columns whose features are shown: where these begin, and the owners before.
    begun: Vec<Begun<W>>,
}

struct Begun<const W: usize> {
    field: usize,
    drawn: bool,
    first: usize,
    owners: Owners<W>,
}

impl<const W: usize> FingerprintBuilder<W> {
    /// `width` narrows a single word.
    pub fn new(width: Width) -> Self {
        Self::with(width, None)
    }

    /// A builder that remembers its features for [`FingerprintBuilder::into_features`].
    pub fn showing(width: Width) -> Self {
        Self::with(width, Some(Vec::new()))
    }

    fn with(width: Width, shown: Option<Vec<Feature>>) -> Self {
        Self {
            width,
            totals: Sums::ZERO,
            rounding: 0.0,
            any: false,
            owners: Owners::NONE,
            bag: Bag::new(shown.is_some()),
            bins: [HashBins::EMPTY; W],
            weighted: Vec::new(),
            key: Vec::new(),
            text: String::new(),
            title: WordHashes::default(),
            shown,
            begun: Vec::new(),
        }
    }

    /// Starts the next row. Drops what an error left behind, and memory that only a long text
    /// needed.
    pub fn begin(&mut self) {
        self.totals = Sums::ZERO;
        self.rounding = 0.0;
        self.any = false;
        self.owners = Owners::NONE;
        if self.weighted.capacity() > KEPT_CAPACITY {
            self.weighted = Vec::new();
        }
        self.forget_title();
        if self.text.capacity() > KEPT_BYTES {
            self.text = String::new();
        }
        if self.key.capacity() > KEPT_BYTES {
            self.key = Vec::new();
        }
    }

    /// Clearing a set takes time in proportion to its capacity.
    fn forget_title(&mut self) {
        match self.title.capacity() > KEPT_CAPACITY {
            true => self.title = WordHashes::default(),
            false => self.title.clear(),
        }
    }

    /// Sets the title of the next column.
    pub fn title(
        &mut self,
        plan: &ColumnPlan,
        text: &str,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let Input::Words(rules) = &plan.input else {
            return Ok(());
        };
        let (words, buffer) = (&mut self.title, &mut self.text);
        gather_words(rules, text, words, buffer, check_interrupts, &mut |_| {})
    }

    /// Adds a column. `check_interrupts` is called now and then during long work and may unwind.
    pub fn column(
        &mut self,
        plan: &ColumnPlan,
        content: Content<'_>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        if let Some(shown) = &self.shown {
            self.begun.push(Begun {
                field: plan.field,
                drawn: plan.minwise.is_some(),
                first: shown.len(),
                owners: self.owners,
            });
        }
        self.add_column(plan, content, check_interrupts)?;
        self.forget_title();
        Ok(())
    }

    fn add_column(
        &mut self,
        plan: &ColumnPlan,
        content: Content<'_>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        self.key.clear();
        self.key.extend_from_slice(&plan.prefix);
        let (text, natural) = match content {
            Content::Text(text) => (text, ContentKind::Text),
            Content::Canonical(text) => (text, ContentKind::Value),
            Content::Lexemes(lexemes) => {
                let given = lexemes.iter().map(|lexeme| Ok(lexeme.given()));
                return self.join_given(plan, given, Lexeme::UNIT, check_interrupts);
            }
        };
        self.begin_column(plan, text.len());
        let kind = match plan.kind {
            Some(kind) => kind,
            None if plan.value_as_text => ContentKind::Text,
            None => natural,
        };
        match (kind, &plan.input) {
            (ContentKind::Text, Input::Words(rules)) => {
                let text = markup::strip(rules.markup, text, check_interrupts)?;
                let column = plan.minwise.as_ref().filter(|column| column.is_set);
                match column.filter(|_| rules.adapts_to_length) {
                    Some(column) => {
                        self.join_by_length(plan, column, rules, &text, check_interrupts)?;
                    }
                    None => {
                        self.count_text(plan, rules, &text, check_interrupts)?;
                        self.join_counted(plan, rules.tf, check_interrupts)?;
                    }
                }
            }
            (ContentKind::Value, Input::Words(rules)) => {
                let literal = match natural {
                    ContentKind::Value => text,
                    ContentKind::Text => {
                        let text = markup::strip(rules.markup, text, check_interrupts)?;
                        normal::normal_form(
                            &text,
                            rules.normalize,
                            &mut self.text,
                            check_interrupts,
                        )?;
                        &self.text
                    }
                };
                if !literal.is_empty() {
                    extend(&mut self.key, literal.as_bytes())?;
                    self.add_key(plan, plan.value_weight)?;
                    self.join_counted(plan, rules.tf, check_interrupts)?;
                }
            }
            (ContentKind::Text, Input::WeightedTokens) => {
                let given = |(token, weight)| Given {
                    token,
                    tf: weight,
                    weight,
                };
                let tokens = weighted_tokens::parse(text).map(|token| token.map(given));
                self.join_given(plan, tokens, 1.0, check_interrupts)?;
            }
            (ContentKind::Value, Input::WeightedTokens) => {
                let token = (!text.is_empty()).then_some(Ok(Given {
                    token: text,
                    tf: 1.0,
                    weight: 1.0,
                }));
                self.join_given(plan, token.into_iter(), 1.0, check_interrupts)?;
            }
        }
        Ok(())
    }

    /// The fingerprint of what was added since [`FingerprintBuilder::begin`]; None without any feature.
    pub fn fingerprint(&self) -> Option<[u64; W]> {
        let Some(bits) = self.owners.bits() else {
            return self
                .any
                .then(|| self.totals.fingerprint_above(self.rounding));
        };
        Some(bits.map(|word| self.width.narrow(word)))
    }

    /// The `n` bits of least margin of the fingerprint's low word; None without any feature.
    pub fn margin(&self, n: usize) -> Result<Option<u64>, Error> {
        match self.owners.bits() {
            Some(_) => Err(Error::NoMargin),
            None => Ok(self.any.then(|| least_margin(self.totals.low(), n))),
        }
    }

    /// The features in the order of the columns; of a column of words the heaviest first.
    pub fn into_features(self) -> Vec<Feature> {
        self.shown.unwrap_or_default()
    }

    /// The same by columns, with the fingerprint and what each column has of it.
    pub fn into_row(mut self) -> Result<ShownRow, Error> {
        let fingerprint = self.fingerprint().map(|words| words[0]);
        let mut features = self.shown.take().unwrap_or_default();
        let mut columns = Vec::new();
        // The owner of each bit behind a column, and the bits that columns behind it have won.
        let (mut owners, mut lost) = (self.owners, 0);
        while let Some(begun) = self.begun.pop() {
            let mut own = Vec::new();
            own.try_reserve_exact(features.len() - begun.first)
                .map_err(|_| Error::OutOfMemory)?;
            own.extend(features.drain(begun.first..));
            let won = owners.won_since(&begun.owners)[0] & !lost;
            columns.push(ShownColumn {
                field: begun.field,
                features: own,
                drawn: begun.drawn.then_some(won),
            });
            (owners, lost) = (begun.owners, lost | won);
        }
        columns.reverse();
        Ok(ShownRow {
            fingerprint,
            columns,
        })
    }
}

fn extend(key: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Error> {
    key.try_reserve(bytes.len())
        .map_err(|_| Error::OutOfMemory)?;
    key.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
#[test]
fn a_long_row_leaves_little_behind() {
    let options =
        crate::options::grammar::parse_text(r#"{"features": {"whole": 1}}"#, &mut || {}).unwrap();
    let preset = crate::options::presets::find(Some("words")).unwrap();
    let plan = crate::options::plan::text(preset, &options).unwrap();
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    let text: String = (0..300_000).map(|n| format!("{n:x} ")).collect();
    builder.title(&plan, &text, &mut || {}).unwrap();
    let content = Content::Text(&text);
    builder.column(&plan, content, &mut || {}).unwrap();
    assert!(builder.title.capacity() <= KEPT_CAPACITY);
    builder.begin();
    assert!(builder.text.capacity() + builder.key.capacity() <= 2 * KEPT_BYTES);
}

#[cfg(test)]
#[test]
fn sorting_features_pauses() {
    let options = crate::options::grammar::parse_text("{}", &mut || {}).unwrap();
    let preset = crate::options::presets::find(Some("words")).unwrap();
    let plan = crate::options::plan::text(preset, &options).unwrap();
    let mut builder = FingerprintBuilder::<1>::showing(Width::W64);
    let text: String = (0..10_000).map(|n| format!("{n:x} ")).collect();
    let mut pauses = 0;
    let content = Content::Text(&text);
    builder.column(&plan, content, &mut || pauses += 1).unwrap();
    assert!(pauses > 10_000, "{pauses} pauses");
}

//! The features of a row with their weights, made into its fingerprint.
//!
//! SimHash: the features of one column are counted, weighed by their tf, and summed; the column's sums then
//! join the row's, multiplied by the column's factor (and divided by the length of its vector when
//! columns are balanced). Within a column all weights are multiples of 2^-32, so that sums up to
//! 2^21 are exact and do not depend on the order of the words. Minwise hashing: the bits that were
//! drawn from each column join those of the row ([`super::minwise`]).

use super::bag::{Bag, KEPT_CAPACITY, Norm, UNIT, WHOLE};
use super::counter::{ColumnFeatures, Counter, WordHashes, gather_words};
use super::error::Error;
use super::hash::Width;
use super::lexeme::{Given, Lexeme};
use super::minwise::one_permutation::{self, Bins};
use super::minwise::{Owners, races};
use super::options::grammar::ContentKind;
use super::options::plan::{ColumnPlan, MinwiseColumn};
use super::options::presets::{Input, Rules, Tf};
use super::simhash::Sums;
use super::text::stop_words::StopWords;
use super::text::{markup, normal};
use super::{margin, weighted_tokens};

/// What a column holds.
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
    pub column: String,
    pub feature: String,
    /// How often it occurs; with `token^weight` input the given weight.
    pub tf: f64,
    /// What it adds to or subtracts from each sum; of a minwise fingerprint with balanced columns the
    /// share of the bits that are drawn from it, on average, when all columns have a feature.
    pub weight: f64,
    /// The low word of its hash.
    pub hash: u64,
}

/// Bytes of text that a sketch keeps room for.
const KEPT_BYTES: usize = 1 << 20;

/// Builds one fingerprint of `W` words after the other, reusing its memory.
pub struct Sketch<const W: usize = 1> {
    width: Width,
    totals: Sums<W>,
    any: bool,
    owners: Owners<W>,
    bag: Bag<W>,
    /// In the place of the bag, see [`ColumnFeatures`].
    bins: [Bins; W],
    /// Scratch space: the features of a column with their weights.
    weighted: Vec<([u64; W], f64)>,
    /// The bytes under the hash: the column's prefix and the feature.
    key: Vec<u8>,
    text: String,
    /// The words of the next column's title.
    title: WordHashes,
    shown: Option<Vec<Feature>>,
}

impl<const W: usize> Sketch<W> {
    /// `width` narrows a single word.
    pub fn new(width: Width) -> Self {
        Self::with(width, None)
    }

    /// A sketch that remembers its features for [`Sketch::into_features`].
    pub fn showing(width: Width) -> Self {
        Self::with(width, Some(Vec::new()))
    }

    fn with(width: Width, shown: Option<Vec<Feature>>) -> Self {
        Self {
            width,
            totals: Sums::ZERO,
            any: false,
            owners: Owners::NONE,
            bag: Bag::new(shown.is_some()),
            bins: [Bins::EMPTY; W],
            weighted: Vec::new(),
            key: Vec::new(),
            text: String::new(),
            title: WordHashes::default(),
            shown,
        }
    }

    /// Starts the next row. Drops what an error left behind, and memory that only a long text
    /// needed.
    pub fn begin(&mut self) {
        self.totals = Sums::ZERO;
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
        pause: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let Input::Words(rules) = &plan.input else {
            return Ok(());
        };
        let (words, buffer) = (&mut self.title, &mut self.text);
        gather_words(rules, text, words, buffer, pause, &mut |_| {})
    }

    /// Adds a column. `pause` is called now and then during long work and may unwind.
    pub fn column(
        &mut self,
        plan: &ColumnPlan,
        content: Content<'_>,
        pause: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        self.add_column(plan, content, pause)?;
        self.forget_title();
        Ok(())
    }

    fn add_column(
        &mut self,
        plan: &ColumnPlan,
        content: Content<'_>,
        pause: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        self.key.clear();
        self.key.extend_from_slice(&plan.prefix);
        let (text, natural) = match content {
            Content::Text(text) => (text, ContentKind::Text),
            Content::Canonical(text) => (text, ContentKind::Value),
            Content::Lexemes(lexemes) => {
                let given = lexemes.iter().map(|lexeme| Ok(lexeme.given()));
                return self.join_given(plan, given, Lexeme::UNIT, pause);
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
                let text = markup::plain(rules.markup, text, pause)?;
                self.count_text(plan, rules, &text, pause)?;
                self.join_counted(plan, rules.tf, pause)?;
            }
            (ContentKind::Value, Input::Words(rules)) => {
                let literal = match natural {
                    ContentKind::Value => text,
                    ContentKind::Text => {
                        let text = markup::plain(rules.markup, text, pause)?;
                        normal::normal_form(&text, &mut self.text, pause)?;
                        &self.text
                    }
                };
                if !literal.is_empty() {
                    extend(&mut self.key, literal.as_bytes())?;
                    self.add_key(plan, plan.value_weight)?;
                    self.join_counted(plan, rules.tf, pause)?;
                }
            }
            (ContentKind::Text, Input::WeightedTokens) => {
                let given = |(token, weight)| Given {
                    token,
                    tf: weight,
                    weight,
                };
                let tokens = weighted_tokens::parse(text).map(|token| token.map(given));
                self.join_given(plan, tokens, 1.0, pause)?;
            }
            (ContentKind::Value, Input::WeightedTokens) => {
                let token = (!text.is_empty()).then_some(Ok(Given {
                    token: text,
                    tf: 1.0,
                    weight: 1.0,
                }));
                self.join_given(plan, token.into_iter(), 1.0, pause)?;
            }
        }
        Ok(())
    }

    /// The fingerprint of what was added since [`Sketch::begin`]; None without any feature.
    pub fn fingerprint(&self) -> Option<[u64; W]> {
        let Some(bits) = self.owners.bits() else {
            return self.any.then(|| self.totals.fingerprint());
        };
        Some(bits.map(|word| self.width.narrow(word)))
    }

    /// Empties what the features of a column go to. `bytes` is the length of its text.
    fn begin_column(&mut self, plan: &ColumnPlan, bytes: usize) {
        match self.draws_from_bins(plan) {
            true => self.bins = [Bins::EMPTY; W],
            false => self.bag.begin(bytes),
        }
    }

    /// Are bits drawn from this column without counting its features?
    fn draws_from_bins(&self, plan: &ColumnPlan) -> bool {
        self.shown.is_none() && plan.minwise.as_ref().is_some_and(|column| column.is_set)
    }

    /// Where the features of a column go, and the bytes of the next one.
    fn features<'a>(
        &'a mut self,
        plan: &'a ColumnPlan,
    ) -> (ColumnFeatures<'a, W>, &'a mut Vec<u8>) {
        let draws_from_bins = self.draws_from_bins(plan);
        let features = ColumnFeatures {
            plan,
            width: self.width,
            bag: &mut self.bag,
            bins: draws_from_bins.then_some(&mut self.bins),
        };
        (features, &mut self.key)
    }

    /// Adds the feature whose bytes are in `key`.
    fn add_key(&mut self, plan: &ColumnPlan, weight: f64) -> Result<(), Error> {
        let (mut features, key) = self.features(plan);
        features.add(key, weight)
    }

    /// The `n` bits of least margin of the fingerprint's low word; None without any feature.
    pub fn margin(&self, n: usize) -> Result<Option<u64>, Error> {
        match self.owners.bits() {
            Some(_) => Err(Error::NoMargin),
            None => Ok(self.any.then(|| margin::mask(self.totals.low(), n))),
        }
    }

    /// The features in the order of the columns; of a column of words the heaviest first.
    pub fn into_features(self) -> Vec<Feature> {
        self.shown.unwrap_or_default()
    }

    fn count_text(
        &mut self,
        plan: &ColumnPlan,
        rules: &Rules,
        text: &str,
        pause: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let features = rules.features;
        if features.words > 0.0 || features.pairs > 0.0 || features.ngrams > 0.0 {
            let skipped = self.count_parts(plan, rules, text, pause)?;
            // A text of nothing but stop words and masks counts with them.
            if skipped && self.features(plan).0.is_empty() {
                let everything = Rules {
                    stop_words: StopWords::None,
                    drop_runs: false,
                    ..rules.clone()
                };
                self.count_parts(plan, &everything, text, pause)?;
            }
        }
        if features.whole > 0.0 {
            normal::normal_form(text, &mut self.text, pause)?;
            self.key.truncate(plan.prefix.len());
            if !self.text.is_empty() {
                self.key.push(WHOLE);
                extend(&mut self.key, self.text.as_bytes())?;
                self.add_key(plan, features.whole)?;
            }
        }
        Ok(())
    }

    /// Counts words, pairs and character n-grams; true when some were left out.
    fn count_parts(
        &mut self,
        plan: &ColumnPlan,
        rules: &Rules,
        text: &str,
        pause: &mut dyn FnMut(),
    ) -> Result<bool, Error> {
        let mut buffer = std::mem::take(&mut self.text);
        if self.draws_from_bins(plan)
            && let Some(shingling) = plan.shingling(rules, self.width)
        {
            let skipped = shingling.add(text, &mut self.bins, &mut buffer, pause);
            self.text = buffer;
            return Ok(skipped);
        }
        let title = std::mem::take(&mut self.title);
        let (add_to, key) = self.features(plan);
        let counted = Counter::new(rules, &title, add_to, key).count(text, &mut buffer, pause);
        (self.text, self.title) = (buffer, title);
        counted
    }

    /// Weighs the counted features and adds them to the row.
    fn join_counted(
        &mut self,
        plan: &ColumnPlan,
        tf: Tf,
        pause: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        if self.features(plan).0.is_empty() {
            return Ok(());
        }
        let factor = match &plan.minwise {
            None => self.add_sums(plan, tf),
            Some(column) if self.draws_from_bins(plan) => {
                let bits = self.bins.map(|bins| bins.bits());
                self.owners.add(&column.lots, plan.factor, bits);
                return Ok(());
            }
            Some(column) => {
                self.weighted.clear();
                let full = |_| Error::OutOfMemory;
                self.weighted.try_reserve(self.bag.len()).map_err(full)?;
                self.weighted.extend(self.bag.weights(tf));
                let bits = match column.is_set {
                    true => Some(one_permutation::bits(self.weighted.iter().map(|f| f.0))),
                    false => races::bits(&self.weighted, pause),
                };
                self.own(plan, column, bits, 1.0)
            }
        };
        self.show(plan, tf, factor, pause)
    }

    /// Adds the counted features to the sums of a SimHash. What their weights are multiplied by.
    fn add_sums(&mut self, plan: &ColumnPlan, tf: Tf) -> f64 {
        let (sums, square) = self.bag.sums(tf);
        let factor = match plan.balance {
            // No weight at all: a kind of feature may weigh less than 2^-32.
            true if square == 0 => 0.0,
            true => plan.factor * UNIT / (square as f64).sqrt(),
            false => plan.factor,
        };
        self.totals.add_scaled(&sums, factor);
        self.any |= square > 0;
        factor
    }

    /// Lets a column own bits of the row, those that were drawn from its features in `weighted`. One
    /// of weight w weighs w times `unit` when columns are not balanced. What their weights are
    /// multiplied by.
    fn own(
        &mut self,
        plan: &ColumnPlan,
        column: &MinwiseColumn,
        bits: Option<[u64; W]>,
        unit: f64,
    ) -> f64 {
        let Some(bits) = bits else {
            return 0.0;
        };
        let total: f64 = self.weighted.iter().map(|(_, weight)| weight).sum();
        let (weight, factor) = match plan.balance {
            true => (plan.factor, column.share / total),
            false => (plan.factor * unit * total, plan.factor * unit),
        };
        self.owners.add(&column.lots, weight, bits);
        factor
    }

    /// Remembers the counted features when they are to be shown.
    fn show(
        &mut self,
        plan: &ColumnPlan,
        tf: Tf,
        factor: f64,
        pause: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        if let Some(shown) = &mut self.shown {
            let first = shown.len();
            (shown.try_reserve(self.bag.len())).map_err(|_| Error::OutOfMemory)?;
            shown.extend(self.bag.named().map(|(name, hash, counted)| Feature {
                column: plan.name.clone(),
                feature: name.to_owned(),
                tf: counted.count as f64,
                weight: counted.weight(tf) * factor,
                hash: hash[0],
            }));
            // In place: a stable sort would want memory that may not be there.
            shown[first..].sort_unstable_by(|a, b| {
                pause();
                b.weight
                    .total_cmp(&a.weight)
                    .then_with(|| a.feature.cmp(&b.feature))
            });
        }
        Ok(())
    }

    /// Adds features that come with their weights, in their order. One of weight w weighs w times
    /// `unit`.
    fn join_given<'a>(
        &mut self,
        plan: &ColumnPlan,
        tokens: impl Iterator<Item = Result<Given<'a>, Error>>,
        unit: f64,
        pause: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let mut sums = Sums::ZERO;
        let mut norm = Norm::default();
        let start = plan.prefix.len();
        let mut features = Vec::new();
        self.weighted.clear();
        for (i, token) in tokens.enumerate() {
            let Given { token, tf, weight } = token?;
            if i % 1024 == 0 {
                pause();
            }
            if weight == 0.0 {
                continue;
            }
            self.key.truncate(start);
            self.key.extend_from_slice(token.as_bytes());
            let hash = plan.hash.words(self.width, &self.key);
            norm.add(weight);
            match plan.minwise {
                None => sums.add(hash, weight),
                Some(_) => {
                    self.weighted
                        .try_reserve(1)
                        .map_err(|_| Error::OutOfMemory)?;
                    self.weighted.push((hash, weight));
                }
            }
            if self.shown.is_some() {
                features.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                let (column, feature) = (plan.name.clone(), token.to_owned());
                features.push(Feature {
                    column,
                    feature,
                    tf,
                    weight,
                    hash: hash[0],
                });
            }
        }
        if norm.largest == 0.0 {
            return Ok(());
        }
        let factor = match &plan.minwise {
            Some(column) => {
                let bits = races::bits(&self.weighted, pause);
                self.own(plan, column, bits, unit)
            }
            None => {
                let factor = match plan.balance {
                    true => plan.factor / norm.length(),
                    false => plan.factor * unit,
                };
                self.totals.add_scaled(&sums, factor);
                self.any = true;
                factor
            }
        };
        if let Some(shown) = &mut self.shown {
            features.iter_mut().for_each(|f| f.weight *= factor);
            (shown.try_reserve(features.len())).map_err(|_| Error::OutOfMemory)?;
            shown.append(&mut features);
        }
        Ok(())
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
        super::options::grammar::parse_text(r#"{"features": {"whole": 1}}"#, &mut || {}).unwrap();
    let preset = super::options::presets::find(None).unwrap();
    let plan = super::options::plan::text(preset, &options).unwrap();
    let mut sketch = Sketch::<1>::new(Width::W64);
    let text: String = (0..300_000).map(|n| format!("{n:x} ")).collect();
    sketch.title(&plan, &text, &mut || {}).unwrap();
    let content = Content::Text(&text);
    sketch.column(&plan, content, &mut || {}).unwrap();
    assert!(sketch.title.capacity() <= KEPT_CAPACITY);
    sketch.begin();
    assert!(sketch.text.capacity() + sketch.key.capacity() <= 2 * KEPT_BYTES);
}

#[cfg(test)]
#[test]
fn sorting_features_pauses() {
    let options = super::options::grammar::parse_text("{}", &mut || {}).unwrap();
    let preset = super::options::presets::find(None).unwrap();
    let plan = super::options::plan::text(preset, &options).unwrap();
    let mut sketch = Sketch::<1>::showing(Width::W64);
    let text: String = (0..10_000).map(|n| format!("{n:x} ")).collect();
    let mut pauses = 0;
    let content = Content::Text(&text);
    sketch.column(&plan, content, &mut || pauses += 1).unwrap();
    assert!(pauses > 10_000, "{pauses} pauses");
}

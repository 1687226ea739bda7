//! From a column's features to the row: sums of a SimHash, or bits that the column owns.
//! [`FingerprintBuilder`] calls it after each column. A column without features changes nothing.

use super::{Feature, FingerprintBuilder};
use crate::bag::Norm;
use crate::error::Error;
use crate::letter_pairs::LetterPairs;
use crate::lexeme::Given;
use crate::minwise::{one_permutation, races};
use crate::options::plan::{ColumnPlan, MinwiseColumn};
use crate::options::presets::{Rules, Tf};
use crate::simhash::{Sums, UNIT};

impl<const W: usize> FingerprintBuilder<W> {
    /// Weighs the counted features and adds them to the row.
    pub(super) fn join_counted(
        &mut self,
        plan: &ColumnPlan,
        tf: Tf,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        if self.features(plan).0.is_empty() {
            return Ok(());
        }
        let factor = match &plan.minwise {
            None => self.add_sums(plan, tf),
            Some(column) if column.is_set => {
                let bits = self.draw(plan, column, tf, !0, check_interrupts)?;
                self.owners.add(&column.unit_times, plan.factor, bits);
                return Ok(());
            }
            Some(column) => {
                self.weigh(tf)?;
                let bits = races::bits(&self.weighted, check_interrupts);
                self.own(plan, column, bits, 1.0)
            }
        };
        self.show(plan, tf, factor, check_interrupts)
    }

    /// Adds a text whose bits are drawn from its n-grams, or from its pairs of letters as far as it
    /// is short.
    pub(super) fn join_by_length(
        &mut self,
        plan: &ColumnPlan,
        column: &MinwiseColumn,
        rules: &Rules,
        text: &str,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let pairs = LetterPairs::of(text, rules.normalize, &mut self.text, check_interrupts);
        let of_ngrams = pairs.as_ref().map_or(!0, LetterPairs::bits_of_ngrams);
        let mut bits = [0; W];
        let mut any = false;
        if of_ngrams != 0 {
            self.count_text(plan, rules, text, check_interrupts)?;
            any |= !self.features(plan).0.is_empty();
            bits = self.draw(plan, column, rules.tf, of_ngrams, check_interrupts)?;
        }
        if let Some(pairs) = pairs.filter(|_| of_ngrams != !0) {
            self.begin_column(plan, text.len());
            let (features, key) = self.features(plan);
            pairs.add(features, key)?;
            any |= !self.features(plan).0.is_empty();
            let drawn = self.draw(plan, column, rules.tf, !of_ngrams, check_interrupts)?;
            bits = std::array::from_fn(|word| bits[word] | drawn[word]);
        }
        if any {
            self.owners.add(&column.unit_times, plan.factor, bits);
        }
        Ok(())
    }

    /// Draws the bits that are 1 in `wanted`, in each word, from the counted features, which all
    /// weigh the same.
    fn draw(
        &mut self,
        plan: &ColumnPlan,
        column: &MinwiseColumn,
        tf: Tf,
        wanted: u64,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<[u64; W], Error> {
        if self.draws_from_bins(plan) {
            return Ok(self.bins.each_ref().map(|bins| bins.bits() & wanted));
        }
        self.weigh(tf)?;
        let total: f64 = self.weighted.iter().map(|(_, weight)| weight).sum();
        let share = column.share * f64::from(wanted.count_ones()) / 64.0;
        self.show(plan, tf, share / total, check_interrupts)?;
        let bits = one_permutation::bits(self.weighted.iter().map(|f| f.0));
        Ok(bits.map(|word| word & wanted))
    }

    /// Copies the counted features with their weights.
    fn weigh(&mut self, tf: Tf) -> Result<(), Error> {
        self.weighted.clear();
        let full = |_| Error::OutOfMemory;
        self.weighted.try_reserve(self.bag.len()).map_err(full)?;
        self.weighted.extend(self.bag.weights(tf));
        Ok(())
    }

    /// Adds the counted features to the sums of a SimHash. Returns the factor of their weights.
    fn add_sums(&mut self, plan: &ColumnPlan, tf: Tf) -> f64 {
        let (sums, square) = self.bag.sums(tf);
        let factor = match plan.balance {
            // No weight at all: a kind of feature may weigh less than 2^-32.
            true if square == 0 => 0.0,
            true => plan.factor * UNIT / (square as f64).sqrt(),
            false => plan.factor,
        };
        self.totals.add_scaled(&sums, factor);
        if plan.balance {
            // The factor, the product and the sum are rounded.
            self.rounding += 4.0 * f64::EPSILON * factor * sums.largest();
        }
        self.any |= square > 0;
        factor
    }

    /// Lets a column own bits of the row, those that were drawn from its features in `weighted`.
    /// One of weight w weighs w times `unit` when columns are not balanced. Returns the factor of
    /// their weights.
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
        self.owners.add(&column.unit_times, weight, bits);
        factor
    }

    /// Remembers the counted features when they are to be shown.
    fn show(
        &mut self,
        plan: &ColumnPlan,
        tf: Tf,
        factor: f64,
        check_interrupts: &mut dyn FnMut(),
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
                check_interrupts();
                b.weight
                    .total_cmp(&a.weight)
                    .then_with(|| a.feature.cmp(&b.feature))
            });
        }
        Ok(())
    }

    /// Adds features that come with their weights, in their order. One of weight w weighs w times
    /// `unit`.
    pub(super) fn join_given<'a>(
        &mut self,
        plan: &ColumnPlan,
        tokens: impl Iterator<Item = Result<Given<'a>, Error>>,
        unit: f64,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let mut sums = Sums::ZERO;
        let mut norm = Norm::default();
        let start = plan.prefix.len();
        let mut features = Vec::new();
        self.weighted.clear();
        for (i, token) in tokens.enumerate() {
            let Given { token, tf, weight } = token?;
            if i % 1024 == 0 {
                check_interrupts();
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
                let bits = races::bits(&self.weighted, check_interrupts);
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

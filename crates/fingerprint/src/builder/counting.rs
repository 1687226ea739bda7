//! From a column's text to its features, which are counted in a bag or fall into bins.
//! [`FingerprintBuilder`] calls it for columns of natural text. A text that would lose all of its
//! words to stop words and masks keeps them.

use super::{FingerprintBuilder, extend};
use crate::bag::WHOLE;
use crate::counter::{ColumnFeatures, FeatureCounter, WordHashes};
use crate::error::Error;
use crate::minwise::one_permutation::HashBins;
use crate::options::plan::ColumnPlan;
use crate::options::presets::Rules;
use crate::text::normal;
use crate::text::stop_words::StopWords;

impl<const W: usize> FingerprintBuilder<W> {
    /// Empties what the features of a column go to. `bytes` is the length of its text.
    pub(super) fn begin_column(&mut self, plan: &ColumnPlan, bytes: usize) {
        match self.draws_from_bins(plan) {
            true => self.bins = [HashBins::EMPTY; W],
            false => self.bag.begin(bytes),
        }
    }

    /// Returns whether bits are drawn from this column without counting its features.
    pub(super) fn draws_from_bins(&self, plan: &ColumnPlan) -> bool {
        self.shown.is_none() && plan.minwise.as_ref().is_some_and(|column| column.is_set)
    }

    /// Returns where the features of a column go, and the bytes of the next one.
    pub(super) fn features<'a>(
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
    pub(super) fn add_key(&mut self, plan: &ColumnPlan, weight: f64) -> Result<(), Error> {
        let (mut features, key) = self.features(plan);
        features.add(key, weight)
    }

    pub(super) fn count_text(
        &mut self,
        plan: &ColumnPlan,
        rules: &Rules,
        text: &str,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let features = rules.features;
        if features.words > 0.0 || features.pairs > 0.0 || features.ngrams > 0.0 {
            let skipped = self.count_parts(plan, rules, text, check_interrupts)?;
            if self.features(plan).0.is_empty() {
                let everything = Rules {
                    stop_words: StopWords::None,
                    drop_runs: false,
                    ..rules.clone()
                };
                // A text of nothing but stop words and masks counts with them, and one of nothing but
                // symbols too.
                if skipped {
                    self.count_parts(plan, &everything, text, check_interrupts)?;
                } else {
                    let mut buffer = std::mem::take(&mut self.text);
                    let title = WordHashes::default();
                    let (add_to, key) = self.features(plan);
                    let counter = FeatureCounter::new(&everything, &title, add_to, key);
                    let counted = counter.count_symbols(text, &mut buffer, check_interrupts);
                    self.text = buffer;
                    counted?;
                }
            }
        }
        if features.whole > 0.0 {
            normal::normal_form(text, rules.normalize, &mut self.text, check_interrupts)?;
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
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<bool, Error> {
        let mut buffer = std::mem::take(&mut self.text);
        if self.draws_from_bins(plan)
            && let Some(shingling) = plan.shingling(rules, self.width)
        {
            let skipped = shingling.add(text, &mut self.bins, &mut buffer, check_interrupts);
            self.text = buffer;
            return Ok(skipped);
        }
        let title = std::mem::take(&mut self.title);
        let (add_to, key) = self.features(plan);
        let counted = FeatureCounter::new(rules, &title, add_to, key).count(
            text,
            &mut buffer,
            check_interrupts,
        );
        (self.text, self.title) = (buffer, title);
        counted
    }
}

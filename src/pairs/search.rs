//! A search for pairs within the server: temporary files, cancels, progress. What becomes of a pair
//! is up to [`Pairs`].

use simhash_hamming::pairs::sink::{PairSink, Row};
use simhash_pg::process::backend::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::temp_file::TempFile;
use simhash_pg::sql::value::Value;

/// Takes the pairs that a search finds.
pub trait Pairs {
    /// As [`PairSink::pair`].
    fn pair(&mut self, a: u64, b: u64, distance: u32);
    /// As [`PairSink::is_transitive`].
    fn is_transitive(&self) -> bool;
    /// As [`PairSink::wants_distinct`].
    fn wants_distinct(&self) -> bool {
        false
    }
    /// As [`PairSink::is_across`].
    fn is_across(&self) -> bool {
        false
    }
}

/// Gives rows their tags.
pub trait Tags: Pairs {
    /// Returns the tag of a row of this side (0 or 1) with this key, which lives until the call
    /// returns; and with this set, if pairs of rows of one set do not count.
    fn tag(&mut self, side: usize, key: Value<'_>, set: Option<u32>) -> u64;
    /// Returns whether it wants the texts too of which the fingerprints of the first side are made.
    fn wants_texts(&self) -> bool {
        false
    }
    /// Takes the text of a row.
    fn text(&mut self, _row: Row, _text: Value<'_>) {}
}

/// Checks for interrupts between two looks at the clock: some take a nanosecond, some a millisecond.
const CHECKS: u8 = 100;

pub struct PairSearch<'a, P> {
    pub pairs: P,
    pub activity: &'a mut Activity,
    /// None while no rows are compared.
    percent: Option<u64>,
    checks: u8,
}

impl<'a, P> PairSearch<'a, P> {
    pub fn new(pairs: P, activity: &'a mut Activity) -> Self {
        Self {
            pairs,
            activity,
            percent: None,
            checks: 0,
        }
    }

    /// Compares rows. The first of them may take minutes, before there is any progress.
    pub fn compare(&mut self, compare: impl FnOnce(&mut Self)) {
        self.percent = Some(0);
        compare(self);
        self.percent = None;
    }

    fn show(&mut self) {
        if let Some(percent) = self.percent {
            self.activity
                .show("comparing fingerprints", percent, Some(100));
        }
    }
}

impl<P: Pairs> PairSink for PairSearch<'_, P> {
    type File = TempFile<'static>;

    fn file(&mut self) -> TempFile<'static> {
        TempFile::new()
    }

    fn pair(&mut self, a: u64, b: u64, distance: u32) {
        self.pairs.pair(a, b, distance);
    }

    fn is_transitive(&self) -> bool {
        self.pairs.is_transitive()
    }

    fn wants_distinct(&self) -> bool {
        self.pairs.wants_distinct()
    }

    fn is_across(&self) -> bool {
        self.pairs.is_across()
    }

    fn check_interrupts(&mut self) {
        check_for_interrupts();
        self.checks += 1;
        if self.checks == CHECKS {
            self.checks = 0;
            self.show();
        }
    }

    fn progress(&mut self, share: f64) {
        self.percent = Some((share * 100.0) as u64);
        self.show();
    }
}

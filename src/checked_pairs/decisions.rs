//! Pairs that a person has judged different: they never pass, whatever the check says.
//! simhash_clusters reads them here for kept clusters. A row of such a pair is judged for itself,
//! never as one of several equal rows. No check asks for what was judged the same, since such rows
//! need not be near: `clusters::kept` adds it.

use super::judge::{Content, Judge};
use super::paired_rows::PairedRows;
use crate::pairs::source::SourceTable;
use pgrx::pg_sys::Oid;
use simhash_pg::catalog::table;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::value::Value;
use std::collections::HashSet;

/// The keys of pairs that were judged different.
pub struct DifferentKeys(Vec<[KeptValue; 2]>);

impl DifferentKeys {
    /// Reads them from a table `(a, b, same)`; with `keys`, an array, those of rows with these keys. A
    /// decision names the row whose key its own is equal to, however it is written. None if there are
    /// none.
    pub fn read(decisions: Oid, source: &SourceTable, keys: Option<Value<'_>>) -> Option<Self> {
        let decisions = table::qualified_name(decisions)?;
        let (rows, key, order) = (&source.table_name, &source.key, source.order());
        let equality = order.equality()?;
        let row = |side: &str| {
            let has_key = equality.clause(key, &format!("n.{side}"));
            let key = source.key_expression();
            format!(
                "CROSS JOIN LATERAL (SELECT {key} AS key FROM {rows} WHERE {has_key} LIMIT 1) AS {side}"
            )
        };
        let are_given = match keys {
            Some(_) => format!(" AND {}", equality.any_of("n.a", "$1")),
            None => String::new(),
        };
        let query = format!(
            "SELECT a.key, b.key FROM {decisions} AS n {} {} WHERE NOT n.same{are_given}",
            row("a"),
            row("b")
        );
        let mut pairs = Vec::new();
        for_each_row(&query, keys.map(Some).as_slice(), &mut |[a, b]| {
            if let (Some(a), Some(b)) = (a, b) {
                or_out_of_memory(pairs.try_reserve(1));
                pairs.push([a, b].map(|key| order.storage.keep(key)));
            }
        });
        (!pairs.is_empty()).then_some(Self(pairs))
    }

    /// Returns the pairs of rows that have these keys.
    pub fn among(&self, paired_rows: &PairedRows) -> DifferentRows {
        let mut rows = DifferentRows::default();
        for pair in &self.0 {
            check_for_interrupts();
            let [a, b] = pair
                .each_ref()
                .map(|key| paired_rows.side(0).number_of(key.value()));
            if let (Some(a), Some(b)) = (a, b) {
                or_out_of_memory(rows.pairs.try_reserve(1));
                or_out_of_memory(rows.named.try_reserve(2));
                rows.pairs.insert((a.min(b), a.max(b)));
                rows.named.extend([a, b]);
            }
        }
        rows
    }
}

/// Pairs of rows, by their numbers.
#[derive(Default)]
pub struct DifferentRows {
    pairs: HashSet<(u32, u32)>,
    named: HashSet<u32>,
}

/// Judges as another judge does, except for pairs that were judged different.
pub struct Decided<J> {
    pub judge: J,
    pub different: DifferentRows,
}

impl<J: Judge> Judge for Decided<J> {
    type Kept = J::Kept;
    type Verdict = J::Verdict;

    fn keep(&self, value: Value<'_>) -> Self::Kept {
        self.judge.keep(value)
    }

    fn bytes(kept: &Self::Kept) -> usize {
        J::bytes(kept)
    }

    fn judge(&mut self, a: (u32, &Self::Kept), b: (u32, &Self::Kept)) -> Option<Self::Verdict> {
        let pair = (a.0.min(b.0), a.0.max(b.0));
        let is_different = self.different.pairs.contains(&pair);
        if is_different {
            None
        } else {
            self.judge.judge(a, b)
        }
    }

    fn similarity(verdict: &Self::Verdict) -> Option<f64> {
        J::similarity(verdict)
    }

    fn may_be_equal(&self) -> bool {
        self.judge.may_be_equal()
    }

    fn content(&mut self, row: u32, value: Value<'_>) -> Content {
        match self.judge.content(row, value) {
            Content::Equal(_) if self.different.named.contains(&row) => Content::Alone,
            content => content,
        }
    }

    fn least_jaccard(&self) -> Option<f64> {
        self.judge.least_jaccard()
    }
}

/// Lets every pair pass: where fingerprints alone decide, beside what a person has decided.
pub struct EveryPair;

impl Judge for EveryPair {
    type Kept = ();
    type Verdict = ();

    fn keep(&self, _value: Value<'_>) {}

    fn bytes(_kept: &()) -> usize {
        0
    }

    fn judge(&mut self, _a: (u32, &()), _b: (u32, &())) -> Option<()> {
        Some(())
    }

    fn may_be_equal(&self) -> bool {
        true
    }

    fn content(&mut self, _row: u32, _value: Value<'_>) -> Content {
        Content::Equal(0)
    }
}

//! What the keys of a scan ask for, and the stages of searching that answer it. `scan` makes one for each
//! start of a scan.
//!
//! The server may send any conditions on any key columns, or none, and several orders. The scopes
//! are known if each scope column is compared by `=`, or tested for NULL; all other conditions on
//! scope columns are left to the executor, which looks at the rows again.

#![allow(unsafe_code)]

use super::insert::{fingerprint, hash, makes_fingerprints};
use super::opclass::operator;
use pgrx::pg_sys::{self, ScanKeyData};
use simhash_base::indexed_row::Tid;
use simhash_base::indexed_row::hash_or_null;
use simhash_hamming::ball::{Ball, NEAR, NEAR_TEXTS};
use simhash_hamming::search::nearest::NearestSearch;
use simhash_hamming::search::scopes::Scopes;
use simhash_hamming::search::within::{FARTHEST, Match, NullSearch, WithinSearch};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::memory::{reserve, work_mem_bytes};

/// The test of a condition on a key column.
#[derive(Clone, Copy)]
enum KeyTest<'k> {
    IsNull,
    IsNotNull,
    /// An operator with a NULL argument.
    WithNull,
    Operator(&'k ScanKeyData),
}

impl KeyTest<'_> {
    fn of(key: &ScanKeyData) -> KeyTest<'_> {
        if has(key, pg_sys::SK_SEARCHNULL) {
            KeyTest::IsNull
        } else if has(key, pg_sys::SK_SEARCHNOTNULL) {
            KeyTest::IsNotNull
        } else if has(key, pg_sys::SK_ISNULL) {
            KeyTest::WithNull
        } else {
            KeyTest::Operator(key)
        }
    }
}

fn has(key: &ScanKeyData, flag: u32) -> bool {
    key.sk_flags & flag as i32 != 0
}

/// Returns the number of the column, from 0.
fn column(key: &ScanKeyData) -> usize {
    key.sk_attno as usize - 1
}

/// Tests that the executor has to repeat on a row that a scan returns.
#[derive(Clone, Copy, Default)]
pub struct Recheck {
    /// The conditions: some rows may not meet them.
    pub conditions: bool,
    /// The order: the distances are least ones.
    pub order: bool,
}

pub enum Stage {
    /// A search near the centre of the first ball.
    Within(WithinSearch),
    Nearest(NearestSearch),
    Nulls(NullSearch),
}

/// What the scan keys ask for.
#[derive(Default)]
pub struct ScanRequest {
    scopes: Scopes,
    /// The balls of the conditions on the fingerprint, which must lie in each. The first one, the
    /// smallest, drives the search.
    balls: Vec<Ball>,
    /// The centre of the first ORDER BY: None without it, Some(None) when it is NULL.
    centre: Option<Option<u64>>,
    null_rows: bool,
    other_rows: bool,
    recheck: Recheck,
}

impl ScanRequest {
    /// Reads the conditions, all of which a row must meet, and the orderings, the first one first.
    ///
    /// # Safety
    /// They must be those of a running scan of the index.
    pub unsafe fn new(
        index: Rel,
        conditions: &[ScanKeyData],
        order_bys: &[ScanKeyData],
    ) -> ScanRequest {
        let last = index.key_columns() - 1;
        let mut pins: Vec<Option<u32>> = vec![None; last];
        let mut request = ScanRequest {
            null_rows: true,
            other_rows: true,
            ..ScanRequest::default()
        };
        for key in conditions {
            let (column, test) = (column(key), KeyTest::of(key));
            if column == last {
                match makes_fingerprints(index) {
                    true => request.restrict_value(index, test),
                    false => request.restrict_fingerprint(test),
                }
                continue;
            }
            request.recheck.conditions = true;
            match test {
                // The operators are strict: a NULL argument is never true.
                KeyTest::WithNull => (request.null_rows, request.other_rows) = (false, false),
                _ => pins[column] = pins[column].or_else(|| pinned(index, column, test)),
            }
        }
        if let Some(hashes) = pins.into_iter().collect::<Option<Vec<_>>>() {
            request.scopes = Scopes::of_columns(hashes);
        }
        request.balls.sort_by_key(|ball| ball.radius);
        request.set_order(order_bys, last);
        request
    }

    /// Sets the order. A distance to the fingerprint is returned in order; other orders are left to
    /// the executor.
    fn set_order(&mut self, order_bys: &[ScanKeyData], last: usize) {
        let Some(first) = order_bys.first() else {
            return;
        };
        if column(first) == last {
            let centre = (!has(first, pg_sys::SK_ISNULL)).then_some(first.sk_argument);
            self.centre = Some(centre.map(|datum| datum.value() as u64));
        }
        self.recheck.order = self.centre.is_none() || order_bys.len() > 1;
    }

    fn restrict_fingerprint(&mut self, test: KeyTest) {
        match test {
            KeyTest::IsNull => self.other_rows = false,
            KeyTest::IsNotNull => self.null_rows = false,
            KeyTest::WithNull => (self.null_rows, self.other_rows) = (false, false),
            KeyTest::Operator(key) => {
                self.null_rows = false;
                self.balls.push(ball(key));
            }
        }
    }

    /// As [`Self::restrict_fingerprint`], for a column of values of which fingerprints are made, such
    /// as texts. Those without a fingerprint need not be NULL.
    fn restrict_value(&mut self, index: Rel, test: KeyTest) {
        match test {
            KeyTest::IsNull => {
                self.other_rows = false;
                self.recheck.conditions = true;
            }
            KeyTest::IsNotNull => self.recheck.conditions = true,
            KeyTest::Operator(key)
                if [operator::EQUAL, operator::SAME].contains(&key.sk_strategy)
                    && key.sk_subtype != pg_sys::INT8OID =>
            {
                self.recheck.conditions = true;
                let is_equal = key.sk_strategy == operator::EQUAL;
                // Texts that such a collation takes for equal may differ in their words.
                if is_equal && !index.collation_is_deterministic(index.key_columns() - 1) {
                    return;
                }
                // SAFETY: the index of a running scan is open; both operators are of the type of
                // the column's class.
                match unsafe { fingerprint(index, key.sk_argument) } {
                    Some(bits) => {
                        let radius = if is_equal { 0 } else { NEAR_TEXTS };
                        self.null_rows = false;
                        self.balls.push(Ball::new(bits as i64, radius));
                    }
                    None if is_equal => self.other_rows = false,
                    None => (self.null_rows, self.other_rows) = (false, false),
                }
            }
            _ => self.restrict_fingerprint(test),
        }
    }

    /// Returns whether a fingerprint meets all conditions.
    pub fn accepts(&self, fingerprint: u64) -> bool {
        let holds = |ball: &Ball| ball.contains(fingerprint as i64);
        self.balls.iter().all(holds)
    }

    /// Puts a match into `rows`, if the request accepts it.
    #[inline]
    pub fn take(&self, found: Match, rows: &mut Vec<Tid>) {
        if self.accepts(found.fingerprint) {
            reserve(rows, 1);
            rows.push(found.tid);
        }
    }

    /// Returns whether rows are returned in the order of distance.
    pub fn is_ordered(&self) -> bool {
        self.centre.is_some()
    }

    pub fn recheck(&self) -> Recheck {
        self.recheck
    }

    /// Returns the first stage of the search, if any row can qualify.
    pub fn first_stage(&self) -> Option<Stage> {
        match self.other_rows {
            true => self.near_stage().or_else(|| self.null_stage()),
            false => self.null_stage(),
        }
    }

    /// Returns the stage after this one: rows without a fingerprint come last.
    pub fn stage_after(&self, stage: &Stage) -> Option<Stage> {
        match stage {
            Stage::Within(_) | Stage::Nearest(_) => self.null_stage(),
            Stage::Nulls(_) => None,
        }
    }

    fn null_stage(&self) -> Option<Stage> {
        (self.null_rows).then(|| Stage::Nulls(NullSearch::new(self.scopes)))
    }

    /// Returns the stage for rows with a fingerprint; None when the ball is empty.
    fn near_stage(&self) -> Option<Stage> {
        let driver = self.balls.first();
        let radius = match driver {
            Some(ball) => u32::try_from(ball.radius).ok()?,
            None => FARTHEST,
        };
        if let Some(centre) = self.centre.flatten() {
            let farthest = match driver {
                Some(ball) if ball.centre as u64 == centre => radius,
                _ => u64::BITS,
            };
            let limit = work_mem_bytes() / size_of::<Tid>();
            let nearest = NearestSearch::new(self.scopes, centre, farthest, limit);
            return Some(Stage::Nearest(nearest));
        }
        let centre = driver.map_or(0, |ball| ball.centre as u64);
        Some(Stage::Within(WithinSearch::new(
            self.scopes,
            centre,
            radius,
        )))
    }
}

/// Returns the ball of a condition on the fingerprint.
fn ball(key: &ScanKeyData) -> Ball {
    let value = key.sk_argument;
    let bits = match key.sk_subtype {
        pg_sys::INT2OID => i64::from(value.value() as i16),
        pg_sys::INT4OID => i64::from(value.value() as i32),
        _ => value.value() as i64,
    };
    match key.sk_strategy {
        operator::NEAR => Ball::new(bits, NEAR),
        operator::EQUAL => Ball::new(bits, 0),
        // SAFETY: the only other operator is <@ (bigint, hamming_ball); not NULL.
        _ => unsafe { *value.cast_mut_ptr::<Ball>() },
    }
}

/// Returns the hash of the only value for which a condition on a scope column can hold; None when
/// there may be several.
fn pinned(index: Rel, column: usize, test: KeyTest) -> Option<u32> {
    match test {
        KeyTest::IsNull => Some(hash_or_null(None)),
        KeyTest::Operator(key) if key.sk_strategy == operator::EQUAL => {
            // SAFETY: the index of a running scan is open, and the server sends a value of this type.
            Some(unsafe { hash(index, column, key.sk_subtype, key.sk_argument) })
        }
        // Operators of fingerprints on a column that stands before the last one.
        KeyTest::Operator(_) | KeyTest::IsNotNull | KeyTest::WithNull => None,
    }
}

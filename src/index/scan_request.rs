//! What the keys of a scan ask for, and the stages of searching that answer it.
//!
//! The server may send any conditions on any key columns, or none, and several orders. The scopes
//! are known if each scope column is compared by `=`, or tested for NULL; all other conditions on
//! scope columns are left to the executor, which looks at the rows again.

#![allow(unsafe_code)]

use pgrx::pg_sys;
use simhash_base::indexed_row::hash_or_null;
use simhash_base::tid::Tid;
use simhash_hamming::ball::{Ball, NEAR, NEAR_TEXTS};
use simhash_hamming::search::nearest::NearestSearch;
use simhash_hamming::search::scopes::Scopes;
use simhash_hamming::search::within::{FARTHEST, Match, NullSearch, WithinSearch};
use simhash_pg::am::scan::{KeyArgument, KeyTest, Recheck, Scan, ScanKey};
use simhash_pg::am::scope::{ConditionHash, fingerprint, makes_fingerprints};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::memory::{reserve, work_mem_bytes};

/// Operator numbers of the operator classes, as in sql/.
pub mod operator {
    /// `fp <@ ball`
    pub const IN_BALL: u16 = 1;
    /// `fp <~> centre`, in ORDER BY only
    pub const DISTANCE: u16 = 2;
    /// `fp ~= other`
    pub const NEAR: u16 = 3;
    /// `column = value`
    pub const EQUAL: u16 = 4;
    /// `value ~= other`, of values of which fingerprints are made: near, and the same by a function
    pub const SAME: u16 = 5;
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
    pub fn from_scan(scan: &Scan) -> ScanRequest {
        let index = scan.index();
        let last = index.key_columns() - 1;
        let mut pins: Vec<Option<u32>> = vec![None; last];
        let mut request = ScanRequest {
            null_rows: true,
            other_rows: true,
            ..ScanRequest::default()
        };
        for ScanKey { column, test } in scan.conditions() {
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
                _ => pins[column] = pins[column].or_else(|| hash(index, column, test)),
            }
        }
        if let Some(hashes) = pins.into_iter().collect::<Option<Vec<_>>>() {
            request.scopes = Scopes::of_columns(hashes);
        }
        request.balls.sort_by_key(|ball| ball.radius);
        request.set_order(scan, last);
        request
    }

    /// Sets the order. A distance to the fingerprint is returned in order; other orders are left to
    /// the executor.
    fn set_order(&mut self, scan: &Scan, last: usize) {
        let mut order_bys = scan.order_bys();
        let Some(first) = order_bys.next() else {
            return;
        };
        if first.column == last {
            self.centre = Some(first.centre.map(|datum| datum.value() as u64));
        }
        self.recheck.order = self.centre.is_none() || order_bys.next().is_some();
    }

    fn restrict_fingerprint(&mut self, test: KeyTest) {
        match test {
            KeyTest::IsNull => self.other_rows = false,
            KeyTest::IsNotNull => self.null_rows = false,
            KeyTest::WithNull => (self.null_rows, self.other_rows) = (false, false),
            KeyTest::Operator(operator, value) => {
                self.null_rows = false;
                self.balls.push(ball(operator, value));
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
            KeyTest::Operator(number @ (operator::EQUAL | operator::SAME), value)
                if value.value_type != pg_sys::INT8OID =>
            {
                self.recheck.conditions = true;
                let is_equal = number == operator::EQUAL;
                // Texts that such a collation takes for equal may differ in their words.
                if is_equal && !index.collation_is_deterministic(index.key_columns() - 1) {
                    return;
                }
                // SAFETY: the index of a running scan is open; both operators are of the type of
                // the column's class.
                match unsafe { fingerprint(index, value.datum) } {
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
fn ball(operator: u16, value: KeyArgument) -> Ball {
    let bits = match value.value_type {
        pg_sys::INT2OID => i64::from(value.datum.value() as i16),
        pg_sys::INT4OID => i64::from(value.datum.value() as i32),
        _ => value.datum.value() as i64,
    };
    match operator {
        operator::NEAR => Ball::new(bits, NEAR),
        operator::EQUAL => Ball::new(bits, 0),
        // SAFETY: the only other operator is <@ (bigint, hamming_ball); not NULL.
        _ => unsafe { *value.datum.cast_mut_ptr::<Ball>() },
    }
}

/// Returns the hash of the only value for which a condition on a scope column can hold; None when
/// there may be several.
fn hash(index: Rel, column: usize, test: KeyTest) -> Option<u32> {
    match test {
        KeyTest::IsNull => Some(hash_or_null(None)),
        // SAFETY: the index of a running scan is open, and the server sends a value of this type.
        KeyTest::Operator(operator::EQUAL, value) => Some(unsafe {
            ConditionHash::for_condition(index, column, value.value_type).of_value(value.datum)
        }),
        // Operators of fingerprints on a column that stands before the last one.
        KeyTest::Operator(..) | KeyTest::IsNotNull | KeyTest::WithNull => None,
    }
}

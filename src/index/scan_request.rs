//! What the keys of a scan ask for, and the stages of searching that answer it.
//!
//! The server may send any conditions on any key columns, or none, and several orders. The scopes
//! are known if each scope column is compared by `=`, or tested for NULL; all other conditions on
//! scope columns are left to the executor, which looks at the rows again.

#![allow(unsafe_code)]

use pgrx::pg_sys;
use simhash_base::indexed_row::hash_or_null;
use simhash_base::tid::Tid;
use simhash_hamming::ball::{Ball, NEAR};
use simhash_hamming::key::BLOCKS;
use simhash_hamming::search::nearest_in_scopes::NearestInScopes;
use simhash_hamming::search::scope_lists::{Bounds, sort};
use simhash_hamming::search::scopes::Scopes;
use simhash_hamming::search::within::{FARTHEST, Match, NullSearch, WithinSearch};
use simhash_hamming::search::within_scopes::WithinScopes;
use simhash_pg::am::scan::{KeyArgument, KeyTest, Recheck, Scan, ScanKey};
use simhash_pg::am::scope::ConditionHash;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::process::backend::check_for_interrupts;
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
}

pub enum Stage {
    /// A search near the centre of the ball with this number, in one scope or in all.
    Within(WithinSearch, usize),
    /// As `Within`, in the scopes of a list.
    WithinScopes(Box<WithinScopes>, usize),
    Nearest(NearestInScopes),
    Nulls(NullSearch),
}

/// What the scan keys ask for.
#[derive(Default)]
pub struct ScanRequest {
    scopes: Scopes,
    /// The balls of each condition on the fingerprint, which must lie in one of them. The first
    /// condition drives the search.
    balls: Vec<Vec<Ball>>,
    /// The centre of the first ORDER BY: None without it, Some(None) when it is NULL.
    centre: Option<Option<u64>>,
    null_rows: bool,
    other_rows: bool,
    recheck: Recheck,
    /// Stages for rows with a fingerprint.
    near_stages: u64,
}

impl ScanRequest {
    pub fn from_scan(scan: &Scan) -> ScanRequest {
        let index = scan.index();
        let last = index.key_columns() - 1;
        let mut pins: Vec<Option<Vec<u32>>> = vec![None; last];
        let mut request = ScanRequest {
            null_rows: true,
            other_rows: true,
            ..ScanRequest::default()
        };
        for ScanKey { column, test } in scan.conditions() {
            if column == last {
                request.restrict_fingerprint(test);
                continue;
            }
            request.recheck.conditions = true;
            if let Some(hashes) = hashes(index, column, test) {
                // Of two conditions on a column, keep the one that holds for fewer values.
                let shorter = |old: &Vec<_>| old.len() > hashes.len();
                if pins[column].as_ref().is_none_or(shorter) {
                    pins[column] = Some(hashes);
                }
            }
        }
        if let Some(columns) = pins.into_iter().collect() {
            request.scopes = Scopes::from_lists(columns, || bounds(index));
        }
        request.balls.sort_by_key(|any| (widest(any), any.len()));
        request.set_order(scan, last);
        request.near_stages = request.count_near_stages();
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
            // The operators are strict: a NULL argument is never true.
            KeyTest::WithNull => (self.null_rows, self.other_rows) = (false, false),
            KeyTest::Operator(operator, value) => {
                self.null_rows = false;
                self.balls.push(vec![ball(operator, value)]);
            }
            KeyTest::AnyOf(operator, elements) => {
                self.null_rows = false;
                let mut any = Vec::new();
                elements.for_each(|value| any.push(ball(operator, value)));
                self.balls.push(any);
            }
        }
    }

    /// Returns whether a fingerprint meets all conditions.
    pub fn accepts(&self, fingerprint: u64) -> bool {
        self.balls
            .iter()
            .all(|any| any.iter().any(|ball| ball.contains(fingerprint as i64)))
    }

    /// Returns whether `ball` is the first of the balls driving the search that holds a
    /// fingerprint. So a row in several balls is reported once.
    fn is_first(&self, fingerprint: u64, ball: usize) -> bool {
        let earlier = self.drivers().map_or(&[][..], |drivers| &drivers[..ball]);
        !earlier
            .iter()
            .any(|earlier| earlier.contains(fingerprint as i64))
    }

    /// Puts a match of the search that this ball drives into `rows`, if the request accepts it.
    #[inline]
    pub fn take(&self, found: Match, ball: usize, rows: &mut Vec<Tid>) {
        if self.accepts(found.fingerprint) && self.is_first(found.fingerprint, ball) {
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
    pub fn first_stage(&self) -> Option<(u64, Stage)> {
        self.stage_from(0)
    }

    /// Returns the stage after the one with this number.
    pub fn next_stage(&self, number: u64) -> Option<(u64, Stage)> {
        self.stage_from(number + 1)
    }

    /// Returns the first stage from this number on, and its own number. Stages are made one by one,
    /// since there may be many balls.
    fn stage_from(&self, number: u64) -> Option<(u64, Stage)> {
        let (near, nulls) = (self.near_stages, self.null_stages());
        (number..near + nulls).find_map(|number| {
            check_for_interrupts();
            let stage = match number.checked_sub(near) {
                None => self.near_stage(number)?,
                Some(_) => Stage::Nulls(NullSearch::new(self.scopes.clone())),
            };
            Some((number, stage))
        })
    }

    /// Returns the balls that drive the search; None when all fingerprints qualify.
    fn drivers(&self) -> Option<&[Ball]> {
        self.balls.first().map(Vec::as_slice)
    }

    fn count_near_stages(&self) -> u64 {
        let drivers = self.drivers();
        match drivers {
            _ if !self.other_rows => 0,
            Some(drivers) if widest(drivers) < 0 => 0,
            _ if self.centre.flatten().is_some() => 1,
            Some(drivers) => drivers.len() as u64,
            None => 1,
        }
    }

    /// Returns the number of stages for rows without a fingerprint.
    fn null_stages(&self) -> u64 {
        u64::from(self.null_rows)
    }

    /// Returns a stage for rows with a fingerprint; None when its ball is empty.
    fn near_stage(&self, number: u64) -> Option<Stage> {
        let drivers = self.drivers();
        if let Some(centre) = self.centre.flatten() {
            let farthest = match drivers {
                Some([ball]) if ball.centre as u64 == centre => ball.radius as u32,
                _ => u64::BITS,
            };
            let limit = work_mem_bytes() / size_of::<Tid>();
            let nearest = NearestInScopes::new(self.scopes.clone(), centre, farthest, limit);
            return Some(Stage::Nearest(nearest));
        }
        let i = number as usize;
        let (centre, radius) = match drivers {
            Some(drivers) => (drivers[i].centre, u32::try_from(drivers[i].radius).ok()?),
            None => (0, FARTHEST),
        };
        Some(match self.scopes.clone() {
            Scopes::Listed(among) => {
                let within = WithinScopes::new(among, centre as u64, radius);
                Stage::WithinScopes(Box::new(within), i)
            }
            scopes => Stage::Within(WithinSearch::new(scopes, centre as u64, radius), i),
        })
    }
}

/// Returns the largest radius of some balls; negative when there is none.
fn widest(any: &[Ball]) -> i32 {
    any.iter().map(|ball| ball.radius).max().unwrap_or(-1)
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

/// Returns the hashes of the values for which a condition on a scope column can hold, ascending;
/// None when they cannot be listed.
fn hashes(index: Rel, column: usize, test: KeyTest) -> Option<Vec<u32>> {
    // SAFETY: the index of a running scan is open.
    let hash = |value_type| unsafe { ConditionHash::for_condition(index, column, value_type) };
    match test {
        KeyTest::IsNull => Some(vec![hash_or_null(None)]),
        KeyTest::WithNull => Some(Vec::new()),
        KeyTest::Operator(operator::EQUAL, value) => {
            // SAFETY: the server sends a value of this type.
            Some(vec![unsafe {
                hash(value.value_type).of_value(value.datum)
            }])
        }
        KeyTest::AnyOf(operator::EQUAL, elements) => {
            let (mut all, mut hash) = (Vec::new(), hash(elements.value_type()));
            elements.for_each(|value| {
                reserve(&mut all, 1);
                // SAFETY: the server sends values of this type.
                all.push(unsafe { hash.of_value(value.datum) });
            });
            sort(&mut all, check_for_interrupts);
            all.dedup();
            Some(all)
        }
        // Operators of fingerprints on a column that stands before the last one, and IS NOT NULL.
        KeyTest::Operator(..) | KeyTest::AnyOf(..) | KeyTest::IsNotNull => None,
    }
}

/// Returns the limits on the work on lists of scopes.
fn bounds(index: Rel) -> Bounds {
    Bounds {
        leaves: u64::from(index.block_count()) / BLOCKS as u64,
        memory: work_mem_bytes(),
        pause: check_for_interrupts,
    }
}

//! How many rows a Hamming clause keeps: reads what ANALYZE knows of its columns, for the arithmetic of
//! [`selectivity`]. Support functions and the estimators of operators call it. The values are copied, and
//! the server's tuple is released before it returns.

#![allow(unsafe_code)]

use pgrx::PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
use pgrx::pg_sys::{self, Datum, JoinType, NodeTag, Oid};

use simhash_hamming::ball::{Ball, NEAR, NEAR_TEXTS};
use simhash_hamming::selectivity::{self, FingerprintSample, UNKNOWN};
use simhash_pg::catalog::lookup::base_type;
use simhash_pg::nodes::{NodeList, NodeRef, Planner};
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::{Args, pg_function};

pg_function!(simhash_ball_sel);
/// `simhash_catalog.hamming_ball_sel`: restriction estimator of `<@ (bigint, hamming_ball)`.
fn simhash_ball_sel(args: &Args) -> Datum {
    of_rows(args, Clause::in_ball)
}

pg_function!(simhash_ball_joinsel);
/// `simhash_catalog.hamming_ball_joinsel`: join estimator of `<@ (bigint, hamming_ball)`.
fn simhash_ball_joinsel(args: &Args) -> Datum {
    of_pairs(args, Clause::in_ball)
}

pg_function!(simhash_near_sel);
/// `simhash_catalog.hamming_near_sel`: restriction estimator of `~=`.
fn simhash_near_sel(args: &Args) -> Datum {
    of_rows(args, Clause::near)
}

pg_function!(simhash_near_joinsel);
/// `simhash_catalog.hamming_near_joinsel`: join estimator of `~=`.
fn simhash_near_joinsel(args: &Args) -> Datum {
    of_pairs(args, Clause::near)
}

/// Reads the operands of an operator.
pub type ReadClause<'p> = fn(Planner<'p>, Oid, NodeList<'p>) -> Option<Clause<'p>>;

/// Answers the restriction estimator `(root, operator, args, varRelid)` of an operator.
pub fn of_rows<'p>(args: &Args, read: ReadClause<'p>) -> Datum {
    estimate(args, read, EstimatedSet::Rows(args.get(3).unwrap_or(0)))
}

/// Answers the join estimator `(root, operator, args, jointype, sjinfo)` of an operator.
pub fn of_pairs<'p>(args: &Args, read: ReadClause<'p>) -> Datum {
    let kind = args.get::<i16>(3);
    let kind = kind.map_or(JoinType::JOIN_INNER, |kind| kind as JoinType::Type);
    let join = node_of(args, 4, NodeTag::T_SpecialJoinInfo);
    estimate(args, read, EstimatedSet::Pairs(join, kind))
}

fn estimate<'p>(args: &Args, read: ReadClause<'p>, target: EstimatedSet) -> Datum {
    // SAFETY: the planner's state, which lasts during the call, and the operands of a clause of the query
    // that is being planned.
    let (planner, operands) = unsafe {
        let root = node_of(args, 0, NodeTag::T_PlannerInfo);
        (
            Planner::new(root),
            NodeList::new(node_of(args, 2, NodeTag::T_List)),
        )
    };
    let clause = read(planner, args.get(1).unwrap_or(Oid::INVALID), operands);
    // SAFETY: the planner passed the target together with its state.
    let share = clause.map_or(UNKNOWN, |clause| unsafe {
        clause.selectivity(planner, target)
    });
    args.result(Some(share))
}

/// Argument `i` of type internal as the struct that bears this tag; an ERROR when it is another
/// one. Only the server's own code can pass such an argument: to an estimator, nodes.
fn node_of<T>(args: &Args, i: usize, tag: NodeTag) -> *mut T {
    let node: *mut pg_sys::Node = args.internal(i);
    // SAFETY: null or a live node.
    if unsafe { node.as_ref() }.is_none_or(|node| node.type_ != tag) {
        let number = i + 1;
        let message = format!("argument {number} of an estimator is not a node of its type");
        Error::new(ERRCODE_INTERNAL_ERROR, message).raise();
    }
    node.cast()
}

/// Where a clause is estimated.
#[derive(Clone, Copy)]
pub enum EstimatedSet {
    /// Rows of one relation, or of several with the columns of all but one taken as fixed (`varRelid`).
    Rows(i32),
    /// Pairs of rows of two relations, or of groups of relations.
    Pairs(*mut pg_sys::SpecialJoinInfo, JoinType::Type),
}

/// `hamming(a, b) <= k`, in whichever way the query says it.
#[derive(Clone, Copy)]
pub struct Clause<'p> {
    pub fingerprints: [NodeRef<'p>; 2],
    pub radius: NodeRef<'p>,
    /// The least number of rows that are expected near a value.
    least_rows: f64,
}

/// The rows that a query expects at least near a value. A value that users search for often belongs to
/// a cluster, and ANALYZE sees no cluster of 2,000 rows among a million. If the planner expects one
/// row, it joins by reading the other table once for each row that is found: an anti-join of that
/// cluster with 300,000 rows took 13 s, and .05 s with the plan for three rows (28 November 2026).
const EXPECTED_BY_QUERIES: f64 = 3.0;
/// The same in the selectivity of the index's own operators, by which the planner prices an index scan:
/// most searches find a row or two, for which a bitmap scan costs more than it saves.
const EXPECTED_BY_SCANS: f64 = 1.0;

impl<'p> Clause<'p> {
    /// Reads the arguments of `hamming_within(a, b, k)`.
    pub fn within(args: NodeList<'p>) -> Option<Self> {
        let [a, b, radius] = args.as_array()?;
        Some(Self {
            fingerprints: [a, b],
            radius,
            least_rows: EXPECTED_BY_QUERIES,
        })
    }

    /// Reads the arguments of `a ~= b`.
    pub fn near(planner: Planner<'p>, _operator: Oid, args: NodeList<'p>) -> Option<Self> {
        Some(Self {
            fingerprints: args.as_array()?,
            radius: planner.int4(NEAR),
            least_rows: EXPECTED_BY_SCANS,
        })
    }

    /// The same for the fingerprints of two texts.
    pub fn near_texts(planner: Planner<'p>, fingerprints: [NodeRef<'p>; 2]) -> Self {
        Self {
            fingerprints,
            radius: planner.int4(NEAR_TEXTS),
            least_rows: EXPECTED_BY_QUERIES,
        }
    }

    /// Reads the arguments of `a <@ ball`; returns None when nothing is known about the ball.
    pub fn in_ball(planner: Planner<'p>, _operator: Oid, args: NodeList<'p>) -> Option<Self> {
        let [fingerprint, ball] = args.as_array()?;
        let ball = planner.estimate(ball);
        if let Some(ball) = ball.as_by_reference().map(Ball::from_bytes) {
            return Some(Self {
                fingerprints: [fingerprint, planner.int8(ball.centre)],
                radius: planner.int4(ball.radius),
                least_rows: EXPECTED_BY_SCANS,
            });
        }
        let [centre, radius] = ball.as_call()?.args.as_array()?;
        Some(Self {
            fingerprints: [fingerprint, centre],
            radius,
            least_rows: EXPECTED_BY_SCANS,
        })
    }

    /// Returns the share of rows (of pairs, in a join) that the clause keeps.
    ///
    /// # Safety
    /// The planner must have passed the target together with its state.
    pub unsafe fn selectivity(self, planner: Planner<'p>, target: EstimatedSet) -> f64 {
        let radius = planner.estimate(self.radius);
        let k = match radius.as_integer() {
            Some(k) => k.clamp(-1, 64) as i32,
            None if radius.is_constant() => return 0.0,
            // The radius is a parameter: as for the cost of the index, the estimate assumes the
            // usual radius.
            None => NEAR,
        };
        // SAFETY: guaranteed by the caller.
        unsafe {
            match target {
                EstimatedSet::Rows(relid) => self.of_rows(planner, relid, k),
                EstimatedSet::Pairs(join, kind) => {
                    let [outer, inner] = joined_columns(planner, join, self.fingerprints);
                    let (left, right) = (outer.fingerprints(), inner.fingerprints());
                    // A row of the outer side is kept or dropped by its first match (IN, EXISTS, NOT
                    // EXISTS).
                    match [JoinType::JOIN_SEMI, JoinType::JOIN_ANTI].contains(&kind) {
                        true => selectivity::of_semi_join(left, right, inner.filtered_rows, k),
                        false => selectivity::of_join(left, right, k),
                    }
                }
            }
        }
    }

    /// # Safety
    /// As of [`Self::selectivity`].
    unsafe fn of_rows(self, planner: Planner<'p>, relid: i32, k: i32) -> f64 {
        // SAFETY: guaranteed by the caller.
        let found = unsafe { column_and_other(planner, relid, self.fingerprints) };
        let Some((column, other)) = found else {
            return UNKNOWN;
        };
        let centre = planner.estimate(other);
        match centre.as_integer() {
            Some(centre) => {
                selectivity::of_constant(column.fingerprints(), centre, k, self.least_rows)
            }
            None if centre.is_constant() => 0.0,
            None => selectivity::of_unknown(column.fingerprints(), k, self.least_rows),
        }
    }
}

/// Of how many of the most common values a function's results are made: each takes some microseconds, and a
/// value that is rarer changes no plan.
const MADE_VALUES: i32 = 16;

/// Values of a column, from ANALYZE's sample; the fields are those of [`FingerprintSample`].
#[derive(Default)]
struct ColumnSample {
    common: Vec<(i64, f64)>,
    histogram: Vec<i64>,
    null_share: f64,
    rows: f64,
    distinct: Option<f64>,
    /// Rows that remain after the table's own clauses; 0 when unknown.
    filtered_rows: f64,
}

impl ColumnSample {
    fn fingerprints(&self) -> FingerprintSample<'_> {
        FingerprintSample {
            common: &self.common,
            histogram: &self.histogram,
            null_share: self.null_share,
            rows: self.rows,
            distinct: self.distinct,
        }
    }
}

/// The server's description of a column, released on drop.
struct Variable(pg_sys::VariableStatData);

impl Drop for Variable {
    fn drop(&mut self) {
        if std::thread::panicking() || self.0.statsTuple.is_null() {
            return;
        }
        if let Some(free) = self.0.freefunc {
            let tuple = self.0.statsTuple;
            // SAFETY: the tuple was pinned together with the function that releases it. That may be
            // another library's and raise an ERROR; pgrx does not guard calls by pointer.
            unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| free(tuple)) }
        }
    }
}

/// The column and the other side of a restriction clause between `args`, which need not be a constant; None
/// unless exactly one of them is a column of the relation.
///
/// # Safety
/// The planner must have passed `relid` together with its state.
unsafe fn column_and_other<'p>(
    planner: Planner<'p>,
    relid: i32,
    args: [NodeRef<'p>; 2],
) -> Option<(ColumnSample, NodeRef<'p>)> {
    let mut variable = Variable(pg_sys::VariableStatData::default());
    let mut other = std::ptr::null_mut();
    let mut on_left = false;
    // SAFETY: guaranteed by the caller; the arguments are live expressions; the outputs are filled when
    // the result is true.
    unsafe {
        let found = pg_sys::get_restriction_variable(
            planner.root,
            planner.list(&args).as_ptr(),
            relid,
            &mut variable.0,
            &mut other,
            &mut on_left,
        );
        if !found {
            // The server has released the statistics of both sides, but leaves the pointer.
            variable.0.statsTuple = std::ptr::null_mut();
            return None;
        }
        let sample = sample(planner, relid, &mut variable.0);
        Some((sample, NodeRef::new(other)?))
    }
}

/// Both sides of a join clause between `args`, each a column or an expression over one: the outer one first.
///
/// # Safety
/// The planner must have passed the join together with its state.
unsafe fn joined_columns<'p>(
    planner: Planner<'p>,
    join: *mut pg_sys::SpecialJoinInfo,
    args: [NodeRef<'p>; 2],
) -> [ColumnSample; 2] {
    let mut left = Variable(pg_sys::VariableStatData::default());
    let mut right = Variable(pg_sys::VariableStatData::default());
    let mut reversed = false;
    // SAFETY: guaranteed by the caller; the arguments are live expressions; the server fills both
    // descriptions.
    unsafe {
        pg_sys::get_join_variables(
            planner.root,
            planner.list(&args).as_ptr(),
            join,
            &mut left.0,
            &mut right.0,
            &mut reversed,
        );
        let sample = |variable| sample(planner, 0, variable);
        let (left, right) = (sample(&mut left.0), sample(&mut right.0));
        if reversed {
            [right, left]
        } else {
            [left, right]
        }
    }
}

/// # Safety
/// `variable` was filled by the server, for a query of this planner and this `varRelid`.
unsafe fn sample(
    planner: Planner<'_>,
    relid: i32,
    variable: &mut pg_sys::VariableStatData,
) -> ColumnSample {
    // SAFETY: the relation is null or live; a statistics tuple is a row of pg_statistic.
    unsafe {
        let mut is_default = false;
        let distinct = pg_sys::get_variable_numdistinct(variable, &mut is_default);
        let mut sample = ColumnSample {
            distinct: (!is_default).then_some(distinct),
            ..ColumnSample::default()
        };
        if let Some(rel) = variable.rel.as_ref() {
            sample.rows = rel.tuples;
            sample.filtered_rows = rel.rows;
        }
        if !variable.statsTuple.is_null() {
            let form: *const pg_sys::FormData_pg_statistic =
                pg_sys::GETSTRUCT(variable.statsTuple).cast();
            sample.null_share = f64::from((*form).stanullfrac);
            let (values, shares) = slot(variable.statsTuple, pg_sys::STATISTIC_KIND_MCV, true);
            sample.common = values.into_iter().zip(shares).collect();
            (sample.histogram, _) =
                slot(variable.statsTuple, pg_sys::STATISTIC_KIND_HISTOGRAM, false);
        } else if let Some(call) = NodeRef::new(variable.var) {
            take_from_argument(planner, relid, call, &mut sample);
        }
        sample
    }
}

/// What ANALYZE knows of the column of which a function makes the values: an index on texts keeps their
/// fingerprints, and the server has statistics of the texts alone.
///
/// # Safety
/// `call` is an expression of the query, as the server has read it for this `varRelid`.
unsafe fn take_from_argument(
    planner: Planner<'_>,
    relid: i32,
    call: NodeRef<'_>,
    sample: &mut ColumnSample,
) {
    let argument = call
        .as_call()
        .filter(|call| call.result_type == pg_sys::INT8OID)
        .and_then(|call| call.args.get(0))
        .filter(|argument| argument.strip_relabel().as_column().is_some());
    let Some(argument) = argument.filter(|_| !call.is_volatile()) else {
        return;
    };
    let mut column = Variable(pg_sys::VariableStatData::default());
    // SAFETY: guaranteed by the caller; the server fills the description. A user who may not read the
    // column is not shown its values, whatever the function does with them.
    unsafe {
        pg_sys::examine_variable(planner.root, argument.as_ptr(), relid, &mut column.0);
        if column.0.statsTuple.is_null() || !column.0.acl_ok {
            return;
        }
        let mut is_default = false;
        let distinct = pg_sys::get_variable_numdistinct(&mut column.0, &mut is_default);
        sample.distinct = (!is_default).then_some(distinct);
        let form: *const pg_sys::FormData_pg_statistic =
            pg_sys::GETSTRUCT(column.0.statsTuple).cast();
        sample.null_share = f64::from((*form).stanullfrac);
        sample.common = common_results(planner, call, argument, column.0.statsTuple);
    }
}

/// The most common values of a column, each as the result of the call that has the column as its first
/// argument, with their shares.
///
/// # Safety
/// `tuple` is the row of pg_statistic of that column.
unsafe fn common_results(
    planner: Planner<'_>,
    call: NodeRef<'_>,
    argument: NodeRef<'_>,
    tuple: pg_sys::HeapTuple,
) -> Vec<(i64, f64)> {
    let mut slot = pg_sys::AttStatsSlot::default();
    let flags = pg_sys::ATTSTATSSLOT_VALUES | pg_sys::ATTSTATSSLOT_NUMBERS;
    let kind = pg_sys::STATISTIC_KIND_MCV as i32;
    // SAFETY: the slot's arrays have the lengths that it gives, until it is freed; its values are of the
    // column's type, to which the argument's is binary-compatible.
    unsafe {
        if !pg_sys::get_attstatsslot(&mut slot, tuple, kind, Oid::INVALID, flags as i32) {
            return Vec::new();
        }
        let (mut length, mut by_value) = (0, false);
        pg_sys::get_typlenbyval(slot.valuetype, &mut length, &mut by_value);
        let most = slot.nvalues.min(slot.nnumbers).min(MADE_VALUES) as usize;
        let results = (0..most).filter_map(|i| {
            let collation = pg_sys::exprCollation(argument.as_ptr());
            let value = pg_sys::makeConst(
                argument.result_type(),
                -1,
                collation,
                i32::from(length),
                *slot.values.add(i),
                false,
                by_value,
            );
            let result = planner.simplify(planner.with_first_argument(call, NodeRef::new(value)?));
            Some((result.as_integer()?, f64::from(*slot.numbers.add(i))))
        });
        let results = results.collect();
        pg_sys::free_attstatsslot(&mut slot);
        results
    }
}

/// The values, and on request the numbers, of one kind of statistics; empty when there is none or
/// when the column is not of type bigint.
///
/// # Safety
/// `tuple` is a row of pg_statistic.
unsafe fn slot(tuple: pg_sys::HeapTuple, kind: u32, numbers: bool) -> (Vec<i64>, Vec<f64>) {
    let mut slot = pg_sys::AttStatsSlot::default();
    let flags = pg_sys::ATTSTATSSLOT_VALUES
        | if numbers {
            pg_sys::ATTSTATSSLOT_NUMBERS
        } else {
            0
        };
    // SAFETY: the slot's arrays have the lengths that it gives, until it is freed; the values of a
    // bigint (or of a domain over it) are the datums themselves.
    unsafe {
        if !pg_sys::get_attstatsslot(&mut slot, tuple, kind as i32, Oid::INVALID, flags as i32) {
            return Default::default();
        }
        let mut found = (Vec::new(), Vec::new());
        if base_type(slot.valuetype) == pg_sys::INT8OID {
            let values = 0..slot.nvalues as usize;
            found.0 = values
                .map(|i| (*slot.values.add(i)).value() as i64)
                .collect();
            let numbers = 0..slot.nnumbers as usize;
            found.1 = numbers.map(|i| f64::from(*slot.numbers.add(i))).collect();
        }
        pg_sys::free_attstatsslot(&mut slot);
        found
    }
}

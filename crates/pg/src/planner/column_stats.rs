//! The statistics that ANALYZE has made of a column of type bigint. `planner::estimate` of the
//! extension calls it. The values are copied, and the server's tuple is released before it returns.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::hooks::{JoinTarget, ScanTarget};
use super::nodes::{NodeRef, Planner};
use crate::catalog::lookup::base_type;

/// Of how many of the most common values a function's results are made: each takes some microseconds, and a
/// value that is rarer changes no plan.
const MADE_VALUES: i32 = 16;

/// Values of a column, from ANALYZE's sample.
#[derive(Default)]
pub struct ColumnSample {
    /// Most common values with their share of all rows.
    pub common: Vec<(i64, f64)>,
    /// Bounds of an equal-depth histogram of the values that are not among the most common.
    pub histogram: Vec<i64>,
    /// Share of rows with NULL.
    pub null_share: f64,
    /// Rows of the table; 0 when unknown.
    pub rows: f64,
    /// Rows that remain after the table's own clauses; 0 when unknown.
    pub filtered_rows: f64,
    /// Number of distinct values; None when the server only has its default.
    pub distinct: Option<f64>,
}

/// `column operator other`, whichever side the column is on.
pub struct ColumnAndOther<'p> {
    /// Values of the column.
    pub sample: ColumnSample,
    /// The other operand, which need not be a constant.
    pub other: NodeRef<'p>,
}

/// Both sides of a join clause, each a column or an expression over one.
pub struct JoinedColumns {
    /// Values of the outer side.
    pub outer: ColumnSample,
    /// Values of the inner side.
    pub inner: ColumnSample,
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

impl<'p> ScanTarget<'p> {
    /// The column and the other side of a restriction clause between `args`; None unless exactly
    /// one of them is a column of the relation.
    pub fn column_and_other(self, args: [NodeRef<'p>; 2]) -> Option<ColumnAndOther<'p>> {
        let mut variable = Variable(pg_sys::VariableStatData::default());
        let mut other = std::ptr::null_mut();
        let mut on_left = false;
        // SAFETY: root and `varRelid` were passed by the planner together; the arguments are live
        // expressions; the outputs are filled when the result is true.
        unsafe {
            let found = pg_sys::get_restriction_variable(
                self.planner.root,
                self.planner.list(&args).as_ptr(),
                self.relid,
                &mut variable.0,
                &mut other,
                &mut on_left,
            );
            if !found {
                // The server has released the statistics of both sides, but leaves the pointer.
                variable.0.statsTuple = std::ptr::null_mut();
                return None;
            }
            Some(ColumnAndOther {
                sample: sample(self.planner, self.relid, &mut variable.0),
                other: NodeRef::new(other)?,
            })
        }
    }
}

impl<'p> JoinTarget<'p> {
    /// The columns on both sides of a join clause between `args`.
    pub fn columns(self, args: [NodeRef<'p>; 2]) -> JoinedColumns {
        let mut left = Variable(pg_sys::VariableStatData::default());
        let mut right = Variable(pg_sys::VariableStatData::default());
        let mut reversed = false;
        // SAFETY: root and join were passed by the planner together; the arguments are live
        // expressions; the server fills both descriptions.
        unsafe {
            pg_sys::get_join_variables(
                self.planner.root,
                self.planner.list(&args).as_ptr(),
                self.join,
                &mut left.0,
                &mut right.0,
                &mut reversed,
            );
            let sample = |variable| sample(self.planner, 0, variable);
            let (left, right) = (sample(&mut left.0), sample(&mut right.0));
            let (outer, inner) = if reversed {
                (right, left)
            } else {
                (left, right)
            };
            JoinedColumns { outer, inner }
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

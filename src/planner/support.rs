//! The SQL-callable functions through which the planner asks: support functions and estimators.

use pgrx::pg_sys::{Datum, INT4OID, Oid};

use super::estimate::Clause;
use super::sql_objects::{BallConstructor, distance_operator_of};
use simhash_hamming::selectivity::UNKNOWN;
use simhash_pg::planner::hooks::{
    EstimateTarget, IndexConditionRequest, SimplifyRequest, SupportRequest, join_args, no_answer,
    request, restriction_args,
};
use simhash_pg::planner::nodes::{NodeList, NodeRef, Planner};
use simhash_pg::sql::fmgr::{Args, pg_function};

/// The share of the hashes that are taken to be within the radius of a question. Hashes of more than
/// 64 bits have no statistics; who asks for near ones expects a few.
const PARTS_WITHIN: f64 = 1e-4;

pg_function! {
    /// `simhash_catalog.hamming_support(internal)`: a call of `hamming` becomes `<~>`. The
    /// planner's call loads the library and with it the planner hook, without
    /// shared_preload_libraries. The address of this function is also how [`super::own_functions`]
    /// recognises `hamming`.
    fn simhash_hamming_support, pg_finfo_simhash_hamming_support(args) {
        match request(args) {
            SupportRequest::Simplify(request) => match as_operator(&request, args.function()) {
                Some(operator) => request.answer(operator),
                None => no_answer(),
            },
            _ => no_answer(),
        }
    }
}

pg_function! {
    /// `simhash_catalog.hamming_within_support(internal)`: index condition and selectivity of
    /// `hamming_within`. Its cost is a constant, which is what pg_proc.procost is for.
    fn simhash_within_support, pg_finfo_simhash_within_support(args) {
        match request(args) {
            SupportRequest::IndexCondition(request) => match index_condition(&request) {
                Some(condition) => request.answer(condition),
                None => no_answer(),
            },
            SupportRequest::Selectivity(request) => {
                let planner = request.planner();
                let clause = Clause::within(request.args());
                let selectivity = selectivity(planner, clause, request.target());
                request.answer(selectivity)
            }
            SupportRequest::Simplify(_) | SupportRequest::Other => no_answer(),
        }
    }
}

pg_function! {
    /// `simhash_catalog.hamming_parts_support(internal)`: selectivity of `hamming_parts_within`.
    /// [`super::parts`] finds its indexes, once a call of this function has loaded the library.
    fn simhash_parts_support, pg_finfo_simhash_parts_support(args) {
        match request(args) {
            SupportRequest::Selectivity(request) => request.answer(PARTS_WITHIN),
            _ => no_answer(),
        }
    }
}

pg_function! {
    /// `simhash_catalog.hamming_ball_sel`: restriction estimator of `<@ (bigint, hamming_ball)`.
    fn simhash_ball_sel, pg_finfo_simhash_ball_sel(args) {
        estimate(args, restriction_args(args), Clause::in_ball)
    }
}

pg_function! {
    /// `simhash_catalog.hamming_ball_joinsel`: join estimator of `<@ (bigint, hamming_ball)`.
    fn simhash_ball_joinsel, pg_finfo_simhash_ball_joinsel(args) {
        estimate(args, join_args(args), Clause::in_ball)
    }
}

pg_function! {
    /// `simhash_catalog.hamming_near_sel`: restriction estimator of `~=`.
    fn simhash_near_sel, pg_finfo_simhash_near_sel(args) {
        estimate(args, restriction_args(args), Clause::near)
    }
}

pg_function! {
    /// `simhash_catalog.hamming_near_joinsel`: join estimator of `~=`.
    fn simhash_near_joinsel, pg_finfo_simhash_near_joinsel(args) {
        estimate(args, join_args(args), Clause::near)
    }
}

/// Answers an estimator: `read` reads the operands of its operator.
pub fn estimate<'p>(
    args: &Args,
    (planner, operands, target): (Planner<'p>, NodeList<'p>, EstimateTarget<'p>),
    read: fn(Planner<'p>, Oid, NodeList<'p>) -> Option<Clause<'p>>,
) -> Datum {
    let operator = args.get(1).unwrap_or(Oid::INVALID);
    let clause = read(planner, operator, operands);
    args.result(Some(selectivity(planner, clause, target)))
}

fn selectivity<'p>(
    planner: Planner<'p>,
    clause: Option<Clause<'p>>,
    target: EstimateTarget<'p>,
) -> f64 {
    clause.map_or(UNKNOWN, |clause| clause.selectivity(planner, target))
}

/// Returns `a <~> b` for a call of `hamming` or of `simhash_catalog.distance`. The planner orders
/// by an index for an operator alone; besides, distances that were written in different ways become
/// equal expressions. The request does not show whether the query has `<~>` already; in that case
/// the result is an equal expression.
fn as_operator<'p>(request: &SimplifyRequest<'p>, support: Oid) -> Option<NodeRef<'p>> {
    let [a, b] = request.args().as_array()?;
    let operator = distance_operator_of(support)?;
    Some(request.planner().operator(operator, INT4OID, a, b))
}

/// Returns `column <@ hamming_ball(centre, radius)` for `hamming_within(column, centre, radius)`,
/// with the column on either side.
fn index_condition<'p>(request: &IndexConditionRequest<'p>) -> Option<NodeRef<'p>> {
    let [a, b, radius] = request.args()?.as_array()?;
    let (column, centre) = match request.indexed_arg() {
        0 => (a, b),
        1 => (b, a),
        _ => return None,
    };
    if !request.is_fixed(centre) || !request.is_fixed(radius) {
        return None;
    }
    let ball = BallConstructor::beside(request.function())?;
    let operator = ball.operator_in(request.operator_family())?;
    let planner = request.planner();
    let constructed = planner.call(ball.constructor, ball.type_oid, &[centre, radius]);
    Some(planner.condition(operator, column, planner.simplify(constructed)))
}

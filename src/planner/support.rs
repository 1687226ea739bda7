//! The support functions, by which the planner asks for another expression of a call, for an index
//! condition, and for a share of rows. A request without an answer leaves the plan as the server makes it.
//! `estimate` has the estimators of operators, `text_operators` the support functions of those of texts.
//!
//! The queries of triggers name neither the functions in an index nor their schemas: they call
//! `simhash_catalog.index_fingerprint(index, column, ...)`, which becomes the index's own expression, and
//! `index_predicate`, which becomes its predicate. So the planner finds the index. A call that cannot be
//! replaced is an error when it runs.
//!
//! The extension's SQL objects in a query are found here, too. Its functions are those whose support function is one
//! of these, in whatever schema they are. The others are looked up in the schema of the function that the query
//! calls; public ones also from the support functions, which are in the internal schema: the type of balls leads
//! there. So the extension may be in any schema, and nothing is remembered between queries.

#![allow(unsafe_code)]

use crate::index::fingerprint_function;
use crate::index::opclass::operator::IN_BALL;
use crate::index::opclass::simhash_ball_make;
use crate::planner::estimate::{Clause, EstimatedSet};
use pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT;
use pgrx::pg_sys::{self, Datum, INT4OID, NodeTag, Oid};
use simhash_hamming::selectivity::UNKNOWN;
use simhash_pg::catalog::fingerprint_index::{FingerprintIndex, variables};
use simhash_pg::catalog::lookup;
use simhash_pg::nodes::{NodeList, NodeRef, Planner};
use simhash_pg::process::error::Error;
use simhash_pg::sql::fmgr::{Args, pg_function};

/// The share of the hashes that are taken to be within the radius of a question. Hashes of more than
/// 64 bits have no statistics; who asks for near ones expects a few.
const PARTS_WITHIN: f64 = 1e-4;

pg_function!(simhash_hamming_support);
/// `simhash_catalog.hamming_support(internal)`: a call of `hamming` becomes `<~>`. The
/// planner's call loads the library and with it the planner hook, without
/// shared_preload_libraries. The address of this function is also how [`super::support`]
/// recognises `hamming`.
fn simhash_hamming_support(args: &Args) -> Datum {
    simplified(args, |call| as_operator(call, args.function()))
}

pg_function!(simhash_within_support);
/// `simhash_catalog.hamming_within_support(internal)`: index condition and selectivity of
/// `hamming_within`. Its cost is a constant, which is what pg_proc.procost is for.
fn simhash_within_support(args: &Args) -> Datum {
    if let Some(request) = request(args, NodeTag::T_SupportRequestIndexCondition) {
        return index_condition(request).unwrap_or_else(no_answer);
    }
    share_of_rows(args, share_within)
}

pg_function!(simhash_parts_support);
/// `simhash_catalog.hamming_parts_support(internal)`: selectivity of `hamming_parts_within`.
/// `clause` finds its indexes, once a call of this function has loaded the library.
fn simhash_parts_support(args: &Args) -> Datum {
    share_of_rows(args, |_| PARTS_WITHIN)
}

pg_function!(simhash_index_fingerprint_support);
/// `simhash_catalog.index_fingerprint_support(internal)`
fn simhash_index_fingerprint_support(args: &Args) -> Datum {
    simplified(args, |call| {
        index_term(call, |index| Some(index.expression()))
    })
}

pg_function!(simhash_index_predicate_support);
/// `simhash_catalog.index_predicate_support(internal)`
fn simhash_index_predicate_support(args: &Args) -> Datum {
    simplified(args, |call| index_term(call, |index| index.predicate()))
}

pg_function!(simhash_index_term);
/// `simhash_catalog.index_fingerprint(index oid, VARIADIC "any") -> bigint` and `index_predicate`,
/// where the planner has not replaced the call
fn simhash_index_term(args: &Args) -> Datum {
    let _ = args;
    Error::new(
        ERRCODE_UNDEFINED_OBJECT,
        "the index does not exist, or the arguments are not the columns that it reads",
    )
    .raise()
}

/// The result of a support function that has no answer.
fn no_answer() -> Datum {
    Datum::from(0usize)
}

/// Reads the request that a support function got, if it is of the kind with this tag, whose struct is `T`.
#[expect(clippy::mut_from_ref, reason = "the node is not part of the arguments")]
fn request<T>(args: &Args, tag: NodeTag) -> Option<&mut T> {
    let node: *mut pg_sys::Node = args.internal(0);
    // SAFETY: only the server's own code can pass an argument of type internal: to a support
    // function a request node, alive and exclusively ours during this call, whose tag says which
    // one it is. Each caller in this file pairs the tag with its struct.
    unsafe {
        let is_this = node.as_ref().is_some_and(|node| node.type_ == tag);
        is_this.then(|| &mut *node.cast())
    }
}

/// Answers the request for the share, from 0 to 1, of the rows that a call of the function keeps.
fn share_of_rows(
    args: &Args,
    share: impl FnOnce(&pg_sys::SupportRequestSelectivity) -> f64,
) -> Datum {
    let tag = NodeTag::T_SupportRequestSelectivity;
    let Some(request) = request::<pg_sys::SupportRequestSelectivity>(args, tag) else {
        return no_answer();
    };
    request.selectivity = share(request);
    Datum::from(std::ptr::from_mut(request))
}

fn share_within(request: &pg_sys::SupportRequestSelectivity) -> f64 {
    // SAFETY: the planner passed these together; they live as long as the request.
    unsafe {
        let planner = Planner::new(request.root);
        let target = match request.is_join {
            true => EstimatedSet::Pairs(request.sjinfo, request.jointype),
            false => EstimatedSet::Rows(request.varRelid),
        };
        let clause = Clause::within(NodeList::new(request.args));
        clause.map_or(UNKNOWN, |clause| clause.selectivity(planner, target))
    }
}

/// A call of the function, or of an operator of which it is the implementation, for which the planner asks
/// for a simpler expression.
pub struct Call<'p> {
    root: *mut pg_sys::PlannerInfo,
    pub planner: Planner<'p>,
    pub function: Oid,
    /// The answer may contain them, but not the call itself: the server's node of it is temporary.
    pub args: NodeList<'p>,
}

/// Answers the request for a simpler expression of the same value and type.
pub fn simplified<'p>(
    args: &'p Args,
    expression: impl FnOnce(&Call<'p>) -> Option<NodeRef<'p>>,
) -> Datum {
    let tag = NodeTag::T_SupportRequestSimplify;
    let answer = request::<pg_sys::SupportRequestSimplify>(args, tag).and_then(|request| {
        // SAFETY: the call lives as long as the request, its arguments as long as the query's tree; the
        // planner's state is null outside of a query.
        let call = unsafe {
            Call {
                root: request.root,
                planner: Planner::new(request.root),
                function: (*request.fcall).funcid,
                args: NodeList::new((*request.fcall).args),
            }
        };
        expression(&call)
    });
    answer.map_or_else(no_answer, |answer| {
        Datum::from(answer.as_ptr::<pg_sys::Node>())
    })
}

/// Returns `a <~> b` for a call of `hamming` or of `simhash_catalog.distance`. The planner orders
/// by an index for an operator alone; besides, distances that were written in different ways become
/// equal expressions. The request does not show whether the query has `<~>` already; in that case
/// the result is an equal expression.
fn as_operator<'p>(call: &Call<'p>, support: Oid) -> Option<NodeRef<'p>> {
    let [a, b] = call.args.as_array()?;
    let operator = distance_operator_of(support)?;
    Some(call.planner.operator(operator, INT4OID, a, b))
}

/// Answers with the condition `column <@ hamming_ball(centre, radius)`, which is equivalent to
/// `hamming_within(column, centre, radius)`, with the column on either side, written as function or as
/// operator. Its operator must be of the family of the index's column.
fn index_condition(request: &mut pg_sys::SupportRequestIndexCondition) -> Option<Datum> {
    // SAFETY: the planner's state, and a clause that lives as long as the request.
    let (planner, clause) = unsafe { (Planner::new(request.root), NodeRef::new(request.node)?) };
    let [a, b, radius] = clause.as_call()?.args.as_array()?;
    let (column, centre) = match request.indexarg {
        0 => (a, b),
        1 => (b, a),
        _ => return None,
    };
    let (root, index) = (request.root, request.index);
    let is_fixed = |node: NodeRef| {
        // SAFETY: live nodes of the request's query.
        unsafe { pg_sys::is_pseudo_constant_for_index(root, node.as_ptr(), index) }
    };
    if !is_fixed(centre) || !is_fixed(radius) {
        return None;
    }
    let ball = BallConstructor::beside(request.funcid)?;
    let operator = ball.operator_in(request.opfamily)?;
    let constructed = planner.call(ball.constructor, ball.type_oid, &[centre, radius]);
    let condition = planner.condition(operator, column, planner.simplify(constructed));
    request.lossy = false;
    Some(Datum::from(planner.list(&[condition]).as_ptr()))
}

/// Returns the part of the index that the first argument names, for the table whose columns the others
/// are. They have to be all that it reads: the user may read those, and perhaps no other.
fn index_term<'p>(
    call: &Call<'p>,
    part: impl FnOnce(&FingerprintIndex<'p>) -> Option<NodeRef<'p>>,
) -> Option<NodeRef<'p>> {
    let mut args = call.args.iter();
    let index = args.next()?.as_oid()?;
    let columns: Vec<Option<(u32, i16)>> = args
        .map(|column| column.strip_relabel().as_column())
        .collect();
    let (relid, _) = (*columns.first()?)?;
    let read = FingerprintIndex::read(index, "simhash", fingerprint_function)?;
    let expression = part(&read)?;
    if !variables(expression)
        .iter()
        .all(|number| columns.contains(&Some((relid, *number))))
    {
        return None;
    }
    // SAFETY: the planner's state, if there is one, has its query, whose range table is a list of
    // entries; the copy of the expression, whose variables are of relation 1, is ours.
    unsafe {
        let parse = call.root.as_ref()?.parse.as_ref()?;
        let place = (relid as usize).checked_sub(1)?;
        let entry: *const pg_sys::RangeTblEntry = NodeList::new(parse.rtable).get(place)?.as_ptr();
        if (*entry).rtekind != pg_sys::RTEKind::RTE_RELATION || (*entry).relid != read.table {
            return None;
        }
        let copy: *mut pg_sys::Node = pg_sys::copyObjectImpl(expression.as_ptr()).cast();
        pg_sys::ChangeVarNodes(copy, 1, relid as i32, 0);
        Some(call.planner.simplify(NodeRef::new(copy)?))
    }
}

/// Returns whether this function is `hamming(bigint, bigint)`.
pub fn is_hamming(function: Oid) -> bool {
    lookup::has_support_function(function, simhash_hamming_support::symbol)
}

/// Returns whether the expression is a call of `hamming`.
pub fn is_distance(node: NodeRef<'_>) -> bool {
    node.as_call()
        .is_some_and(|call| call.result_type == pg_sys::INT4OID && is_hamming(call.function))
}

/// Returns whether this function is `hamming_parts_within`.
pub fn is_parts_within(function: Oid) -> bool {
    lookup::has_support_function(function, simhash_parts_support::symbol)
}

/// Returns `hamming_within` beside another function of the extension.
pub fn within_beside(sibling: Oid) -> Option<Oid> {
    let types = [pg_sys::INT8OID, pg_sys::INT8OID, pg_sys::INT4OID];
    lookup::function_beside(sibling, c"hamming_within", &types)
        .filter(|&within| lookup::has_support_function(within, simhash_within_support::symbol))
}

/// Returns the operator `<~>` beside `hamming_within`; None when `within` is another function.
pub fn distance_operator_of_within(within: Oid) -> Option<Oid> {
    if !lookup::has_support_function(within, simhash_within_support::symbol) {
        return None;
    }
    let types = [pg_sys::INT8OID, pg_sys::INT8OID];
    let hamming = lookup::function_beside(within, c"hamming", &types)?;
    distance_operator_of(lookup::support_function(hamming)?)
}

/// Returns the operator `<~>` of which `support` is the support function. The input function of the
/// type of balls is beside `support`, and the operator is beside that type.
pub fn distance_operator_of(support: Oid) -> Option<Oid> {
    let input = lookup::function_beside(support, c"hamming_ball_in", &[pg_sys::CSTRINGOID])?;
    let schema = lookup::type_schema(lookup::function_result_type(input))?;
    let (left, right) = (pg_sys::INT8OID, pg_sys::INT8OID);
    lookup::operator_in(schema, c"<~>", left, right).filter(|&found| {
        lookup::support_function(lookup::operator_function(found)) == Some(support)
    })
}

/// The constructor of balls, and its result type.
#[derive(Clone, Copy)]
pub struct BallConstructor {
    pub constructor: Oid,
    pub type_oid: Oid,
}

impl BallConstructor {
    /// Returns `hamming_ball(bigint, int)` beside another function of the extension.
    pub fn beside(sibling: Oid) -> Option<Self> {
        let types = [pg_sys::INT8OID, pg_sys::INT4OID];
        let constructor = lookup::function_beside(sibling, c"hamming_ball", &types)
            .filter(|&found| lookup::is_symbol(found, simhash_ball_make::symbol))?;
        Some(Self {
            constructor,
            type_oid: lookup::function_result_type(constructor),
        })
    }

    /// Returns `<@ (bigint, hamming_ball)`, if indexes with this operator family can serve it.
    pub fn operator_in(self, family: Oid) -> Option<Oid> {
        lookup::family_operator(family, pg_sys::INT8OID, self.type_oid, IN_BALL as i16)
    }
}

//! The extension's SQL objects in a query. Its functions are those whose support function is one of
//! [`super::support`], in whatever schema they are. The others are looked up in the schema of the function
//! that the query calls. Those that are public are also looked up from the support functions, which are
//! in the internal schema: the type of balls leads there. So the extension may be in any schema, and nothing
//! is remembered between queries.

use pgrx::pg_sys::{self, Oid};

use super::support::{simhash_hamming_support, simhash_parts_support, simhash_within_support};
use crate::index::opclass::operator::IN_BALL;
use crate::index::opclass::simhash_ball_make;
use simhash_pg::catalog::lookup;
use simhash_pg::nodes::NodeRef;

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

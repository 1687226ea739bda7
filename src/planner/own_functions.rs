//! Which functions of a query are the extension's: those whose support function is one of
//! [`super::support`], in whatever schema they are. What replaces clauses calls this; nothing is
//! remembered between queries.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::sql_objects::distance_operator_of;
use super::support::{simhash_hamming_support, simhash_parts_support, simhash_within_support};
use simhash_pg::catalog::lookup;
use simhash_pg::planner::nodes::NodeRef;

/// Returns whether this function is `hamming(bigint, bigint)`.
pub fn is_hamming(function: Oid) -> bool {
    lookup::has_support_function(function, simhash_hamming_support)
}

/// Returns whether the expression is a call of `hamming`.
pub fn is_distance(node: NodeRef<'_>) -> bool {
    node.as_call()
        .is_some_and(|call| call.result_type == pg_sys::INT4OID && is_hamming(call.function))
}

/// Returns whether this function is `hamming_parts_within`.
pub fn is_parts_within(function: Oid) -> bool {
    lookup::has_support_function(function, simhash_parts_support)
}

/// Returns `hamming_within` beside another function of the extension.
pub fn within_beside(sibling: Oid) -> Option<Oid> {
    let types = [pg_sys::INT8OID, pg_sys::INT8OID, pg_sys::INT4OID];
    lookup::function_beside(sibling, c"hamming_within", &types)
        .filter(|&within| lookup::has_support_function(within, simhash_within_support))
}

/// Returns the operator `<~>` beside `hamming_within`; None when `within` is another function.
pub fn distance_operator_of_within(within: Oid) -> Option<Oid> {
    if !lookup::has_support_function(within, simhash_within_support) {
        return None;
    }
    let types = [pg_sys::INT8OID, pg_sys::INT8OID];
    let hamming = lookup::function_beside(within, c"hamming", &types)?;
    distance_operator_of(lookup::support_function(hamming)?)
}

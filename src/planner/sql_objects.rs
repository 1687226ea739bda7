//! The SQL objects of the extension, found from one of its functions.
//!
//! They are looked up in the schema of the function that the query calls. Those that are public are
//! also looked up from the support functions, which are in the internal schema: the type of balls
//! leads there. So the extension may be in any schema, and nothing needs to be remembered.

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use crate::index::opclass::simhash_ball_make;
use simhash_pg::catalog::lookup;

/// Strategy number of `<@ (bigint, hamming_ball)` in the operator class.
const IN_BALL_STRATEGY: i16 = 1;

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
            .filter(|&found| lookup::is_symbol(found, simhash_ball_make))?;
        Some(Self {
            constructor,
            type_oid: lookup::function_result_type(constructor),
        })
    }

    /// Returns `<@ (bigint, hamming_ball)`, if indexes with this operator family can serve it.
    pub fn operator_in(self, family: Oid) -> Option<Oid> {
        lookup::family_operator(family, pg_sys::INT8OID, self.type_oid, IN_BALL_STRATEGY)
    }
}

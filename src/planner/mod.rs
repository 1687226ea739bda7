//! Makes index conditions of Hamming clauses, and tells the planner how many rows they keep.
//!
//! While the planner simplifies expressions, [`support`] replaces `hamming(fp, q)` by `fp <~> q`:
//! an index can order only by an operator. In WHERE the planner matches only `indexed_column
//! operator value` with an index, never `(fp <~> $1) <= 3`. So the clause is translated twice more:
//!
//! 1. [`rewrite`]: in the planner's hook for relations, which runs before it distributes the quals,
//!    `hamming(fp, q) <= k` becomes `hamming_within(fp, q, k)`. Its support function estimates the
//!    rows, with an index or without one: of a comparison of a distance PostgreSQL expects a third.
//! 2. [`support`]: asked by the planner for an index condition, the support function of
//!    `hamming_within` answers `fp <@ hamming_ball(q, k)`.
//!
//! `hamming_parts_within`, of hashes of more than 64 bits, gets beside it that one of the parts
//! with an index is near ([`clause`]); the rest goes the same way.
//!
//! The operators of texts become those of their fingerprints ([`text_operators`]). An index on texts is
//! shown to the planner a second time, as the index on their fingerprints that it is.
//!
//! The queries of triggers get the expression of an index by [`support`].
//!
//! Calling the support function of `hamming` is also how the planner loads this library, and with
//! it the hook, while it simplifies the first query that mentions a distance.
//!
//! [`clause`] says which clauses mean what, for the columns and expressions that have an index
//! ([`indexes`]); [`relation`] has the planner's structs of a relation and its clauses, [`estimate`] reads
//! its statistics (`simhash_hamming::selectivity` is the arithmetic). Expression trees are wrapped in
//! `simhash_pg::nodes`. No OID is remembered between queries, since an extension may be dropped and
//! created again.

#![allow(
    clippy::unnecessary_cast,
    reason = "constants have other types on other majors"
)]

mod clause;
mod estimate;
mod indexes;
mod relation;
mod rewrite;
mod support;
mod text_operators;

/// Installs the planner hook; called once per process from `_PG_init`.
pub fn init() {
    simhash_pg::process::compat::install_relation_hook(rewrite::relation);
}

//! The planner: [`hooks`] are the ways by which it calls us, [`planned_relation`] its relations and
//! clauses, [`nodes`] their expression trees. [`fingerprint_view`] shows it an index twice. [`builder`] makes new nodes, [`proofs`] is what it
//! compares clauses with, [`path`] an index path whose cost it asks for. [`column_stats`] has the
//! statistics of a column. What must not live here: what a Hamming clause means.

mod builder;
pub mod column_stats;
mod fingerprint_view;
pub mod hooks;
pub mod nodes;
pub mod path;
pub mod planned_relation;
mod proofs;

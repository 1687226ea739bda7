//! The planner's structs: expression trees, clauses, relations, paths, statistics; the hook and the
//! support functions by which the planner calls us.

pub mod column_stats;
pub mod hooks;
pub mod nodes;
pub mod path;
pub mod plan;
pub mod proofs;

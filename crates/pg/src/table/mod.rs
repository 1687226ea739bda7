//! Tables without the executor: [`scan`] reads whole ones through their access method,
//! [`plan`] asks the planner whether a query is such a read, [`append`] stores a
//! row, and [`dead_line_pointers`] says where none is left. What must not live here: what the
//! columns mean.

pub mod append;
pub mod dead_line_pointers;
pub mod plan;
pub mod scan;

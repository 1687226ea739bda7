//! Tables without the executor: [`scan`] reads whole ones through their access method,
//! [`plan`] asks the planner whether a query is such a read, [`append`] stores a row. What must not
//! live here: what the columns mean.

pub mod append;
pub mod plan;
pub mod scan;

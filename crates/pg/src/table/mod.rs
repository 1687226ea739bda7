//! Reads of whole tables through their access method, without the executor: [`scan`], by one
//! process or by two, and [`plan`], which asks the planner whether a query is such a read. What must
//! not live here: what the columns mean.

pub mod plan;
pub mod scan;

//! Parallel operations: a leader, which runs the user's command, and background workers.
//! [`operation`] launches and ends them over a state that all share, [`shared_memory`] lays out
//! what else they share, and [`condition_variable`] lets them wait for each other. What must not
//! live here: what they work on; [`crate::am::parallel_build`] says it.

pub(crate) mod condition_variable;
pub mod operation;
pub(crate) mod shared_memory;

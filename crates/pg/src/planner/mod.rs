//! Expression trees of a query that is planned: [`nodes`] reads them, [`builder`] makes new nodes. What must
//! not live here: what a Hamming clause means.

mod builder;
pub mod nodes;

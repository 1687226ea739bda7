//! What the server hands to an index access method, and what it asks of one: scans, builds, VACUUM,
//! storage parameters, operator classes.

pub mod build;
pub mod opclass;
pub mod open;
pub mod row_address;
pub mod row_reader;
pub mod scan;
pub mod storage_parameters;
pub mod vacuum;

//! The server's side of an index access method.
//!
//! [`scan`], [`build`] and [`vacuum`] wrap what the server passes to a scan, to CREATE INDEX and to
//! VACUUM; [`scope`] hashes scope columns; [`parallel_build`] shares a build among processes;
//! [`storage_parameters`] has the options of CREATE INDEX, [`opclass`] reads operator classes.
//! [`open`] opens an index for a SQL function, [`access`] says who may, [`row_reader`] reads the
//! rows of its table, [`row_address`] checks addresses before they are used. What must not live
//! here: page formats, and how a search proceeds.

pub mod access;
pub mod build;
pub mod opclass;
pub mod open;
pub mod parallel_build;
pub mod row_address;
pub mod row_reader;
pub mod scan;
pub mod scope;
pub mod storage_parameters;
pub mod vacuum;

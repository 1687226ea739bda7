//! Safe wrappers of the server's structs and calls: the only room that touches raw pages, buffers,
//! WAL, parse nodes and datums.
//!
//! What lives here: small types with RAII (a buffer that unlocks itself, a WAL change that is either
//! finished or abandoned), argument access for SQL-callable functions, error reports. What must not:
//! any knowledge of fingerprints or of the index's page formats.
//!
//! Errors: a PostgreSQL ERROR raised inside a `pg_sys` call arrives here as a Rust panic, and leaves
//! through `#[pg_guard]` as an ERROR again. While it unwinds, the destructors of this room do
//! nothing: the server's abort processing releases locks and pins, and releasing them twice would
//! unbalance its interrupt counters.

pub mod activity;
pub mod advisory;
pub mod buffer;
pub mod build;
pub mod bulk;
pub mod call_site;
pub mod compat;
pub mod encoding;
pub mod error;
pub mod expression;
pub mod fmgr;
pub mod index_am;
pub mod invalidation;
pub mod key_type;
pub mod lookup;
pub mod memory;
pub mod message;
pub mod nodes;
pub mod opclass;
pub mod open;
pub mod options;
pub mod output;
pub mod parallel;
pub mod path;
pub mod plan;
pub mod plan_hooks;
mod plan_proofs;
pub mod privilege;
pub mod process;
pub mod query;
pub mod record;
pub mod relation;
pub mod row_address;
pub mod row_reader;
pub mod rows_out;
pub mod saved_query;
pub mod settings;
pub mod snapshot;
mod spi;
pub mod stats;
pub mod table;
pub mod table_name;
pub mod temp_file;
pub mod text_query;
pub mod trigger;
pub mod trigger_tree;
mod unguarded;
pub mod vacuum;
pub mod value;
pub mod wal;
pub mod window;

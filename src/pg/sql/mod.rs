//! SQL-callable functions and what they are handed: arguments, values of any type, rows, window
//! partitions, trigger calls; and what they return.

pub mod call_site;
pub mod expression;
pub mod fmgr;
pub mod key_type;
pub mod message;
pub mod output;
pub mod record;
pub mod rows_out;
pub mod trigger;
pub mod trigger_tree;
pub mod value;
pub mod window;

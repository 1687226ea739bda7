//! What the catalogs say: relations, tables and their columns, names, privileges, and that it changed.

pub mod invalidation;
pub mod lookup;
pub mod privilege;
pub mod relation;
pub mod table;
pub mod table_name;

//! What the catalogs say: of a [`relation`] that is open, of a [`table`] and its columns, of a
//! [`table_name`] that a user wrote, of operators and types ([`lookup`]), of what the user may do
//! ([`privilege`]); [`invalidation`] notices that it changed. What must not live here: queries.

pub mod invalidation;
pub mod lookup;
pub mod privilege;
pub mod relation;
pub mod table;
pub mod table_name;

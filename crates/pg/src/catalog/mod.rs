//! What the catalogs say of an open [`relation`], of a [`table`] and its columns, of a type
//! ([`type_name`]), of its [`indexes`] and what one compares
//! ([`fingerprint_index`]). And of a name that a user wrote ([`written_name`],
//! [`table_name`]), of functions, operators and types ([`lookup`]) and of what the user may do
//! ([`privilege`]); [`invalidation`] tells when that changed. [`citus`] reads the catalogs of that
//! extension. What must not live here: queries.

pub mod citus;
pub mod fingerprint_index;
pub mod indexes;
pub mod invalidation;
pub mod lookup;
pub mod privilege;
pub mod relation;
pub mod table;
pub mod table_name;
pub(crate) mod type_name;
pub mod written_name;

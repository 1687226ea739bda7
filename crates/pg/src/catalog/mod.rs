//! What the catalogs say of an open [`relation`], of a [`table`] and its columns, of its [`indexes`] and
//! what one compares ([`fingerprint_index`]), of a name that a user wrote ([`table_name`]), of functions,
//! operators and types, and of what the user may do ([`lookup`]). [`invalidation`] tells when that
//! changed.

pub mod fingerprint_index;
pub mod indexes;
pub mod invalidation;
pub mod lookup;
pub mod relation;
pub mod table;
pub mod table_name;

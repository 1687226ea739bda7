//! The name of a table as users write it in SQL, and names as messages and SQL text have them. The
//! search_path does not matter when it is looked up.

use std::ffi::{CStr, CString};

use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::table::{name, schema_name};
pub use super::written_name::identifier;
use super::written_name::{self, WrittenName, text};
use crate::process::encoding::name_from_utf8;

/// `table` or `schema.table`, quoted where SQL quotes.
pub struct TableName(WrittenName);

impl TableName {
    /// Reads a name; None when the text is not such a name.
    pub fn parse(text: &str) -> Option<Self> {
        WrittenName::parse(text).map(Self)
    }

    /// Looks the table up; a name without a schema in the schema of `neighbour`. None when it does
    /// not exist. An ERROR when the current user lacks USAGE on the schema that is named.
    pub fn find(&self, neighbour: Oid) -> Option<Oid> {
        // SAFETY: catalog look-ups with a zero-terminated name; no schema has an invalid OID.
        let found = unsafe {
            let schema =
                (self.0.named_schema()).unwrap_or_else(|| pg_sys::get_rel_namespace(neighbour));
            pg_sys::get_relname_relid(self.0.name.as_ptr(), schema)
        };
        (found != Oid::INVALID).then_some(found)
    }

    /// The name with its schema, for messages.
    pub fn shown(&self, neighbour: Oid) -> String {
        format!("{}.{}", self.schema_name(neighbour), text(&self.0.name))
    }

    /// The name with its schema, as SQL text.
    pub fn sql(&self, neighbour: Oid) -> String {
        let schema = identifier(&self.schema_name(neighbour));
        format!("{schema}.{}", identifier(&text(&self.0.name)))
    }

    fn schema_name(&self, neighbour: Oid) -> String {
        match &self.0.schema {
            Some(schema) => text(schema),
            None => schema_of(neighbour),
        }
    }
}

/// The name of a table with its schema, for messages.
pub fn shown(table: Oid) -> String {
    format!("{}.{}", schema_of(table), name(table).unwrap_or_default())
}

/// The name of a table with its schema, as SQL text for a HINT: quoted only where it must be.
pub fn sql(table: Oid) -> String {
    let name = name(table).unwrap_or_default();
    format!("{}.{}", identifier(&schema_of(table)), identifier(&name))
}

/// A text as a literal of SQL.
pub fn literal(text: &str) -> String {
    let Ok(text) = CString::new(name_from_utf8(text).into_owned()) else {
        return String::new();
    };
    // SAFETY: zero-terminated strings; the result is a copy.
    unsafe { written_name::text(CStr::from_ptr(pg_sys::quote_literal_cstr(text.as_ptr()))) }
}

fn schema_of(table: Oid) -> String {
    // SAFETY: a syscache look-up.
    schema_name(unsafe { pg_sys::get_rel_namespace(table) }).unwrap_or_default()
}

//! Names as users write them in SQL, with or without a schema, of tables and functions, and names as
//! messages and SQL text have them. Arguments of functions and triggers are read by it. The search_path does
//! not matter when a name is looked up.

use super::lookup::function_in;
use super::table::{name, schema_name};
use crate::process::encoding::{name_from_utf8, name_to_utf8};
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;
use std::ffi::{CStr, CString, c_char};

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
        self.find_in(self.0.named_schema(), neighbour)
    }

    /// The same for what other users have named: whatever rights the current user has, without an ERROR.
    pub fn find_of_others(&self, neighbour: Oid) -> Option<Oid> {
        let schema = (self.0.schema.as_ref()).map(|schema| {
            // SAFETY: a catalog look-up with a zero-terminated name.
            unsafe { pg_sys::get_namespace_oid(schema.as_ptr(), true) }
        });
        self.find_in(schema, neighbour)
    }

    fn find_in(&self, schema: Option<Oid>, neighbour: Oid) -> Option<Oid> {
        // SAFETY: catalog look-ups with a zero-terminated name; no schema has an invalid OID.
        let found = unsafe {
            let schema = schema.unwrap_or_else(|| pg_sys::get_rel_namespace(neighbour));
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
    let Ok(value) = CString::new(name_from_utf8(text).into_owned()) else {
        return String::new();
    };
    // SAFETY: zero-terminated strings; the result is a copy.
    unsafe { self::text(CStr::from_ptr(pg_sys::quote_literal_cstr(value.as_ptr()))) }
}

fn schema_of(table: Oid) -> String {
    // SAFETY: a syscache look-up.
    schema_name(unsafe { pg_sys::get_rel_namespace(table) }).unwrap_or_default()
}

/// `name` or `schema.name`, quoted where SQL quotes.
pub struct WrittenName {
    pub(super) schema: Option<CString>,
    pub(super) name: CString,
}

impl WrittenName {
    /// Reads a name; None when the text is not such a name.
    pub fn parse(text: &str) -> Option<Self> {
        let text = CString::new(name_from_utf8(text).into_owned()).ok()?;
        // SAFETY: the copy is the server's to write to; on success the list has pointers to the
        // parts, zero-terminated strings inside of the copy.
        let mut parts: Vec<CString> = unsafe {
            let mut list = std::ptr::null_mut();
            let copy = pg_sys::pstrdup(text.as_ptr());
            if !pg_sys::SplitIdentifierString(copy, b'.' as c_char, &mut list) {
                return None;
            }
            let count = list.as_ref().map_or(0, |list| list.length);
            (0..count)
                .map(|i| CStr::from_ptr(pg_sys::list_nth(list, i).cast()).to_owned())
                .collect()
        };
        let name = parts.pop()?;
        let schema = parts.pop();
        parts.is_empty().then_some(Self { schema, name })
    }

    /// The schema that it names; None when it names none, an invalid OID when there is no such schema. An
    /// ERROR when the current user lacks USAGE on it.
    pub(super) fn named_schema(&self) -> Option<Oid> {
        self.schema.as_ref().map(|schema| {
            // SAFETY: a catalog look-up with a zero-terminated name.
            unsafe { pg_sys::LookupExplicitNamespace(schema.as_ptr(), true) }
        })
    }

    /// Looks up a function of these argument types, and returns it with its name as SQL text; a name
    /// without a schema in these schemas, one after the other. None when it does not exist. An ERROR when
    /// the current user lacks USAGE on the schema that is named.
    pub fn find_function(&self, schemas: &[Oid], arguments: &[Oid]) -> Option<(Oid, String)> {
        let named = self.named_schema();
        let schemas = named.as_ref().map_or(schemas, std::slice::from_ref);
        schemas.iter().find_map(|&schema| {
            let function = function_in(schema, &self.name, arguments)?;
            let schema = identifier(&schema_name(schema)?);
            let name = identifier(&text(&self.name));
            Some((function, format!("{schema}.{name}")))
        })
    }
}

/// A name as SQL text, quoted only where it must be.
pub fn identifier(name: &str) -> String {
    let Ok(name) = CString::new(name_from_utf8(name).into_owned()) else {
        return String::new();
    };
    // SAFETY: zero-terminated strings; the result is the argument itself or a copy.
    unsafe { text(CStr::from_ptr(pg_sys::quote_identifier(name.as_ptr()))) }
}

pub(super) fn text(name: &CStr) -> String {
    name_to_utf8(name.to_bytes()).into_owned()
}

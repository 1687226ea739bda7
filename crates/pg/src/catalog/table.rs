//! What the catalogs say of a table, its columns and types, and their names as SQL text. The
//! triggers and the functions that search tables call it. The names that `qualified_name` and its
//! like write mean the same under every search_path.

use std::ffi::{CStr, CString, c_char};

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::lookup::string;
pub use super::lookup::type_name;
use super::relation::Rel;
use crate::process::compat::attribute;
use crate::process::encoding::name_to_utf8;
use crate::process::error::Error;
use crate::sql::value::{Storage, Value};

/// A column of a table.
#[derive(Clone, Copy)]
pub struct Column {
    number: i16,
    /// Whether it is generated, stored or not: no command gives it a value.
    pub generated: bool,
    /// Whether it is generated whenever it is read. Then no row has a value of it.
    pub computed_on_read: bool,
    /// Whether it is an identity column that takes no value unless the command says OVERRIDING.
    pub always_identity: bool,
    /// Its type, a domain as such, and how values of it are stored.
    pub storage: Storage,
    base: TypeWithModifier,
    collation: Oid,
}

/// A type with its modifier (the length or scale in parentheses), which is -1 if there is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TypeWithModifier {
    type_id: Oid,
    modifier: i32,
}

impl TypeWithModifier {
    /// Returns whether a value of this type can be stored unchanged in a column of the other one.
    pub fn fits(self, other: Self) -> bool {
        self.type_id == other.type_id && [-1, self.modifier].contains(&other.modifier)
    }
}

impl Column {
    fn new(attribute: &pg_sys::FormData_pg_attribute) -> Self {
        let mut modifier = attribute.atttypmod;
        Self {
            number: attribute.attnum,
            generated: attribute.attgenerated != 0,
            // ATTRIBUTE_GENERATED_VIRTUAL, which the oldest majors lack.
            computed_on_read: attribute.attgenerated as u8 == b'v',
            always_identity: attribute.attidentity as u8 == pg_sys::ATTRIBUTE_IDENTITY_ALWAYS,
            storage: Storage::of_attribute(attribute),
            base: TypeWithModifier {
                // SAFETY: a syscache look-up; the modifier is live.
                type_id: unsafe { pg_sys::getBaseTypeAndTypmod(attribute.atttypid, &mut modifier) },
                modifier,
            },
            collation: attribute.attcollation,
        }
    }

    /// The collation in which its values are compared; INVALID when its type has none.
    pub(crate) fn collation(&self) -> Oid {
        self.collation
    }

    /// Its position in the table, from 1.
    pub fn number(&self) -> i16 {
        self.number
    }

    /// Returns whether a function takes its values as a text: text, varchar, char(n), citext, and domains
    /// over these.
    pub fn is_text(&self) -> bool {
        let own = self.base.type_id;
        // SAFETY: syscache look-ups.
        own == pg_sys::BPCHAROID || unsafe { pg_sys::IsBinaryCoercible(own, pg_sys::TEXTOID) }
    }

    /// Its type; of a domain the base type.
    pub fn base_type(&self) -> Oid {
        self.base.type_id
    }

    /// Its type with its modifier; of a domain those of the base type.
    pub fn base(&self) -> TypeWithModifier {
        self.base
    }

    /// Raises an ERROR when the value is not of the column's type, or the column's type is a domain
    /// and the value violates its constraints.
    pub(crate) fn check(&self, value: Option<Value<'_>>) {
        if let Some(value) = value {
            value.require_type(self.base.type_id);
        }
        if self.base.type_id == self.storage.type_id {
            return;
        }
        let datum = value.map_or(pg_sys::Datum::null(), |value| value.datum());
        // SAFETY: a value of the type below the domain; nothing is kept from one call to the next.
        unsafe {
            let none = std::ptr::null_mut();
            let memory = pg_sys::CurrentMemoryContext;
            pg_sys::domain_check(datum, value.is_none(), self.storage.type_id, none, memory);
        }
    }
}

/// The user's columns and their names.
pub fn columns(table: Rel<'_>) -> impl Iterator<Item = (String, Column)> {
    // SAFETY: an open relation has its row descriptor.
    let (desc, count) = unsafe {
        let desc = (*table.raw()).rd_att;
        (desc, (*desc).natts as usize)
    };
    (0..count).filter_map(move |i| {
        // SAFETY: as above, with zero-terminated names; `i` is below `natts`.
        let (attribute, name) = unsafe {
            let attribute = attribute(desc, i);
            (attribute, CStr::from_ptr(attribute.attname.data.as_ptr()))
        };
        let name = || name_to_utf8(name.to_bytes()).into_owned();
        (!attribute.attisdropped).then(|| (name(), Column::new(attribute)))
    })
}

/// The user's column of that name.
pub fn column(table: Rel<'_>, name: &str) -> Option<Column> {
    columns(table).find_map(|(found, column)| (found == name).then_some(column))
}

/// Returns the error for a table in which [`column`] finds no column of that name; `what` says what
/// the column is to stand for. It has a HINT where the name is a list without commas.
pub fn no_column(table: Rel<'_>, name: &str, what: &str) -> Error {
    let relation = table.name();
    let words: Vec<&str> = name.split_whitespace().collect();
    if words.len() > 1 && words.iter().all(|word| column(table, word).is_some()) {
        return Error::new(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!("column \"{name}\" of relation \"{relation}\" does not exist"),
        )
        .hint(format!(
            "Separate columns by commas: '{}'.",
            words.join(", ")
        ));
    }
    match is_system_column(table, name) {
        true => Error::new(
            PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE,
            format!("system column \"{name}\" of relation \"{relation}\" cannot be {what}"),
        ),
        false => Error::new(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!("column \"{name}\" of relation \"{relation}\" does not exist"),
        ),
    }
}

fn is_system_column(table: Rel<'_>, name: &str) -> bool {
    // Their names are ASCII, whatever the database's encoding.
    CString::new(name).is_ok_and(|name| {
        // SAFETY: a syscache look-up by a zero-terminated name.
        unsafe { pg_sys::get_attnum(table.oid(), name.as_ptr()) < 0 }
    })
}

/// A name as SQL text, always quoted.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The name of a schema; None when it is gone.
pub fn schema_name(schema: Oid) -> Option<String> {
    // SAFETY: a syscache look-up that yields null or a string.
    unsafe { string(pg_sys::get_namespace_name(schema)) }
}

/// The name of a table, without its schema; None when it is gone.
pub fn name(table: Oid) -> Option<String> {
    // SAFETY: a syscache look-up.
    unsafe { string(pg_sys::get_rel_name(table)) }
}

/// Returns whether a table is temporary, so that no other session can write to it.
pub fn is_temporary(table: Oid) -> bool {
    // SAFETY: a syscache look-up.
    let persistence = unsafe { pg_sys::get_rel_persistence(table) };
    persistence as u8 == pg_sys::RELPERSISTENCE_TEMP
}

/// The schema of a table.
pub fn schema(table: Oid) -> Oid {
    // SAFETY: a syscache look-up.
    unsafe { pg_sys::get_rel_namespace(table) }
}

/// The name of a function, without its schema.
pub(crate) fn function_name(function: Oid) -> String {
    // SAFETY: a syscache look-up.
    unsafe { string(pg_sys::get_func_name(function)) }.unwrap_or_default()
}

/// The name of a table with its schema, as SQL text; None when it is gone.
pub fn qualified_name(table: Oid) -> Option<String> {
    // SAFETY: a syscache look-up.
    let schema = unsafe { pg_sys::get_rel_namespace(table) };
    let (schema, name) = (schema_name(schema)?, name(table)?);
    Some(format!("{}.{}", quoted(&schema), quoted(&name)))
}

/// The name of a column's base type with its modifier, for messages.
pub fn base_type_name(column: &Column) -> String {
    let TypeWithModifier { type_id, modifier } = column.base;
    // SAFETY: a catalog look-up that always yields a string.
    unsafe { string(pg_sys::format_type_with_typemod(type_id, modifier)) }.unwrap_or_default()
}

/// A type's name with its schema, as SQL text. Written for values of any length: plain `character`
/// and `bit` would mean one character and one bit.
pub fn qualified_type_name(type_id: Oid) -> String {
    const NO_MODIFIER: i32 = -1;
    let flags = pg_sys::FORMAT_TYPE_TYPEMOD_GIVEN | pg_sys::FORMAT_TYPE_FORCE_QUALIFY;
    // SAFETY: a catalog look-up that always yields a string.
    unsafe {
        string(pg_sys::format_type_extended(
            type_id,
            NO_MODIFIER,
            flags as u16,
        ))
    }
    .unwrap_or_default()
}

/// Returns whether there is an implicit cast from one type to the other.
pub fn casts_implicitly(from: Oid, to: Oid) -> bool {
    // SAFETY: catalog look-ups; two arrays of one type each.
    unsafe { pg_sys::can_coerce_type(1, &from, &to, pg_sys::CoercionContext::COERCION_IMPLICIT) }
}

/// Returns whether it is an ordinary table, in the server's words: one that keeps its rows itself.
fn is_ordinary(table: Rel<'_>) -> bool {
    // SAFETY: an open relation has its row of pg_class.
    unsafe { (*(*table.raw()).rd_rel).relkind == pg_sys::RELKIND_RELATION as c_char }
}

/// Returns whether it has rows of its own that a scan finds: it is an ordinary table, or a
/// materialized view that is filled.
pub fn is_scannable(table: Rel<'_>) -> bool {
    // SAFETY: an open relation has its row of pg_class.
    let class = unsafe { &*(*table.raw()).rd_rel };
    is_ordinary(table) || class.relkind as u8 == pg_sys::RELKIND_MATVIEW && class.relispopulated
}

/// Returns whether it is a foreign table.
pub fn is_foreign(table: Rel<'_>) -> bool {
    // SAFETY: an open relation has its pg_class row.
    unsafe { (*(*table.raw()).rd_rel).relkind as u8 == pg_sys::RELKIND_FOREIGN_TABLE }
}

/// Returns whether it is an ordinary or a partitioned table.
pub fn is_table(relation: Oid) -> bool {
    // SAFETY: a syscache look-up.
    let kind = unsafe { pg_sys::get_rel_relkind(relation) } as u8;
    [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE].contains(&kind)
}

/// A table that this process has opened.
pub struct OpenTable(pub(super) pg_sys::Relation);

impl OpenTable {
    /// Opens it under AccessShareLock, which it waits for. An ERROR when there is no such table.
    pub fn new(table: Oid) -> Self {
        // SAFETY: waits for DDL, and raises an ERROR when the table is gone.
        Self(unsafe { pg_sys::table_open(table, pg_sys::AccessShareLock as i32) })
    }

    /// Keeps its lock until the transaction ends.
    pub fn lock(table: Oid) {
        // SAFETY: the server takes any OID, of a table that is gone too.
        unsafe { pg_sys::LockRelationOid(table, pg_sys::AccessShareLock as i32) }
    }

    /// The open table.
    pub fn rel(&self) -> Rel<'_> {
        // SAFETY: open until `drop`.
        unsafe { Rel::from_raw(self.0) }
    }

    /// The name of a foreign key of it to one of the other tables.
    pub fn foreign_key_to(&self, others: &[Oid]) -> Option<String> {
        let found = self.foreign_key(|key| others.contains(&key.confrelid));
        // SAFETY: a catalog look-up; null for a constraint that is gone.
        found.and_then(|key| unsafe { string(pg_sys::get_constraint_name(key)) })
    }

    /// Returns whether a column is the first one of a foreign key.
    pub fn has_foreign_key_on(&self, column: i16) -> bool {
        self.foreign_key(|key| key.conkey[0] == column).is_some()
    }

    /// The first of its foreign keys that is wanted.
    fn foreign_key(&self, wanted: impl Fn(&pg_sys::ForeignKeyCacheInfo) -> bool) -> Option<Oid> {
        // SAFETY: the relation is open; the list is the server's, of such nodes.
        unsafe {
            let list = pg_sys::RelationGetFKeyList(self.0);
            let count = list.as_ref().map_or(0, |list| list.length);
            (0..count).find_map(|i| {
                let key: *const pg_sys::ForeignKeyCacheInfo = pg_sys::list_nth(list, i).cast();
                wanted(&*key).then_some((*key).conoid)
            })
        }
    }
}

impl Drop for OpenTable {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened by `new`; the lock stays until the end of the transaction.
            unsafe { pg_sys::table_close(self.0, pg_sys::NoLock as i32) };
        }
    }
}

/// Returns whether the access method has a default operator class for the column's type.
pub fn can_index(column: &Column, access_method: &CStr) -> bool {
    // SAFETY: catalog look-ups with a zero-terminated name.
    unsafe {
        let method = pg_sys::get_am_oid(access_method.as_ptr(), true);
        method != Oid::INVALID
            && pg_sys::GetDefaultOpClass(column.base_type(), method) != Oid::INVALID
    }
}

/// The ordinary tables that a query of this table reads: itself, partitions, children. They are locked
/// as the query locks them, so that none is dropped meanwhile.
pub fn ordinary_tables_below(table: Oid) -> Vec<Oid> {
    // SAFETY: the list is of OIDs.
    unsafe {
        let lock = pg_sys::AccessShareLock as i32;
        let list = pg_sys::find_all_inheritors(table, lock, std::ptr::null_mut());
        let count = list.as_ref().map_or(0, |list| list.length);
        (0..count)
            .map(|i| pg_sys::list_nth_oid(list, i))
            .filter(|table| pg_sys::get_rel_relkind(*table) as u8 == pg_sys::RELKIND_RELATION)
            // A query does not read temporary tables of other sessions.
            .filter(|table| !pg_sys::isOtherTempNamespace(pg_sys::get_rel_namespace(*table)))
            .collect()
    }
}

/// The expression of a generated column as SQL text, with names as the search_path asks for.
pub fn generation_expression(table: Rel<'_>, column: &Column) -> Option<String> {
    // SAFETY: the relation is open and the column one of it; the server returns null or a node
    // whose variables are of this relation, and a string.
    unsafe {
        let raw = table.raw();
        let node = pg_sys::build_column_default(raw, i32::from(column.number));
        let name = (*(*raw).rd_rel).relname.data.as_ptr();
        let context = pg_sys::deparse_context_for(name, table.oid());
        string(pg_sys::deparse_expression(node, context, false, false))
    }
}

/// The partitioned table above all others of a partition; a table that is none, itself.
pub fn topmost(table: Oid) -> Oid {
    if !is_partition(table) {
        return table;
    }
    // SAFETY: a list of OIDs, the topmost last.
    unsafe {
        let above = pg_sys::get_partition_ancestors(table);
        match above.as_ref().map_or(0, |list| list.length) {
            0 => table,
            count => (*(*above).elements.add(count as usize - 1)).oid_value,
        }
    }
}

/// Returns whether it is a partition of some table.
pub fn is_partition(table: Oid) -> bool {
    // SAFETY: a syscache look-up.
    unsafe { pg_sys::get_rel_relispartition(table) }
}

//! What Citus says of tables where its extension is installed: of which table a relation is a
//! shard, and how that one is divided. Its catalogs are in pg_catalog, on every node.
//!
//! Rows are read that other transactions have not committed yet. create_distributed_table fills the
//! shards over other connections, before the transaction that describes them ends. Citus hides
//! shards from queries of pg_class, but not from the system caches.

use std::ffi::CStr;

use pgrx::PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED;
use pgrx::pg_sys;
use pgrx::pg_sys::{NodeTag, Oid};

use super::lookup::table_in;
use super::table::{Column, Opened, column, string, type_name};
use crate::pg::process::error::raise_with_hint;
use crate::pg::sql::value::Value;

const SHARDS: &CStr = c"pg_dist_shard";
const TABLES: &CStr = c"pg_dist_partition";
const NODES: &CStr = c"pg_dist_node";

/// How the name begins under which Citus connects to run its part of a statement.
const CITUS: &[u8] = b"citus_internal";

/// A row of pg_dist_partition.
pub struct Division {
    /// How rows are divided: `partmethod`.
    pub method: u8,
    /// How copies are kept alike: `repmodel`.
    pub replication: u8,
    /// With which tables its shards are together: `colocationid`.
    pub group: i64,
    /// The column by which rows are divided.
    pub column: Option<String>,
}

/// The table of which a shard has this number.
pub fn table_of_shard(number: i64) -> Option<Oid> {
    let key = ("shardid", Value::from(number));
    let columns = [("logicalrelid", pg_sys::REGCLASSOID)];
    row(SHARDS, Some(key), columns, |[table]| {
        table.map(|table| Oid::from(table.oid()))
    })?
}

/// How Citus divides a table; None for one that it does not know.
pub fn division(table: Oid) -> Option<Division> {
    let key = ("logicalrelid", Value::from(table));
    let columns = [
        ("partmethod", pg_sys::CHAROID),
        ("repmodel", pg_sys::CHAROID),
        ("colocationid", pg_sys::INT4OID),
        ("partkey", pg_sys::TEXTOID),
    ];
    row(
        TABLES,
        Some(key),
        columns,
        |[method, replication, group, key]| {
            let letter = |value: Option<Value<'_>>| value.map_or(0, |value| value.integer() as u8);
            Division {
                method: letter(method),
                replication: letter(replication),
                group: group.map_or(0, |group| group.integer()),
                column: key.and_then(|key| column_of(table, key)),
            }
        },
    )
}

/// Is it a table of Citus, whose rows are in its shards, and not in itself?
pub fn is_divided(table: Oid) -> bool {
    let key = ("logicalrelid", Value::from(table));
    row(TABLES, Some(key), [], |[]| ()).is_some()
}

/// Does another node have a statement run here, although this one was told of no node? It has shards
/// then, and does not know them.
pub fn is_told_nothing() -> bool {
    // SAFETY: a setting of the session, a zero-terminated string or null.
    let name = unsafe {
        let name = pg_sys::application_name;
        (!name.is_null()).then(|| CStr::from_ptr(name))
    };
    name.is_some_and(|name| name.to_bytes().starts_with(CITUS))
        && table_in(c"pg_catalog", NODES).is_some()
        && row(NODES, None, [], |[]| ()).is_none()
}

/// The column of a table that `partkey` stands for: an expression as the server stores it.
fn column_of(table: Oid, key: Value<'_>) -> Option<String> {
    // SAFETY: a value of type text; the server reads the expression, or raises an ERROR. A node is
    // of the type that its tag says.
    unsafe {
        let text = pg_sys::text_to_cstring(key.datum().cast_mut_ptr());
        let node: *const pg_sys::Var = pg_sys::stringToNode(text).cast();
        if node.is_null() || (*node).xpr.type_ != NodeTag::T_Var {
            return None;
        }
        string(pg_sys::get_attname(table, (*node).varattno, true))
    }
}

/// Shows a row of a catalog of Citus that has this value in this column, or any row: what it has in
/// others, of these types. None without such a row, and without Citus.
fn row<R, const N: usize>(
    catalog: &CStr,
    key: Option<(&str, Value<'_>)>,
    columns: [(&str, Oid); N],
    read: impl FnOnce([Option<Value<'_>>; N]) -> R,
) -> Option<R> {
    let opened = Opened::new(table_in(c"pg_catalog", catalog)?);
    let columns = columns.map(|(name, of)| known(&opened, name, of));
    let mut snapshot = pg_sys::SnapshotData {
        snapshot_type: pg_sys::SnapshotType::SNAPSHOT_DIRTY,
        ..Default::default()
    };
    let mut keys = [pg_sys::ScanKeyData::default()];
    // SAFETY: the table is open; a key of one of its columns, with the equality of its type;
    // snapshot and key outlive the scan, and a row is read before the scan ends.
    unsafe {
        if let Some((name, value)) = key {
            let equality = match value.type_id() {
                pg_sys::INT8OID => pg_sys::F_INT8EQ,
                _ => pg_sys::F_OIDEQ,
            };
            pg_sys::ScanKeyInit(
                &mut keys[0],
                known(&opened, name, value.type_id()).number(),
                pg_sys::BTEqualStrategyNumber as u16,
                Oid::from(equality),
                value.datum(),
            );
        }
        let (table, none) = (opened.rel().raw(), Oid::INVALID);
        let (count, keys) = (i32::from(key.is_some()), keys.as_mut_ptr());
        let scan = pg_sys::systable_beginscan(table, none, false, &mut snapshot, count, keys);
        let tuple = pg_sys::systable_getnext(scan);
        let found = (!tuple.is_null()).then(|| {
            read(columns.map(|column| {
                let (mut null, number) = (false, i32::from(column.number()));
                let datum = pg_sys::SPI_getbinval(tuple, (*table).rd_att, number, &mut null);
                (!null).then(|| Value::new(datum, column.storage))
            }))
        });
        pg_sys::systable_endscan(scan);
        found
    }
}

/// The column of that name and type; an ERROR when this Citus has another one.
fn known(catalog: &Opened, name: &str, of: Oid) -> Column {
    match column(catalog.rel(), name) {
        Some(column) if column.storage.type_id == of => column,
        _ => raise_with_hint(
            ERRCODE_FEATURE_NOT_SUPPORTED,
            format!(
                "catalog \"{}\" of Citus has no column \"{name}\" of type {}",
                catalog.rel().name(),
                type_name(of)
            ),
            "This version of Citus is not known: a newer simhash_dedup may be needed.",
        ),
    }
}

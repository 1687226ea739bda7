//! Tables that Citus distributes: whether a table is one, and whether a trigger on a shard or a
//! function of an index sees the rows that it needs. Triggers call [`refuse_shard`], functions of
//! an index [`refuse_distributed`], and the SQL script `simhash_distributed_table`. Nothing else
//! decides this: `simhash_trigger` has the rules.
//!
//! The catalogs of Citus are in pg_catalog on every node. Read are also rows that other transactions have
//! not committed yet, those of the server's catalogs that describe the table among them.
//! `create_distributed_table` fills the shards over connections at most one of which sees the table that it
//! has made on their node. Citus hides shards from queries of pg_class, but not from the system caches.

#![allow(unsafe_code)]

use crate::errors::ToError;
use crate::index::open_index::{OpenIndex, OpenPurpose, table_of_index};
use pgrx::PgSqlErrorCode::{
    ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
    ERRCODE_WRONG_OBJECT_TYPE,
};
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::{NodeTag, Oid};
use simhash_pg::catalog::lookup::table_in;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::catalog::table::{Column, OpenTable};
use simhash_pg::catalog::{table, table_name};
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::{Error, leave_out_statement};
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::trigger::TriggerCall;
use simhash_pg::sql::value::Value;
use simhash_trigger::distribution::{Distribution, has_copies, is_shard_name, shard_number};
use std::ffi::CStr;

const SHARDS: &CStr = c"pg_dist_shard";
const TABLES: &CStr = c"pg_dist_partition";
const NODES: &CStr = c"pg_dist_node";

/// Prefixes of the application names under which Citus connects to run its part of a statement, or
/// a statement for the user, or to move shards.
const APPLICATIONS: [&[u8]; 3] = [b"citus_internal", b"citus_run_command", b"citus_rebalancer"];

/// Refuses the call on a shard where `check` says why. The message has the reason too: what a
/// shard adds as a HINT gets lost on some of Citus' ways to the user. Otherwise returns whether
/// other nodes may have copies of the shard, on each of which the trigger fires.
///
/// Triggers look this up when a session first fires them, and again after the table was altered: a
/// table becomes a shard by being renamed.
pub fn refuse_shard(
    call: &TriggerCall<'_>,
    check: impl FnOnce(&Distribution) -> Result<(), simhash_trigger::Error>,
) -> bool {
    let shard = call.relation();
    let name = shard.name();
    let Some(number) = shard_number(&name) else {
        return false;
    };
    if lacks_metadata() {
        let message = format!("\"{name}\" may be a shard, but this node has no metadata of Citus");
        let error = Error::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        call.raise(error.hint("Run start_metadata_sync_to_all_nodes() at the coordinator."));
    }
    let Some((table, distribution, has_copies)) = distribution(shard, &name, number) else {
        return false;
    };
    if let Err(refused) = check(&distribution) {
        let error = refused.to_error();
        let message = format!(
            "{}: \"{name}\" is a shard of distributed table \"{table}\"",
            error.message
        );
        call.raise(Error { message, ..error });
    }
    has_copies
}

/// Returns the name of the distributed table whose shard of this number the relation is, how it is
/// distributed, and whether other nodes may have copies of the shard; None for other tables.
fn distribution(shard: Rel<'_>, name: &str, number: i64) -> Option<(String, Distribution, bool)> {
    let found = table_of_shard(number)?;
    if !is_shard_name(name, &found.name, number) || table::schema(shard.oid()) != found.schema {
        return None;
    }
    let row = partition_row(found.table)?;
    // The transaction that distributes the table may be the only one that sees it.
    let schema = table::schema_name(found.schema).unwrap_or_default();
    Some((
        format!("{schema}.{}", found.name),
        Distribution::new(row.method, row.replication, row.colocation, row.column),
        has_copies(row.replication),
    ))
}

/// Returns the SQL function that reads an index for this purpose. The function that reads the
/// indexes of the shards has `_shards` behind its name.
fn reading_function(purpose: OpenPurpose) -> &'static str {
    match purpose {
        OpenPurpose::Verification => "simhash_index_verify",
        OpenPurpose::Statistics => "simhash_index_stats",
    }
}

/// Refuses the index of a distributed table: the rows are in the indexes of the shards. It holds
/// rows from before the table was distributed, or none.
pub fn refuse_distributed(open: &OpenIndex, purpose: OpenPurpose) {
    let table = open.table().oid();
    if is_distributed(table) {
        let (name, table) = (open.index().name(), table_name::shown(table));
        let function = reading_function(purpose);
        Error::new(
            ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{name}\" is an index of distributed table \"{table}\""),
        )
        .hint(format!(
            "simhash_catalog.{}_shards() looks at the indexes of its shards.",
            function.trim_start_matches("simhash_")
        ))
        .raise();
    }
}

pg_function!(simhash_distributed_table);
/// `simhash_catalog.distributed_table(index regclass, verify boolean) -> regclass`, strict: the
/// table of an index that the user may verify, or ask for its statistics; an ERROR unless Citus
/// distributes it
fn simhash_distributed_table(args: &Args) -> Datum {
    leave_out_statement();
    let (Some(index), Some(verify)) = (args.get::<Oid>(0), args.get::<bool>(1)) else {
        return args.null();
    };
    let purpose = match verify {
        true => OpenPurpose::Verification,
        false => OpenPurpose::Statistics,
    };
    let table = table_of_index(index, purpose);
    if !is_distributed(table) {
        let (name, function) = (table_name::shown(index), reading_function(purpose));
        Error::new(
            ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{name}\" is not an index of a distributed table"),
        )
        .hint(format!(
            "{function}() looks at an index whose rows are here."
        ))
        .raise();
    }
    args.result(Some(table))
}

/// A row of pg_dist_partition.
struct PartitionRow {
    /// Method by which rows are distributed: `partmethod`.
    method: u8,
    /// Method by which copies are kept alike: `repmodel`.
    replication: u8,
    /// Number of the group of tables whose shards are together: `colocationid`.
    colocation: i64,
    /// The distribution column.
    column: Option<String>,
}

/// A table that has a shard.
struct ShardedTable {
    /// Its OID, on this node.
    table: Oid,
    /// Its name, without its schema.
    name: String,
    /// OID of its schema.
    schema: Oid,
}

/// The table of which a shard has this number.
fn table_of_shard(number: i64) -> Option<ShardedTable> {
    let key = [("shardid", Value::from(number))];
    let columns = [("logicalrelid", pg_sys::REGCLASSOID)];
    let oid = |[table]: [Option<Value<'_>>; 1]| table.map(|table| Oid::from(table.oid()));
    let table = catalog_row(SHARDS, None, key, columns, oid)??;
    let key = [("oid", Value::from(table))];
    let columns = [
        ("relname", pg_sys::NAMEOID),
        ("relnamespace", pg_sys::OIDOID),
    ];
    catalog_row(
        c"pg_class",
        Some(pg_sys::ClassOidIndexId),
        key,
        columns,
        |[name, schema]| {
            Some(ShardedTable {
                table,
                name: name_of(name?),
                schema: Oid::from(schema?.oid()),
            })
        },
    )?
}

/// A value of type name.
fn name_of(value: Value<'_>) -> String {
    let bytes = value.bytes();
    let end = bytes.iter().position(|byte| *byte == 0);
    name_to_utf8(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

/// Returns how Citus distributes a table; None for one that it does not know.
fn partition_row(table: Oid) -> Option<PartitionRow> {
    let key = [("logicalrelid", Value::from(table))];
    let columns = [
        ("partmethod", pg_sys::CHAROID),
        ("repmodel", pg_sys::CHAROID),
        ("colocationid", pg_sys::INT4OID),
        ("partkey", pg_sys::TEXTOID),
    ];
    catalog_row(
        TABLES,
        None,
        key,
        columns,
        |[method, replication, colocation, key]| {
            let letter = |value: Option<Value<'_>>| value.map_or(0, |value| value.integer() as u8);
            PartitionRow {
                method: letter(method),
                replication: letter(replication),
                colocation: colocation.map_or(0, |number| number.integer()),
                column: key.and_then(|key| column_of(table, key)),
            }
        },
    )
}

/// Returns whether Citus distributes the table: its rows are in its shards, and not in itself.
fn is_distributed(table: Oid) -> bool {
    let key = [("logicalrelid", Value::from(table))];
    catalog_row(TABLES, None, key, [], |[]| ()).is_some()
}

/// Returns whether Citus runs a statement for another node here, although this node has no
/// metadata. It has shards then, and does not know them.
fn lacks_metadata() -> bool {
    // SAFETY: a setting of the session, a zero-terminated string or null.
    let name = unsafe {
        let name = pg_sys::application_name;
        (!name.is_null()).then(|| CStr::from_ptr(name))
    };
    let is_citus =
        |name: &CStr| (APPLICATIONS.iter()).any(|prefix| name.to_bytes().starts_with(prefix));
    name.is_some_and(is_citus)
        && table_in(c"pg_catalog", NODES).is_some()
        && catalog_row(NODES, None, [], [], |[]| ()).is_none()
}

/// The column of a table that `partkey` stands for: an expression as the server stores it.
fn column_of(table: Oid, key: Value<'_>) -> Option<String> {
    // SAFETY: a value of type text; the server reads the expression, or raises an ERROR. A node is
    // of the type that its tag says.
    let number = unsafe {
        let text = pg_sys::text_to_cstring(key.datum().cast_mut_ptr());
        let node: *const pg_sys::Var = pg_sys::stringToNode(text).cast();
        let is_column = !node.is_null() && (*node).xpr.type_ == NodeTag::T_Var;
        is_column.then(|| (*node).varattno)
    }?;
    let key = [
        ("attrelid", Value::from(table)),
        ("attnum", Value::from(number)),
    ];
    let columns = [("attname", pg_sys::NAMEOID)];
    let index = Some(pg_sys::AttributeRelidNumIndexId);
    catalog_row(c"pg_attribute", index, key, columns, |[name]| {
        name.map(name_of)
    })?
}

/// Reads `columns`, of these types, from the first row of a catalog that has the values of `key` in
/// its columns, which are those of the index, in its order, if there is one. None without such a
/// row, and without Citus.
fn catalog_row<R, const N: usize, const M: usize>(
    catalog: &CStr,
    index: Option<u32>,
    key: [(&str, Value<'_>); M],
    columns: [(&str, Oid); N],
    read: impl FnOnce([Option<Value<'_>>; N]) -> R,
) -> Option<R> {
    let opened = OpenTable::new(table_in(c"pg_catalog", catalog)?);
    let columns = columns.map(|(name, type_id)| known_column(&opened, name, type_id));
    let mut snapshot = pg_sys::SnapshotData {
        snapshot_type: pg_sys::SnapshotType::SNAPSHOT_DIRTY,
        ..Default::default()
    };
    let mut keys = key.map(|(name, value)| equal(&opened, name, value));
    // SAFETY: the table is open, its index is the server's; snapshot and keys, of columns of the
    // table, outlive the scan, and a row is read before the scan ends.
    unsafe {
        let table = opened.rel().raw();
        let (index, is_indexed) = (index.map_or(Oid::INVALID, Oid::from), index.is_some());
        let scan = pg_sys::systable_beginscan(
            table,
            index,
            is_indexed,
            &mut snapshot,
            M as i32,
            keys.as_mut_ptr(),
        );
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

/// The condition that a column has this value.
fn equal(catalog: &OpenTable, name: &str, value: Value<'_>) -> pg_sys::ScanKeyData {
    // The server's own catalogs have plain OIDs.
    let is_oid = table::column(catalog.rel(), name)
        .is_some_and(|column| column.storage.type_id == pg_sys::OIDOID);
    let (type_id, equality) = match value.type_id() {
        pg_sys::REGCLASSOID if is_oid => (pg_sys::OIDOID, pg_sys::F_OIDEQ),
        pg_sys::REGCLASSOID => (pg_sys::REGCLASSOID, pg_sys::F_OIDEQ),
        pg_sys::INT2OID => (pg_sys::INT2OID, pg_sys::F_INT2EQ),
        _ => (pg_sys::INT8OID, pg_sys::F_INT8EQ),
    };
    let mut key = pg_sys::ScanKeyData::default();
    // SAFETY: the key is live; the function is the equality of the column's type.
    unsafe {
        pg_sys::ScanKeyInit(
            &mut key,
            known_column(catalog, name, type_id).number(),
            pg_sys::BTEqualStrategyNumber as u16,
            Oid::from(equality),
            value.datum(),
        );
    }
    key
}

/// The column of that name and type; an ERROR when this Citus has another one.
fn known_column(catalog: &OpenTable, name: &str, type_id: Oid) -> Column {
    match table::column(catalog.rel(), name) {
        Some(column) if column.storage.type_id == type_id => column,
        _ => Error::new(
            ERRCODE_FEATURE_NOT_SUPPORTED,
            format!(
                "catalog \"{}\" of Citus has no column \"{name}\" of type {}",
                catalog.rel().name(),
                table::type_name(type_id)
            ),
        )
        .hint("This version of Citus is not known: a newer simhash_dedup may be needed.")
        .raise(),
    }
}

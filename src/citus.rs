//! Tables that Citus distributes: whether a table is one, and whether a trigger on a shard or a
//! function of an index sees the rows that it needs. Triggers call [`refuse_shard`], functions of
//! an index [`refuse_distributed`], and the SQL script `simhash_distributed_table`. Nothing else
//! decides this: `simhash_trigger` has the rules, `simhash_pg` reads Citus' catalogs.

use pgrx::PgSqlErrorCode::{ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, ERRCODE_WRONG_OBJECT_TYPE};
use pgrx::pg_sys::Oid;

use crate::errors::ToError;
use crate::index::open_index::{OpenIndex, OpenPurpose, table_of_index};
use simhash_pg::catalog::citus::{is_distributed, lacks_metadata, partition_row, table_of_shard};
use simhash_pg::catalog::relation::Rel;
use simhash_pg::catalog::{table, table_name};
use simhash_pg::process::error::Error;
use simhash_pg::process::error_context::leave_out_statement;
use simhash_pg::sql::fmgr::pg_function;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::distribution::{Distribution, has_copies, is_shard_name, shard_number};

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

pg_function! {
    /// `simhash_catalog.distributed_table(index regclass, verify boolean) -> regclass`, strict: the
    /// table of an index that the user may verify, or ask for its statistics; an ERROR unless Citus
    /// distributes it
    fn simhash_distributed_table, pg_finfo_simhash_distributed_table (args) {
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
            .hint(format!("{function}() looks at an index whose rows are here."))
            .raise();
        }
        args.result(Some(table))
    }
}

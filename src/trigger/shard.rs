//! Refuses a trigger that fires on a shard of a table which Citus distributes, unless the shard has
//! all that it needs. This is looked up when a session first fires the trigger, and again after the
//! table was altered: a table becomes a shard by being renamed.

use crate::errors::ToError;
use pgrx::PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::catalog::{citus, table};
use simhash_pg::process::error::Error;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::distribution::{Distribution, has_copies, is_shard_name, shard_number};

/// Refuses the call on a shard where `check` says why. The message has the reason too: what a
/// shard adds as a HINT gets lost on some of Citus' ways to the user. Otherwise returns whether
/// other nodes may have copies of the shard, on each of which the trigger fires.
pub fn refuse_shard(
    call: &TriggerCall<'_>,
    check: impl FnOnce(&Distribution) -> Result<(), simhash_trigger::Error>,
) -> bool {
    let shard = call.relation();
    let name = shard.name();
    if shard_number(&name).is_some() && citus::lacks_metadata() {
        let message = format!("\"{name}\" may be a shard, but this node has no metadata of Citus");
        let error = Error::new(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        call.raise(error.hint("Run start_metadata_sync_to_all_nodes() at the coordinator."));
    }
    let Some((of, found)) = distributed(shard) else {
        return false;
    };
    let replication = found.replication;
    let distribution = Distribution::new(found.method, replication, found.group, found.column);
    if let Err(refused) = check(&distribution) {
        let error = refused.to_error();
        let message = format!(
            "{}: \"{name}\" is a shard of distributed table \"{of}\"",
            error.message
        );
        call.raise(Error { message, ..error });
    }
    has_copies(replication)
}

/// Returns the name of the table of which this one is a shard, and how it is distributed; None for
/// other tables.
fn distributed(shard: Rel<'_>) -> Option<(String, citus::Distribution)> {
    let name = shard.name();
    let number = shard_number(&name)?;
    let of = citus::table_of_shard(number)?;
    if !is_shard_name(&name, &of.name, number) || table::schema(shard.oid()) != of.schema {
        return None;
    }
    let schema = table::schema_name(of.schema).unwrap_or_default();
    Some((
        format!("{schema}.{}", of.name),
        citus::distribution(of.table)?,
    ))
}

//! A trigger that fires on a shard of a table which Citus distributes: refused, unless the shard
//! has all that it needs. Looked up when a session first fires the trigger, and again after the table
//! was altered: a table becomes a shard by being renamed.

use pgrx::PgSqlErrorCode::{
    ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
};
use pgrx::pg_sys::Oid;

use super::call::refuse;
use super::division::{Division, Refusal, is_shard_name, shard_number};
use crate::pg::catalog::relation::Rel;
use crate::pg::catalog::{citus, table, table_name};
use crate::pg::sql::trigger::TriggerCall;

/// Refuses the call on a shard where `refusal` says why. The message has it too: what a shard adds
/// as a HINT gets lost on some of Citus' ways to the user.
pub fn refuse_shard(call: &TriggerCall<'_>, refusal: impl FnOnce(&Division) -> Option<Refusal>) {
    let shard = call.relation();
    let name = shard.name();
    if shard_number(&name).is_some() && citus::is_told_nothing() {
        let message = format!("\"{name}\" may be a shard, but this node has no metadata of Citus");
        let hint = "Run start_metadata_sync_to_all_nodes() at the coordinator.".to_owned();
        refuse(
            call,
            ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            message,
            Some(hint),
        );
    }
    if let Some((table, division)) = divided(shard)
        && let Some(Refusal { why, hint }) = refusal(&division)
    {
        let of = table_name::shown(table);
        let message = format!("{why}: \"{name}\" is a shard of distributed table \"{of}\"");
        refuse(call, ERRCODE_FEATURE_NOT_SUPPORTED, message, Some(hint));
    }
}

/// The table of which this one is a shard, and how it is divided; None for other tables.
fn divided(shard: Rel<'_>) -> Option<(Oid, Division)> {
    let name = shard.name();
    let number = shard_number(&name)?;
    let table = citus::table_of_shard(number)?;
    let is_its_name = is_shard_name(&name, &table::name(table)?, number);
    if !is_its_name || !table::are_in_one_schema(shard.oid(), table) {
        return None;
    }
    let found = citus::division(table)?;
    let division = Division::new(found.method, found.replication, found.group, found.column);
    Some((table, division))
}

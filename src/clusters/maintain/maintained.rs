//! The table whose clusters a trigger keeps, and the table of clusters, as the trigger's arguments
//! name them.

use pgrx::PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED;
use pgrx::pg_sys;

use super::claims::Claims;
use super::cluster_table::{ClusterTable, ClusterTableCheck};
use super::events::warn_of_missing;
use super::statement::Statement;
use crate::citus::refuse_shard;
use crate::trigger::call::{accepted, column, fingerprint_column, refuse_foreign, seen};
use crate::trigger::scope::Scope;
use simhash_pg::catalog::invalidation::{Current, watch};
use simhash_pg::catalog::lookup::equality_types;
use simhash_pg::catalog::privilege::has_row_security;
use simhash_pg::catalog::table::{self, Column};
use simhash_pg::process::error::Error;
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::cluster_options::{MaintainOptions, parse};
use simhash_trigger::distribution::Distribution;

pub struct Maintained {
    pub options: MaintainOptions,
    pub key: Column,
    pub key_type: KeyType,
    pub fingerprint: Column,
    /// The table that is searched: for a partition, the partitioned table that has the trigger.
    pub table: pg_sys::Oid,
    pub clusters: ClusterTable,
    pub claims: Claims,
    pub statement: Statement,
}

impl Maintained {
    pub fn new(call: &TriggerCall<'_>) -> (Current, Self) {
        let options = accepted(call, parse(&call.arguments()));
        refuse_shard(call, Distribution::check_clusters);
        refuse_foreign(call);
        let key = column(call, &options.key, "the key");
        let key = seen(call, &options.key, key);
        let fp = &options.fingerprint;
        let fingerprint = seen(call, fp, fingerprint_column(call, fp, false));
        // A statement trigger (that of TRUNCATE) has no other trigger above it.
        let table = match call.is_after_row() {
            true => call.origin().table,
            false => table::topmost(call.relation().oid()),
        };
        let check = ClusterTableCheck {
            call,
            table,
            key_name: &options.key,
            key: &key,
        };
        let clusters = check.find(&options.clusters);
        // Watch them before they are read, so that no change in between is missed.
        let current = watch(&[call.relation().oid(), table, clusters]);
        current.watch_types(&equality_types(key.storage.type_id));
        let scope = Scope::new(call, &options.within);
        scope.watch(&current);
        let (statement, key_type) = Statement::new(call, &options, &key, &scope, [table, clusters]);
        let maintained = Maintained {
            clusters: check.check(clusters),
            claims: Claims::new(call, &options, &key, scope, [table, clusters]),
            options,
            key,
            key_type,
            fingerprint,
            table,
            statement,
        };
        warn_of_missing(call, &maintained.options, [table, clusters]);
        (current, maintained)
    }

    /// Returns whether the current user sees all rows, regardless of row security.
    pub fn sees_all(&self) -> bool {
        !has_row_security(self.table) && !has_row_security(self.clusters.oid)
    }

    /// Raises the ERROR for a row with a fingerprint and without a key.
    pub fn null_key(&self, call: &TriggerCall<'_>) -> ! {
        let (column, table) = (&self.options.key, call.relation().name());
        let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
        call.raise(Error::new(ERRCODE_NULL_VALUE_NOT_ALLOWED, message));
    }
}

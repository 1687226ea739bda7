//! `within=` of `simhash_maintain_clusters()`: a cluster has rows of one scope only, and
//! transactions that change clusters of different scopes do not wait for each other.
//!
//! Without `within=` a transaction locks the whole table of clusters, number [`CLUSTERS`]. With it,
//! a row locks its scope, then takes a share lock on the whole, which keeps out those that lock the
//! whole exclusively. Such a row reads and changes the clusters of rows near it, which are all of
//! its scope. A row that changes the same clusters has the same scope, because all triggers of a table
//! that write to one table of clusters must name the same columns; on a partition this includes the
//! triggers of the partitioned tables.
//!
//! A statement takes the locks of all its rows in one order, before it answers the first of them
//! ([`super::deferred_rows`]).
//!
//! A row that an UPDATE takes to another scope leaves its cluster under the locks of both scopes:
//! whoever sees it in the old scope holds the lock there. In two cases the old scope is not known,
//! and the row locks the whole. First, its key may be in a cluster with rows of another scope
//! already, which happens if no trigger has answered the change that took it out of there. Second,
//! a row near the new one may have been taken to this scope by the same transaction, and its own
//! trigger has not run yet. Then the old cluster is computed again.
//!
//! In both cases the row waits for others while it has its scope locked and the whole shared: two
//! such transactions at the same time deadlock. A row whose cluster is of its own scope never does.

use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys::Oid;

use crate::trigger::scope::Scope;
use simhash_pg::catalog::table_name::{self, TableName};
use simhash_pg::process::advisory_lock::{lock_until_commit, share_until_commit};
use simhash_pg::process::error::Error;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::cluster_options::{MaintainOptions, parse};
use simhash_trigger::locks::{CLUSTERS, of_scope};

/// The locks of the scopes of a trigger.
pub struct ScopeLocks {
    pub scope: Scope,
    clusters: Oid,
}

impl ScopeLocks {
    pub fn new(
        call: &TriggerCall<'_>,
        options: &MaintainOptions,
        scope: Scope,
        clusters: Oid,
    ) -> Self {
        refuse_others(call, options, clusters);
        Self { scope, clusters }
    }

    /// Locks the clusters that the row of a call may change until the transaction ends: each
    /// transaction sees what the one before it stored, whatever its isolation level.
    pub fn lock(&self, call: &TriggerCall<'_>, departs: bool, arrives: bool) {
        if self.scope.is_everything() {
            return self.lock_whole();
        }
        for number in self
            .lock_numbers(call, departs, arrives)
            .into_iter()
            .flatten()
        {
            lock_until_commit(self.clusters, number);
        }
        share_until_commit(self.clusters, CLUSTERS);
    }

    /// Returns the locks of the scopes of the row of a call, ascending: that of the scope which it
    /// leaves if it `departs`, and that of the scope in which it is if it `arrives`.
    pub fn lock_numbers(
        &self,
        call: &TriggerCall<'_>,
        departs: bool,
        arrives: bool,
    ) -> [Option<u32>; 2] {
        let old = departs.then(|| self.scope.of_old(call)).flatten();
        let new = arrives.then(|| self.scope.of_new(call)).flatten();
        let mut numbers = [old, new].map(|scope| scope.map(of_scope));
        numbers.sort_unstable();
        numbers
    }

    /// Locks the clusters of all scopes in the same way.
    pub fn lock_whole(&self) {
        lock_until_commit(self.clusters, CLUSTERS);
    }
}

/// Refuses a trigger if another one makes other clusters in the same table.
fn refuse_others(call: &TriggerCall<'_>, options: &MaintainOptions, clusters: Oid) {
    for sibling in call.related_triggers() {
        // A trigger whose arguments are refused lets no row pass.
        let Ok(other) = parse(&sibling.arguments) else {
            continue;
        };
        let (differ, argument) = match same(&other.within, &options.within) {
            false => ("name different columns in \"within\"", "within"),
            true if other.radius != options.radius => ("have different radii", "radius"),
            true => continue,
        };
        if let Some(name) = TableName::parse(&other.clusters)
            && name.find(sibling.origin.table) == Some(clusters)
        {
            let shown = table_name::shown(clusters);
            let message = format!("triggers that write to \"{shown}\" {differ}");
            let hint =
                format!("Give all of them the same '{argument}=...', or a table of clusters each.");
            call.raise(Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message).hint(hint));
        }
    }
}

/// Returns whether these are the same columns, in whatever order.
fn same(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().all(|name| other.contains(name))
}

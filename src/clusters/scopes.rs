//! `within=` of `simhash_maintain_clusters()`: a cluster has rows of one scope only, and
//! transactions that change clusters of different scopes do not wait for each other.
//!
//! Without `within=` a transaction locks the whole table of clusters, number [`CLUSTERS`]. With it,
//! a row shares this lock, which keeps those out that take it alone, and locks its scope. Whatever
//! such a row reads and changes are clusters of rows near it, all of its scope. Those who change
//! the same clusters have the same scope, as all triggers of a table that write to one table of
//! clusters must name the same columns; on a partition these are the triggers of the partitioned
//! tables as well.
//!
//! A row that an UPDATE takes to another scope leaves its cluster first, under the locks of both
//! scopes: who sees it in the old scope holds the lock there. The trigger knows the old scope from
//! an UPDATE only. When the UPDATE moves the row to another partition, the server fires the trigger
//! as for an INSERT: if the row's key is in the table of clusters already, the row locks the whole
//! table.

use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys::Oid;

use super::assign_options::{AssignOptions, parse};
use super::cluster_table::ClusterTable;
use super::statement::Statement;
use crate::pg::catalog::table::Column;
use crate::pg::catalog::table_name::{self, TableName};
use crate::pg::process::advisory_lock::{lock_until_commit, share_until_commit};
use crate::pg::spi::saved_query::{SavedQuery, Sees};
use crate::pg::sql::trigger::{Event, TriggerCall};
use crate::trigger::call::refuse;
use crate::trigger::locks::{CLUSTERS, of_scope};
use crate::trigger::scope::Scope;

/// The scopes of a trigger.
pub struct Scopes {
    pub scope: Scope,
    clusters: Oid,
    /// None without `within=`.
    leaving: Option<Leaving>,
}

/// Queries for a row that may have been in another scope. Their one parameter is its key.
struct Leaving {
    is_taken: SavedQuery,
    leave: SavedQuery,
}

impl Scopes {
    pub fn new(
        call: &TriggerCall<'_>,
        options: &AssignOptions,
        scope: Scope,
        clusters: Oid,
        clusters_name: &str,
        statement: &Statement,
    ) -> Self {
        refuse_others(call, options, clusters);
        let leaving = (!scope.is_everything()).then(|| {
            let key = &statement.types[..1];
            let texts = [
                statement.is_taken(clusters_name),
                statement.leave(clusters_name),
            ];
            let [is_taken, leave] = SavedQuery::all([(&texts[0], key), (&texts[1], key)], true);
            Leaving { is_taken, leave }
        });
        Self {
            scope,
            clusters,
            leaving,
        }
    }

    /// Locks the clusters that the new row may change until the transaction ends: each transaction
    /// sees what the one before it stored, whatever its isolation level. The row has a scope.
    pub fn lock(&self, call: &TriggerCall<'_>) {
        match &self.leaving {
            None => lock_until_commit(self.clusters, CLUSTERS),
            Some(_) => self.lock_scopes([self.scope.of_new(call), None]),
        }
    }

    fn lock_scopes(&self, scopes: [Option<u64>; 2]) {
        share_until_commit(self.clusters, CLUSTERS);
        let mut numbers = scopes.map(|scope| scope.map(of_scope));
        numbers.sort_unstable();
        for number in numbers.into_iter().flatten() {
            lock_until_commit(self.clusters, number);
        }
    }

    /// Takes the row out of the cluster in which it was in another scope.
    pub fn leave(&self, call: &TriggerCall<'_>, key: &Column, clusters: &ClusterTable) {
        let (Some(leaving), Some(value)) = (&self.leaving, call.new_value(key)) else {
            return;
        };
        let is_new = call.event() == Event::Insert
            || call.old_value(key).map(|old| old.image()) != Some(value.image());
        if !is_new && self.scope.is_as_before(call) {
            return;
        }
        clusters.check_rights(call);
        let run =
            |query: &SavedQuery| query.first_row::<0>(call.args(), &[Some(value)], Sees::Latest);
        if !is_new {
            self.lock_scopes([self.scope.of_old(call), self.scope.of_new(call)]);
        } else if run(&leaving.is_taken).is_some() {
            lock_until_commit(self.clusters, CLUSTERS);
        } else {
            return;
        }
        run(&leaving.leave);
    }
}

/// Refuses a trigger beside which another one makes other clusters in the same table.
fn refuse_others(call: &TriggerCall<'_>, options: &AssignOptions, clusters: Oid) {
    for sibling in call.siblings() {
        // A trigger whose arguments are refused lets no row pass.
        if let Ok(other) = parse(&sibling.arguments)
            && !same(&other.within, &options.within)
            && let Some(name) = TableName::parse(&other.clusters)
            && name.find(sibling.origin.table) == Some(clusters)
        {
            let message = format!(
                "triggers that write to \"{}\" name different columns in \"within\"",
                table_name::shown(clusters)
            );
            let hint = "Give all of them the same 'within=...', or a table of clusters each.";
            let hint = Some(hint.to_owned());
            refuse(call, ERRCODE_INVALID_PARAMETER_VALUE, message, hint);
        }
    }
}

/// Are these the same columns, in whatever order?
fn same(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().all(|name| other.contains(name))
}

//! `within=` of `simhash_maintain_clusters()`: a cluster has rows of one scope only, and
//! transactions that change clusters of different scopes do not wait for each other.
//!
//! Without `within=` a transaction locks the whole table of clusters, number [`CLUSTERS`]. With it,
//! a row locks its scope, then shares the whole, which keeps those out that take it alone. What such
//! a row reads and changes are the clusters of rows near it, all of its scope. Those who change the
//! same clusters have the same scope, as all triggers of a table that write to one table of clusters
//! must name the same columns; on a partition these are the triggers of the partitioned tables as
//! well.
//!
//! A row that an UPDATE takes to another scope leaves its cluster first, under the locks of both
//! scopes: who sees it in the old scope holds the lock there. In two cases the old scope is not
//! known, and the row locks the whole: when the UPDATE moves the row to another partition, for which
//! the server fires the trigger as for an INSERT, but the key is in the table of clusters already;
//! and when a row near the new one has been taken to this scope by the same transaction, and its own
//! trigger has not run yet. Then its old cluster is divided here.
//!
//! In the second case the row waits for others while it has its scope locked. Those hold all their
//! locks if they store one row, as the whole is the last one that is taken.

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
use crate::pg::sql::value::Value;
use crate::trigger::call::refuse;
use crate::trigger::locks::{CLUSTERS, of_scope};
use crate::trigger::scope::Scope;

/// What a row has locked already.
#[derive(Clone, Copy)]
pub enum Held {
    Nothing,
    /// The whole table of clusters.
    Whole,
}

/// The scopes of a trigger.
pub struct Scopes {
    pub scope: Scope,
    clusters: Oid,
    /// None without `within=`.
    leaving: Option<Leaving>,
}

/// Queries for rows that may have been in another scope. Their parameters are those of
/// [`Statement`].
struct Leaving {
    is_taken: SavedQuery,
    leave: SavedQuery,
    has_strangers: SavedQuery,
    divide: SavedQuery,
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
            let texts = [
                statement.is_taken(clusters_name),
                statement.divide(clusters_name, false),
                statement.has_strangers(clusters_name),
                statement.divide(clusters_name, true),
            ];
            let queries = texts.each_ref().map(|text| (&**text, &*statement.types));
            let [is_taken, leave, has_strangers, divide] = SavedQuery::all(queries, true);
            Leaving {
                is_taken,
                leave,
                has_strangers,
                divide,
            }
        });
        Self {
            scope,
            clusters,
            leaving,
        }
    }

    /// Locks the clusters that the new row may change until the transaction ends: each transaction
    /// sees what the one before it stored, whatever its isolation level. The row has a scope.
    pub fn lock(&self, call: &TriggerCall<'_>, held: Held) {
        match (&self.leaving, held) {
            (_, Held::Whole) => {}
            (None, Held::Nothing) => self.lock_whole(),
            (Some(_), Held::Nothing) => self.lock_scopes([self.scope.of_new(call), None]),
        }
    }

    fn lock_whole(&self) {
        lock_until_commit(self.clusters, CLUSTERS);
    }

    fn lock_scopes(&self, scopes: [Option<u64>; 2]) {
        let mut numbers = scopes.map(|scope| scope.map(of_scope));
        numbers.sort_unstable();
        for number in numbers.into_iter().flatten() {
            lock_until_commit(self.clusters, number);
        }
        share_until_commit(self.clusters, CLUSTERS);
    }

    /// Takes the row out of the cluster in which it was in another scope.
    pub fn leave(&self, call: &TriggerCall<'_>, key: &Column, clusters: &ClusterTable) -> Held {
        let (Some(leaving), Some(value)) = (&self.leaving, call.new_value(key)) else {
            return Held::Nothing;
        };
        let is_new = call.event() == Event::Insert
            || call.old_value(key).map(|old| old.image()) != Some(value.image());
        if !is_new && self.scope.is_as_before(call) {
            return Held::Nothing;
        }
        clusters.check_rights(call);
        let mut row = vec![Some(value), None];
        row.extend(self.scope.parameters(call));
        let run = |query: &SavedQuery| query.first_row::<0>(call.args(), &row, Sees::Latest);
        let mut held = Held::Nothing;
        if !is_new {
            self.lock_scopes([self.scope.of_old(call), self.scope.of_new(call)]);
        } else if run(&leaving.is_taken).is_some() {
            self.lock_whole();
            held = Held::Whole;
        } else {
            return held;
        }
        run(&leaving.leave);
        held
    }

    /// Takes rows that are near the new one out of clusters in which they were in another scope.
    pub fn divide(&self, call: &TriggerCall<'_>, row: &[Option<Value<'_>>]) {
        let Some(leaving) = &self.leaving else {
            return;
        };
        let run = |query: &SavedQuery| query.first_row::<0>(call.args(), row, Sees::Latest);
        if run(&leaving.has_strangers).is_some() {
            self.lock_whole();
            run(&leaving.divide);
        }
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

//! What a transaction has for itself until it ends, and waits for: rows in progress
//! ([`crate::trigger::in_progress`]), which say for which near rows of others a row waits, and the
//! clusters that it changes, which are entered in the same way. [`super`] says why this suffices.
//!
//! A share of an advisory lock, [`CLUSTERS`], keeps out those that write the whole table of
//! clusters: a refresh and a TRUNCATE take it alone.

use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys::Oid;

use super::kept_table::KeptTable;
use crate::trigger::in_progress::{Claim, claim, ended, enter_all, place_number, table_number};
use crate::trigger::scope::Scope;
use simhash_hamming::parts::Hash;
use simhash_pg::catalog::table::{self, Column, OpenTable, is_temporary};
use simhash_pg::catalog::table_name::{self, TableName};
use simhash_pg::process::advisory_lock::{lock_until_commit, share_until_commit};
use simhash_pg::process::error::Error;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_pg::sql::type_hash::TypeHash;
use simhash_pg::sql::value::Value;
use simhash_trigger::in_progress::Compared;
use simhash_trigger::kept_options::{KeptOptions, parse};
use simhash_trigger::scope::combined;

/// The number of the advisory lock of a table of clusters, in the extension's class of locks.
pub const CLUSTERS: u32 = u32::MAX;
/// Stands for the columns of a table of clusters: the first for rows, the second for clusters.
const ROWS: u16 = 0;
const IDS: u16 = 1;

/// What the transaction of a trigger's rows waits for.
pub struct Claims {
    pub scope: Scope,
    /// The table whose rows are clustered, and the table of clusters.
    tables: [Oid; 2],
    /// The table of decisions.
    decisions: Option<Oid>,
    /// Bits.
    radius: u32,
    /// None for a type of keys without a hash function: all clusters count as one.
    hash: Option<TypeHash>,
}

impl Claims {
    pub fn new(call: &TriggerCall<'_>, kept: &KeptTable, key: &Column, scope: Scope) -> Self {
        let options = &kept.options;
        refuse_others(call, options, kept.clusters);
        Self {
            scope,
            tables: [kept.relation, kept.clusters],
            decisions: kept.decisions,
            radius: options.radius,
            hash: TypeHash::for_column(key),
        }
    }

    /// Returns the old and the new version of the row of a call, as rows in progress, given the
    /// hashes of those that are compared with others.
    pub fn rows(
        &self,
        call: &TriggerCall<'_>,
        old: Option<Hash>,
        new: Option<Hash>,
    ) -> impl Iterator<Item = Compared> {
        let old = old.and_then(|old| Some((old, self.scope.of_old(call)?)));
        let new = new.and_then(|new| Some((new, self.scope.of_new(call)?)));
        let clusters = self.tables[1];
        let row = move |(hash, scope): (Hash, u64)| Compared {
            hash,
            place: place_number(clusters, ROWS, scope),
            table: table_number(clusters, ROWS),
            radius: self.radius,
        };
        [old, new].into_iter().flatten().map(row)
    }

    /// Enters rows, and waits for the transactions that have entered near ones.
    pub fn enter(&self, rows: &[Compared]) {
        self.share();
        if self.is_alone() {
            return;
        }
        let rows_name = table::name(self.tables[0]).unwrap_or_default();
        enter_all(rows, &self.tables, |_| {
            format!("while comparing rows of \"{rows_name}\" with uncommitted rows")
        });
    }

    /// Has the clusters with the ids that `read` finds for this transaction alone until it ends,
    /// and returns what `read` has found. `read` is called again, with a new snapshot, as long as
    /// others may have changed what it finds.
    pub fn hold<'a, R>(&self, mut read: impl FnMut() -> Option<(Value<'a>, R)>) -> Option<R> {
        let mut held: Vec<Hash> = Vec::new();
        loop {
            let before = ended();
            let (ids, found) = read()?;
            if self.is_alone() {
                return Some(found);
            }
            let rows = self.clusters(ids);
            if rows.iter().all(|row| held.contains(&row.hash)) {
                return Some(found);
            }
            let claimed = claim(&rows, &self.tables, |_| {
                let clusters = table::name(self.tables[1]).unwrap_or_default();
                format!("while another transaction changes the same cluster in \"{clusters}\"")
            });
            match claimed {
                Claim::Known => return Some(found),
                Claim::Entered(after) if after == before => return Some(found),
                Claim::Entered(_) => held = rows.into_iter().map(|row| row.hash).collect(),
                Claim::Waited => held.clear(),
            }
        }
    }

    /// Returns whether others cannot write the table of clusters.
    fn is_alone(&self) -> bool {
        is_temporary(self.tables[1])
    }

    /// Keeps out those that write the whole table of clusters. A TRUNCATE of the decisions locks
    /// these first, so they are locked first here too.
    fn share(&self) {
        self.decisions.into_iter().for_each(OpenTable::lock);
        share_until_commit(self.tables[1], CLUSTERS);
    }

    /// Returns clusters as they are entered, given an array of their ids.
    fn clusters(&self, ids: Value<'_>) -> Vec<Compared> {
        let clusters = self.tables[1];
        let hash = |id| self.hash.as_ref().map_or(0, |hash| hash.of_value(id));
        let mut rows: Vec<Compared> = (ids.array().items.into_iter().flatten())
            .map(|id| Compared {
                hash: Hash::Fingerprint(combined([hash(id).into()])),
                place: place_number(clusters, IDS, 0),
                table: table_number(clusters, ROWS),
                radius: 0,
            })
            .collect();
        rows.sort_unstable_by(|a, b| a.hash.cmp(&b.hash));
        rows.dedup_by(|a, b| a.hash == b.hash);
        rows
    }

    /// Has all clusters for this transaction alone until it ends.
    pub fn lock_whole(&self) {
        lock_until_commit(self.tables[1], CLUSTERS);
    }
}

/// Refuses a trigger if another one makes other clusters in the same table.
fn refuse_others(call: &TriggerCall<'_>, options: &KeptOptions, clusters: Oid) {
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

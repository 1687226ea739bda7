//! What a transaction waits for and has for itself until it ends, before clusters are answered:
//! rows in progress ([`crate::trigger::in_progress`]) and locks. `answer` calls it. [`super`] says why
//! this suffices.

use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys::Oid;

use super::kept_table::KeptTable;
use crate::trigger::hash_column::Scope;
use crate::trigger::in_progress::{
    claim, ended, enter_all, place_number, table_number, wait_for_earlier,
};
use simhash_hamming::parts::Hash;
use simhash_pg::catalog::table::{self, OpenTable, is_temporary};
use simhash_pg::catalog::table_name::{self, TableName};
use simhash_pg::process::error::Error;
use simhash_pg::process::transaction::{lock_until_commit, share_until_commit};
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::in_progress::{Compared, Wait, pieces};
use simhash_trigger::kept_options::{KeptOptions, parse};

/// The number of the lock of a whole table of clusters, in the extension's class of locks. Each
/// transaction of a trigger shares it from its first row to its end; a refresh and a TRUNCATE have it
/// alone.
pub const CLUSTERS: u32 = u32::MAX;
/// How many locks the scopes of a table share: a transaction has no more.
const SCOPE_LOCKS: u32 = 64;
/// How often a statement looks whether its rows matter before it takes the lock: others may have
/// ended meanwhile. One of more than a few rows looks once.
const LOOKS: usize = 8;
const FEW: usize = 64;

/// What the transaction of a trigger's rows waits for.
pub struct Claims {
    pub scope: Scope,
    /// The table whose rows are clustered, and the table of clusters.
    tables: [Oid; 2],
    /// The table of decisions.
    decisions: Option<Oid>,
    /// Bits.
    radius: u32,
}

impl Claims {
    pub fn new(call: &TriggerCall<'_>, kept: &KeptTable, scope: Scope) -> Self {
        let options = &kept.options;
        refuse_others(call, options, kept.clusters);
        Self {
            scope,
            tables: [kept.relation, kept.clusters],
            decisions: kept.decisions,
            radius: options.radius,
        }
    }

    /// Returns the old and the new version of the row of a call, as rows in progress.
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
            place: place_number(clusters, 0, scope),
            table: table_number(clusters, 0),
            radius: self.radius,
        };
        [old, new].into_iter().flatten().map(row)
    }

    /// Prepares an answer, and returns whether one is needed: not if the rows do not matter, which
    /// `matter` finds out with a new snapshot. Then nothing is locked.
    pub fn prepare(&self, rows: &[Compared], matter: impl Fn() -> bool) -> bool {
        if is_temporary(self.tables[1]) {
            return matter();
        }
        // A TRUNCATE of the decisions locks these first, so they are locked first here too.
        self.decisions.into_iter().for_each(OpenTable::lock);
        share_until_commit(self.tables[1], CLUSTERS);
        let context = |_: &Wait| {
            let rows = table::name(self.tables[0]).unwrap_or_default();
            format!("while comparing rows of \"{rows}\" with uncommitted rows")
        };
        // `ended` does not count these. No more of them begin, so none ends after a snapshot from now on.
        wait_for_earlier(&self.tables, context);
        // A judgement links rows that are not near, so each change is answered where people judge. And
        // more rows than one piece cannot be claimed.
        let is_looked_at = self.decisions.is_none() && pieces(rows).nth(1).is_none();
        if is_looked_at {
            for _ in 0..if rows.len() > FEW { 1 } else { LOOKS } {
                let seen = ended();
                if matter() {
                    break;
                }
                if claim(rows, seen, context) {
                    return false;
                }
            }
        }
        let mut locks: Vec<u32> = match self.decisions {
            Some(_) => vec![0],
            None => rows.iter().map(|row| row.place % SCOPE_LOCKS).collect(),
        };
        locks.sort_unstable();
        locks.dedup();
        for lock in locks {
            lock_until_commit(self.tables[1], lock);
        }
        enter_all(rows, context);
        is_looked_at || self.decisions.is_some() || matter()
    }

    /// Locks all clusters until the transaction ends.
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
            true if !same(&other.across, &options.across) => {
                ("name different columns in \"across\"", "across")
            }
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

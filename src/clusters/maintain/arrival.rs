//! The arrival of a row: it joins the clusters of the rows near it, which become one.

use pgrx::pg_sys;

use super::answered;
use super::maintained::Maintained;
use simhash_pg::catalog::privilege::{SELECT, has_row_security, may};
use simhash_pg::catalog::table;
use simhash_pg::spi::saved_query::{SavedQuery, Sees};
use simhash_pg::sql::trigger::TriggerCall;
use simhash_pg::sql::value::Value;

pub struct Arrival {
    is_stored: SavedQuery,
    any_near: SavedQuery,
    is_taken: SavedQuery,
    elsewhere: SavedQuery,
    strangers: SavedQuery,
    ids: SavedQuery,
    unite: SavedQuery,
    join_known: SavedQuery,
    join_settled: SavedQuery,
    /// The table of the row itself, where that is a partition.
    leaf: pg_sys::Oid,
}

impl Arrival {
    pub fn new(call: &TriggerCall<'_>, of: &Maintained) -> Self {
        let statement = &of.statement;
        let types = &*statement.types;
        let mut with_known = statement.types.clone();
        with_known.push(types[0]);
        let leaf = call.relation().oid();
        let leaf_name = table::qualified_name(leaf).unwrap_or_default();
        let texts = [
            statement.is_stored(),
            statement.any_near(),
            statement.is_taken(),
            statement.elsewhere(),
            statement.strangers(),
            statement.ids(),
            statement.unite(),
            statement.join_settled(&leaf_name),
        ];
        let [a, b, c, d, e, f, g, h] = texts.each_ref().map(|text| (&**text, types));
        let join_known = statement.join_known();
        let queries = [a, b, c, d, e, f, g, h, (&*join_known, &*with_known)];
        let [
            is_stored,
            any_near,
            is_taken,
            elsewhere,
            strangers,
            ids,
            unite,
            join_settled,
            join_known,
        ] = SavedQuery::all(queries, true);
        Self {
            is_stored,
            any_near,
            is_taken,
            elsewhere,
            strangers,
            ids,
            unite,
            join_known,
            join_settled,
            leaf,
        }
    }

    /// Returns whether there is an entry with the key, or a cluster named after it.
    pub fn is_taken(&self, call: &TriggerCall<'_>, row: &[Option<Value<'_>>]) -> bool {
        finds(&self.is_taken, call, row)
    }

    /// Returns the ids of the clusters of the row and of those near it, as an array.
    pub fn ids<'a>(&self, call: &TriggerCall<'a>, row: &[Option<Value<'_>>]) -> Option<Value<'a>> {
        let ids = self.ids.first_row(call.args(), row, Sees::Latest);
        ids.and_then(|[ids]| ids)
    }

    /// Returns whether the new version is stored, and any row is near it.
    pub fn counts(&self, call: &TriggerCall<'_>, row: &[Option<Value<'_>>]) -> bool {
        // When a deferred trigger runs, or one after another trigger, the row may have been deleted
        // or updated. A new fingerprint fires the trigger for itself, but a change of other columns
        // need not (UPDATE OF): the row counts if one with its key and its fingerprint is stored.
        (call.new_row_is_live() || finds(&self.is_stored, call, row))
            && finds(&self.any_near, call, row)
    }

    /// Puts the row into the cluster of an equal row, if there is one that is settled. Returns
    /// whether there was.
    pub fn joins_equal(
        &self,
        call: &TriggerCall<'_>,
        of: &Maintained,
        row: &[Option<Value<'_>>],
    ) -> bool {
        // Rows for which a trigger with a condition was not fired are not settled.
        if call.has_condition() || !of.sees_all() {
            return false;
        }
        let Some((fingerprint, scope)) = place(call, of, row) else {
            return false;
        };
        let known = answered::known(of.clusters.oid, fingerprint, scope, &of.key_type, |known| {
            let mut row = row.to_vec();
            row.push(Some(known));
            finds(&self.join_known, call, &row)
        });
        // The writer of a version is a system column: a privilege on some columns is not enough.
        known == Some(true)
            || may(self.leaf, SELECT, &[])
                && !has_row_security(self.leaf)
                && finds(&self.join_settled, call, row)
    }

    /// Returns the ids of the cluster of the row and of those that are named after it, as an array,
    /// if one of them has a member in another scope; with `near` also of the clusters of rows near
    /// it.
    pub fn strangers<'a>(
        &self,
        call: &TriggerCall<'a>,
        row: &[Option<Value<'_>>],
        near: bool,
    ) -> Option<Value<'a>> {
        let query = match near {
            true => &self.strangers,
            false => &self.elsewhere,
        };
        let ids = query.first_row(call.args(), row, Sees::Latest);
        ids.and_then(|[ids]| ids)
    }

    /// Unites the clusters of the row and of those near it.
    pub fn unite(&self, call: &TriggerCall<'_>, of: &Maintained, row: &[Option<Value<'_>>]) {
        answered::unites(of.clusters.oid);
        finds(&self.unite, call, row);
        if let (Some((fingerprint, scope)), Some(key)) = (place(call, of, row), row[0]) {
            answered::remember(of.clusters.oid, fingerprint, scope, key, &of.key_type);
        }
    }
}

/// Returns the fingerprint and a hash of the scope.
fn place(call: &TriggerCall<'_>, of: &Maintained, row: &[Option<Value<'_>>]) -> Option<(i64, u64)> {
    Some((row[1]?.integer(), of.scopes.scope.of_new(call)?))
}

/// Returns whether the query returns a row.
fn finds(query: &SavedQuery, call: &TriggerCall<'_>, row: &[Option<Value<'_>>]) -> bool {
    let found = query.first_row::<0>(call.args(), row, Sees::Latest);
    found.is_some()
}

//! The arrival of a row: it joins the clusters of the rows near it, which become one cluster. `row`
//! calls it when it has entered the row. All members of the united cluster have one name, its
//! smallest key.

use pgrx::pg_sys;

use super::answered_rows;
use super::maintained::Maintained;
use simhash_pg::catalog::privilege::{SELECT, has_row_security, may};
use simhash_pg::catalog::table;
use simhash_pg::spi::saved_query::{SavedQuery, Sees};
use simhash_pg::sql::trigger::TriggerCall;
use simhash_pg::sql::value::Value;

pub struct Arrival {
    is_stored: SavedQuery,
    any_near: SavedQuery,
    own_ids: SavedQuery,
    own_ids_across_scopes: SavedQuery,
    ids_across_scopes: SavedQuery,
    ids: SavedQuery,
    to_unite: SavedQuery,
    a_few_to_unite: SavedQuery,
    unite: SavedQuery,
    leave: SavedQuery,
    join_remembered: SavedQuery,
    join_answered: SavedQuery,
    /// The table of the row itself, where that is a partition.
    leaf: pg_sys::Oid,
}

impl Arrival {
    pub fn new(call: &TriggerCall<'_>, maintained: &Maintained) -> Self {
        let statement = &maintained.statement;
        let types = &*statement.types;
        let mut types_with_key = statement.types.clone();
        types_with_key.push(types[0]);
        let leaf = call.relation().oid();
        let leaf_name = table::qualified_name(leaf).unwrap_or_default();
        let texts = [
            statement.is_stored(),
            statement.any_near(),
            statement.own_ids(),
            statement.own_ids_across_scopes(),
            statement.ids_across_scopes(),
            statement.ids(),
            statement.to_unite(),
            statement.a_few_to_unite(),
            statement.unite(),
            statement.leave(),
            statement.join_answered(&leaf_name),
            statement.join_remembered(),
        ];
        let mut queries = texts.each_ref().map(|text| (&**text, types));
        queries[11].1 = &types_with_key;
        let [
            is_stored,
            any_near,
            own_ids,
            own_ids_across_scopes,
            ids_across_scopes,
            ids,
            to_unite,
            a_few_to_unite,
            unite,
            leave,
            join_answered,
            join_remembered,
        ] = SavedQuery::all(queries, true);
        Self {
            is_stored,
            any_near,
            own_ids,
            own_ids_across_scopes,
            ids_across_scopes,
            ids,
            to_unite,
            a_few_to_unite,
            unite,
            leave,
            join_remembered,
            join_answered,
            leaf,
        }
    }

    /// Returns the id of the cluster of the row, or of one that is named after it, and its key, as an
    /// array, if there is one.
    pub fn own_ids<'a>(
        &self,
        call: &TriggerCall<'a>,
        row: &[Option<Value<'_>>],
    ) -> Option<Value<'a>> {
        ids(&self.own_ids, call, row)
    }

    /// Returns whether there is an entry with the key, or a cluster named after it.
    pub fn has_entry(&self, call: &TriggerCall<'_>, row: &[Option<Value<'_>>]) -> bool {
        self.own_ids(call, row).is_some()
    }

    /// Returns the ids of the clusters of the row and of those near it, as an array.
    pub fn ids<'a>(&self, call: &TriggerCall<'a>, row: &[Option<Value<'_>>]) -> Option<Value<'a>> {
        ids(&self.ids, call, row)
    }

    /// Returns what [`Self::unite`] changes, as an array.
    pub fn to_unite<'a>(
        &self,
        call: &TriggerCall<'a>,
        row: &[Option<Value<'_>>],
    ) -> Option<Value<'a>> {
        ids(&self.to_unite, call, row)
    }

    /// Returns the same for a few of the rows near it.
    pub fn a_few_to_unite<'a>(
        &self,
        call: &TriggerCall<'a>,
        row: &[Option<Value<'_>>],
    ) -> Option<Value<'a>> {
        ids(&self.a_few_to_unite, call, row)
    }

    /// Returns whether the new version is stored, and any row is near it.
    pub fn has_near(&self, call: &TriggerCall<'_>, row: &[Option<Value<'_>>]) -> bool {
        // When a deferred trigger runs, or one after another trigger, the row may have been deleted
        // or updated. A new fingerprint fires the trigger for itself, but a change of other columns
        // need not (UPDATE OF): the row counts if one with its key and its fingerprint is stored.
        (call.new_row_is_live() || returns_row(&self.is_stored, call, row))
            && returns_row(&self.any_near, call, row)
    }

    /// Puts the row into the cluster of an equal row, if there is one that was answered. Returns
    /// whether there was.
    pub fn joins_equal(
        &self,
        call: &TriggerCall<'_>,
        maintained: &Maintained,
        row: &[Option<Value<'_>>],
    ) -> bool {
        // Rows for which a trigger with a condition was not fired were not answered.
        if call.has_condition() || !maintained.sees_all() {
            return false;
        }
        let mut has_joined = false;
        loop {
            // Nobody else sees the new entry, so the cluster can be held afterwards. Others may
            // have changed it meanwhile: then the row is taken out again.
            let joined = (maintained.claims).hold(|| {
                let id = self.join(call, maintained, row);
                has_joined |= id.is_some();
                id
            });
            match joined {
                Some(_) => return true,
                None if !has_joined => return false,
                None => _ = returns_row(&self.leave, call, row),
            }
            has_joined = false;
        }
    }

    /// Returns the id of the cluster that the row has joined, or in which it was, as an array.
    fn join<'a>(
        &self,
        call: &TriggerCall<'a>,
        maintained: &Maintained,
        row: &[Option<Value<'_>>],
    ) -> Option<Value<'a>> {
        let (fingerprint, scope) = fingerprint_and_scope(call, maintained, row)?;
        let joined = answered_rows::with_key(maintained.clusters.oid, fingerprint, scope, |key| {
            let mut row = row.to_vec();
            row.push(Some(key));
            ids(&self.join_remembered, call, &row)
        });
        // The writer of a version is a system column: a privilege on some columns is not enough.
        joined.flatten().or_else(|| {
            let may_read = may(self.leaf, SELECT, &[]) && !has_row_security(self.leaf);
            may_read.then(|| ids(&self.join_answered, call, row))?
        })
    }

    /// Returns the ids of the cluster of the row and of those that are named after it, as an array,
    /// if one of them has a member in another scope; with `near` also of the clusters of rows near
    /// it.
    pub fn ids_across_scopes<'a>(
        &self,
        call: &TriggerCall<'a>,
        row: &[Option<Value<'_>>],
        near: bool,
    ) -> Option<Value<'a>> {
        let query = match near {
            true => &self.ids_across_scopes,
            false => &self.own_ids_across_scopes,
        };
        ids(query, call, row)
    }

    /// Unites the clusters of the row and of those near it.
    pub fn unite(
        &self,
        call: &TriggerCall<'_>,
        maintained: &Maintained,
        row: &[Option<Value<'_>>],
    ) {
        answered_rows::note_united(maintained.clusters.oid);
        returns_row(&self.unite, call, row);
        if let (Some((fingerprint, scope)), Some(key)) =
            (fingerprint_and_scope(call, maintained, row), row[0])
        {
            answered_rows::remember(
                maintained.clusters.oid,
                fingerprint,
                scope,
                key,
                &maintained.key_type,
            );
        }
    }
}

/// Returns the fingerprint and a hash of the scope.
fn fingerprint_and_scope(
    call: &TriggerCall<'_>,
    maintained: &Maintained,
    row: &[Option<Value<'_>>],
) -> Option<(i64, u64)> {
    Some((row[1]?.integer(), maintained.claims.scope.of_new(call)?))
}

/// Returns the array that the query returns.
fn ids<'a>(
    query: &SavedQuery,
    call: &TriggerCall<'a>,
    row: &[Option<Value<'_>>],
) -> Option<Value<'a>> {
    let ids = query.first_row(call.args(), row, Sees::Latest);
    ids.and_then(|[ids]| ids)
}

/// Returns whether the query returns a row.
fn returns_row(query: &SavedQuery, call: &TriggerCall<'_>, row: &[Option<Value<'_>>]) -> bool {
    let found = query.first_row::<0>(call.args(), row, Sees::Latest);
    found.is_some()
}

//! The departure of a row: it leaves behind its entry, the name of its cluster, and the rows that
//! it connected.

use std::cell::OnceCell;

use super::answered_rows;
use super::maintained::Maintained;
use super::statement::Statement;
use simhash_pg::spi::saved_query::{SavedQuery, Sees};
use simhash_pg::sql::trigger::TriggerCall;
use simhash_pg::sql::value::Value;

pub struct Departure {
    /// Made when first needed: a trigger may fire for INSERT alone.
    queries: OnceCell<DepartureQueries>,
}

/// The parameters are those of [`Statement`], for the old version.
struct DepartureQueries {
    own_ids: SavedQuery,
    has_key: SavedQuery,
    has_equal_row: SavedQuery,
    ids: SavedQuery,
    forget: SavedQuery,
    leave: SavedQuery,
    names_cluster: SavedQuery,
    rename: SavedQuery,
}

impl DepartureQueries {
    fn new(statement: &Statement) -> Self {
        let texts = [
            statement.own_ids(),
            statement.has_key(),
            statement.has_equal_row(),
            statement.ids(),
            statement.forget(),
            statement.leave(),
            statement.names_cluster(),
            statement.rename(),
        ];
        let queries = texts.each_ref().map(|text| (&**text, &*statement.types));
        let [
            own_ids,
            has_key,
            has_equal_row,
            ids,
            forget,
            leave,
            names_cluster,
            rename,
        ] = SavedQuery::all(queries, true);
        Self {
            own_ids,
            has_key,
            has_equal_row,
            ids,
            forget,
            leave,
            names_cluster,
            rename,
        }
    }
}

impl Departure {
    pub fn new() -> Self {
        Self {
            queries: OnceCell::new(),
        }
    }

    /// Takes the old version of a row out of its cluster. Returns the ids of the clusters that it
    /// may have connected, to be computed again. `departs` says that it was compared with
    /// others, `keeps_key` that the new version has its key.
    pub fn remove<'a>(
        &self,
        call: &TriggerCall<'a>,
        maintained: &Maintained,
        row: &[Option<Value<'_>>],
        departs: bool,
        keeps_key: bool,
    ) -> Option<Value<'a>> {
        let queries = self
            .queries
            .get_or_init(|| DepartureQueries::new(&maintained.statement));
        let run = |query: &SavedQuery| query.first_row::<0>(call.args(), row, Sees::Latest);
        // A row in no cluster has connected none. Its entry may have gone with that of another
        // row of the statement, and then its cluster was computed without it.
        let claims = &maintained.claims;
        let ids = |query: &SavedQuery| {
            let ids = query.first_row(call.args(), row, Sees::Latest);
            ids.and_then(|[ids]| ids)
        };
        claims.hold(|| ids(&queries.own_ids))?;
        // The row that is stored under the key by now may have been answered already.
        let has_followed = match keeps_key {
            true => !call.new_row_is_live(),
            false => run(&queries.has_key).is_some(),
        };
        // An equal row is near the same rows, and connects the same ones. But a row that this
        // transaction has united with this one may be in the cluster only because this trigger had
        // not run yet.
        let is_torn = has_followed
            || departs
                && (answered_rows::has_united(maintained.clusters.oid)
                    || run(&queries.has_equal_row).is_none());
        let torn = is_torn.then(|| claims.hold(|| ids(&queries.ids)));
        if !keeps_key && !has_followed && maintained.clusters.may_delete() {
            run(&queries.forget);
        }
        if keeps_key && !is_torn {
            run(&queries.leave);
        }
        if let Some(ids) = torn {
            return ids;
        }
        if run(&queries.names_cluster).is_some() {
            run(&queries.rename);
        }
        None
    }
}

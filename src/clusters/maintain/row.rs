//! Answers one row of a trigger: the cluster that it leaves and the one that it joins. `trigger`
//! calls it, and `deferred_rows` when the statement has ended. The row is among those in progress
//! before it reads a cluster, and it holds a cluster before it changes it.

use std::cell::{OnceCell, RefCell};

use super::answered_rows;
use super::arrival::Arrival;
use super::claims::ClaimedTables;
use super::deferred_rows::defer;
use super::departure::Departure;
use super::maintained::Maintained;
use super::regroup::Regroup;
use crate::trigger::call::{Known, remembered};
use simhash_pg::catalog::invalidation::Current;
use simhash_pg::sql::trigger::{Event, TriggerCall};
use simhash_pg::sql::value::Value;
use simhash_trigger::in_progress::Compared;

/// State that a session keeps for a trigger.
struct RowTrigger {
    maintained: Maintained,
    arrival: Arrival,
    departure: Departure,
    /// Made when first needed.
    regroup: OnceCell<Regroup>,
}

thread_local! {
    static KNOWN: Known<RowTrigger> = RefCell::default();
}

/// A version of a row.
struct Version<'a> {
    key: Option<Value<'a>>,
    fingerprint: Option<Value<'a>>,
    scope: Vec<Option<Value<'a>>>,
}

impl<'a> Version<'a> {
    fn old(call: &TriggerCall<'a>, maintained: &Maintained) -> Self {
        Self {
            key: call.old_value(&maintained.key),
            fingerprint: call.old_value(&maintained.fingerprint),
            scope: maintained.claims.scope.old_parameters(call),
        }
    }

    fn new(call: &TriggerCall<'a>, maintained: &Maintained) -> Self {
        Self {
            key: call.new_value(&maintained.key),
            fingerprint: call.new_value(&maintained.fingerprint),
            scope: maintained.claims.scope.parameters(call),
        }
    }

    /// Returns whether the version is compared with others.
    fn is_compared(&self) -> bool {
        self.fingerprint.is_some() && self.scope.iter().all(Option::is_some)
    }

    /// Returns the fingerprint of a version that is compared with others.
    fn compared(version: &Option<Self>) -> Option<i64> {
        let version = version.as_ref().filter(|version| version.is_compared())?;
        version.fingerprint.map(|fingerprint| fingerprint.integer())
    }

    fn has_key_of(&self, other: &Self) -> bool {
        let image = |version: &Self| version.key.map(|key| key.image());
        image(self) == image(other)
    }

    fn equals(&self, other: &Self) -> bool {
        let image = |value: &Option<Value<'a>>| value.map(|value| value.image());
        self.has_key_of(other)
            && image(&self.fingerprint) == image(&other.fingerprint)
            && self
                .scope
                .iter()
                .map(image)
                .eq(other.scope.iter().map(image))
    }

    /// Returns the parameters of the queries of [`super::statement`].
    fn parameters(&self) -> Vec<Option<Value<'a>>> {
        let mut parameters = vec![self.key, self.fingerprint];
        parameters.extend(&self.scope);
        parameters
    }
}

/// Answers the row of a call, at once or when its statement ends.
pub fn maintain(call: &TriggerCall<'_>) {
    let trigger = remembered(&KNOWN, call, || RowTrigger::new(call));
    let claims = &trigger.maintained.claims;
    let Some((old, new)) = trigger.changed(call) else {
        return;
    };
    let rows = claims.rows(call, Version::compared(&old), Version::compared(&new));
    // A deferred trigger runs when there is no statement.
    if call.is_deferrable() {
        claims.tables.enter(&rows.collect::<Vec<_>>());
        return trigger.answer(call, old, new);
    }
    defer(call, claims.tables, rows);
}

/// Returns clusters that the row of a call is likely to change, as rows in progress: most rows near
/// it are in one.
pub fn likely_clusters(call: &TriggerCall<'_>) -> Option<(ClaimedTables, Vec<Compared>)> {
    let trigger = remembered(&KNOWN, call, || RowTrigger::new(call));
    let (old, new) = trigger.changed(call)?;
    let (arrival, claims) = (&trigger.arrival, &trigger.maintained.claims);
    (trigger.maintained.clusters).check_rights(call, false);
    let old = old.and_then(|old| arrival.own_ids(call, &old.parameters()));
    let new = new.filter(Version::is_compared);
    let new = new.and_then(|new| arrival.a_few_to_unite(call, &new.parameters()));
    let ids = [old, new].into_iter().flatten();
    let clusters = ids.flat_map(|ids| claims.clusters(ids)).collect();
    Some((claims.tables, clusters))
}

/// Answers the row of a call, which is among those in progress.
pub fn answer(call: &TriggerCall<'_>) {
    let trigger = remembered(&KNOWN, call, || RowTrigger::new(call));
    if let Some((old, new)) = trigger.changed(call) {
        trigger.answer(call, old, new);
    }
}

impl RowTrigger {
    fn new(call: &TriggerCall<'_>) -> (Current, Self) {
        let (current, maintained) = Maintained::new(call);
        let trigger = Self {
            arrival: Arrival::new(call, &maintained),
            departure: Departure::new(),
            regroup: OnceCell::new(),
            maintained,
        };
        (current, trigger)
    }

    /// Returns the old and the new version of the row, unless they are alike.
    fn changed<'a>(
        &self,
        call: &TriggerCall<'a>,
    ) -> Option<(Option<Version<'a>>, Option<Version<'a>>)> {
        let maintained = &self.maintained;
        let old = (call.event() != Event::Insert).then(|| Version::old(call, maintained));
        let new = (call.event() != Event::Delete).then(|| Version::new(call, maintained));
        match (&old, &new) {
            (Some(old), Some(new)) if old.equals(new) => None,
            _ => Some((old.filter(|old| old.key.is_some()), new)),
        }
    }

    fn answer(&self, call: &TriggerCall<'_>, old: Option<Version>, new: Option<Version>) {
        let maintained = &self.maintained;
        let arrives = new.as_ref().filter(|new| new.is_compared());
        if arrives.is_some_and(|new| new.key.is_none()) {
            maintained.null_key(call);
        }
        let departs = old.as_ref().is_some_and(Version::is_compared);
        let keeps_key = match (&old, &new) {
            (Some(old), Some(new)) => old.has_key_of(new),
            _ => false,
        };
        // There may be an entry with the key already, of another row or of another scope.
        let with_entry = match (&old, &new) {
            (Some(_), Some(new)) if !keeps_key => Some(new),
            // There seldom is an entry of a row that was compared with none.
            (Some(old), None) if !departs => Some(old),
            _ => None,
        };
        if !departs && arrives.is_none() && with_entry.is_none() {
            return;
        }
        maintained
            .clusters
            .check_rights(call, old.is_some() && !keeps_key);
        let with_entry = with_entry.filter(|version| self.has_entry(call, version));
        if let Some(old) = &old
            && (departs || !keeps_key)
        {
            answered_rows::forget(maintained.clusters.oid);
            let ids =
                (self.departure).remove(call, maintained, &old.parameters(), departs, keeps_key);
            self.regroup(call, ids);
        }
        if let Some(with_entry) = with_entry {
            let row = with_entry.parameters();
            let ids = maintained.claims.hold(|| self.arrival.ids(call, &row));
            self.regroup(call, ids);
        }
        if let Some(new) = arrives {
            self.arrive(call, &new.parameters(), old.is_none());
        }
    }

    fn arrive(&self, call: &TriggerCall<'_>, row: &[Option<Value<'_>>], is_new: bool) {
        let (maintained, arrival) = (&self.maintained, &self.arrival);
        let has_scope = !maintained.claims.scope.is_everything();
        let has_near = arrival.has_near(call, row);
        if has_near && arrival.joins_equal(call, maintained, row) {
            return;
        }
        let claims = &maintained.claims;
        if has_near {
            claims.hold(|| arrival.to_unite(call, row));
        }
        // There may be an entry with the key of a new row, if no trigger has answered the change of
        // an earlier row with that key.
        let may_span_scopes = has_scope && (has_near || is_new && arrival.has_entry(call, row));
        let ids_across_scopes = || arrival.ids_across_scopes(call, row, has_near);
        if may_span_scopes && ids_across_scopes().is_some() {
            self.regroup(call, claims.hold(ids_across_scopes));
        }
        if has_near {
            arrival.unite(call, maintained, row);
        }
    }

    fn has_entry(&self, call: &TriggerCall<'_>, version: &Version) -> bool {
        version.key.is_some() && self.arrival.has_entry(call, &version.parameters())
    }

    fn regroup(&self, call: &TriggerCall<'_>, ids: Option<Value<'_>>) {
        let Some(ids) = ids else {
            return;
        };
        let regroup = self.regroup.get_or_init(|| Regroup::new(&self.maintained));
        regroup.run(call, &self.maintained, ids);
    }
}

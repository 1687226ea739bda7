//! A row trigger answers one row: what it leaves and what it joins.

use std::cell::{OnceCell, RefCell};

use super::answered;
use super::arrival::Arrival;
use super::departure::Departure;
use super::later::put_off;
use super::maintained::Maintained;
use super::regroup::Regroup;
use crate::trigger::call::{Known, remembered};
use simhash_pg::catalog::invalidation::Current;
use simhash_pg::sql::trigger::{Event, TriggerCall};
use simhash_pg::sql::value::Value;

/// State that a session keeps for a trigger.
struct RowTrigger {
    of: Maintained,
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
    fn old(call: &TriggerCall<'a>, of: &Maintained) -> Self {
        Self {
            key: call.old_value(&of.key),
            fingerprint: call.old_value(&of.fingerprint),
            scope: of.scopes.scope.old_parameters(call),
        }
    }

    fn new(call: &TriggerCall<'a>, of: &Maintained) -> Self {
        Self {
            key: call.new_value(&of.key),
            fingerprint: call.new_value(&of.fingerprint),
            scope: of.scopes.scope.parameters(call),
        }
    }

    /// Returns whether the version is compared with others.
    fn counts(&self) -> bool {
        self.fingerprint.is_some() && self.scope.iter().all(Option::is_some)
    }

    fn has_key_of(&self, other: &Self) -> bool {
        let image = |version: &Self| version.key.map(|key| key.image());
        image(self) == image(other)
    }

    fn is_as(&self, other: &Self) -> bool {
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
    let scopes = &trigger.of.scopes;
    let Some((old, new)) = trigger.changed(call) else {
        return;
    };
    // A deferred trigger runs when there is no statement.
    if scopes.scope.is_everything() || call.is_deferrable() {
        return trigger.answer(call, old, new);
    }
    let counts = |version: &Option<Version>| version.as_ref().is_some_and(Version::counts);
    let numbers = scopes.numbers(call, counts(&old), counts(&new));
    put_off(call, trigger.of.clusters.oid, numbers);
}

/// Answers the row of a call.
pub fn answer(call: &TriggerCall<'_>) {
    let trigger = remembered(&KNOWN, call, || RowTrigger::new(call));
    if let Some((old, new)) = trigger.changed(call) {
        trigger.answer(call, old, new);
    }
}

impl RowTrigger {
    fn new(call: &TriggerCall<'_>) -> (Current, Self) {
        let (current, of) = Maintained::new(call);
        let trigger = Self {
            arrival: Arrival::new(call, &of),
            departure: Departure::new(),
            regroup: OnceCell::new(),
            of,
        };
        (current, trigger)
    }

    /// Returns the old and the new version of the row, unless they are alike.
    fn changed<'a>(
        &self,
        call: &TriggerCall<'a>,
    ) -> Option<(Option<Version<'a>>, Option<Version<'a>>)> {
        let of = &self.of;
        let old = (call.event() != Event::Insert).then(|| Version::old(call, of));
        let new = (call.event() != Event::Delete).then(|| Version::new(call, of));
        match (&old, &new) {
            (Some(old), Some(new)) if old.is_as(new) => None,
            _ => Some((old.filter(|old| old.key.is_some()), new)),
        }
    }

    fn answer(&self, call: &TriggerCall<'_>, old: Option<Version>, new: Option<Version>) {
        let of = &self.of;
        let arrives = new.as_ref().filter(|new| new.counts());
        if arrives.is_some_and(|new| new.key.is_none()) {
            of.null_key(call);
        }
        let departs = old.as_ref().is_some_and(Version::counts);
        let keeps_key = match (&old, &new) {
            (Some(old), Some(new)) => old.has_key_of(new),
            _ => false,
        };
        // There may be an entry with the key already, of another row or of another scope.
        let taken = match (&old, &new) {
            (Some(_), Some(new)) if !keeps_key => Some(new),
            // There seldom is an entry of a row that was compared with none.
            (Some(old), None) if !departs => Some(old),
            _ => None,
        };
        if !departs && arrives.is_none() && taken.is_none() {
            return;
        }
        of.clusters.check_rights(call, old.is_some() && !keeps_key);
        if departs || arrives.is_some() {
            of.scopes.lock(call, departs, arrives.is_some());
        }
        let taken = taken.filter(|version| self.is_taken(call, version));
        if let Some(taken) = taken
            && self.is_elsewhere(call, taken)
        {
            of.scopes.lock_whole();
        }
        if let Some(old) = &old
            && (departs || !keeps_key)
        {
            answered::forget(of.clusters.oid);
            let ids = (self.departure).run(call, of, &old.parameters(), departs, keeps_key);
            self.regroup(call, ids);
        }
        if let Some(taken) = taken {
            self.regroup(call, self.arrival.ids(call, &taken.parameters()));
        }
        if let Some(new) = arrives {
            self.arrive(call, &new.parameters(), old.is_none());
        }
    }

    fn arrive(&self, call: &TriggerCall<'_>, row: &[Option<Value<'_>>], is_new: bool) {
        let (of, arrival) = (&self.of, &self.arrival);
        let has_scope = !of.scopes.scope.is_everything();
        let counts = arrival.counts(call, row);
        if counts && arrival.joins_equal(call, of, row) {
            return;
        }
        // There may be an entry with the key of a new row, if no trigger has answered the change of
        // an earlier row with that key.
        let may_have_strangers = has_scope && (counts || is_new && arrival.is_taken(call, row));
        if may_have_strangers && arrival.strangers(call, row, counts).is_some() {
            of.scopes.lock_whole();
            self.regroup(call, arrival.strangers(call, row, counts));
        }
        if counts {
            arrival.unite(call, of, row);
        }
    }

    /// Returns whether others may change the cluster of the version's key, or one that is named
    /// after it, under locks other than that of its scope.
    fn is_elsewhere(&self, call: &TriggerCall<'_>, version: &Version) -> bool {
        self.of.scopes.scope.is_everything()
            || (self.arrival)
                .strangers(call, &version.parameters(), false)
                .is_some()
    }

    fn is_taken(&self, call: &TriggerCall<'_>, version: &Version) -> bool {
        version.key.is_some() && self.arrival.is_taken(call, &version.parameters())
    }

    fn regroup(&self, call: &TriggerCall<'_>, ids: Option<Value<'_>>) {
        let Some(ids) = ids else {
            return;
        };
        let regroup = self.regroup.get_or_init(|| Regroup::new(&self.of));
        regroup.run(call, &self.of, ids);
    }
}

//! Decides which row a new one is a duplicate of, and lets no other transaction change that before
//! this one has ended. The trigger calls [`FlagState::search`] for each row that it judges. A row
//! that is found is stored, and no other row that is found is nearer; a row that it is marked with
//! has no mark.

use super::near_duplicate::{NearDuplicate, NearDuplicateSearch};
use super::search_query::Candidates;
use super::trigger::FlagState;
use crate::trigger::call::raise_missed_near_duplicate;
use crate::trigger::hash_column::image;
use crate::trigger::in_progress::{Added, leave_out};
use simhash_hamming::parts::Hash;
use simhash_pg::process::backend::in_foreign_key;
use simhash_pg::process::transaction::keeps_its_snapshot;
use simhash_pg::spi::saved_query::Visibility;
use simhash_pg::sql::trigger::{Event, TriggerCall, VersionAddress};
use simhash_pg::sql::value::Value;
use simhash_trigger::flag_options::Mode;
use simhash_trigger::in_progress::{Key, Wait};

impl FlagState {
    /// Returns the row that the new one is a duplicate of. `scope` has its values in the columns of
    /// `within=`.
    pub fn search<'a>(
        &self,
        call: &TriggerCall<'a>,
        hash: &Hash,
        scope: &[Option<Value<'a>>],
        has_lost_its_original: bool,
    ) -> Option<NearDuplicate<'a>> {
        let table = &self.table;
        let updates = call.event() == Event::Update;
        let old_hash = (updates && self.may_be_named()).then(|| self.old_hash(call));
        let added = self.enter(call, hash, old_hash.flatten());
        // An edit is never lost.
        if updates && table.options.mode == Mode::Skip {
            return None;
        }
        let old_address = call.old_address();
        let candidates = match has_lost_its_original {
            true if in_foreign_key() => Candidates::JustWritten,
            true => Candidates::Unmarked,
            false => self.candidates(call),
        };
        let search = self.new_search(call, Some(hash), scope, (old_address.as_ref(), candidates));
        let found = self.settled(call, &search, scope, added.as_ref());
        // The original of other rows stays one.
        let may_have = updates || table.queries.finds_duplicates();
        let has_duplicates = || may_have && self.reads_marks() && search.has_duplicates();
        let found = found.filter(|_| !has_duplicates());
        if found.is_none() && self.is_followed {
            self.remember_unstored(call, hash);
        }
        found
    }

    /// Returns the row to report, when no other transaction can change it until this one has ended.
    fn settled<'a>(
        &self,
        call: &TriggerCall<'a>,
        search: &NearDuplicateSearch<'_, 'a>,
        scope: &[Option<Value<'a>>],
        added: Option<&Added>,
    ) -> Option<NearDuplicate<'a>> {
        let table = &self.table;
        let checks_latest = table.compared.is_some() && keeps_its_snapshot();
        let mut entered = None;
        loop {
            let found = search.any(Visibility::OfIsolationLevel);
            if found.is_none() && checks_latest && search.any(Visibility::Latest).is_some() {
                raise_missed_near_duplicate(&table.name);
            }
            if found.is_none() {
                self.refuse_beside_unstored(call, search.hash(), scope);
            }
            let found = found.filter(|_| !self.is_stored(call, search))?;
            // A row that is left out is not stored.
            if let (Mode::Skip, Some(added)) = (table.options.mode, added) {
                leave_out(added);
            }
            let reported = search.reported(found)?;
            // Another transaction may be about to mark an original that is farther away than rows
            // are compared. It has entered that row as it was.
            let is_far = reported.distance > table.radius;
            let original = (reported.hash.clone()).filter(|_| is_far && entered != reported.hash);
            let added = (original.as_ref()).and_then(|original| self.enter(call, original, None));
            entered = original;
            // A row that row security hides has no fingerprint here.
            let is_marked = table.columns.duplicate_of.is_some()
                && reported.hash.is_some()
                && !reported.key.is_empty();
            if checks_latest && is_marked && !search.is_still_original(&reported) {
                raise_missed_near_duplicate(&table.name);
            }
            let has_waited = added.is_some_and(|added| added.has_waited);
            // ON CONFLICT waits for a transaction that deletes the row, and then stores the new one
            // under its key: the row must stay until this transaction ends.
            let takes_key = table.options.mode == Mode::Conflict
                && call.event() == Event::Insert
                && reported.hash.is_some()
                && !reported.key.is_empty();
            // A foreign key locks it too, and would fail.
            let must_stay = takes_key || is_marked && table.keeps_originals;
            if !has_waited && (!must_stay || search.keep(&reported)) {
                return Some(reported);
            }
        }
    }

    /// Returns whether another transaction may take a stored row, as it was, for the original or for the
    /// row that is there.
    fn may_be_named(&self) -> bool {
        self.table.columns.duplicate_of.is_some() || self.table.options.mode == Mode::Conflict
    }

    /// Enters a row that is not judged, but gets another key: another transaction may be about to name it
    /// by the old one.
    pub fn enter_renamed(&self, call: &TriggerCall<'_>, hash: Option<&Hash>) {
        let is_renamed = || {
            (self.table.columns.key.iter())
                .any(|(_, key)| image(call.old_value(key)) != image(call.new_value(key)))
        };
        if let Some(hash) = hash
            && call.event() == Event::Update
            && self.may_be_named()
            && is_renamed()
        {
            self.enter(call, hash, None);
        }
    }

    /// Enters a hash in the scope of the new row, and the old one if it is given, among the rows in
    /// progress, and waits for those that are near.
    fn enter(&self, call: &TriggerCall<'_>, hash: &Hash, old: Option<Hash>) -> Option<Added> {
        let compared = self.table.compared.as_ref()?;
        let key = self.key_of_new(call);
        let context = |wait: &Wait| self.compares(key, wait.key);
        Some(compared.enter(call, hash, old, key, context))
    }

    fn reads_marks(&self) -> bool {
        self.open.reads_marks(&self.table.queries)
    }

    /// Returns the rows that are searched for a row that is judged because its content is new.
    fn candidates(&self, call: &TriggerCall<'_>) -> Candidates {
        let columns = &self.table.columns;
        let was_marked = |flag| call.old_value(flag).is_some_and(|flag| flag.integer() != 0);
        // Without `duplicate_of=` it is not known which rows are marked because of this one: it stays
        // unmarked beside rows that are marked.
        match (&columns.duplicate_of, &columns.flag) {
            (None, Some(flag))
                if call.event() == Event::Update && !was_marked(flag) && self.reads_marks() =>
            {
                Candidates::Unmarked
            }
            _ => Candidates::All,
        }
    }

    pub fn new_search<'s, 'a: 's>(
        &'s self,
        call: &'s TriggerCall<'a>,
        hash: Option<&'s Hash>,
        scope: &[Option<Value<'a>>],
        (old, candidates): (Option<&'s VersionAddress>, Candidates),
    ) -> NearDuplicateSearch<'s, 'a> {
        let from = (&*self.table, &self.open);
        let judged = old.filter(|_| {
            self.table.queries.take_old_row()
                && self.old_hash(call).as_ref() == hash
                && self.table.columns.scope.is_as_before(call)
                && self.table.columns.across.is_as_before(call)
        });
        let judged = judged.map(|_| call.old_row(self.table.searched));
        let row = (self.table.columns.checks_rows())
            .then(|| call.new_row(self.table.searched, &[], &self.generated));
        NearDuplicateSearch::new(call, from, hash, (scope, row), old, candidates, judged)
    }

    /// Returns whether a row that would not be stored as it is has the key of one that is stored, or was
    /// when the statement began. Then it is not new, but an edit for which ON CONFLICT decides, or the
    /// statement moves it.
    fn is_stored(&self, call: &TriggerCall<'_>, search: &NearDuplicateSearch<'_, '_>) -> bool {
        let key: Option<Vec<_>> = (self.table.columns.key.iter())
            .map(|(_, column)| call.new_value(column))
            .collect();
        matches!(self.table.options.mode, Mode::Skip | Mode::Conflict)
            && call.event() == Event::Insert
            && key.is_some_and(|key| !key.is_empty() && search.is_stored(&key))
    }

    /// Returns the key of the new row, for messages.
    fn key_of_new(&self, call: &TriggerCall<'_>) -> Key {
        let columns = self.table.columns.key.iter();
        let key: Option<Vec<_>> = columns.map(|(_, key)| call.new_value(key)).collect();
        key.map_or(Key::default(), |key| Key::new(&self.key.values(&key)))
    }

    /// Returns the line of CONTEXT that says which rows are compared.
    fn compares(&self, own: Key, other: Key) -> String {
        let article = |key: Key, a| if key.text().is_empty() { a } else { "the" };
        let (one, other_one) = (self.key.row(&own.text()), self.key.row(&other.text()));
        format!(
            "while comparing {} {one} in \"{}\" with {} uncommitted {other_one}",
            article(own, "a"),
            self.table.name,
            article(other, "an")
        )
    }
}

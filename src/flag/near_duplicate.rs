//! Chooses which near-duplicate of a row is reported: a nearest one, or the original that it is
//! marked as a duplicate of. So a mark names an original, and all copies of a text name the same
//! one; each search stops at the first row that fits, however many copies there are.

use super::columns::MOST_KEY;
use super::flagged_table::FlaggedTable;
use super::search_query::{Candidates, OpenQueries, QueryVariant, SearchTarget};
use crate::hashes::read_hash;
use crate::trigger::hash_column;
use simhash_hamming::parts::{Hash, distance};
use simhash_pg::catalog::lookup::has_row_security;
use simhash_pg::catalog::table::OpenTable;
use simhash_pg::process::backend::AsUser;
use simhash_pg::process::transaction;
use simhash_pg::spi::saved_query::Visibility;
use simhash_pg::sql::trigger::{TriggerCall, VersionAddress};
use simhash_pg::sql::value::Value;
use simhash_trigger::flag_options::Mode;

/// How many marks lead from a row to its original at most. The trigger itself leaves one.
const LONGEST_CHAIN: usize = 16;

/// A near-duplicate, or the original of one.
pub struct NearDuplicate<'a> {
    /// The values of the columns of its key; none if there is no key, or it is NULL.
    pub key: Vec<Value<'a>>,
    pub hash: Option<Hash>,
    /// Bits between its fingerprint and that of the new row; more than there are without one.
    pub distance: u32,
    /// The key of the row that it is marked as a duplicate of, where marks are read.
    mark: Option<Value<'a>>,
    /// Whether that is the new row.
    is_duplicate_of_new: bool,
}

/// The search for near-duplicates of a new row.
pub struct NearDuplicateSearch<'s, 'a> {
    call: &'s TriggerCall<'a>,
    table: &'s FlaggedTable,
    open: &'s OpenQueries,
    /// None where rows are looked up by keys alone.
    hash: Option<&'s Hash>,
    /// The parameters that all queries take.
    parameters: Vec<Option<Value<'s>>>,
    variant: QueryVariant,
}

impl<'s, 'a: 's> NearDuplicateSearch<'s, 'a> {
    /// `scope` has the row's values in the columns of `within=`; `row` is the row, if a function reads it;
    /// `old` is the place of the version that an UPDATE replaces, `judged` that version, if it was compared
    /// with the same rows.
    pub fn new(
        call: &'s TriggerCall<'a>,
        (table, open): (&'s FlaggedTable, &'s OpenQueries),
        hash: Option<&'s Hash>,
        (scope, row): (&[Option<Value<'a>>], Option<Value<'a>>),
        old: Option<&'s VersionAddress>,
        candidates: Candidates,
        judged: Option<Value<'a>>,
    ) -> Self {
        let columns = &table.columns;
        let mut parameters = vec![hash.map(hash_column::value)];
        // Marks name a row by the key that it had before an UPDATE.
        parameters.extend(columns.key.iter().map(|(_, key)| match old {
            Some(_) => call.old_value(key),
            None => call.new_value(key),
        }));
        parameters.extend(columns.texts.iter().map(|text| call.new_value(text)));
        parameters.extend(row.map(Some));
        parameters.extend(scope);
        parameters.extend(columns.across.parameters(call));
        parameters.extend(old.into_iter().flat_map(|place| place.values().map(Some)));
        if old.is_some() && table.queries.take_old_row() {
            parameters.push(judged);
        }
        if candidates == Candidates::JustWritten {
            parameters.push(Some(Value::of_transaction(transaction::current_xid())));
        }
        Self {
            call,
            table,
            open,
            hash,
            parameters,
            variant: QueryVariant {
                for_update: old.is_some(),
                with_marks: open.reads_marks(&table.queries),
                candidates,
            },
        }
    }

    pub fn hash(&self) -> Option<&'s Hash> {
        self.hash
    }

    /// Returns any near-duplicate.
    pub fn any(&self, sees: Visibility) -> Option<NearDuplicate<'a>> {
        self.first(SearchTarget::Any, &[], sees)
    }

    /// Returns the row to report, given a near-duplicate that was found. None if the new row is the
    /// original of a nearest one.
    pub fn reported(&self, found: NearDuplicate<'a>) -> Option<NearDuplicate<'a>> {
        let options = &self.table.options;
        match options.mode {
            Mode::Skip => Some(found),
            Mode::Flag if options.duplicate_of.is_none() => Some(found),
            _ => self.original_of(self.with_key(self.nearest(found))),
        }
    }

    /// Returns the row with a key, as far as the user sees it.
    pub fn by_key(&self, key: &[Value<'_>]) -> Option<NearDuplicate<'a>> {
        self.first(SearchTarget::ByKey, key, Visibility::OfIsolationLevel)
    }

    /// Returns whether the row with a key is stored, or was when the statement began, which may have
    /// deleted it since.
    pub fn is_stored(&self, key: &[Value<'_>]) -> bool {
        let sees = |sees| self.first(SearchTarget::Stored, key, sees).is_some();
        sees(Visibility::OfIsolationLevel) || sees(Visibility::BeforeStatement)
    }

    /// Returns whether a row that is not stored yet is a near-duplicate.
    pub fn is_near(&self, row: Value<'_>) -> bool {
        self.first(SearchTarget::Given, &[row], Visibility::OfIsolationLevel)
            .is_some()
    }

    /// Returns whether a row is marked as a duplicate of the new one, whatever the snapshot shows.
    pub fn has_duplicates(&self) -> bool {
        self.first(SearchTarget::MarkedAsItsDuplicate, &[], Visibility::Latest)
            .is_some()
    }

    /// Returns an equally near row that has a key, if this one has none.
    fn with_key(&self, found: NearDuplicate<'a>) -> NearDuplicate<'a> {
        if !found.key.is_empty() || self.table.columns.key.is_empty() {
            return found;
        }
        let within = Value::from(found.distance as i32);
        let with_key = self.first(
            SearchTarget::WithinNotNull,
            &[within],
            Visibility::OfIsolationLevel,
        );
        with_key.unwrap_or(found)
    }

    /// Returns a nearest one, found by halving the distances that may hold a nearer one: no query
    /// returns the least distance without reading all near rows.
    fn nearest(&self, mut found: NearDuplicate<'a>) -> NearDuplicate<'a> {
        // No row is nearer than `least`.
        let mut least = 0;
        while least < found.distance {
            let middle = (least + found.distance - 1) / 2;
            let within = Value::from(middle as i32);
            match self.first(
                SearchTarget::Within,
                &[within],
                Visibility::OfIsolationLevel,
            ) {
                Some(nearer) => found = nearer,
                None => least = middle + 1,
            }
        }
        found
    }

    /// Follows the marks from this row to one that has none. None if that is the new row. Where it is
    /// gone, in another scope, or refused by a function that checks rows, the nearest row without a mark
    /// counts instead: a person may have decided that the new row is not a duplicate of it. With row
    /// security a row that is not found may be hidden, and the mark is taken over.
    fn original_of(&self, found: NearDuplicate<'a>) -> Option<NearDuplicate<'a>> {
        let mut original = found;
        let mut steps = 0;
        while let Some(mark) = original.mark
            && steps < LONGEST_CHAIN
        {
            if original.is_duplicate_of_new {
                return None;
            }
            if !self.table.queries.finds_originals() {
                break;
            }
            let Some(next) = self.by_key(&[mark]) else {
                // The user may not see it, or it is gone.
                return match has_row_security(self.table.searched) {
                    true => Some(NearDuplicate {
                        key: vec![mark],
                        hash: None,
                        ..original
                    }),
                    false => self.nearest_original(),
                };
            };
            original = next;
            steps += 1;
        }
        let may_be_it = || {
            self.first(
                SearchTarget::ByKeyChecked,
                &original.key,
                Visibility::OfIsolationLevel,
            )
        };
        match steps == 0 || may_be_it().is_some() {
            true => Some(original),
            false => self.nearest_original(),
        }
    }

    /// Returns the nearest row that has no mark.
    fn nearest_original(&self) -> Option<NearDuplicate<'a>> {
        let variant = QueryVariant {
            candidates: Candidates::Unmarked,
            ..self.variant
        };
        let parameters = self.parameters.clone();
        let search = Self {
            variant,
            parameters,
            ..*self
        };
        let found = search.any(Visibility::OfIsolationLevel)?;
        Some(search.with_key(search.nearest(found)))
    }

    /// Waits for those that delete a row which was found, or change its key, and lets nobody do so
    /// until this transaction ends. Returns whether the row is there as it was found.
    pub fn keep(&self, found: &NearDuplicate<'a>) -> bool {
        let owner = OpenTable::new(self.table.searched).rel().owner();
        let key: Vec<_> = found.key.iter().copied().map(Some).collect();
        let locked: Option<[Option<Value<'a>>; 1]> = {
            let _owner = AsUser::switch(owner);
            let query = self.table.queries.lock();
            query.first_row(self.call.args(), &key, Visibility::OfIsolationLevel)
        };
        match locked {
            Some([Some(hash)]) => read_hash(hash).ok() == found.hash,
            // The index makes the fingerprint, or the owner does not see the row.
            _ => (self.by_key(&found.key)).is_some_and(|row| row.hash == found.hash),
        }
    }

    /// Returns whether a row that was found is still there, and has no mark if it had none, whatever the
    /// snapshot shows.
    pub fn is_still_original(&self, found: &NearDuplicate<'a>) -> bool {
        let latest = self.first(SearchTarget::ByKey, &found.key, Visibility::Latest);
        latest.is_some_and(|row| row.mark.is_none() || found.mark.is_some())
    }

    fn first(
        &self,
        target: SearchTarget,
        last: &[Value<'_>],
        sees: Visibility,
    ) -> Option<NearDuplicate<'a>> {
        let mut parameters = self.parameters.clone();
        parameters.extend(last.iter().copied().map(Some));
        let query = self.table.queries.get(target, self.variant);
        let open_query = self.open.get(target, self.variant);
        let found: [Option<Value<'a>>; 3 + MOST_KEY] =
            open_query.first_row(query, self.call.args(), &parameters, sees)?;
        let [hash, mark, is_duplicate_of_new, key @ ..] = found;
        let hash = hash.and_then(|value| read_hash(value).ok());
        let key: Option<Vec<_>> = key[..self.table.columns.key.len()]
            .iter()
            .copied()
            .collect();
        Some(NearDuplicate {
            key: key.unwrap_or_default(),
            distance: (self.hash.zip(hash.as_ref())).map_or(u32::MAX, |(a, b)| distance(a, b)),
            hash,
            mark,
            is_duplicate_of_new: is_duplicate_of_new.is_some_and(|value| value.integer() != 0),
        })
    }
}

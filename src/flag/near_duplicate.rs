//! Chooses which near-duplicate of a row is reported: a nearest one, and among several that are
//! equally near the one that the row found first is marked as a duplicate of. So all copies of a
//! text point at the same row, and each search stops at the first row that fits, however many
//! copies there are.

use super::flagged_table::FlaggedTable;
use super::search_query::{OpenQueries, QueryVariant, SearchTarget};
use simhash_pg::spi::saved_query::Sees;
use simhash_pg::sql::trigger::{TriggerCall, VersionAddress};
use simhash_pg::sql::value::Value;
use simhash_trigger::flag_options::Mode;

/// A near-duplicate.
pub struct NearDuplicate<'a> {
    pub key: Option<Value<'a>>,
    /// Bits.
    pub distance: i64,
    /// The key of the row that it is marked as a duplicate of, where marks are followed.
    mark: Option<Value<'a>>,
}

/// The search for near-duplicates of a new row.
pub struct NearDuplicateSearch<'s, 'a> {
    call: &'s TriggerCall<'a>,
    table: &'s FlaggedTable,
    open: &'s OpenQueries,
    /// The parameters that all queries take.
    parameters: Vec<Option<Value<'s>>>,
    variant: QueryVariant,
}

impl<'s, 'a: 's> NearDuplicateSearch<'s, 'a> {
    /// `scope` has the row's values in the columns of `within=`; `old` is the place of the version
    /// that an UPDATE replaces.
    pub fn new(
        call: &'s TriggerCall<'a>,
        (table, open): (&'s FlaggedTable, &'s OpenQueries),
        fingerprint: i64,
        scope: &[Value<'a>],
        old: Option<&'s VersionAddress>,
    ) -> Self {
        let columns = &table.columns;
        let mut parameters = vec![Some(Value::from(fingerprint))];
        if let Some((_, key)) = &columns.key {
            parameters.push(call.new_value(key));
        }
        if let Some(text) = &columns.text {
            parameters.push(call.new_value(text));
        }
        parameters.extend(scope.iter().copied().map(Some));
        parameters.extend(old.into_iter().flat_map(|place| place.values().map(Some)));
        Self {
            call,
            table,
            open,
            parameters,
            variant: QueryVariant {
                for_update: old.is_some(),
                with_marks: open.follow_marks(&table.queries),
            },
        }
    }

    /// Returns any near-duplicate.
    pub fn any(&self, sees: Sees) -> Option<NearDuplicate<'a>> {
        self.first(SearchTarget::Any, None, sees)
    }

    /// Returns the near-duplicate to report, given one that was found.
    pub fn reported(&self, found: NearDuplicate<'a>) -> NearDuplicate<'a> {
        let options = &self.table.options;
        if options.duplicate_of.is_none() && options.mode != Mode::Reject {
            return found;
        }
        let nearest = self.with_key(self.nearest(found));
        self.marked_by(&nearest).unwrap_or(nearest)
    }

    /// Returns an equally near row that has a key, if this one has none.
    fn with_key(&self, found: NearDuplicate<'a>) -> NearDuplicate<'a> {
        if found.key.is_some() || self.table.columns.key.is_none() {
            return found;
        }
        let within = Some(Value::from(found.distance as i32));
        let with_key = self.first(SearchTarget::WithinNotNull, within, Sees::Usual);
        with_key.unwrap_or(found)
    }

    /// Returns a nearest one, found by halving the distances that may hold a nearer one: no query
    /// returns the least distance without reading all near rows.
    fn nearest(&self, mut found: NearDuplicate<'a>) -> NearDuplicate<'a> {
        // No row is nearer than `least`.
        let mut least = 0;
        while least < found.distance {
            let middle = (least + found.distance - 1) / 2;
            let within = Some(Value::from(middle as i32));
            match self.first(SearchTarget::Within, within, Sees::Usual) {
                Some(nearer) => found = nearer,
                None => least = middle + 1,
            }
        }
        found
    }

    /// Returns the row that this one is marked as a duplicate of, if it is as near and the trigger
    /// may find it.
    fn marked_by(&self, found: &NearDuplicate<'a>) -> Option<NearDuplicate<'a>> {
        found.key?;
        let original = self.first(SearchTarget::ByKey, Some(found.mark?), Sees::Usual)?;
        (original.distance == found.distance).then_some(original)
    }

    fn first(
        &self,
        target: SearchTarget,
        last: Option<Value<'_>>,
        sees: Sees,
    ) -> Option<NearDuplicate<'a>> {
        let mut parameters = self.parameters.clone();
        parameters.extend(last.map(Some));
        let query = self.table.queries.get(target, self.variant);
        let open_query = self.open.get(target, self.variant);
        let [key, distance, mark] =
            open_query.first_row(query, self.call.args(), &parameters, sees)?;
        Some(NearDuplicate {
            key: key.filter(|_| self.table.columns.key.is_some()),
            // A row that is looked up by its key may have no fingerprint.
            distance: distance?.integer(),
            mark,
        })
    }
}

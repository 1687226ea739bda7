//! Answers changed rows at once: brings the clusters of noted keys up to date. `pending` calls it
//! when a statement ends, `trigger` for a deferred trigger and for TRUNCATE. It holds each cluster
//! before it changes one, and writes what a refresh would write.

use std::cell::{Cell, OnceCell};

use pgrx::pg_sys;

use super::claims::Claims;
use super::cluster_table::{ClusterTable, refuse_row_security};
use super::kept_table::KeptTable;
use super::queries::KeptQueries;
use super::short_queries::MOST_SHORT_WAYS;
use crate::trigger::hash_column::integers;
use simhash_hamming::parts::Hash;
use simhash_pg::catalog::privilege::has_row_security;
use simhash_pg::catalog::table::OpenTable;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::compat::local_transaction;
use simhash_pg::process::error::Error;
use simhash_pg::process::snapshot::commands;
use simhash_pg::process::user::AsUser;
use simhash_pg::spi::saved_query::{SavedQuery, Sees};
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::value::Value;

/// How many keys are answered together: more would take too much memory.
const CHUNK: usize = 65_536;

/// The key of a row that was changed.
pub struct Noted {
    pub key: KeptValue,
    /// The fingerprint that the row had when this transaction began, if it had one.
    pub old_hash: Option<Hash>,
    /// Whether the row has no new version with this key.
    pub is_gone: bool,
}

/// A table whose clusters are kept at once.
pub struct AtOnce {
    pub kept: KeptTable,
    pub clusters: ClusterTable,
    pub claims: Claims,
    arrays: KeyArrays,
    /// Whether a trigger fires for every change of a row, whatever its values.
    sees_each_change: bool,
    /// About a key, and about an array of keys.
    questions: [OnceCell<Questions>; 2],
    changes: OnceCell<Changes>,
}

thread_local! {
    /// The transaction that has last answered rows, and its command then.
    static LAST_ANSWER: Cell<(u32, pg_sys::CommandId)> = const { Cell::new((0, 0)) };
}

/// Makes arrays of keys.
pub struct KeyArrays {
    /// The base type of keys.
    key_type: KeyType,
    array_type: pg_sys::Oid,
}

/// The queries that only read.
struct Questions {
    matters: SavedQuery,
    inside: SavedQuery,
}

/// The queries that write, and those that look at arrays of keys for them.
struct Changes {
    join: SavedQuery,
    leaving: SavedQuery,
    leave: SavedQuery,
    unseen: SavedQuery,
    stored: SavedQuery,
    write: SavedQuery,
}

/// The keys that a question is about.
#[derive(Clone, Copy)]
enum Keys<'a> {
    One(Value<'a>),
    /// An array.
    Many(Value<'a>),
}

/// Two arrays that a query has found.
type Found<'a> = (Value<'a>, Value<'a>);

impl AtOnce {
    pub fn new(
        kept: KeptTable,
        clusters: ClusterTable,
        claims: Claims,
        arrays: KeyArrays,
        sees_each_change: bool,
    ) -> Self {
        Self {
            kept,
            clusters,
            claims,
            arrays,
            sees_each_change,
            questions: [OnceCell::new(), OnceCell::new()],
            changes: OnceCell::new(),
        }
    }

    /// Brings the clusters of these rows up to date, which are among those in progress. `entries_are_current` says
    /// that the entry of each row is still that of the fingerprint that it had.
    pub fn answer(&self, args: &Args, noted: &[Noted], entries_are_current: bool) {
        for noted in noted.chunks(CHUNK) {
            check_for_interrupts();
            self.answer_some(args, noted, entries_are_current);
        }
        LAST_ANSWER.set((local_transaction(), commands().0));
    }

    /// Returns whether rows were answered while the running statement was changing rows, by a
    /// statement inside of it.
    pub fn has_answered_meanwhile() -> bool {
        let (transaction, command) = LAST_ANSWER.get();
        let began = commands().1;
        transaction == local_transaction() && began.is_none_or(|began| command > began)
    }

    /// Computes all clusters again, given that nobody else changes one.
    pub fn compute_all(&self, args: &Args) {
        self.claims.lock_whole();
        let all = SavedQuery::new(&KeptQueries::new(&self.kept).compute_all(), &[], false);
        all.first_row::<0>(args, &[], Sees::Latest);
    }

    fn answer_some(&self, args: &Args, noted: &[Noted], entries_are_current: bool) {
        let keys = match noted {
            [one] if self.arrays.takes(one.key.value()) => Keys::One(one.key.value()),
            _ => Keys::Many(self.arrays.of_noted(noted)),
        };
        // A transaction that has judged a pair of rows waits for those that change one of them, near
        // or not: so all keys are held.
        if self.kept.decisions.is_some() {
            return self.write(args, keys);
        }
        let Some(mut found) = self.what_matters(args, keys) else {
            return;
        };
        let may_leave =
            entries_are_current && noted.len() <= MOST_SHORT_WAYS && self.has_short_ways();
        let count_left = if may_leave {
            self.leave(args, noted)
        } else {
            0
        };
        if count_left > 0 {
            if count_left == noted.len() && noted.iter().all(|noted| noted.is_gone) {
                return;
            }
            let Some(again) = self.what_matters(args, keys) else {
                return;
            };
            found = again;
        }
        let matters = match keys {
            Keys::One(_) => keys,
            Keys::Many(_) => Keys::Many(found.0),
        };
        if let Some(keys) = self.join(args, matters, found) {
            self.write(args, keys);
        }
    }

    /// Returns whether a row is judged by its fingerprint and text alone, and each change is noted.
    fn has_short_ways(&self) -> bool {
        self.sees_each_change && self.kept.checked_by.is_none()
    }

    /// Returns those of the keys that are in a cluster, or whose rows are near another one, and for
    /// each the id of the cluster that it only joins. Holds these clusters.
    fn what_matters<'a>(&self, args: &'a Args, keys: Keys<'_>) -> Option<Found<'a>> {
        let (questions, parameter) = self.questions(keys);
        self.hold(|| found(&questions.matters, args, &[Some(parameter)]))
    }

    /// Takes out rows that leave their clusters whole. Returns how many there were.
    fn leave(&self, args: &Args, noted: &[Noted]) -> usize {
        let mut left: Vec<_> = (noted.iter())
            .filter_map(|noted| Some((noted.key.value(), &**noted.old_hash.as_ref()?)))
            .collect();
        // Hashes of different lengths have no distance, so those of one length are enough.
        if let Some((_, first)) = left.first() {
            let length = first.len();
            left.retain(|(_, parts)| parts.len() == length);
        }
        if self.kept.options.is_checked() || left.is_empty() || !is_noted_once(noted) {
            return 0;
        }
        let parts: Vec<u64> = left.iter().flat_map(|(_, parts)| *parts).copied().collect();
        let keys = self.arrays.of_keys(left.iter().map(|(key, _)| *key));
        let all = self.arrays.of_noted(noted);
        let parameters = [Some(keys), Some(integers(&parts)), Some(all)];
        let changes = self.changes();
        let leaving = self.hold(|| found(&changes.leaving, args, &parameters));
        let Some((keys, _)) = leaving else {
            return 0;
        };
        (changes.leave).first_row::<0>(args, &[Some(keys)], Sees::Latest);
        keys.array().items.len()
    }

    /// Puts rows into the clusters that were found for them. Returns the other keys, None if there are
    /// none.
    fn join<'a>(&self, args: &Args, keys: Keys<'a>, (found, ids): Found<'a>) -> Option<Keys<'a>> {
        let found = found.array().items.into_iter().flatten();
        let ids = ids.array().items;
        let (joining, others): (Vec<_>, Vec<_>) = found.zip(ids).partition(|(_, id)| id.is_some());
        if joining.is_empty() {
            return Some(keys);
        }
        let ids = joining.iter().filter_map(|(_, id)| *id).collect::<Vec<_>>();
        let both = [
            Some(self.arrays.of_keys(joining.iter().map(|(key, _)| *key))),
            Some(self.arrays.of_keys(ids.into_iter())),
        ];
        (self.changes().join).first_row::<0>(args, &both, Sees::Latest);
        let others = others.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        (!others.is_empty()).then(|| Keys::Many(self.arrays.of_keys(others.into_iter())))
    }

    /// Computes the clusters of these keys again.
    fn write(&self, args: &Args, keys: Keys<'_>) {
        let (questions, parameter) = self.questions(keys);
        let inside = (self.claims).hold(|| found(&questions.inside, args, &[Some(parameter)]));
        let Some(inside) = inside else {
            return;
        };
        let changes = self.changes();
        if has_row_security(self.kept.relation) {
            self.refuse_hidden(args, inside);
        }
        (changes.write).first_row::<0>(args, &[Some(inside)], Sees::Latest);
    }

    /// Raises an ERROR if one of the keys has an entry and a row that is hidden from the current user.
    fn refuse_hidden(&self, args: &Args, keys: Value<'_>) {
        let changes = self.changes();
        let unseen = (changes.unseen).first_row(args, &[Some(keys)], Sees::Latest);
        let Some([Some(unseen)]) = unseen else {
            return;
        };
        // The owner sees whether there are such rows.
        let relation = self.kept.relation;
        let owner = OpenTable::new(relation).rel().owner();
        let stored = {
            let _owner = AsUser::switch(owner);
            (changes.stored).first_row::<0>(args, &[Some(unseen)], Sees::Latest)
        };
        if stored.is_some() {
            refuse_row_security(relation).raise();
        }
    }

    /// Holds the clusters whose ids are the second array.
    fn hold<'a>(&self, mut read: impl FnMut() -> Option<Found<'a>>) -> Option<Found<'a>> {
        self.claims.hold(|| {
            let found = read()?;
            Some((found.1, found))
        })
    }

    /// Returns the queries about such keys, and their parameter.
    fn questions<'a>(&self, keys: Keys<'a>) -> (&Questions, Value<'a>) {
        let (place, parameter, of_type) = match keys {
            Keys::One(key) => (0, key, self.arrays.key_type.storage.type_id),
            Keys::Many(keys) => (1, keys, self.arrays.array_type),
        };
        let questions = self.questions[place].get_or_init(|| {
            let texts = KeptQueries::new(&self.kept);
            let texts = if place == 0 { texts.of_one() } else { texts };
            let texts = [
                texts.find_what_matters(self.has_short_ways()),
                texts.find_inside(),
            ];
            let types = [of_type];
            let queries = texts.each_ref().map(|text| (&**text, &types[..]));
            let [matters, inside] = SavedQuery::all(queries, true);
            Questions { matters, inside }
        });
        (questions, parameter)
    }

    fn changes(&self) -> &Changes {
        self.changes.get_or_init(|| {
            let texts = KeptQueries::new(&self.kept);
            let keys = self.arrays.array_type;
            let with_fingerprints = [keys, pg_sys::INT8ARRAYOID, keys];
            let [join, leaving, leave, unseen, stored, write] = SavedQuery::all(
                [
                    (&texts.join(), &[keys, keys][..]),
                    (&texts.find_leaving(), &with_fingerprints),
                    (&texts.leave(), &[keys]),
                    (&texts.find_unseen(), &[keys]),
                    (&texts.find_stored(), &[keys]),
                    (&texts.write(), &[keys]),
                ],
                true,
            );
            Changes {
                join,
                leaving,
                leave,
                unseen,
                stored,
                write,
            }
        })
    }
}

impl KeyArrays {
    /// Returns None for a type that has no order, or no arrays.
    pub fn new(base_type: pg_sys::Oid) -> Option<Self> {
        let key_type = KeyType::new(base_type)?;
        let array_type = key_type.array_type()?;
        Some(Self {
            key_type,
            array_type,
        })
    }

    /// Returns whether the value is of the type of keys itself, not of a domain over it.
    fn takes(&self, key: Value<'_>) -> bool {
        key.type_id() == self.key_type.storage.type_id
    }

    fn of_noted<'a>(&self, noted: &'a [Noted]) -> Value<'a> {
        self.of_keys(noted.iter().map(|noted| noted.key.value()))
    }

    fn of_keys<'a>(&self, keys: impl ExactSizeIterator<Item = Value<'a>>) -> Value<'a> {
        // `new` has found the type of such arrays.
        (self.key_type.array(keys)).unwrap_or_else(|| Error::out_of_memory().raise())
    }
}

/// Returns two arrays, unless the query finds none.
fn found<'a>(
    query: &SavedQuery,
    args: &'a Args,
    parameters: &[Option<Value<'_>>],
) -> Option<Found<'a>> {
    let [one, other] = query.first_row(args, parameters, Sees::Latest)?;
    Some((one?, other?))
}

/// Returns whether no key was noted twice: the entry of one that was is of an earlier fingerprint than
/// the last.
fn is_noted_once(noted: &[Noted]) -> bool {
    let mut keys: Vec<_> = noted.iter().map(|noted| noted.key.value()).collect();
    keys.sort_unstable_by(|a, b| a.image().cmp(&b.image()));
    keys.windows(2).all(|two| two[0].image() != two[1].image())
}

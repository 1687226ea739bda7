//! Answers changed rows at once: brings the clusters of noted keys up to date. `pending` calls it
//! when a statement ends, `trigger` for a deferred trigger and for TRUNCATE. It holds each cluster
//! before it changes one, and writes what a refresh would write.

use std::cell::OnceCell;

use pgrx::PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE;
use pgrx::pg_sys;

use super::claims::Claims;
use super::cluster_table::ClusterTable;
use super::kept_table::KeptTable;
use super::queries::KeptQueries;
use simhash_pg::catalog::privilege::has_row_security;
use simhash_pg::catalog::table_name;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::error::Error;
use simhash_pg::spi::saved_query::{SavedQuery, Sees};
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::kept_value::KeptValue;
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::value::Value;

/// How many keys are answered together: more would take too much memory.
const AT_ONCE: usize = 65_536;
/// Up to this number of keys the short ways are tried: for many they cost what they save.
const FEW: usize = 256;

/// The key of a row that was changed.
#[derive(Clone)]
pub struct Noted {
    pub key: KeptValue,
    /// The fingerprint that the row had, unless it was stored without one before.
    pub left: Option<i64>,
}

/// A table whose clusters are kept at once.
pub struct AtOnce {
    pub kept: KeptTable,
    pub clusters: ClusterTable,
    pub claims: Claims,
    arrays: KeyArrays,
    /// Whether a trigger fires for every change of a row, whatever its values.
    sees_each_change: bool,
    queries: OnceCell<AnswerQueries>,
    short: OnceCell<ShortQueries>,
}

/// Makes arrays of keys.
pub struct KeyArrays {
    /// The base type of keys.
    key_type: KeyType,
    array_type: pg_sys::Oid,
}

struct AnswerQueries {
    matters: SavedQuery,
    inside: SavedQuery,
    write: SavedQuery,
    hidden: SavedQuery,
}

/// The queries of the short ways.
struct ShortQueries {
    leaving: SavedQuery,
    leave: SavedQuery,
    joining: SavedQuery,
    join: SavedQuery,
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
            queries: OnceCell::new(),
            short: OnceCell::new(),
        }
    }

    /// Brings the clusters of these rows up to date, which are among those in progress. `leaves` says
    /// that the entry of each row is still that of the fingerprint that it had.
    pub fn answer(&self, args: &Args, noted: &[Noted], leaves: bool) {
        for noted in noted.chunks(AT_ONCE) {
            check_for_interrupts();
            self.answer_some(args, noted, leaves);
        }
    }

    /// Computes all clusters again, given that nobody else changes one.
    pub fn compute_all(&self, args: &Args) {
        self.claims.lock_whole();
        let all = SavedQuery::new(&KeptQueries::new(&self.kept).compute_all(), &[], false);
        all.first_row::<0>(args, &[], Sees::Latest);
    }

    fn answer_some(&self, args: &Args, noted: &[Noted], leaves: bool) {
        let all = self
            .arrays
            .of_keys(noted.iter().map(|noted| noted.key.value()));
        let Some(mut keys) = self.what_matters(args, all) else {
            return;
        };
        let options = &self.kept.options;
        let is_judged = self.kept.checked_by.is_some() || self.kept.decisions.is_some();
        if noted.len() <= FEW && self.sees_each_change && !is_judged {
            if leaves && !options.is_checked() && self.leave(args, all, noted) {
                let Some(left) = self.what_matters(args, keys) else {
                    return;
                };
                keys = left;
            }
            let Some(left) = self.join(args, keys) else {
                return;
            };
            keys = left;
        }
        self.write(args, all, keys);
    }

    /// Returns those of the keys that are in a cluster, or whose rows are near another one; None if
    /// there are none.
    fn what_matters<'a>(&self, args: &'a Args, keys: Value<'a>) -> Option<Value<'a>> {
        // A transaction that has judged a pair of rows waits for those that change one of them, near
        // or not: so all keys are held.
        if self.kept.decisions.is_some() {
            return Some(keys);
        }
        let found = (self.queries().matters).first_row(args, &[Some(keys)], Sees::Latest);
        found.and_then(|[keys]| keys)
    }

    /// Takes out rows that leave their clusters whole. Returns whether there were any.
    fn leave(&self, args: &Args, all: Value<'_>, noted: &[Noted]) -> bool {
        let left: Vec<_> = (noted.iter())
            .filter_map(|noted| Some((noted.key.value(), noted.left?)))
            .collect();
        if left.is_empty() || !is_noted_once(noted) {
            return false;
        }
        let fingerprints = KeyArrays::of_integers(left.iter().map(|(_, bits)| *bits));
        let keys = self.arrays.of_keys(left.iter().map(|(key, _)| *key));
        let parameters = [Some(keys), Some(fingerprints), Some(all)];
        let short = self.short();
        let leaving = self.hold(|| found(&short.leaving, args, &parameters));
        let Some((keys, _)) = leaving else {
            return false;
        };
        (short.leave).first_row::<0>(args, &[Some(keys)], Sees::Latest);
        true
    }

    /// Puts rows into the cluster of an equal one. Returns the other keys, None if there are none.
    fn join<'a>(&self, args: &'a Args, keys: Value<'a>) -> Option<Value<'a>> {
        let short = self.short();
        let joining = self.hold(|| found(&short.joining, args, &[Some(keys)]));
        let Some((joined, ids)) = joining else {
            return Some(keys);
        };
        (short.join).first_row::<0>(args, &[Some(joined), Some(ids)], Sees::Latest);
        let joined = joined.array().items;
        let has_joined = |key: &Value<'_>| {
            (joined.iter().flatten())
                .any(|joined| self.arrays.key_type.compare(*joined, *key).is_eq())
        };
        let mut others: Vec<Value<'a>> = keys.array().items.into_iter().flatten().collect();
        others.retain(|key| !has_joined(key));
        (!others.is_empty()).then(|| self.arrays.of_keys(others.into_iter()))
    }

    /// Computes the clusters of these keys again. `noted` are all keys of the statement.
    fn write(&self, args: &Args, noted: Value<'_>, keys: Value<'_>) {
        let queries = self.queries();
        let inside = self.claims.hold(|| {
            let (ids, keys) = found(&queries.inside, args, &[Some(keys)])?;
            Some((ids, keys))
        });
        let Some(inside) = inside else {
            return;
        };
        if has_row_security(self.kept.relation) {
            let both = [Some(inside), Some(noted)];
            let hidden = (queries.hidden).first_row::<0>(args, &both, Sees::Latest);
            if hidden.is_some() {
                refuse_row_security(self.kept.relation).raise();
            }
        }
        (queries.write).first_row::<0>(args, &[Some(inside)], Sees::Latest);
    }

    /// Holds the clusters whose ids are the second array.
    fn hold<'a>(&self, mut read: impl FnMut() -> Option<Found<'a>>) -> Option<Found<'a>> {
        self.claims.hold(|| {
            let found = read()?;
            Some((found.1, found))
        })
    }

    fn queries(&self) -> &AnswerQueries {
        self.queries.get_or_init(|| {
            let texts = KeptQueries::new(&self.kept);
            let (one, two) = ([self.arrays.array_type], [self.arrays.array_type; 2]);
            let [matters, inside, write, hidden] = SavedQuery::all(
                [
                    (&texts.find_what_matters(), &one[..]),
                    (&texts.find_inside(), &one),
                    (&texts.write(), &one),
                    (&texts.find_hidden(), &two),
                ],
                true,
            );
            AnswerQueries {
                matters,
                inside,
                write,
                hidden,
            }
        })
    }

    fn short(&self) -> &ShortQueries {
        self.short.get_or_init(|| {
            let texts = KeptQueries::new(&self.kept);
            let (one, two) = ([self.arrays.array_type], [self.arrays.array_type; 2]);
            let with_fingerprints = [one[0], pg_sys::INT8ARRAYOID, one[0]];
            let [leaving, leave, joining, join] = SavedQuery::all(
                [
                    (&texts.find_leaving(), &with_fingerprints[..]),
                    (&texts.leave(), &one),
                    (&texts.find_joining(), &one),
                    (&texts.join(), &two),
                ],
                true,
            );
            ShortQueries {
                leaving,
                leave,
                joining,
                join,
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

    fn of_keys<'a>(&self, keys: impl ExactSizeIterator<Item = Value<'a>>) -> Value<'a> {
        // `new` has found the type of such arrays.
        (self.key_type.array(keys)).unwrap_or_else(|| Error::out_of_memory().raise())
    }

    fn of_integers(numbers: impl ExactSizeIterator<Item = i64>) -> Value<'static> {
        let array = KeyType::new(pg_sys::INT8OID)
            .and_then(|integers| integers.array(numbers.map(Value::from)));
        array.unwrap_or_else(|| Error::out_of_memory().raise())
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

/// Returns the ERROR for a user from whom rows are hidden.
pub fn refuse_row_security(table: pg_sys::Oid) -> Error {
    let name = table_name::shown(table);
    let message = format!("row security hides rows of table \"{name}\"");
    Error::new(ERRCODE_INSUFFICIENT_PRIVILEGE, message).hint(
        "Clusters are of all rows: use a role that sees them, such as one with BYPASSRLS. Of clusters \
         kept \"within\" the columns of a policy, a writer needs to see those of its own rows.",
    )
}

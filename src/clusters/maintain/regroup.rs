//! Computes clusters again from the rows that are stored: a row that a cluster has lost may have
//! held it together.

use pgrx::pg_sys;

use super::maintained::Maintained;
use super::members::{delete_gone, members, rename};
use super::trigger::NAME;
use crate::clusters::components::Components;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{collected, filled};
use simhash_pg::spi::saved_query::{SavedQuery, Sees};
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_pg::sql::value::Value;

pub struct Regroup {
    members: SavedQuery,
    gone: SavedQuery,
    renamed: SavedQuery,
    /// The base type of the keys.
    key_type: pg_sys::Oid,
    /// In bits.
    radius: u32,
}

/// The members of some clusters, by key.
struct ClusterMembers<'a> {
    keys: Vec<Value<'a>>,
    fingerprints: Vec<Option<u64>>,
    /// The numbers of their scopes.
    scopes: Vec<Option<i64>>,
}

impl Regroup {
    pub fn new(maintained: &Maintained) -> Self {
        let statement = &maintained.statement;
        let array = statement.array_type;
        let [members, gone, renamed] = SavedQuery::all(
            [
                (&members(statement, &maintained.claims.scope), &[array]),
                (&delete_gone(statement), &[array]),
                (&rename(statement), &[array, array]),
            ],
            true,
        );
        Self {
            members,
            gone,
            renamed,
            key_type: maintained.key.base_type(),
            radius: maintained.options.radius,
        }
    }

    /// Computes the clusters with these ids, an array of keys, again: rows of a scope that are
    /// connected stay together, and each part is named after its smallest key. A row without a
    /// fingerprint or a scope is alone. Where row security may hide members from the user, clusters
    /// with a member that is not seen stay as they are. Otherwise no row has the key of such a
    /// member: its entry is removed, so that the triggers of further rows which the statement has
    /// deleted find nothing to compute.
    pub fn run(&self, call: &TriggerCall<'_>, maintained: &Maintained, ids: Value<'_>) {
        let found = (self.members).first_row(call.args(), &[Some(ids)], Sees::Latest);
        let Some([keys, fingerprints, scopes, unseen]) = found else {
            return;
        };
        if unseen.is_some_and(|unseen| unseen.integer() > 0) {
            if !maintained.sees_all() {
                return;
            }
            if maintained.clusters.may_delete() {
                (self.gone).first_row::<0>(call.args(), &[Some(ids)], Sees::Latest);
            }
        }
        let (Some(keys), Some(fingerprints), Some(scopes)) = (keys, fingerprints, scopes) else {
            return;
        };
        let members = ClusterMembers {
            keys: keys.array().items.into_iter().flatten().collect(),
            fingerprints: integers(fingerprints, |bits| Some(bits? as u64)),
            scopes: integers(scopes, |number| number),
        };
        let firsts = members.first_rows(self.radius);
        let Some(key_type) = KeyType::new(self.key_type) else {
            return;
        };
        let names = firsts.iter().map(|first| members.keys[*first as usize]);
        let arrays = (
            key_type.array(members.keys.iter().copied()),
            key_type.array(names),
        );
        if let (Some(keys), Some(names)) = arrays {
            let both = [Some(keys), Some(names)];
            (self.renamed).first_row::<0>(call.args(), &both, Sees::Latest);
        }
    }
}

impl ClusterMembers<'_> {
    /// Returns, for each row, the first row of the part that it is in.
    fn first_rows(&self, radius: u32) -> Vec<u32> {
        let mut order = collected(0..self.keys.len() as u32);
        order.sort_unstable_by_key(|row| {
            check_for_interrupts();
            (self.scopes[*row as usize], *row)
        });
        let mut firsts = filled(order.len(), 0);
        let mut activity = Activity::new(NAME);
        for rows in order.chunk_by(|a, b| self.scopes[*a as usize] == self.scopes[*b as usize]) {
            let mut components = Components::new(&mut activity);
            for row in rows {
                let row = *row as usize;
                components.add(self.scopes[row].and(self.fingerprints[row]));
            }
            let mut sets = components.sets(radius);
            for (number, row) in (0u32..).zip(rows) {
                firsts[*row as usize] = rows[sets.find(number) as usize];
            }
        }
        firsts
    }
}

/// Returns the elements of an array of integers or booleans, each converted by `convert`.
fn integers<T>(array: Value<'_>, convert: impl Fn(Option<i64>) -> T) -> Vec<T> {
    let items = array.array().items;
    collected(
        items
            .iter()
            .map(|item| convert(item.map(|value| value.integer()))),
    )
}

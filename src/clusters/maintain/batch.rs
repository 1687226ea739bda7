//! The statement form: a statement trigger answers all rows of a statement at once, by its
//! transition tables. It locks the clusters of all scopes.

use std::cell::{OnceCell, RefCell};

use pgrx::PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED;

use super::batch_statement::BatchStatement;
use super::large_batch;
use super::maintained::Maintained;
use super::regroup::{Regroup, integers};
use super::settled;
use crate::trigger::call::{Known, missed_near_duplicate, refuse, remembered};
use simhash_hamming::pairs::union_find::UnionFind;
use simhash_pg::catalog::invalidation::Current;
use simhash_pg::catalog::privilege::{SELECT, may};
use simhash_pg::catalog::table;
use simhash_pg::process::advisory_lock::keeps_its_snapshot;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::or_out_of_memory;
use simhash_pg::spi::saved_query::Sees;
use simhash_pg::spi::transition::TransitionQueries;
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::trigger::{Event, TriggerCall};
use simhash_pg::sql::value::Value;

/// What a session remembers of a trigger.
struct BatchTrigger {
    of: Maintained,
    /// Made when first needed.
    regroup: OnceCell<Regroup>,
}

thread_local! {
    static KNOWN: Known<BatchTrigger> = RefCell::default();
}

/// Answers the statement of a call.
pub fn maintain(call: &TriggerCall<'_>) {
    let trigger = remembered(&KNOWN, call, || BatchTrigger::new(call));
    let of = &trigger.of;
    let batch = Batch {
        call,
        trigger: &trigger,
        statement: BatchStatement::new(of, transition_tables(call)),
        queries: TransitionQueries::new(call, Sees::Latest),
    };
    let changed = batch.statement.has_changed();
    if changed.is_some_and(|sql| batch.run::<0>(&sql).is_none()) {
        return;
    }
    of.clusters
        .check_rights(call, call.event() != Event::Insert);
    of.scopes.lock_whole();
    match call.event() {
        Event::Truncate => batch.truncate(),
        _ => batch.answer(),
    }
}

/// The names of the transition tables; an ERROR when one is missing.
fn transition_tables(call: &TriggerCall<'_>) -> [Option<String>; 2] {
    let [old, new] = call.transition_tables();
    let wanted = match call.event() {
        Event::Insert if new.is_none() => "REFERENCING NEW TABLE AS new_rows",
        Event::Delete if old.is_none() => "REFERENCING OLD TABLE AS old_rows",
        Event::Update if old.is_none() || new.is_none() => {
            "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows"
        }
        _ => return [old, new],
    };
    refuse(
        call,
        ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
        "a statement trigger that keeps clusters needs transition tables",
        Some(format!("Create it with {wanted}, or FOR EACH ROW.")),
    )
}

/// A running call.
struct Batch<'a, 'c> {
    call: &'c TriggerCall<'a>,
    trigger: &'c BatchTrigger,
    statement: BatchStatement<'c>,
    queries: TransitionQueries<'a, 'c>,
}

impl BatchTrigger {
    fn new(call: &TriggerCall<'_>) -> (Current, Self) {
        let (current, of) = Maintained::new(call);
        let regroup = OnceCell::new();
        (current, Self { of, regroup })
    }

    fn regroup(&self, call: &TriggerCall<'_>, ids: Option<Value<'_>>) {
        if let Some(ids) = ids {
            let regroup = self.regroup.get_or_init(|| Regroup::new(&self.of));
            regroup.run(call, ids, self.of.sees_all());
        }
    }
}

/// What the new rows unite: nodes are the ids of clusters and the keys that are in none, in order.
struct Unions<'a> {
    nodes: Vec<Value<'a>>,
    /// Is the node a key that is in no cluster?
    are_keys: Vec<bool>,
    /// Is it the id of a cluster? It may be both.
    are_ids: Vec<bool>,
    sets: UnionFind,
}

impl<'a> Batch<'a, '_> {
    fn run<const N: usize>(&self, sql: &str) -> Option<[Option<Value<'a>>; N]> {
        self.queries.first_row(sql, &[])
    }

    fn truncate(&self) {
        let ids = self.run(&self.statement.forget_all());
        settled::forget(self.trigger.of.clusters.oid);
        self.trigger.regroup(self.call, ids.and_then(|[ids]| ids));
    }

    fn answer(&self) {
        let of = &self.trigger.of;
        if let Some(sql) = self.statement.lacks_key()
            && self.run::<0>(&sql).is_some()
        {
            of.null_key(self.call);
        }
        if let Some(sql) = self.statement.ids(settled::has_united(of.clusters.oid)) {
            settled::forget(of.clusters.oid);
            let [ids, left] = self.run(&sql).unwrap_or_default();
            if let Some(sql) = self.statement.forget()
                && of.clusters.may_delete()
            {
                self.run::<0>(&sql);
            }
            if let Some(left) = left {
                let leave = self.statement.leave();
                self.queries.first_row::<0>(&leave, &[left]);
            }
            self.trigger.regroup(self.call, ids);
        }
        let found = match self.is_large() {
            true => large_batch::unions(of, &self.statement, &self.queries),
            false => (self.statement.unions(self.may_settle())).and_then(|sql| self.run(&sql)),
        };
        if let Some(
            [
                Some(nodes),
                Some(are_keys),
                Some(are_ids),
                Some(one),
                Some(other),
            ],
        ) = found
        {
            self.unite(Unions::new(nodes, [are_keys, are_ids], [one, other]));
        }
    }

    /// Is the whole table to be searched for what the new rows unite?
    fn is_large(&self) -> bool {
        self.call.event() == Event::Insert
            && large_batch::may_search(self.call, &self.trigger.of)
            && large_batch::is_large(&self.statement, &self.queries)
    }

    /// May rows of other transactions stand for equal ones? The writer of a version is a system
    /// column, which not every table has, and which a right to some columns does not show.
    fn may_settle(&self) -> bool {
        let table = self.call.relation().oid();
        !self.call.has_condition()
            && self.trigger.of.sees_all()
            && may(table, SELECT, &[])
            && table::is_plain(self.call.relation())
            && !table::is_partition(table)
    }

    fn unite(&self, mut unions: Unions<'a>) {
        let of = &self.trigger.of;
        let Some(key_type) = KeyType::new(of.key.base_type()) else {
            return;
        };
        let (mut clusters, mut keys) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
        for node in 0..unions.nodes.len() {
            check_for_interrupts();
            let first = unions.sets.find(node as u32) as usize;
            let kinds = [
                (&mut keys, &unions.are_keys),
                (&mut clusters, &unions.are_ids),
            ];
            for (all, are) in kinds {
                if are[node] {
                    all[0].push(unions.nodes[node]);
                    all[1].push(unions.nodes[first]);
                }
            }
        }
        let array = |values: Vec<Value<'a>>| key_type.array(values.into_iter());
        let both = |[these, names]: [Vec<Value<'a>>; 2]| Some([array(these)?, array(names)?]);
        let (Some(clusters), Some(keys)) = (both(clusters), both(keys)) else {
            return;
        };
        if keeps_its_snapshot() && of.clusters.references {
            let seen = TransitionQueries::new(self.call, Sees::Usual);
            if (seen.first_row::<0>(&of.statement.lacking(), &keys[..1])).is_some() {
                missed_near_duplicate(&self.call.relation().name());
            }
        }
        settled::unites(of.clusters.oid);
        self.queries
            .first_row::<0>(&self.statement.unite(), &clusters);
        self.queries.first_row::<0>(&self.statement.join(), &keys);
    }
}

impl<'a> Unions<'a> {
    /// Of what the query has returned; the pairs are numbers of nodes, from 1.
    fn new(nodes: Value<'a>, [are_keys, are_ids]: [Value<'a>; 2], pairs: [Value<'a>; 2]) -> Self {
        let nodes: Vec<Value> = nodes.array().items.into_iter().flatten().collect();
        let mut sets = UnionFind::new();
        for _ in &nodes {
            or_out_of_memory(sets.add());
        }
        let number = |number: Option<i64>| number.map_or(0, |number| number as u32 - 1);
        let [one, other] = pairs.map(|side| integers(side, number));
        std::iter::zip(one, other).for_each(|(one, other)| {
            sets.union(one, other);
        });
        let [are_keys, are_ids] = [are_keys, are_ids].map(|are| integers(are, |is| is == Some(1)));
        Self {
            nodes,
            are_keys,
            are_ids,
            sets,
        }
    }
}

//! A large batch: its rows are many beside those that were stored before. One search of the whole
//! table, that of `simhash_clusters`, finds what they are connected with; to look up each of them by
//! the index would take several times as long.
//!
//! Rows that are connected with a new one are united. Settled rows that are near each other share a
//! cluster already, so this unites what the pairs of the new rows would unite. Rows whose trigger is
//! still to come are set right by it (see the head of this folder).

use super::batch_statement::BatchStatement;
use super::maintained::Maintained;
use super::trigger::NAME;
use crate::clusters::members::{Members, clustered, no_edges};
use crate::pairs::source::SourceTable;
use crate::pairs::within::Within;
use pgrx::pg_sys;
use simhash_hamming::components::group::Method;
use simhash_pg::catalog::indexes::primary_key;
use simhash_pg::catalog::table::Opened;
use simhash_pg::process::activity::Activity;
use simhash_pg::process::advisory_lock::is_serializable;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::{collected, filled};
use simhash_pg::process::snapshot::with_latest;
use simhash_pg::spi::transition::TransitionQueries;
use simhash_pg::sql::key_type::KeyType;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_pg::sql::value::Value;

/// May the whole table be searched for a batch? All its rows must be seen, be told apart by their
/// keys, and have been answered by triggers like this one. A serializable transaction would lock all
/// that it reads.
pub fn may_search(call: &TriggerCall<'_>, of: &Maintained) -> bool {
    !call.has_condition()
        && call.relation().oid() == of.table
        && !Opened::new(of.table).has_inheritors()
        && primary_key(of.table).is_some_and(|key| key.immediate && key.column == of.options.key)
        && of.sees_all()
        && of.scopes.scope.has_order()
        && !is_serializable()
}

/// Has the statement stored many rows, and the table not many more?
pub fn is_large(statement: &BatchStatement<'_>, queries: &TransitionQueries<'_, '_>) -> bool {
    let mut is_large = false;
    if let Some(sql) = statement.is_large() {
        with_latest(|| queries.for_each_row::<0>(&sql, &mut |_| is_large = true));
    }
    is_large
}

/// What the new rows unite, as [`BatchStatement::unions`] says.
pub fn unions<'a>(
    of: &Maintained,
    statement: &BatchStatement<'_>,
    queries: &TransitionQueries<'a, '_>,
) -> Option<[Option<Value<'a>>; 5]> {
    let new_fingerprints = statement.new_fingerprints()?;
    let (members, parts) = with_latest(|| {
        let mut members = members(of, statement);
        let mut edges = std::mem::replace(&mut members.edges, no_edges());
        let parts = clustered(Method::Components, &members.classes, &mut edges);
        let parts = with_new_rows(&members.fingerprints, parts, queries, &new_fingerprints);
        (members, parts)
    });
    if parts.is_empty() {
        return None;
    }
    let number = KeyType::new(pg_sys::INT8OID)?;
    let numbers = (parts.iter()).map(|(_, part)| number.value(u64::from(*part), &[]));
    let keys = parts.iter().map(|(row, _)| members.key(*row as usize));
    let connected = [members.order.array(keys)?, number.array(numbers)?];
    queries.first_row(&statement.unions_of_connected(), &connected)
}

/// The stored rows that have near ones.
fn members(of: &Maintained, statement: &BatchStatement<'_>) -> Members {
    let source = SourceTable {
        table: Opened::new(of.table),
        table_name: statement.counting_rows(),
        key: of.statement.key.clone(),
        fp: of.statement.fp.clone(),
        key_type: of.key.base_type(),
        columns: [of.key, of.fingerprint],
    };
    let within = Within::columns(&of.scopes.scope.names());
    let (radius, method) = (of.options.radius, Method::Components);
    let mut activity = Activity::new(NAME);
    Members::find(&[source], &within, radius, method, false, &mut activity)
}

/// Of the rows, which have these fingerprints and belong to these parts, those of parts with a new
/// row, each with its part. A row that has the fingerprint of a new one counts as new.
fn with_new_rows(
    fingerprints: &[u64],
    parts: Vec<u32>,
    queries: &TransitionQueries<'_, '_>,
    new_fingerprints: &str,
) -> Vec<(u32, u32)> {
    if parts.is_empty() {
        return Vec::new();
    }
    let of = |row: &u32| fingerprints[*row as usize];
    let mut sorted = collected(0..parts.len() as u32);
    sorted.sort_unstable_by_key(|row| {
        check_for_interrupts();
        of(row)
    });
    // Is there a new row with the fingerprint? Said of the first of equal ones.
    let mut are_new = filled(parts.len(), false);
    queries.for_each_row(
        new_fingerprints,
        &mut |[fingerprint]: [Option<Value>; 1]| {
            let fingerprint = fingerprint.map(|fingerprint| fingerprint.integer() as u64);
            let at = sorted.partition_point(|row| Some(of(row)) < fingerprint);
            if sorted.get(at).map(of) == fingerprint {
                are_new[at] = true;
            }
        },
    );
    let mut touched = filled(parts.len(), false);
    let mut first = 0;
    for (at, row) in sorted.iter().enumerate() {
        check_for_interrupts();
        if of(row) != of(&sorted[first]) {
            first = at;
        }
        touched[parts[*row as usize] as usize] |= are_new[first];
    }
    let mut rows = collected((0..touched.len() as u32).zip(parts));
    rows.retain(|(_, part)| {
        check_for_interrupts();
        touched[*part as usize]
    });
    rows
}

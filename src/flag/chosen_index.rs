//! Which simhash index of its table a flagging trigger takes, if its arguments name none. `source` asks when the
//! trigger fires, and each build of an index, to tell at once what an index more means for a trigger. One that came after the
//! trigger is taken if there is no other (OIDs tell which came first, until the server's counter of them wraps); beyond that the choice depends on what the indexes are, so that all sessions agree.

use std::cmp::Reverse;

use pgrx::PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT;
use pgrx::pg_sys::Oid;

use super::source::{how_to_create, texts_of};
use super::trigger::simhash_flag_duplicate;
use crate::index::fingerprint_function;
use simhash_pg::catalog::fingerprint_index::{FingerprintIndex, indexes_of, is_being_rebuilt};
use simhash_pg::catalog::lookup::is_symbol;
use simhash_pg::catalog::relation::Rel;
use simhash_pg::catalog::table::{self, OpenTable, no_column};
use simhash_pg::process::error::{Error, notice, warn};
use simhash_pg::sql::trigger_tree::{RelatedTrigger, triggers_of};
use simhash_trigger::flag_options::{FlagOptions, parse};

/// The access method of the indexes.
const METHOD: &str = "simhash";

/// Index and definition.
pub type Read = (Oid, FingerprintIndex<'static>);

/// The index that a trigger takes.
pub struct Choice {
    pub taken: Read,
    /// The names of others that fit the arguments, and compare other texts.
    pub others: Vec<String>,
}

fn all_of(table: Oid) -> Vec<Read> {
    let read = |oid| {
        Some((
            oid,
            FingerprintIndex::read(oid, METHOD, fingerprint_function)?,
        ))
    };
    indexes_of(table).into_iter().filter_map(read).collect()
}

/// Returns the indexes that make fingerprints of what the arguments name, or of anything: the valid ones, if there are.
pub fn fitting(table: Oid, options: &FlagOptions) -> Vec<Read> {
    let mut fitting = valid_or_not(table, options);
    // There are two of an index for a while, when it is rebuilt beside writers.
    if fitting.iter().any(|(_, index)| index.valid) {
        fitting.retain(|(_, index)| index.valid);
    }
    fitting
}

fn valid_or_not(table: Oid, options: &FlagOptions) -> Vec<Read> {
    let fits = |index: &FingerprintIndex<'_>| {
        (options.texts.is_empty() || texts_of(table, index) == options.texts)
            && !pins(index, &options.across)
            && (options.within.is_empty()
                || (index.scope.iter()).all(|column| {
                    column
                        .as_ref()
                        .is_some_and(|column| options.within.contains(column))
                }))
    };
    let mut all = all_of(table);
    all.retain(|(_, index)| fits(index));
    all
}

/// Returns whether an index compares rows that are equal in one of these columns alone.
pub fn pins(index: &FingerprintIndex<'_>, columns: &[String]) -> bool {
    let pinned = index.scope.iter().flatten();
    pinned.into_iter().any(|column| columns.contains(column))
}

/// Puts first what a trigger takes: an index that is older than the trigger, since an INSERT must not do something else
/// because somebody added an index; the index with the most columns before the last, since rows that it should not have
/// compared are worse than rows that it missed; one of all rows; one that makes the fingerprints, since one on a
/// column of them may serve another purpose, such as kept clusters; the one with the shortest expression.
fn sort(fitting: &mut [Read], table: Oid, trigger: Option<Oid>) {
    fitting.sort_by_cached_key(|(oid, index)| {
        let identity = index.identity();
        (
            trigger.is_some_and(|trigger| trigger.to_u32() < oid.to_u32()),
            (
                Reverse(index.scope.len()),
                !index.predicate_columns().is_empty(),
            ),
            (texts_of(table, index).is_empty(), index.column.is_some()),
            (identity.len(), identity),
            (index.scope.clone(), table::name(*oid)),
        )
    });
}

/// Returns whether two indexes compare the same texts, or the same column.
fn compare_same((_, one): &Read, (_, other): &Read, table: Oid) -> bool {
    let texts = texts_of(table, one);
    one.identity() == other.identity() || !texts.is_empty() && texts == texts_of(table, other)
}

/// Returns the index that the arguments mean.
pub fn chosen(
    table: Oid,
    options: &FlagOptions,
    trigger: Option<Oid>,
) -> Result<Choice, Box<Error>> {
    let name = table::name(table).unwrap_or_default();
    let refuse = |message: String, hint: String| {
        Box::new(Error::new(ERRCODE_UNDEFINED_OBJECT, message).hint(hint))
    };
    if let Some(wanted) = &options.index {
        let all = all_of(table);
        let names = all.iter().filter_map(|(oid, _)| table::name(*oid));
        let known: Vec<String> = names.collect();
        let is_wanted = |(oid, _): &Read| table::name(*oid).as_ref() == Some(wanted);
        let taken = all.into_iter().find(is_wanted).ok_or_else(|| {
            let message = format!("table \"{name}\" has no simhash index \"{wanted}\"");
            let hint = match &known[..] {
                [] => how_to_create(table, options),
                known => format!("Its simhash indexes: {}.", known.join(", ")),
            };
            refuse(message, hint)
        })?;
        return Ok(Choice {
            taken,
            others: Vec::new(),
        });
    }
    let mut fitting = fitting(table, options);
    sort(&mut fitting, table, trigger);
    let mut rest = fitting.into_iter();
    let Some(taken) = rest.next() else {
        let opened = OpenTable::new(table);
        let is_missing = |name: &&String| table::column(opened.rel(), name).is_none();
        if let Some(missing) = options.texts.iter().find(is_missing) {
            return Err(Box::new(no_column(opened.rel(), missing, "the text")));
        }
        let message = format!("table \"{name}\" has no simhash index that says what is compared");
        return Err(refuse(message, how_to_create(table, options)));
    };
    let others = rest
        .filter(|other| !compare_same(&taken, other, table))
        .filter_map(|(oid, _)| table::name(oid));
    Ok(Choice {
        others: others.collect(),
        taken,
    })
}

/// Tells, while an index is built, which triggers could take it instead of the one that they took, and how to write
/// which one they take.
pub fn tell_of_triggers(table: Rel<'_>, index: Oid) {
    if is_being_rebuilt(index) {
        return;
    }
    let is_ours = |function| is_symbol(function, simhash_flag_duplicate::symbol);
    for trigger in triggers_of(table, is_ours) {
        // The copy of a partition takes an index of the partitioned table.
        if trigger.origin.levels == 0
            && let Ok(options) = parse(&trigger.arguments)
            && options.fingerprint.is_none()
            && options.index.is_none()
        {
            tell(&trigger, &options, table.oid(), index);
        }
    }
}

fn tell(trigger: &RelatedTrigger, options: &FlagOptions, table: Oid, index: Oid) {
    let mut all = valid_or_not(table, options);
    all.retain(|(oid, other)| *oid == index || other.valid);
    sort(&mut all, table, Some(trigger.origin.trigger));
    let name = |one: &Read| table::name(one.0).unwrap_or_default();
    let is_own = |one: &&Read| one.0 == index;
    let (Some(own), Some(before)) = (all.iter().find(is_own), all.iter().find(|one| !is_own(one)))
    else {
        return;
    };
    let scope = |index: &FingerprintIndex<'_>| match &options.within[..] {
        [] => index.scope.clone(),
        _ => Vec::new(),
    };
    let means_same = |one: &Read, other: &Read| {
        compare_same(one, other, table)
            && scope(&one.1) == scope(&other.1)
            && one.1.condition() == other.1.condition()
    };
    // REINDEX CONCURRENTLY drops the index that means the same. It was told of another one that does.
    let is_copy = name(own).ends_with("_ccnew");
    let has_twin = all
        .iter()
        .any(|other| !is_own(&other) && means_same(own, other));
    let after = all
        .iter()
        .find(|one| is_own(one) || !(is_copy && means_same(own, one)));
    let Some(after) = after.filter(|after| !(means_same(before, after) && has_twin)) else {
        return;
    };
    let (taken, trigger_name) = (name(before), &trigger.name);
    let hint = format!(
        "To say which one: {};",
        trigger.with_argument(&format!("index={taken}"))
    );
    match means_same(before, after) {
        true => notice(
            format!(
                "trigger \"{trigger_name}\" takes index \"{taken}\", not \"{}\"",
                name(own)
            ),
            Some(&hint),
        ),
        false => warn(
            format!(
                "trigger \"{trigger_name}\" takes index \"{}\" from now on, not \"{taken}\"",
                name(after)
            ),
            hint,
        ),
    }
}

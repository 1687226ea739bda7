//! Warns of triggers that leave some changes of the rows unanswered. The table of clusters would
//! silently drift from the rows, so the first row that fires such a trigger reports what is
//! missing.

use std::cell::RefCell;
use std::collections::HashSet;

use pgrx::pg_sys::Oid;

use simhash_pg::catalog::table::{self, OpenTable};
use simhash_pg::catalog::table_name::{self, TableName};
use simhash_pg::process::error::warn;
use simhash_pg::sql::trigger::{Event, TriggerCall};
use simhash_pg::sql::trigger_tree::RelatedTrigger;
use simhash_trigger::kept_options::{KeptOptions, parse};

thread_local! {
    /// Tables, each with its table of clusters, about which this session was warned.
    static WARNED: RefCell<HashSet<[u32; 2]>> = RefCell::default();
}

/// Warns, once in a session, of events of `table` that no trigger with this function answers.
pub fn warn_of_missing(
    call: &TriggerCall<'_>,
    function: &str,
    options: &KeptOptions,
    [table, clusters]: [Oid; 2],
) {
    let keeps = |trigger: &RelatedTrigger| {
        trigger.enabled
            && parse(&trigger.arguments).is_ok_and(|other| {
                TableName::parse(&other.clusters)
                    .is_some_and(|name| name.find(trigger.origin.table) == Some(clusters))
            })
    };
    let triggers: Vec<RelatedTrigger> = call.related_triggers().into_iter().filter(keeps).collect();
    let answered = |event| triggers.iter().any(|trigger| trigger.fires_on(event));
    let mut missing = Vec::new();
    if !answered(Event::Insert) {
        missing.push("INSERT".to_owned());
    }
    missing.extend(updates(call, options, &triggers));
    if !answered(Event::Delete) {
        missing.push("DELETE".to_owned());
    }
    let rows = create(&missing, table, "ROW", function);
    // Partitions have no copies of a statement trigger.
    let above = OpenTable::new(table);
    let mut statements = call
        .related_triggers_on(above.rel())
        .into_iter()
        .filter(keeps);
    let truncates = statements.any(|trigger| trigger.fires_on(Event::Truncate));
    let truncate = match truncates {
        true => None,
        false => Some("TRUNCATE".to_owned()),
    };
    let statement = create(truncate.as_slice(), table, "STATEMENT", function);
    missing.extend(truncate);
    let place = [table.to_u32(), clusters.to_u32()];
    if missing.is_empty() || !WARNED.with_borrow_mut(|warned| warned.insert(place)) {
        return;
    }
    warn(
        format!(
            "no trigger of table \"{}\" keeps \"{}\" after {}",
            table::name(table).unwrap_or_default(),
            table_name::shown(clusters),
            missing.join(", ")
        ),
        format!("Create with the same arguments:{rows}{statement}"),
    );
}

/// Returns what is missing for UPDATE.
fn updates(
    call: &TriggerCall<'_>,
    options: &KeptOptions,
    triggers: &[RelatedTrigger],
) -> Option<String> {
    if !triggers
        .iter()
        .any(|trigger| trigger.fires_on(Event::Update))
    {
        return Some("UPDATE".to_owned());
    }
    let named = [&options.key, &options.fingerprint];
    let columns = (named.into_iter().chain(&options.within)).chain(&options.text);
    let unanswered: Vec<String> = columns
        .filter(|name| {
            table::column(call.relation(), name).is_some_and(|column| {
                !triggers
                    .iter()
                    .any(|trigger| trigger.fires_on_update_of(column.number()))
            })
        })
        .map(|name| table_name::identifier(name))
        .collect();
    (!unanswered.is_empty()).then(|| format!("UPDATE OF {}", unanswered.join(", ")))
}

/// Returns the statement that makes a trigger for these events, empty if there are none.
fn create(events: &[String], table: Oid, each: &str, function: &str) -> String {
    match events {
        [] => String::new(),
        _ => format!(
            " CREATE TRIGGER ... AFTER {} ON {} FOR EACH {each} EXECUTE FUNCTION {function}(...);",
            events.join(" OR "),
            table_name::sql(table)
        ),
    }
}

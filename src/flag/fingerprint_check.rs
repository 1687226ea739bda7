//! Checks that the fingerprints which a flagging trigger compares were made in the same way.
//! Fingerprints of other weights, or of a generated column with another expression, are numbers
//! too: they would not match, and nobody would notice. So the trigger compares one stored row, or
//! the expressions, once in a session, and warns; `simhash_fingerprint_verify` checks more rows by
//! the weights that `simhash_trigger_recipe` reads from a trigger's arguments.

use pgrx::pg_sys::Datum;
use std::cell::RefCell;
use std::collections::HashSet;

use pgrx::PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR;
use pgrx::pg_sys;

use super::flagged_table::FlaggedTable;
use simhash_hamming::parts::Hash;
use simhash_pg::catalog::lookup::{SELECT, may};
use simhash_pg::catalog::table::{self, OpenTable, column, generation_expression, quoted};
use simhash_pg::catalog::table_name;
use simhash_pg::process::encoding::name_to_utf8;
use simhash_pg::process::error::{Error, warn};
use simhash_pg::spi::query::for_each_row;
use simhash_pg::sql::expression::jsonb_text;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::trigger::{Event, TriggerCall};
use simhash_trigger::flag_options::{FingerprintOptions, parse};

/// Number of pages at the start of each table that are searched for a row.
const PAGES: u32 = 100;

thread_local! {
    /// The triggers, without their copies on partitions, and weights that this session has checked.
    static CHECKED: RefCell<HashSet<(u32, Option<FingerprintOptions>)>> = RefCell::default();
}

/// Warns when the trigger is to compare fingerprints that were made differently. It does not warn
/// at an UPDATE, which may be the one that makes them again.
pub fn check_once(call: &TriggerCall<'_>, flagged: &FlaggedTable) {
    let fingerprint_options = &flagged.options.fingerprint_options;
    if call.event() != Event::Insert {
        return;
    }
    let new = (flagged.origin.to_u32(), fingerprint_options.clone());
    if !CHECKED.with_borrow_mut(|checked| checked.insert(new)) {
        return;
    }
    match fingerprint_options {
        Some(fingerprint_options) => check_stored_row(call, flagged, fingerprint_options),
        None => check_expressions(call, flagged),
    }
}

/// Raises an ERROR if a hash has not as many parts as those that are stored, of which one is looked at.
pub fn check_length(call: &TriggerCall<'_>, flagged: &FlaggedTable, hash: &Hash) {
    let parts = hash.len();
    if matches!(hash, Hash::Fingerprint(_)) || flagged.parts.get() == parts {
        return;
    }
    let (Some(relation), Some(column)) = (
        table::qualified_name(flagged.searched),
        &flagged.options.fingerprint,
    ) else {
        return;
    };
    let column = quoted(column);
    let sql = format!(
        "SELECT pg_catalog.cardinality(t.{column}) FROM {relation} AS t \
         WHERE t.{column} IS NOT NULL LIMIT 1"
    );
    let mut stored = parts;
    for_each_row(&sql, &[], &mut |[count]| {
        stored = count.map_or(parts, |count| count.integer() as usize);
    });
    if stored != parts {
        let message = format!(
            "a hash of {parts} parts cannot be compared with those of {stored} parts in \"{}\"",
            flagged.name
        );
        call.raise(Error::new(ERRCODE_ARRAY_ELEMENT_ERROR, message));
    }
    flagged.parts.set(parts);
}

/// Compares the fingerprint of one stored row with the one that the trigger would give it.
fn check_stored_row(
    call: &TriggerCall<'_>,
    flagged: &FlaggedTable,
    fingerprint_options: &FingerprintOptions,
) {
    let searched = flagged.searched;
    let (Some(relation), Some(fingerprint)) = (
        table::qualified_name(searched),
        &flagged.options.fingerprint,
    ) else {
        return;
    };
    // The fingerprint is computed from the whole row. A user who may not read it is not warned.
    if !may(searched, SELECT, &[]) {
        return;
    }
    let sql = format!(
        "SELECT FROM (SELECT t.{column}::pg_catalog.int8 OPERATOR(pg_catalog.=) \
         simhash_catalog.fingerprint(t.*, {weights}, {preset}) AS same FROM {relation} AS t \
         WHERE t.{column} IS NOT NULL AND t.ctid OPERATOR(pg_catalog.<) '({PAGES},0)'::pg_catalog.tid \
         LIMIT 1) AS one WHERE one.same IS NOT TRUE",
        weights = literal(&fingerprint_options.weights),
        preset = (fingerprint_options.preset.as_deref()).map_or("NULL".to_owned(), literal),
        column = quoted(fingerprint),
    );
    let mut differs = false;
    for_each_row::<0>(&sql, &[], &mut |_| differs = true);
    if differs {
        let trigger = name_to_utf8(call.trigger_name().to_bytes());
        let shown = table_name::sql(searched).replace('\'', "''");
        let column = fingerprint.replace('\'', "''");
        warn(
            format!(
                "column \"{fingerprint}\" of table \"{}\" has a fingerprint that trigger \
                 \"{trigger}\" would not give its row",
                flagged.name
            ),
            format!(
                "Fingerprints of different weights do not meet. UPDATE the rows that were there \
                 before, or give the trigger their weights. To count them: \
                 SELECT * FROM simhash_fingerprint_verify('{shown}', '{column}');"
            ),
        );
    }
}

/// Compares the expression of the generated column with those of the other tables that are
/// searched. Within a table the server makes sure that all rows have one expression.
fn check_expressions(call: &TriggerCall<'_>, flagged: &FlaggedTable) {
    let generated = flagged
        .columns
        .fingerprint
        .filter(|column| column.generated);
    let (Some(fingerprint), Some(generated)) = (&flagged.options.fingerprint, generated) else {
        return;
    };
    let own = call.relation();
    let expression = generation_expression(own, &generated);
    let differs = |other: &pg_sys::Oid| {
        let opened = OpenTable::new(*other);
        let rel = opened.rel();
        column(rel, fingerprint).is_some_and(|column| {
            column.generated && generation_expression(rel, &column) != expression
        })
    };
    let others = table::ordinary_tables_below(flagged.searched);
    if let Some(other) = others.into_iter().find(differs) {
        warn(
            format!(
                "column \"{fingerprint}\" is generated differently in tables \"{}\" and \"{}\"",
                own.name(),
                table::name(other).unwrap_or_default()
            ),
            "Fingerprints of different expressions do not meet. simhash_made_by shows them.",
        );
    }
}

/// Returns a string constant that reads the same whatever standard_conforming_strings is.
fn literal(text: &str) -> String {
    let escape = if text.contains('\\') { "E" } else { "" };
    format!(
        "{escape}'{}'",
        text.replace('\\', "\\\\").replace('\'', "''")
    )
}

pg_function!(simhash_trigger_recipe);
/// `simhash_catalog.trigger_recipe(arguments bytea, fingerprint name) -> text`: the weights and
/// the preset by which a trigger with these arguments, as pg_trigger has them, fills that
/// column; NULL when it does not.
fn simhash_trigger_recipe(args: &Args) -> Datum {
    let (Some(given), Some(fingerprint)) = (args.varlena(0, pg_sys::BYTEAOID), args.name(1)) else {
        return args.null();
    };
    let text = |argument: &[u8]| name_to_utf8(argument).into_owned();
    // Each argument ends with a zero byte.
    let mut given: Vec<String> = given.bytes().split(|byte| *byte == 0).map(text).collect();
    given.pop();
    let options = parse(&given)
        .ok()
        .filter(|options| options.fingerprint.as_ref() == Some(&fingerprint));
    let fingerprint_options = options.and_then(|options| options.fingerprint_options);
    args.result(fingerprint_options.map(|fingerprint_options| {
        let weights = literal(&jsonb_text(&fingerprint_options.weights));
        let preset = fingerprint_options
            .preset
            .map(|preset| format!(", {}::text", literal(&preset)));
        format!("{weights}::jsonb{}", preset.unwrap_or_default())
    }))
}

//! Of two relations, the rows of the larger one that its index finds near those of the smaller.
//! simhash_pairs_between reads them in place of all rows where the planner expects that to cost
//! less. A row that is left out is in no pair, so the answer is the same.

use super::scope_columns::ScopeColumns;
use super::source::SourceTable;
use pgrx::pg_sys::Oid;
use simhash_pg::catalog::lookup::{SELECT, function_schema, may};
use simhash_pg::catalog::table::{is_table, quoted, schema_name};
use simhash_pg::table_scan::cost;

/// Makes the relation where it saves most be read by its index, if there is one. `function` stands in the
/// schema of the operators.
pub fn read_by_index(
    sources: &mut [SourceTable],
    columns: &ScopeColumns<'_>,
    radius: u32,
    function: Oid,
) {
    let [a, b] = sources else { return };
    let Some(schema) = schema_name(function_schema(function)) else {
        return;
    };
    let schema = quoted(&schema);
    let saving = |searched: &SourceTable, asked: &SourceTable| {
        let near = near_rows(searched, asked, columns, radius, &schema)?;
        let by_index = cost(&searched.query_of(&near), &[])?;
        Some((cost(&searched.query(), &[])? - by_index, near))
    };
    let ways = [saving(a, b), saving(b, a)].into_iter().zip([a, b]);
    let ways = ways.filter_map(|(way, searched)| Some((way?, searched)));
    let best = ways.max_by(|((one, _), _), ((other, _), _)| one.total_cmp(other));
    if let Some(((saved, near), searched)) = best
        && saved > 0.0
    {
        searched.with_fingerprints = near;
    }
}

/// Returns the query of the rows of one relation that are within the radius of a row of another, as SQL text.
/// Returns None where no index can serve it.
fn near_rows(
    searched: &SourceTable,
    asked: &SourceTable,
    columns: &ScopeColumns<'_>,
    radius: u32,
    schema: &str,
) -> Option<String> {
    let ([column], [of_asked]) = (&searched.compared[..], &asked.compared[..]) else {
        return None;
    };
    let table = searched.table.rel().oid();
    // System columns tell rows apart, and need the privilege on the table.
    let is_indexable = searched.hashes.is_none()
        && searched.key_column.is_some()
        && is_table(table)
        && may(table, SELECT, &[]);
    if !is_indexable || searched.made_of.is_some() != asked.made_of.is_some() {
        return None;
    }
    let (type_name, made) = match &searched.made_of {
        Some(_) => {
            let text = format!("r.{column}::pg_catalog.text");
            let made = format!("simhash_catalog.text_fingerprint({text})");
            ("text", format!(", {made} AS \"simhash_dedup fingerprint\""))
        }
        None => ("int8", String::new()),
    };
    let mut read = vec![&searched.key, column];
    read.extend(columns.names());
    read.sort_unstable();
    read.dedup();
    let read: Vec<String> = read.into_iter().map(|name| format!("r.{name}")).collect();
    // The relations may have columns of one name.
    Some(format!(
        "(SELECT DISTINCT ON (r.tableoid, r.ctid) {}{made} \
         FROM (SELECT {of_asked}::pg_catalog.{type_name} FROM {}) AS simhash_asked (value), {} AS r \
         WHERE r.{column} OPERATOR({schema}.<~>) simhash_asked.value OPERATOR(pg_catalog.<=) {radius}) AS r",
        read.join(", "),
        asked.table_name,
        searched.table_name
    ))
}

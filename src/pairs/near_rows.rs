//! Of two relations, the rows of the larger one that its index finds near those of the smaller.
//! simhash_pairs_between reads them in place of all rows where the planner expects that to cost
//! less. A row that is left out is in no pair, so the answer is the same.

use super::scope_columns::ScopeColumns;
use super::source::SourceTable;
use pgrx::pg_sys::Oid;
use simhash_pg::catalog::lookup::function_schema;
use simhash_pg::catalog::table::{is_table, quoted, schema_name};
use simhash_pg::table::cost;

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
    let ways = [(&*a, &*b), (&*b, &*a)].map(|(searched, asked)| {
        let near = near_rows(searched, asked, columns, radius, &quoted(&schema))?;
        let by_index = cost(&searched.query_of(&near), &[])?;
        Some((cost(&searched.query(), &[])? - by_index, near))
    });
    let saved = |way: &Option<(f64, String)>| way.as_ref().map_or(0.0, |way| way.0);
    let side = usize::from(saved(&ways[1]) > saved(&ways[0]));
    let is_cheaper = saved(&ways[side]) > 0.0;
    if let (true, Some((_, near))) = (is_cheaper, ways.into_iter().nth(side).flatten()) {
        [a, b][side].with_fingerprints = near;
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
    let is_indexable = searched.hashes.is_none()
        && searched.key_column.is_some()
        && is_table(searched.table.rel().oid());
    if !is_indexable || searched.made_of.is_some() != asked.made_of.is_some() {
        return None;
    }
    let (type_name, made) = match &searched.made_of {
        Some(_) => {
            let text = format!("r.{column}::pg_catalog.text");
            let made = format!("simhash_catalog.text_fingerprint({text})");
            ("text", format!(", {made} AS simhash_fingerprint"))
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

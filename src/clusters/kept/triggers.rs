//! The triggers that name a table of clusters, found in the catalog by their arguments.

use pgrx::pg_sys::Datum;
use pgrx::pg_sys::{self, Oid};

use simhash_pg::catalog::table_name::TableName;
use simhash_pg::process::encoding::{name_from_utf8, name_to_utf8};
use simhash_pg::spi::saved_query::SavedQuery;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::rows_out::{ResultValue, RowsOut};
use simhash_pg::sql::value::Value;
use simhash_trigger::kept_options::{KeptOptions, parse};

/// Finds the triggers of the extension that name a table of clusters; on a partitioned table only
/// those that CREATE TRIGGER made, without their copies. Anybody may name any table, so a trigger
/// does not count if the owner of its table has not the rights of that of the table of clusters.
const TRIGGERS: &str = "SELECT t.tgrelid::pg_catalog.oid, t.tgname::pg_catalog.text, t.tgargs, t.tgfoid::pg_catalog.oid
     FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_proc AS p ON p.oid OPERATOR(pg_catalog.=) t.tgfoid
     JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) t.tgrelid
     JOIN pg_catalog.pg_depend AS d ON d.objid OPERATOR(pg_catalog.=) p.oid
     JOIN pg_catalog.pg_extension AS e ON e.oid OPERATOR(pg_catalog.=) d.refobjid
     WHERE t.tgparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid
     AND pg_catalog.pg_has_role(c.relowner, (
         SELECT k.relowner FROM pg_catalog.pg_class AS k WHERE k.oid OPERATOR(pg_catalog.=) $1
     ), 'USAGE') AND d.deptype OPERATOR(pg_catalog.=) 'e'
     AND p.proname OPERATOR(pg_catalog.=) 'maintain_clusters'
     AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid
     AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass::pg_catalog.oid
     AND e.extname OPERATOR(pg_catalog.=) 'simhash_dedup'
     ORDER BY t.tgrelid, t.tgname";

pub struct KeptTrigger {
    /// The table that has it.
    pub on: Oid,
    /// The table whose rows are clustered, and what has its name by now.
    pub relation: Oid,
    pub named: Option<Oid>,
    pub name: String,
    /// The trigger function.
    pub function: Oid,
    pub arguments: Vec<String>,
    /// Without the table, which `relation` says.
    pub options: KeptOptions,
}

/// Returns the triggers that write to a table of clusters, or note what changes for it.
pub fn triggers_of(clusters: Oid) -> Vec<KeptTrigger> {
    let mut found = Vec::new();
    let query = SavedQuery::of_session(TRIGGERS, &[pg_sys::OIDOID]);
    query.for_each_row(&[Some(Value::from(clusters))], &mut |row| {
        let [Some(on), Some(name), Some(strings), Some(function)] = row else {
            return;
        };
        let arguments = strings.show_bytes(arguments);
        // A trigger whose arguments are refused lets no row pass.
        let Ok(mut options) = parse(&arguments) else {
            return;
        };
        let on = Oid::from(on.oid());
        let find = |name: &str| TableName::parse(name).and_then(|name| name.find_of_others(on));
        let at = options.table.take().as_deref().and_then(find);
        let is_of_decisions = options.decisions.as_deref().and_then(find) == Some(on);
        let Some(relation) = (if is_of_decisions { at } else { Some(on) }) else {
            return;
        };
        let named = TableName::parse(&options.clusters);
        if named.is_some_and(|name| name.find_of_others(relation) == Some(clusters)) {
            found.push(KeptTrigger {
                on,
                relation,
                named: at,
                name: name.to_text(),
                function: Oid::from(function.oid()),
                arguments,
                options,
            });
        }
    });
    found
}

/// Splits the arguments, each of which has a zero byte behind it in pg_trigger.
fn arguments(strings: &[u8]) -> Vec<String> {
    let mut arguments: Vec<String> = (strings.split(|byte| *byte == 0))
        .map(|argument| name_to_utf8(argument).into_owned())
        .collect();
    // Remove the empty string behind the last zero byte.
    arguments.pop();
    arguments
}

pg_function!(simhash_kept_by);
/// simhash_catalog.kept_by(clusters regclass)
/// -> SETOF (relation regclass, name text, arguments text[], notes text): the table that has the
/// trigger
fn simhash_kept_by(args: &Args) -> Datum {
    let mut rows = RowsOut::begin(args);
    for trigger in args.get::<Oid>(0).map(triggers_of).unwrap_or_default() {
        let encoded: Vec<_> = trigger
            .arguments
            .iter()
            .map(|a| name_from_utf8(a))
            .collect();
        let arguments: Vec<&[u8]> = encoded.iter().map(|argument| &**argument).collect();
        let notes = trigger.options.notes.as_deref().and_then(TableName::parse);
        let notes = notes.map(|name| name.sql(trigger.relation));
        rows.push([
            Some(ResultValue::from(trigger.on)),
            Some(ResultValue::Text(&trigger.name)),
            Some(ResultValue::Texts(&arguments)),
            notes.as_deref().map(ResultValue::Text),
        ]);
    }
    args.null()
}

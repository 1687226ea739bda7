//! A table whose clusters are kept, as the arguments of its triggers describe it: the tables and the
//! function that they name, looked up. The trigger and the refresh find it here.

use pgrx::PgSqlErrorCode::{
    ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_UNDEFINED_FUNCTION, ERRCODE_UNDEFINED_TABLE,
};
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use crate::pairs::source::is_text;
use simhash_pg::catalog::lookup::function_schema;
use simhash_pg::catalog::table::{self, Column, OpenTable};
use simhash_pg::catalog::table_name::{self, TableName, WrittenName};
use simhash_pg::process::error::Error;
use simhash_trigger::kept_options::KeptOptions;

pub struct KeptTable {
    /// The table whose rows are clustered.
    pub relation: Oid,
    pub clusters: Oid,
    /// None where clusters are kept at once.
    pub notes: Option<Oid>,
    /// The function that judges candidates.
    pub checked_by: Option<Oid>,
    /// The table of what a person has decided about pairs.
    pub decisions: Option<Oid>,
    /// The table of what has become of clusters.
    pub log: Option<Oid>,
    pub options: KeptOptions,
}

impl KeptTable {
    /// Looks up what the options of a trigger name, for a table that was found already. `trigger` is
    /// its function, in whose schema and in that of the table a function without a schema is.
    pub fn find(
        relation: Oid,
        clusters: Oid,
        trigger: Oid,
        options: KeptOptions,
    ) -> Result<Self, Box<Error>> {
        let find = |argument: &str, what: &str, name: &Option<String>| {
            let found = |name: &str| find_table(relation, argument, what, name);
            name.as_deref().map(found).transpose()
        };
        let checked_by = options.checked_by.as_deref();
        let schemas = [function_schema(trigger), table::schema(relation)];
        let of_texts = options.text.is_some();
        let function = |name| find_function(relation, &schemas, of_texts, name);
        Ok(Self {
            notes: find("notes", "table of notes", &options.notes)?,
            decisions: find("decisions", "table of decisions", &options.decisions)?,
            log: find("log", "table of the log", &options.log)?,
            checked_by: checked_by.map(function).transpose()?,
            relation,
            clusters,
            options,
        })
    }

    /// The tables that it names, and whose changes matter.
    pub fn tables(&self) -> Vec<Oid> {
        let named = [self.notes, self.decisions, self.log].into_iter().flatten();
        [self.relation, self.clusters]
            .into_iter()
            .chain(named)
            .collect()
    }
}

/// Returns a message and a hint where the table `on`, of which there are clusters, has lost its name to another.
pub fn renamed(on: Oid, named: Option<Oid>, clusters: Oid) -> Option<[String; 2]> {
    let named = table_name::shown(named.filter(|named| *named != on)?);
    let [on, clusters] = [on, clusters].map(table_name::shown);
    Some([
        format!(
            "\"{clusters}\" has clusters of table \"{on}\", and \"{named}\" is another one by now"
        ),
        format!("Call simhash_keep_clusters again for \"{named}\", with the same arguments."),
    ])
}

/// Returns whether fingerprints are made of this column, which is one of texts.
pub fn is_made_of(column: &Column) -> bool {
    is_text(column) && !column.storage.is_by_value()
}

/// Returns the table of that name. A name without a schema is looked up in that of the kept table:
/// the search_path belongs to the session that writes, and must not decide which table is meant.
pub fn find_table(
    relation: Oid,
    argument: &str,
    what: &str,
    name: &str,
) -> Result<Oid, Box<Error>> {
    let Some(parsed) = TableName::parse(name) else {
        let message =
            format!("trigger argument \"{argument}\" must be the name of a table, not \"{name}\"");
        let error = Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message);
        return Err(Box::new(
            error.hint("Write it as in SQL: table or schema.table."),
        ));
    };
    parsed.find(relation).ok_or_else(|| {
        let message = format!("{what} \"{}\" does not exist", parsed.shown(relation));
        let hint = "Call simhash_drop_clusters with triggers_only, then simhash_keep_clusters.";
        Box::new(Error::new(ERRCODE_UNDEFINED_TABLE, message).hint(hint))
    })
}

/// Returns the function of that name over two texts, or over two rows.
fn find_function(
    relation: Oid,
    schemas: &[Oid],
    of_texts: bool,
    name: &str,
) -> Result<Oid, Box<Error>> {
    let operand = match of_texts {
        true => pg_sys::TEXTOID,
        false => OpenTable::new(relation).rel().row_type(),
    };
    let found =
        WrittenName::parse(name).and_then(|name| name.find_function(schemas, &[operand; 2]));
    found.map(|(function, _)| function).ok_or_else(|| {
        let operand = table::type_name(operand);
        let message = format!("function {name}({operand}, {operand}) does not exist");
        let hint = "With \"text\" it takes two texts, without it two rows of the table.";
        Box::new(Error::new(ERRCODE_UNDEFINED_FUNCTION, message).hint(hint))
    })
}

/// Returns the name of a table as SQL text; raises an ERROR when it was dropped in the meantime.
pub fn named(table: Oid) -> String {
    table::qualified_name(table).unwrap_or_else(|| {
        Error::new(
            ERRCODE_UNDEFINED_TABLE,
            format!("relation with OID {} does not exist", table.to_u32()),
        )
        .raise()
    })
}

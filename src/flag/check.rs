//! The check of a near row: by the similarity of texts, or by a function of the user's over two
//! texts or two rows. `search_query` calls it for the condition that its queries have, and for the
//! parameter that this takes. The function runs for near rows only, with the rights of the user who
//! inserts.

use pgrx::PgSqlErrorCode::{
    ERRCODE_INVALID_PARAMETER_VALUE, ERRCODE_UNDEFINED_FUNCTION, ERRCODE_WRONG_OBJECT_TYPE,
};
use pgrx::pg_sys;
use pgrx::pg_sys::Oid;

use super::columns::Columns;
use super::source::Source;
use simhash_pg::catalog::lookup::{function_result_type, function_schema, is_plain_function};
use simhash_pg::catalog::table::{self, Column, OpenTable, quoted};
use simhash_pg::catalog::table_name::WrittenName;
use simhash_pg::process::error::Error;
use simhash_pg::sql::trigger::TriggerCall;
use simhash_trigger::flag_options::Check;

/// Lets a function of two rows judge where texts are compared, and no function of that name takes two texts.
pub fn settle_operands(call: &TriggerCall<'_>, searched: Oid, source: &mut Source) {
    if let Some(Check::Function(name)) = &source.check
        && find(call, searched, name, pg_sys::TEXTOID).is_none()
        && find(
            call,
            searched,
            name,
            OpenTable::new(searched).rel().row_type(),
        )
        .is_some()
    {
        source.texts.clear();
    }
}

/// The condition of a check, and what it takes of the new row: parameters of these types.
pub struct CheckCondition {
    pub parameters: Vec<Oid>,
    pub is_function: bool,
    /// A function of the user's.
    pub function: Option<Oid>,
    pub condition: String,
    /// The function of two rows, as SQL text.
    pub of_rows: Option<String>,
}

impl CheckCondition {
    /// Returns the check of a trigger, if it has one. The first parameter of the condition has this number.
    pub fn new(
        call: &TriggerCall<'_>,
        searched: Oid,
        (source, columns): (&Source, &Columns),
        number: usize,
    ) -> Option<Self> {
        let check = source.check.as_ref()?;
        if let (Check::Function(name), []) = (check, &source.texts[..]) {
            let row = OpenTable::new(searched).rel().row_type();
            let (oid, function) = found(call, searched, name, row);
            return Some(Self {
                parameters: vec![row],
                is_function: true,
                function: Some(oid),
                condition: format!("{function}(t.*, ${number})"),
                of_rows: Some(function),
            });
        }
        let stored = source.texts.iter();
        let stored = stored.map(|name| format!("t.{}::pg_catalog.text", quoted(name)));
        let stored = joined(stored.collect())?;
        let count = source.texts.len();
        let new = (number..number + count).map(|i| format!("${i}::pg_catalog.text"));
        let new = joined(new.collect())?;
        let mut function = None;
        let condition = match check {
            Check::Jaccard(least) => format!(
                "simhash_catalog.jaccard_at_least({stored}, {new}, '{least}'::pg_catalog.float8)"
            ),
            Check::Same => format!("simhash_catalog.same({stored}, {new})"),
            Check::Function(name) => {
                let (oid, name) = found(call, searched, name, pg_sys::TEXTOID);
                function = Some(oid);
                format!("{name}({stored}, {new})")
            }
        };
        Some(Self {
            parameters: columns.texts.iter().map(Column::base_type).collect(),
            is_function: !matches!(check, Check::Jaccard(_)),
            function,
            condition,
            of_rows: None,
        })
    }
}

/// Several texts as one, in lines.
fn joined(mut texts: Vec<String>) -> Option<String> {
    match texts.len() {
        0 | 1 => texts.pop(),
        _ => Some(format!(
            "pg_catalog.concat_ws(pg_catalog.chr(10), {})",
            texts.join(", ")
        )),
    }
}

/// Finds the function of that name over two values of a type, and its name as SQL text. A name without a
/// schema is looked up in that of the extension, where `simhash_same` is, then in that of the table.
fn find(call: &TriggerCall<'_>, searched: Oid, name: &str, operand: Oid) -> Option<(Oid, String)> {
    let parsed = WrittenName::parse(name).unwrap_or_else(|| {
        let message =
            format!("trigger argument \"checked_by\" must name a function, not \"{name}\"");
        call.raise(
            Error::new(ERRCODE_INVALID_PARAMETER_VALUE, message)
                .hint("Write it as in SQL, without arguments: function or schema.function."),
        )
    });
    let schemas = [
        function_schema(call.function_oid()),
        table::schema(searched),
    ];
    parsed.find_function(&schemas, &[operand, operand])
}

/// As [`find`]; raises an ERROR unless there is such a function, and it returns one boolean.
fn found(call: &TriggerCall<'_>, searched: Oid, name: &str, operand: Oid) -> (Oid, String) {
    let operand_name = table::type_name(operand);
    let signature = format!("{name}({operand_name}, {operand_name})");
    let Some((function, sql)) = find(call, searched, name, operand) else {
        let message = format!("function {signature} does not exist");
        call.raise(Error::new(ERRCODE_UNDEFINED_FUNCTION, message).hint(
            "It takes two texts, or two rows of the table. A name without a \
             schema is looked up in that of the extension and in that of the table.",
        ));
    };
    if function_result_type(function) != pg_sys::BOOLOID || !is_plain_function(function) {
        let message = format!("{signature} is not a function that returns one boolean");
        call.raise(Error::new(ERRCODE_WRONG_OBJECT_TYPE, message));
    }
    (function, sql)
}

//! An index of a table that Citus distributes: the rows are in the indexes of the shards. What it
//! holds itself are rows from before the table was distributed, or none.

use pgrx::PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE;

use crate::pg::am::open::OpenIndex;
use crate::pg::catalog::{citus, table_name};
use crate::pg::process::error::raise_with_hint;

/// Refuses such an index; `instead` is the function that looks at the shards.
pub fn refuse_distributed(open: &OpenIndex, instead: &str) {
    let table = open.table().oid();
    if citus::is_distributed(table) {
        let (name, table) = (open.index().name(), table_name::shown(table));
        raise_with_hint(
            ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{name}\" is an index of distributed table \"{table}\""),
            format!("{instead}() looks at the indexes of its shards."),
        );
    }
}

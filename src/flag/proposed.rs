//! Checks the arguments of a flagging trigger before there is one, by the code that reads them when it
//! fires: CREATE TRIGGER cannot refuse any. `simhash_guard` of the SQL script calls it, for the statements
//! that it prints.

use pgrx::pg_sys;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::Oid;

use super::flagged_table::FlaggedTable;
use crate::pairs::arguments::required;
use simhash_pg::catalog::table::OpenTable;
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::trigger::with_proposed;

/// The function of the SQL script, for messages.
const GUARD: &str = "simhash_guard";

pg_function!(simhash_check_flag);
/// `simhash_catalog.check_flag(relation regclass, function oid, name text, arguments text[]) -> boolean`: raises
/// the ERROR that a trigger of this name would raise on its first row; returns whether an index of the
/// table says what it compares. Without one the arguments `text` and `within` do.
fn simhash_check_flag(args: &Args) -> Datum {
    let relation: Oid = required(args.get(0), GUARD, "relation");
    let function: Oid = required(args.get(1), GUARD, "function");
    let name = required(args.varlena(2, pg_sys::TEXTOID), GUARD, "name").to_text();
    let array = required(args.varlena(3, pg_sys::TEXTARRAYOID), GUARD, "arguments").array();
    let texts: Vec<String> = (array.items.into_iter())
        .map(|text| required(text, GUARD, "arguments").to_text())
        .collect();
    let opened = OpenTable::new(relation);
    let checked = with_proposed(
        args,
        opened.rel(),
        function,
        (&name, &texts),
        FlaggedTable::check,
    );
    args.result(Some(checked))
}

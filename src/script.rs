//! Support for the functions of the SQL script that are written in PL/pgSQL.

use pgrx::pg_sys::Datum;
use simhash_pg::process::error::leave_out_caller;
use simhash_pg::sql::fmgr::{Args, pg_function};

pg_function!(simhash_hide_context);
/// `simhash_catalog.hide_context() -> void`
fn simhash_hide_context(args: &Args) -> Datum {
    leave_out_caller();
    args.null()
}

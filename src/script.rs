//! Support for the functions of the SQL script that are written in PL/pgSQL, and the script of the review page.

use pgrx::pg_sys::Datum;
use simhash_pg::process::error::leave_out_caller;
use simhash_pg::sql::fmgr::{Args, pg_function};

pg_function!(simhash_hide_context);
/// `simhash_catalog.hide_context() -> void`
fn simhash_hide_context(args: &Args) -> Datum {
    leave_out_caller();
    args.null()
}

pg_function!(simhash_review_script);
/// `simhash_catalog.review_script() -> text`: a client may have no file of this version
fn simhash_review_script(args: &Args) -> Datum {
    args.result(Some(include_str!("../sql/simhash_review.sql").to_owned()))
}

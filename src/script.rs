//! Support for the functions of the SQL script that are written in PL/pgSQL.

use simhash_pg::process::error::leave_out_caller;
use simhash_pg::sql::fmgr::pg_function;

pg_function! {
    /// `simhash_catalog.hide_context() -> void`
    fn simhash_hide_context, pg_finfo_simhash_hide_context (args) {
        leave_out_caller();
        args.null()
    }
}

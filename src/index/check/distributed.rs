//! Indexes of tables that Citus distributes: the rows are in the indexes of the shards. Such an
//! index itself holds rows from before the table was distributed, or none.

use pgrx::PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE;
use pgrx::pg_sys::Oid;

use simhash_pg::am::access::{OpenPurpose, table_of_index};
use simhash_pg::am::open::OpenIndex;
use simhash_pg::catalog::{citus, table_name};
use simhash_pg::process::error::Error;
use simhash_pg::process::error_context::leave_out_statement;
use simhash_pg::sql::fmgr::pg_function;

pg_function! {
    /// `simhash_catalog.check_index(index regclass, verify boolean) -> void`, strict
    fn simhash_check_index, pg_finfo_simhash_check_index (args) {
        leave_out_statement();
        if let (Some(index), Some(verify)) = (args.get::<Oid>(0), args.get::<bool>(1)) {
            let purpose = match verify {
                true => OpenPurpose::Verification,
                false => OpenPurpose::Statistics,
            };
            table_of_index(index, c"simhash", purpose);
        }
        args.null()
    }
}

/// Refuses such an index; `instead` is the function that looks at the shards.
pub fn refuse_distributed(open: &OpenIndex, instead: &str) {
    let table = open.table().oid();
    if citus::is_distributed(table) {
        let (name, table) = (open.index().name(), table_name::shown(table));
        Error::new(
            ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{name}\" is an index of distributed table \"{table}\""),
        )
        .hint(format!("{instead}() looks at the indexes of its shards."))
        .raise();
    }
}

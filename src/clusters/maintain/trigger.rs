//! The trigger function: which form answers a call.

use pgrx::PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED;

use super::{batch, row};
use simhash_pg::process::error::raise;
use simhash_pg::sql::fmgr::pg_function;
use simhash_pg::sql::trigger::TriggerCall;

/// The trigger function.
pub const NAME: &str = "simhash_maintain_clusters";

pg_function! {
    /// `simhash_maintain_clusters() -> trigger`
    fn simhash_maintain_clusters, pg_finfo_simhash_maintain_clusters(args) {
        match TriggerCall::from_arguments(args) {
            Some(call) if call.is_after_row() => {
                row::maintain(&call);
                call.unchanged()
            }
            Some(call) if call.is_after_statement() => {
                batch::maintain(&call);
                call.skip()
            }
            _ => raise(
                ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                format!("function {NAME} must be fired AFTER INSERT, UPDATE, DELETE or TRUNCATE"),
            ),
        }
    }
}

//! The trigger function, which answers a call.

use super::{row, truncation};
use crate::trigger::call::wrong_timing;
use simhash_pg::sql::fmgr::pg_function;
use simhash_pg::sql::trigger::{Event, TriggerCall};

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
            Some(call) if call.is_after_statement() && call.event() == Event::Truncate => {
                truncation::maintain(&call);
                call.skip()
            }
            call => wrong_timing(
                call.as_ref(),
                NAME,
                "AFTER INSERT, UPDATE or DELETE FOR EACH ROW, or AFTER TRUNCATE",
            ),
        }
    }
}

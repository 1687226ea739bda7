//! Which rows a statement sees. With it the caller knows whether what it read earlier would still
//! read the same.

use pgrx::pg_sys;

use super::compat::local_transaction;

/// All that decides which rows the active snapshot shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What the transaction itself wrote is visible up to this command, unless it was rolled back
    /// with a subtransaction.
    transaction: u32,
    subtransaction: u32,
    command: u32,
    bounds: (u32, u32),
    running: Vec<u32>,
    running_sub: Vec<u32>,
    overflowed: bool,
}

impl Seen {
    /// What the active snapshot shows; None when there is none.
    pub fn now() -> Option<Self> {
        // SAFETY: the active snapshot, if any, is live, with arrays as long as it says.
        unsafe {
            if !pg_sys::ActiveSnapshotSet() {
                return None;
            }
            let snapshot = &*pg_sys::GetActiveSnapshot();
            let list = |ids: *const pg_sys::TransactionId, count: usize| match count {
                0 => Vec::new(),
                _ => std::slice::from_raw_parts(ids, count)
                    .iter()
                    .map(number)
                    .collect(),
            };
            Some(Self {
                transaction: local_transaction(),
                subtransaction: pg_sys::GetCurrentSubTransactionId(),
                command: snapshot.curcid,
                bounds: (number(&snapshot.xmin), number(&snapshot.xmax)),
                running: list(snapshot.xip, snapshot.xcnt as usize),
                running_sub: list(snapshot.subxip, snapshot.subxcnt.max(0) as usize),
                overflowed: snapshot.suboverflowed,
            })
        }
    }
}

fn number(id: &pg_sys::TransactionId) -> u32 {
    (*id).into()
}

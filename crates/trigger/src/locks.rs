//! The advisory lock of a table of clusters. It is of the extension's own class
//! (`pg::process::advisory_lock`), named by the table and this number, and held until the transaction
//! ends. Triggers that keep clusters at once share it (`clusters::maintain::claims`); a refresh and a
//! TRUNCATE take it alone.

/// The number of the lock of a table of clusters.
pub const CLUSTERS: u32 = u32::MAX;

//! Building an index bottom up: postings are sorted, then loaded into pages. CREATE INDEX and
//! REINDEX call it with the postings of a table. The pages come in the order of their addresses,
//! each once.

pub mod load;
pub mod sort;

//! What the extension's trigger functions share.
//!
//! `simhash_trigger` reads the arguments. Here `call` has the errors that name the trigger, the
//! columns that arguments name, and what a session remembers of each trigger; `hash_column` is how
//! rows are compared: by which hashes, and what `within=` and `across=` mean; `in_progress` makes a row wait
//! for those near it that are not committed yet.

pub(crate) mod call;
pub(crate) mod hash_column;
pub(crate) mod in_progress;

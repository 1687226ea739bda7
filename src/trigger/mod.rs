//! What the extension's trigger functions share.
//!
//! `simhash_trigger` reads the arguments. Here `call` has the errors that name the trigger, the
//! columns that arguments name, and what a session remembers of each trigger; `hash_column` is how
//! the hashes of rows are compared, `scope` what `within=` means; `in_progress` makes a row wait
//! for those near it that are not committed yet. What must not live here: what one of the triggers
//! does.

pub(crate) mod call;
pub(crate) mod hash_column;
pub(crate) mod in_progress;
pub(crate) mod scope;

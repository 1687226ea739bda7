//! What the extension's trigger functions share.
//!
//! `simhash_trigger` reads the arguments and numbers the locks. Here `call` has the errors that
//! name the trigger, the columns that arguments name, and what a session remembers of each trigger;
//! `scope` is what `within=` means. What must not live here: what one of the triggers does.

#![forbid(unsafe_code)]
pub(crate) mod call;
pub(crate) mod scope;

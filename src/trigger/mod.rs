//! What the extension's trigger functions share.
//!
//! [`arguments`] parses the strings `name=value` of CREATE TRIGGER; [`locks`] are the locks of
//! triggers that search before they write: what they stand for, their numbers, their order; `call`
//! has the errors that name the trigger, the columns that arguments name, and what a session
//! remembers of each trigger; `scope` is what `within=` means. [`distribution`] says what a trigger on a
//! shard of a distributed table sees, and `shard` refuses where that is not enough. What must not
//! live here: what one of the triggers does.

#![forbid(unsafe_code)]
pub(crate) mod call;
pub(crate) mod scope;
pub(crate) mod shard;

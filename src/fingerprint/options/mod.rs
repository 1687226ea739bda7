//! From the arguments `weights`, `options` and `preset` to what each column of a row does.
//!
//! [`grammar`] parses the JSON, [`term`] the part of it that says what words weigh; [`presets`] are
//! the built-in values, [`plan`] brings both together with the columns of a row. What must not live
//! here: text.

pub mod grammar;
pub mod plan;
pub mod presets;
pub mod term;

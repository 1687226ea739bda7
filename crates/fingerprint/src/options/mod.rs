//! From the arguments `weights`, `options` and `preset` to what each column of a row does.
//!
//! [`grammar`] parses the JSON: of a row, a column or a text. The options of a text are in
//! [`text_options`], those that weigh words in [`term`]; [`json`] reads single values. [`presets`]
//! are the built-in values, [`plan`] brings both together with the columns of a row. What must not
//! live here: text.

pub mod grammar;
pub mod json;
pub mod plan;
pub mod presets;
mod term;
pub mod text_options;

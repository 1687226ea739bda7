//! Candidate pairs of rows, and which of them pass a check: what `clusters` and `pairs` do with
//! pairs that fingerprints alone do not decide.
//!
//! `check` is the check that a call asks for, `judge` the two ways to judge a pair, `decisions`
//! what a person has judged before. `paired_rows` has the rows and their candidate pairs, of
//! which `known_numbers` tells many apart. `passing`
//! is the answer: `equal_texts` finds rows that are judged alike, `similar_texts` those of many
//! texts that may be similar, both over `distinct_texts`. `value_reader` and `chunks` read what is
//! judged, `value_copy` reads it where most of a table is needed. `pairs` searches
//! for candidates.

pub(crate) mod check;
pub(crate) mod chunks;
pub(crate) mod decisions;
mod distinct_texts;
mod equal_texts;
pub(crate) mod judge;
mod known_numbers;
pub(crate) mod paired_rows;
pub(crate) mod passing;
mod similar_texts;
mod value_copy;
pub(crate) mod value_reader;

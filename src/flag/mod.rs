//! The trigger `simhash_flag_duplicate()`: it looks for a near-duplicate of a new row, and marks,
//! refuses or leaves out the row that has one, or gives it the key of the stored one.
//!
//! `simhash_trigger::flag_options` has its arguments. `source` is what an index says of the rest, `chosen_index`
//! which index that is, `columns` the columns that they name,
//! `flagged_table` what the trigger knows of its table, `search_query` the queries, `check` what a
//! near row has to pass. `near_duplicate` uses them to find the row to report, `judgement` decides
//! whether that one counts. `compared_tables` determines with which rows in progress a row is
//! compared, `fingerprint_check` warns of fingerprints that were made differently. `row_movement`
//! recognizes rows that an UPDATE moves to another partition, `key_text` names rows in messages,
//! `trigger` decides what happens to a row, `unstored` remembers it until it is stored, `proposed` checks
//! arguments before there is a trigger. What must not live here: pages and postings, which are `index`'s.
mod check;
mod chosen_index;
mod columns;
mod compared_tables;
mod fingerprint_check;
mod flagged_table;
mod judgement;
mod key_text;
mod near_duplicate;
mod proposed;
mod row_movement;
mod search_query;
mod source;
mod trigger;
mod unstored;

pub(crate) use chosen_index::tell_of_triggers;

//! What a radius would find: `simhash_radius_report`, which judges a relation by a sample of its
//! rows.
//!
//! `simhash_hamming::report` draws the sample and estimates. `drawn_values` keeps what `comparison`
//! compares of some of the pairs, `radius_report` is the SQL function. What must not live here: the
//! search for every pair, which is `pairs`'s.
mod comparison;
mod drawn_values;
mod radius_report;

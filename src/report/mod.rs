//! What a radius would find: `simhash_radius_report`, which judges a relation by a sample of its
//! rows.
//!
//! [`draw`] draws at random, [`sample`] compares the drawn rows with all others, [`estimate`] tells
//! how many pairs there are in all ([`gamma`] helps), [`compared`] what is told of similarities: all
//! are pure. `texts` compares the texts of some of the pairs, `function` is the SQL function. What
//! must not live here: the search for every pair, which is `pairs`'s.
mod function;
mod texts;

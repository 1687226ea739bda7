//! Rows that are spread over several servers by their fingerprints: under which keys a row is
//! stored and looked for, and the one key at which a pair is found.
//!
//! `simhash_hamming::routes` is the arithmetic, `route_keys` is what SQL sees. The pairs and
//! clusters of the rows that share a key are `pairs::group_pairs` and `clusters::array_functions`.
//! What must not live here: anything that knows how servers are reached; that is Citus' or
//! postgres_fdw's, and docs/scale-out.md has the queries.
mod route_keys;

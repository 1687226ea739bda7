//! `simhash_maintain_clusters()`: AFTER triggers that keep a table of clusters current.
//!
//! [`row`] answers one row: what it leaves ([`departure`]) and what it joins ([`arrival`]).
//! [`truncation`] answers a TRUNCATE. `simhash_trigger::cluster_options` has the arguments,
//! `cluster_table` the table that is written. `scope_locks` is what `within=` adds, `deferred_rows`
//! defers the rows of a statement until all their scopes are known, `events` warns of changes
//! without a trigger. `statement` has the texts of the queries about a row, `members` those about
//! the members of clusters. `regroup` computes clusters again, `answered_rows` remembers what the
//! transaction has answered. What must not live here: the search for pairs, which is `pairs`'s.
//!
//! **What holds.** A row is answered once its trigger has run for it. Two answered rows that are
//! near share a cluster, and a cluster is connected through rows that are stored. Searches also
//! find rows that the transaction has changed already and whose trigger is still to come: that
//! trigger corrects what was written about them too early, since it starts from what is stored by
//! then.
//!
//! * A row that arrives unites the clusters of all rows near it.
//! * A row that leaves may have held its cluster together. The clusters of all rows that were near
//!   it are computed again from the rows that are stored, unless a row with the same fingerprint is
//!   left, which is near the same rows.
//! * A row that arrives beside an equal, answered row joins its cluster and need not look further:
//!   the rows near it are the same, and were united with the equal row. So one more copy of a text
//!   costs the same however many there are.
mod answered_rows;
mod arrival;
mod claims;
mod cluster_table;
mod deferred_rows;
mod departure;
mod events;
mod maintained;
mod members;
mod regroup;
mod row;
mod statement;
mod trigger;
mod truncation;

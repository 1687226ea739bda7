//! `simhash_maintain_clusters()`: AFTER triggers that keep a table of clusters current.
//!
//! [`row`] answers one row: what it leaves ([`departure`]) and what it joins ([`arrival`]).
//! [`truncation`] answers a TRUNCATE. `simhash_trigger::cluster_options` has the arguments,
//! `cluster_table` the table that is written. `claims` is what a transaction waits for and has for
//! itself, `deferred_rows` defers the rows of a statement to its end, `events` warns of changes
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
//!
//! **Why this holds with any number of sessions.** A row is answered in two steps, and each step is
//! entered in the memory of rows in progress ([`simhash_trigger::in_progress`]).
//!
//! * *Rows.* The old and the new version are entered, in the place of the table of clusters and of
//!   their scopes. Then the transaction waits for those that have entered near ones. So when it reads
//!   the table with a new snapshot, each row near one of the two versions, of another transaction, is
//!   committed and answered, or is entered later and answered after this transaction has ended.
//!   Without `within=` all rows have one scope.
//! * *Clusters.* Before a transaction changes entries of a cluster, it *holds* the cluster: its id is
//!   entered as a row is, with a radius of 0. A row in no cluster is a cluster with its key as the id.
//!   No two transactions hold one cluster. The ids are read before they can be held, so they
//!   are read again with a new snapshot if the transaction has waited, or if any other one has ended
//!   since ([`claims::Claims::hold`]), until it holds all that it reads.
//!
//! Suppose that transaction A holds cluster X and B changes X as well. B has to hold X, so it waits
//! until A has ended, reads what A has made of X, and holds that. A cluster gets a new name only from
//! a transaction that holds the cluster of the row with that key, so a new name is held with the old
//! one. What B has changed in the rows and not answered, A may read too late or too early: B answers
//! it after A, from what is stored then. So each transaction finds the clusters that it changes as a
//! transaction before it has left them, and what is said above for one session holds.
//!
//! A row that joins the cluster of an equal row enters that cluster's id after its entry is
//! written. Nobody else sees the entry. If the cluster has changed by then, the row is taken out
//! again (`Arrival::joins_equal`).
//!
//! A row may be in a cluster with rows of other scopes, if no trigger has answered the change that
//! took it there or this transaction is still to answer it. That cluster is held like any other, and
//! computed again.
//!
//! **Deadlocks.** A transaction enters the rows of a statement at once, and waits for a cluster
//! without holding any that it wants beside it. What it has entered in earlier statements it keeps.
//! So two transactions deadlock if they change near rows, or the same clusters, in opposite order.
//! One statement holds clusters of up to 1,024 rows at once before it answers the first
//! (`deferred_rows`); a row that turns out to connect further clusters holds these later, which can
//! deadlock. Unlike rows are in no cluster, and never wait.
//!
//! **Changes of everything.** A refresh and a TRUNCATE change entries of clusters that they do not
//! hold. They take an advisory lock of the table of clusters alone, which each transaction of a
//! trigger shares from its first row to its end.
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

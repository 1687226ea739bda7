//! Kept clusters: a table `(key, cluster_id)` that follows the rows of another table, at once or
//! when `simhash_refresh_clusters` is called. `simhash_keep_clusters` sets it up.
//!
//! A change of a row is only noted: [`trigger`] stores its key in the table of notes, or leaves it
//! with the session ([`pending`]) until the statement ends. The notes are then answered by one
//! query, which [`refresh`] and [`answer`] share ([`queries`]). [`kept_table`] is what the
//! arguments of a trigger mean, [`cluster_table`] the table that is written, [`triggers`] finds the
//! triggers that name it, and [`missing_events`] warns of changes without one. [`claims`] is what a
//! transaction waits for and has for itself. What must not live here: the search for clusters,
//! which is `clusters::simhash_clusters`'s.
//!
//! **What holds.** Two rows are linked if they are near and pass the check, unless a person has
//! judged them different, or if a person has judged them the same. Clusters are the components of
//! this graph. When the notes are answered, the entries are those of the rows that are stored.
//!
//! **Why a few rows suffice.** A query looks at the noted keys, the rows near them or judged the
//! same, and all members of the clusters in which these were. No row outside is linked with one
//! inside: either one of the two has a note, and the other would be near it, or they were linked
//! before, and in one cluster. So the clusters of the rows inside are computed from these rows
//! alone. What is written depends on what is stored alone. A row whose trigger is still to come may
//! be answered too early: it is noted then, and answered again.
//!
//! **By notes.** A note is stored by the transaction that changes the row, so one snapshot shows
//! both or none. A refresh takes one snapshot: it deletes the notes that this snapshot shows, and
//! reads rows and clusters under it. Refreshes run one after the other, each after the commit of
//! the previous one.
//!
//! **At once.** Any number of sessions write. A transaction takes two steps, and each is entered in
//! the memory of rows in progress ([`simhash_trigger::in_progress`]).
//!
//! * *Rows.* The old and the new versions of a statement's rows are entered, in the place of the
//!   table of clusters and of their scopes. Then the transaction waits for those that have entered
//!   near ones. So when it reads the table with a new snapshot, each row near one of these
//!   versions, of another transaction, is committed and answered, or is entered later and answered
//!   after this transaction has ended. Without `within=` all rows have one scope.
//! * *Clusters.* Before a transaction changes entries of a cluster, it *holds* the cluster: its id
//!   is entered as a row is, with a radius of 0. A row in no cluster is a cluster with its key as
//!   the id. No two transactions hold one cluster. The ids are read before they can be held, so
//!   they are read again with a new snapshot if the transaction has waited, or if any other one has
//!   ended since ([`claims::Claims::hold`]), until it holds all that it reads.
//!
//! Suppose that transaction A holds cluster X and B changes X as well. B has to hold X, so it waits
//! until A has ended, reads what A has made of X, and holds that. A cluster gets a new name only
//! from a transaction that holds the cluster of the row with that key, so a new name is held with
//! the old one. What B has changed in the rows and not answered, A may read too late or too early:
//! B answers it after A, from what is stored then. A judgement is answered as its two rows are, and
//! holds their clusters even where these are not near; with a table of decisions, so does each row
//! that is noted.
//!
//! **Two short ways** ([`answer`]), so that one more copy costs the same beside a million. A row
//! that arrives beside an equal row which is in a cluster and not noted joins that cluster: the
//! rows near it are the same. A row that leaves two equal rows behind, which are in its cluster and
//! not noted, takes nothing apart: they connect what it connected. That is true of the fingerprint
//! by which its entry was made: of a row that another transaction has stored, in a statement inside
//! of which no other has answered rows. No short way is taken where a function or a person judges,
//! nor where a trigger has a condition, since rows without a note may not be answered then.
//!
//! **Deadlocks.** A transaction enters the rows of a statement at once, and waits for a cluster
//! without holding any that it wants beside it. What it has entered in earlier statements it keeps.
//! So two transactions deadlock if they change near rows, or the same clusters, in opposite order,
//! by several statements. A row that leaves by the short way holds what it leaves and what a few
//! rows near it are in; one that joins still others, and a statement of more than 65,536 rows or of
//! several kept tables, can deadlock too. Unlike rows are in no cluster, and never wait.
//!
//! **Changes of everything.** A refresh and a TRUNCATE change entries of clusters that they do not
//! hold. They take an advisory lock of the table of clusters alone, which each transaction of a
//! trigger shares from its first row to its end.
mod answer;
mod claims;
mod cluster_table;
mod kept_table;
mod missing_events;
mod pending;
mod queries;
mod refresh;
mod short_queries;
mod trigger;
mod triggers;

//! Kept clusters: a table `(key, cluster_id)` that follows the rows of another table, at once or
//! when `simhash_refresh_clusters` is called. `simhash_keep_clusters` sets it up.
//!
//! A change of a row is only noted: [`trigger`] stores its key in the table of notes, or leaves it
//! with the session ([`pending`]) until the statement ends. One query answers the notes ([`queries`]):
//! [`refresh`] runs it for those that are stored, [`answer`] for those of a statement, after
//! [`claims`] has said what the transaction waits for. [`kept_table`] is what the arguments of a
//! trigger mean, [`cluster_table`] the table that is written, and [`triggers`] finds the triggers that
//! name it. [`entries`] are what is written, [`changes`] how, with ids and a log, [`judged`] what people say of whole clusters: all three
//! serve stored records too. What must not live here: the search for clusters, which is `clusters::simhash_clusters`'s.
//!
//! **What holds.** Two rows are linked if they are near and pass the check, unless a person has
//! judged them different, or if a person has judged them the same. Clusters are the components of
//! this graph. When the notes are answered, the entries are those of the rows that are stored.
//!
//! **Why a few rows suffice.** The query looks at the noted keys, the rows near them or judged the
//! same, and all members of the clusters in which these were. No row outside is linked with one
//! inside: either one of the two has a note, and the other would be near it, or they were linked
//! before, and in one cluster. A row whose trigger is still to come may be answered too early: it is
//! noted then, and answered again. If each noted row is new and equal to one in a cluster, it only
//! joins: what is near the one is near the other.
//!
//! **By notes.** A note is stored by the transaction that changes the row, so one snapshot shows
//! both or none. Refreshes run one after the other, each after the commit of the previous one.
//!
//! **At once.** Entries are changed with a lock that is held until the transaction ends: of the scope
//! with `within=`, else of the table. With it each statement enters the old and the new versions of
//! its rows in memory ([`simhash_trigger::in_progress`]), waits for the transactions that have entered
//! near ones, and reads with a new snapshot. So of two near rows of two transactions, the one that is
//! entered later is answered later, and sees the other. A row without an entry and without a near row does
//! not matter, and takes no lock. It is looked at before it is entered, which happens only if nobody has
//! ended since the look and nobody has entered a near one. So nobody waits for the lock with rows that
//! its holder waits for. The rows of a statement that takes more than one piece of them
//! ([`simhash_trigger::in_progress::pieces`]) are not entered together, and always take the lock.
//! What people judge links rows that are not near: with a table of decisions each statement takes the
//! lock, and the one that has it later sees all that was stored before.
//!
//! **Ids and log.** An answer writes lasting ids, and lines of the log, in the statement that writes the
//! entries, from these entries: under the same locks, so that a replay of the log gives the entries. Whole
//! clusters are judged with the lock of a refresh, so no row joins one unseen.
//!
//! **Deadlocks.** A statement that is a transaction deadlocks with no other such. One of several
//! statements does, if it changes a row, or a near one, of another that waits for it.
//!
//! **Changes of everything.** A refresh and a TRUNCATE take a lock of the table of clusters alone,
//! which each transaction of a trigger shares from its first row to its end.
mod answer;
mod changes;
mod claims;
mod cluster_table;
pub mod entries;
mod judged;
mod kept_table;
mod pending;
mod queries;
pub mod refresh;
mod trigger;
mod triggers;

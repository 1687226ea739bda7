//! Clusters that `simhash_keep_clusters` sets up: the trigger `simhash_note_clusters()` stores the
//! keys of changed rows, and `simhash_refresh_clusters` brings the table of clusters up to date.
//!
//! `simhash_trigger::kept_options` has the arguments of the triggers, which are all that is stored
//! about a kept table; `triggers` finds the triggers that name a table of clusters; `note` is the
//! trigger, `refresh` the function, `queries` the text of its queries. What must not live here: the
//! trigger that keeps clusters right at once, which is `maintain`'s, and the search for pairs.
//!
//! **What holds.** A note is stored by the transaction that changes the row, so one snapshot shows
//! both or none. A refresh takes one snapshot: it deletes the notes that this snapshot shows, and
//! reads rows and clusters under it. At that time the clusters are those of the rows that the
//! previous refresh saw, and every row that has changed since has a note. Refreshes run one after
//! the other, each after the commit of the previous one.
//!
//! A refresh looks at the noted keys, the rows near them, and all members of the clusters in which
//! these were. No row outside is near one inside: either one of the two would have a note, and the
//! other would be near it, or they were near each other before, and in one cluster. So the clusters
//! of the rows inside are computed from these rows alone.

mod note;
mod queries;
mod refresh;
mod triggers;

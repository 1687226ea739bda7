//! Pairs of records, and of titles: `simhash_record_pairs`, and `simhash_record_report`, which helps
//! to choose a threshold for it. `source` reads the rows, `simhash_records` compares them, `function`
//! and `report` are what SQL sees. Every row of the relations is read once, with the caller's rights.

mod function;
mod report;
mod source;

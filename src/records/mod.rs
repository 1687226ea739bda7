//! Pairs of records, and of titles: `simhash_record_pairs`, and `simhash_record_report`, which
//! helps to choose a threshold for it, and `simhash_record_explain`. `arguments` is what they are
//! called with, `source` reads the rows, `simhash_records` compares them, `threshold` takes one if none is given, `record_pairs`,
//! `report`, `explain`, `sample` and `quality` are what SQL sees. Every row of the relations is read once,
//! with the caller's rights; `sample` reads it again for what was drawn. `stored` is the table of
//! `simhash_keep_records`, which `search` asks and `links` helps to refresh.

mod arguments;
mod explain;
mod links;
mod quality;
mod record_pairs;
mod report;
mod sample;
mod search;
mod source;
mod stored;
mod threshold;

//! The system of the literature that this extension began with, side by side with it: batch
//! ([`crate::s0_batch`]) and row by row ([`crate::s0_stores`]). One run, one CSV, plots.

use std::fmt::Write as _;
use std::path::Path;

use crate::pq::{Client, Outcome};
use crate::report::{self, Section, distinct, short};
use crate::{cells, oracle, plots, s0_batch, s0_stores, sets};

const QUERIES: usize = 1_000;
const INSERTS: usize = 2_000;

/// `speed s0 OUT_FOLDER ROWS[,ROWS...]`: the sizes are those of the stores; the batch has its own.
pub fn run(folder: &str, sizes: &[usize]) -> Outcome<bool> {
    let client = Client::connect()?;
    client.run(cells::SESSION)?;
    let most = s0_batch::SIZES.into_iter().max().unwrap_or(0);
    let batch = s0_batch::measure(&client, &sets::uniform(most))?;
    let mut stores = Vec::new();
    for (set, make) in [
        ("A", sets::uniform as fn(usize) -> Vec<u64>),
        ("B", sets::skewed),
    ] {
        for size in sizes {
            report::progress(&format!("set {set}, {size} rows"));
            let all = make(size + INSERTS);
            let rows = &all[..*size];
            let centres = sets::centres(rows, QUERIES, 3);
            let truths = oracle::truths(rows, &centres)?;
            let more = &all[*size..];
            stores.push(Section {
                set: set.to_owned(),
                rows: *size,
                measures: s0_stores::measure(&client, rows, more, &centres, &truths)?,
            });
        }
    }
    let markdown = table_of_batches(&batch) + &tables_of_stores(&stores);
    plots::s0(Path::new(folder), &batch, &stores)?;
    let sections: Vec<Section> = batch.into_iter().chain(stores).collect();
    std::fs::write(format!("{folder}/s0.csv"), report::csv(&sections))?;
    std::fs::write(format!("{folder}/s0.md"), &markdown)?;
    println!("\n{markdown}");
    Ok(sections
        .iter()
        .flat_map(|s| &s.measures)
        .all(|m| m.wrong == 0))
}

fn table_of_batches(sections: &[Section]) -> String {
    let peers = distinct(sections.iter().flat_map(|s| &s.measures).map(|m| &m.peer));
    let names: Vec<&str> = peers.iter().map(|p| p.as_str()).collect();
    let mut out = format!(
        "Grouping all rows at once, s (in brackets: extrapolated)\n\n| rows | {} |\n|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for section in sections {
        let _ = write!(out, "| {} |", section.rows);
        for peer in &peers {
            let cell = section.find("batch", peer, "3").map(|m| match m.n {
                0 => format!("({})", short(m.value)),
                _ => short(m.value),
            });
            let _ = write!(out, " {} |", cell.unwrap_or_default());
        }
        out.push('\n');
    }
    out
}

fn tables_of_stores(sections: &[Section]) -> String {
    let mut out = String::new();
    for section in sections {
        let peers = distinct(section.measures.iter().map(|m| &m.peer));
        let names: Vec<&str> = peers.iter().map(|p| p.as_str()).collect();
        let _ = write!(
            out,
            "\nSet {}, {} rows; times as median / 95th percentile\n\n| | {} |\n|---|{}\n",
            section.set,
            section.rows,
            names.join(" | "),
            "---|".repeat(names.len())
        );
        for what in distinct(section.measures.iter().map(|m| &m.what)) {
            let unit = section
                .measures
                .iter()
                .find(|m| m.what == *what)
                .map_or("", |m| m.unit);
            let _ = write!(out, "| {what}, {unit} |");
            for peer in &peers {
                let cell = section.find(what, peer, "3").map(|m| {
                    let p95 = m
                        .p95
                        .map_or(String::new(), |p95| format!(" / {}", short(p95)));
                    short(m.value) + &p95
                });
                let _ = write!(out, " {} |", cell.unwrap_or_default());
            }
            out.push('\n');
        }
        let checked: usize = section.measures.iter().map(|m| m.checked).sum();
        let wrong: usize = section.measures.iter().map(|m| m.wrong).sum();
        let _ = writeln!(
            out,
            "\n{checked} answers were compared with those of reading every row in memory, {wrong} were wrong."
        );
    }
    out
}

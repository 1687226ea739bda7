//! What was measured, as CSV and as Markdown, and the lines that tell how far the run is.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::Instant;

use crate::cells::LOOK_UP;
use crate::peers::Peer;
use crate::{cold, cold_table, sessions};

/// One measured value.
#[derive(Clone, Default)]
pub struct Measure {
    pub what: String,
    pub peer: String,
    /// Radius, or the number of clients.
    pub k: String,
    /// How often it was measured.
    pub n: usize,
    /// The median where there are several.
    pub value: f64,
    pub unit: &'static str,
    pub p95: Option<f64>,
    /// What was subtracted.
    pub floor: Option<f64>,
    pub mean_rows: Option<f64>,
    /// Answers compared with the truth, and how many of them were wrong.
    pub checked: usize,
    pub wrong: usize,
    pub note: String,
}

/// The measures of one set at one size.
pub struct Section {
    pub set: String,
    pub rows: usize,
    pub measures: Vec<Measure>,
}

impl Section {
    pub fn find(&self, what: &str, peer: &str, k: &str) -> Option<&Measure> {
        (self.measures.iter()).find(|m| m.what == what && m.peer == peer && m.k == k)
    }
}

/// Prints a line with the seconds since the first one.
pub fn progress(line: &str) {
    static START: OnceLock<Instant> = OnceLock::new();
    let seconds = START.get_or_init(Instant::now).elapsed().as_secs();
    println!("   {:3}:{:02}  {line}", seconds / 60, seconds % 60);
}

pub fn csv(sections: &[Section]) -> String {
    let mut out =
        "set,rows,what,peer,k,n,value,unit,p95,floor,mean_rows,checked,wrong,note\n".to_owned();
    let show = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.2}"));
    for section in sections {
        for m in &section.measures {
            let _ = writeln!(
                out,
                "{},{},\"{}\",\"{}\",{},{},{},{},{},{},{},{},{},\"{}\"",
                section.set,
                section.rows,
                m.what,
                m.peer,
                m.k,
                m.n,
                show(Some(m.value)),
                m.unit,
                show(m.p95),
                show(m.floor),
                show(m.mean_rows),
                m.checked,
                m.wrong,
                m.note
            );
        }
    }
    out
}

/// A number with three digits that count.
pub fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 99.5 => format!("{value:.0}"),
        v if v >= 9.95 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Values in the order of their first appearance.
pub fn distinct<'a>(values: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// A table with a row for each radius and two columns for each peer.
fn searches(section: &Section, out: &mut String) {
    let of = |m: &&Measure| m.what == "search";
    let peers = distinct(section.measures.iter().filter(of).map(|m| &m.peer));
    let tasks = distinct(section.measures.iter().filter(of).map(|m| &m.k));
    if tasks.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\nSearch: median / 95th percentile in us over the floor (queries)\n"
    );
    let names: Vec<&str> = peers.iter().map(|p| p.as_str()).collect();
    let _ = writeln!(out, "| k | rows found | {} |", names.join(" | "));
    let _ = writeln!(out, "|---|---|{}", "---|".repeat(peers.len()));
    for task in tasks {
        let found = peers
            .iter()
            .find_map(|p| section.find("search", p, task)?.mean_rows);
        let _ = write!(out, "| {task} | {} |", found.map_or(String::new(), short));
        for peer in &peers {
            let cell = section.find("search", peer, task).map(|m| {
                let p95 = m.p95.map_or(String::new(), short);
                format!("{} / {p95} ({})", short(m.value), m.n)
            });
            let _ = write!(out, " {} |", cell.unwrap_or_else(|| "-".to_owned()));
        }
        out.push('\n');
    }
    let floor = section.measures.iter().find(of).and_then(|m| m.floor);
    let _ = writeln!(
        out,
        "\nThe floor was {} us.",
        floor.map_or(String::new(), short)
    );
    look_up(section, out);
}

/// How many answers of the set were checked.
fn checked(section: &Section, out: &mut String) {
    let checked: usize = section.measures.iter().map(|m| m.checked).sum();
    let wrong: usize = section.measures.iter().map(|m| m.wrong).sum();
    let _ = writeln!(
        out,
        "\n{checked} answers were compared with those of reading every row in memory, {wrong} were wrong."
    );
}

/// What a look-up costs, and what searches cost in look-ups.
fn look_up(section: &Section, out: &mut String) {
    let Some(look_up) = section.measures.iter().find(|m| m.what == LOOK_UP) else {
        return;
    };
    let searches = [
        ("3", "within 3"),
        ("8", "within 8"),
        ("10 nearest", "ten nearest"),
    ];
    let multiples: Vec<String> = (searches.into_iter())
        .filter_map(|(k, name)| {
            let search = section.find("search", Peer::Simhash.name(), k)?;
            Some(format!("{name} {}", short(search.value / look_up.value)))
        })
        .collect();
    let _ = writeln!(
        out,
        "\nA look-up by the primary key: {} / {} us over the floor ({}). In look-ups, the medians of simhash are: {}.",
        short(look_up.value),
        look_up.p95.map_or(String::new(), short),
        look_up.n,
        multiples.join(", ")
    );
}

/// Everything else: a row for each kind of measure, a column for each peer.
fn others(section: &Section, out: &mut String) {
    let of = |m: &&Measure| {
        let elsewhere = ["hot keys", sessions::PREFIX, cold::PREFIX];
        m.what != "search" && m.what != LOOK_UP && !elsewhere.iter().any(|e| m.what.starts_with(e))
    };
    let peers = distinct(section.measures.iter().filter(of).map(|m| &m.peer));
    if peers.is_empty() {
        return;
    }
    let names: Vec<&str> = peers.iter().map(|p| p.as_str()).collect();
    let _ = writeln!(
        out,
        "\nOther measures; inserts and VACUUM over those of a table without a secondary index, which the last column has\n"
    );
    let _ = writeln!(out, "| | {} |", names.join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(peers.len()));
    let mut rows: Vec<(&str, &str, &str)> = Vec::new();
    for m in section.measures.iter().filter(of) {
        let row = (m.what.as_str(), m.k.as_str(), m.unit);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let order = [
        "build, serial",
        "build",
        "size",
        "insert",
        "VACUUM",
        "throughput",
    ];
    rows.sort_by_key(|(what, ..)| {
        order
            .iter()
            .position(|start| what.starts_with(start))
            .unwrap_or(order.len())
    });
    for (what, k, unit) in rows {
        let detail = match (what, k) {
            (_, "") => String::new(),
            ("throughput", clients) => format!(", {clients} clients"),
            (_, k) => format!(", k = {k}"),
        };
        let _ = write!(out, "| {what}{detail}, {unit} |");
        for peer in &peers {
            let cell = section.find(what, peer, k).map(|m| short(m.value));
            let _ = write!(out, " {} |", cell.unwrap_or_else(|| "-".to_owned()));
        }
        out.push('\n');
    }
}

/// The in-memory comparison of ways to live with hot keys.
fn hot_keys(section: &Section, out: &mut String) {
    let names = distinct(
        (section.measures.iter())
            .filter(|m| m.what == "hot keys, compared")
            .map(|m| &m.peer),
    );
    if names.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\nHot keys at k = 3, a model in memory: median / 95th percentile\n"
    );
    let _ = writeln!(
        out,
        "| | postings compared | us | postings stored a row |\n|---|---|---|---|"
    );
    for name in names {
        let cell = |what| {
            section.find(what, name, "3").map_or(String::new(), |m| {
                let p95 = m
                    .p95
                    .map_or(String::new(), |p95| format!(" / {}", short(p95)));
                short(m.value) + &p95
            })
        };
        let cells = ["hot keys, compared", "hot keys, time", "hot keys, stored"].map(cell);
        let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
    }
}

pub fn markdown(title: &str, sections: &[Section]) -> String {
    let mut out = format!("{title}\n");
    for section in sections {
        let _ = writeln!(out, "\n## Set {}, {} rows", section.set, section.rows);
        searches(section, &mut out);
        sessions::table(section, &mut out);
        cold_table::write(section, &mut out);
        others(section, &mut out);
        hot_keys(section, &mut out);
        checked(section, &mut out);
        for m in section.measures.iter().filter(|m| !m.note.is_empty()) {
            let _ = writeln!(out, "\n* {} {} k = {}: {}", m.peer, m.what, m.k, m.note);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_told_in_look_ups() {
        let measure = |what: &str, peer: Peer, k: &str, value| Measure {
            what: what.to_owned(),
            peer: peer.name().to_owned(),
            k: k.to_owned(),
            value,
            ..Measure::default()
        };
        let mut section = Section {
            set: "A".to_owned(),
            rows: 1,
            measures: vec![
                measure("search", Peer::Simhash, "3", 10.0),
                measure("search", Peer::Btrees, "8", 1.0),
                measure("search", Peer::Simhash, "8", 50.0),
                measure(LOOK_UP, Peer::LookUp, "", 4.0),
            ],
        };
        let text = markdown("", std::slice::from_ref(&section));
        assert!(
            text.contains(" are: within 3 2.50, within 8 12.5."),
            "{text}"
        );
        // Not among the other measures as well.
        assert!(!text.contains("| look-up"), "{text}");
        section.measures.pop();
        assert!(!markdown("", &[section]).contains("look-up"));
    }
}

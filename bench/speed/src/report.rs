//! What was measured, as CSV and as Markdown, and the lines that tell how far the run is.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::Instant;

/// One measured value.
#[derive(Clone, Default)]
pub struct Measurement {
    pub what: String,
    pub peer: String,
    /// Radius.
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

/// The measurements of one set at one size.
pub struct SetMeasurements {
    pub set: String,
    pub rows: usize,
    pub measurements: Vec<Measurement>,
}

impl SetMeasurements {
    pub fn find(&self, what: &str, peer: &str, k: &str) -> Option<&Measurement> {
        (self.measurements.iter()).find(|m| m.what == what && m.peer == peer && m.k == k)
    }
}

/// Prints a line with the seconds since the first one.
pub fn progress(line: &str) {
    static START: OnceLock<Instant> = OnceLock::new();
    let seconds = START.get_or_init(Instant::now).elapsed().as_secs();
    println!("   {:3}:{:02}  {line}", seconds / 60, seconds % 60);
}

pub fn csv(sections: &[SetMeasurements]) -> String {
    let mut out =
        "set,rows,what,peer,k,n,value,unit,p95,floor,mean_rows,checked,wrong,note\n".to_owned();
    let show = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.2}"));
    for section in sections {
        for m in &section.measurements {
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
fn searches(section: &SetMeasurements, out: &mut String) {
    let is_search = |m: &&Measurement| m.what == "search";
    let peers = distinct(
        section
            .measurements
            .iter()
            .filter(is_search)
            .map(|m| &m.peer),
    );
    let tasks = distinct(section.measurements.iter().filter(is_search).map(|m| &m.k));
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
    let floor = section
        .measurements
        .iter()
        .find(is_search)
        .and_then(|m| m.floor);
    let _ = writeln!(
        out,
        "\nThe floor was {} us.",
        floor.map_or(String::new(), short)
    );
}

/// Says how many answers of the set were checked.
fn checked_answers(section: &SetMeasurements, out: &mut String) {
    let checked: usize = section.measurements.iter().map(|m| m.checked).sum();
    let wrong: usize = section.measurements.iter().map(|m| m.wrong).sum();
    let _ = writeln!(
        out,
        "\n{checked} answers were compared with those of reading every row in memory, {wrong} were wrong."
    );
}

/// Everything else: a row for each kind of measure, a column for each peer.
fn others(section: &SetMeasurements, out: &mut String) {
    let is_other = |m: &&Measurement| m.what != "search";
    let peers = distinct(
        section
            .measurements
            .iter()
            .filter(is_other)
            .map(|m| &m.peer),
    );
    if peers.is_empty() {
        return;
    }
    let names: Vec<&str> = peers.iter().map(|p| p.as_str()).collect();
    let _ = writeln!(
        out,
        "\nOther measurements; inserts and VACUUM over those of a table without a secondary index, which the last column has\n"
    );
    let _ = writeln!(out, "| | {} |", names.join(" | "));
    let _ = writeln!(out, "|---|{}", "---|".repeat(peers.len()));
    let mut rows: Vec<(&str, &str, &str)> = Vec::new();
    for m in section.measurements.iter().filter(is_other) {
        let row = (m.what.as_str(), m.k.as_str(), m.unit);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let order = ["build, serial", "build", "size", "insert", "VACUUM"];
    rows.sort_by_key(|(what, ..)| {
        order
            .iter()
            .position(|start| what.starts_with(start))
            .unwrap_or(order.len())
    });
    for (what, k, unit) in rows {
        let detail = match k {
            "" => String::new(),
            k => format!(", k = {k}"),
        };
        let _ = write!(out, "| {what}{detail}, {unit} |");
        for peer in &peers {
            let cell = section.find(what, peer, k).map(|m| short(m.value));
            let _ = write!(out, " {} |", cell.unwrap_or_else(|| "-".to_owned()));
        }
        out.push('\n');
    }
}

pub fn markdown(title: &str, sections: &[SetMeasurements]) -> String {
    let mut out = format!("{title}\n");
    for section in sections {
        let _ = writeln!(out, "\n## Set {}, {} rows", section.set, section.rows);
        searches(section, &mut out);
        others(section, &mut out);
        checked_answers(section, &mut out);
        for m in section.measurements.iter().filter(|m| !m.note.is_empty()) {
            let _ = writeln!(out, "\n* {} {} k = {}: {}", m.peer, m.what, m.k, m.note);
        }
    }
    out
}

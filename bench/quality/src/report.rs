//! The measures as CSV and as tables.

use std::fmt::Write;
use std::path::Path;

use crate::lengths;
use crate::measure::{Measure, Share, Skew};
use crate::{ENOUGH, Outcomes};

/// One method at one radius in one set.
pub struct MethodLine {
    pub set: String,
    pub method: String,
    pub k: u32,
    pub measure: Measure,
    pub skew: Skew,
}

pub struct SetReport {
    pub set: String,
    pub rows: usize,
    pub near: f64,
    pub exact: f64,
    pub lines: Vec<MethodLine>,
}

impl SetReport {
    pub fn find(&self, method: &str, k: u32, check: bool) -> Option<&Measure> {
        let line = |l: &&MethodLine| l.method == method && l.k == k && l.measure.check == check;
        self.lines.iter().find(line).map(|l| &l.measure)
    }

    pub fn methods(&self) -> Vec<&str> {
        let mut methods: Vec<&str> = self.lines.iter().map(|l| l.method.as_str()).collect();
        methods.dedup();
        methods
    }
}

pub fn write(
    out: &Path,
    sections: &[SetReport],
    planted: &[SetReport],
    lengths: &[lengths::LengthLine],
) -> Outcomes<()> {
    std::fs::write(out.join("quality.csv"), csv(sections, planted)?)?;
    let mut text = String::new();
    for section in sections {
        main_table(&mut text, section)?;
    }
    lengths::table(&mut text, lengths)?;
    planted_table(&mut text, planted)?;
    std::fs::write(out.join("quality.md"), text)?;
    Ok(())
}

fn csv(sections: &[SetReport], planted: &[SetReport]) -> Outcomes<String> {
    let mut text =
        "set,method,k,check,exact,near,grey,wrong,recall_exact,fullest_key,load".to_owned();
    for share in ["precision", "precision_near", "recall"] {
        for part in ["", "_low", "_high", "_shipped", "_least", "_greatest"] {
            write!(text, ",{share}{part}")?;
        }
    }
    text.push('\n');
    for line in sections.iter().chain(planted).flat_map(|s| &s.lines) {
        let k = line.k;
        let check = if line.measure.check {
            "jaccard"
        } else {
            "none"
        };
        let (set, method, figures) = (&line.set, &line.method, figures(&line.measure, line.skew));
        writeln!(text, "{set},\"{method}\",{k},{check},{figures}")?;
    }
    Ok(text)
}

fn figures(m: &Measure, skew: Skew) -> String {
    let share = |s: &Share| {
        let (least, greatest) = s.draws;
        [s.value, s.low, s.high, s.shipped, least, greatest]
            .map(|v| format!("{v:.4}"))
            .join(",")
    };
    let pairs = [m.exact, m.near, m.grey, m.wrong]
        .map(|n| format!("{n:.2}"))
        .join(",");
    let skew = format!("{:.5},{:.3}", skew.fullest, skew.load);
    let shares = [&m.precision, &m.precision_near, &m.recall]
        .map(share)
        .join(",");
    format!("{pairs},{:.4},{skew},{shares}", m.recall_exact)
}

/// Nothing found has no precision.
pub fn share(value: f64) -> String {
    match value.is_nan() {
        true => "-".to_owned(),
        false => format!("{value:.2}"),
    }
}

fn both(measure: Option<&Measure>) -> String {
    measure.map_or("-".to_owned(), |m| {
        format!("{} / {}", share(m.precision.value), share(m.recall.value))
    })
}

fn intervals(measure: &Measure) -> String {
    let part = |s: Share| format!("{} - {}", share(s.low), share(s.high));
    format!("{} / {}", part(measure.precision), part(measure.recall))
}

fn main_table(text: &mut String, section: &SetReport) -> Outcomes<()> {
    let only = if section.near < ENOUGH {
        ": informative only"
    } else {
        ""
    };
    writeln!(
        text,
        "\n### {}\n\n{} rows, {} near and {} exact pairs{only}\n",
        section.set, section.rows, section.near, section.exact
    )?;
    let columns = [
        "method",
        "k = 3",
        "intervals",
        "without exact pairs",
        "shipped draw",
        "all draws",
        "k = 6",
        "k = 8",
        "k = 10",
        "k = 12",
        "two-step, k = 8",
        "k = 10",
        "k = 12",
        "fullest key",
        "load",
    ];
    writeln!(text, "| {} |", columns.join(" | "))?;
    writeln!(text, "|{}", "---|".repeat(columns.len()))?;
    for method in section.methods() {
        method_line(text, section, method)?;
    }
    Ok(())
}

fn method_line(text: &mut String, section: &SetReport, method: &str) -> Outcomes<()> {
    let at = |k: u32, check| section.find(method, k, check);
    let Some(first) = at(3, false) else {
        return Ok(());
    };
    let (precision, recall) = (first.precision, first.recall);
    write!(
        text,
        "| `{method}` | {} | {} | {} |",
        both(Some(first)),
        intervals(first),
        share(first.precision_near.value)
    )?;
    let (least, greatest) = recall.draws;
    write!(
        text,
        " {} / {} | {} - {} |",
        share(precision.shipped),
        share(recall.shipped),
        share(least),
        share(greatest)
    )?;
    for k in [6, 8, 10, 12] {
        write!(text, " {} |", both(at(k, false)))?;
    }
    for k in [8, 10, 12] {
        write!(
            text,
            " {} |",
            at(k, true).map_or("-".to_owned(), |m| share(m.recall.value))
        )?;
    }
    let line = section.lines.iter().find(|l| l.method == method);
    if let Some(Skew { fullest, load }) = line.map(|l| l.skew) {
        writeln!(text, " {:.2} % | {load:.1} |", 100.0 * fullest)?;
    }
    Ok(())
}

fn planted_table(text: &mut String, planted: &[SetReport]) -> Outcomes<()> {
    let Some((mixed, edits)) = planted.split_last() else {
        return Ok(());
    };
    writeln!(
        text,
        "\n## Planted copies: table\n\n{} rows, {} planted pairs\n",
        mixed.rows, mixed.near
    )?;
    write!(text, "| method |")?;
    for edit in edits {
        write!(text, " {} |", edit.set.trim_start_matches("planted: "))?;
    }
    writeln!(
        text,
        " all five, k = 3 | k = 8 | k = 8, checked |\n|---|{}",
        "---|".repeat(edits.len() + 3)
    )?;
    for method in mixed.methods() {
        write!(text, "| `{method}` |")?;
        for edit in edits {
            let recall = |k| edit.find(method, k, false).map_or(0.0, |m| m.recall.value);
            write!(text, " {:.2}; {:.2} |", recall(3), recall(8))?;
        }
        for (k, check) in [(3, false), (8, false), (8, true)] {
            write!(text, " {} |", both(mixed.find(method, k, check)))?;
        }
        writeln!(text)?;
    }
    Ok(())
}

//! The measures as CSV and as tables.

use std::fmt::Write;
use std::path::Path;

use crate::lengths;
use crate::margins::{BITS, Margins};
use crate::measure::{Measure, Share, Skew};
use crate::{ENOUGH, Outcomes};

/// One method at one radius in one set.
pub struct Line {
    pub set: String,
    pub method: String,
    /// None for methods without a radius.
    pub k: Option<u32>,
    pub measure: Measure,
    pub skew: Option<Skew>,
}

pub struct Section {
    pub set: String,
    pub rows: usize,
    pub near: f64,
    pub exact: f64,
    pub lines: Vec<Line>,
    pub margins: Vec<(String, Margins)>,
}

impl Section {
    pub fn find(&self, method: &str, k: Option<u32>, check: bool) -> Option<&Measure> {
        let line = |l: &&Line| l.method == method && l.k == k && l.measure.check == check;
        self.lines.iter().find(line).map(|l| &l.measure)
    }

    /// The methods, with whether they have a radius.
    pub fn methods(&self) -> Vec<(&str, bool)> {
        let mut methods: Vec<(&str, bool)> = (self.lines.iter())
            .map(|l| (l.method.as_str(), l.k.is_some()))
            .collect();
        methods.dedup();
        methods
    }
}

pub fn write(
    out: &Path,
    sections: &[Section],
    planted: &[Section],
    lengths: &[lengths::Line],
) -> Outcomes<()> {
    std::fs::write(out.join("quality.csv"), csv(sections, planted)?)?;
    let mut text = String::new();
    for section in sections {
        main_table(&mut text, section)?;
    }
    lengths::table(&mut text, lengths)?;
    margin_tables(&mut text, sections)?;
    planted_table(&mut text, planted)?;
    std::fs::write(out.join("quality.md"), text)?;
    Ok(())
}

fn csv(sections: &[Section], planted: &[Section]) -> Outcomes<String> {
    let mut text =
        "set,method,k,check,exact,near,grey,wrong,recall_exact,fullest_key,load".to_owned();
    for share in ["precision", "precision_near", "recall"] {
        for part in ["", "_low", "_high", "_shipped", "_least", "_greatest"] {
            write!(text, ",{share}{part}")?;
        }
    }
    text.push('\n');
    for line in sections.iter().chain(planted).flat_map(|s| &s.lines) {
        let k = line.k.map_or(String::new(), |k| k.to_string());
        let check = if line.measure.check {
            "jaccard"
        } else {
            "none"
        };
        let (set, method, figures) = (&line.set, &line.method, figures(&line.measure, line.skew));
        writeln!(text, "{set},\"{method}\",{k},{check},{figures}")?;
    }
    for Section { set, margins, .. } in sections {
        for (name, margins) in margins {
            for (way, measure) in &margins.ways {
                let figures = figures(measure, None);
                writeln!(text, "{set},\"{name}: {way}\",3,none,{figures}")?;
            }
        }
    }
    Ok(text)
}

fn figures(m: &Measure, skew: Option<Skew>) -> String {
    let share = |s: &Share| {
        let (least, greatest) = s.draws;
        [s.value, s.low, s.high, s.shipped, least, greatest]
            .map(|v| format!("{v:.4}"))
            .join(",")
    };
    let pairs = [m.exact, m.near, m.grey, m.wrong]
        .map(|n| format!("{n:.2}"))
        .join(",");
    let skew = skew.map_or(String::from(","), |s| {
        format!("{:.5},{:.3}", s.fullest, s.load)
    });
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

fn main_table(text: &mut String, section: &Section) -> Outcomes<()> {
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
        "two-step, k = 8",
        "k = 10",
        "fullest key",
        "load",
    ];
    writeln!(text, "| {} |", columns.join(" | "))?;
    writeln!(text, "|{}", "---|".repeat(columns.len()))?;
    for (method, radius) in section.methods() {
        method_line(text, section, method, radius)?;
    }
    Ok(())
}

fn method_line(text: &mut String, section: &Section, method: &str, radius: bool) -> Outcomes<()> {
    let at = |k: u32, check| section.find(method, radius.then_some(k), check);
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
    if !radius {
        let checked = at(3, true).map_or("-".to_owned(), |m| share(m.recall.value));
        writeln!(text, " - | - | - | - | - | {checked} | - | - | - |")?;
        return Ok(());
    }
    let (least, greatest) = recall.draws;
    write!(
        text,
        " {} / {} | {} - {} |",
        share(precision.shipped),
        share(recall.shipped),
        share(least),
        share(greatest)
    )?;
    for k in [6, 8, 10] {
        write!(text, " {} |", both(at(k, false)))?;
    }
    for k in [8, 10] {
        write!(
            text,
            " {} |",
            at(k, true).map_or("-".to_owned(), |m| share(m.recall.value))
        )?;
    }
    let line = section.lines.iter().find(|l| l.method == method);
    match line.and_then(|l| l.skew) {
        Some(s) => writeln!(text, " {:.2} % | {:.1} |", 100.0 * s.fullest, s.load)?,
        None => writeln!(text, " - | - |")?,
    }
    Ok(())
}

fn margin_tables(text: &mut String, sections: &[Section]) -> Outcomes<()> {
    writeln!(text, "\n## Low-margin bits: tables\n")?;
    writeln!(
        text,
        "| set, configuration | of one row, 4 bits | 8 bits | of either row, 4 bits | 8 bits |\n|---|---|---|---|---|"
    )?;
    for section in sections {
        for (name, margins) in &section.margins {
            write!(text, "| {}, `{name}` |", section.set)?;
            for i in 0..BITS.len() {
                write!(text, " {:.0} % |", 100.0 * margins.of_one[i])?;
            }
            for i in 0..BITS.len() {
                write!(text, " {:.0} % |", 100.0 * margins.of_either[i])?;
            }
            writeln!(text)?;
        }
    }
    let Some((_, first)) = sections.iter().find_map(|s| s.margins.first()) else {
        return Ok(());
    };
    write!(text, "\n| set, configuration |")?;
    first
        .ways
        .iter()
        .try_for_each(|(way, _)| write!(text, " {way} |"))?;
    writeln!(text, "\n|---|{}", "---|".repeat(first.ways.len()))?;
    for section in sections {
        for (name, margins) in &section.margins {
            write!(text, "| {}, `{name}` |", section.set)?;
            for (_, measure) in &margins.ways {
                write!(text, " {} |", both(Some(measure)))?;
            }
            writeln!(text)?;
        }
    }
    Ok(())
}

fn planted_table(text: &mut String, planted: &[Section]) -> Outcomes<()> {
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
    for (method, radius) in mixed.methods() {
        let at = |k: u32| radius.then_some(k);
        write!(text, "| `{method}` |")?;
        for edit in edits {
            let recall = |k| {
                edit.find(method, at(k), false)
                    .map_or(0.0, |m| m.recall.value)
            };
            match radius {
                true => write!(text, " {:.2}; {:.2} |", recall(3), recall(8))?,
                false => write!(text, " {:.2} |", recall(3))?,
            }
        }
        write!(text, " {} |", both(mixed.find(method, at(3), false)))?;
        match radius {
            true => write!(text, " {} |", both(mixed.find(method, Some(8), false)))?,
            false => write!(text, " - |")?,
        }
        writeln!(text, " {} |", both(mixed.find(method, at(8), true)))?;
    }
    Ok(())
}

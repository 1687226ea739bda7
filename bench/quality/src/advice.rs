//! The two tables of docs/quality.md: what a call without a preset might mean, and what the radii
//! find and cost.

use std::fmt::Write;
use std::path::Path;

use crate::measure::Measure;
use crate::report::{SetReport, share};
use crate::{ENOUGH, Outcomes};

/// Presets that a call without a name might mean, as texts, and as rows of two columns.
const CANDIDATES: [(&str, [&str; 5]); 2] = [
    (
        "texts",
        ["adaptive", "shingles", "words", "minwise", "plain"],
    ),
    (
        "rows",
        [
            "adaptive_row",
            "shingles_row",
            "words_row",
            "minwise_row",
            "plain_row",
        ],
    ),
];
const BARE_RADII: [u32; 2] = [3, 6];
/// The presets and radii, with and without the check, that the page recommends.
const ADVISED: [(&str, u32, bool); 4] = [
    ("adaptive", 3, false),
    ("adaptive", 12, true),
    ("shingles", 3, false),
    ("shingles", 6, false),
];

/// Leaves a file for each table, which run.sh puts between the page's markers of the same name.
pub fn write(out: &Path, sections: &[SetReport]) -> Outcomes<()> {
    std::fs::write(out.join("advice.md"), advice(sections)?)?;
    std::fs::write(out.join("bare.md"), bare(sections)?)?;
    Ok(())
}

fn heading(text: &mut String, columns: &[String]) -> Outcomes<()> {
    writeln!(text, "| {} |", columns.join(" | "))?;
    writeln!(text, "|{}", "---|".repeat(columns.len()))?;
    Ok(())
}

/// The set with the number of its near pairs where that says little.
fn name(section: &SetReport) -> String {
    match section.near < ENOUGH {
        true => format!("{}, {} near", section.set, section.near),
        false => section.set.clone(),
    }
}

fn advice(sections: &[SetReport]) -> Outcomes<String> {
    let mut text = String::new();
    let column = |(preset, k, check)| match check {
        true => format!("`{preset}` within {k}, checked"),
        false => format!("`{preset}` within {k}"),
    };
    let mut columns = vec!["set".to_owned()];
    columns.extend(ADVISED.map(column));
    heading(&mut text, &columns)?;
    for section in sections {
        write!(text, "| {} |", name(section))?;
        for (preset, k, check) in ADVISED {
            let (found, all) = (
                section.find(preset, k, check),
                section.find(preset, k, false),
            );
            let candidates = all.map_or(f64::NAN, |m| candidates(m, section.rows));
            write!(text, " {}; {} |", precise(found), share(candidates))?;
        }
        writeln!(text)?;
    }
    Ok(text)
}

/// Rows that a search for a row of the set finds besides that row, on average.
fn candidates(measure: &Measure, rows: usize) -> f64 {
    2.0 * (measure.exact + measure.near + measure.grey + measure.wrong) / rows as f64
}

fn bare(sections: &[SetReport]) -> Outcomes<String> {
    let mut text = String::new();
    let mut columns = ["set", "of", "k"].map(str::to_owned).to_vec();
    columns.extend(CANDIDATES[0].1.map(|preset| format!("`{preset}`")));
    heading(&mut text, &columns)?;
    for section in sections {
        for (input, methods) in CANDIDATES {
            for k in BARE_RADII {
                let found = methods.map(|method| section.find(method, k, false));
                // A set without a second column has no rows of two.
                if found.iter().any(Option::is_none) {
                    continue;
                }
                let cells = found.map(precise).join(" | ");
                writeln!(text, "| {} | {input} | {k} | {cells} |", name(section))?;
            }
        }
    }
    Ok(text)
}

/// Precision with a third digit, in which presets and radii differ, and recall.
fn precise(measure: Option<&Measure>) -> String {
    measure.map_or("-".to_owned(), |m| match m.precision.value.is_nan() {
        true => format!("- / {}", share(m.recall.value)),
        false => format!("{:.3} / {}", m.precision.value, share(m.recall.value)),
    })
}

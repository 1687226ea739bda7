//! The plot of the model: search time by rows, in memory and from disk, and what was measured.

use std::path::Path;

use plotters::prelude::*;

use crate::model::{Index, TASKS};
use crate::pq::Outcome;

const FONT: &str = "sans-serif";
const COLOURS: [RGBColor; 3] = [
    RGBColor(0, 90, 181),
    RGBColor(220, 50, 32),
    RGBColor(0, 130, 80),
];
/// Names of the tasks in measurements.
const MEASURED: [&str; 3] = ["3", "8", "10 nearest"];

/// `points`: rows, task, measured microseconds.
pub fn draw(path: &Path, points: &[(f64, String, f64)]) -> Outcome<()> {
    let root = SVGBackend::new(path, (900, 480)).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, _) = root.split_horizontally(700);
    let mut chart = ChartBuilder::on(&left)
        .caption(
            "Search by size: model (lines) and measured (circles)",
            (FONT, 22),
        )
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(86)
        .build_cartesian_2d((8e4..1.2e9).log_scale(), (1.0..1e7).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("rows")
        .y_desc("us over an empty query")
        .x_label_formatter(&|x| format!("{:.0} k", x / 1e3).replace("000 k", " M"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 16))
        .light_line_style(RGBColor(245, 245, 245))
        .bold_line_style(RGBColor(220, 220, 220))
        .draw()?;
    let sizes: Vec<f64> = (0..=12)
        .map(|i| 10f64.powf(5.0 + f64::from(i) / 3.0))
        .collect();
    for (i, ((task, name), colour)) in TASKS.into_iter().zip(COLOURS).enumerate() {
        let (mut memory, mut disk) = (Vec::new(), Vec::new());
        for rows in &sizes {
            let cost = Index::new(*rows).cost(task, true);
            memory.push((*rows, cost.in_memory()));
            disk.push((*rows, cost.reading_disk()));
        }
        for (line, place, width) in [(memory, "in memory", 2), (disk, "from disk", 1)] {
            let end = chart.backend_coord(&line[line.len() - 1]);
            chart.draw_series(LineSeries::new(line, colour.stroke_width(width)))?;
            let text = format!("{name}, {place}");
            let at = (end.0 + 12, end.1 - 8);
            root.draw(&Text::new(text, at, (FONT, 14).into_font().color(&colour)))?;
        }
        let seen = points.iter().filter(|p| p.1 == MEASURED[i]);
        chart.draw_series(seen.map(|p| Circle::new((p.0, p.2), 5, colour.stroke_width(2))))?;
    }
    root.present()?;
    Ok(())
}

//! SVG plots of the measures: search time by radius, search time by size, and what upkeep costs.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::pq::Outcome;
use crate::report::{Measure, Section, distinct, short};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const FONT: &str = "sans-serif";
const WIDTH: u32 = 900;
const HEIGHT: u32 = 480;
/// Width of the legend, which stands beside the plot so that it hides nothing.
const LEGEND: u32 = 210;

struct Line {
    name: String,
    colour: RGBColor,
    /// Of a second kind: smaller points, thinner line.
    light: bool,
    points: Vec<(f64, f64)>,
}

impl Line {
    /// At pixels of the plot. Peers that have one point each are told apart by its form where the
    /// points meet.
    fn mark<'a>(&self, at: (i32, i32)) -> DynElement<'a, SVGBackend<'a>, (i32, i32)> {
        let size = if self.light { 3 } else { 4 };
        match self.name.as_str() {
            "GIN" => TriangleMarker::new(at, size + 4, self.colour.stroke_width(2)).into_dyn(),
            "side table" => Cross::new(at, size + 1, self.colour.stroke_width(2)).into_dyn(),
            _ => Circle::new(at, size, self.colour.filled()).into_dyn(),
        }
    }
}

/// A colour that each peer keeps in all plots.
fn colour(peer: &str) -> RGBColor {
    match peer {
        "simhash" | "Single-Pass by the index" => RGBColor(0, 90, 181),
        "4 b-trees" | "4 columns" | "Single-Pass, in SQL" => RGBColor(220, 50, 32),
        "GIN" => RGBColor(0, 130, 80),
        "side table" | "documents" => RGBColor(150, 75, 170),
        "all pairs by the index" => RGBColor(0, 130, 80),
        "sequential" => RGBColor(90, 90, 90),
        _ => RGBColor(170, 140, 60),
    }
}

/// Draws all plots into a folder.
pub fn draw(folder: &Path, sections: &[Section]) -> Outcome<()> {
    for section in sections {
        let name = format!("{}_{}", section.set.replace(' ', "_"), section.rows);
        by_radius(
            &folder.join(format!("search_{name}.svg")),
            section,
            "median",
            &|m| Some(m.value),
        )?;
        by_radius(
            &folder.join(format!("p95_{name}.svg")),
            section,
            "95th percentile",
            &|m| m.p95,
        )?;
        upkeep(&folder.join(format!("keep_{name}.svg")), section)?;
    }
    for set in distinct(sections.iter().map(|s| &s.set)) {
        let sizes: Vec<&Section> = sections.iter().filter(|s| s.set == *set).collect();
        if sizes.len() > 1 {
            by_size(&folder.join(format!("growth_{set}.svg")), &sizes)?;
        }
    }
    Ok(())
}

fn by_radius(
    path: &Path,
    section: &Section,
    what: &str,
    value: &dyn Fn(&Measure) -> Option<f64>,
) -> Outcome<()> {
    let searches = || section.measures.iter().filter(|m| m.what == "search");
    let mut lines = Vec::new();
    for peer in distinct(searches().map(|m| &m.peer)) {
        let mut points: Vec<(f64, f64)> = searches()
            .filter(|m| m.peer == *peer)
            .filter_map(|m| Some((m.k.parse().ok()?, value(m)?.max(1.0))))
            .collect();
        let mut name = peer.clone();
        if peer.starts_with("sequential") {
            // Reading every row takes the same time for any radius.
            name += " (any k)";
            points = points
                .iter()
                .flat_map(|p| [(0.0, p.1), (10.0, p.1)])
                .collect();
        }
        let light = peer.ends_with("workers");
        lines.push(Line {
            name,
            colour: colour(peer),
            light,
            points,
        });
    }
    let title = format!(
        "Search, {what}, set {}, {} rows",
        section.set,
        thousands(section.rows as f64)
    );
    let count = |k: &f64| format!("{k:.0}");
    let axis = Axis {
        title: "k, bits",
        range: (-0.3, 10.3),
        labels: 11,
        text: &count,
    };
    plot(path, &title, OVER_FLOOR, &axis, &lines)
}

fn by_size(path: &Path, sizes: &[&Section]) -> Outcome<()> {
    let mut lines = Vec::new();
    for (peer, k) in [
        ("simhash", "3"),
        ("simhash", "8"),
        ("4 b-trees", "3"),
        ("4 b-trees", "8"),
        ("sequential", "3"),
    ] {
        let points = (sizes.iter())
            .filter_map(|s| {
                Some((
                    (s.rows as f64).log10(),
                    s.find("search", peer, k)?.value.max(1.0),
                ))
            })
            .collect();
        lines.push(Line {
            name: format!("{peer}, k = {k}"),
            colour: colour(peer),
            light: k == "8",
            points,
        });
    }
    let title = format!("Search by size, median, set {}", sizes[0].set);
    let rows = sizes.iter().map(|s| s.rows as f64);
    plot_by_rows(path, &title, OVER_FLOOR, rows, &lines)
}

/// Lines over a logarithmic axis of rows, whose decades are labelled.
fn plot_by_rows(
    path: &Path,
    title: &str,
    y_title: &str,
    rows: impl Iterator<Item = f64> + Clone,
    lines: &[Line],
) -> Outcome<()> {
    let (least, most) = (
        rows.clone().fold(f64::MAX, f64::min).log10(),
        rows.fold(1.0, f64::max).log10(),
    );
    let text = |x: &f64| match x.fract().abs() {
        part if part < 1e-6 => thousands(10f64.powf(*x)),
        _ => String::new(),
    };
    let axis = Axis {
        title: "rows",
        range: (least - 0.1, most + 0.1),
        labels: (most - least).round() as usize + 1,
        text: &text,
    };
    plot(path, title, y_title, &axis, lines)
}

/// The comparison with the system that this one began with: batches, then each question by rows.
pub fn s0(folder: &Path, batch: &[Section], stores: &[Section]) -> Outcome<()> {
    let title = "Grouping all rows, s (thin: partly extrapolated)";
    measure_by_rows(&folder.join("s0_batch.svg"), title, "s", "batch", batch)?;
    let questions = [
        ("is there one", "s0_exists"),
        ("which are all", "s0_all"),
        ("insert and commit", "s0_insert"),
    ];
    for set in distinct(stores.iter().map(|s| &s.set)) {
        for (what, name) in questions {
            let of_set: Vec<&Section> = stores.iter().filter(|s| s.set == *set).collect();
            let path = folder.join(format!("{name}_{set}.svg"));
            let title = format!("One row against all: {what}, median, set {set}");
            measure_by_rows(&path, &title, "us", what, of_set)?;
        }
    }
    Ok(())
}

fn measure_by_rows<'a>(
    path: &Path,
    title: &str,
    y_title: &str,
    what: &str,
    sections: impl IntoIterator<Item = &'a Section>,
) -> Outcome<()> {
    let sections: Vec<&Section> = sections.into_iter().collect();
    let measures = || {
        sections
            .iter()
            .flat_map(|s| &s.measures)
            .filter(|m| m.what == what)
    };
    let mut lines = Vec::new();
    for peer in distinct(measures().map(|m| &m.peer)) {
        let of_peer = |s: &&Section| s.find(what, peer, "3").map(|m| (s.rows, m.value, m.n));
        let points: Vec<(usize, f64, usize)> = sections.iter().filter_map(of_peer).collect();
        lines.push(Line {
            name: peer.clone(),
            colour: colour(peer),
            light: points.iter().any(|p| p.2 == 0),
            points: points
                .iter()
                .map(|p| ((p.0 as f64).log10(), p.1.max(1e-4)))
                .collect(),
        });
    }
    plot_by_rows(
        path,
        title,
        y_title,
        sections.iter().map(|s| s.rows as f64),
        &lines,
    )
}

/// What search times are.
const OVER_FLOOR: &str = "time over an empty query, us";

/// The horizontal axis.
struct Axis<'a> {
    title: &'a str,
    range: (f64, f64),
    labels: usize,
    text: &'a dyn Fn(&f64) -> String,
}

/// Lines over a logarithmic vertical axis.
fn plot(path: &Path, title: &str, y_title: &str, axis: &Axis, lines: &[Line]) -> Outcome<()> {
    let (from, to) = axis.range;
    let values = || lines.iter().flat_map(|l| &l.points).map(|p| p.1);
    // Whole decades, so that the axis begins and ends at a label.
    let low = 10f64.powf(values().fold(f64::MAX, f64::min).log10().floor());
    let high = 10f64
        .powf(values().fold(low, f64::max).log10().ceil())
        .max(low * 10.0);
    let root = SVGBackend::new(path, (WIDTH, HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, legend_area) = root.split_horizontally(WIDTH - LEGEND);
    let mut chart = ChartBuilder::on(&left)
        .caption(title, (FONT, 22))
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(86)
        .build_cartesian_2d(from..to, (low..high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(axis.title)
        .y_desc(y_title)
        .x_labels(axis.labels)
        .x_max_light_lines(1)
        .x_label_formatter(&|x| (axis.text)(x))
        .y_label_formatter(&|y| thousands(*y))
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 16))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    for line in lines {
        let style = line.colour.stroke_width(if line.light { 1 } else { 2 });
        chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
        for point in &line.points {
            root.draw(&line.mark(chart.backend_coord(point)))?;
        }
    }
    legend(&legend_area, lines)?;
    root.present()?;
    Ok(())
}

fn legend(area: &Area, lines: &[Line]) -> Outcome<()> {
    for (i, line) in lines
        .iter()
        .filter(|line| !line.points.is_empty())
        .enumerate()
    {
        let y = 70 + 26 * i as i32;
        let style = line.colour.stroke_width(if line.light { 1 } else { 2 });
        area.draw(&PathElement::new(vec![(0, y), (24, y)], style))?;
        area.draw(&line.mark((12, y)))?;
        area.draw(&Text::new(line.name.clone(), (32, y - 7), (FONT, 14)))?;
    }
    Ok(())
}

/// Bars of what each peer costs, a panel for each measure.
fn upkeep(path: &Path, section: &Section) -> Outcome<()> {
    let panels = [
        ("build, serial", "Build, s"),
        ("size, fresh", "Size, bytes a row"),
        ("insert", "Insert, us a row"),
        ("insert, WAL", "WAL of an insert, bytes a row"),
    ];
    let root = SVGBackend::new(path, (WIDTH, HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!(
        "Upkeep, set {}, {} rows",
        section.set,
        thousands(section.rows as f64)
    );
    let root = root.titled(&title, (FONT, 22))?;
    for (area, (what, title)) in root.split_evenly((2, 2)).iter().zip(panels) {
        let bars: Vec<(&str, f64)> = (section.measures.iter())
            .filter(|m| m.what == what && m.peer != "no index")
            .map(|m| (m.peer.as_str(), m.value))
            .collect();
        panel(area, title, &bars)?;
    }
    root.present()?;
    Ok(())
}

fn panel(area: &Area, title: &str, bars: &[(&str, f64)]) -> Outcome<()> {
    let (name_width, value_width) = (110, 70);
    let longest = area.dim_in_pixel().0 as i32 - name_width - value_width;
    let most = bars
        .iter()
        .map(|bar| bar.1)
        .fold(f64::MIN_POSITIVE, f64::max);
    area.draw(&Text::new(title.to_owned(), (name_width, 14), (FONT, 16)))?;
    for (i, (name, value)) in bars.iter().enumerate() {
        let y = 44 + 34 * i as i32;
        let length = (value.max(0.0) / most * f64::from(longest)) as i32;
        let corners = [(name_width, y), (name_width + length.max(1), y + 22)];
        area.draw(&Text::new((*name).to_owned(), (20, y + 4), (FONT, 14)))?;
        area.draw(&Rectangle::new(corners, colour(name).filled()))?;
        area.draw(&Text::new(
            short(*value),
            (name_width + length + 8, y + 4),
            (FONT, 14),
        ))?;
    }
    Ok(())
}

/// A number with commas; below 1 as it is.
fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    if value < 1.0 {
        return format!("{value}");
    }
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

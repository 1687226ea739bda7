//! SVG plots: precision against recall and both by radius for each set, and recall of planted
//! copies by edit.

use std::path::Path;

use plotters::prelude::*;

use crate::Outcomes;
use crate::measure::RADII;
use crate::report::Section;

const FONT: &str = "sans-serif";
const SIZE: (u32, u32) = (900, 480);
/// Width of the legend, which stands beside the plot so that it hides nothing.
const LEGEND: u32 = 210;

/// Methods that are drawn, with a colour that each keeps in all plots.
const DRAWN: [(&str, RGBColor); 11] = [
    ("words", RGBColor(0, 90, 181)),
    ("minwise", RGBColor(220, 50, 32)),
    ("shingles", RGBColor(0, 130, 80)),
    ("plain", RGBColor(200, 150, 140)),
    ("s0", RGBColor(140, 200, 90)),
    ("s2_idf", RGBColor(150, 75, 170)),
    ("s3_idf", RGBColor(170, 140, 60)),
    ("words_pairs_log", RGBColor(0, 160, 190)),
    ("I-Match", RGBColor(90, 90, 90)),
    ("sampled shingles", RGBColor(240, 140, 0)),
    ("MinHash-LSH", RGBColor(220, 90, 160)),
];

/// Of these both are drawn by radius.
const BY_RADIUS: usize = 3;

struct Curve {
    name: String,
    colour: RGBAColor,
    points: Vec<(f64, f64)>,
}

pub fn draw(out: &Path, sections: &[Section], planted: &[Section]) -> Outcomes<()> {
    for section in sections {
        precision_recall(out, section)?;
        by_radius(out, section)?;
    }
    let Some((_, edits)) = planted.split_last() else {
        return Ok(());
    };
    for k in [3, 8] {
        by_edit(out, edits, k)?;
    }
    Ok(())
}

fn precision_recall(out: &Path, section: &Section) -> Outcomes<()> {
    let path = out.join(format!("precision_recall_{}.svg", section.set));
    let title = format!("{}: points at k = 3, 4, 6, 8, 10", section.set);
    let radii = RADII.map(Some);
    let curves = curves(|method| {
        let all = radii.iter().chain([&None]);
        all.filter_map(|&k| section.find(method, k, false))
            .map(|m| (m.recall.value, m.precision.value))
            .filter(|p| p.0.is_finite() && p.1.is_finite())
            .collect()
    });
    let axes = ("recall of near pairs", "precision");
    plot(
        &path,
        &title,
        axes,
        (0.0, 1.0),
        &|x| format!("{x:.1}"),
        &curves,
    )
}

fn by_radius(out: &Path, section: &Section) -> Outcomes<()> {
    let measures = |method| {
        let at = move |&k: &u32| Some((f64::from(k), section.find(method, Some(k), false)?));
        RADII.iter().filter_map(at)
    };
    let mut curves = Vec::new();
    for (name, colour) in &DRAWN[..BY_RADIUS] {
        curves.push(Curve {
            name: format!("{name}: recall"),
            colour: colour.to_rgba(),
            points: measures(name).map(|(k, m)| (k, m.recall.value)).collect(),
        });
        curves.push(Curve {
            name: format!("{name}: precision"),
            colour: colour.mix(0.3),
            points: measures(name)
                .map(|(k, m)| (k, m.precision.value))
                .collect(),
        });
    }
    curves
        .iter_mut()
        .for_each(|curve| curve.points.retain(|p| p.1.is_finite()));
    let path = out.join(format!("radius_{}.svg", section.set));
    let ends = (f64::from(RADII[0]), f64::from(RADII[RADII.len() - 1]));
    let title = format!("{}: recall and precision by radius", section.set);
    plot(
        &path,
        &title,
        ("radius k", "share"),
        ends,
        &|k| format!("{k:.0}"),
        &curves,
    )
}

fn by_edit(out: &Path, edits: &[Section], k: u32) -> Outcomes<()> {
    let curves = curves(|method| {
        let found = |section: &Section| {
            let measure = section.find(method, Some(k), false);
            measure
                .or_else(|| section.find(method, None, false))
                .map(|m| m.recall.value)
        };
        (edits.iter().enumerate())
            .filter_map(|(i, section)| Some((i as f64, found(section)?)))
            .collect()
    });
    let edit = |x: &f64| {
        let name = edits.get(x.round() as usize).map_or("", |s| s.set.as_str());
        name.trim_start_matches("planted: ").to_owned()
    };
    let (path, title) = (
        out.join(format!("planted_{k}.svg")),
        format!("Planted copies, k = {k}"),
    );
    let ends = (0.0, edits.len() as f64 - 1.0);
    plot(&path, &title, ("edit", "recall"), ends, &edit, &curves)
}

fn curves(points: impl Fn(&str) -> Vec<(f64, f64)>) -> Vec<Curve> {
    let curve = |&(name, colour): &(&str, RGBColor)| Curve {
        name: name.to_owned(),
        colour: colour.to_rgba(),
        points: points(name),
    };
    DRAWN
        .iter()
        .map(curve)
        .filter(|c| !c.points.is_empty())
        .collect()
}

fn plot(
    path: &Path,
    title: &str,
    axes: (&str, &str),
    (from, to): (f64, f64),
    x_text: &dyn Fn(&f64) -> String,
    curves: &[Curve],
) -> Outcomes<()> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, legend) = root.split_horizontally(SIZE.0 - LEGEND);
    let margin = (to - from) / 40.0;
    let mut chart = ChartBuilder::on(&left)
        .caption(title, (FONT, 22))
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(60)
        .build_cartesian_2d(from - margin..to + margin, -0.02..1.02)?;
    chart
        .configure_mesh()
        .x_desc(axes.0)
        .y_desc(axes.1)
        .x_labels(if to > 1.0 {
            (to - from) as usize + 1
        } else {
            11
        })
        .x_label_formatter(x_text)
        .y_label_formatter(&|y| format!("{y:.1}"))
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 16))
        .light_line_style(WHITE)
        .draw()?;
    for (i, curve) in curves.iter().enumerate() {
        let style = curve.colour.stroke_width(2);
        chart.draw_series(LineSeries::new(curve.points.iter().copied(), style))?;
        let dot = |&point| Circle::new(point, 4, curve.colour.filled());
        chart.draw_series(curve.points.iter().map(dot))?;
        let y = 70 + 26 * i as i32;
        legend.draw(&PathElement::new(vec![(0, y), (24, y)], style))?;
        legend.draw(&Circle::new((12, y), 4, curve.colour.filled()))?;
        legend.draw(&Text::new(curve.name.as_str(), (32, y - 7), (FONT, 14)))?;
    }
    root.present()?;
    Ok(())
}

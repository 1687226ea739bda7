//! Any text under any options and preset: no panic, the same fingerprint twice, and features that
//! add up to it. Any text as HTML: no panic, and as it was when it is escaped.
//!
//! An input is a byte that chooses the preset and the form (text or row), then up to three parts
//! divided by zero bytes: the JSON, the text, the text of a second column.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::options::grammar::{parse_row, parse_text};
use simhash_fingerprint::options::plan::{self, ColumnPlan, Field};
use simhash_fingerprint::options::presets;
use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::text::markup::{Markup, strip};

const PRESETS: [&str; 9] = [
    "words", "plain", "s0", "s1", "s2", "s3", "minwise", "shingles", "record",
];

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else {
        return;
    };
    let mut parts = rest
        .splitn(3, |&byte| byte == 0)
        .map(String::from_utf8_lossy);
    let json = parts.next().unwrap_or_default();
    let texts = [
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    ];
    check_markup(&texts[0]);
    let Ok(preset) = presets::find(Some(PRESETS[usize::from(choice & 0x7f) % PRESETS.len()]))
    else {
        panic!("a preset is missing");
    };
    let plans = match choice & 0x80 {
        0 => parse_text(&json, &mut || {})
            .and_then(|options| Ok(vec![plan::text(preset, &options)?])),
        _ => {
            let field = |name: &str| Field {
                name: name.into(),
                generated: false,
            };
            let fields = [field("a"), field("b")];
            parse_row(&json, &mut || {}).and_then(|options| plan::row(preset, &options, &fields))
        }
    };
    if let Ok(plans) = plans {
        check(&plans, [&texts[0], &texts[1]]);
    }
});

fn check_markup(text: &str) {
    let html = |text: &str| strip(Markup::Html, text, &mut || {}).map(String::from);
    // A zero byte may become U+FFFD, of three.
    assert!(
        html(text).is_ok_and(|stripped| stripped.len() <= 3 * text.len()),
        "as HTML"
    );
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    assert_eq!(html(&escaped), Ok(lines), "escaped");
}

fn check(plans: &[ColumnPlan], texts: [&str; 2]) {
    let mut builder = FingerprintBuilder::<1>::new(Width::W64);
    let first = add(&mut builder, plans, texts).then(|| builder.fingerprint());
    let second = add(&mut builder, plans, texts).then(|| builder.fingerprint());
    assert_eq!(first, second, "twice");
    let mut wide = FingerprintBuilder::<2>::new(Width::W64);
    assert_eq!(add(&mut wide, plans, texts), first.is_some(), "both widths");
    let mut showing = FingerprintBuilder::<1>::showing(Width::W64);
    let Some(fingerprint) = first.filter(|_| add(&mut showing, plans, texts)) else {
        return;
    };
    assert_eq!(showing.fingerprint(), fingerprint, "showing");
    let features = showing.into_features();
    if plans.iter().any(|plan| plan.minwise.is_some()) {
        return assert!(fingerprint.is_none() || !features.is_empty(), "drawn");
    }
    // What is within rounding of a tie may fall on either side.
    let scale: f64 = features.iter().map(|f| f.weight).sum();
    if let Some([bits]) = fingerprint {
        for bit in 0..64 {
            let signed = |f: &simhash_fingerprint::builder::Feature| match f.hash >> bit & 1 {
                1 => f.weight,
                _ => -f.weight,
            };
            let sum: f64 = features.iter().map(signed).sum();
            if sum.is_finite() && sum.abs() > 1e-6 * scale {
                assert_eq!(bits >> bit & 1 == 1, sum > 0.0, "bit {bit}");
            }
        }
    }
}

/// Adds the columns; false when the text is refused.
fn add<const W: usize>(builder: &mut FingerprintBuilder<W>, plans: &[ColumnPlan], texts: [&str; 2]) -> bool {
    builder.begin();
    plans.iter().all(|plan| {
        let title = plan
            .title
            .map_or(Ok(()), |t| builder.title(plan, texts[t], &mut || {}));
        title.is_ok()
            && builder
                .column(plan, Content::Text(texts[plan.field]), &mut || {})
                .is_ok()
    })
}

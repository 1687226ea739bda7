//! What is measured: presets and options, and the fingerprints that they give.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::counter::for_each_term;
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::options::grammar::{parse_row, parse_text};
use simhash_fingerprint::options::plan::{self, ColumnPlan, Field};
use simhash_fingerprint::options::presets::{self, Input};
use simhash_fingerprint::terms::Idf;
use simhash_fingerprint::text::{normal, words};

use crate::data::LabelledSet;

/// What is handed to the fingerprint.
#[derive(Clone, Copy, PartialEq)]
enum InputForm {
    /// The text alone.
    Text,
    /// A row of the columns `subject` and `text`.
    Row,
    /// The text's words as `word^tf`.
    Tokens,
}

/// A line of the list of configurations: name, preset, number of draws, form, options as JSON,
/// between white space.
pub struct Configuration {
    pub name: String,
    preset: String,
    /// How often it is drawn. Fingerprints are random projections or samples; the name of the column
    /// stands for the random numbers, and which one it is decides some pairs by luck.
    pub draws: usize,
    form: InputForm,
    /// With document frequencies taken from the set itself.
    idf: bool,
    options: String,
}

pub fn read(path: &Path) -> Result<Vec<Configuration>, Box<dyn Error>> {
    let list = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let lines = list
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    lines.map(Configuration::parse).collect()
}

impl Configuration {
    fn parse(line: &str) -> Result<Self, Box<dyn Error>> {
        let parts: Vec<&str> = line.splitn(5, ' ').map(str::trim).collect();
        let [name, preset, draws, form, options] = parts[..] else {
            return Err(format!("incomplete line: {line}").into());
        };
        let idf = form.ends_with("+idf");
        let form = match form.trim_end_matches("+idf") {
            "text" => InputForm::Text,
            "row" => InputForm::Row,
            "tokens" => InputForm::Tokens,
            _ => return Err(format!("unknown form {form}: {line}").into()),
        };
        Ok(Configuration {
            name: name.to_owned(),
            preset: preset.to_owned(),
            draws: draws.parse().map_err(|e| format!("{e}: {line}"))?,
            form,
            idf,
            options: options.to_owned(),
        })
    }

    /// Does the set have what this takes?
    pub fn fits(&self, set: &LabelledSet) -> bool {
        self.form != InputForm::Row || !set.titles.is_empty()
    }

    fn plans(&self, set: &LabelledSet, draw: usize) -> Result<Vec<ColumnPlan>, Box<dyn Error>> {
        let preset = presets::find(Some(&self.preset))?;
        let mut plans = match self.form {
            InputForm::Text | InputForm::Tokens => {
                vec![plan::text(preset, &parse_text(&self.options, &mut || {})?)?]
            }
            InputForm::Row => {
                let field = |name: &str| Field {
                    name: name.to_owned(),
                    generated: false,
                    is_text: true,
                };
                let fields = [field("subject"), field("text")];
                plan::row(preset, &parse_row(&self.options, &mut || {})?, &fields)?
            }
        };
        for plan in &mut plans {
            if draw > 0 {
                plan.prefix
                    .splice(0..0, format!("{draw}\u{1f}").into_bytes());
            }
            if let (true, Input::Words(rules)) = (self.idf, &mut plan.input) {
                rules.terms.idf = Some(document_frequencies(set)?);
            }
        }
        Ok(plans)
    }

    /// Fingerprints each row as one of a column with a name that belongs to the draw (a lone text
    /// in the first without one).
    pub fn fingerprints(
        &self,
        set: &LabelledSet,
        draw: usize,
    ) -> Result<Vec<Option<u64>>, Box<dyn Error>> {
        let plans = self.plans(set, draw)?;
        let mut builder = FingerprintBuilder::<1>::new(Width::W64);
        let row = |(i, text): (usize, &String)| {
            builder.begin();
            let tokens = (self.form == InputForm::Tokens).then(|| weighted_tokens(text));
            for plan in &plans {
                let field = |field| match (self.form, field) {
                    (InputForm::Row, 0) => &set.titles[i],
                    _ => tokens.as_ref().unwrap_or(text),
                };
                if let Some(title) = plan.title {
                    builder.title(plan, field(title), &mut || {})?;
                }
                let texts: Vec<&str> = plan.fields().map(|i| field(i).as_str()).collect();
                builder.column(plan, Content::Text(&texts.join("\n")), &mut || {})?;
            }
            Ok(builder.fingerprint().map(|[bits]| bits))
        };
        set.texts.iter().enumerate().map(row).collect()
    }
}

/// A text in the form that preset `s1` takes.
fn weighted_tokens(text: &str) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    normal::for_each_chunk(text, &mut String::new(), &mut || {}, &mut |chunk| {
        words::for_each_word(chunk, None, false, &mut |word, _| {
            *counts.entry(word.to_owned()).or_default() += 1;
        });
    });
    let tokens: Vec<String> = counts
        .iter()
        .map(|(word, n)| format!("{word}^{n}"))
        .collect();
    tokens.join(" ")
}

/// In how many rows of the set each word occurs, counted at the first call.
fn document_frequencies(set: &LabelledSet) -> Result<Arc<Idf>, Box<dyn Error>> {
    if let Some(known) = set.frequencies.get() {
        return Ok(Arc::clone(known));
    }
    let plan = plan::text(
        presets::find(Some("plain"))?,
        &parse_text("{}", &mut || {})?,
    )?;
    let mut counts: HashMap<String, u64> = HashMap::new();
    for text in &set.texts {
        for_each_term(&plan, text, &mut || {}, &mut |word| {
            *counts.entry(word.to_owned()).or_default() += 1;
        })?;
    }
    let mut idf = Idf::new(set.texts.len() as u64);
    for (word, &count) in &counts {
        idf.add(word, count)?;
    }
    Ok(Arc::clone(set.frequencies.get_or_init(|| Arc::new(idf))))
}

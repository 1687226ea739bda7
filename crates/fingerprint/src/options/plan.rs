//! Preset, options and the fields of a row, worked out into what each field does. The extension
//! keeps a plan for the calls of a statement, and [`crate::builder`] follows it for each row. A plan
//! refers only to fields that the row has, and an option that no field has a use for is an error.

use super::grammar::{ColumnOptions, ContentKind, RowOptions};
use super::presets::{Input, Method, Preset};
use super::text_options::{Needs, TextOptions};
use crate::error::Error;
use crate::hash::{FeatureHash, city64, mix};
use crate::minwise::{MOST_BITS, unit_times};

/// A field of the row, dropped columns left out.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name of the column.
    pub name: String,
    /// A generated column counts only when it is named.
    pub generated: bool,
    /// Whether its type is one of text.
    pub is_text: bool,
}

/// The plan of one field that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnPlan {
    /// Position among the fields.
    pub field: usize,
    /// Further fields that are read as one text with it, joined by line ends.
    pub joined: Vec<usize>,
    /// The name of the column, or of all that are joined.
    pub name: String,
    /// How a value counts; None: as its type suggests.
    pub kind: Option<ContentKind>,
    /// Whether a value is text when `kind` says nothing.
    pub value_as_text: bool,
    /// How a text of the column is read.
    pub input: Input,
    /// For SimHash, the factor of the column's vector: sqrt(share) when columns are balanced, else
    /// the weight. For minwise fingerprints, the weight.
    pub factor: f64,
    /// How a minwise fingerprint draws from the column; None for SimHash.
    pub minwise: Option<MinwiseColumn>,
    /// Whether columns are scaled to their shares.
    pub balance: bool,
    /// Multiplies the weight of a value that is one feature as a whole.
    pub value_weight: f64,
    /// Hashed in front of every feature: the name and 0x1F, or nothing.
    pub prefix: Vec<u8>,
    /// The hash function of features.
    pub hash: FeatureHash,
    /// The field that is this one's title.
    pub title: Option<usize>,
}

impl ColumnPlan {
    /// The fields whose text the column reads, its title left out.
    pub fn fields(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.field).chain(self.joined.iter().copied())
    }
}

/// Data of a column for a minwise fingerprint.
#[derive(Clone, Debug, PartialEq)]
pub struct MinwiseColumn {
    /// Arrival time of the column in the race for each bit.
    pub unit_times: Box<[f64; MOST_BITS]>,
    /// Its weight among those of all columns.
    pub share: f64,
    /// Its features are drawn from bins, as all of them weigh the same; otherwise by races.
    pub is_set: bool,
}

/// The plan of a lone text: no column name, no weight.
pub fn text(preset: &'static Preset, options: &TextOptions) -> Result<ColumnPlan, Error> {
    let input = input(preset, &[options]);
    check_use(preset, options, "", &[&input])?;
    Ok(of_input(preset, options, input))
}

/// As [`text`], to list a text's words: it is cut into them whatever the features are.
pub fn terms(preset: &'static Preset, options: &TextOptions) -> Result<ColumnPlan, Error> {
    let mut input = input(preset, &[options]);
    if let Input::Words(rules) = &mut input {
        rules.features.words = 1.0;
    }
    check_use(preset, options, "", &[&input])?;
    Ok(of_input(preset, options, input))
}

fn of_input(preset: &'static Preset, options: &TextOptions, input: Input) -> ColumnPlan {
    ColumnPlan {
        minwise: (preset.method == Method::Minwise).then(|| MinwiseColumn {
            unit_times: Box::new(unit_times(city64(b""))),
            share: 1.0,
            is_set: preset.balance && input.weighs_all_alike(),
        }),
        field: 0,
        joined: Vec::new(),
        name: String::new(),
        kind: Some(ContentKind::Text),
        value_as_text: preset.value_as_text,
        input,
        factor: 1.0,
        balance: preset.balance,
        value_weight: preset.value_weight,
        prefix: Vec::new(),
        hash: options.hash.unwrap_or(preset.hash),
        title: None,
    }
}

/// The plan of a row: one entry per field that counts, in the row's order.
pub fn row(
    preset: &'static Preset,
    options: &RowOptions,
    fields: &[Field],
) -> Result<Vec<ColumnPlan>, Error> {
    let names = field_names(options, fields)?;
    check_names(options, &names)?;
    let names_columns = !options.named.is_empty() || options.rest.is_some();
    if preset.row_is_text && !names_columns && options.text.terms.title.is_none() {
        return row_of_text(preset, options, fields, &names);
    }
    let fallback = ColumnOptions::default();
    let mut chosen: Vec<(usize, &ColumnOptions)> = (0..fields.len())
        .filter_map(|i| {
            Some((
                i,
                column(options, &fallback, names[i], fields[i].generated)?,
            ))
        })
        .collect();
    let total: f64 = chosen.iter().map(|(_, column)| column.weight).sum();
    // A row of which no column counts is allowed: it has no feature.
    if total == 0.0 && !chosen.is_empty() {
        return Err(Error::NoWeight);
    }
    chosen.retain(|(_, column)| column.weight > 0.0);
    let balance = options.balance.unwrap_or(preset.balance);
    let plans: Vec<ColumnPlan> = chosen
        .into_iter()
        .map(|(field, column)| {
            let title = title(options, column, &names)?.filter(|&title| title != field);
            let input = input(preset, &[&column.text, &options.text]);
            check_use(preset, &column.text, "", &[&input])?;
            let prefix = prefix(preset, names[field]);
            Ok(ColumnPlan {
                minwise: (preset.method == Method::Minwise).then(|| MinwiseColumn {
                    unit_times: Box::new(unit_times(name_hash(
                        &prefix,
                        &names[..field],
                        names[field],
                    ))),
                    share: column.weight / total,
                    // Without balance the number of features is the column's weight.
                    is_set: balance && title.is_none() && input.weighs_all_alike(),
                }),
                field,
                joined: Vec::new(),
                name: names[field].to_owned(),
                kind: column.kind,
                value_as_text: preset.value_as_text,
                input,
                // Roots first: the quotient of two extreme weights could underflow to 0.
                factor: match preset.method {
                    Method::SimHash if balance => column.weight.sqrt() / total.sqrt(),
                    _ => column.weight,
                },
                balance,
                value_weight: preset.value_weight,
                prefix,
                hash: column
                    .text
                    .hash
                    .or(options.text.hash)
                    .unwrap_or(preset.hash),
                title,
            })
        })
        .collect::<Result<_, Error>>()?;
    let inputs: Vec<&Input> = plans.iter().map(|plan| &plan.input).collect();
    if !inputs.is_empty() {
        check_use(preset, &options.text, "$", &inputs)?;
    }
    Ok(plans)
}

/// The plan of a row whose columns of text are one text.
fn row_of_text(
    preset: &'static Preset,
    options: &RowOptions,
    fields: &[Field],
    names: &[&str],
) -> Result<Vec<ColumnPlan>, Error> {
    let fallback = ColumnOptions::default();
    let counts = |&i: &usize| column(options, &fallback, names[i], fields[i].generated).is_some();
    let counted: Vec<usize> = (0..fields.len()).filter(counts).collect();
    let mut texts = counted.iter().copied().filter(|&i| fields[i].is_text);
    let Some(field) = texts.next() else {
        let columns = counted.into_iter().map(|i| names[i].to_owned()).collect();
        return no_text(columns);
    };
    let joined: Vec<usize> = texts.collect();
    let input = input(preset, &[&options.text]);
    check_use(preset, &options.text, "$", &[&input])?;
    let all = std::iter::once(&field).chain(&joined);
    let name = all.map(|&i| names[i]).collect::<Vec<_>>().join(", ");
    let mut plan = of_input(preset, &options.text, input);
    plan.balance = options.balance.unwrap_or(plan.balance);
    if let (false, Some(column)) = (plan.balance, &mut plan.minwise) {
        column.is_set = false;
    }
    Ok(vec![ColumnPlan {
        field,
        joined,
        name,
        ..plan
    }])
}

/// A row of which no column counts is allowed: it has no feature.
fn no_text(columns: Vec<String>) -> Result<Vec<ColumnPlan>, Error> {
    match columns.is_empty() {
        true => Ok(Vec::new()),
        false => Err(Error::NoText { columns }),
    }
}

/// The field that the column's options, or else the row's, call its title.
fn title(
    options: &RowOptions,
    column: &ColumnOptions,
    names: &[&str],
) -> Result<Option<usize>, Error> {
    let own = column.text.terms.title.as_ref();
    let Some(title) = own.or(options.text.terms.title.as_ref()) else {
        return Ok(None);
    };
    match names.iter().position(|name| name == title) {
        Some(field) => Ok(Some(field)),
        None => Err(unknown_column("\"title\"", title, names)),
    }
}

/// Returns a hash that distinguishes a column from the others in the races for bits: it depends on
/// the name and, for columns of one name (a sub-select may have some), on which of them it is.
fn name_hash(prefix: &[u8], before: &[&str], name: &str) -> u64 {
    let namesakes = before.iter().filter(|other| **other == name).count() as u64;
    match namesakes {
        0 => city64(prefix),
        _ => mix(city64(prefix) ^ namesakes),
    }
}

fn unknown_column(place: &'static str, column: &str, names: &[&str]) -> Error {
    Error::UnknownColumn {
        place,
        column: column.to_owned(),
        columns: names.iter().map(|n| (*n).to_owned()).collect(),
    }
}

fn prefix(preset: &Preset, name: &str) -> Vec<u8> {
    if !preset.name_columns {
        return Vec::new();
    }
    let mut prefix = name.as_bytes().to_vec();
    prefix.push(0x1f);
    prefix
}

/// The options under which a field counts, or None.
fn column<'a>(
    options: &'a RowOptions,
    fallback: &'a ColumnOptions,
    name: &str,
    generated: bool,
) -> Option<&'a ColumnOptions> {
    if let Some((_, named)) = options.named.iter().find(|(n, _)| n == name) {
        return Some(named);
    }
    if generated || options.exclude.iter().any(|n| n == name) {
        return None;
    }
    match &options.rest {
        Some(rest) => Some(rest),
        None if options.named.is_empty() => Some(fallback),
        None => None,
    }
}

fn field_names<'a>(options: &'a RowOptions, fields: &'a [Field]) -> Result<Vec<&'a str>, Error> {
    match &options.columns {
        None => Ok(fields.iter().map(|f| f.name.as_str()).collect()),
        Some(names) if names.len() == fields.len() => {
            Ok(names.iter().map(String::as_str).collect())
        }
        Some(names) => Err(Error::FieldCount {
            names: names.len(),
            fields: fields.len(),
        }),
    }
}

fn check_names(options: &RowOptions, names: &[&str]) -> Result<(), Error> {
    let known = |place, column: &String| {
        if names.contains(&column.as_str()) {
            return Ok(());
        }
        Err(unknown_column(place, column, names))
    };
    for (name, _) in &options.named {
        known("weights", name)?;
        if options.exclude.contains(name) {
            return Err(Error::WeightedAndExcluded {
                column: name.clone(),
            });
        }
    }
    options
        .exclude
        .iter()
        .try_for_each(|name| known("\"$exclude\"", name))
}

/// The preset's input with the given options laid over it. Where several layers give an option, the
/// first of them wins.
fn input(preset: &Preset, layers: &[&TextOptions]) -> Input {
    let mut input = preset.input.clone();
    if let Input::Words(rules) = &mut input {
        layers
            .iter()
            .rev()
            .for_each(|options| options.lay_over(rules));
    }
    input
}

/// An error when none of the inputs that an option is for has a use for it. `sign` is what the user
/// wrote in front of its key.
fn check_use(
    preset: &Preset,
    options: &TextOptions,
    sign: &str,
    inputs: &[&Input],
) -> Result<(), Error> {
    let useless = |key: &&str| {
        !inputs
            .iter()
            .any(|input| Needs::for_option(key).met_by(input))
    };
    match options.given().find(useless) {
        Some(key) => Err(without_use(preset, sign, key)),
        None => Ok(()),
    }
}

fn without_use(preset: &Preset, sign: &str, key: &'static str) -> Error {
    Error::OptionWithoutUse {
        key: format!("{sign}{key}"),
        preset: preset.name,
    }
}

//! Fingerprints of lone texts and of ready-made tokens.

#![forbid(unsafe_code)]

use pgrx::pg_sys;

use super::arguments::{ParsedArguments, refresh};
use crate::errors::{ToError, or_raise};
use simhash_fingerprint::Error;
use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::hash::{FeatureHash, Width};
use simhash_fingerprint::options::grammar::parse_text_or_hint_row;
use simhash_fingerprint::options::plan::{self, ColumnPlan};
use simhash_fingerprint::options::presets::{self, Preset};
use simhash_fingerprint::options::text_options::TextOptions;
use simhash_fingerprint::scalar;
use simhash_fingerprint::simhash::{is_weight, simhash};
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::value::Value;

/// Bytes of the longest text that is kept: copying it must not need memory that may not be there.
const MOST_KEPT: usize = 1 << 20;

/// State of a call site.
pub struct TextSite<const W: usize> {
    memory: MemoryContext,
    arguments: Option<ParsedArguments<TextOptions>>,
    plan: Option<ColumnPlan>,
    builder: FingerprintBuilder<W>,
    /// The last text and its fingerprint: one side of a join, and a constant, come again and again.
    last: Option<(Vec<u8>, Option<[u64; W]>)>,
}

impl<const W: usize> TextSite<W> {
    pub fn new(memory: MemoryContext, width: Width) -> Self {
        Self {
            memory,
            arguments: None,
            plan: None,
            builder: FingerprintBuilder::new(width),
            last: None,
        }
    }

    fn prepare(
        &mut self,
        args: &Args,
        i: usize,
        parse: fn(&str, &mut dyn FnMut()) -> Result<TextOptions, Error>,
        plan: fn(&'static Preset, &TextOptions) -> Result<ColumnPlan, Error>,
    ) {
        if refresh(&mut self.arguments, args, i, self.memory, parse) {
            let plan = |a: &ParsedArguments<_>| or_raise(plan(a.preset, a.options()));
            self.plan = self.arguments.as_ref().map(plan);
            self.last = None;
        }
    }

    /// Returns the fingerprint of a text; its options and preset are arguments 1 and 2.
    pub fn fingerprint(&mut self, args: &Args, text: Value<'_>) -> Option<[u64; W]> {
        self.prepare(args, 1, parse_text_or_hint_row, plan::text);
        self.fingerprint_by_plan(text)
    }

    /// Returns the fingerprint of a text without options or a preset.
    pub fn default_fingerprint(&mut self, text: Value<'_>) -> Option<[u64; W]> {
        if self.plan.is_none() {
            let preset = or_raise(presets::find(None));
            self.plan = Some(or_raise(plan::text(preset, &TextOptions::default())));
        }
        self.fingerprint_by_plan(text)
    }

    fn fingerprint_by_plan(&mut self, text: Value<'_>) -> Option<[u64; W]> {
        let bytes = text.bytes();
        // Taken: after an ERROR the builder has another text.
        let mut kept = match self.last.take() {
            Some((last, fingerprint)) if last == bytes => {
                self.last = Some((last, fingerprint));
                return fingerprint;
            }
            last => last.map_or(Vec::new(), |(last, _)| last),
        };
        add(&mut self.builder, self.plan.as_ref()?, text);
        let fingerprint = self.builder.fingerprint();
        if bytes.len() <= MOST_KEPT {
            kept.clear();
            kept.extend_from_slice(bytes);
            self.last = Some((kept, fingerprint));
        }
        fingerprint
    }

    /// Adds a text to a builder of the caller; its options are argument `options`, and the preset the
    /// next one.
    pub fn add_to(
        &mut self,
        builder: &mut FingerprintBuilder<W>,
        args: &Args,
        options: usize,
        text: Value<'_>,
    ) {
        self.prepare(args, options, parse_text_or_hint_row, plan::text);
        if let Some(plan) = &self.plan {
            add(builder, plan, text);
        }
    }

    /// Returns the `n` bits of least margin of the text's fingerprint.
    pub fn margin(&mut self, args: &Args, text: Value<'_>, n: usize) -> Option<i64> {
        self.fingerprint(args, text)?;
        or_raise(self.builder.margin(n)).map(|mask| mask as i64)
    }
}

/// Begins a new fingerprint with one text.
pub fn add<const W: usize>(
    builder: &mut FingerprintBuilder<W>,
    plan: &ColumnPlan,
    text: Value<'_>,
) {
    let text = to_utf8(text.bytes());
    builder.begin();
    or_raise(builder.column(plan, Content::Text(&text), &mut check_for_interrupts));
}

/// Returns the fingerprint of tokens (text[]) with weights (float8[], or all 1). Tokens are hashed
/// as they are; equal ones add up; NULL, the empty token and weight 0 add nothing.
pub fn tokens_fingerprint(
    tokens: Value<'_>,
    weights: Option<Value<'_>>,
    width: Width,
) -> Option<i64> {
    let tokens = tokens.array().items;
    let weights = weights.map(|w| w.array().items);
    if let Some(weights) = &weights
        && weights.len() != tokens.len()
    {
        Error::ArrayLengths {
            tokens: tokens.len(),
            weights: weights.len(),
        }
        .to_error()
        .raise();
    }
    let features = tokens.iter().enumerate().filter_map(|(i, token)| {
        if i % 1024 == 0 {
            check_for_interrupts();
        }
        let weight = match &weights {
            Some(weights) => token_weight(i, weights[i])?,
            None => 1.0,
        };
        let token = (*token)?.bytes();
        (!token.is_empty()).then(|| {
            (
                FeatureHash::City.words(width, to_utf8(token).as_bytes()),
                weight,
            )
        })
    });
    simhash(features).map(|[bits]| bits as i64)
}

fn token_weight(i: usize, weight: Option<Value<'_>>) -> Option<f64> {
    let weight = f64::from_bits(weight?.integer() as u64);
    if !is_weight(weight) {
        let mut found = String::new();
        scalar::float(&mut found, weight);
        Error::BadWeight {
            place: format!("weight of token {}", i + 1),
            weight: found,
        }
        .to_error()
        .raise();
    }
    Some(weight)
}

/// The type of an argument declared text[] or float8[]; [`Value::array`] reads the rest from the
/// array itself.
pub const ARRAY: pg_sys::Oid = pg_sys::ANYARRAYOID;

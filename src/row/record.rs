//! Fingerprints of rows, and the state that a call site keeps for them.
//! `row::fingerprint_functions` and `row::methods` call it. The plan of columns always matches the
//! row type and the options of the present call.

#![forbid(unsafe_code)]

use std::rc::Rc;

use super::arguments::{ParsedArguments, refresh};
use super::canonical::{ValueForm, Writer, append_line, is_string_type, text};
use super::lexemes::lexemes;
use crate::errors::or_raise;
use simhash_fingerprint::builder::{Content, FingerprintBuilder};
use simhash_fingerprint::hash::Width;
use simhash_fingerprint::options::grammar::{RowOptions, parse_row};
use simhash_fingerprint::options::plan::{self, ColumnPlan, Field};
use simhash_fingerprint::options::presets::Preset;
use simhash_pg::process::backend::check_for_interrupts;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::fmgr::Args;
use simhash_pg::sql::record::{Record, RecordColumn, Shape};
use simhash_pg::sql::value::Value;

/// State of a call site.
pub struct RowSite<const W: usize> {
    memory: MemoryContext,
    builder: FingerprintBuilder<W>,
    arguments: Option<ParsedArguments<RowOptions>>,
    work: RowWork,
}

/// Columns and plan, without the builder: `add_to` takes one from its caller.
struct RowWork {
    writer: Writer,
    shape: Option<Rc<Shape>>,
    columns: Vec<CountedColumn>,
    canonical: String,
}

/// A column that counts.
struct CountedColumn {
    plan: ColumnPlan,
    form: Rc<ValueForm>,
    /// The forms of the fields that are joined to it.
    joined: Vec<Rc<ValueForm>>,
    /// The form of its title.
    title: Option<Rc<ValueForm>>,
}

impl<const W: usize> RowSite<W> {
    pub fn new(memory: MemoryContext, width: Width) -> Self {
        let work = RowWork {
            writer: Writer::new(memory),
            shape: None,
            columns: Vec::new(),
            canonical: String::new(),
        };
        Self {
            memory,
            builder: FingerprintBuilder::new(width),
            arguments: None,
            work,
        }
    }

    /// Returns the fingerprint of a row; its weights and preset are arguments 1 and 2.
    pub fn fingerprint(&mut self, args: &Args, row: Value<'_>) -> Option<[u64; W]> {
        let settings = settings(&mut self.arguments, args, 1, self.memory)?;
        self.work.add(&mut self.builder, &settings, row);
        self.builder.fingerprint()
    }

    /// Returns the `n` bits of least margin of the row's fingerprint.
    pub fn margin(&mut self, args: &Args, row: Value<'_>, n: usize) -> Option<i64> {
        self.fingerprint(args, row)?;
        or_raise(self.builder.margin(n)).map(|mask| mask as i64)
    }

    /// Adds the row to a builder of the caller; its weights are argument `options`, and the preset the
    /// next one.
    pub fn add_to(
        &mut self,
        builder: &mut FingerprintBuilder<W>,
        args: &Args,
        options: usize,
        row: Value<'_>,
    ) {
        if let Some(settings) = settings(&mut self.arguments, args, options, self.memory) {
            self.work.add(builder, &settings, row);
        }
    }

    /// The fields of the last row that count, and their names.
    pub fn counted(&self) -> impl Iterator<Item = (usize, &str)> {
        let plans = self.work.columns.iter().map(|column| &column.plan);
        plans.map(|plan| (plan.field, plan.name.as_str()))
    }
}

/// Options and preset, and whether they have changed since the last call.
struct Settings<'a> {
    options: &'a RowOptions,
    preset: &'static Preset,
    changed: bool,
}

fn settings<'a>(
    arguments: &'a mut Option<ParsedArguments<RowOptions>>,
    args: &Args,
    i: usize,
    memory: MemoryContext,
) -> Option<Settings<'a>> {
    let changed = refresh(arguments, args, i, memory, parse_row);
    let arguments = arguments.as_ref()?;
    Some(Settings {
        options: arguments.options(),
        preset: arguments.preset,
        changed,
    })
}

impl RowWork {
    fn add<const W: usize>(
        &mut self,
        builder: &mut FingerprintBuilder<W>,
        settings: &Settings<'_>,
        row: Value<'_>,
    ) {
        let record = Record::open(row);
        let shape = self.prepare(settings, &record);
        let values = shape.values(&record);
        builder.begin();
        let check_interrupts = &mut check_for_interrupts;
        for column in &self.columns {
            let CountedColumn {
                plan,
                form,
                joined,
                title,
            } = column;
            if !plan.joined.is_empty() {
                self.canonical.clear();
                for (field, form) in plan.fields().zip(std::iter::once(form).chain(joined)) {
                    if let Some(value) = values[field] {
                        append_line(&mut self.canonical, &text(form, value));
                    }
                }
                let content = Content::Text(&self.canonical);
                or_raise(builder.column(plan, content, check_interrupts));
                continue;
            }
            let Some(value) = values[plan.field] else {
                continue;
            };
            if let (Some(field), Some(form)) = (plan.title, title)
                && let Some(title) = values[field]
            {
                let title = self.writer.whole(form, title, &mut self.canonical);
                or_raise(builder.title(plan, title.as_ref(), check_interrupts));
            }
            if form.is_text() {
                or_raise(builder.column(plan, Content::Text(&text(form, value)), check_interrupts));
            } else if let (ValueForm::Lexemes(_), None) = (&**form, plan.kind) {
                or_raise(builder.column(
                    plan,
                    Content::Lexemes(&lexemes(&value)),
                    check_interrupts,
                ));
            } else {
                let text = self.writer.whole(form, value, &mut self.canonical);
                or_raise(builder.column(plan, Content::Canonical(text.as_ref()), check_interrupts));
            }
        }
    }

    /// Brings the plan up to date with options, row type and catalog.
    fn prepare(&mut self, settings: &Settings<'_>, record: &Record<'_>) -> Rc<Shape> {
        if let Some(shape) = &self.shape
            && !settings.changed
            && shape.fits(record)
        {
            return shape.clone();
        }
        let shape = self.writer.shape(record);
        let field = |c: &RecordColumn| Field {
            name: c.name.clone(),
            generated: c.generated,
            is_text: is_string_type(c.type_id),
        };
        let fields: Vec<Field> = shape.columns.iter().map(field).collect();
        let plans = or_raise(plan::row(settings.preset, settings.options, &fields));
        let mut form = |field: usize| self.writer.form(shape.columns[field].type_id);
        let column = |plan: ColumnPlan| CountedColumn {
            form: form(plan.field),
            joined: plan.joined.iter().copied().map(&mut form).collect(),
            title: plan.title.map(&mut form),
            plan,
        };
        self.columns = plans.into_iter().map(column).collect();
        self.shape.insert(shape).clone()
    }
}

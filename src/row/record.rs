//! Fingerprints of rows.

use std::rc::Rc;

use super::arguments::{Arguments, refresh};
use super::canonical::{Form, Writer, text};
use super::errors::or_raise;
use super::lexemes::lexemes;
use crate::fingerprint::hash::Width;
use crate::fingerprint::options::{RowOptions, parse_row};
use crate::fingerprint::plan::{self, ColumnPlan, Field};
use crate::fingerprint::sketch::{Content, Sketch};
use crate::pg::call_site::Memory;
use crate::pg::fmgr::Args;
use crate::pg::process::check_for_interrupts;
use crate::pg::record::{Record, Shape};
use crate::pg::value::Value;

/// What a call site remembers.
pub struct RowSite<const W: usize> {
    memory: Memory,
    sketch: Sketch<W>,
    work: RowWork,
}

/// Arguments, columns and plan; apart from the sketch, which may be another one.
struct RowWork {
    arguments: Option<Arguments<RowOptions>>,
    writer: Writer,
    shape: Option<Rc<Shape>>,
    columns: Vec<Column>,
    canonical: String,
}

/// A column that counts.
struct Column {
    plan: ColumnPlan,
    form: Rc<Form>,
    /// Of its title.
    title: Option<Rc<Form>>,
}

impl<const W: usize> RowSite<W> {
    pub fn new(memory: Memory, width: Width) -> Self {
        let work = RowWork {
            arguments: None,
            writer: Writer::new(memory),
            shape: None,
            columns: Vec::new(),
            canonical: String::new(),
        };
        Self {
            memory,
            sketch: Sketch::new(width),
            work,
        }
    }

    /// The fingerprint of a row, its weights and preset being arguments 1 and 2.
    pub fn fingerprint(&mut self, args: &Args, row: Value<'_>) -> Option<[u64; W]> {
        self.work.add(&mut self.sketch, args, row, self.memory);
        self.sketch.fingerprint()
    }

    /// The `n` bits of least margin of the row's fingerprint.
    pub fn margin(&mut self, args: &Args, row: Value<'_>, n: usize) -> Option<i64> {
        self.fingerprint(args, row)?;
        self.sketch.margin(n).map(|mask| mask as i64)
    }

    /// Adds the row to a sketch of the caller.
    pub fn add_to(&mut self, sketch: &mut Sketch<W>, args: &Args, row: Value<'_>) {
        self.work.add(sketch, args, row, self.memory);
    }
}

impl RowWork {
    fn add<const W: usize>(
        &mut self,
        sketch: &mut Sketch<W>,
        args: &Args,
        row: Value<'_>,
        memory: Memory,
    ) {
        let record = Record::open(row);
        let shape = self.prepare(args, &record, memory);
        let values = shape.values(&record);
        sketch.begin();
        let pause = &mut check_for_interrupts;
        for Column { plan, form, title } in &self.columns {
            let Some(value) = values[plan.field] else {
                continue;
            };
            if let (Some(field), Some(form)) = (plan.title, title)
                && let Some(title) = values[field]
            {
                let title = self.writer.whole(form, title, &mut self.canonical);
                or_raise(sketch.title(plan, title.as_ref(), pause));
            }
            if form.is_text() {
                or_raise(sketch.column(plan, Content::Text(&text(form, value)), pause));
            } else if let (Form::Lexemes(_), None) = (&**form, plan.kind) {
                or_raise(sketch.column(plan, Content::Lexemes(&lexemes(&value)), pause));
            } else {
                let text = self.writer.whole(form, value, &mut self.canonical);
                or_raise(sketch.column(plan, Content::Canonical(text.as_ref()), pause));
            }
        }
    }

    /// Brings the plan up to date with arguments, row type and catalog.
    fn prepare(&mut self, args: &Args, record: &Record<'_>, memory: Memory) -> Rc<Shape> {
        let changed = refresh(&mut self.arguments, args, 1, memory, parse_row);
        if let Some(shape) = &self.shape
            && !changed
            && shape.fits(record)
        {
            return shape.clone();
        }
        let shape = self.writer.shape(record);
        if let Some(arguments) = &self.arguments {
            let fields: Vec<Field> = shape
                .columns
                .iter()
                .map(|c| Field {
                    name: c.name.clone(),
                    generated: c.generated,
                })
                .collect();
            let plans = or_raise(plan::row(arguments.preset, &arguments.options, &fields));
            let mut form = |field: usize| self.writer.form(shape.columns[field].type_id);
            let column = |plan: ColumnPlan| Column {
                form: form(plan.field),
                title: plan.title.map(&mut form),
                plan,
            };
            self.columns = plans.into_iter().map(column).collect();
        }
        self.shape.insert(shape).clone()
    }
}

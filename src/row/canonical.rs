//! Values of every type as text that no setting and no catalog change alters.
//!
//! Types whose output functions obey settings (dates, floats, bytea, money) or read the catalog
//! (enum labels, reg* names, role names) are written from their stored bits, also as
//! elements of arrays, rows and ranges. All other built-in types have one output form. Types of
//! extensions are written by their output functions under fixed settings.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys::{self, Oid};

use crate::errors::or_raise;
use simhash_fingerprint::scalar;
use simhash_pg::process::backend::{check_for_interrupts, check_stack_depth};
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::memory::{MemoryContext, or_out_of_memory, owned};
use simhash_pg::sql::record::{Record, Shape};
use simhash_pg::sql::type_output::{Output, PinnedSettings, Structure, is_built_in, resolve};
use simhash_pg::sql::value::Value;

/// Bytes of canonical text that a call site keeps room for.
const KEPT_BYTES: usize = 1 << 20;
/// Maximum length of a number, date, time or interval, in bytes.
const LONGEST_NUMBER: usize = 128;

/// Form in which values of a type are written.
pub enum ValueForm {
    /// Stored as the text that it shows.
    Text,
    /// char(n): the spaces at its end are padding.
    PaddedText,
    /// Text as the output function writes it.
    TextOutput(Output),
    Scalar(Scalar),
    /// A tsvector: lexemes with weights, unless the caller needs it as a whole.
    Lexemes(Output),
    Array,
    Record,
    Range,
    Multirange,
}

/// A value that is neither a container nor a text.
pub enum Scalar {
    Integer,
    Oid,
    Float4,
    Float8,
    Numeric(Output),
    Date,
    Timestamp,
    Time,
    TimeWithZone,
    Interval,
    Bytes,
    Char,
    /// Nothing but float8s (points, boxes, ...), after `header` bytes.
    Floats {
        header: usize,
    },
    Path,
    Output(Output),
    PinnedOutput(Output),
}

/// Returns whether a type is one of strings, or a domain over one.
pub fn is_string_type(type_id: Oid) -> bool {
    match resolve(type_id) {
        (base, Structure::Base { category }) => match base {
            pg_sys::UNKNOWNOID => true,
            pg_sys::CHAROID => false,
            _ => category == pg_sys::TYPCATEGORY_STRING,
        },
        _ => false,
    }
}

impl ValueForm {
    /// Returns whether it is natural text, to be cut into words.
    pub fn is_text(&self) -> bool {
        matches!(
            self,
            ValueForm::Text | ValueForm::PaddedText | ValueForm::TextOutput(_)
        )
    }

    fn for_type(type_id: Oid, memory: MemoryContext) -> Self {
        let (base, structure) = resolve(type_id);
        match structure {
            Structure::Enum => ValueForm::Scalar(Scalar::Oid),
            Structure::Array => ValueForm::Array,
            Structure::Record => ValueForm::Record,
            Structure::Range => ValueForm::Range,
            Structure::Multirange => ValueForm::Multirange,
            Structure::Base { category } => ValueForm::for_base_type(base, category, memory),
        }
    }

    fn for_base_type(base: Oid, category: u8, memory: MemoryContext) -> Self {
        match base {
            pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::JSONOID => return ValueForm::Text,
            pg_sys::BPCHAROID => return ValueForm::PaddedText,
            pg_sys::XMLOID | pg_sys::JSONBOID | pg_sys::UNKNOWNOID => {
                return ValueForm::TextOutput(Output::for_type(base, memory));
            }
            pg_sys::TSVECTOROID => return ValueForm::Lexemes(Output::for_type(base, memory)),
            // "char" is a string type until version 14.
            pg_sys::CHAROID => return ValueForm::Scalar(Scalar::Char),
            _ if category == pg_sys::TYPCATEGORY_STRING => {
                return ValueForm::TextOutput(Output::for_type(base, memory));
            }
            _ => {}
        }
        ValueForm::Scalar(match base {
            pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID | pg_sys::MONEYOID => {
                Scalar::Integer
            }
            pg_sys::OIDOID
            | pg_sys::REGPROCOID
            | pg_sys::REGPROCEDUREOID
            | pg_sys::REGOPEROID
            | pg_sys::REGOPERATOROID
            | pg_sys::REGCLASSOID
            | pg_sys::REGCOLLATIONOID
            | pg_sys::REGTYPEOID
            | pg_sys::REGROLEOID
            | pg_sys::REGNAMESPACEOID
            | pg_sys::REGCONFIGOID
            | pg_sys::REGDICTIONARYOID => Scalar::Oid,
            pg_sys::FLOAT4OID => Scalar::Float4,
            pg_sys::FLOAT8OID => Scalar::Float8,
            pg_sys::NUMERICOID => Scalar::Numeric(Output::for_type(base, memory)),
            pg_sys::DATEOID => Scalar::Date,
            pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => Scalar::Timestamp,
            pg_sys::TIMEOID => Scalar::Time,
            pg_sys::TIMETZOID => Scalar::TimeWithZone,
            pg_sys::INTERVALOID => Scalar::Interval,
            // An ACL entry shows role names, the others write bytea.
            pg_sys::BYTEAOID
            | pg_sys::ACLITEMOID
            | pg_sys::PG_MCV_LISTOID
            | pg_sys::PG_BRIN_BLOOM_SUMMARYOID
            | pg_sys::PG_BRIN_MINMAX_MULTI_SUMMARYOID => Scalar::Bytes,
            pg_sys::POINTOID
            | pg_sys::LSEGOID
            | pg_sys::BOXOID
            | pg_sys::LINEOID
            | pg_sys::CIRCLEOID => Scalar::Floats { header: 0 },
            // Number of points and bounding box come first.
            pg_sys::POLYGONOID => Scalar::Floats { header: 4 + 4 * 8 },
            pg_sys::PATHOID => Scalar::Path,
            _ if is_built_in(base) => Scalar::Output(Output::for_type(base, memory)),
            _ => Scalar::PinnedOutput(Output::for_type(base, memory)),
        })
    }
}

/// Writes values; remembers what it learnt of their types.
pub struct Writer {
    memory: MemoryContext,
    forms: HashMap<Oid, Rc<ValueForm>>,
    shapes: HashMap<(Oid, i32), Rc<Shape>>,
}

impl Writer {
    pub fn new(memory: MemoryContext) -> Self {
        Self {
            memory,
            forms: HashMap::new(),
            shapes: HashMap::new(),
        }
    }

    /// Returns how values of the type are written.
    pub fn form(&mut self, type_id: Oid) -> Rc<ValueForm> {
        let memory = self.memory;
        self.forms
            .entry(type_id)
            .or_insert_with(|| Rc::new(ValueForm::for_type(type_id, memory)))
            .clone()
    }

    /// Returns the columns of a row, as the catalog is now.
    pub fn shape(&mut self, record: &Record<'_>) -> Rc<Shape> {
        let key = record.row_type();
        if let Some(shape) = self.shapes.get(&key)
            && shape.fits(record)
        {
            return shape.clone();
        }
        let shape = Rc::new(Shape::for_record(record, self.memory));
        self.shapes.insert(key, shape.clone());
        shape
    }

    /// Appends the value's canonical text.
    pub fn write(&mut self, out: &mut String, form: &ValueForm, value: Value<'_>) {
        match form {
            ValueForm::Text | ValueForm::PaddedText | ValueForm::TextOutput(_) => {
                push(out, &text(form, value));
            }
            ValueForm::Scalar(kind) => write_scalar(out, kind, value),
            ValueForm::Lexemes(output) => output.text(value, |text| push(out, &to_utf8(text))),
            ValueForm::Array => self.array(out, value),
            ValueForm::Record => self.record(out, value),
            ValueForm::Range => self.range(out, value),
            ValueForm::Multirange => {
                push(out, "{");
                for range in value.multirange() {
                    check_for_interrupts();
                    self.nested(out, &ValueForm::Range, range);
                }
                push(out, "}");
            }
        }
    }

    /// Returns the value's text, in `scratch` unless it is text already.
    pub fn whole<'a>(
        &mut self,
        form: &ValueForm,
        value: Value<'a>,
        scratch: &'a mut String,
    ) -> Cow<'a, str> {
        if form.is_text() {
            return text(form, value);
        }
        if scratch.capacity() > KEPT_BYTES {
            *scratch = String::new();
        }
        scratch.clear();
        self.write(scratch, form, value);
        Cow::Borrowed(scratch)
    }

    /// Writes a value inside a container. A value that is not a container itself stands in quotes, so
    /// that different contents never give the same text.
    fn nested(&mut self, out: &mut String, form: &ValueForm, value: Value<'_>) {
        match form {
            ValueForm::Text
            | ValueForm::PaddedText
            | ValueForm::TextOutput(_)
            | ValueForm::Scalar(_)
            | ValueForm::Lexemes(_) => {
                let mut inner = String::new();
                self.write(&mut inner, form, value);
                or_raise(scalar::quoted(out, &inner, &mut check_for_interrupts));
            }
            _ => {
                check_stack_depth();
                self.write(out, form, value);
            }
        }
    }

    fn array(&mut self, out: &mut String, value: Value<'_>) {
        let array = value.array();
        let form = self.form(array.element);
        // An array of one dimension from 1 on needs no bounds.
        if array.dims.len() != 1 || array.dims[0].1 != 1 {
            for (size, lower) in &array.dims {
                push(out, &format!("[{lower}+{size}]"));
            }
        }
        push(out, "{");
        for (i, item) in array.items.iter().enumerate() {
            check_for_interrupts();
            if i > 0 {
                push(out, ",");
            }
            match item {
                Some(item) => self.nested(out, &form, *item),
                None => push(out, "NULL"),
            }
        }
        push(out, "}");
    }

    fn record(&mut self, out: &mut String, value: Value<'_>) {
        let record = Record::open(value);
        let shape = self.shape(&record);
        push(out, "(");
        for (i, (column, field)) in shape.columns.iter().zip(shape.values(&record)).enumerate() {
            if i > 0 {
                push(out, ",");
            }
            if let Some(field) = field {
                let form = self.form(column.type_id);
                self.nested(out, &form, field);
            }
        }
        push(out, ")");
    }

    fn range(&mut self, out: &mut String, value: Value<'_>) {
        let Some(range) = value.range() else {
            push(out, "empty");
            return;
        };
        push(out, if range.lower_inclusive { "[" } else { "(" });
        for (i, bound) in [range.lower, range.upper].into_iter().enumerate() {
            if i > 0 {
                push(out, ",");
            }
            if let Some(bound) = bound {
                let form = self.form(bound.type_id());
                self.nested(out, &form, bound);
            }
        }
        push(out, if range.upper_inclusive { "]" } else { ")" });
    }
}

/// Appends text of any length.
fn push(out: &mut String, text: &str) {
    or_out_of_memory(out.try_reserve(text.len()));
    out.push_str(text);
}

/// Adds a text to others, on a line of its own.
pub fn append_line(out: &mut String, text: &str) {
    if !out.is_empty() {
        push(out, "\n");
    }
    push(out, text);
}

/// Returns the text of a value whose form is text.
pub fn text<'a>(form: &ValueForm, value: Value<'a>) -> Cow<'a, str> {
    match form {
        ValueForm::TextOutput(output) => {
            output.text(value, |text| Cow::Owned(owned(&to_utf8(text))))
        }
        ValueForm::PaddedText => to_utf8(without_padding(value.bytes())),
        _ => to_utf8(value.bytes()),
    }
}

fn without_padding(bytes: &[u8]) -> &[u8] {
    let length = bytes
        .iter()
        .rposition(|&byte| byte != b' ')
        .map_or(0, |last| last + 1);
    &bytes[..length]
}

fn write_scalar(out: &mut String, kind: &Scalar, value: Value<'_>) {
    or_out_of_memory(out.try_reserve(LONGEST_NUMBER));
    match kind {
        Scalar::Integer => out.push_str(&value.integer().to_string()),
        Scalar::Oid => out.push_str(&value.oid().to_string()),
        Scalar::Float4 => scalar::float(out, f32::from_bits(value.integer() as u32)),
        Scalar::Float8 => scalar::float(out, f64::from_bits(value.integer() as u64)),
        Scalar::Numeric(output) => {
            output.text(value, |text| push(out, scalar::numeric(&to_utf8(text))));
        }
        Scalar::Date => scalar::date(out, value.integer() as i32),
        Scalar::Timestamp => scalar::timestamp(out, value.integer()),
        Scalar::Time => scalar::time(out, value.integer()),
        Scalar::TimeWithZone => {
            let bytes = value.bytes();
            scalar::time_with_zone(out, int8(bytes, 0), int4(bytes, 8));
        }
        Scalar::Interval => {
            let bytes = value.bytes();
            scalar::interval(out, int8(bytes, 0), int4(bytes, 8), int4(bytes, 12));
        }
        Scalar::Bytes => {
            or_raise(scalar::bytes(out, value.bytes(), &mut check_for_interrupts));
        }
        Scalar::Char => match value.integer() as u8 {
            byte @ b'!'..=b'~' => out.push(char::from(byte)),
            byte => out.push_str(&format!("\\{byte:03o}")),
        },
        Scalar::Floats { header } => floats(out, &value.bytes()[*header..]),
        Scalar::Path => {
            // Number of points, whether it is closed, and an unused word come first.
            let bytes = value.bytes();
            out.push_str(if int4(bytes, 4) != 0 {
                "closed "
            } else {
                "open "
            });
            floats(out, &bytes[12..]);
        }
        Scalar::Output(output) => output.text(value, |text| push(out, &to_utf8(text))),
        Scalar::PinnedOutput(output) => {
            let _settings = PinnedSettings::new();
            output.text(value, |text| push(out, &to_utf8(text)));
        }
    }
}

fn floats(out: &mut String, bytes: &[u8]) {
    for (i, float) in bytes.as_chunks::<8>().0.iter().enumerate() {
        check_for_interrupts();
        if i > 0 {
            push(out, ",");
        }
        or_out_of_memory(out.try_reserve(LONGEST_NUMBER));
        scalar::float(out, f64::from_ne_bytes(*float));
    }
}

fn int8(bytes: &[u8], at: usize) -> i64 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |b| i64::from_ne_bytes(*b))
}

fn int4(bytes: &[u8], at: usize) -> i32 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |b| i32::from_ne_bytes(*b))
}

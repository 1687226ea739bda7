//! Storage parameters of our indexes: CREATE INDEX ... WITH (fillfactor = ...).

use crate::catalog::relation::Rel;
use crate::process::compat;
use crate::process::error::Error;
use crate::sql::value::{Storage, Value};
use pgrx::PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
use pgrx::pg_sys;
use std::sync::OnceLock;

/// The parsed options, as the server stores them in the relation cache.
#[repr(C)]
struct Options {
    length: i32,
    fillfactor: i32,
}

/// The default fill factor: how full a build makes leaves, in percent.
const FILLFACTOR: i32 = 90;

/// The kind of options registered with the server.
static KIND: OnceLock<pg_sys::relopt_kind::Type> = OnceLock::new();

/// Registers the options; called once, when the library is loaded.
#[inline]
pub fn register() {
    KIND.get_or_init(|| {
        // SAFETY: called while the library is loaded; the server copies the strings.
        unsafe {
            let kind = pg_sys::add_reloption_kind();
            pg_sys::add_int_reloption(
                kind,
                c"fillfactor".as_ptr(),
                c"How full the leaves of a new index are, in percent.".as_ptr(),
                FILLFACTOR,
                10,
                100,
                pg_sys::ShareUpdateExclusiveLock as pg_sys::LOCKMODE,
            );
            kind
        }
    });
}

/// Parses the text array of options (amoptions).
#[inline]
pub fn parse(text: pg_sys::Datum, validate: bool) -> *mut pg_sys::bytea {
    if validate && !text.is_null() {
        // SAFETY: the server passes an array of texts, which lives as long as the call.
        let options = unsafe { Value::new(text, Storage::for_type(pg_sys::TEXTARRAYOID)) };
        let options = options.array().items.into_iter().flatten();
        options.for_each(|option| refuse_unknown(&option.to_text()));
    }
    let element = compat::int_option(c"fillfactor", std::mem::offset_of!(Options, fillfactor));
    let kind = KIND.get().copied().unwrap_or_default();
    // SAFETY: the element describes the field of the struct whose size is passed.
    unsafe {
        pg_sys::build_reloptions(text, validate, kind, size_of::<Options>(), &element, 1).cast()
    }
}

/// The fill factor of an index, in percent.
#[inline]
pub fn fillfactor(index: Rel) -> u32 {
    // SAFETY: `parse` is our amoptions, so the parsed options are this struct.
    let options = unsafe { index.options::<Options>() };
    options.map_or(FILLFACTOR, |o| o.fillfactor) as u32
}

/// Refuses `name=value` of another name than ours; the server would not say where presets and weights go.
fn refuse_unknown(option: &str) {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    if name == "fillfactor" {
        return;
    }
    let value = value.replace('\'', "''");
    let hint = match name {
        "preset" => format!("USING simhash (simhash64(body, preset => '{value}'))"),
        "weights" => format!("USING simhash (simhash64(ROW(title, body), '{value}'))"),
        _ => "USING simhash (simhash64(body, preset => 'shingles'))".to_owned(),
    };
    Error::new(
        ERRCODE_INVALID_PARAMETER_VALUE,
        format!("unrecognized parameter \"{name}\""),
    )
    .hint(format!(
        "An index has \"fillfactor\" alone. A preset and weights stand in an expression: {hint}. The \
         radius and the check belong to queries and triggers."
    ))
    .raise();
}

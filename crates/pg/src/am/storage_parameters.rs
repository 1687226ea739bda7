//! Storage parameters of our indexes: CREATE INDEX ... WITH (fillfactor = ...).

use crate::catalog::relation::Rel;
use crate::process::compat;
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

//! Types: what they are, and their output functions.

use std::cell::{Cell, UnsafeCell};
use std::ffi::CStr;

use pgrx::pg_sys;

use super::value::Value;
use crate::process::memory::MemoryContext;

/// The kind of a type; for a domain, the kind of its base type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Structure {
    /// A base type, or a pseudo-type.
    Base {
        /// pg_type.typcategory.
        category: u8,
    },
    /// CREATE TYPE ... AS ENUM.
    Enum,
    /// An array, of whatever dimensions.
    Array,
    /// A composite type, or an anonymous row.
    Record,
    /// A range type.
    Range,
    /// A multirange type.
    Multirange,
}

/// The type below a domain, or the type itself, and its structure.
pub fn resolve(type_id: pg_sys::Oid) -> (pg_sys::Oid, Structure) {
    // SAFETY: catalog look-ups by OID; `category` and `preferred` are live.
    unsafe {
        let base = pg_sys::getBaseType(type_id);
        let structure = match pg_sys::get_typtype(base) as u8 {
            pg_sys::TYPTYPE_ENUM => Structure::Enum,
            pg_sys::TYPTYPE_COMPOSITE => Structure::Record,
            pg_sys::TYPTYPE_RANGE => Structure::Range,
            pg_sys::TYPTYPE_MULTIRANGE => Structure::Multirange,
            _ if base == pg_sys::RECORDOID => Structure::Record,
            // anyarray is the type of columns of pg_statistic.
            _ if base == pg_sys::ANYARRAYOID => Structure::Array,
            _ if pg_sys::get_element_type(base) != pg_sys::InvalidOid => Structure::Array,
            _ => {
                let (mut category, mut preferred) = (0, false);
                pg_sys::get_type_category_preferred(base, &mut category, &mut preferred);
                Structure::Base {
                    category: category as u8,
                }
            }
        };
        (base, structure)
    }
}

/// Returns whether the type is built into the server.
pub fn is_built_in(type_id: pg_sys::Oid) -> bool {
    type_id.to_u32() < pg_sys::FirstNormalObjectId
}

/// The output function of a type.
pub struct Output {
    // The server keeps state in it while it is called.
    info: UnsafeCell<pg_sys::FmgrInfo>,
    type_id: pg_sys::Oid,
    /// The type of the last value: the type itself, or a domain over it.
    accepted: Cell<pg_sys::Oid>,
}

impl Output {
    /// Looks the function up. `memory` must live as long as the result.
    pub fn for_type(type_id: pg_sys::Oid, memory: MemoryContext) -> Self {
        let mut function = pg_sys::InvalidOid;
        let mut varlena = false;
        let mut info = pg_sys::FmgrInfo::default();
        // SAFETY: the pointers are live; the function's state goes into memory that outlives it.
        unsafe {
            pg_sys::getTypeOutputInfo(type_id, &mut function, &mut varlena);
            pg_sys::fmgr_info_cxt(function, &mut info, memory.raw());
        }
        Self {
            info: UnsafeCell::new(info),
            type_id,
            accepted: Cell::new(type_id),
        }
    }

    /// Calls `f` with the value's text, in the database's encoding. An ERROR when the value is of
    /// another type.
    pub fn text<R>(&self, value: Value<'_>, f: impl FnOnce(&[u8]) -> R) -> R {
        if value.type_id() != self.accepted.get() {
            value.require_type(self.type_id);
            self.accepted.set(value.type_id());
        }
        // SAFETY: the value is of the function's type, or of a domain over it; the result is a
        // zero-terminated string that we must free.
        unsafe {
            let text = pg_sys::OutputFunctionCall(self.info.get(), value.datum());
            let result = f(CStr::from_ptr(text).to_bytes());
            pg_sys::pfree(text.cast());
            result
        }
    }
}

/// Gives the settings on which output functions depend fixed values, until it is dropped.
pub struct PinnedSettings(i32);

const PINNED: [(&CStr, &CStr); 5] = [
    (c"DateStyle", c"ISO"),
    (c"IntervalStyle", c"postgres"),
    (c"TimeZone", c"UTC"),
    (c"extra_float_digits", c"3"),
    (c"bytea_output", c"hex"),
];

impl PinnedSettings {
    /// Sets them for this process, below whatever the session has set.
    pub fn new() -> Self {
        // SAFETY: a nest level of settings, undone in `drop` or by the end of the transaction; SAVE
        // is allowed in parallel workers too.
        unsafe {
            let level = pg_sys::NewGUCNestLevel();
            for (name, value) in PINNED {
                pg_sys::set_config_option(
                    name.as_ptr(),
                    value.as_ptr(),
                    pg_sys::GucContext::PGC_USERSET,
                    pg_sys::GucSource::PGC_S_SESSION,
                    pg_sys::GucAction::GUC_ACTION_SAVE,
                    true,
                    0,
                    false,
                );
            }
            Self(level)
        }
    }
}

impl Drop for PinnedSettings {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: closes the level that `new` opened; levels nest as Rust scopes do.
            unsafe { pg_sys::AtEOXact_GUC(true, self.0) };
        }
    }
}

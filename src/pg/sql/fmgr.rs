//! SQL-callable functions without the overhead, and without the schema generator, of `#[pg_extern]`.
//!
//! The SQL declarations are written by hand in `sql/`; [`pg_function!`] exports a version-1 function
//! of the same name. The getters of [`Args`] trust those declarations: they are the type check.

use pgrx::pg_sys;

/// The arguments of one call of a SQL function.
pub struct Args {
    fcinfo: pg_sys::FunctionCallInfo,
}

impl Args {
    /// # Safety
    /// `fcinfo` must be the live call info of the running function, whose SQL declaration gives the
    /// arguments the types under which the getters are called.
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        Self { fcinfo }
    }

    /// The raw call info, for set-returning functions and `fn_extra` caches in this module.
    pub fn fcinfo(&self) -> pg_sys::FunctionCallInfo {
        self.fcinfo
    }

    /// The running function.
    pub fn function(&self) -> pg_sys::Oid {
        // SAFETY: `flinfo` is set in every call through fmgr.
        unsafe { (*(*self.fcinfo).flinfo).fn_oid }
    }

    /// Argument `i`, or None when it is NULL (or was not passed).
    pub fn datum(&self, i: usize) -> Option<pg_sys::Datum> {
        // SAFETY: the call info is live and has `nargs` arguments (contract of `new`).
        unsafe {
            let nargs = (*self.fcinfo).nargs as usize;
            if i >= nargs {
                return None;
            }
            let arg = (*self.fcinfo).args.as_slice(nargs)[i];
            (!arg.isnull).then_some(arg.value)
        }
    }

    /// Argument `i` read as a by-value or by-reference Rust type that pgrx knows.
    pub fn get<T: pgrx::FromDatum>(&self, i: usize) -> Option<T> {
        // SAFETY: the SQL declaration gives argument `i` the type T (contract of `new`).
        self.datum(i)
            .and_then(|d| unsafe { T::from_datum(d, false) })
    }

    /// Argument `i` of type name, or None when it is NULL.
    pub fn name(&self, i: usize) -> Option<String> {
        // SAFETY: the SQL declaration gives the argument the type name, which is zero-terminated.
        let bytes = |datum: pg_sys::Datum| unsafe {
            std::ffi::CStr::from_ptr(datum.cast_mut_ptr()).to_bytes()
        };
        self.datum(i)
            .map(|datum| crate::pg::process::encoding::to_utf8(bytes(datum)).into_owned())
    }

    /// The type of argument `i` at this place of the query, for polymorphic functions.
    pub fn type_of(&self, i: usize) -> pg_sys::Oid {
        // SAFETY: `flinfo` is set in every call that the executor makes.
        unsafe { pg_sys::get_fn_expr_argtype((*self.fcinfo).flinfo, i as i32) }
    }

    /// Argument `i` of a STRICT function, as the bits of a by-value datum: sign-extended integers.
    #[inline]
    pub fn by_value(&self, i: usize) -> u64 {
        // SAFETY: the call info is live and sql/ declares more than `i` arguments.
        unsafe { (*self.fcinfo).args.as_slice(i + 1)[i].value.value() as u64 }
    }

    /// Argument `i` as a pointer, for `internal` and by-reference types.
    pub fn pointer<T>(&self, i: usize) -> *mut T {
        self.datum(i)
            .map_or(std::ptr::null_mut(), |d| d.cast_mut_ptr())
    }

    /// Marks the result as SQL NULL and returns the placeholder value.
    pub fn null(&self) -> pg_sys::Datum {
        // SAFETY: the call info is live (contract of `new`).
        unsafe { (*self.fcinfo).isnull = true };
        pg_sys::Datum::from(0usize)
    }

    /// Converts a result; None becomes SQL NULL.
    pub fn result<T: pgrx::IntoDatum>(&self, value: Option<T>) -> pg_sys::Datum {
        value
            .and_then(pgrx::IntoDatum::into_datum)
            .unwrap_or_else(|| self.null())
    }
}

/// A fixed-length by-reference value, copied to the current memory context.
pub fn by_reference<T: Copy>(value: T) -> pg_sys::Datum {
    // SAFETY: palloc returns MAXALIGNed memory of the asked size, or raises an ERROR.
    unsafe {
        let place = pg_sys::palloc(size_of::<T>()).cast::<T>();
        place.write(value);
        pg_sys::Datum::from(place)
    }
}

/// Exports a version-1 SQL function: `pg_function! { fn name, pg_finfo_name (args) { body } }`, with
/// `args: &Args` and a body that yields a Datum. A Rust panic or a PostgreSQL error inside the body
/// leaves as an ERROR.
macro_rules! pg_function {
    ($(#[$meta:meta])* fn $name:ident, $finfo:ident ($args:ident) $body:block) => {
        $(#[$meta])*
        #[unsafe(no_mangle)]
        #[::pgrx::pg_guard]
        pub unsafe extern "C-unwind" fn $name(
            fcinfo: ::pgrx::pg_sys::FunctionCallInfo,
        ) -> ::pgrx::pg_sys::Datum {
            fn body($args: &$crate::pg::sql::fmgr::Args) -> ::pgrx::pg_sys::Datum $body
            // SAFETY: the server passes the live call info; sql/ declares the argument types.
            let args = unsafe { $crate::pg::sql::fmgr::Args::new(fcinfo) };
            body(&args)
        }
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $finfo() -> *const ::pgrx::pg_sys::Pg_finfo_record {
            static V1: ::pgrx::pg_sys::Pg_finfo_record =
                ::pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
            &V1
        }
    };
}
pub(crate) use pg_function;

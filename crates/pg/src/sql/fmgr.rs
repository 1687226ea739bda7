//! SQL-callable functions without the overhead, and without the schema generator, of
//! `#[pg_extern]`.
//!
//! The SQL declarations are written by hand in `sql/`; [`pg_function!`] exports a version-1
//! function of the same name. The getters of [`Args`], and its makers of results, rely on those
//! declarations, as every C function does. A symbol keeps its declaration for ever, so that a new
//! library serves an old script (`pg_test/t/058_promised.pl`). [`with`] keeps what a function remembers from one
//! call to the next at the same place in a query; [`MessageReader`] reads what receive functions get.

use crate::catalog::lookup::argument_position;
pub use crate::pg_function;
use crate::process::compat;
use crate::process::encoding::{name_from_utf8, name_to_utf8};
use crate::process::error::Error;
use crate::process::memory::MemoryContext;
use pgrx::PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
use pgrx::{FromDatum, IntoDatum, pg_sys};
use std::any::TypeId;
use std::ffi::CStr;
use std::marker::PhantomData;

/// A Rust type that an argument is read as, and the type that SQL must declare for it: one that is
/// passed by value.
pub trait ByValue: FromDatum {
    /// pg_type.oid of that type.
    const TYPE: pg_sys::Oid;
    /// pg_type.typalign of that type.
    const ALIGN: u8;
}

macro_rules! by_value {
    ($($rust:ty: $sql:ident, $align:literal);*) => {
        $(impl ByValue for $rust {
            const TYPE: pg_sys::Oid = pg_sys::$sql;
            const ALIGN: u8 = $align;
        })*
    };
}
by_value!(bool: BOOLOID, b'c'; i16: INT2OID, b's'; i32: INT4OID, b'i'; i64: INT8OID, b'd');
by_value!(f64: FLOAT8OID, b'd'; pg_sys::Oid: REGCLASSOID, b'i');

/// A Rust type that a result is made from, and the type that SQL must declare for it.
pub trait Returned {
    /// pg_type.oid of that type.
    const TYPE: pg_sys::Oid;
    /// The datum, in the current memory context.
    fn into_result(self) -> Option<pg_sys::Datum>;
}

impl<T: ByValue + IntoDatum> Returned for T {
    const TYPE: pg_sys::Oid = <T as ByValue>::TYPE;

    fn into_result(self) -> Option<pg_sys::Datum> {
        self.into_datum()
    }
}

macro_rules! returned {
    ($($rust:ty: $sql:ident);*) => {
        $(impl Returned for $rust {
            const TYPE: pg_sys::Oid = pg_sys::$sql;

            fn into_result(self) -> Option<pg_sys::Datum> {
                self.into_datum()
            }
        })*
    };
}
returned!(&CStr: CSTRINGOID);

impl Returned for String {
    const TYPE: pg_sys::Oid = pg_sys::TEXTOID;

    fn into_result(self) -> Option<pg_sys::Datum> {
        // bytea and text are stored alike.
        name_from_utf8(&self).as_ref().into_datum()
    }
}

/// The arguments of one call of a SQL function.
pub struct Args {
    fcinfo: pg_sys::FunctionCallInfo,
}

impl Args {
    /// # Safety
    /// `fcinfo` must be the live call info of the running function, called through fmgr.
    #[inline]
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        Self { fcinfo }
    }

    /// The raw call info, for the wrappers of this module.
    #[inline]
    pub(crate) fn fcinfo(&self) -> pg_sys::FunctionCallInfo {
        self.fcinfo
    }

    /// The running function.
    #[inline]
    pub fn function(&self) -> pg_sys::Oid {
        // SAFETY: `flinfo` is set in every call through fmgr.
        unsafe { (*(*self.fcinfo).flinfo).fn_oid }
    }

    /// Where the argument of this name stands; None if the script declares none.
    pub fn find(&self, name: &str) -> Option<usize> {
        argument_position(self.function(), name)
    }

    /// Where the argument of this name stands. An ERROR if the script declares none.
    pub fn at(&self, name: &str) -> usize {
        self.find(name).unwrap_or_else(|| {
            let message = format!("the function has no argument \"{name}\"");
            Error::new(ERRCODE_INTERNAL_ERROR, message).raise()
        })
    }

    /// Arguments that the caller passes, which may be more than SQL declares.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.all().len()
    }

    /// Argument `i`, or None when it is NULL.
    #[inline]
    pub(crate) fn datum(&self, i: usize) -> Option<pg_sys::Datum> {
        let arg = self.all()[i];
        (!arg.isnull).then_some(arg.value)
    }

    fn all(&self) -> &[pg_sys::NullableDatum] {
        // SAFETY: the call info is live and has `nargs` arguments (contract of `new`).
        unsafe {
            let count = (*self.fcinfo).nargs as usize;
            (*self.fcinfo).args.as_slice(count)
        }
    }

    /// Argument `i` of a type that is passed by value, or None when it is NULL.
    #[inline]
    pub fn get<T: ByValue>(&self, i: usize) -> Option<T> {
        // SAFETY: the argument is declared with the type that is read as T.
        self.datum(i)
            .and_then(|datum| unsafe { T::from_datum(datum, false) })
    }

    /// Argument `i` of type name, or None when it is NULL.
    #[inline]
    pub fn name(&self, i: usize) -> Option<String> {
        let datum = self.datum(i)?;
        // SAFETY: a name is zero-terminated.
        let name = unsafe { CStr::from_ptr(datum.cast_mut_ptr()) };
        Some(name_to_utf8(name.to_bytes()).into_owned())
    }

    /// Argument `i` of type cstring, or None when it is NULL.
    #[inline]
    pub fn c_string(&self, i: usize) -> Option<&CStr> {
        let datum = self.datum(i)?;
        // SAFETY: a zero-terminated string that lives as long as the call.
        Some(unsafe { CStr::from_ptr(datum.cast_mut_ptr()) })
    }

    /// Argument `i` of a type of N bytes that is passed by reference, or None when it is NULL.
    #[inline]
    pub fn fixed<const N: usize>(&self, i: usize) -> Option<[u8; N]> {
        let datum = self.datum(i)?;
        // SAFETY: the datum points to a value of that many bytes.
        Some(unsafe { datum.cast_mut_ptr::<[u8; N]>().read() })
    }

    /// Argument `i` of type internal, or null. Only the server's own code can pass one.
    #[inline]
    pub fn internal<T>(&self, i: usize) -> *mut T {
        self.datum(i)
            .map_or(std::ptr::null_mut(), |datum| datum.cast_mut_ptr())
    }

    /// The type of argument `i` at this place in the query, for polymorphic functions.
    #[inline]
    pub fn type_of(&self, i: usize) -> pg_sys::Oid {
        // SAFETY: `flinfo` is set in every call that the executor makes.
        unsafe { pg_sys::get_fn_expr_argtype((*self.fcinfo).flinfo, i as i32) }
    }

    /// Whether argument `i` is a constant of the query: then it is the same in every call at this place.
    pub fn is_constant(&self, i: usize) -> bool {
        // SAFETY: `flinfo` is set in every call through fmgr; the node that it may bear lives as long, and a
        // call of a function by its name is a FuncExpr with a list of nodes.
        unsafe {
            let call = (*(*self.fcinfo).flinfo).fn_expr;
            if call.is_null() || (*call).type_ != pg_sys::NodeTag::T_FuncExpr {
                return false;
            }
            let arguments = (*call.cast::<pg_sys::FuncExpr>()).args;
            if i >= pg_sys::list_length(arguments) as usize {
                return false;
            }
            let node = pg_sys::list_nth(arguments, i as i32).cast::<pg_sys::Node>();
            (*node).type_ == pg_sys::NodeTag::T_Const
        }
    }

    /// The bits of argument `i` of a STRICT function, of a type that is passed by value; integers
    /// are sign-extended.
    #[inline]
    pub fn by_value(&self, i: usize) -> u64 {
        self.all()[i].value.value() as u64
    }

    /// Marks the result as SQL NULL and returns the placeholder value.
    #[inline]
    pub fn null(&self) -> pg_sys::Datum {
        // SAFETY: the call info is live (contract of `new`).
        unsafe { (*self.fcinfo).isnull = true };
        pg_sys::Datum::from(0usize)
    }

    /// Converts a result; None becomes SQL NULL.
    #[inline]
    pub fn result<T: Returned>(&self, value: Option<T>) -> pg_sys::Datum {
        value
            .and_then(Returned::into_result)
            .unwrap_or_else(|| self.null())
    }

    /// A result of a type of fixed length that is passed by reference, copied to the current memory
    /// context.
    #[inline]
    pub fn fixed_result<T: Copy>(&self, value: T) -> pg_sys::Datum {
        // SAFETY: palloc returns MAXALIGNed memory of the asked size, or raises an ERROR.
        unsafe {
            let place = pg_sys::palloc(size_of::<T>()).cast::<T>();
            place.write(value);
            pg_sys::Datum::from(place)
        }
    }

    /// A result of type index_am_handler.
    #[inline]
    pub fn routine(&self, routine: &'static pg_sys::IndexAmRoutine) -> pg_sys::Datum {
        pg_sys::Datum::from(compat::routine_for_server(routine))
    }
}

/// Exports a function `name(args: &Args) -> Datum` as a version-1 SQL function of that name, whose symbol is
/// `name::symbol`. A Rust panic or a PostgreSQL error inside of it leaves as an ERROR. Exporting a symbol counts
/// as unsafe code.
#[macro_export]
macro_rules! pg_function {
    ($name:ident) => {
        #[allow(unsafe_code)]
        pub(crate) mod $name {
            #[unsafe(export_name = stringify!($name))]
            #[::pgrx::pg_guard]
            pub(crate) unsafe extern "C-unwind" fn symbol(
                fcinfo: ::pgrx::pg_sys::FunctionCallInfo,
            ) -> ::pgrx::pg_sys::Datum {
                // SAFETY: fmgr passes the live call info.
                let args = unsafe { $crate::sql::fmgr::Args::new(fcinfo) };
                super::$name(&args)
            }
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($name)))]
            extern "C" fn info() -> *const ::pgrx::pg_sys::Pg_finfo_record {
                static V1: ::pgrx::pg_sys::Pg_finfo_record =
                    ::pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &V1
            }
        }
    };
}

/// Calls `f` with the state of the call site, which `new` makes at the first call, in memory that
/// lives as long. An ERROR in `f`
/// discards the state, so `f` need not keep it consistent when it fails.
///
/// An ERROR when the SQL function has used another `T` before.
#[inline]
pub fn with<T: 'static, R>(
    args: &Args,
    new: impl FnOnce(MemoryContext) -> T,
    f: impl FnOnce(&mut T) -> R,
) -> R {
    // SAFETY: `flinfo` is set in every call that the executor makes, and lives in `fn_mcxt`.
    let info = unsafe { &mut *(*args.fcinfo()).flinfo };
    let mut state =
        std::mem::replace(&mut info.fn_extra, std::ptr::null_mut()).cast::<CallSiteState<T>>();
    if state.is_null() {
        // SAFETY: the context lives as long as the call site.
        let memory = unsafe { MemoryContext::from_raw(info.fn_mcxt) };
        let (kind, value) = (TypeId::of::<T>(), new(memory));
        state = memory.keep(CallSiteState { kind, value });
    }
    // SAFETY: `fn_extra` is set here alone, to a CallSiteState, whose first field is its kind.
    if unsafe { *state.cast::<TypeId>() } != TypeId::of::<T>() {
        Error::new(
            ERRCODE_INTERNAL_ERROR,
            "the state of a call site is of another type",
        )
        .raise();
    }
    // SAFETY: the state is of this kind. It was taken out of `fn_extra`, so there is no other
    // reference to it.
    let result = f(unsafe { &mut (*state).value });
    info.fn_extra = state.cast();
    result
}

/// The state of a call site, and which type it is of.
#[repr(C)]
struct CallSiteState<T> {
    kind: TypeId,
    value: T,
}

/// A message being received.
pub struct MessageReader<'a> {
    raw: pg_sys::StringInfo,
    life: PhantomData<&'a Args>,
}

impl<'a> MessageReader<'a> {
    /// The message that the server passes to a type's receive function. An ERROR when another of
    /// the server's callers passes the argument of type internal: a receive function is given three
    /// arguments, however many SQL declares.
    pub fn from_arguments(args: &'a Args) -> Self {
        if args.count() != 3 {
            Error::new(
                ERRCODE_INTERNAL_ERROR,
                "receive function called outside of the binary protocol",
            )
            .raise();
        }
        MessageReader {
            raw: args.internal(0),
            life: PhantomData,
        }
    }

    /// The next 8 bytes; an ERROR when the message is too short.
    pub fn i64(&mut self) -> i64 {
        // SAFETY: the running function is a receive function (`of`).
        unsafe { pg_sys::pq_getmsgint64(self.raw) }
    }

    /// The next 4 bytes; an ERROR when the message is too short.
    pub fn i32(&mut self) -> i32 {
        // SAFETY: the running function is a receive function (`of`).
        unsafe { pg_sys::pq_getmsgint(self.raw, 4) as i32 }
    }
}

/// A message being sent.
pub struct Message(Vec<u8>);

impl Message {
    /// An empty message.
    pub fn new() -> Self {
        Message(Vec::with_capacity(16))
    }

    /// Appends eight bytes in network order.
    pub fn i64(mut self, value: i64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// Appends four bytes in network order.
    pub fn i32(mut self, value: i32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }
}

impl Returned for Message {
    const TYPE: pg_sys::Oid = pg_sys::BYTEAOID;

    fn into_result(self) -> Option<pg_sys::Datum> {
        pgrx::IntoDatum::into_datum(self.0)
    }
}

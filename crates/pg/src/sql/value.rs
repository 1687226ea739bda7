//! Values of any type: their bits and bytes, and the elements of arrays and ranges.
//!
//! Copies that the server makes (detoasted values, deconstructed arrays) stay in the current memory
//! context, which the executor resets after each row. The code of this crate must not make them
//! while a shorter-lived context is current: `rows_out` runs none of its callers'
//! code there, and what runs in `memory::in_scratch` keeps nothing that the server has made.

use std::ffi::c_char;
use std::marker::PhantomData;

use pgrx::PgSqlErrorCode::{ERRCODE_DATATYPE_MISMATCH, ERRCODE_INTERNAL_ERROR};
use pgrx::{IntoDatum, pg_sys, varlena};

use super::fmgr::{Args, ByValue, Returned};
use crate::catalog::lookup::type_name;
use crate::process::encoding::{from_utf8, to_utf8};
use crate::process::error::Error;
use crate::process::memory::owned;

/// Storage of the values of a type.
#[derive(Clone, Copy)]
pub struct Storage {
    /// The type, a domain as such.
    pub type_id: pg_sys::Oid,
    pub(super) len: i16,
    pub(super) by_value: bool,
    pub(super) align: c_char,
}

impl Storage {
    /// Looks the type up in the catalog.
    #[inline]
    pub fn for_type(type_id: pg_sys::Oid) -> Self {
        let mut storage = Self {
            type_id,
            len: 0,
            by_value: false,
            align: 0,
        };
        // SAFETY: the three pointers are live; an unknown type is an ERROR.
        unsafe {
            pg_sys::get_typlenbyvalalign(
                type_id,
                &mut storage.len,
                &mut storage.by_value,
                &mut storage.align,
            );
        }
        storage
    }

    /// What a row descriptor says of a column.
    #[inline]
    pub(crate) fn of_attribute(attribute: &pg_sys::FormData_pg_attribute) -> Self {
        Self {
            type_id: attribute.atttypid,
            len: attribute.attlen,
            by_value: attribute.attbyval,
            align: attribute.attalign,
        }
    }

    /// typbyval and typlen, for the server's copy functions.
    #[inline]
    pub(crate) fn by_value_and_length(&self) -> (bool, i16) {
        (self.by_value, self.len)
    }

    pub(crate) const OID: Self = Self {
        type_id: pg_sys::OIDOID,
        len: size_of::<pg_sys::Oid>() as i16,
        by_value: true,
        align: b'i' as c_char,
    };

    pub(crate) const XID: Self = Self {
        type_id: pg_sys::XIDOID,
        ..Self::OID
    };

    pub(crate) const TID: Self = Self {
        type_id: pg_sys::TIDOID,
        len: size_of::<pg_sys::ItemPointerData>() as i16,
        by_value: false,
        align: b's' as c_char,
    };

    #[inline]
    pub(crate) const fn varlena(type_id: pg_sys::Oid) -> Self {
        Self {
            type_id,
            len: -1,
            by_value: false,
            align: b'i' as c_char,
        }
    }
}

/// A value that is not NULL, with its type.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    datum: pg_sys::Datum,
    storage: Storage,
    life: PhantomData<&'a ()>,
}

impl<T: ByValue + IntoDatum> From<T> for Value<'static> {
    fn from(value: T) -> Self {
        Self {
            datum: value.into_datum().unwrap_or(pg_sys::Datum::null()),
            storage: Storage {
                type_id: T::TYPE,
                len: size_of::<T>() as i16,
                by_value: true,
                align: T::ALIGN as c_char,
            },
            life: PhantomData,
        }
    }
}

/// A bit string of 128 bits, the most significant first.
pub struct BitString(pub u128);

impl Returned for BitString {
    const TYPE: pg_sys::Oid = pg_sys::BITOID;

    fn into_result(self) -> Option<pg_sys::Datum> {
        const SIZE: usize = size_of::<i32>() + size_of::<i32>() + size_of::<u128>();
        // SAFETY: palloc returns aligned memory for the length word, the number of bits and the
        // bytes.
        unsafe {
            let place = pg_sys::palloc(SIZE).cast::<i32>();
            varlena::set_varsize_4b(place.cast(), SIZE as i32);
            place.add(1).write(128);
            place.add(2).cast::<[u8; 16]>().write(self.0.to_be_bytes());
            Some(pg_sys::Datum::from(place))
        }
    }
}

impl Args {
    /// Argument `i`, declared with this type, which must be of variable length; anyarray stands for
    /// any array type.
    #[inline]
    pub fn varlena(&self, i: usize, type_id: pg_sys::Oid) -> Option<Value<'_>> {
        // SAFETY: the argument is declared with such a type.
        self.datum(i)
            .map(|d| unsafe { Value::new(d, Storage::varlena(type_id)) })
    }
}

impl<'a> Value<'a> {
    /// # Safety
    /// `datum` must be a value of the type that `storage` describes, and live as long as `'a`.
    #[inline]
    pub unsafe fn new(datum: pg_sys::Datum, storage: Storage) -> Self {
        Self {
            datum,
            storage,
            life: PhantomData,
        }
    }

    /// The number of a transaction, as type xid.
    pub fn of_transaction(transaction: u32) -> Self {
        // SAFETY: a number of 32 bits, passed by value.
        unsafe { Value::new(pg_sys::Datum::from(transaction), Storage::XID) }
    }

    /// A text, as a value in the current memory context.
    #[inline]
    pub fn of_text(text: &'a str) -> Self {
        // bytea and text are stored alike.
        let datum = from_utf8(text).as_ref().into_datum();
        Self {
            datum: datum.unwrap_or(pg_sys::Datum::null()),
            storage: Storage::varlena(pg_sys::TEXTOID),
            life: PhantomData,
        }
    }

    /// The value of a type that is stored as text is, in UTF-8.
    pub fn to_text(&self) -> String {
        self.show_bytes(|bytes| owned(&to_utf8(bytes)))
    }

    /// The datum, which lives as long as the value.
    #[inline]
    pub fn datum(&self) -> pg_sys::Datum {
        self.datum
    }

    #[inline]
    pub(super) fn storage(&self) -> Storage {
        self.storage
    }

    /// Its type, a domain as such.
    #[inline]
    pub fn type_id(&self) -> pg_sys::Oid {
        self.storage.type_id
    }

    /// Raises an ERROR unless a value of this type is stored as one of `expected` is. It may be of
    /// that type, of a domain over it, or of one that the server relabels without calling a function.
    /// The type char(n) is stored as text is, with its padding.
    #[inline]
    pub(crate) fn require_type(&self, expected: pg_sys::Oid) {
        let type_id = self.type_id();
        // SAFETY: catalog look-ups.
        let fits = type_id == expected
            || unsafe {
                pg_sys::IsBinaryCoercible(type_id, expected)
                    || expected == pg_sys::TEXTOID
                        && pg_sys::getBaseType(type_id) == pg_sys::BPCHAROID
            };
        if !fits {
            let message = format!(
                "a value is of type {}, not {}",
                type_name(type_id),
                type_name(expected)
            );
            Error::new(ERRCODE_DATATYPE_MISMATCH, message).raise();
        }
    }

    /// pg_type.typbyval: whether the datum is the value, and no pointer.
    #[inline]
    pub fn is_by_value(&self) -> bool {
        self.storage.by_value
    }

    /// A by-value integer of any size.
    #[inline]
    pub fn integer(&self) -> i64 {
        let bits = self.datum.value() as u64;
        match self.storage.len {
            1 => i64::from(bits as i8),
            2 => i64::from(bits as i16),
            4 => i64::from(bits as i32),
            _ => bits as i64,
        }
    }

    /// A by-value OID.
    #[inline]
    pub fn oid(&self) -> u32 {
        self.datum.value() as u32
    }

    /// The bytes of a by-reference value, without its length word or final zero.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        let stored = self.stored_bytes();
        match self.storage.len {
            -1 => {
                // SAFETY: `stored` is a varlena with its length word.
                let length = unsafe { varlena::varsize_any_exhdr(stored.as_ptr().cast()) };
                &stored[stored.len() - length..]
            }
            -2 => &stored[..stored.len() - 1],
            _ => stored,
        }
    }

    /// The value as it is stored, without its length word. Values of one type that have the same
    /// image are the same; equal ones may have different images.
    #[inline]
    pub fn image(&self) -> (usize, &'a [u8]) {
        match self.storage.by_value {
            true => (self.datum.value(), &[]),
            false => (0, self.bytes()),
        }
    }

    /// Calls `f` with the bytes that [`Value::bytes`] returns, and frees the copy if the server had
    /// to make one.
    #[inline]
    pub fn show_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        self.show(|value| f(value.bytes()))
    }

    /// As [`Value::show_bytes`], with the length word or the final zero.
    #[inline]
    pub fn show_stored<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        self.show(|value| f(value.stored_bytes()))
    }

    /// Calls `f` with the detoasted value.
    fn show<R>(&self, f: impl FnOnce(Value<'_>) -> R) -> R {
        if self.storage.len != -1 {
            return f(*self);
        }
        let detoasted = self.detoasted();
        let datum = pg_sys::Datum::from(detoasted);
        let result = f(Value { datum, ..*self });
        if datum != self.datum {
            // SAFETY: the copy is ours, and `f` is done with it.
            unsafe { pg_sys::pfree(detoasted.cast()) };
        }
        result
    }

    /// As [`Value::bytes`], with the length word or the final zero.
    fn stored_bytes(&self) -> &'a [u8] {
        if self.storage.by_value {
            return &[];
        }
        // SAFETY: a by-reference datum points to a value of its type's length (contract of `new`).
        unsafe {
            match self.storage.len {
                -1 => {
                    let detoasted = self.detoasted();
                    std::slice::from_raw_parts(detoasted.cast(), varlena::varsize_any(detoasted))
                }
                -2 => std::ffi::CStr::from_ptr(self.datum.cast_mut_ptr()).to_bytes_with_nul(),
                len => std::slice::from_raw_parts(self.datum.cast_mut_ptr(), len as usize),
            }
        }
    }

    /// A bit string: its number of bits, and its bytes. The first bit is the highest of the first
    /// byte.
    #[inline]
    pub fn bits(&self) -> (usize, &'a [u8]) {
        match self.bytes().split_first_chunk() {
            Some((bits, bytes)) => (i32::from_ne_bytes(*bits) as usize, bytes),
            None => (0, &[]),
        }
    }

    /// The detoasted value, with a length word of 1 or 4 bytes.
    fn detoasted(&self) -> *mut pg_sys::varlena {
        let stored: *mut pg_sys::varlena = self.datum.cast_mut_ptr();
        // SAFETY: the datum is a varlena; its header tells whether it must be detoasted.
        unsafe {
            let short = varlena::varatt_is_1b(stored) && !varlena::varatt_is_1b_e(stored);
            // Each call into the server costs a guard: most values need none.
            match short || varlena::varatt_is_4b_u(stored) {
                true => stored,
                false => pg_sys::pg_detoast_datum_packed(stored),
            }
        }
    }

    /// The detoasted value, aligned, with a length word of 4 bytes.
    #[inline]
    pub(crate) fn aligned_varlena(&self) -> *mut pg_sys::varlena {
        if self.storage.len != -1 {
            raise_not_of_kind("variable length", self.type_id());
        }
        let stored: *mut pg_sys::varlena = self.datum.cast_mut_ptr();
        // SAFETY: the datum is a varlena.
        unsafe {
            match varlena::varatt_is_4b_u(stored) {
                true => stored,
                false => pg_sys::pg_detoast_datum(stored),
            }
        }
    }
}

/// The ERROR when the catalogs have changed meanwhile, or the caller has mistaken a type.
pub(super) fn raise_not_of_kind(kind: &str, type_id: pg_sys::Oid) -> ! {
    Error::new(
        ERRCODE_INTERNAL_ERROR,
        format!("type {} is not of kind {kind}", type_id.to_u32()),
    )
    .raise()
}

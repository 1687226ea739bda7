//! Values kept out of the server's memory: as bits, or as bytes in vectors and in temporary files.
//! The searches for pairs keep keys, texts and rows so, the triggers keys. What is read back is the
//! value that was kept, or an ERROR where a file is damaged.

use pgrx::PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH;
use pgrx::{pg_sys, varlena};

use super::value::{Storage, Value};
use crate::catalog::lookup::base_type;
use crate::catalog::table::type_name;
use crate::process::error::Error;
use crate::process::memory::collected;
use crate::process::temp_file::damaged_temporary_file;

/// A copy of a value.
#[derive(Clone)]
pub struct KeptValue {
    storage: Storage,
    /// What [`Storage::value`] takes.
    kept: u64,
    behind: Vec<u64>,
}

impl KeptValue {
    /// The value, which borrows the copy.
    #[inline]
    pub fn value(&self) -> Value<'_> {
        self.storage.value(self.kept, &self.behind)
    }

    /// Number of bytes that it takes beside itself.
    #[inline]
    pub fn bytes(&self) -> usize {
        size_of_val(self.behind.as_slice())
    }
}

impl Value<'_> {
    /// A copy of it.
    #[inline]
    pub fn keep(&self) -> KeptValue {
        self.storage().keep(*self)
    }
}

impl Storage {
    /// Returns whether values are passed by value.
    #[inline]
    pub fn is_by_value(&self) -> bool {
        self.by_value_and_length().0
    }

    /// The datum of a value; an ERROR when it is not of this type. Values of a domain and of the
    /// type below it are the same: an expression over a domain is often of that type, as a UNION
    /// is.
    #[inline]
    pub fn datum(&self, value: Value<'_>) -> pg_sys::Datum {
        if value.type_id() != self.type_id && base_type(value.type_id()) != base_type(self.type_id)
        {
            let (found, expected) = (type_name(value.type_id()), type_name(self.type_id));
            let message = format!("a value is of type {found}, not {expected}");
            Error::new(ERRCODE_DATATYPE_MISMATCH, message).raise();
        }
        value.datum()
    }

    /// A copy of a value of this type.
    #[inline]
    pub fn keep(&self, value: Value<'_>) -> KeptValue {
        let datum = self.datum(value);
        if self.is_by_value() {
            return KeptValue {
                storage: *self,
                kept: datum.value() as u64,
                behind: Vec::new(),
            };
        }
        let behind = value.show_stored(|bytes| {
            let words = bytes.chunks(size_of::<u64>()).map(|word| {
                let mut whole = [0; size_of::<u64>()];
                whole[..word.len()].copy_from_slice(word);
                u64::from_ne_bytes(whole)
            });
            collected(words)
        });
        KeptValue {
            storage: *self,
            kept: 0,
            behind,
        }
    }

    /// A value that was kept. If the type is passed by value, `kept` is its datum; if not, `kept`
    /// is the place in `behind` from which the bytes of [`Value::show_stored`] stand.
    #[inline]
    pub fn value<'b>(&self, kept: u64, behind: &'b [u64]) -> Value<'b> {
        let datum = match self.is_by_value() {
            true => pg_sys::Datum::from(kept),
            false => self.behind(&behind[kept as usize..]),
        };
        // SAFETY: bits, or bytes of the length that the type has, which live as long as `behind`.
        unsafe { Value::new(datum, *self) }
    }

    /// Points to a value that was read from a file. An ERROR when it would end beyond `aligned`, or
    /// is a varlena that is compressed, stored elsewhere, or shorter than its own length word. The
    /// content is not checked: the functions of the type must be able to trust the file.
    fn behind(&self, aligned: &[u64]) -> pg_sys::Datum {
        let (start, room) = (aligned.as_ptr().cast_mut(), size_of_val(aligned));
        // SAFETY: the header of a varlena is read where there is room for one (the elements of
        // `aligned` have 8 bytes), and other bytes within `aligned`.
        let fits = unsafe {
            match self.by_value_and_length().1 {
                -1 => {
                    let value: *mut pg_sys::varlena = start.cast();
                    let is_plain = room > 0
                        && match varlena::varatt_is_1b(value) {
                            true => !varlena::varatt_is_1b_e(value),
                            false => {
                                varlena::varatt_is_4b_u(value)
                                    && varlena::varsize_4b(value) >= pg_sys::VARHDRSZ
                            }
                        };
                    is_plain && varlena::varsize_any(value) <= room
                }
                -2 => std::slice::from_raw_parts(start.cast::<u8>(), room).contains(&0),
                length => length as usize <= room,
            }
        };
        if !fits {
            damaged_temporary_file(room as u64);
        }
        pg_sys::Datum::from(start)
    }
}

//! Arguments and results of type bigint[], which may be long: read and written in place, without a
//! call for each element.

use pgrx::PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR;
use pgrx::pg_sys;
use pgrx::set_varsize_4b;

use super::fmgr::{Args, Returned};
use super::key_type::KeyType;
use super::value::Value;
use crate::process::error::Error;

/// The elements of an array that has one dimension, or none.
pub struct Bigints<'a> {
    /// Those that are not NULL.
    present: &'a [i64],
    /// A bit for each element, 0 where it is NULL; empty when none is.
    bitmap: &'a [u8],
    count: usize,
}

impl Args {
    /// Argument `i`, declared as bigint[]; None when it is NULL. An ERROR when it has several
    /// dimensions. The elements live as long as the call.
    #[inline]
    pub fn bigints(&self, i: usize) -> Option<Bigints<'_>> {
        let array: *mut pg_sys::ArrayType = self
            .varlena(i, pg_sys::INT8ARRAYOID)?
            .aligned_varlena()
            .cast();
        // SAFETY: a detoasted array: a header, the sizes and lower bounds of its dimensions, a
        // bitmap if an element may be NULL, and, aligned to 8 bytes, the elements that are not.
        unsafe {
            let dimensions = (*array).ndim as usize;
            if dimensions > 1 {
                Error::new(
                    ERRCODE_ARRAY_ELEMENT_ERROR,
                    format!("an array must have one dimension, not {dimensions}"),
                )
                .raise();
            }
            let sizes: *const i32 = array.add(1).cast();
            let count = if dimensions == 0 { 0 } else { *sizes as usize };
            let header = size_of::<pg_sys::ArrayType>() + 2 * size_of::<i32>() * dimensions;
            let (bitmap, data): (&[u8], _) = match (*array).dataoffset {
                0 => (&[], header.next_multiple_of(size_of::<i64>())),
                data => {
                    let bits = array.cast::<u8>().add(header);
                    let bytes = count.div_ceil(8);
                    (std::slice::from_raw_parts(bits, bytes), data as usize)
                }
            };
            // The last byte may have bits behind the last element.
            let present = match bitmap.is_empty() {
                true => count,
                false => (0..count).filter(|i| is_present(bitmap, *i)).count(),
            };
            let elements = array.cast::<u8>().add(data).cast::<i64>();
            Some(Bigints {
                present: std::slice::from_raw_parts(elements, present),
                bitmap,
                count,
            })
        }
    }
}

/// An array of type bigint[], in the current memory context.
pub fn bigints(items: impl ExactSizeIterator<Item = i64>) -> Value<'static> {
    let of_bigint = KeyType::new(pg_sys::INT8OID);
    let array = of_bigint.and_then(|of_bigint| of_bigint.array(items.map(Value::from)));
    array.unwrap_or_else(|| Error::out_of_memory().raise())
}

impl Returned for Vec<i64> {
    const TYPE: pg_sys::Oid = pg_sys::INT8ARRAYOID;

    fn into_result(self) -> Option<pg_sys::Datum> {
        // SAFETY: the server makes arrays with room for their elements, which are not NULL, behind a header for
        // one dimension, which is a multiple of their alignment; an empty array has no dimension. palloc raises
        // an ERROR for more than it can have.
        unsafe {
            if self.is_empty() {
                return Some(pg_sys::construct_empty_array(pg_sys::INT8OID).into());
            }
            let header = size_of::<pg_sys::ArrayType>() + 2 * size_of::<i32>();
            let bytes = header + size_of_val(&self[..]);
            let array: *mut pg_sys::ArrayType = pg_sys::palloc(bytes).cast();
            array.write(pg_sys::ArrayType {
                vl_len_: 0,
                ndim: 1,
                dataoffset: 0,
                elemtype: pg_sys::INT8OID,
            });
            set_varsize_4b(array.cast(), bytes as i32);
            array
                .add(1)
                .cast::<[i32; 2]>()
                .write([self.len() as i32, 1]);
            let elements = array.cast::<u8>().add(header).cast::<i64>();
            elements.copy_from_nonoverlapping(self.as_ptr(), self.len());
            Some(array.into())
        }
    }
}

impl Bigints<'_> {
    /// Number of elements, NULLs included.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// The elements, None where they are NULL.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Option<i64>> {
        let mut present = self.present.iter().copied();
        (0..self.count).map(move |i| match is_present(self.bitmap, i) {
            true => present.next(),
            false => None,
        })
    }
}

/// Returns whether element `i` of an array with this bitmap is not NULL.
fn is_present(bitmap: &[u8], i: usize) -> bool {
    let byte = bitmap.get(i / 8);
    byte.is_none_or(|byte| byte >> (i % 8) & 1 == 1)
}

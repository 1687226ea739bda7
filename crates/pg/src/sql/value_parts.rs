//! The parts of a value that has several: the elements of an array, the bounds of a range, the
//! ranges of a multirange. What writes values as text and what reads arrays calls it. The parts lie
//! where [`super::value`] says: in the value, or in the current memory context.

use pgrx::pg_sys;

use super::value::{Storage, Value, raise_not_of_kind};
use crate::process::memory::reserve;

/// A deconstructed array.
pub struct Array<'a> {
    /// Type of the elements.
    pub element: pg_sys::Oid,
    /// Size and lower bound of each dimension.
    pub dims: Vec<(i32, i32)>,
    /// The elements in storage order, None where they are NULL.
    pub items: Vec<Option<Value<'a>>>,
}

/// The bounds of a range that is not empty; None is an infinite bound.
pub struct Range<'a> {
    /// The lower bound.
    pub lower: Option<Value<'a>>,
    /// The upper bound.
    pub upper: Option<Value<'a>>,
    /// Whether the range contains its lower bound.
    pub lower_inclusive: bool,
    /// Whether the range contains its upper bound.
    pub upper_inclusive: bool,
}

impl<'a> Value<'a> {
    /// The elements of an array; an ERROR when the value is of another type.
    #[inline]
    pub fn array(&self) -> Array<'a> {
        let type_id = self.type_id();
        // SAFETY: a syscache look-up, which also sees through domains.
        let is_array = type_id == pg_sys::ANYARRAYOID
            || unsafe { pg_sys::get_base_element_type(type_id) } != pg_sys::InvalidOid;
        if !is_array {
            raise_not_of_kind("array", type_id);
        }
        let array: *mut pg_sys::ArrayType = self.aligned_varlena().cast();
        // SAFETY: the value is an array: its header is followed by sizes and lower bounds.
        unsafe {
            let ndim = (*array).ndim as usize;
            let sizes: *const i32 = array.add(1).cast();
            let dims = (0..ndim)
                .map(|i| (*sizes.add(i), *sizes.add(ndim + i)))
                .collect();
            let element = Storage::for_type((*array).elemtype);
            let (mut datums, mut nulls, mut count) =
                (std::ptr::null_mut(), std::ptr::null_mut(), 0);
            pg_sys::deconstruct_array(
                array,
                element.type_id,
                i32::from(element.len),
                element.by_value,
                element.align,
                &mut datums,
                &mut nulls,
                &mut count,
            );
            let item = |i| (!*nulls.add(i)).then(|| Value::new(*datums.add(i), element));
            let mut items = Vec::new();
            reserve(&mut items, count as usize);
            items.extend((0..count as usize).map(item));
            // The items are copies, or point into the array.
            for list in [datums.cast::<std::ffi::c_void>(), nulls.cast()] {
                if !list.is_null() {
                    pg_sys::pfree(list);
                }
            }
            Array {
                element: element.type_id,
                dims,
                items,
            }
        }
    }

    /// The bounds of a range; None when it is empty. An ERROR when the value is of another type.
    #[inline]
    pub fn range(&self) -> Option<Range<'a>> {
        let mut empty = false;
        let mut lower = pg_sys::RangeBound::default();
        let mut upper = pg_sys::RangeBound::default();
        // SAFETY: a type whose cache entry has a type of bounds is a range type, and the value is
        // of that type (contract of `new`).
        unsafe {
            let flags = pg_sys::TYPECACHE_RANGE_INFO as i32;
            // The cache entry of a domain over a range type has no type of bounds.
            let cache = pg_sys::lookup_type_cache(pg_sys::getBaseType(self.type_id()), flags);
            if (*cache).rngelemtype.is_null() {
                raise_not_of_kind("range", self.type_id());
            }
            let range = self.aligned_varlena().cast();
            pg_sys::range_deserialize(cache, range, &mut lower, &mut upper, &mut empty);
            if empty {
                return None;
            }
            let storage = Storage::for_type((*(*cache).rngelemtype).type_id);
            let bound = |b: &pg_sys::RangeBound| (!b.infinite).then(|| Value::new(b.val, storage));
            Some(Range {
                lower: bound(&lower),
                upper: bound(&upper),
                lower_inclusive: lower.inclusive,
                upper_inclusive: upper.inclusive,
            })
        }
    }

    /// The ranges of a multirange; an ERROR when the value is of another type.
    #[inline]
    pub fn multirange(&self) -> Vec<Value<'a>> {
        unsafe extern "C-unwind" {
            // Missing from the bindings.
            fn multirange_deserialize(
                range_cache: *mut pg_sys::TypeCacheEntry,
                multirange: *const pg_sys::varlena,
                count: *mut i32,
                ranges: *mut *mut *mut pg_sys::varlena,
            );
        }
        let (mut count, mut ranges) = (0, std::ptr::null_mut());
        // SAFETY: a type whose cache entry leads to that of a range type is a multirange type, and
        // the value is of that type (contract of `new`); the server function may raise an ERROR,
        // hence the guard.
        unsafe {
            let flags = pg_sys::TYPECACHE_MULTIRANGE_INFO as i32;
            let type_id = pg_sys::getBaseType(self.type_id());
            let cache = (*pg_sys::lookup_type_cache(type_id, flags)).rngtype;
            if cache.is_null() {
                raise_not_of_kind("multirange", type_id);
            }
            let value = self.aligned_varlena();
            pg_sys::ffi::pg_guard_ffi_boundary(|| {
                multirange_deserialize(cache, value, &mut count, &mut ranges);
            });
            let storage = Storage::varlena((*cache).type_id);
            let range = |i| Value::new(pg_sys::Datum::from(*ranges.add(i)), storage);
            (0..count as usize).map(range).collect()
        }
    }
}

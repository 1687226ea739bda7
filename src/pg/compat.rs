//! What differs between the major versions of the server.

use pgrx::pg_sys;

/// Attribute `i` of a row descriptor.
///
/// # Safety
/// `desc` is a live descriptor with more than `i` attributes.
pub unsafe fn attribute<'a>(
    desc: pg_sys::TupleDesc,
    i: usize,
) -> &'a pg_sys::FormData_pg_attribute {
    #[cfg(feature = "pg18")]
    // SAFETY: the caller's contract.
    unsafe {
        &*pg_sys::TupleDescAttr(desc, i as i32)
    }
    #[cfg(not(feature = "pg18"))]
    // SAFETY: the caller's contract; `attrs` has `natts` entries.
    unsafe {
        &*(*desc).attrs.as_ptr().add(i)
    }
}

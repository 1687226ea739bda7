//! What differs between PostgreSQL's majors, in one folder: no other file asks which one it is.
//! Conditions name the older majors, so that a new one is compiled like the newest.
//!
//! On a major that is not in [`TESTED`], changes are logged through the server's own generic WAL
//! functions, and indexes are built by one process, which is slower.

mod am;
mod shared;

pub use am::*;
pub use shared::own_number;
pub(crate) use shared::*;

use pgrx::pg_sys;

/// The majors on which redo has replayed the WAL records that `patch` in src/index/store.rs puts together
/// (pg_test/t/001_crash.pl, with wal_consistency_checking; 015_crash_points.pl; 010_standby.pl),
/// and several processes have built one index (020_parallel_build.pl).
const TESTED: [u32; 5] = [15, 16, 17, 18, 19];

/// Whether the major that this library is compiled for is among them.
pub const IS_TESTED: bool = is_tested(pg_sys::PG_MAJORVERSION_NUM);

const fn is_tested(major: u32) -> bool {
    let mut i = 0;
    while i < TESTED.len() {
        if TESTED[i] == major {
            return true;
        }
        i += 1;
    }
    false
}

/// Attribute `i` of a row descriptor.
///
/// # Safety
/// `desc` is a live descriptor with more than `i` attributes.
pub unsafe fn attribute<'a>(
    desc: pg_sys::TupleDesc,
    i: usize,
) -> &'a pg_sys::FormData_pg_attribute {
    // SAFETY: guaranteed by the caller; `attrs` has `natts` entries.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
    unsafe {
        &*(*desc).attrs.as_ptr().add(i)
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
    unsafe {
        &*pg_sys::TupleDescAttr(desc, i as i32)
    }
}

/// Sets search_path as the server does for maintenance commands (from 17 on), until the nest level
/// of settings ends.
pub fn restrict_search_path() {
    // SAFETY: changes a setting. Without a nest level begun by the caller it would last until the
    // transaction ends.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    unsafe {
        pg_sys::RestrictSearchPath();
    }
}

/// Returns whether the current user owns the relation (or may act as its owner).
pub fn owns_relation(oid: pg_sys::Oid) -> bool {
    // SAFETY: syscache look-ups.
    #[cfg(feature = "pg15")]
    unsafe {
        pg_sys::pg_class_ownercheck(oid, pg_sys::GetUserId())
    }
    // SAFETY: as above.
    #[cfg(not(feature = "pg15"))]
    unsafe {
        pg_sys::object_ownercheck(pg_sys::RelationRelationId, oid, pg_sys::GetUserId())
    }
}

const _: () = assert!(is_tested(15) && !is_tested(13) && !is_tested(20));

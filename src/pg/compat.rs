//! What differs between PostgreSQL's majors, in one place.

use pgrx::pg_sys;

/// A VACUUM's point to sleep, if it has used up its cost limit, and to notice a cancel.
pub fn vacuum_delay_point() {
    // SAFETY: called by the process that runs VACUUM, with no page locked.
    #[cfg(feature = "pg18")]
    unsafe {
        pg_sys::vacuum_delay_point(false)
    };
    // SAFETY: as above.
    #[cfg(not(feature = "pg18"))]
    unsafe {
        pg_sys::vacuum_delay_point()
    };
}

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

/// Does the current user own the relation (or may act as its owner)?
pub fn owns_relation(oid: pg_sys::Oid) -> bool {
    // SAFETY: syscache look-ups.
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    unsafe {
        pg_sys::pg_class_ownercheck(oid, pg_sys::GetUserId())
    }
    // SAFETY: as above.
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    unsafe {
        pg_sys::object_ownercheck(pg_sys::RelationRelationId, oid, pg_sys::GetUserId())
    }
}

/// Has redo of generic WAL records that `wal::patch` puts together been tested on this major?
/// (pg_test/t/001_crash.pl, with wal_consistency_checking.)
pub const REPLAYS_PATCH_RECORDS: bool = cfg!(feature = "pg15");

/// XLogRegisterBufData, whose length argument grew with PostgreSQL 16.
///
/// # Safety
/// As for XLogRegisterBufData: between XLogBeginInsert and XLogInsert, block `id` registered, the
/// bytes alive until then.
pub unsafe fn register_buffer_data(id: u8, bytes: *mut u8, length: usize) {
    // SAFETY: the caller's word.
    unsafe { pg_sys::XLogRegisterBufData(id, bytes.cast(), length as _) };
}

/// ReadRecentBuffer of the main fork.
///
/// # Safety
/// `rel` must be open, `buffer` a valid buffer number of this process.
pub unsafe fn read_recent_buffer(rel: pg_sys::Relation, block: u32, buffer: i32) -> bool {
    let fork = pg_sys::ForkNumber::MAIN_FORKNUM;
    // SAFETY: the caller's word.
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    unsafe {
        pg_sys::ReadRecentBuffer((*rel).rd_node, fork, block, buffer)
    }
    // SAFETY: as above.
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    unsafe {
        pg_sys::ReadRecentBuffer((*rel).rd_locator, fork, block, buffer)
    }
}

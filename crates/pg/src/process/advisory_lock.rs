//! The advisory locks of the extension, and the isolation level of the transaction. The triggers
//! take them. A lock is held until the transaction ends, and has a class that no lock of a user
//! has.

use pgrx::pg_sys;

/// The class (`objsubid` in pg_locks) of our locks. PostgreSQL's own advisory lock functions use 1
/// and 2, so ours never collide with a user's.
const CLASS: u16 = 0x5348;

/// Takes lock `number` of the table, and holds it until the transaction ends. Waits while another
/// transaction holds it, shared or not.
pub fn lock_until_commit(table: pg_sys::Oid, number: u32) {
    lock(table, number, pg_sys::ExclusiveLock);
}

/// As [`lock_until_commit`], but does not wait: false if another transaction holds it.
pub fn try_lock_until_commit(table: pg_sys::Oid, number: u32) -> bool {
    acquire(table, number, pg_sys::ExclusiveLock, true)
        != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
}

/// As [`lock_until_commit`], beside other transactions that share the lock.
pub fn share_until_commit(table: pg_sys::Oid, number: u32) {
    lock(table, number, pg_sys::ShareLock);
}

fn lock(table: pg_sys::Oid, number: u32, mode: u32) {
    acquire(table, number, mode, false);
}

fn acquire(
    table: pg_sys::Oid,
    number: u32,
    mode: u32,
    nowait: bool,
) -> pg_sys::LockAcquireResult::Type {
    // SAFETY: reads a variable of the backend; the tag is a complete one of the advisory kind.
    unsafe {
        let tag = pg_sys::LOCKTAG {
            locktag_field1: pg_sys::MyDatabaseId.to_u32(),
            locktag_field2: table.to_u32(),
            locktag_field3: number,
            locktag_field4: CLASS,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        };
        pg_sys::LockAcquire(&tag, mode as i32, false, nowait)
    }
}

/// Returns whether this transaction uses its first snapshot to its end (REPEATABLE READ and above).
pub fn keeps_its_snapshot() -> bool {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}

/// Returns whether the isolation level is SERIALIZABLE.
pub(crate) fn is_serializable() -> bool {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 }
}

/// The isolation level of this transaction.
pub fn isolation_level() -> &'static str {
    // SAFETY: reads a variable of the backend.
    match unsafe { pg_sys::XactIsoLevel } as u32 {
        pg_sys::XACT_SERIALIZABLE => "serializable",
        pg_sys::XACT_REPEATABLE_READ => "repeatable read",
        _ => "read committed",
    }
}

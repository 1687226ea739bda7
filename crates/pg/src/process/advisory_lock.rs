//! The advisory locks of the extension, and the isolation level of the transaction. The triggers
//! take them. A lock is held until the transaction ends, and has a class that no lock of a user
//! has.

use std::cell::RefCell;

use pgrx::pg_sys;

use super::compat::local_transaction;
use super::unguarded;

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

thread_local! {
    static OWN_LOCKS: RefCell<OwnLocks> = RefCell::default();
}

/// Locks that this subtransaction has taken. It holds all of them to its end, and the number of a
/// subtransaction is never used again in its transaction. So a lock that an aborted subtransaction
/// took, which is released, is not among them.
#[derive(Default)]
struct OwnLocks {
    /// Numbers of the transaction and of the subtransaction.
    by: (u32, pg_sys::SubTransactionId),
    taken: Vec<TakenLocks>,
}

/// Those of [`RANGE`] neighbouring numbers of a table that were taken.
struct TakenLocks {
    table: pg_sys::Oid,
    /// The first of the numbers, divided by [`RANGE`].
    range: u32,
    bits: [u64; (RANGE / u64::BITS) as usize],
}

/// A trigger takes locks with neighbouring numbers, a few for each row: looking them up in a hash table
/// would take longer.
const RANGE: u32 = 4096;

impl OwnLocks {
    /// Forgets the locks of another subtransaction.
    fn of(&mut self, by: (u32, pg_sys::SubTransactionId)) -> &mut Self {
        if self.by != by {
            self.taken.clear();
            self.by = by;
        }
        self
    }

    /// Returns the word that tells whether a lock was taken, and the lock's bit in it.
    fn bit(&mut self, table: pg_sys::Oid, number: u32) -> (&mut u64, u64) {
        let (range, i) = (number / RANGE, number % RANGE);
        let is_of = |taken: &TakenLocks| taken.table == table && taken.range == range;
        let place = self.taken.iter().rposition(is_of).unwrap_or_else(|| {
            let bits = [0; (RANGE / u64::BITS) as usize];
            self.taken.push(TakenLocks { table, range, bits });
            self.taken.len() - 1
        });
        let word = &mut self.taken[place].bits[(i / u64::BITS) as usize];
        (word, 1 << (i % u64::BITS))
    }
}

/// As [`lock_until_commit`], of several locks in this order, for a caller that takes the same ones
/// again and again: the lock manager is only asked for those that the subtransaction lacks.
pub fn lock_all_until_commit(table: pg_sys::Oid, numbers: impl Iterator<Item = u32>) {
    // SAFETY: reads a variable of the backend.
    let by = (local_transaction(), unsafe {
        unguarded::GetCurrentSubTransactionId()
    });
    for number in numbers {
        let has = OWN_LOCKS.with_borrow_mut(|own| {
            let (word, bit) = own.of(by).bit(table, number);
            *word & bit != 0
        });
        if !has {
            lock_until_commit(table, number);
            OWN_LOCKS.with_borrow_mut(|own| {
                let (word, bit) = own.of(by).bit(table, number);
                *word |= bit;
            });
        }
    }
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
pub fn is_serializable() -> bool {
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

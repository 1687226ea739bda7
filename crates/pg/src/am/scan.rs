//! What the server hands to an index access method: scans, TIDs, bitmaps.

use super::row_address::{MAX_HEAP_OFFSET, RowAddresses, damaged_address};
use crate::catalog::relation::Rel;
use crate::page::buffer::Shared;
use crate::process::compat;
use crate::process::memory::MemoryContext;
use pgrx::pg_sys;
use simhash_base::tid::Tid;
use std::marker::PhantomData;

/// Converts from the server's item pointer.
#[inline]
pub fn tid_from(raw: pg_sys::ItemPointerData) -> Tid {
    let (block, offset) = pgrx::itemptr::item_pointer_get_both(raw);
    Tid { block, offset }
}

/// Converts to the server's item pointer.
#[inline]
pub(crate) fn tid_to(tid: Tid) -> pg_sys::ItemPointerData {
    let mut raw = pg_sys::ItemPointerData::default();
    pgrx::itemptr::item_pointer_set_all(&mut raw, tid.block, tid.offset);
    raw
}

/// One condition of a scan: a test of a key column of the index.
#[derive(Clone, Copy)]
pub struct ScanKey {
    /// The first column is 0.
    pub column: usize,
    /// What the column must meet.
    pub test: KeyTest,
}

/// The test of a condition.
#[derive(Clone, Copy)]
pub enum KeyTest {
    /// IS NULL.
    IsNull,
    /// IS NOT NULL.
    IsNotNull,
    /// An operator of the class with a NULL argument.
    WithNull,
    /// Operator number and argument.
    Operator(u16, KeyArgument),
}

/// The argument of a condition. Its type is that of the operator's right side; invalid where it is
/// that of the column's operator class.
#[derive(Clone, Copy)]
pub struct KeyArgument {
    /// Not NULL; alive until the next amrescan.
    pub datum: pg_sys::Datum,
    /// pg_operator.oprright, or INVALID.
    pub value_type: pg_sys::Oid,
}

impl ScanKey {
    fn from_scan_key(key: &pg_sys::ScanKeyData) -> ScanKey {
        let has = |flag: u32| key.sk_flags & flag as i32 != 0;
        let value = KeyArgument {
            datum: key.sk_argument,
            value_type: key.sk_subtype,
        };
        let test = if has(pg_sys::SK_SEARCHNULL) {
            KeyTest::IsNull
        } else if has(pg_sys::SK_SEARCHNOTNULL) {
            KeyTest::IsNotNull
        } else if has(pg_sys::SK_ISNULL) {
            KeyTest::WithNull
        } else {
            KeyTest::Operator(key.sk_strategy, value)
        };
        ScanKey {
            column: key.sk_attno as usize - 1,
            test,
        }
    }
}

/// One ordering of a scan: by the distance of a key column to a centre, None when it is NULL.
#[derive(Clone, Copy)]
pub struct OrderByKey {
    /// The first column is 0.
    pub column: usize,
    /// The right operand of the ordering operator.
    pub centre: Option<pg_sys::Datum>,
}

/// Tests that the executor has to repeat on a row that a scan returns.
#[derive(Clone, Copy, Default)]
pub struct Recheck {
    /// The conditions: some rows may not meet them.
    pub conditions: bool,
    /// The order: the distances are least ones.
    pub order: bool,
}

/// A scan's private state, and the memory context that it is dropped with.
struct Private<T> {
    context: MemoryContext,
    state: T,
}

/// A running index scan.
pub struct Scan<'s> {
    raw: &'s mut pg_sys::IndexScanDescData,
}

impl<'s> Scan<'s> {
    /// # Safety
    /// `raw` must be the live scan that the server passes to a callback.
    #[inline]
    pub unsafe fn from_raw(raw: pg_sys::IndexScanDesc) -> Scan<'s> {
        // SAFETY: guaranteed by the caller.
        let raw = unsafe { &mut *raw };
        Scan { raw }
    }

    /// Makes the scan that ambeginscan returns, with `state` as its private state. The state has a
    /// memory context of its own, and is dropped with it: by [`Scan::end`], or with the parent
    /// context when the query ends in an ERROR. (The parent alone would not do: it may live for a
    /// whole statement that begins a scan for each row, to check an exclusion constraint.)
    #[inline]
    pub fn begin<T>(index: Rel, keys: i32, order_bys: i32, state: T) -> pg_sys::IndexScanDesc {
        // SAFETY: the index is open; the arrays have the lengths that the executor expects.
        unsafe {
            let scan = pg_sys::RelationGetIndexScan(index.raw(), keys, order_bys);
            let context = MemoryContext::current().child(c"simhash scan");
            (*scan).opaque = context.keep(Private { context, state }).cast();
            if order_bys > 0 {
                let n = order_bys as usize;
                (*scan).xs_orderbyvals = pg_sys::palloc0(n * size_of::<pg_sys::Datum>()).cast();
                (*scan).xs_orderbynulls = pg_sys::palloc0(n * size_of::<bool>()).cast();
            }
            scan
        }
    }

    /// The private state given to [`Scan::begin`].
    ///
    /// # Safety
    /// `T` must be its type.
    #[inline]
    pub unsafe fn state<T>(&mut self) -> &'s mut T {
        // SAFETY: set by `begin`, lives as long as the scan; the callbacks of a scan do not nest.
        unsafe { &mut (*self.raw.opaque.cast::<Private<T>>()).state }
    }

    /// Drops the private state (amendscan).
    ///
    /// # Safety
    /// `T` must be its type, and the state must not be used afterwards.
    #[inline]
    pub unsafe fn end<T>(self) {
        // SAFETY: set by `begin`; deleting the context drops what was tied to it.
        unsafe { (*self.raw.opaque.cast::<Private<T>>()).context.delete() };
        self.raw.opaque = std::ptr::null_mut();
    }

    /// The scanned index.
    #[inline]
    pub fn index(&self) -> Rel<'s> {
        // SAFETY: the server keeps the index open during the scan.
        unsafe { Rel::from_raw(self.raw.indexRelation) }
    }

    /// The table whose rows a plain scan returns.
    #[inline]
    pub fn table(&self) -> Option<Rel<'s>> {
        let table = self.raw.heapRelation;
        // SAFETY: the server keeps the table open during the scan.
        (!table.is_null()).then(|| unsafe { Rel::from_raw(table) })
    }

    /// Copies new keys into the scan (amrescan); null means that the old ones stay.
    ///
    /// # Safety
    /// The pointers must be null or the arrays, of these lengths, that the server passes.
    #[inline]
    pub unsafe fn set_keys(
        &mut self,
        keys: pg_sys::ScanKey,
        nkeys: i32,
        order_bys: pg_sys::ScanKey,
        norder_bys: i32,
    ) {
        // SAFETY: guaranteed by the caller; the scan's own arrays were made for these numbers.
        unsafe {
            if !keys.is_null() && nkeys > 0 {
                std::ptr::copy(keys, self.raw.keyData, nkeys as usize);
            }
            if !order_bys.is_null() && norder_bys > 0 {
                std::ptr::copy(order_bys, self.raw.orderByData, norder_bys as usize);
            }
        }
    }

    /// The conditions that amrescan set last; a row must meet all.
    #[inline]
    pub fn conditions(&self) -> impl Iterator<Item = ScanKey> {
        let n = self.raw.numberOfKeys as usize;
        let data = if n == 0 {
            std::ptr::NonNull::dangling().as_ptr()
        } else {
            self.raw.keyData
        };
        // SAFETY: the scan has `numberOfKeys` keys.
        unsafe { std::slice::from_raw_parts(data, n) }
            .iter()
            .map(ScanKey::from_scan_key)
    }

    /// The orderings, the first one first.
    #[inline]
    pub fn order_bys(&self) -> impl Iterator<Item = OrderByKey> {
        let n = self.raw.numberOfOrderBys.max(0) as usize;
        let keys = self.raw.orderByData;
        (0..n).map(move |i| {
            // SAFETY: the scan has this many order-by keys.
            let key = unsafe { &*keys.add(i) };
            OrderByKey {
                column: key.sk_attno as usize - 1,
                centre: (key.sk_flags & pg_sys::SK_ISNULL as i32 == 0).then_some(key.sk_argument),
            }
        })
    }

    /// Counts one search of the index: in the statistics (the macro pgstat_count_index_scan) and
    /// for EXPLAIN ANALYZE. A search begins with each start of the scan.
    #[inline]
    pub fn count_search(&self) {
        // SAFETY: the scan is live, and its index open.
        unsafe {
            compat::count_index_scan(self.raw.indexRelation);
            compat::count_explained_search(self.raw);
        }
    }

    /// Returns whether the executor has found the row that the scan returned last dead to everyone
    /// (kill_prior_tuple). Never in a transaction that began on a standby.
    #[inline]
    pub fn last_row_is_dead(&self) -> bool {
        self.raw.kill_prior_tuple
    }

    /// The snapshot under which the scan runs.
    #[inline]
    pub fn snapshot(&self) -> ScanSnapshot<'s> {
        ScanSnapshot {
            snapshot: self.raw.xs_snapshot,
            life: PhantomData,
        }
    }

    /// Returns whether the snapshot is an MVCC one. Such a snapshot does not see a row that has
    /// taken the place of one that VACUUM removed during the scan; other snapshots may.
    #[inline]
    pub fn snapshot_is_mvcc(&self) -> bool {
        let snapshot = self.raw.xs_snapshot;
        // SAFETY: the snapshot, if there is one, lives during the scan.
        !snapshot.is_null()
            && matches!(
                unsafe { (*snapshot).snapshot_type },
                pg_sys::SnapshotType::SNAPSHOT_MVCC | pg_sys::SnapshotType::SNAPSHOT_HISTORIC_MVCC
            )
    }

    /// Hands a row to the executor; `distance` is the value of the first ordering operator, None
    /// for NULL. Further ones are given as 0, the least distance.
    #[inline]
    pub fn set_row(
        &mut self,
        tid: Tid,
        distance: Option<i32>,
        recheck: Recheck,
        addresses: &mut RowAddresses,
    ) {
        // The server would report the table as damaged, or take the highest block number for a
        // request to extend it.
        addresses.check(self.index(), tid);
        self.raw.xs_heaptid = tid_to(tid);
        self.raw.xs_recheck = recheck.conditions;
        self.raw.xs_recheckorderby = recheck.order;
        for i in 0..self.raw.numberOfOrderBys.max(0) as usize {
            let value = if i == 0 { distance } else { Some(0) };
            // SAFETY: `begin` allocated both arrays, of this length.
            unsafe {
                *self.raw.xs_orderbyvals.add(i) = pg_sys::Datum::from(value.unwrap_or(0));
                *self.raw.xs_orderbynulls.add(i) = value.is_none();
            }
        }
    }
}

/// The reader of the index: a scan, with its snapshot.
#[derive(Clone, Copy)]
pub struct ScanSnapshot<'s> {
    snapshot: pg_sys::Snapshot,
    life: PhantomData<&'s pg_sys::SnapshotData>,
}

impl ScanSnapshot<'_> {
    /// Raises "snapshot too old" if VACUUM may have removed rows from the page that this reader
    /// should see (old_snapshot_threshold).
    #[inline]
    pub fn check_age(self, rel: Rel, page: &Shared) {
        let header = (&raw const **page).cast();
        // SAFETY: the scan's snapshot lives during the scan; the page is locked.
        unsafe { compat::test_for_old_snapshot(self.snapshot, rel.raw(), header) };
    }
}

/// A bitmap of rows being collected.
pub struct Bitmap {
    raw: *mut pg_sys::TIDBitmap,
    batch: Vec<pg_sys::ItemPointerData>,
}

impl Bitmap {
    /// # Safety
    /// `raw` must be the bitmap that the server passes to amgetbitmap.
    #[inline]
    pub unsafe fn from_raw(raw: *mut pg_sys::TIDBitmap) -> Bitmap {
        Bitmap {
            raw,
            batch: Vec::new(),
        }
    }

    /// Adds rows; says whether the executor has to look at the conditions again.
    #[inline]
    pub fn add(&mut self, index: Rel, tids: &[Tid], recheck: bool, addresses: &mut RowAddresses) {
        self.batch.clear();
        for tid in tids {
            // With such an address the server would skip the row, or raise an internal error.
            addresses.check(index, *tid);
            if tid.offset > MAX_HEAP_OFFSET {
                damaged_address(index, *tid);
            }
            self.batch.push(tid_to(*tid));
        }
        // SAFETY: the bitmap is the server's; the array has this length.
        unsafe {
            pg_sys::tbm_add_tuples(
                self.raw,
                self.batch.as_mut_ptr(),
                self.batch.len() as i32,
                recheck,
            );
        }
    }
}

/// 64 random bits from the server's strong generator.
#[inline]
pub fn random_u64() -> u64 {
    let mut value = 0u64;
    // SAFETY: writes 8 bytes to a u64.
    let strong = unsafe { pg_sys::pg_strong_random((&raw mut value).cast(), size_of::<u64>()) };
    if !strong {
        crate::process::error::Error::new(
            pgrx::PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            "could not generate a random build stamp",
        )
        .raise();
    }
    value
}

//! A call of a trigger at the end of the running statement.

use pgrx::pg_sys;

use crate::process::memory::MemoryContext;

/// Called in an AFTER trigger of a statement: makes the statement fire the AFTER DELETE statement
/// triggers of this table, once it has fired all that it has to fire, as if it had deleted rows
/// there. Must not be called in a deferred trigger, which runs when no statement does.
pub fn fire_at_statement_end(table: pg_sys::Oid) {
    // SAFETY: the table is open while its event is queued, and locked until the transaction ends,
    // as the tables of a statement are; what the queue needs of it is copied. All that is allocated
    // is freed with the executor's state.
    unsafe {
        let opened = pg_sys::table_open(table, pg_sys::RowExclusiveLock as i32);
        let state = pg_sys::CreateExecutorState();
        MemoryContext::from_raw((*state).es_query_cxt).run(|| {
            let size = std::mem::size_of::<pg_sys::ResultRelInfo>();
            let deleted: *mut pg_sys::ResultRelInfo = pg_sys::palloc0(size).cast();
            pg_sys::InitResultRelInfo(deleted, opened, 1, std::ptr::null_mut(), 0);
            pg_sys::ExecASDeleteTriggers(state, deleted, std::ptr::null_mut());
        });
        pg_sys::FreeExecutorState(state);
        pg_sys::table_close(opened, pg_sys::NoLock as i32);
    }
}

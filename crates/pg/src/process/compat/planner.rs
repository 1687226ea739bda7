//! What differs between majors in the planner: its hook for relations, and fields of its structs.

use pgrx::{pg_guard, pg_sys};
use std::sync::OnceLock;

/// The id of a query, as pg_stat_activity shows it; signed from PostgreSQL 18 on.
#[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
pub type QueryId = u64;
/// The id of a query, as pg_stat_activity shows it; signed from PostgreSQL 18 on.
#[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
pub type QueryId = i64;

/// Makes the planner prefer every other path, even one that a setting like enable_seqscan = off
/// disables. Up to 17 such a setting only adds to a path's cost, so a high cost is enough.
///
/// # Safety
/// `path` must be what the planner passes to amcostestimate.
pub unsafe fn disable_path(path: *mut pg_sys::IndexPath) {
    /// More than a setting disables in a scan of one table.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
    const DISABLED: i32 = 2;
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
    unsafe {
        (*path).path.disabled_nodes = DISABLED;
    }
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
    let _ = path;
}

/// Called with the planner's state, a relation of its query, the table that it stands for, and
/// whether the table's children are scanned as well.
pub type RelationCallback =
    unsafe fn(*mut pg_sys::PlannerInfo, *mut pg_sys::RelOptInfo, pg_sys::Oid, bool);

/// Has the planner call `callback` for each table of a query, after it has collected what it knows
/// of the table and before it distributes the quals. PostgreSQL 19 has another hook for that than
/// the majors before it, which it calls for subqueries and functions as well. May be called once.
pub fn install_relation_hook(callback: RelationCallback) {
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    use pg_sys::{build_simple_rel_hook as hook, build_simple_rel_hook_type as Hook};
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    use pg_sys::{get_relation_info_hook as hook, get_relation_info_hook_type as Hook};
    static CALLBACK: OnceLock<RelationCallback> = OnceLock::new();
    static PREVIOUS: OnceLock<Hook> = OnceLock::new();

    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    #[pg_guard]
    unsafe extern "C-unwind" fn on_relation(
        root: *mut pg_sys::PlannerInfo,
        table: pg_sys::Oid,
        parent: bool,
        rel: *mut pg_sys::RelOptInfo,
    ) {
        // SAFETY: the arguments are the server's; another library's hook may raise an ERROR, which
        // the boundary turns into a panic that pg_guard turns back.
        unsafe {
            if let Some(Some(previous)) = PREVIOUS.get() {
                pg_sys::ffi::pg_guard_ffi_boundary(|| previous(root, table, parent, rel));
            }
            if let Some(callback) = CALLBACK.get() {
                callback(root, rel, table, parent);
            }
        }
    }
    #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18")))]
    #[pg_guard]
    unsafe extern "C-unwind" fn on_relation(
        root: *mut pg_sys::PlannerInfo,
        rel: *mut pg_sys::RelOptInfo,
        entry: *mut pg_sys::RangeTblEntry,
    ) {
        // SAFETY: as above; the entry is that of the relation in the range table.
        unsafe {
            if let Some(Some(previous)) = PREVIOUS.get() {
                pg_sys::ffi::pg_guard_ffi_boundary(|| previous(root, rel, entry));
            }
            let is_table = (*entry).rtekind == pg_sys::RTEKind::RTE_RELATION;
            if let (Some(callback), true) = (CALLBACK.get(), is_table) {
                callback(root, rel, (*entry).relid, (*entry).inh);
            }
        }
    }

    if CALLBACK.set(callback).is_ok() {
        // SAFETY: a backend is single-threaded; the server reads the variable only while planning.
        unsafe {
            let _ = PREVIOUS.set(hook);
            hook = Some(on_relation);
        }
    }
}

/// Returns how many elements the planner expects in an array.
///
/// # Safety
/// `root` must be the planner's state, and `array` a live expression of an array type.
pub unsafe fn array_length(root: *mut pg_sys::PlannerInfo, array: *mut pg_sys::Node) -> f64 {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    {
        let _ = root;
        // SAFETY: guaranteed by the caller.
        f64::from(unsafe { pg_sys::estimate_array_length(array) })
    }
    // SAFETY: guaranteed by the caller.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    unsafe {
        pg_sys::estimate_array_length(root, array)
    }
}

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

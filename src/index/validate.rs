//! Checking an operator class (amvalidate).

use pgrx::{pg_guard, pg_sys};

#[pg_guard]
pub unsafe extern "C-unwind" fn amvalidate(_class: pg_sys::Oid) -> bool {
    true
}

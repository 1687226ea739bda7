//! Noticing that a table was altered since something was remembered of it.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use pgrx::pg_sys;
use pgrx::prelude::*;

/// Is true until one of the tables is altered, or may have been.
pub struct Current(Rc<Cell<bool>>);

impl Current {
    pub fn is_current(&self) -> bool {
        self.0.get()
    }
}

struct Watched {
    tables: Vec<pg_sys::Oid>,
    current: Weak<Cell<bool>>,
}

thread_local! {
    /// None before the first watch: the callback is not registered yet.
    static WATCHED: RefCell<Option<Vec<Watched>>> = const { RefCell::new(None) };
}

/// Watches some tables, from now on.
pub fn watch(tables: &[pg_sys::Oid]) -> Current {
    let current = Rc::new(Cell::new(true));
    WATCHED.with_borrow_mut(|watched| {
        let list = watched.get_or_insert_with(|| {
            // SAFETY: registered once in a process, for good; the function is static.
            unsafe {
                pg_sys::CacheRegisterRelcacheCallback(Some(on_change), pg_sys::Datum::from(0usize));
            }
            Vec::new()
        });
        list.retain(|w| w.current.strong_count() > 0);
        list.push(Watched {
            tables: tables.to_vec(),
            current: Rc::downgrade(&current),
        });
    });
    Current(current)
}

/// The server says that a relation changed, or with an invalid OID that any may have.
#[pg_guard]
unsafe extern "C-unwind" fn on_change(_argument: pg_sys::Datum, table: pg_sys::Oid) {
    // Nothing above calls the server while it holds the list, but for the registration.
    WATCHED.with(|watched| {
        let Ok(watched) = watched.try_borrow() else {
            return;
        };
        for entry in watched.iter().flatten() {
            if (table == pg_sys::Oid::INVALID || entry.tables.contains(&table))
                && let Some(current) = entry.current.upgrade()
            {
                current.set(false);
            }
        }
    });
}

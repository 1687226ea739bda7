//! Noticing that a table was altered since something was remembered of it, or that names came to
//! mean something else.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use pgrx::pg_sys;
use pgrx::prelude::*;

/// Is true until one of the tables is altered, or may have been, or any schema or operator.
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
            let none = pg_sys::Datum::from(0usize);
            // SAFETY: registered once in a process, for good; the functions are static.
            unsafe {
                pg_sys::CacheRegisterRelcacheCallback(Some(on_change), none);
                for cache in [
                    pg_sys::SysCacheIdentifier::NAMESPACEOID,
                    pg_sys::SysCacheIdentifier::OPEROID,
                ] {
                    pg_sys::CacheRegisterSyscacheCallback(cache as i32, Some(on_rename), none);
                }
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
    outdate(table);
}

/// The server says that a schema or an operator was renamed, moved or dropped.
#[pg_guard]
unsafe extern "C-unwind" fn on_rename(_argument: pg_sys::Datum, _cache: i32, _hash: u32) {
    outdate(pg_sys::Oid::INVALID);
}

/// Marks what is remembered of a table, or with an invalid OID of all.
fn outdate(table: pg_sys::Oid) {
    WATCHED.with(|watched| {
        // Nothing above calls the server while it holds the list, but for the registration.
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

//! Tells whether what a session remembers of a table is still true: whether the table was altered,
//! or a name now means something else.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use pgrx::pg_sys;
use pgrx::prelude::*;

/// Is current until one of the watched tables, or any schema or operator, was altered or may have
/// been.
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

/// Starts to watch some tables.
pub fn watch(tables: &[pg_sys::Oid]) -> Current {
    let current = Rc::new(Cell::new(true));
    WATCHED.with_borrow_mut(|watched| {
        let list = watched.get_or_insert_with(|| {
            let none = pg_sys::Datum::from(0usize);
            // SAFETY: registered once in a process; the server never forgets them, and the
            // functions are static.
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

/// Called by the server when a relation has changed; an invalid OID means that any may have.
#[pg_guard]
unsafe extern "C-unwind" fn on_change(_argument: pg_sys::Datum, table: pg_sys::Oid) {
    outdate(table);
}

/// Called by the server when a schema or an operator was renamed, moved or dropped.
#[pg_guard]
unsafe extern "C-unwind" fn on_rename(_argument: pg_sys::Datum, _cache: i32, _hash: u32) {
    outdate(pg_sys::Oid::INVALID);
}

/// Marks as outdated what is remembered of a table; an invalid OID means all tables.
fn outdate(table: pg_sys::Oid) {
    WATCHED.with(|watched| {
        // The list is borrowed only by `watch`, which calls the server only to register: no
        // invalidation arrives meanwhile, and none is lost here.
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

//! Tells whether what a session remembers of a table is still true: whether the table was altered,
//! or a name now means something else.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use pgrx::pg_sys;
use pgrx::prelude::*;

/// Stays true until one of the watched tables or types, or any schema, operator or collation, was
/// altered or may have been.
pub struct Validity(Rc<Cell<bool>>);

impl Validity {
    /// Once false it stays so: what depends on it must be made again.
    pub fn is_valid(&self) -> bool {
        self.0.get()
    }

    /// Starts to watch some types too.
    pub fn watch_types(&self, types: &[pg_sys::Oid]) {
        self.watch_rows(TYPES, types);
    }

    /// Starts to watch a function too.
    pub fn watch_function(&self, function: pg_sys::Oid) {
        self.watch_rows(FUNCTIONS, &[function]);
    }

    fn watch_rows(&self, cache: Cache, oids: &[pg_sys::Oid]) {
        let none = pg_sys::Datum::null();
        let row = |&oid: &pg_sys::Oid| {
            // SAFETY: the cache has one key.
            let hash =
                unsafe { pg_sys::GetSysCacheHashValue(cache as i32, oid.into(), none, none, none) };
            (cache as i32, hash)
        };
        let entry = Watched {
            tables: Vec::new(),
            rows: oids.iter().map(row).collect(),
            current: Rc::downgrade(&self.0),
        };
        WATCHED.with_borrow_mut(|watched| {
            // Always: `watch` has made the list.
            if let Some(list) = watched {
                list.push(entry);
            }
        });
    }
}

struct Watched {
    tables: Vec<pg_sys::Oid>,
    /// Rows of system caches, as a cache and a hash value.
    rows: Vec<(i32, u32)>,
    current: Weak<Cell<bool>>,
}

type Cache = pg_sys::SysCacheIdentifier::Type;
const TYPES: Cache = pg_sys::SysCacheIdentifier::TYPEOID;
const FUNCTIONS: Cache = pg_sys::SysCacheIdentifier::PROCOID;

thread_local! {
    /// None before the first watch: the callback is not registered yet.
    static WATCHED: RefCell<Option<Vec<Watched>>> = const { RefCell::new(None) };
}

/// Starts to watch some tables.
pub fn watch(tables: &[pg_sys::Oid]) -> Validity {
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
                    pg_sys::SysCacheIdentifier::COLLOID,
                ] {
                    pg_sys::CacheRegisterSyscacheCallback(cache as i32, Some(on_rename), none);
                }
                for cache in [TYPES, FUNCTIONS] {
                    pg_sys::CacheRegisterSyscacheCallback(cache as i32, Some(on_row), none);
                }
            }
            Vec::new()
        });
        list.retain(|w| w.current.strong_count() > 0);
        list.push(Watched {
            tables: tables.to_vec(),
            rows: Vec::new(),
            current: Rc::downgrade(&current),
        });
    });
    Validity(current)
}

/// Called by the server when a relation has changed; an invalid OID means that any may have.
#[pg_guard]
unsafe extern "C-unwind" fn on_change(_argument: pg_sys::Datum, table: pg_sys::Oid) {
    mark_outdated(|entry| table == pg_sys::Oid::INVALID || entry.tables.contains(&table));
}

/// Called by the server when a type or a function was altered; zero means that any may have been.
/// Every CREATE TABLE makes types, so only those that are named anywhere count.
#[pg_guard]
unsafe extern "C-unwind" fn on_row(_argument: pg_sys::Datum, cache: i32, hash: u32) {
    mark_outdated(|entry| hash == 0 || entry.rows.contains(&(cache, hash)));
}

/// Called by the server when a schema, an operator or a collation was renamed, moved or dropped.
#[pg_guard]
unsafe extern "C-unwind" fn on_rename(_argument: pg_sys::Datum, _cache: i32, _hash: u32) {
    mark_outdated(|_| true);
}

/// Marks as outdated what an entry of the list stands for.
fn mark_outdated(concerns: impl Fn(&Watched) -> bool) {
    WATCHED.with(|watched| {
        // The list is borrowed only to add to it, and the server is called then only to register:
        // no invalidation arrives meanwhile, and none is lost here.
        let Ok(watched) = watched.try_borrow() else {
            return;
        };
        for entry in watched.iter().flatten() {
            if concerns(entry)
                && let Some(current) = entry.current.upgrade()
            {
                current.set(false);
            }
        }
    });
}

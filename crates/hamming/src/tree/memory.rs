//! An index in memory, for tests: a [`PageStore`] without a server. Other processes are a function
//! that runs where a search or an insert may be interrupted and no page is locked, and a crash is a
//! panic after some number of changes. There is one thread: a lock that would have to be waited for
//! is a panic, too.

use super::store::{Locked, PageImage, PageStore};
use crate::Error;
use crate::build::load::{BuildOptions, Loader};
use crate::check::pages::PageSource;
use crate::key::{Position, SPACES, Space};
use crate::page::meta::{META_BLOCK, Meta};
use crate::page::{PAGE_SIZE, Page};
use crate::search::directory::{CachedIndex, RecentBuffers, read_directory};
use crate::search::reader::IndexState;
use simhash_base::indexed_row::IndexedRow;
use simhash_base::indexed_row::Tid;
use std::cell::{Cell, RefCell};
use std::ops::{Deref, Range};
use std::panic::resume_unwind;
use std::rc::Rc;

/// What other processes do. They get the index, and return to whom they have interrupted.
type Others = Box<dyn FnMut(&Memory)>;

/// The pages of an index.
pub struct Memory {
    pages: RefCell<Vec<Rc<PageInMemory>>>,
    locked: Cell<usize>,
    others: RefCell<Option<Others>>,
    /// Changes until a crash; None: there is none.
    until_crash: Cell<Option<u32>>,
    /// What searches know of the index; None: they descend from the root each time.
    cached: RefCell<Option<Rc<CachedIndex>>>,
}

struct PageInMemory {
    bytes: RefCell<Box<Page>>,
    /// How many have locked it for reading; -1 if somebody has for writing.
    lock: Cell<i32>,
}

/// The payload of the panic that stands for a crash.
pub struct Crash;

/// A page that cannot go away.
pub struct Pinned<'m> {
    memory: &'m Memory,
    block: u32,
}

/// A page that is locked, with its bytes at that time: nobody else changes them.
pub struct LockedPage<'m> {
    memory: &'m Memory,
    page: Rc<PageInMemory>,
    bytes: Box<Page>,
}

impl Deref for LockedPage<'_> {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.bytes
    }
}

impl Drop for LockedPage<'_> {
    fn drop(&mut self) {
        let lock = &self.page.lock;
        lock.set(if lock.get() < 0 { 0 } else { lock.get() - 1 });
        self.memory.locked.set(self.memory.locked.get() - 1);
    }
}

impl Default for Memory {
    /// An index of no rows.
    fn default() -> Memory {
        Memory::of_rows(&[])
    }
}

impl Memory {
    /// An index of these rows as a build makes it.
    pub fn of_rows(rows: &[(Tid, IndexedRow)]) -> Memory {
        let mut pages: Vec<Page> = vec![[0; PAGE_SIZE]];
        let mut meta = Meta {
            stamp: 77,
            roots: [0; SPACES],
            levels: [0; SPACES],
            leaves: [0; SPACES],
            rows: 0,
            null_rows: 0,
        };
        for space in Space::all() {
            let filed = rows
                .iter()
                .filter(|(_, row)| row.fingerprint.is_none() == (space == Space::NULL));
            let mut keys: Vec<Position> = filed.map(|(tid, row)| space.key(*row, *tid)).collect();
            keys.sort_unstable();
            let options = BuildOptions { fillfactor: 90 };
            let mut loader = Loader::new(&mut pages, space, meta.page_stamp(), options);
            keys.into_iter().for_each(|key| loader.push(key));
            let loaded = loader.finish();
            meta.roots[space.index()] = loaded.root;
            meta.levels[space.index()] = loaded.level;
        }
        meta.init(&mut pages[0]);
        let page = |bytes: Page| {
            Rc::new(PageInMemory {
                bytes: RefCell::new(Box::new(bytes)),
                lock: Cell::new(0),
            })
        };
        Memory {
            pages: RefCell::new(pages.into_iter().map(page).collect()),
            locked: Cell::new(0),
            others: RefCell::default(),
            until_crash: Cell::new(None),
            cached: RefCell::default(),
        }
    }

    /// Remembers where the pages are now, as a session does.
    pub fn remember(&self) {
        let blocks = self.pages.borrow().len() as u32;
        let recent = Rc::new(RecentBuffers::new(blocks, 1 << 20, None));
        let directory = read_directory(self, &super::read_meta(self), recent);
        *self.cached.borrow_mut() = Some(Rc::new(CachedIndex::new(directory, None)));
    }

    /// Bytes of the copies of downlinks that searches have made.
    pub fn copied(&self) -> usize {
        self.cached
            .borrow()
            .as_ref()
            .map_or(0, |cached| cached.copied())
    }

    /// What a scan or an insert has to know at its start.
    pub fn state(&self) -> IndexState {
        IndexState::read(self, true, |_| self.cached.borrow().clone())
    }

    /// From now on others run wherever they can.
    pub fn interrupt_by(&self, others: impl FnMut(&Memory) + 'static) {
        *self.others.borrow_mut() = Some(Box::new(others));
    }

    /// Crashes after this many more changes.
    pub fn crash_after(&self, changes: u32) {
        self.until_crash.set(Some(changes));
    }

    /// Does not crash any more.
    pub fn never_crash(&self) {
        self.until_crash.set(None);
    }

    fn lock(&self, block: u32, change: impl FnOnce(i32) -> i32) -> LockedPage<'_> {
        let page = Rc::clone(&self.pages.borrow()[block as usize]);
        page.lock.set(change(page.lock.get()));
        self.locked.set(self.locked.get() + 1);
        let bytes = page.bytes.borrow().clone();
        LockedPage {
            memory: self,
            page,
            bytes,
        }
    }

    fn count_change(&self) {
        match self.until_crash.get() {
            Some(0) => {
                self.until_crash.set(None);
                resume_unwind(Box::new(Crash));
            }
            Some(left) => self.until_crash.set(Some(left - 1)),
            None => {}
        }
    }
}

impl PageSource for Memory {
    fn page(&self, block: u32) -> Option<Box<Page>> {
        let page = self.pages.borrow().get(block as usize).cloned();
        page.map(|page| page.bytes.borrow().clone())
    }
}

impl<'m> PageStore for &'m Memory {
    type Pinned = Pinned<'m>;
    type Shared = LockedPage<'m>;
    type Exclusive = LockedPage<'m>;

    fn pin(self, block: u32) -> Pinned<'m> {
        assert!((block as usize) < self.pages.borrow().len(), "no {block}");
        Pinned {
            memory: self,
            block,
        }
    }

    fn pin_recent(self, block: u32, _recent: &Cell<i32>) -> Pinned<'m> {
        self.pin(block)
    }

    fn pin_meta(self) -> Pinned<'m> {
        self.pin(META_BLOCK)
    }

    fn block(page: &Pinned<'m>) -> u32 {
        page.block
    }

    fn share(page: Pinned<'m>) -> LockedPage<'m> {
        page.memory.lock(page.block, |readers| {
            assert!(readers >= 0, "waits for itself: {}", page.block);
            readers + 1
        })
    }

    fn exclusive(page: Pinned<'m>) -> LockedPage<'m> {
        page.memory.lock(page.block, |readers| {
            assert_eq!(readers, 0, "waits for itself: {}", page.block);
            -1
        })
    }

    fn extend(self) -> Locked<LockedPage<'m>> {
        let block = self.pages.borrow().len() as u32;
        self.pages.borrow_mut().push(Rc::new(PageInMemory {
            bytes: RefCell::new(Box::new([0; PAGE_SIZE])),
            lock: Cell::new(0),
        }));
        Locked {
            block,
            page: Self::exclusive(self.pin(block)),
        }
    }

    fn change<const N: usize, R, E>(
        mut pages: [(&mut Locked<LockedPage<'m>>, PageImage); N],
        apply: impl FnOnce([&mut Page; N]) -> Result<R, E>,
    ) -> Result<R, E> {
        pages[0].0.page.memory.count_change();
        let mut copies = pages.each_ref().map(|(page, _)| page.page.bytes.clone());
        let result = apply(copies.each_mut().map(|copy| &mut **copy))?;
        for ((page, _), copy) in pages.iter_mut().zip(copies) {
            assert_eq!(page.page.page.lock.get(), -1, "changed without a lock");
            page.page.page.bytes.borrow_mut().clone_from(&copy);
            page.page.bytes = copy;
        }
        Ok(result)
    }

    fn patch<const BYTES: usize, const N: usize, const R: usize>(
        mut pages: [Locked<LockedPage<'m>>; N],
        mut apply: impl FnMut(usize, &mut Page) -> [Range<usize>; R],
    ) {
        pages[0].page.memory.count_change();
        for (i, page) in pages.iter_mut().enumerate() {
            let ranges = apply(i, &mut page.page.bytes);
            assert!(ranges.iter().map(|range| range.len()).sum::<usize>() <= BYTES);
            // What the ranges leave out would be lost in the log.
            let mut logged = page.page.page.bytes.borrow_mut();
            for range in ranges {
                logged[range.clone()].copy_from_slice(&page.page.bytes[range]);
            }
        }
    }

    fn read_ahead(self, _block: u32, _recent: &Cell<i32>) {}

    fn read_ahead_limit(self) -> usize {
        0
    }

    fn pages_read() -> i64 {
        0
    }

    fn warm<const N: usize>(_buffer: i32, _ranges: [Range<usize>; N]) {}

    fn check_for_interrupts(self) {
        if self.locked.get() > 0 {
            return;
        }
        let Some(mut others) = self.others.take() else {
            return;
        };
        others(self);
        *self.others.borrow_mut() = Some(others);
    }

    fn note_leaf(self, _space: Space, _leaf: &Locked<LockedPage<'m>>, _matches: usize) {}

    fn reserve_memory(self, _bytes: usize) -> bool {
        true
    }

    fn has_spare_memory(self, _bytes: usize) -> bool {
        true
    }

    fn raise(self, block: u32, error: &Error) -> ! {
        panic!("block {block}: {error}")
    }

    fn out_of_memory() -> ! {
        panic!("out of memory")
    }
}

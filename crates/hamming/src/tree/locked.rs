//! A locked page with its number. [`super::Tree`] makes them of the pages of a store; dropping one
//! unlocks the page.

use crate::page::Page;
use std::ops::Deref;

/// A page that is locked, as [`super::store::PageStore::Shared`] or [`super::store::PageStore::Exclusive`].
pub struct Locked<P> {
    /// Its number in the file.
    pub block: u32,
    /// The store's own handle.
    pub page: P,
}

impl<P: Deref<Target = Page>> Deref for Locked<P> {
    type Target = Page;

    #[inline]
    fn deref(&self) -> &Page {
        &self.page
    }
}

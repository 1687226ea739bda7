//! Reading a whole index: [`pages`] checks the structure of the trees, with [`downlinks`] for pages
//! that seem to have none and [`level_ahead`] for the pages to read next; [`key_comparison`]
//! compares two walks; [`census`] counts. Pages come from a [`page_source`]. simhash_index_verify
//! and simhash_index_stats call it. Nothing here changes a page.

pub mod census;
mod downlinks;
pub mod key_comparison;
pub mod level_ahead;
pub mod page_source;
pub mod pages;

#[cfg(test)]
mod tests;

//! Reading a whole index: [`pages`] checks the structure of the trees, [`walks`] compares two walks and
//! says which pages to read next, [`census`] counts. simhash_index_verify and simhash_index_stats call
//! it. Nothing here changes a page.

pub mod census;
pub mod pages;
pub mod walks;

#[cfg(test)]
mod tests;

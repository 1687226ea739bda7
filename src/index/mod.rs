//! The access method `simhash`.

#[cfg(feature = "server")]
pub fn init() {}

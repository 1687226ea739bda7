//! Pages of a relation: [`buffer`] pins and locks those in shared buffers, [`wal`] is the one way
//! to change them, [`bulk`] writes a whole fork past the buffer pool. What must not live here: what
//! the bytes mean.

pub mod buffer;
pub mod bulk;
pub mod wal;

//! Pages: in shared buffers, their changes in WAL, and whole forks written past the buffer pool.

pub mod buffer;
pub mod bulk;
pub mod wal;

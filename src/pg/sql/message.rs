//! The binary protocol's messages, for the send and receive functions of our types.

use pgrx::pg_sys;

/// A message being received.
pub struct MessageReader(pg_sys::StringInfo);

impl MessageReader {
    /// # Safety
    /// `raw` must be the message that the server passed to a receive function.
    pub unsafe fn new(raw: pg_sys::StringInfo) -> Self {
        MessageReader(raw)
    }

    /// The next 8 bytes; an ERROR when the message is too short.
    pub fn i64(&mut self) -> i64 {
        // SAFETY: contract of `new`.
        unsafe { pg_sys::pq_getmsgint64(self.0) }
    }

    /// The next 4 bytes; an ERROR when the message is too short.
    pub fn i32(&mut self) -> i32 {
        // SAFETY: contract of `new`.
        unsafe { pg_sys::pq_getmsgint(self.0, 4) as i32 }
    }
}

/// A message being sent.
pub struct Message(Vec<u8>);

impl Message {
    pub fn new() -> Self {
        Message(Vec::with_capacity(16))
    }

    pub fn i64(mut self, value: i64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn i32(mut self, value: i32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// The message as a bytea datum in the current memory context.
    pub fn into_bytea(self) -> pg_sys::Datum {
        pgrx::IntoDatum::into_datum(self.0).unwrap_or(pg_sys::Datum::from(0usize))
    }
}

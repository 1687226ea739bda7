//! The binary protocol's messages, for the send and receive functions of our types.

use super::fmgr::{Args, Returned};
use crate::process::error::Error;
use pgrx::PgSqlErrorCode::ERRCODE_INTERNAL_ERROR;
use pgrx::pg_sys;
use std::marker::PhantomData;

/// A message being received.
pub struct MessageReader<'a> {
    raw: pg_sys::StringInfo,
    life: PhantomData<&'a Args>,
}

impl<'a> MessageReader<'a> {
    /// The message that the server passes to a type's receive function. An ERROR when another of
    /// the server's callers passes the argument of type internal: a receive function is given three
    /// arguments, however many SQL declares.
    pub fn from_arguments(args: &'a Args) -> Self {
        if args.count() != 3 {
            Error::new(
                ERRCODE_INTERNAL_ERROR,
                "receive function called outside of the binary protocol",
            )
            .raise();
        }
        MessageReader {
            raw: args.internal(0),
            life: PhantomData,
        }
    }

    /// The next 8 bytes; an ERROR when the message is too short.
    pub fn i64(&mut self) -> i64 {
        // SAFETY: the running function is a receive function (`of`).
        unsafe { pg_sys::pq_getmsgint64(self.raw) }
    }

    /// The next 4 bytes; an ERROR when the message is too short.
    pub fn i32(&mut self) -> i32 {
        // SAFETY: the running function is a receive function (`of`).
        unsafe { pg_sys::pq_getmsgint(self.raw, 4) as i32 }
    }
}

/// A message being sent.
pub struct Message(Vec<u8>);

impl Message {
    /// An empty message.
    pub fn new() -> Self {
        Message(Vec::with_capacity(16))
    }

    /// Appends eight bytes in network order.
    pub fn i64(mut self, value: i64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// Appends four bytes in network order.
    pub fn i32(mut self, value: i32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }
}

impl Returned for Message {
    const TYPE: pg_sys::Oid = pg_sys::BYTEAOID;

    fn into_result(self) -> Option<pg_sys::Datum> {
        pgrx::IntoDatum::into_datum(self.0)
    }
}

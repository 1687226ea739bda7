//! Why a page cannot be used, a sample not be drawn, or a text is not a ball. The extension maps
//! these to SQLSTATEs (`src/errors.rs`).

use std::collections::TryReserveError;
use std::fmt;

/// Why a call gives no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A page is damaged; the text completes "block N: ...".
    Damaged(String),
    /// The metapage was written by another version of the extension; holds the format version that
    /// was found.
    OtherFormat(u32),
    /// The text is not `(centre,radius)` with a 64-bit and a 32-bit integer.
    BallSyntax(String),
    /// What is kept of a sample would take more bytes than allowed.
    SampleTooLarge,
    /// Two rows have the same key.
    SameKey,
    /// A hash has another number of parts than those before it, or none.
    PartCount {
        /// Parts of this hash.
        found: usize,
        /// Parts of those before it; 0 where there are none.
        expected: usize,
    },
    /// The system has no more memory.
    OutOfMemory,
}

impl Error {
    /// A page is damaged; `text` completes "block N: ...".
    pub fn damaged(text: impl Into<String>) -> Self {
        Error::Damaged(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Damaged(text) => f.write_str(text),
            Error::OtherFormat(found) => write!(f, "the index has format {found}"),
            Error::BallSyntax(text) => {
                write!(f, "invalid input syntax for type hamming_ball: \"{text}\"")
            }
            Error::SampleTooLarge => f.write_str("the sample and its pairs are too large"),
            Error::PartCount { found, expected } if found == expected => {
                f.write_str("a hash has no parts")
            }
            Error::PartCount { found, expected } => {
                write!(f, "hashes have {expected} and {found} parts")
            }
            Error::SameKey => f.write_str("two rows have the same key"),
            Error::OutOfMemory => f.write_str("out of memory"),
        }
    }
}

impl std::error::Error for Error {}

impl From<TryReserveError> for Error {
    fn from(_: TryReserveError) -> Self {
        Error::OutOfMemory
    }
}

//! Why a trigger refuses its arguments, or a shard. The extension maps it to an SQLSTATE
//! (`src/errors.rs`).

use std::fmt;

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The arguments in CREATE TRIGGER.
    Arguments,
    /// A shard of a distributed table, which cannot answer alone.
    Shard,
}

/// What is refused, as an error of the server says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Which SQLSTATE the error gets.
    pub refused: Refused,
    /// The message, in the style of the server's.
    pub message: String,
    /// The HINT line, if any.
    pub hint: Option<String>,
}

impl Error {
    /// Refuses the arguments.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            refused: Refused::Arguments,
            message: message.into(),
            hint: None,
        }
    }

    /// Refuses a shard.
    pub fn shard(message: impl Into<String>) -> Self {
        Self {
            refused: Refused::Shard,
            ..Self::new(message)
        }
    }

    /// Adds a HINT line.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

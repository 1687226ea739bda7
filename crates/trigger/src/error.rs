//! Why a trigger refuses its arguments, or a shard. The extension maps it to an SQLSTATE
//! (`src/errors.rs`).

use std::fmt;

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Arguments,
    Shard,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub refused: Refused,
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

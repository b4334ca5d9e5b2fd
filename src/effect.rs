//! What a core may ask of the reactor, and the answers: plain data, I/O only.
//!
//! No diff, tool or message is named here. A core hands out an [`Effect`]; `bridge` gives it to the
//! reactor and brings the [`Answer`] back to the core that asked.

use std::ffi::OsString;
use std::path::PathBuf;

/// One piece of I/O a core wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read a regular file whole.
    ReadFile {
        /// Taken literally: no expansion of `~`, `$` or `%`.
        path: PathBuf,
        /// Larger files are refused with [`FileError::TooBig`] before they are read.
        bytes_max: u64,
    },
    /// Start a program and forget it: no stdin, output discarded, own session, reaped on exit.
    Spawn(Command),
}

/// A program to start, without a shell between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments; never empty.
    pub argv: Vec<OsString>,
    /// Working folder; `None` keeps ours.
    pub cwd: Option<PathBuf>,
}

/// What came of an [`Effect`], variant for variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The file's bytes.
    File(Result<Vec<u8>, FileError>),
    /// Whether the program started; the error is one line for a person.
    Spawned(Result<(), String>),
}

/// Why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileError {
    /// Nothing stands at the path.
    NotFound,
    /// A folder stands at the path.
    IsFolder,
    /// A device, socket or FIFO stands at the path.
    NotRegular,
    /// The permissions forbid it.
    Denied,
    /// Longer than the caller allowed.
    TooBig {
        /// Its length in bytes.
        bytes: u64,
    },
    /// Anything else, as the system words it.
    Other(String),
}

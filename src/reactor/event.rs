//! What the loop tells the house, and the names of the things it tells of.
//!
//! Events are plain values; only [`Event::Data`] lends memory of the reactor. Every id carries a
//! generation: one whose entry is gone names nothing, and a call with it does nothing.

use std::{fmt, io, net::SocketAddr};

use super::phase::Phase;
use super::sys::{Exit, Signal};
use crate::effect::FileError;
use crate::stdx::slots::Key;

/// Whom an event is for; small and copied with each event.
pub trait Tag: Copy + fmt::Debug {}

/// A connected byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub(super) Key);

/// A listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub(super) Key);

/// A running child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub(super) Key);

/// An armed timer; names nothing once a one-shot timer fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub(super) Key);

/// A started idle, prepare or check handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhaseId(pub(super) Key);

/// A handle whose closing is told by [`Event::HandleClosed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleId {
    /// A timer.
    Timer(TimerId),
    /// An idle, prepare or check handle.
    Phase(PhaseId),
}

/// Why bytes that were queued, or a half-close, came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteError {
    /// The stream was closed before they were written.
    Cancelled,
    /// They were queued after [`super::Reactor::shutdown_write`].
    ShutDown,
    /// The system refused them; [`Event::Failed`] tells the error itself.
    Failed(io::ErrorKind),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Cancelled => f.write_str("the stream was closed first"),
            WriteError::ShutDown => f.write_str("the sending side is shut down"),
            WriteError::Failed(kind) => write!(f, "{kind}"),
        }
    }
}

impl std::error::Error for WriteError {}

/// One thing that happened. `owner` is the tag given when the source was made.
#[derive(Debug)]
pub enum Event<'a, T> {
    /// A connection came in; it belongs to the listener's owner until `set_owner`.
    Accepted {
        /// The listener's owner.
        owner: T,
        /// The new stream.
        stream: StreamId,
        /// The other end's address.
        peer: SocketAddr,
    },
    /// A connection could not be taken. Out of descriptors: all that waited were closed.
    AcceptFailed {
        /// The listener's owner.
        owner: T,
        /// What accepting gave.
        error: io::Error,
    },
    /// Bytes arrived; they are valid until the next call of `next`.
    Data {
        /// The stream's owner.
        owner: T,
        /// Where they came from.
        stream: StreamId,
        /// At least one byte, at most [`super::READ_BYTES_MAX`].
        bytes: &'a mut [u8],
    },
    /// Bytes arrived in the buffer given to `fill`; that order is done with this event.
    Filled {
        /// The stream's owner.
        owner: T,
        /// Where they came from.
        stream: StreamId,
        /// The buffer, with what it held before.
        buffer: Vec<u8>,
        /// Index of the first new byte; `fresh_from < buffer.len()`.
        fresh_from: usize,
    },
    /// The peer will send nothing more. Told once; not told after `Failed`.
    End {
        /// The stream's owner.
        owner: T,
        /// The stream, still open for writing.
        stream: StreamId,
    },
    /// Reading or writing failed for good. Told once; the house then closes the stream.
    Failed {
        /// The stream's owner.
        owner: T,
        /// The stream; nothing more is read from it or written to it.
        stream: StreamId,
        /// The system's error.
        error: io::Error,
    },
    /// All bytes queued before the mark were handed to the system, or never will be.
    Written {
        /// The stream's owner.
        owner: T,
        /// The stream.
        stream: StreamId,
        /// As given to `mark`.
        mark: u64,
        /// Whether they left.
        result: Result<(), WriteError>,
    },
    /// The write queue had risen above `queue_high_bytes` and is now below `queue_low_bytes`.
    Drained {
        /// The stream's owner.
        owner: T,
        /// The stream.
        stream: StreamId,
    },
    /// The half-close asked for by `shutdown_write` was done, after all queued bytes.
    ShutDown {
        /// The stream's owner.
        owner: T,
        /// The stream.
        stream: StreamId,
        /// Whether it was done.
        result: Result<(), WriteError>,
    },
    /// The last word of a stream; its id names nothing from now on.
    Closed {
        /// The stream's owner.
        owner: T,
        /// The stream that was.
        stream: StreamId,
    },
    /// The last word of a timer or phase handle that was closed, not just stopped.
    HandleClosed {
        /// The handle's owner.
        owner: T,
        /// The handle that was.
        handle: HandleId,
    },
    /// A timer fired.
    Timer {
        /// The timer's owner.
        owner: T,
        /// The timer; still armed if it repeats.
        timer: TimerId,
    },
    /// An idle, prepare or check handle runs.
    Phase {
        /// The handle's owner.
        owner: T,
        /// Which phase the turn is in.
        phase: Phase,
        /// The handle.
        id: PhaseId,
    },
    /// The poll asked for by `after_next_poll` is over.
    AfterPoll {
        /// Who asked.
        owner: T,
    },
    /// The process was sent a signal.
    Signal {
        /// Who watches.
        owner: T,
        /// Which one.
        signal: Signal,
    },
    /// A waker was rung, once or several times.
    Woken {
        /// The waker's owner.
        owner: T,
    },
    /// A child ended and was reaped.
    Exited {
        /// The process's owner.
        owner: T,
        /// The process that was.
        process: ProcessId,
        /// How it ended.
        status: Exit,
    },
    /// The answer to `read_file`.
    File {
        /// Who asked.
        owner: T,
        /// The bytes, or why not.
        result: Result<Vec<u8>, FileError>,
    },
}

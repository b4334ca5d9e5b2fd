//! Who an event of the reactor is for.
//!
//! The tag the reactor carries and never looks into. Keys and call ids never come back, so an event
//! for an owner that is gone finds nobody and is dropped.

use crate::mcp::call::CallId;
use crate::reactor::Tag;
use crate::stdx::slots::Key;

/// The owner of a handle in the reactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The one listening socket.
    Door,
    /// A client's socket and its deadline.
    Client(Key),
    /// The second look at a client whose queue stands still.
    Stall(Key),
    /// I/O that a call waits for.
    Call(CallId),
    /// The person's editor, started to show a file.
    OpenCommand,
    /// The bridge itself.
    Chore(Chore),
}

/// What the bridge does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chore {
    /// SIGINT, SIGTERM, SIGHUP.
    Signals,
    /// One tick of the keep-alive, for all clients.
    KeepAlive,
    /// The nearest deadline of a tool.
    Tools,
    /// The nearest deadline of a mention.
    Mentions,
    /// The lock file is written anew before readers take it for a dead one.
    Refresh,
    /// The last moment of an orderly stop.
    Stop,
}

impl Tag for Owner {}

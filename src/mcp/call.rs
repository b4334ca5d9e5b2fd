//! Who calls, and which call it is.

use std::fmt;

/// One connected client; numbers never repeat in a process. Printed `client_<n>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

impl fmt::Display for ClientId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "client_{}", self.0)
    }
}

/// One `tools/call` in flight; never repeats in a process. Not the JSON-RPC id, which tools never see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    /// Whose call it is; everything the call holds goes with the client.
    pub client: ClientId,
    /// Counts the client's calls.
    pub serial: u64,
}

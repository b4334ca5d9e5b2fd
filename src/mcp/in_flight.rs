//! The calls of one client that wait for their tools.
//!
//! At most a hundred or so, so they stand in a plain list; ids are compared as values.

use crate::proto::jsonrpc::id::{Id, OwnedId};
use crate::stdx::Millis;

use super::call::{CallId, ClientId};

/// One `tools/call` that was handed out and not answered.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) call: CallId,
    /// The request's id, to answer under.
    pub(super) id: OwnedId,
    pub(super) tool: &'static str,
    pub(super) is_held: bool,
    pub(super) started: Millis,
}

/// The table. Invariant: no two calls share an id; how many there may be is the door's to say.
#[derive(Debug)]
pub(super) struct InFlight {
    client: ClientId,
    calls: Vec<Call>,
    next_serial: u64,
}

impl InFlight {
    pub(super) fn new(client: ClientId) -> InFlight {
        InFlight { client, calls: Vec::new(), next_serial: 0 }
    }

    /// Adds a call under an id that is not in use.
    pub(super) fn start(
        &mut self,
        id: Id<'_>,
        tool: &'static str,
        is_held: bool,
        now: Millis,
    ) -> CallId {
        debug_assert!(!self.has(id));
        let call = CallId { client: self.client, serial: self.next_serial };
        self.next_serial += 1;
        self.calls.push(Call { call, id: id.to_owned(), tool, is_held, started: now });
        call
    }

    pub(super) fn has(&self, id: Id<'_>) -> bool {
        self.calls.iter().any(|call| call.id.get() == id)
    }

    /// How many calls of held tools, or of the others, wait.
    pub(super) fn count(&self, is_held: bool) -> usize {
        self.calls.iter().filter(|call| call.is_held == is_held).count()
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Takes a call out once its tool is done.
    pub(super) fn remove(&mut self, call: CallId) -> Option<Call> {
        let index = self.calls.iter().position(|open| open.call == call)?;
        Some(self.calls.swap_remove(index))
    }

    /// Takes a call out because its client gave it up.
    pub(super) fn cancel(&mut self, id: Id<'_>) -> Option<Call> {
        let index = self.calls.iter().position(|open| open.id.get() == id)?;
        Some(self.calls.swap_remove(index))
    }
}

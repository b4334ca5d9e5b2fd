//! An agent on the IDE door: its MCP server, and the gate before which it is deaf.
//!
//! Claude Code loses notifications that come too early after its `ide_connected`, so they are held
//! back until the gate opens. A client that never says it is ready gets none.

use std::collections::VecDeque;

use serde_json::value::RawValue;

use super::session::Work;
use crate::mcp::call::ClientId;
use crate::mcp::{Output, Server};
use crate::proto::ws::connection::Connection;
use crate::stdx::Millis;

/// The real client is deaf to notifications in the first ~100 ms after its `ide_connected`; five
/// times that on a busy machine.
const GATE_AFTER_CONNECTED_MS: Millis = 500;

/// The same for a client that never sends `ide_connected`, from its `notifications/initialized`.
const GATE_AFTER_INITIALIZED_MS: Millis = 1_000;

<<<<<<< HEAD
/// What speaks MCP on the IDE door.
=======
/// A client that leaves more than this queued is not read from until it reads: two full tool results.
pub const QUEUE_HIGH_BYTES: usize = 4 << 20;

/// Below this the client is read from again, and told again what happens.
pub const QUEUE_LOW_BYTES: usize = 1 << 20;

/// The client's session on this door.
>>>>>>> house
#[derive(Debug)]
pub(super) struct Agent {
    client: ClientId,
    pub(super) server: Server,
<<<<<<< HEAD
=======
    /// From the moment the 101 is written.
    pub(super) keepalive: Option<KeepAlive>,
    /// A notification was held back, since too much was unread already.
    pub(super) is_behind: bool,
>>>>>>> house
    gate: Gate,
}

/// When notifications may flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Shut,
    OpensAt { due: Millis, after_connected: bool },
    Open,
}

<<<<<<< HEAD
impl Agent {
    pub(super) fn new(client: ClientId, server: Server) -> Agent {
        Agent { client, server, gate: Gate::Shut }
=======
/// What the tools layer must do for a client.
#[derive(Debug)]
pub enum Work {
    /// Start a tool.
    Call {
        /// Answered by [`super::client::Client::complete`], exactly once.
        call: CallId,
        /// A tool of the door.
        tool: &'static str,
        /// Checked against the tool's schema.
        arguments: serde_json::Map<String, Value>,
    },
    /// Nobody waits for the call any more.
    Cancel {
        /// The call, which must not be answered.
        call: CallId,
    },
    /// Notifications may flow from now on, for the first time or again: send what holds now.
    GateOpened,
}

/// Why [`Session::receive`] came back.
#[derive(Debug)]
pub(super) enum Stop {
    /// The input is used up.
    Dry,
    /// A call wants starting before the messages behind it are looked at.
    Called,
    /// The client must read first: its queue is above the mark.
    Crowded,
    /// The client sent its Close frame; ours is queued.
    Closed(CloseFrame),
    /// The client broke the protocol; our Close frame is queued.
    Failed(PeerError),
}

impl Session {
    pub(super) fn new(client: ClientId, connection: Connection, server: Server) -> Session {
        let gate = Gate::Shut;
        Session { client, connection, server, keepalive: None, is_behind: false, gate }
    }

    /// Runs the messages in `input`, one at a time, until there is a reason to stop. An unparsed
    /// rest is kept.
    pub(super) fn receive(
        &mut self,
        mut input: Input<'_>,
        queued: usize,
        now: Millis,
        work: &mut VecDeque<Work>,
    ) -> Stop {
        loop {
            match self.connection.receive(&mut input) {
                None => return Stop::Dry,
                Some(Event::Text(text)) => self.server.handle_message(text, now),
                Some(Event::Close(frame)) => return Stop::Closed(frame),
                Some(Event::Failed(error)) => return Stop::Failed(error),
                Some(Event::Binary(_) | Event::Ping(_) | Event::Pong) => {}
            }
            if let Some(stop) = self.after_message(queued, now, work) {
                self.connection.keep(input);
                return stop;
            }
        }
    }

    /// The same for bytes that went straight into the buffer of an unfinished message.
    pub(super) fn receive_filled(
        &mut self,
        buffer: Vec<u8>,
        fresh_from: usize,
        queued: usize,
        now: Millis,
        work: &mut VecDeque<Work>,
    ) -> Stop {
        match self.connection.receive_filled(buffer, fresh_from) {
            Some(Event::Text(text)) => self.server.handle_message(text, now),
            Some(Event::Close(frame)) => return Stop::Closed(frame),
            Some(Event::Failed(error)) => return Stop::Failed(error),
            None | Some(Event::Binary(_) | Event::Ping(_) | Event::Pong) => {}
        }
        self.after_message(queued, now, work).unwrap_or(Stop::Dry)
    }

    /// Takes what the server wants done; says whether reading must pause.
    fn after_message(
        &mut self,
        queued: usize,
        now: Millis,
        work: &mut VecDeque<Work>,
    ) -> Option<Stop> {
        let has_called = self.take_outputs(now, work);
        if has_called {
            Some(Stop::Called)
        } else if queued + self.connection.queued() > QUEUE_HIGH_BYTES {
            Some(Stop::Crowded)
        } else {
            None
        }
>>>>>>> house
    }

    /// Moves the server's outputs on; true when a call or a cancellation waits in `work`.
    pub(super) fn take_outputs(
        &mut self,
        connection: &mut Connection,
        now: Millis,
        work: &mut VecDeque<Work>,
    ) -> bool {
        let mut has_called = false;
        while let Some(output) = self.server.poll_output() {
            match output {
                Output::Send(body) => connection.send_text_owned(body),
                Output::Call { call, tool, arguments } => {
                    has_called = true;
                    work.push_back(Work::Call { call, tool, arguments });
                }
                Output::Cancelled { call } => {
                    has_called = true;
                    work.push_back(Work::Cancel { call });
                }
                Output::Initialized => self.open_gate_at(now + GATE_AFTER_INITIALIZED_MS, false),
                Output::Notification { method, params } => {
                    self.handle_notification(&method, params.as_deref(), now);
                }
            }
        }
        has_called
    }

    fn handle_notification(&mut self, method: &str, params: Option<&RawValue>, now: Millis) {
        if method == "ide_connected" {
            self.open_gate_at(now + GATE_AFTER_CONNECTED_MS, true);
        } else {
            let len = params.map_or(0, |params| params.get().len());
            log::debug!("{}: notification {method:?} params={len}B ignored", self.client);
        }
    }

    /// `ide_connected` wins over `initialized`, whichever came first.
    fn open_gate_at(&mut self, due: Millis, after_connected: bool) {
        match self.gate {
            Gate::Shut => self.gate = Gate::OpensAt { due, after_connected },
            Gate::OpensAt { after_connected: false, .. } if after_connected => {
                self.gate = Gate::OpensAt { due, after_connected };
            }
            Gate::OpensAt { .. } | Gate::Open => {}
        }
    }

    /// When the gate opens, while it is due to.
    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        match self.gate {
            Gate::OpensAt { due, .. } => Some(due),
            Gate::Shut | Gate::Open => None,
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Millis, work: &mut VecDeque<Work>) {
        if self.poll_timeout().is_some_and(|due| now >= due) {
            self.gate = Gate::Open;
            work.push_back(Work::GateOpened);
        }
    }

    pub(super) fn is_gate_open(&self) -> bool {
        self.gate == Gate::Open
    }
}

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

/// What speaks MCP on the IDE door.
#[derive(Debug)]
pub(super) struct Agent {
    client: ClientId,
    pub(super) server: Server,
    gate: Gate,
}

/// When notifications may flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Shut,
    OpensAt { due: Millis, after_connected: bool },
    Open,
}

impl Agent {
    pub(super) fn new(client: ClientId, server: Server) -> Agent {
        Agent { client, server, gate: Gate::Shut }
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

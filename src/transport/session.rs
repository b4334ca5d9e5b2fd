//! One connected WebSocket: the connection, and whoever speaks on it.
//!
//! An agent on the IDE door and a verb of the command line on the control door differ in what their
//! messages mean; framing, back-pressure and the order of answers are the same and stand here. What
//! ends the session is told to [`super::client`], which sees it off.

use std::collections::VecDeque;

use serde_json::Value;

use super::control::{self, Control};
use super::ide::Agent;
use crate::mcp::call::CallId;
use crate::proto::ws::close::CloseFrame;
use crate::proto::ws::connection::{Connection, Event, Input};
use crate::proto::ws::error::PeerError;
use crate::proto::ws::keepalive::KeepAlive;
use crate::stdx::Millis;

/// A client that leaves more than this queued is not read from until it reads: two full tool results.
pub const QUEUE_HIGH_BYTES: usize = 4 << 20;

/// Below this the client is read from again.
pub const QUEUE_LOW_BYTES: usize = 1 << 20;

/// A connection and its speaker.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) connection: Connection,
    /// From the moment the 101 is written.
    pub(super) keepalive: Option<KeepAlive>,
    /// A notification was held back because the client leaves too much unread.
    pub(super) is_behind: bool,
    pub(super) speaker: Speaker,
}

/// Who speaks.
#[derive(Debug)]
pub(super) enum Speaker {
    Agent(Box<Agent>),
    Control(Control),
}

/// What the house must do for a client.
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
    /// Notifications may flow from now on, or flow again: tell what holds now.
    GateOpened,
    /// A verb of the command line asks.
    Control {
        /// Answered by [`super::client::Client::answer`], exactly once.
        ticket: control::Ticket,
        /// What it asks.
        request: control::Request,
    },
}

/// Why [`Session::receive`] came back.
#[derive(Debug)]
pub(super) enum Stop {
    /// The input is used up.
    Dry,
    /// Something wants doing before the messages behind it are looked at.
    Called,
    /// The client must read first: its queue is above the mark.
    Crowded,
    /// The client sent its Close frame; ours is queued.
    Closed(CloseFrame),
    /// The client broke the protocol; our Close frame is queued.
    Failed(PeerError),
}

impl Session {
    pub(super) fn new(connection: Connection, speaker: Speaker) -> Session {
        Session { connection, keepalive: None, is_behind: false, speaker }
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
                Some(Event::Text(text)) => self.speaker.hear(text, now),
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
            Some(Event::Text(text)) => self.speaker.hear(text, now),
            Some(Event::Close(frame)) => return Stop::Closed(frame),
            Some(Event::Failed(error)) => return Stop::Failed(error),
            None | Some(Event::Binary(_) | Event::Ping(_) | Event::Pong) => {}
        }
        self.after_message(queued, now, work).unwrap_or(Stop::Dry)
    }

    /// Takes what the speaker wants done; says whether reading must pause.
    fn after_message(
        &mut self,
        queued: usize,
        now: Millis,
        work: &mut VecDeque<Work>,
    ) -> Option<Stop> {
        if self.take_outputs(now, work) {
            Some(Stop::Called)
        } else if queued + self.connection.queued() > QUEUE_HIGH_BYTES {
            Some(Stop::Crowded)
        } else {
            None
        }
    }

    /// Moves the speaker's outputs on; true when work waits that goes before the next message.
    pub(super) fn take_outputs(&mut self, now: Millis, work: &mut VecDeque<Work>) -> bool {
        match &mut self.speaker {
            Speaker::Agent(agent) => agent.take_outputs(&mut self.connection, now, work),
            Speaker::Control(control) => control.take_outputs(&mut self.connection, work),
        }
    }

    /// The agent, if that is who speaks.
    pub(super) fn agent(&self) -> Option<&Agent> {
        match &self.speaker {
            Speaker::Agent(agent) => Some(agent),
            Speaker::Control(_) => None,
        }
    }

    /// The agent, if that is who speaks.
    pub(super) fn agent_mut(&mut self) -> Option<&mut Agent> {
        match &mut self.speaker {
            Speaker::Agent(agent) => Some(agent),
            Speaker::Control(_) => None,
        }
    }
}

impl Speaker {
    fn hear(&mut self, text: &str, now: Millis) {
        match self {
            Speaker::Agent(agent) => agent.server.handle_message(text, now),
            Speaker::Control(control) => control.handle_message(text),
        }
    }
}

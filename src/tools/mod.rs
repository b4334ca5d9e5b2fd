//! The catalogue of tools, and the core that runs their calls.
//!
//! [`TOOLS`] is the one list: what clients are told ([`IDE`]) and what runs is read from it. A
//! call goes in with [`Tools::start`]; questions and results come out of [`Tools::poll_output`];
//! answers go back in with [`Tools::answer`]. What a tool asks is done by whoever owns the cores
//! and the reactor; a tool never learns how. It sees no JSON-RPC id and no transport.
//!
//! Every call ends once: finished, or given up by cancel or with its client. When a question is
//! given up that the house already works on, [`Output::Abandoned`] says so.

pub mod args;
pub mod ask;
pub mod mailbox;
pub mod tool;
pub mod view;

mod catalogue;
mod coroutine;
mod diagnostics;
mod diff;
mod documents;
mod open_file;
mod result;
mod selection;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use crate::mcp::call::{CallId, ClientId};
use crate::mcp::content::{Content, Outcome, ToolResult};
use crate::mcp::tool::Descriptor;
use crate::stdx::Millis;
use crate::tools::args::Args;
use crate::tools::coroutine::{Call, Step, guarded};
use crate::tools::tool::{Handler, Tool};
use crate::tools::view::View;

pub use crate::tools::ask::{Lost, Reply, Request};

/// Every tool there is, in the order clients list them.
pub static TOOLS: &[Tool] = &catalogue::IDE_TOOLS;

/// What clients of the IDE door are told.
pub static IDE: &[Descriptor] = &catalogue::IDE_DESCRIPTORS;

/// Most calls in flight for all clients together; one client is bounded before, by the protocol
/// layer. Beyond it a call fails at once.
pub const CALLS_MAX: usize = 4_096;

/// The tools as a table for the README.
pub fn markdown_table() -> String {
    let mut text = String::from("| tool | what it does |\n|---|---|\n");
    for row in TOOLS {
        text += &format!("| `{}` | {} |\n", row.descriptor.name, row.descriptor.description);
    }
    text
}

/// What comes out of the core.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// A call ended; this is what its client gets.
    Finished {
        /// Which call.
        call: CallId,
        /// Its result, or that the tool broke.
        outcome: Outcome,
    },
    /// A call asks, and goes on when it is answered. One question a call at a time.
    Ask {
        /// Which call; the answer is given under its name.
        call: CallId,
        /// What it asks.
        request: Request,
    },
    /// The question that this call asked is given up: drop what works on it and whatever it
    /// holds (effects, a waiting diff). The call may go on to another question.
    Abandoned {
        /// Which call.
        call: CallId,
    },
}

/// Runs the calls.
#[derive(Debug)]
pub struct Tools {
    table: &'static [Tool],
    /// Invariant: each one waits for the reply to one question.
    calls: BTreeMap<CallId, Call>,
    /// Invariant: exactly the deadlines of `calls`.
    deadlines: BTreeSet<(Millis, CallId)>,
    outputs: VecDeque<Output>,
}

impl Default for Tools {
    fn default() -> Self {
        Tools::new()
    }
}

impl Tools {
    /// Runs the tools of [`TOOLS`].
    pub fn new() -> Tools {
        Tools::of(TOOLS)
    }

    fn of(table: &'static [Tool]) -> Tools {
        let (calls, deadlines) = (BTreeMap::new(), BTreeSet::new());
        Tools { table, calls, deadlines, outputs: VecDeque::new() }
    }

    /// Starts a call. The protocol layer let it through: the tool is in the catalogue and the
    /// arguments fit its schema.
    ///
    /// # Panics
    /// When `call` is in flight already: names of calls never repeat.
    pub fn start(
        &mut self,
        call: CallId,
        tool: &str,
        arguments: Map<String, Value>,
        view: &View<'_>,
        now: Millis,
    ) {
        assert!(!self.calls.contains_key(&call));
        let Some(row) = self.table.iter().find(|row| row.descriptor.name == tool) else {
            log::error!("{}: a call of no tool in the catalogue was let through", call.client);
            return self.finish(call, Outcome::Internal("no such tool".into()));
        };
        let name = row.descriptor.name;
        log::debug!("{}: {name} starts, {} arguments", call.client, arguments.len());
        let args = Args::new(arguments);
        match row.handler {
            Handler::Now(handler) => match guarded(|| handler(&args, view)) {
                Some(result) => self.end(call, name, result, 0),
                None => self.broke(call, name),
            },
            Handler::Later(_) if self.calls.len() == CALLS_MAX => {
                let failure = format!("{CALLS_MAX} calls are in flight already; try again later");
                self.end(call, name, ToolResult::error(failure), 0);
            }
            Handler::Later(handler) => match Call::new(name, handler, args, view, now) {
                Some(state) => self.advance(call, state, now),
                None => self.broke(call, name),
            },
        }
    }

    /// Brings the reply to the question a call asked. A reply nobody waits for, or one that
    /// answers no question of its kind, is ignored.
    pub fn answer(&mut self, call: CallId, reply: Reply, now: Millis) {
        let waits = self.calls.get(&call).is_some_and(|state| state.is_handed_out);
        if !waits {
            log::debug!("{}: a reply came after its question was given up", call.client);
            return;
        }
        self.resume(call, reply, now);
    }

    /// Gives up a call; no result comes out for it. A call that is not in flight is ignored.
    pub fn cancel(&mut self, call: CallId) {
        self.outputs.retain(|output| !output.is_void_without(call));
        let Some(state) = self.remove(call) else { return };
        log::debug!("{}: {} is given up", call.client, state.tool);
        if state.is_handed_out {
            self.outputs.push_back(Output::Abandoned { call });
        }
    }

    /// Gives up every call of a client.
    pub fn client_gone(&mut self, client: ClientId) {
        self.outputs.retain(|output| {
            let call = output.call();
            call.client != client || !output.is_void_without(call)
        });
        let own = CallId { client, serial: 0 }..=CallId { client, serial: u64::MAX };
        let calls: Vec<CallId> = self.calls.range(own).map(|(&call, _)| call).collect();
        for call in calls {
            self.cancel(call);
        }
    }

    /// Gives up the questions whose deadline has come.
    pub fn handle_timeout(&mut self, now: Millis) {
        // A tool told so may ask anew; its next deadline lies in the future.
        while let Some(&(deadline, call)) = self.deadlines.first() {
            if deadline > now {
                return;
            }
            self.give_up(call, now);
        }
    }

    /// When [`Tools::handle_timeout`] is next due.
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// What came out since; drain it after every input.
    pub fn poll_output(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front()?;
        if let Output::Ask { call, .. } = &output {
            let asking = self.calls.get_mut(call).expect("a question leaves with its call");
            asking.is_handed_out = true;
        }
        Some(output)
    }

    /// How many calls are in flight.
    pub fn in_flight(&self) -> usize {
        self.calls.len()
    }

    fn give_up(&mut self, call: CallId, now: Millis) {
        let state = self.calls.get_mut(&call).expect("a deadline belongs to a call in flight");
        log::debug!("{}: {} got no answer in time", call.client, state.tool);
        self.outputs.retain(|output| !output.is_void_without(call));
        if state.is_handed_out {
            self.outputs.push_back(Output::Abandoned { call });
        }
        self.resume(call, Reply::Lost(Lost::TimedOut), now);
    }

    fn resume(&mut self, call: CallId, reply: Reply, now: Millis) {
        let state = self.remove(call).expect("a call that waits is in flight");
        state.put_reply(reply);
        self.advance(call, state, now);
    }

    /// Steps a call that is out of the table, and puts it back unless it ended.
    fn advance(&mut self, call: CallId, mut state: Call, now: Millis) {
        match state.step() {
            Step::Finished(result) => {
                self.end(call, state.tool, result, now.saturating_sub(state.started_at));
            }
            Step::Broke => self.broke(call, state.tool),
            Step::Waiting => {
                log::error!("{}: {} was told what it did not ask", call.client, state.tool);
                self.insert(call, state);
            }
            Step::Asked(question) => {
                state.deadline = question.deadline_ms.map(|wait| now.saturating_add(wait));
                state.is_handed_out = false;
                self.insert(call, state);
                self.outputs.push_back(Output::Ask { call, request: question.request });
            }
        }
    }

    fn insert(&mut self, call: CallId, state: Call) {
        self.deadlines.extend(state.deadline.map(|deadline| (deadline, call)));
        let before = self.calls.insert(call, state);
        assert!(before.is_none());
        assert!(self.deadlines.len() <= self.calls.len());
    }

    fn remove(&mut self, call: CallId) -> Option<Call> {
        let state = self.calls.remove(&call)?;
        if let Some(deadline) = state.deadline {
            let was_there = self.deadlines.remove(&(deadline, call));
            assert!(was_there);
        }
        Some(state)
    }

    fn end(&mut self, call: CallId, tool: &str, result: ToolResult, took_ms: Millis) {
        let bytes: usize = result.content.iter().map(|Content::Text(text)| text.len()).sum();
        log::debug!(
            "{}: {tool} ends after {took_ms} ms, {bytes} bytes, is_error={}",
            call.client,
            result.is_error
        );
        self.finish(call, Outcome::Result(result));
    }

    fn broke(&mut self, call: CallId, tool: &str) {
        log::error!("{}: {tool} broke; its call fails, the others go on", call.client);
        self.finish(call, Outcome::Internal(format!("internal error in {tool}")));
    }

    fn finish(&mut self, call: CallId, outcome: Outcome) {
        self.outputs.push_back(Output::Finished { call, outcome });
    }
}

impl Output {
    fn call(&self) -> CallId {
        match self {
            Output::Finished { call, .. }
            | Output::Ask { call, .. }
            | Output::Abandoned { call } => *call,
        }
    }

    /// Whether it means nothing once this call is given up; what was abandoned stays so.
    fn is_void_without(&self, given_up: CallId) -> bool {
        match self {
            Output::Finished { call, .. } | Output::Ask { call, .. } => *call == given_up,
            Output::Abandoned { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests;

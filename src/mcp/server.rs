//! One client's core: requests in, answers and calls out.
//!
//! Theory of operation. Before `initialize` is answered there is no session; then there is one
//! until the client goes. A message is told apart by `proto::jsonrpc`, its method picks one
//! function, and that function either answers at once or hands a call out. A call in flight ends in
//! one of three ways: [`Server::complete`] answers it, `notifications/cancelled` forgets it, or the
//! client goes and the whole core with it.

use std::borrow::Cow;
use std::collections::VecDeque;

use log::debug;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::proto::jsonrpc::error::ErrorCode;
use crate::proto::jsonrpc::id::Id;
use crate::proto::jsonrpc::message::{self, Message};
use crate::proto::jsonrpc::write;
use crate::stdx::Millis;

use super::call::{CallId, ClientId};
use super::content::{Outcome, ToolResult};
use super::door::Door;
use super::error::{Refusal, quoted};
use super::handshake::{self, ClientInfo, Session};
use super::in_flight::InFlight;
use super::params;
use super::revision::BadArguments;

/// What a server wants done.
#[derive(Debug)]
pub enum Output {
    /// Send this to the client: one JSON-RPC message on one line.
    Send(String),
    /// Run a tool; its outcome comes back through [`Server::complete`].
    Call {
        /// Names the call from now on.
        call: CallId,
        /// One of the door's tools.
        tool: &'static str,
        /// They fit the tool's schema.
        arguments: Map<String, Value>,
    },
    /// The client gave a call up: stop the tool; nobody waits for its outcome.
    Cancelled {
        /// The call.
        call: CallId,
    },
    /// `notifications/initialized` came, for the first time.
    Initialized,
    /// A notification this layer does not know, such as `ide_connected`.
    Notification {
        /// Its method.
        method: String,
        /// As they came.
        params: Option<Box<RawValue>>,
    },
}

/// Why a notification was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSent {
    /// The client has not been answered its `initialize`, so it must not hear from us.
    NotInitialized,
    /// The message would be longer than the door allows.
    TooLarge {
        /// How long, in bytes.
        bytes: usize,
    },
}

/// One connected client. Outputs are to be polled until there are none after every input; a message
/// queues one output at most, so the queue stays as short as the caller lets it.
#[derive(Debug)]
pub struct Server {
    client: ClientId,
    door: &'static Door,
    session: Option<Session>,
    /// `notifications/initialized` came.
    was_told_initialized: bool,
    /// At most `calls_max + held_calls_max` of the door.
    calls: InFlight,
    outputs: VecDeque<Output>,
}

/// How a request is answered.
enum Answer {
    /// With this result, as JSON.
    Now(Cow<'static, str>),
    /// By [`Server::complete`].
    Later,
}

impl Server {
    /// The core of a client that just came in by `door`.
    pub fn new(client: ClientId, door: &'static Door) -> Server {
        Server {
            client,
            door,
            session: None,
            was_told_initialized: false,
            calls: InFlight::new(client),
            outputs: VecDeque::new(),
        }
    }

    /// Takes one message. Any text is fine: what is no message is answered as JSON-RPC 2.0 says.
    pub fn handle_message(&mut self, text: &str, now: Millis) {
        match message::parse(text) {
            Ok(Message::Request { id, method, params }) => {
                self.handle_request(id, &method, params, now);
            }
            Ok(Message::Notification { method, params }) => {
                self.handle_notification(method, params, now);
            }
            // We ask the client nothing yet, so whatever this answers is not ours.
            Ok(Message::Response { .. }) => debug!("{}: response ignored", self.client),
            Err(error) => {
                debug!("{}: no message: {} bytes={}", self.client, error.fault, text.len());
                let (code, text) = (error.fault.code(), error.fault.to_string());
                self.send(write::error(error.id, code, &text));
            }
        }
    }

    /// Answers a call. A call that was cancelled meanwhile is not known any more: nothing is sent.
    pub fn complete(&mut self, call: CallId, outcome: Outcome, now: Millis) {
        let Some(open) = self.calls.remove(call) else { return };
        let body = match outcome {
            Outcome::Result(result) => self.render_result(open.id.get(), &result),
            Outcome::Internal(text) => {
                let code = ErrorCode::INTERNAL_ERROR;
                debug!("{}: {} serial={} failed code={code}", self.client, open.tool, call.serial);
                write::error(Some(open.id.get()), code, &text)
            }
        };
        debug!(
            "{}: {} serial={} answered bytes={} ms={}",
            self.client,
            open.tool,
            call.serial,
            body.len(),
            now.saturating_sub(open.started),
        );
        self.send(body);
    }

    /// Queues a notification to the client.
    ///
    /// # Errors
    /// Nothing is queued before `initialize` was answered, nor beyond `outbound_bytes_max`.
    pub fn notify(&mut self, method: &str, params: &Value) -> Result<(), NotSent> {
        if self.session.is_none() {
            return Err(NotSent::NotInitialized);
        }
        let body = write::notification(method, params);
        if body.len() > self.door.options.outbound_bytes_max {
            return Err(NotSent::TooLarge { bytes: body.len() });
        }
        self.send(body);
        Ok(())
    }

    /// The next thing to do, oldest first.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Calls handed out and neither answered nor cancelled.
    pub fn calls_in_flight(&self) -> usize {
        self.calls.len()
    }

    /// Whether `initialize` was answered.
    pub fn is_initialized(&self) -> bool {
        self.session.is_some()
    }

    /// What the client said of itself in `initialize`.
    pub fn client_info(&self) -> Option<&ClientInfo> {
        self.session.as_ref().map(|session| &session.client_info)
    }

    /// The revision in force, as it stands on the wire.
    pub fn revision_name(&self) -> Option<&'static str> {
        self.session.as_ref().map(|session| session.revision.name)
    }

    fn handle_request(&mut self, id: Id<'_>, method: &str, raw: Option<&RawValue>, now: Millis) {
        let answer = if self.calls.has(id) {
            Err(Refusal::invalid_request("the id belongs to a call that is in flight"))
        } else {
            self.answer(id, method, raw, now)
        };
        match answer {
            Ok(Answer::Now(result)) => self.send(write::response(id, &result)),
            Ok(Answer::Later) => {}
            Err(Refusal { code, message }) => {
                debug!("{}: {} refused code={code}", self.client, quoted(method));
                self.send(write::error(Some(id), code, &message));
            }
        }
    }

    /// A method we do not have is -32601 at any time: `server/discover` probes before `initialize`.
    fn answer(
        &mut self,
        id: Id<'_>,
        method: &str,
        raw: Option<&RawValue>,
        now: Millis,
    ) -> Result<Answer, Refusal> {
        match method {
            "initialize" => self.answer_initialize(raw),
            "ping" => Ok(now_str("{}")),
            "tools/call" => self.answer_call(id, raw, now),
            "tools/list" => {
                self.check_initialized()?;
                params::take::<params::Page<'_>>(raw)?.check_first()?;
                Ok(now_str(&self.door.tools_list))
            }
            "prompts/list" => {
                self.check_initialized()?;
                params::take::<params::Page<'_>>(raw)?.check_first()?;
                Ok(now_str(r#"{"prompts":[]}"#))
            }
            "prompts/get" => {
                self.check_initialized()?;
                let asked: params::Named<'_> = params::take(raw)?;
                Err(Refusal::invalid_params(format!("unknown prompt {}", quoted(&asked.name()?))))
            }
            "logging/setLevel" => {
                self.check_initialized()?;
                params::take::<params::SetLevel<'_>>(raw)?.check()?;
                Ok(now_str("{}"))
            }
            _ => Err(Refusal::method_not_found(method)),
        }
    }

    fn answer_initialize(&mut self, raw: Option<&RawValue>) -> Result<Answer, Refusal> {
        if self.session.is_some() {
            return Err(Refusal::invalid_request("initialize comes once, and it came already"));
        }
        let session = handshake::open(raw)?;
        let result = handshake::render(session.revision, &self.door.options);
        debug!(
            "{}: initialized revision={} name={:?} version={:?}",
            self.client, session.revision, session.client_info.name, session.client_info.version,
        );
        self.session = Some(session);
        Ok(Answer::Now(result.into()))
    }

    fn answer_call(
        &mut self,
        id: Id<'_>,
        raw: Option<&RawValue>,
        now: Millis,
    ) -> Result<Answer, Refusal> {
        let bad_arguments = self.check_initialized()?.revision.bad_arguments;
        let asked: params::Named<'_> = params::take(raw)?;
        let name = asked.name()?;
        let Some(index) = self.door.find(&name) else {
            return Err(Refusal::invalid_params(format!("unknown tool {}", quoted(&name))));
        };
        let arguments = params::arguments(asked.arguments)?;
        let tool = &self.door.options.tools[index];
        if let Err(mismatch) = self.door.schemas[index].check(&arguments) {
            debug!("{}: {} refused: arguments do not fit", self.client, tool.name);
            return match bad_arguments {
                BadArguments::ProtocolError => Err(Refusal::invalid_params(mismatch.to_string())),
                BadArguments::ToolError => Ok(now_error(mismatch.to_string())),
            };
        }
        let (calls_max, what) = match tool.is_held {
            false => (self.door.options.calls_max, "calls"),
            true => (self.door.options.held_calls_max, "held calls"),
        };
        if self.calls.count(tool.is_held) >= calls_max {
            debug!("{}: {} refused: {calls_max} {what} in flight", self.client, tool.name);
            return Ok(now_error(format!(
                "too many {what} in flight: at most {calls_max} a client; wait for one to end"
            )));
        }
        let call = self.calls.start(id, tool.name, tool.is_held, now);
        debug!(
            "{}: {} serial={} arguments={}",
            self.client,
            tool.name,
            call.serial,
            params::Sizes(&arguments)
        );
        self.outputs.push_back(Output::Call { call, tool: tool.name, arguments });
        Ok(Answer::Later)
    }

    fn handle_notification(&mut self, method: Cow<'_, str>, raw: Option<&RawValue>, now: Millis) {
        if self.session.is_none() {
            return debug!("{}: {} came before initialize", self.client, quoted(&method));
        }
        match method.as_ref() {
            "notifications/initialized" if self.was_told_initialized => {}
            "notifications/initialized" => {
                self.was_told_initialized = true;
                self.outputs.push_back(Output::Initialized);
            }
            "notifications/cancelled" => self.cancel(raw, now),
            _ => {
                let params = raw.map(RawValue::to_owned);
                self.outputs
                    .push_back(Output::Notification { method: method.into_owned(), params });
            }
        }
    }

    /// An id that is none, unknown, answered already or of another type is ignored. `initialize` is
    /// answered before anything else is read, so it cannot be cancelled.
    fn cancel(&mut self, raw: Option<&RawValue>, now: Millis) {
        let asked: params::Cancelled<'_> = params::take(raw).unwrap_or_default();
        let Some(id) = asked.request_id.and_then(Id::parse) else { return };
        let Some(open) = self.calls.cancel(id) else { return };
        debug!(
            "{}: {} serial={} cancelled ms={}",
            self.client,
            open.tool,
            open.call.serial,
            now.saturating_sub(open.started),
        );
        self.outputs.push_back(Output::Cancelled { call: open.call });
    }

    /// The response with a tool's result, or with an error naming its size when it is too large.
    fn render_result(&self, id: Id<'_>, result: &ToolResult) -> String {
        let bytes_max = self.door.options.outbound_bytes_max;
        let mut bytes = result.bytes();
        if bytes <= bytes_max {
            let body = render_response(id, result);
            if body.len() <= bytes_max {
                return body;
            }
            bytes = body.len();
        }
        debug!("{}: result too large bytes={bytes} max={bytes_max}", self.client);
        let text =
            format!("the result is {bytes} bytes, more than the {bytes_max} this client takes");
        render_response(id, &ToolResult::error(text))
    }

    fn check_initialized(&self) -> Result<&Session, Refusal> {
        self.session.as_ref().ok_or_else(|| Refusal::invalid_request("not initialized"))
    }

    fn send(&mut self, body: String) {
        self.outputs.push_back(Output::Send(body));
    }
}

fn now_str(result: &'static str) -> Answer {
    Answer::Now(Cow::Borrowed(result))
}

/// A failure the model is to see.
fn now_error(text: String) -> Answer {
    let mut result = String::with_capacity(64 + text.len());
    ToolResult::error(text).render(&mut result);
    Answer::Now(result.into())
}

fn render_response(id: Id<'_>, result: &ToolResult) -> String {
    let mut body = String::with_capacity(128 + id.token().len() + result.bytes());
    write::begin_response(&mut body, id);
    result.render(&mut body);
    write::end(&mut body);
    body
}

#[cfg(test)]
mod tests;

//! One accepted connection, from its first byte to its last.
//!
//! ```text
//! Head --let in--> Upgrading --101 written--> Connected --Close, violation, drop--> Leaving --> Gone
//!   `--turned away or too slow--------------------------------------------------------^
//! ```
//!
//! While the 101 reply is written nothing is read: the request is answered once, and frames sent
//! behind it run after it has left. From the moment a client leaves, nothing it sends runs any more,
//! and what it owned is given up ([`Output::Left`]); its socket lives on until the last bytes are out.
//! Outputs are in order; bytes to send are in [`Client::take_bytes`].

use std::collections::VecDeque;

use serde_json::Value;

use super::control::{self, Control};
use super::door::{self, Decision, DoorPolicy, Refusal};
use super::ide::Agent;
use super::leaving::{DRAIN_MS, Leaving, WINDOW_MS_DEFAULT};
use super::session::{QUEUE_HIGH_BYTES, QUEUE_LOW_BYTES, Session, Speaker, Stop, Work};
use crate::mcp::call::{CallId, ClientId};
use crate::mcp::content::Outcome;
use crate::mcp::{Door, Server};
use crate::proto::http::head::{HeadReader, Limits, Progress};
use crate::proto::http::request::Request;
use crate::proto::http::response::Response;
use crate::proto::ws::close::CloseCode;
use crate::proto::ws::connection::{self, Connection, Fill, Input};
use crate::proto::ws::handshake::Upgrade;
use crate::proto::ws::keepalive::{KeepAlive, Sample, Tick, Verdict};
use crate::stdx::Millis;
use crate::stdx::chunks::Chunks;

/// A request head must be complete this long after the accept, however it trickles.
const HEAD_DEADLINE_MS: Millis = 10_000;

/// What every client of one bridge shares.
#[derive(Debug)]
pub struct Rules {
    /// Who may come in.
    pub policy: DoorPolicy,
    /// What the IDE door offers.
    pub door: &'static Door,
    /// WebSocket limits.
    pub websocket: connection::Options,
    /// Keep-alive interval; 0 = off.
    pub interval_ms: Millis,
}

/// What the owner of the socket must do.
#[derive(Debug)]
pub enum Output {
    /// Work for the tools.
    Work(Work),
    /// Call [`Client::handle_written`] once all bytes handed over so far are written.
    AwaitWritten,
    /// Read no more until told otherwise.
    PauseReads,
    /// Read again.
    ResumeReads,
    /// The client is let in and connected.
    Came,
    /// The client is gone for everyone else: give up what it owned. Exactly once after `Came`.
    Left,
    /// Drop what it still sends, and half-close when everything is written.
    Finish,
    /// Close the socket now.
    Close,
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    id: ClientId,
    state: State,
    /// Its request was answered with 101.
    was_let_in: bool,
    is_paused: bool,
    /// Bytes that no session holds: a refusal, the last words of a client that left.
    bytes: Chunks,
    outputs: VecDeque<Output>,
    work: VecDeque<Work>,
}

#[derive(Debug)]
enum State {
    Head { reader: HeadReader, deadline: Millis },
    Upgrading { session: Box<Session>, waiting: Vec<u8> },
    Connected(Box<Session>),
    Leaving(Leaving),
    Gone,
}

impl Client {
    /// A connection accepted at `now`.
    pub fn new(id: ClientId, now: Millis) -> Client {
        let state = State::Head {
            reader: HeadReader::new(Limits::default()),
            deadline: now + HEAD_DEADLINE_MS,
        };
        Client {
            id,
            state,
            was_let_in: false,
            is_paused: false,
            bytes: Chunks::default(),
            outputs: VecDeque::new(),
            work: VecDeque::new(),
        }
    }

    /// A connection for which there is no room: it is told so, and leaves.
    pub fn refused(id: ClientId, now: Millis) -> Client {
        let mut client = Client::new(id, now);
        client.turn_away(&door::refuse_full(), now);
        client
    }

    /// Asks the client to go: its Close frame follows what is queued, within `limit_ms` in all.
    pub fn close(&mut self, code: CloseCode, reason: &str, limit_ms: Millis, now: Millis) {
        match &mut self.state {
            State::Connected(session) | State::Upgrading { session, .. } => {
                session.connection.send_close(code, reason);
                self.leave(Leaving::hasty(limit_ms, now), reason);
            }
            State::Leaving(leaving) => leaving.hurry(limit_ms, now),
            State::Head { .. } => self.vanish(),
            State::Gone => {}
        }
    }

    /// Closes the socket of a client that was never let in.
    pub fn evict(&mut self, reason: &str) {
        match self.state {
            State::Head { .. } => log::warn!("Rejected {}: {reason}", self.id),
            // Said when it was turned away.
            State::Leaving(_) | State::Upgrading { .. } | State::Connected(_) | State::Gone => {}
        }
        self.vanish();
    }

    /// Gives the answer of a call back. A client that left gets none.
    pub fn complete(&mut self, call: CallId, outcome: Outcome, now: Millis) {
        if let State::Connected(session) = &mut self.state {
            let Some(agent) = session.agent_mut() else { return };
            agent.server.complete(call, outcome, now);
            session.take_outputs(now, &mut self.work);
            self.flush_work();
        }
    }

    /// Sends a notification, if the client can hear it and reads what it gets; says whether it took
    /// it. One that does not read is told once it does, by [`Work::GateOpened`], what holds then.
    /// `queued` as in [`Client::handle_data`].
    pub fn notify(&mut self, method: &str, params: &Value, queued: usize, now: Millis) -> bool {
        let State::Connected(session) = &mut self.state else { return false };
        if !session.agent().is_some_and(Agent::is_gate_open) {
            return false;
        }
        if queued + session.connection.queued() > QUEUE_LOW_BYTES {
            session.is_behind = true;
            log::debug!("{}: {method} held back, queued={queued}B", self.id);
            return false;
        }
        let Some(agent) = session.agent_mut() else { return false };
        let is_taken = agent.server.notify(method, params).is_ok();
        session.take_outputs(now, &mut self.work);
        is_taken
    }

    /// Answers a request of the control door.
    pub fn answer(&mut self, ticket: &control::Ticket, answer: Result<Value, control::Fault>) {
        self.with_control(|control| control.answer(ticket, answer));
    }

    /// Tells a verb that asked for diffs that they are others now.
    /// Says whether it is one of those.
    pub fn tell_diffs_changed(&mut self) -> bool {
        let mut is_watching = false;
        self.with_control(|control| {
            is_watching = control.is_watching;
            if is_watching {
                control.tell_diffs_changed();
            }
        });
        is_watching
    }

    fn with_control(&mut self, act: impl FnOnce(&mut Control)) {
        let State::Connected(session) = &mut self.state else { return };
        if let Speaker::Control(control) = &mut session.speaker {
            act(control);
            control.take_outputs(&mut session.connection, &mut self.work);
        }
    }

    /// Bytes from the socket. `queued` = bytes the socket has not taken yet.
    pub fn handle_data(&mut self, bytes: &mut [u8], queued: usize, rules: &Rules, now: Millis) {
        match &mut self.state {
            State::Head { reader, .. } => match reader.feed(bytes) {
                Progress::NeedMore => {}
                Progress::Complete { request, consumed } => {
                    self.decide(&request, &bytes[consumed..], rules, now);
                }
                Progress::Failed(error) => {
                    self.turn_away(&door::refuse_head(error), now);
                }
            },
            State::Upgrading { waiting, .. } => waiting.extend_from_slice(bytes),
            State::Connected(session) => {
                let stop = session.receive(Input::new(bytes), queued, now, &mut self.work);
                self.after_receive(stop, rules, now);
            }
            State::Leaving(_) | State::Gone => {}
        }
    }

    /// Bytes that went straight into the buffer of [`Client::take_fill`].
    pub fn handle_filled(
        &mut self,
        buffer: Vec<u8>,
        fresh_from: usize,
        queued: usize,
        rules: &Rules,
        now: Millis,
    ) {
        if let State::Connected(session) = &mut self.state {
            let stop = session.receive_filled(buffer, fresh_from, queued, now, &mut self.work);
            self.after_receive(stop, rules, now);
        }
    }

    /// Goes on with messages that were kept: the call before them has started, or the queue
    /// is below the mark again. `queued` as in [`Client::handle_data`]. True if anything was done.
    ///
    /// Answers to calls come after their messages, so the high mark is looked at here as well.
    pub fn resume(&mut self, queued: usize, rules: &Rules, now: Millis) -> bool {
        let State::Connected(session) = &mut self.state else { return false };
        let queued_all = queued + session.connection.queued();
        if !self.is_paused && queued_all > QUEUE_HIGH_BYTES {
            self.pause();
            return true;
        }
        if self.is_paused && queued_all > QUEUE_LOW_BYTES {
            return false;
        }
        if session.is_behind && queued_all <= QUEUE_LOW_BYTES {
            session.is_behind = false;
            self.outputs.push_back(Output::Work(Work::GateOpened));
            return true;
        }
        if session.connection.has_rest() {
            let stop = session.receive(Input::new(&mut []), queued, now, &mut self.work);
            self.after_receive(stop, rules, now);
            return true;
        }
        if self.is_paused {
            self.is_paused = false;
            self.outputs.push_back(Output::ResumeReads);
            return true;
        }
        false
    }

    /// Everything handed over before [`Output::AwaitWritten`] is written.
    pub fn handle_written(&mut self, queued: usize, rules: &Rules, now: Millis) {
        let state = std::mem::replace(&mut self.state, State::Gone);
        let State::Upgrading { session, mut waiting } = state else {
            self.state = state;
            return;
        };
        self.state = State::Connected(session);
        self.outputs.push_back(Output::Came);
        self.outputs.push_back(Output::ResumeReads);
        self.handle_data(&mut waiting, queued, rules, now);
    }

    /// The peer's EOF.
    pub fn handle_end(&mut self, now: Millis) {
        match &mut self.state {
            State::Head { .. } => {
                log::debug!("{}: left before its request was whole", self.id);
                self.vanish();
            }
            State::Upgrading { .. } | State::Connected(_) => {
                let mut leaving = Leaving::hasty(DRAIN_MS, now);
                leaving.end();
                self.leave(leaving, "hung up");
            }
            State::Leaving(leaving) => {
                leaving.end();
                self.close_if_done();
            }
            State::Gone => {}
        }
    }

    /// The socket broke.
    pub fn handle_failure(&mut self, error: &std::io::Error) {
        log::debug!("{}: Client read error: {error}", self.id);
        self.vanish();
    }

    /// The owner of the socket has taken [`Output::Finish`] up, `written_total` bytes into the stream.
    pub fn begin_finish(&mut self, written_total: u64) {
        if let State::Leaving(leaving) = &mut self.state {
            leaving.begin(written_total);
        }
    }

    /// Our side is half-closed, everything is written.
    pub fn handle_shut_down(&mut self, now: Millis) {
        if let State::Leaving(leaving) = &mut self.state {
            leaving.shut_down(now);
            self.close_if_done();
        }
    }

    /// When [`Client::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Option<Millis> {
        match &self.state {
            State::Head { deadline, .. } => Some(*deadline),
            State::Connected(session) => session.agent().and_then(Agent::poll_timeout),
            State::Leaving(leaving) => leaving.poll_timeout(),
            State::Upgrading { .. } | State::Gone => None,
        }
    }

    /// A deadline may have come. `written_total` = bytes the socket ever took.
    pub fn handle_timeout(&mut self, written_total: u64, now: Millis) {
        match &mut self.state {
            State::Head { deadline, .. } if now >= *deadline => {
                self.turn_away(&door::refuse_slow_head(), now);
            }
            State::Connected(session) => {
                if let Some(agent) = session.agent_mut() {
                    agent.handle_timeout(now, &mut self.work);
                }
                self.flush_work();
            }
            State::Leaving(leaving) => {
                leaving.handle_timeout(written_total, now);
                self.close_if_done();
            }
            State::Head { .. } | State::Upgrading { .. } | State::Gone => {}
        }
    }

    /// The owner of the socket has taken [`Output::Came`] up: the keep-alive windows begin. A verb
    /// has none: it may stand in a person's editor for as long as that takes, and its socket ends
    /// with its process.
    pub fn begin_keepalive(&mut self, sample: Sample, now: Millis) {
        if let State::Connected(session) = &mut self.state
            && session.agent().is_some()
        {
            session.keepalive = Some(KeepAlive::new(sample, now));
        }
    }

    /// One tick of the keep-alive. True when the stall must be confirmed after the next poll.
    pub fn tick(&mut self, tick: Tick, sample: Sample, now: Millis) -> bool {
        let sample = Sample { is_paused: self.is_paused, ..sample };
        self.judge(now, |policy| policy.tick(tick, sample, now), true)
    }

    /// The sample taken right after the poll that a stalled tick waited for.
    pub fn confirm(&mut self, sample: Sample, now: Millis) {
        let sample = Sample { is_paused: self.is_paused, ..sample };
        let asks_again = self.judge(now, |policy| policy.confirm(sample, now), false);
        assert!(!asks_again);
    }

    /// What must be done next.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Moves the bytes to send to `out`.
    pub fn take_bytes(&mut self, out: &mut impl FnMut(&mut Chunks)) {
        if let State::Connected(session) | State::Upgrading { session, .. } = &mut self.state {
            out(&mut self.bytes);
            out(session.connection.output());
        } else {
            out(&mut self.bytes);
        }
    }

    /// A buffer to read an unfinished message into.
    pub fn take_fill(&mut self) -> Option<Fill> {
        match &mut self.state {
            State::Connected(session) if !self.is_paused => session.connection.take_fill(),
            State::Connected(_)
            | State::Head { .. }
            | State::Upgrading { .. }
            | State::Leaving(_)
            | State::Gone => None,
        }
    }

    /// The buffer of a large message that was handled.
    pub fn reclaim(&mut self) -> Option<Vec<u8>> {
        match &mut self.state {
            State::Connected(session) => session.connection.reclaim(),
            State::Head { .. } | State::Upgrading { .. } | State::Leaving(_) | State::Gone => None,
        }
    }

    /// Its name.
    pub fn id(&self) -> ClientId {
        self.id
    }

    /// Whether it completed its opening handshake and has not begun to leave.
    pub fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected(_))
    }

    /// Whether an agent speaks here, let in and not leaving.
    pub fn is_agent(&self) -> bool {
        self.agent().is_some()
    }

    /// Whether an agent speaks here that hears notifications.
    pub fn is_listening(&self) -> bool {
        self.agent().is_some_and(Agent::is_gate_open)
    }

    /// What the agent said of itself, once it did: name and version.
    pub fn agent_name(&self) -> Option<(&str, &str)> {
        let info = self.agent()?.server.client_info()?;
        Some((&info.name, &info.version))
    }

    /// The agent's calls that are not answered yet.
    pub fn calls_in_flight(&self) -> usize {
        self.agent().map_or(0, |agent| agent.server.calls_in_flight())
    }

    fn agent(&self) -> Option<&Agent> {
        match &self.state {
            State::Connected(session) => session.agent(),
            State::Head { .. } | State::Upgrading { .. } | State::Leaving(_) | State::Gone => None,
        }
    }

    /// Whether it is not read from because of what it left unread.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Whether a notification was held back because of what it left unread.
    pub fn is_behind(&self) -> bool {
        matches!(&self.state, State::Connected(session) if session.is_behind)
    }

    /// Whether it was never let in: it waits for that, or leaves without.
    pub fn is_outsider(&self) -> bool {
        match self.state {
            State::Head { .. } => true,
            State::Leaving(_) => !self.was_let_in,
            State::Upgrading { .. } | State::Connected(_) | State::Gone => false,
        }
    }

    /// Bytes of messages that are not complete yet.
    pub fn unfinished_bytes(&self) -> usize {
        match &self.state {
            State::Connected(session) => session.connection.unfinished_bytes(),
            State::Upgrading { waiting, .. } => waiting.len(),
            State::Head { .. } | State::Leaving(_) | State::Gone => 0,
        }
    }

    fn decide(&mut self, request: &Request, rest: &[u8], rules: &Rules, now: Millis) {
        match door::decide(request, &rules.policy) {
            Decision::IdeUpgrade(upgrade) => {
                let server = Server::new(self.id, rules.door);
                let speaker = Speaker::Agent(Box::new(Agent::new(self.id, server)));
                self.upgrade(&upgrade, speaker, rest, rules);
            }
            Decision::ControlUpgrade(upgrade) => {
                self.upgrade(&upgrade, Speaker::Control(Control::default()), rest, rules);
            }
            Decision::Respond(response) => self.respond(&response, "answered", now),
            Decision::Refuse(refusal) => self.turn_away(&refusal, now),
        }
    }

    fn upgrade(&mut self, upgrade: &Upgrade, speaker: Speaker, rest: &[u8], rules: &Rules) {
        self.was_let_in = true;
        self.bytes.push(&upgrade.response());
        let connection = Connection::new(connection::Role::Server, rules.websocket);
        let session = Box::new(Session::new(connection, speaker));
        self.state = State::Upgrading { session, waiting: rest.to_vec() };
        self.outputs.push_back(Output::PauseReads);
        self.outputs.push_back(Output::AwaitWritten);
    }

    fn turn_away(&mut self, refusal: &Refusal, now: Millis) {
        log::warn!("Rejected {}: {}", self.id, refusal.reason);
        self.respond(&refusal.response, refusal.reason, now);
    }

    /// Answers a request that opens no session, then leaves.
    fn respond(&mut self, response: &Response, reason: &str, now: Millis) {
        self.bytes.push(&response.to_bytes());
        self.leave(Leaving::hasty(DRAIN_MS, now), reason);
    }

    fn after_receive(&mut self, stop: Stop, rules: &Rules, now: Millis) {
        self.flush_work();
        match stop {
            Stop::Dry | Stop::Called => {}
            Stop::Crowded => self.pause(),
            Stop::Closed(frame) => {
                let reason = match frame.code {
                    Some(code) => format!("sent Close code={}", code.get()),
                    None => "sent Close without a code".to_owned(),
                };
                self.leave(patient(rules, now), &reason);
            }
            Stop::Failed(error) => {
                log::debug!("{}: Client error: {error}", self.id);
                self.leave(patient(rules, now), "broke the protocol");
            }
        }
    }

    /// Stops reading until the client has read most of what is queued for it.
    fn pause(&mut self) {
        if !self.is_paused {
            self.is_paused = true;
            self.outputs.push_back(Output::PauseReads);
        }
    }

    /// Carries the policy's verdict out; true when it asks for a confirmation.
    fn judge(
        &mut self,
        now: Millis,
        verdict: impl FnOnce(&mut KeepAlive) -> Verdict,
        pings: bool,
    ) -> bool {
        let State::Connected(session) = &mut self.state else { return false };
        let Some(policy) = &mut session.keepalive else { return false };
        let verdict = verdict(policy);
        if let Verdict::Drop(reason) = verdict {
            log::info!("Closed {}: {reason}", self.id);
            session.connection.send_close(reason.close_code(), reason.close_reason());
            self.leave(Leaving::hasty(DRAIN_MS, now), reason.disconnect_reason());
        } else if pings {
            session.connection.send_ping(&[]);
        }
        verdict == Verdict::Confirm
    }

    /// Leaves: queued bytes first, then the half-close, by the deadlines of `leaving`.
    fn leave(&mut self, leaving: Leaving, reason: &str) {
        let state = std::mem::replace(&mut self.state, State::Leaving(leaving));
        match state {
            State::Connected(mut session) => {
                self.bytes.append(session.connection.output());
                self.outputs.push_back(Output::Left);
                log::info!("{} left: {reason}", self.id);
            }
            State::Upgrading { mut session, .. } => self.bytes.append(session.connection.output()),
            State::Head { .. } | State::Leaving(_) | State::Gone => {}
        }
        // What it sends is dropped from now on, not held back.
        self.is_paused = false;
        self.forget_work();
        self.outputs.push_back(Output::Finish);
    }

    /// Closes the socket at once; nothing more is sent. Once is enough.
    fn vanish(&mut self) {
        if matches!(self.state, State::Gone) {
            return;
        }
        let state = std::mem::replace(&mut self.state, State::Gone);
        if matches!(state, State::Connected(_)) {
            self.outputs.push_back(Output::Left);
            log::info!("{} left: connection lost", self.id);
        }
        self.forget_work();
        self.bytes.clear();
        self.outputs.push_back(Output::Close);
    }

    /// Calls that were not started yet never will be: their client is gone.
    fn forget_work(&mut self) {
        self.work.clear();
        self.outputs.retain(|output| !matches!(output, Output::Work(_)));
    }

    fn close_if_done(&mut self) {
        if matches!(&self.state, State::Leaving(leaving) if leaving.is_done()) {
            self.vanish();
        }
    }

    fn flush_work(&mut self) {
        self.outputs.extend(self.work.drain(..).map(Output::Work));
    }
}

/// Two keep-alive intervals, as long as something leaves in each.
fn patient(rules: &Rules, now: Millis) -> Leaving {
    let window_ms = match rules.interval_ms {
        0 => WINDOW_MS_DEFAULT,
        interval_ms => interval_ms.saturating_mul(2),
    };
    Leaving::patient(window_ms, now)
}

#[cfg(test)]
mod tests;

//! A WebSocket connection after its opening handshake: bytes in, events out, bytes to send queued.
//!
//! Theory of operation. The owner reads from the socket into any buffer, wraps it in an [`Input`]
//! and calls [`Connection::receive`] until it returns `None`. A message that arrived whole is
//! unmasked and lent where it lies; one that did not is gathered. An owner that wants to stop
//! early hands the input to [`Connection::keep`]; its rest is parsed first next time. When a large
//! frame is unfinished, [`Connection::take_fill`] lends the message's buffer so that the payload
//! can be read straight into it. Pings are answered inside `receive`.
//!
//! ```text
//!   Open --- send_close ---> CloseSent ------ the peer's Close, or a violation ----> Closed
//!     \--- the peer's Close, or a violation ---> CloseReceived --- output() ---------> Closed
//! ```
//!
//! In `CloseReceived` nothing more is parsed, and what was parsed before can still be answered:
//! our Close is put behind all of it, when the owner comes for the output. Not here: sockets,
//! time, and what a message means.

use std::borrow::Cow;
use std::ops::Range;

use super::close::{CloseCode, CloseFrame};
use super::error::PeerError;
use super::frame::{CONTROL_BYTES_MAX, Opcode};
use super::message::{Kind, Message};
use super::receiver::{Receiver, Step};
use super::sender::Sender;
use crate::stdx::chunks::Chunks;

/// Which end of the connection we are (RFC 6455 §5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends unmasked frames.
    Server,
    /// Masks every frame and refuses masked ones.
    Client {
        /// Fresh random bytes; the masking keys are derived from them and cannot be guessed
        /// without them (RFC 6455 §5.3).
        mask_seed: [u8; 16],
    },
}

/// How a connection treats its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Largest payload of a frame and of a message, in bytes.
    pub message_bytes_max: usize,
    /// What becomes of binary messages.
    pub binary: Binary,
    /// Whether a server fails clients that do not mask (RFC 6455 §5.1); seed 000 does not.
    pub strict_masking: bool,
}

impl Default for Options {
    /// Seed 000's rules.
    fn default() -> Options {
        Options {
            message_bytes_max: MESSAGE_BYTES_MAX,
            binary: Binary::Refuse,
            strict_masking: false,
        }
    }
}

/// What becomes of binary messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// The header of one fails the connection with 1003.
    Refuse,
    /// They are handed out like text.
    Accept,
}

/// Bytes just read from the peer, and how far they are parsed. They are unmasked in place.
#[derive(Debug, Default)]
pub struct Input<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Input<'a> {
    /// Bytes of which nothing is parsed yet.
    pub fn new(bytes: &'a mut [u8]) -> Input<'a> {
        Input { bytes, at: 0 }
    }

    /// Bytes not parsed yet.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }
}

/// What came from the peer.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A text message.
    Text(&'a str),
    /// A binary message; the owner may write over it.
    Binary(&'a mut [u8]),
    /// A ping of so many bytes; its pong is queued.
    Ping(usize),
    /// A pong, asked for or not.
    Pong,
    /// The peer's Close. Its answer goes out last; nothing after it is parsed.
    Close(CloseFrame),
    /// The peer broke a rule. Our Close goes out last; nothing after it is parsed.
    Failed(PeerError),
}

/// How far the closing handshake is (RFC 6455 §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Messages flow both ways.
    Open,
    /// Our Close is queued; all that matters is the peer's.
    CloseSent,
    /// The peer sent a Close or broke a rule; our Close follows at the next [`Connection::output`].
    CloseReceived,
    /// Nothing is parsed and nothing more can be queued; what is in the output still goes out.
    Closed,
}

/// A message buffer, lent so that payload is read straight into it.
#[derive(Debug)]
pub struct Fill {
    /// Payload so far. Fresh payload goes behind it; what is there must not change.
    pub buffer: Vec<u8>,
    /// Bytes the frame lacks; more must not be added. The peer declared this number: grow the
    /// buffer with what arrives, not by it.
    pub want: usize,
}

/// A WebSocket connection after its opening handshake.
#[derive(Debug)]
pub struct Connection {
    receiver: Receiver,
    sender: Sender,
    state: State,
    rest: Rest,
    delivered: Delivered,
}

/// Bytes the owner did not want parsed yet. Invariant: `at <= bytes.len()`.
#[derive(Debug, Default)]
struct Rest {
    bytes: Vec<u8>,
    at: usize,
}

/// Where the message handed out last lies.
#[derive(Debug)]
enum Delivered {
    Nothing,
    Joined,
    Rest(Kind, Range<usize>),
    Input(Kind, Range<usize>),
}

/// The phase with what it needs. Invariant: `farewell` is `Some` in `CloseReceived` only.
#[derive(Debug)]
struct State {
    phase: Phase,
    farewell: Option<CloseFrame>,
}

impl Connection {
    /// A connection whose opening handshake just ended.
    ///
    /// # Panics
    /// When `message_bytes_max` is over 2 GiB: sums of two payloads must fit everywhere.
    pub fn new(role: Role, options: Options) -> Connection {
        assert!(options.message_bytes_max <= i32::MAX as usize);
        Connection {
            receiver: Receiver::new(role, &options),
            sender: Sender::new(role),
            state: State { phase: Phase::Open, farewell: None },
            rest: Rest::default(),
            delivered: Delivered::Nothing,
        }
    }

    /// The next event; `None` once the rest kept and the input are parsed, or reading is over.
    /// After a `None` the input is taken entirely.
    pub fn receive<'a>(&'a mut self, input: &'a mut Input<'_>) -> Option<Event<'a>> {
        self.forget_delivered();
        let (step, is_of_rest) = self.step(input);
        let source = match is_of_rest {
            true => &mut self.rest.bytes[..],
            false => &mut input.bytes[..],
        };
        let (receiver, sender, state) = (&mut self.receiver, &mut self.sender, &mut self.state);
        match step {
            Ok(Step::Starved) => None,
            Ok(Step::Whole(kind, range)) => {
                let message = &mut source[range.clone()];
                let event = match kind {
                    Kind::Binary => Event::Binary(message),
                    Kind::Text => match simdutf8::basic::from_utf8(message) {
                        Ok(text) => Event::Text(text),
                        Err(_) => return Some(state.fail(receiver, PeerError::TextUtf8)),
                    },
                };
                self.delivered = match is_of_rest {
                    true => Delivered::Rest(kind, range),
                    false => Delivered::Input(kind, range),
                };
                Some(event)
            }
            Ok(Step::Joined(kind)) => {
                self.delivered = Delivered::Joined;
                Some(joined(receiver, kind))
            }
            Ok(Step::Control(opcode, range)) => {
                Some(state.control(receiver, sender, opcode, range.map(|range| &source[range])))
            }
            Err(error) => Some(state.fail(receiver, error)),
        }
    }

    /// Keeps what is not parsed of `input` for the next [`Connection::receive`], so that the owner
    /// can stop early. Meanwhile it should not read more: each call copies the input's rest.
    ///
    /// # Panics
    /// When bytes come while a buffer is lent: reads go into that one.
    pub fn keep(&mut self, input: Input<'_>) {
        assert!(input.rest().is_empty() || !self.receiver.is_lent());
        self.forget_delivered();
        if !self.state.is_reading() {
            self.rest = Rest::default();
            return;
        }
        if self.rest.at * 2 >= self.rest.bytes.len() {
            self.receiver.note_work(self.rest.bytes.len() - self.rest.at);
            self.rest.bytes.drain(..self.rest.at);
            self.rest.at = 0;
        }
        self.receiver.note_work(input.rest().len());
        self.rest.bytes.extend_from_slice(input.rest());
    }

    /// Whether bytes given to [`Connection::keep`] wait to be parsed.
    pub fn has_rest(&self) -> bool {
        self.state.is_reading() && self.rest.at < self.rest.bytes.len()
    }

    /// Lends the buffer of an unfinished message whose frame lacks [`FILL_BYTES_MIN`] or more. It
    /// must come back by [`Connection::receive_filled`] before anything else is received.
    pub fn take_fill(&mut self) -> Option<Fill> {
        let want = self.receiver.lacking().filter(|&want| want >= FILL_BYTES_MIN)?;
        match self.has_rest() || !self.state.is_reading() {
            true => None,
            false => Some(Fill { buffer: self.receiver.lend(), want }),
        }
    }

    /// Takes a lent buffer back. From `fresh_from`, its length when it was lent, it holds payload
    /// as read: it is unmasked and checked here. No fresh byte at all is fine.
    ///
    /// # Panics
    /// When no buffer was lent, or more came than was wanted.
    pub fn receive_filled(&mut self, buffer: Vec<u8>, fresh_from: usize) -> Option<Event<'_>> {
        let step = self.receiver.take_back(buffer, fresh_from);
        match step {
            Ok(Step::Starved) => None,
            Ok(Step::Joined(kind)) => {
                self.delivered = Delivered::Joined;
                Some(joined(&mut self.receiver, kind))
            }
            Ok(Step::Whole(..) | Step::Control(..)) => unreachable!("only data is gathered so"),
            Err(error) => Some(self.state.fail(&mut self.receiver, error)),
        }
    }

    /// The large buffer of a message that was handled, for the reactor to lend again. To be called
    /// once the events of a read are dealt with: smaller buffers are freed here.
    pub fn reclaim(&mut self) -> Option<Vec<u8>> {
        self.forget_delivered();
        if self.receiver.joiner.is_open() {
            return None;
        }
        let buffer = self.receiver.joiner.give_back();
        (buffer.capacity() >= FILL_BYTES_MIN).then_some(buffer)
    }

    /// Owns the message just handed out, if it lies in the connection's own buffer, without a copy.
    /// `None` when it lies in the input, or nothing was handed out.
    pub fn take_message(&mut self) -> Option<Message> {
        match std::mem::replace(&mut self.delivered, Delivered::Nothing) {
            Delivered::Joined => self.receiver.joiner.take(),
            other @ (Delivered::Nothing | Delivered::Rest(..) | Delivered::Input(..)) => {
                self.delivered = other;
                None
            }
        }
    }

    /// Sends the message just handed out back to the peer; a large one that was gathered is not
    /// copied. `input` is the one it came with. Without such a message nothing is sent.
    pub fn send_back(&mut self, input: &Input<'_>) {
        let can_send = self.state.can_send();
        match std::mem::replace(&mut self.delivered, Delivered::Nothing) {
            Delivered::Nothing => {}
            Delivered::Joined => {
                if let Some(message) = self.receiver.joiner.take() {
                    self.send_message(message);
                }
            }
            Delivered::Rest(kind, range) if can_send => {
                self.sender.push(opcode(kind), &self.rest.bytes[range]);
            }
            Delivered::Input(kind, range) if can_send => {
                self.sender.push(opcode(kind), &input.bytes[range]);
            }
            Delivered::Rest(..) | Delivered::Input(..) => {}
        }
    }

    /// Queues a text message; dropped, like all that is sent, once our Close is queued.
    pub fn send_text(&mut self, text: &str) {
        self.send(Opcode::Text, text.as_bytes());
    }

    /// Queues a text message; a large one is not copied.
    pub fn send_text_owned(&mut self, text: String) {
        self.send_message(Message::from(text));
    }

    /// Queues a binary message.
    pub fn send_binary(&mut self, bytes: &[u8]) {
        self.send(Opcode::Binary, bytes);
    }

    /// Queues a message; a large one is not copied.
    pub fn send_message(&mut self, message: Message) {
        if self.state.can_send() {
            self.sender.push_owned(opcode(message.kind()), message.into_bytes());
        }
    }

    /// Queues a ping.
    ///
    /// # Panics
    /// When `payload` is over 125 bytes.
    pub fn send_ping(&mut self, payload: &[u8]) {
        assert!(payload.len() <= CONTROL_BYTES_MAX);
        self.send(Opcode::Ping, payload);
    }

    /// Queues our Close, unless one is queued or due already. Frees the bytes kept and the
    /// unfinished message; from now on messages of the peer are dropped unseen.
    pub fn send_close(&mut self, code: CloseCode, reason: &str) {
        if self.state.phase != Phase::Open {
            return;
        }
        self.sender.push(Opcode::Close, &CloseFrame::new(code, reason).payload());
        self.state.phase = Phase::CloseSent;
        self.delivered = Delivered::Nothing;
        self.receiver.skip_messages();
        // Parsed all the same, so that the peer's next frame is found where it begins.
        let mut rest = std::mem::take(&mut self.rest);
        if rest.at < rest.bytes.len() {
            match self.receiver.step(&mut rest.bytes, &mut rest.at) {
                Ok(Step::Starved) => {}
                Ok(Step::Whole(..) | Step::Joined(_) | Step::Control(..)) | Err(_) => {
                    self.state.phase = Phase::Closed;
                    self.receiver.stop();
                }
            }
        }
    }

    /// Bytes to send, for the owner to drain. In [`Phase::CloseReceived`] this queues our Close,
    /// behind all that was queued before: the owner comes here after it answered what it could.
    pub fn output(&mut self) -> &mut Chunks {
        if let Some(close) = self.state.farewell.take() {
            assert_eq!(self.state.phase, Phase::CloseReceived);
            self.sender.push(Opcode::Close, &close.payload());
            self.state.phase = Phase::Closed;
        }
        &mut self.sender.queue
    }

    /// Bytes queued and not drained, for back-pressure; unlike [`Connection::output`] it leaves
    /// the phase alone.
    pub fn queued(&self) -> usize {
        self.sender.queue.len()
    }

    /// Whether messages flow both ways.
    pub fn is_open(&self) -> bool {
        self.state.phase == Phase::Open
    }

    /// How far the closing handshake is.
    pub fn phase(&self) -> Phase {
        self.state.phase
    }

    /// Payload bytes of the unfinished message, lent or not: at most `message_bytes_max`.
    pub fn unfinished_bytes(&self) -> usize {
        match self.delivered {
            Delivered::Joined => 0,
            Delivered::Nothing | Delivered::Rest(..) | Delivered::Input(..) => {
                self.receiver.message_len()
            }
        }
    }

    /// Memory the receiving side holds, in bytes, without a lent buffer.
    pub fn held_bytes(&self) -> usize {
        self.rest.bytes.capacity() + self.receiver.capacity()
    }

    /// Steps through the rest kept, then through `input`; says whether the step is of the rest.
    fn step(&mut self, input: &mut Input<'_>) -> (Result<Step, PeerError>, bool) {
        if !self.state.is_reading() {
            self.rest = Rest::default();
            input.at = input.bytes.len();
            return (Ok(Step::Starved), false);
        }
        if !self.rest.bytes.is_empty() {
            match self.receiver.step(&mut self.rest.bytes, &mut self.rest.at) {
                Ok(Step::Starved) => self.rest = Rest::default(),
                told => return (told, true),
            }
        }
        (self.receiver.step(input.bytes, &mut input.at), false)
    }

    fn send(&mut self, opcode: Opcode, payload: &[u8]) {
        if self.state.can_send() {
            self.sender.push(opcode, payload);
        }
    }

    fn forget_delivered(&mut self) {
        if matches!(self.delivered, Delivered::Joined) {
            self.receiver.joiner.forget();
        }
        self.delivered = Delivered::Nothing;
    }
}

impl State {
    fn is_reading(&self) -> bool {
        match self.phase {
            Phase::Open | Phase::CloseSent => true,
            Phase::CloseReceived | Phase::Closed => false,
        }
    }

    fn can_send(&self) -> bool {
        match self.phase {
            Phase::Open | Phase::CloseReceived => true,
            Phase::CloseSent | Phase::Closed => false,
        }
    }

    /// Answers a control frame. `payload` is `None` when the receiver gathered it.
    fn control<'a>(
        &mut self,
        receiver: &mut Receiver,
        sender: &mut Sender,
        opcode: Opcode,
        payload: Option<&[u8]>,
    ) -> Event<'a> {
        let gathered = receiver.take_control();
        let payload = payload.unwrap_or(&gathered);
        match opcode {
            Opcode::Ping => {
                // RFC 6455 §5.5.2: as soon as is practical, between fragments too.
                sender.push(Opcode::Pong, payload);
                Event::Ping(payload.len())
            }
            Opcode::Pong => Event::Pong,
            Opcode::Close => match CloseFrame::parse(payload) {
                Ok(close) => {
                    self.end(receiver, close.echo());
                    Event::Close(close)
                }
                Err(error) => self.fail(receiver, error),
            },
            Opcode::Continuation | Opcode::Text | Opcode::Binary => {
                unreachable!("the receiver tells control frames so, and no others")
            }
        }
    }

    fn fail<'a>(&mut self, receiver: &mut Receiver, error: PeerError) -> Event<'a> {
        let code = error.close_code();
        self.end(receiver, CloseFrame::new(code, code.name()));
        Event::Failed(error)
    }

    /// Reading is over; `farewell` follows unless our Close is queued already.
    fn end(&mut self, receiver: &mut Receiver, farewell: CloseFrame) {
        receiver.stop();
        match self.phase {
            Phase::Open => {
                self.phase = Phase::CloseReceived;
                self.farewell = Some(farewell);
            }
            Phase::CloseSent => self.phase = Phase::Closed,
            Phase::CloseReceived | Phase::Closed => unreachable!("reading was over before"),
        }
    }
}

/// The message that is complete in the joiner.
fn joined(receiver: &mut Receiver, kind: Kind) -> Event<'_> {
    let bytes = receiver.joiner.bytes_mut();
    match kind {
        Kind::Binary => Event::Binary(bytes),
        Kind::Text => Event::Text(
            simdutf8::basic::from_utf8(bytes).expect("the joiner checked each byte as it came"),
        ),
    }
}

fn opcode(kind: Kind) -> Opcode {
    match kind {
        Kind::Text => Opcode::Text,
        Kind::Binary => Opcode::Binary,
    }
}

/// Text out of bytes that may not be: each ill-formed sequence becomes U+FFFD (seed 000), so that
/// a path or a buffer name never makes an invalid frame.
pub fn text_lossy(bytes: &[u8]) -> Cow<'_, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// Seed 000's limit of a frame and of a message: 100 MiB.
pub const MESSAGE_BYTES_MAX: usize = 100 << 20;

/// A frame that lacks this many bytes is worth a read of its own, straight into its buffer.
pub const FILL_BYTES_MIN: usize = 16 << 10;

#[cfg(test)]
mod tests;

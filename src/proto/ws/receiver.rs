//! Bytes of the peer into frames, and frames into messages.
//!
//! One [`Receiver::step`] goes through its source until something is worth telling. A message that
//! lies whole in the source is unmasked there and named by its range; anything else is gathered:
//! header bytes in `head`, data payload in the joiner, control payload in `control`. So nothing is
//! looked at twice however the bytes are split. Not here: what a step means for the connection.

use std::ops::Range;

use super::connection::{Binary, Options, Role};
use super::error::PeerError;
use super::frame::{HEADER_BYTES_MAX, Header, Opcode};
use super::mask;
use super::message::{Joiner, Kind};

/// What a step came upon.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing more in the source, which is taken entirely.
    Starved,
    /// A message that lies whole and unmasked in the source. Text is not checked yet.
    Whole(Kind, Range<usize>),
    /// A message that is complete in the joiner.
    Joined(Kind),
    /// A control frame: unmasked in the source, or in `control` without a range.
    Control(Opcode, Option<Range<usize>>),
}

/// Where a peer's bytes become steps.
#[derive(Debug)]
pub(super) struct Receiver {
    masking: Masking,
    binary: Binary,
    message_bytes_max: usize,
    /// An unfinished header: its first `head_len` bytes.
    head: [u8; HEADER_BYTES_MAX],
    head_len: u8,
    /// The frame whose payload is not complete.
    frame: Option<Unfinished>,
    /// Payload of an unfinished or just finished control frame.
    control: Vec<u8>,
    pub(super) joiner: Joiner,
    /// `Some` while the joiner's buffer is lent: the payload bytes that were in it.
    lent_len: Option<usize>,
    /// Our Close is sent: only the peer's is of interest.
    is_skipping: bool,
    /// Bytes unmasked or moved since the start, for the tests of linear time.
    #[cfg(test)]
    pub(super) work: usize,
}

/// A frame whose header is known. Invariant: `taken <= header.payload_len`.
#[derive(Debug, Clone, Copy)]
struct Unfinished {
    header: Header,
    /// Payload bytes taken from the source so far.
    taken: usize,
}

/// Which frames may be masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Masking {
    /// Seed 000: unmasked client frames are parsed like others.
    Optional,
    Required,
    Forbidden,
}

impl Receiver {
    pub(super) fn new(role: Role, options: &Options) -> Receiver {
        let masking = match (role, options.strict_masking) {
            (Role::Client { .. }, _) => Masking::Forbidden,
            (Role::Server, true) => Masking::Required,
            (Role::Server, false) => Masking::Optional,
        };
        Receiver {
            masking,
            binary: options.binary,
            message_bytes_max: options.message_bytes_max,
            head: [0; HEADER_BYTES_MAX],
            head_len: 0,
            frame: None,
            control: Vec::new(),
            joiner: Joiner::default(),
            lent_len: None,
            is_skipping: false,
            #[cfg(test)]
            work: 0,
        }
    }

    /// Goes through `source` from `at` on until there is something to tell, and moves `at` behind
    /// what it took.
    ///
    /// # Errors
    /// The rule the peer broke; the caller must not step again.
    pub(super) fn step(&mut self, source: &mut [u8], at: &mut usize) -> Result<Step, PeerError> {
        assert!(self.lent_len.is_none(), "a lent buffer comes back before other bytes are parsed");
        loop {
            let mut frame = match self.frame.take() {
                Some(frame) => frame,
                None => match self.open_frame(source, at)? {
                    Some(header) => Unfinished { header, taken: 0 },
                    None => return Ok(Step::Starved),
                },
            };
            let lacking = frame.header.payload_len - frame.taken;
            let range = *at..*at + lacking.min(source.len() - *at);
            *at = range.end;
            self.unmask(&mut source[range.clone()], &frame);
            let is_whole = range.len() == frame.header.payload_len;
            if is_whole && let Some(step) = self.in_place(frame.header, &range) {
                return Ok(step);
            }
            frame.taken += range.len();
            let is_complete = frame.taken == frame.header.payload_len;
            self.gather(&frame, &source[range])?;
            if !is_complete {
                self.frame = Some(frame);
                return Ok(Step::Starved);
            }
            if let Some(step) = self.complete(frame.header)? {
                return Ok(step);
            }
        }
    }

    /// Payload bytes that the unfinished data frame lacks, if they could be read straight into the
    /// joiner's buffer.
    pub(super) fn lacking(&self) -> Option<usize> {
        let frame = self.frame.filter(|frame| !frame.header.opcode.is_control())?;
        let is_wanted = !self.is_skipping && self.lent_len.is_none();
        is_wanted.then_some(frame.header.payload_len - frame.taken)
    }

    /// Lends the joiner's buffer.
    pub(super) fn lend(&mut self) -> Vec<u8> {
        assert!(self.lacking().is_some());
        self.lent_len = Some(self.joiner.len());
        self.joiner.lend()
    }

    /// Takes the lent buffer back, with raw payload from `fresh_from` on.
    ///
    /// # Errors
    /// As [`Receiver::step`].
    pub(super) fn take_back(
        &mut self,
        mut buffer: Vec<u8>,
        fresh_from: usize,
    ) -> Result<Step, PeerError> {
        assert_eq!(self.lent_len.take(), Some(fresh_from), "what was lent comes back");
        let Some(mut frame) = self.frame.take() else { return Ok(Step::Starved) };
        let fresh = &mut buffer[fresh_from..];
        assert!(fresh.len() <= frame.header.payload_len - frame.taken, "no more than was wanted");
        self.unmask(fresh, &frame);
        frame.taken += fresh.len();
        if !self.is_skipping {
            self.joiner.put_back(buffer)?;
        }
        if frame.taken < frame.header.payload_len {
            self.frame = Some(frame);
            return Ok(Step::Starved);
        }
        Ok(self.complete(frame.header)?.unwrap_or(Step::Starved))
    }

    /// Payload of the control frame that was told without a range.
    pub(super) fn take_control(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.control)
    }

    /// Whether the joiner's buffer is lent.
    pub(super) fn is_lent(&self) -> bool {
        self.lent_len.is_some()
    }

    /// Payload bytes of the message under way, wherever its buffer is.
    pub(super) fn message_len(&self) -> usize {
        self.lent_len.unwrap_or(self.joiner.len())
    }

    /// Memory held, in bytes.
    pub(super) fn capacity(&self) -> usize {
        self.joiner.capacity() + self.control.capacity()
    }

    /// From now on only a Close is told; messages and their buffers are dropped.
    pub(super) fn skip_messages(&mut self) {
        self.is_skipping = true;
        self.joiner.forget();
        drop(self.joiner.give_back());
    }

    /// Frees everything; there is no further step.
    pub(super) fn stop(&mut self) {
        self.skip_messages();
        self.frame = None;
        self.control = Vec::new();
    }

    /// The next header, once all of it is there and its frame is welcome.
    fn open_frame(&mut self, source: &[u8], at: &mut usize) -> Result<Option<Header>, PeerError> {
        let max = self.message_bytes_max;
        if self.head_len == 0
            && let Some((header, len)) = Header::parse(&source[*at..], max)?
        {
            *at += len;
            self.admit(header, len, source.len() - *at)?;
            return Ok(Some(header));
        }
        while *at < source.len() {
            let len = usize::from(self.head_len) + 1;
            self.head[len - 1] = source[*at];
            *at += 1;
            if let Some((header, len)) = Header::parse(&self.head[..len], max)? {
                self.head_len = 0;
                self.admit(header, len, source.len() - *at)?;
                return Ok(Some(header));
            }
            self.head_len += 1;
        }
        Ok(None)
    }

    /// The rules that take more than the header to see; begins a message that will be gathered.
    fn admit(&mut self, header: Header, len: usize, at_hand: usize) -> Result<(), PeerError> {
        match (self.masking, header.mask) {
            (Masking::Required, None) => return Err(PeerError::UnmaskedFrame),
            (Masking::Forbidden, Some(_)) => return Err(PeerError::MaskedFrame),
            (Masking::Required | Masking::Optional, Some(_))
            | (Masking::Forbidden | Masking::Optional, None) => {}
        }
        let kind = match header.opcode {
            Opcode::Close | Opcode::Ping | Opcode::Pong => return Ok(()),
            Opcode::Text | Opcode::Binary | Opcode::Continuation if self.is_skipping => {
                return Ok(());
            }
            Opcode::Continuation => return self.admit_continuation(header, len),
            Opcode::Text => Kind::Text,
            Opcode::Binary => Kind::Binary,
        };
        if self.joiner.is_open() {
            return Err(PeerError::ExpectedContinuation(header.opcode));
        }
        if kind == Kind::Binary && self.binary == Binary::Refuse {
            return Err(PeerError::BinaryMessage);
        }
        if !header.is_final || header.payload_len > at_hand {
            self.joiner.begin(kind);
            self.count_if_empty(header, len)?;
        }
        Ok(())
    }

    fn admit_continuation(&mut self, header: Header, len: usize) -> Result<(), PeerError> {
        if !self.joiner.is_open() {
            return Err(PeerError::UnexpectedContinuation);
        }
        // Neither sum overflows: both terms are at most `message_bytes_max`, which `new` bounds.
        let message_len = self.joiner.len() + header.payload_len;
        if message_len > self.message_bytes_max {
            return Err(PeerError::MessageTooBig(message_len as u64));
        }
        self.count_if_empty(header, len)
    }

    fn count_if_empty(&mut self, header: Header, len: usize) -> Result<(), PeerError> {
        match header.payload_len {
            0 => self.joiner.count_empty(len),
            _ => Ok(()),
        }
    }

    fn unmask(&mut self, payload: &mut [u8], frame: &Unfinished) {
        if let Some(key) = frame.header.mask {
            mask::apply(payload, key, frame.taken);
        }
        self.note_work(payload.len());
    }

    #[cfg(test)]
    pub(super) fn note_work(&mut self, bytes: usize) {
        self.work += bytes;
    }

    #[cfg(not(test))]
    pub(super) fn note_work(&mut self, _bytes: usize) {}

    /// What a frame that lies whole in the source is, unless it must be gathered.
    fn in_place(&self, header: Header, range: &Range<usize>) -> Option<Step> {
        let is_message = !self.is_skipping && !self.joiner.is_open();
        let range = range.clone();
        match header.opcode {
            Opcode::Close => Some(Step::Control(Opcode::Close, Some(range))),
            Opcode::Ping | Opcode::Pong => {
                (!self.is_skipping).then_some(Step::Control(header.opcode, Some(range)))
            }
            Opcode::Text => is_message.then_some(Step::Whole(Kind::Text, range)),
            Opcode::Binary => is_message.then_some(Step::Whole(Kind::Binary, range)),
            Opcode::Continuation => None,
        }
    }

    /// Keeps a piece of payload.
    fn gather(&mut self, frame: &Unfinished, piece: &[u8]) -> Result<(), PeerError> {
        if frame.header.opcode.is_control() {
            self.control.extend_from_slice(piece);
            return Ok(());
        }
        if self.is_skipping {
            return Ok(());
        }
        let lacking = frame.header.payload_len - frame.taken;
        let message_len = self.joiner.len() + piece.len() + lacking;
        self.joiner.extend(piece, frame.header.is_final.then_some(message_len))
    }

    /// What the end of a gathered frame completes.
    fn complete(&mut self, header: Header) -> Result<Option<Step>, PeerError> {
        match header.opcode {
            Opcode::Close => Ok(Some(Step::Control(Opcode::Close, None))),
            Opcode::Ping | Opcode::Pong if self.is_skipping => {
                self.control.clear();
                Ok(None)
            }
            Opcode::Ping | Opcode::Pong => Ok(Some(Step::Control(header.opcode, None))),
            Opcode::Text | Opcode::Binary | Opcode::Continuation
                if header.is_final && !self.is_skipping =>
            {
                Ok(Some(Step::Joined(self.joiner.finish()?)))
            }
            Opcode::Text | Opcode::Binary | Opcode::Continuation => Ok(None),
        }
    }
}

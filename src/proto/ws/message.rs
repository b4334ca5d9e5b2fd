//! One message out of its fragments, or out of the pieces of one unfinished frame.
//!
//! Payload comes in unmasked and in order; what leaves is a complete text or binary message in one
//! buffer. Text is checked as it comes, so a bad byte is found with the piece that brings it, and a
//! code point may be cut anywhere (RFC 6455 §8.1). Control frames never reach this file: they may
//! stand between fragments and belong to `connection`. Nor do messages that arrive whole, which
//! are handed out where they lie.

use super::error::PeerError;

/// What a message is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Well-formed UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

/// A complete message that owns its bytes. Invariant: text was checked to be UTF-8.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    kind: Kind,
    bytes: Vec<u8>,
}

impl Message {
    /// Text or binary.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The payload.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The payload, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message { kind: Kind::Text, bytes: text.into_bytes() }
    }
}

impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Message {
        Message { kind: Kind::Binary, bytes }
    }
}

/// The message under way. Between messages it is empty and may keep a buffer until
/// [`Joiner::give_back`].
#[derive(Debug, Default)]
pub(super) struct Joiner {
    /// `Some` from the first fragment until the message is forgotten.
    kind: Option<Kind>,
    bytes: Vec<u8>,
    /// Prefix of `bytes` known to be UTF-8: `utf8_len <= bytes.len() <= utf8_len + 3` for text.
    utf8_len: usize,
    /// Bytes of the headers of fragments without payload.
    empty_bytes: usize,
    /// Bytes copied and checked since the start, for the tests of linear time.
    #[cfg(test)]
    pub(super) work: usize,
}

impl Joiner {
    /// Whether a message was begun and not yet forgotten.
    pub(super) fn is_open(&self) -> bool {
        self.kind.is_some()
    }

    /// Payload bytes received so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Memory held, in bytes.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// The payload so far; the caller finished the message.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Starts a message.
    pub(super) fn begin(&mut self, kind: Kind) {
        assert!(self.kind.is_none() && self.bytes.is_empty());
        self.kind = Some(kind);
    }

    /// Counts a fragment without payload, whose header took `header_len` bytes.
    ///
    /// # Errors
    /// [`PeerError::EmptyFragments`] above [`EMPTY_FRAGMENTS_BYTES_MAX`].
    pub(super) fn count_empty(&mut self, header_len: usize) -> Result<(), PeerError> {
        self.empty_bytes += header_len;
        match self.empty_bytes > EMPTY_FRAGMENTS_BYTES_MAX {
            true => Err(PeerError::EmptyFragments),
            false => Ok(()),
        }
    }

    /// Appends payload. `message_len` is the length of the whole message where it is known: it
    /// keeps the last growth from overshooting, and is never a reason to grow.
    ///
    /// # Errors
    /// [`PeerError::TextUtf8`] at the first byte that no further byte could make well-formed.
    pub(super) fn extend(
        &mut self,
        payload: &[u8],
        message_len: Option<usize>,
    ) -> Result<(), PeerError> {
        let needed = self.bytes.len() + payload.len();
        if needed > self.bytes.capacity() {
            let doubled = self.bytes.capacity() * 2;
            let grown = doubled.min(message_len.unwrap_or(usize::MAX)).max(needed);
            self.bytes.reserve_exact(grown - self.bytes.len());
            self.note_work(self.bytes.len());
        }
        self.bytes.extend_from_slice(payload);
        self.note_work(payload.len());
        self.check()
    }

    /// Lends the buffer, so that payload can be read straight into it; until [`Joiner::put_back`]
    /// the message looks empty.
    pub(super) fn lend(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Takes the lent buffer back, longer by checked-in payload.
    ///
    /// # Errors
    /// As [`Joiner::extend`].
    pub(super) fn put_back(&mut self, bytes: Vec<u8>) -> Result<(), PeerError> {
        assert!(self.bytes.is_empty() && self.utf8_len <= bytes.len());
        self.bytes = bytes;
        self.check()
    }

    /// Ends the message, which stays readable until [`Joiner::forget`].
    ///
    /// # Errors
    /// [`PeerError::TextUtf8`] when text ends inside a code point.
    pub(super) fn finish(&self) -> Result<Kind, PeerError> {
        let kind = self.kind.expect("only a message that was begun is finished");
        match kind == Kind::Text && self.utf8_len < self.bytes.len() {
            true => Err(PeerError::TextUtf8),
            false => Ok(kind),
        }
    }

    /// The finished message with its buffer, without a copy.
    pub(super) fn take(&mut self) -> Option<Message> {
        let message = Message { kind: self.kind?, bytes: std::mem::take(&mut self.bytes) };
        self.forget();
        Some(message)
    }

    /// Drops the message and keeps its buffer.
    pub(super) fn forget(&mut self) {
        self.kind = None;
        self.bytes.clear();
        self.utf8_len = 0;
        self.empty_bytes = 0;
    }

    /// The buffer, when no message is under way.
    pub(super) fn give_back(&mut self) -> Vec<u8> {
        assert!(self.kind.is_none());
        std::mem::take(&mut self.bytes)
    }

    /// Checks what was appended, and the up to three bytes before it that wait for their rest.
    fn check(&mut self) -> Result<(), PeerError> {
        if self.kind != Some(Kind::Text) {
            return Ok(());
        }
        self.note_work(self.bytes.len() - self.utf8_len);
        match simdutf8::compat::from_utf8(&self.bytes[self.utf8_len..]) {
            Ok(_) => self.utf8_len = self.bytes.len(),
            Err(error) if error.error_len().is_none() => self.utf8_len += error.valid_up_to(),
            Err(_) => return Err(PeerError::TextUtf8),
        }
        Ok(())
    }

    #[cfg(test)]
    fn note_work(&mut self, bytes: usize) {
        self.work += bytes;
    }

    #[cfg(not(test))]
    fn note_work(&mut self, _bytes: usize) {}
}

/// Most bytes of headers that fragments without payload may take in one message. Fragments with
/// payload are bounded by the size of the message and may be as many as they like: joining has no
/// cost a fragment. Empty ones would never end, so they are counted: 174,762 masked ones pass, far
/// more than any sender needs.
pub const EMPTY_FRAGMENTS_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests;

//! What a peer may do wrong after the opening handshake: one variant a rule.
//!
//! The variant's `Display` names the broken rule and becomes the disconnect reason; `close_code`
//! is the status the connection fails with. Not here: our own misuse of the codec, which is an
//! assertion, and I/O errors, which the codec never sees.

use std::fmt;

use super::close::CloseCode;
use super::frame::Opcode;

/// The peer broke RFC 6455 or one of our limits; the connection fails with
/// [`PeerError::close_code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerError {
    /// RSV1, RSV2 or RSV3 set although no extension was agreed on (RFC 6455 §5.2): as 4, 2 and 1.
    ReservedBits(u8),
    /// An opcode nobody defined (RFC 6455 §5.2).
    ReservedOpcode(u8),
    /// A control frame without FIN (RFC 6455 §5.5).
    FragmentedControl(Opcode),
    /// A control frame of more than 125 bytes (RFC 6455 §5.5).
    ControlTooLong(Opcode),
    /// A 64-bit length with its most significant bit set (RFC 6455 §5.2).
    LengthTopBit,
    /// A length in more bytes than it needs (RFC 6455 §5.2).
    LengthNotMinimal(u64),
    /// A client frame without a mask, and masking is enforced (RFC 6455 §5.1).
    UnmaskedFrame,
    /// A server frame with a mask (RFC 6455 §5.1).
    MaskedFrame,
    /// A CONTINUATION frame with no message to continue (RFC 6455 §5.4).
    UnexpectedContinuation,
    /// A TEXT or BINARY frame inside a fragmented message (RFC 6455 §5.4).
    ExpectedContinuation(Opcode),
    /// A Close payload of one byte: half a status code (RFC 6455 §5.5.1).
    CloseHalfCode,
    /// A status code that must not be on the wire (RFC 6455 §7.4).
    CloseForbiddenCode(u16),
    /// A Close reason that is not well-formed UTF-8 (RFC 6455 §5.5.1).
    CloseReasonUtf8,
    /// A text message that is not well-formed UTF-8 (RFC 6455 §8.1).
    TextUtf8,
    /// A binary message, and only text is spoken here.
    BinaryMessage,
    /// A frame that declares more than the limit, in bytes.
    FrameTooBig(u64),
    /// Fragments that add up to more than the limit, in bytes.
    MessageTooBig(u64),
    /// More fragments without payload than [`super::message::EMPTY_FRAGMENTS_BYTES_MAX`] allows.
    EmptyFragments,
}

impl PeerError {
    /// Status of the Close frame that answers this.
    pub fn close_code(self) -> CloseCode {
        match self {
            PeerError::ReservedBits(_)
            | PeerError::ReservedOpcode(_)
            | PeerError::FragmentedControl(_)
            | PeerError::ControlTooLong(_)
            | PeerError::LengthTopBit
            | PeerError::LengthNotMinimal(_)
            | PeerError::UnmaskedFrame
            | PeerError::MaskedFrame
            | PeerError::UnexpectedContinuation
            | PeerError::ExpectedContinuation(_)
            | PeerError::CloseHalfCode
            | PeerError::CloseForbiddenCode(_) => CloseCode::PROTOCOL_ERROR,
            PeerError::CloseReasonUtf8 | PeerError::TextUtf8 => CloseCode::INVALID_PAYLOAD,
            PeerError::BinaryMessage => CloseCode::UNSUPPORTED_DATA,
            PeerError::FrameTooBig(_) | PeerError::MessageTooBig(_) | PeerError::EmptyFragments => {
                CloseCode::MESSAGE_TOO_BIG
            }
        }
    }
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerError::ReservedBits(bits) => write!(f, "Reserved bits 0x{bits:X}"),
            PeerError::ReservedOpcode(opcode) => write!(f, "Reserved opcode 0x{opcode:X}"),
            PeerError::FragmentedControl(opcode) => write!(f, "Fragmented {opcode} frame"),
            PeerError::ControlTooLong(opcode) => write!(f, "{opcode} payload over 125 bytes"),
            PeerError::LengthTopBit => f.write_str("Payload length with its top bit set"),
            PeerError::LengthNotMinimal(len) => write!(f, "Payload length {len} in too many bytes"),
            PeerError::UnmaskedFrame => f.write_str("Unmasked client frame"),
            PeerError::MaskedFrame => f.write_str("Masked server frame"),
            PeerError::UnexpectedContinuation => f.write_str("CONTINUATION without a message"),
            PeerError::ExpectedContinuation(opcode) => {
                write!(f, "{opcode} frame inside a fragmented message")
            }
            PeerError::CloseHalfCode => f.write_str("CLOSE payload of 1 byte"),
            PeerError::CloseForbiddenCode(code) => write!(f, "Forbidden close code {code}"),
            PeerError::CloseReasonUtf8 => f.write_str("CLOSE reason is not UTF-8"),
            PeerError::TextUtf8 => f.write_str("TEXT message is not UTF-8"),
            PeerError::BinaryMessage => f.write_str("BINARY message"),
            PeerError::FrameTooBig(len) => write!(f, "Frame payload of {len} bytes"),
            PeerError::MessageTooBig(len) => write!(f, "Message of {len} bytes"),
            PeerError::EmptyFragments => f.write_str("Too many fragments without payload"),
        }
    }
}

impl std::error::Error for PeerError {}

//! Frame headers on the wire (RFC 6455 §5.2), read and written.
//!
//! [`Header::parse`] checks every rule that a header shows by itself, in the order its bytes come,
//! so that feeding it byte by byte finds the same fault as feeding it whole. Not here: rules that
//! need the frames before (fragments), the role (masking) or the payload.

use std::fmt;

use super::error::PeerError;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    /// A further fragment of the message under way.
    Continuation,
    /// A text message, or its first fragment.
    Text,
    /// A binary message, or its first fragment.
    Binary,
    /// The closing handshake.
    Close,
    /// Asks for a pong.
    Ping,
    /// Answers a ping, or comes unasked.
    Pong,
}

impl Opcode {
    /// Whether the frame may stand between fragments and carries at most 125 bytes.
    pub fn is_control(self) -> bool {
        match self {
            Opcode::Close | Opcode::Ping | Opcode::Pong => true,
            Opcode::Continuation | Opcode::Text | Opcode::Binary => false,
        }
    }

    fn from_wire(bits: u8) -> Option<Opcode> {
        match bits {
            0x0 => Some(Opcode::Continuation),
            0x1 => Some(Opcode::Text),
            0x2 => Some(Opcode::Binary),
            0x8 => Some(Opcode::Close),
            0x9 => Some(Opcode::Ping),
            0xA => Some(Opcode::Pong),
            _ => None,
        }
    }

    fn to_wire(self) -> u8 {
        match self {
            Opcode::Continuation => 0x0,
            Opcode::Text => 0x1,
            Opcode::Binary => 0x2,
            Opcode::Close => 0x8,
            Opcode::Ping => 0x9,
            Opcode::Pong => 0xA,
        }
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Opcode::Continuation => "CONTINUATION",
            Opcode::Text => "TEXT",
            Opcode::Binary => "BINARY",
            Opcode::Close => "CLOSE",
            Opcode::Ping => "PING",
            Opcode::Pong => "PONG",
        })
    }
}

/// All there is to know of a frame before its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What the payload is.
    pub opcode: Opcode,
    /// FIN: no fragment follows.
    pub is_final: bool,
    /// The masking key, when the payload is masked.
    pub mask: Option<[u8; 4]>,
    /// Bytes of payload; for a control frame at most [`CONTROL_BYTES_MAX`].
    pub payload_len: usize,
}

impl Header {
    /// Reads the header at the start of `bytes` and its length; `None` while it is incomplete.
    ///
    /// # Errors
    /// The first rule broken, as soon as the bytes show it; a payload above `payload_len_max` is
    /// refused before its masking key is there. What fails for a prefix fails alike for the whole.
    pub fn parse(
        bytes: &[u8],
        payload_len_max: usize,
    ) -> Result<Option<(Header, usize)>, PeerError> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        let opcode = parse_first(first)?;
        let is_final = first & FIN != 0;
        let Some(&second) = bytes.get(1) else { return Ok(None) };
        let short_len = second & LEN_BITS;
        if opcode.is_control() && usize::from(short_len) > CONTROL_BYTES_MAX {
            return Err(PeerError::ControlTooLong(opcode));
        }
        let (len, mask_at) = match short_len {
            LEN_IN_16_BITS => match bytes.get(2..4) {
                Some(&[a, b]) => (minimal(u64::from(u16::from_be_bytes([a, b])), 126)?, 4),
                _ => return Ok(None),
            },
            LEN_IN_64_BITS => match bytes.get(2..10) {
                Some(&[a, b, c, d, e, f, g, h]) => {
                    let len = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
                    if len >> 63 != 0 {
                        return Err(PeerError::LengthTopBit);
                    }
                    (minimal(len, 1 << 16)?, 10)
                }
                _ => return Ok(None),
            },
            short => (u64::from(short), 2),
        };
        let payload_len = match usize::try_from(len) {
            Ok(payload_len) if payload_len <= payload_len_max => payload_len,
            Ok(_) | Err(_) => return Err(PeerError::FrameTooBig(len)),
        };
        if second & MASKED == 0 {
            return Ok(Some((Header { opcode, is_final, mask: None, payload_len }, mask_at)));
        }
        match bytes.get(mask_at..mask_at + 4) {
            Some(&[a, b, c, d]) => {
                let mask = Some([a, b, c, d]);
                Ok(Some((Header { opcode, is_final, mask, payload_len }, mask_at + 4)))
            }
            _ => Ok(None),
        }
    }

    /// The header on the wire, its length in as few bytes as it needs: the buffer and how many of
    /// its bytes are the header.
    pub fn encode(&self) -> ([u8; HEADER_BYTES_MAX], usize) {
        assert!(!self.opcode.is_control() || self.payload_len <= CONTROL_BYTES_MAX);
        assert!(!self.opcode.is_control() || self.is_final);
        let mut bytes = [0; HEADER_BYTES_MAX];
        bytes[0] = self.opcode.to_wire() | if self.is_final { FIN } else { 0 };
        let masked = if self.mask.is_some() { MASKED } else { 0 };
        let len = self.payload_len as u64;
        let mut end = 2;
        if let Ok(short @ 0..=125) = u8::try_from(len) {
            bytes[1] = masked | short;
        } else if let Ok(middle) = u16::try_from(len) {
            bytes[1] = masked | LEN_IN_16_BITS;
            bytes[2..4].copy_from_slice(&middle.to_be_bytes());
            end = 4;
        } else {
            bytes[1] = masked | LEN_IN_64_BITS;
            bytes[2..10].copy_from_slice(&len.to_be_bytes());
            end = 10;
        }
        if let Some(mask) = self.mask {
            bytes[end..end + 4].copy_from_slice(&mask);
            end += 4;
        }
        (bytes, end)
    }
}

/// The rules of a frame's first byte.
fn parse_first(first: u8) -> Result<Opcode, PeerError> {
    let reserved = first >> 4 & 0x7;
    if reserved != 0 {
        return Err(PeerError::ReservedBits(reserved));
    }
    let Some(opcode) = Opcode::from_wire(first & 0xF) else {
        return Err(PeerError::ReservedOpcode(first & 0xF));
    };
    match first & FIN == 0 && opcode.is_control() {
        true => Err(PeerError::FragmentedControl(opcode)),
        false => Ok(opcode),
    }
}

/// `len`, unless a shorter form would have held it.
fn minimal(len: u64, form_min: u64) -> Result<u64, PeerError> {
    match len < form_min {
        true => Err(PeerError::LengthNotMinimal(len)),
        false => Ok(len),
    }
}

/// Longest payload of a control frame, in bytes (RFC 6455 §5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

/// Longest header, in bytes: two, a 64-bit length and a masking key (RFC 6455 §5.2).
pub const HEADER_BYTES_MAX: usize = 14;

const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;
const LEN_BITS: u8 = 0x7F;
const LEN_IN_16_BITS: u8 = 126;
const LEN_IN_64_BITS: u8 = 127;

#[cfg(test)]
mod tests;

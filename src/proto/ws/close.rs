//! Status codes and payloads of Close frames (RFC 6455 §5.5.1 and §7.4).
//!
//! A [`CloseCode`] can only be one that may be on the wire, so no path can ever send, or echo, a
//! forbidden one. Not here: when a Close is due, which `connection` decides.

use std::fmt;

use super::error::PeerError;

/// A status code that may be on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The purpose of the connection is fulfilled.
    pub const NORMAL: CloseCode = CloseCode(1000);
    /// An endpoint goes away, such as a server that stops.
    pub const GOING_AWAY: CloseCode = CloseCode(1001);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: CloseCode = CloseCode(1002);
    /// The peer sent a kind of message that is not spoken here.
    pub const UNSUPPORTED_DATA: CloseCode = CloseCode(1003);
    /// The peer sent text that is not UTF-8.
    pub const INVALID_PAYLOAD: CloseCode = CloseCode(1007);
    /// The peer broke a rule for which there is no better code.
    pub const POLICY_VIOLATION: CloseCode = CloseCode(1008);
    /// The peer sent more than is taken here.
    pub const MESSAGE_TOO_BIG: CloseCode = CloseCode(1009);
    /// A client misses an extension it needs.
    pub const MANDATORY_EXTENSION: CloseCode = CloseCode(1010);
    /// A server cannot go on; also our keep-alive and stall drops (seed 000).
    pub const INTERNAL_ERROR: CloseCode = CloseCode(1011);
    /// The server restarts (IANA registry).
    pub const SERVICE_RESTART: CloseCode = CloseCode(1012);
    /// The server is overloaded (IANA registry).
    pub const TRY_AGAIN_LATER: CloseCode = CloseCode(1013);
    /// A gateway got a bad answer from upstream (IANA registry).
    pub const BAD_GATEWAY: CloseCode = CloseCode(1014);

    /// The code, unless it must not be on the wire: below 1000 (RFC 6455 §7.4.2), 1004 to 1006 and
    /// 1015 (reserved, §7.4.1), 1016 to 2999 (nobody registered them) and from 5000 on.
    pub fn from_wire(code: u16) -> Option<CloseCode> {
        match code {
            1000..=1003 | 1007..=1014 | 3000..=4999 => Some(CloseCode(code)),
            0..=999 | 1004..=1006 | 1015..=2999 | 5000.. => None,
        }
    }

    /// The number on the wire.
    pub fn get(self) -> u16 {
        self.0
    }

    /// The name RFC 6455 or the IANA registry gives the code; empty for those from 3000 on.
    pub fn name(self) -> &'static str {
        match self {
            CloseCode::NORMAL => "Normal closure",
            CloseCode::GOING_AWAY => "Going away",
            CloseCode::PROTOCOL_ERROR => "Protocol error",
            CloseCode::UNSUPPORTED_DATA => "Unsupported data",
            CloseCode::INVALID_PAYLOAD => "Invalid frame payload data",
            CloseCode::POLICY_VIOLATION => "Policy violation",
            CloseCode::MESSAGE_TOO_BIG => "Message too big",
            CloseCode::MANDATORY_EXTENSION => "Mandatory extension",
            CloseCode::INTERNAL_ERROR => "Internal error",
            CloseCode::SERVICE_RESTART => "Service restart",
            CloseCode::TRY_AGAIN_LATER => "Try again later",
            CloseCode::BAD_GATEWAY => "Bad gateway",
            CloseCode(_) => "",
        }
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a Close frame says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloseFrame {
    /// `None` for a Close without payload.
    pub code: Option<CloseCode>,
    /// At most [`REASON_BYTES_MAX`] bytes; empty without a code. From a peer: never log it raw.
    pub reason: String,
}

impl CloseFrame {
    /// A frame with a code; a reason that is too long is cut between two characters.
    pub fn new(code: CloseCode, reason: &str) -> CloseFrame {
        let end = (0..=reason.len().min(REASON_BYTES_MAX))
            .rev()
            .find(|&end| reason.is_char_boundary(end))
            .unwrap_or(0);
        CloseFrame { code: Some(code), reason: reason[..end].to_owned() }
    }

    /// Reads a payload, which the frame's header already limits to 125 bytes.
    ///
    /// # Errors
    /// [`PeerError::CloseHalfCode`], [`PeerError::CloseForbiddenCode`],
    /// [`PeerError::CloseReasonUtf8`], looked for in this order.
    pub fn parse(payload: &[u8]) -> Result<CloseFrame, PeerError> {
        let (code, reason) = match payload {
            [] => return Ok(CloseFrame::default()),
            [_] => return Err(PeerError::CloseHalfCode),
            [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
        };
        let Some(known) = CloseCode::from_wire(code) else {
            return Err(PeerError::CloseForbiddenCode(code));
        };
        match simdutf8::basic::from_utf8(reason) {
            Ok(reason) => Ok(CloseFrame { code: Some(known), reason: reason.to_owned() }),
            Err(_) => Err(PeerError::CloseReasonUtf8),
        }
    }

    /// The payload to send: at most 125 bytes.
    pub fn payload(&self) -> Vec<u8> {
        let Some(code) = self.code else { return Vec::new() };
        assert!(self.reason.len() <= REASON_BYTES_MAX);
        [&code.get().to_be_bytes(), self.reason.as_bytes()].concat()
    }

    /// The answer to this frame: its code and nothing else (RFC 6455 §5.5.1).
    pub fn echo(&self) -> CloseFrame {
        CloseFrame { code: self.code, reason: String::new() }
    }
}

/// Longest reason, in bytes: a control frame's 125 less the code (RFC 6455 §5.5).
pub const REASON_BYTES_MAX: usize = 123;

#[cfg(test)]
mod tests;

//! The opening handshake, server side: RFC 6455 §4.2, with the answers of seed 000.
//!
//! Not the head's syntax (`http::head`) and not who may come in (`transport`): here a request is
//! only judged as a WebSocket upgrade. No extension is ever agreed to, since none is implemented;
//! the one subprotocol spoken is `mcp`, chosen if and only if it was offered, because a client
//! drops a connection that names another or names it twice.

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use sha1::{Digest, Sha1};

use crate::proto::http::request::{Lookup, Request, Version};
use crate::proto::http::response::{Response, Status};

/// What every refusal of an upgrade begins with, so that people and logs can tell it (seed 000).
pub const REFUSAL_PREFIX: &str = "Bad WebSocket upgrade request: ";

/// The subprotocol of MCP over WebSocket.
pub const SUBPROTOCOL: &str = "mcp";

/// Appended to the key before hashing, RFC 6455 §1.3.
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Characters of a key: 16 bytes in base64, RFC 6455 §4.1.
const KEY_CHARS: usize = 24;

/// Bytes of a decoded key.
const KEY_BYTES: usize = 16;

/// Keys are random; which of the spare bits of the last character are set means nothing.
const KEY_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// An upgrade that holds; [`Upgrade::response`] says so to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgrade {
    accept: String,
    is_mcp: bool,
}

/// Why a request is no WebSocket upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// Not GET.
    WrongMethod,
    /// Not HTTP/1.1.
    WrongHttpVersion,
    /// `Upgrade` does not name `websocket`.
    MissingUpgrade,
    /// `Connection` does not name `upgrade`.
    MissingConnection,
    /// No Sec-WebSocket-Version.
    MissingVersion,
    /// A Sec-WebSocket-Version other than one `13`.
    WrongVersion,
    /// No Sec-WebSocket-Key.
    MissingKey,
    /// More than one Sec-WebSocket-Key.
    RepeatedKey,
    /// A Sec-WebSocket-Key that is not 16 bytes in base64.
    BadKey,
    /// The request announces a body, which would be taken for frames.
    HasBody,
}

impl Rejection {
    /// One line that says what is wrong.
    pub fn reason(self) -> &'static str {
        match self {
            Rejection::WrongMethod => "a WebSocket is opened with GET",
            Rejection::WrongHttpVersion => "a WebSocket is opened with HTTP/1.1",
            Rejection::MissingUpgrade => "the Upgrade header does not name websocket",
            Rejection::MissingConnection => "the Connection header does not name upgrade",
            Rejection::MissingVersion => "no Sec-WebSocket-Version header",
            Rejection::WrongVersion => "Sec-WebSocket-Version is not 13",
            Rejection::MissingKey => "no Sec-WebSocket-Key header",
            Rejection::RepeatedKey => "more than one Sec-WebSocket-Key header",
            Rejection::BadKey => "Sec-WebSocket-Key is not 24 characters of base64",
            Rejection::HasBody => "an upgrade request has no body",
        }
    }

    /// The response to send: 404 for another method or version, 400 otherwise (seed 000).
    pub fn response(self) -> Response {
        let text = format!("{REFUSAL_PREFIX}{}", self.reason());
        match self {
            Rejection::WrongMethod | Rejection::WrongHttpVersion => {
                Response::text(Status::NotFound, self.reason())
            }
            // RFC 6455 §4.4: a server that does not speak the version says which it speaks.
            Rejection::MissingVersion | Rejection::WrongVersion => {
                Response::text(Status::BadRequest, &text).with_field("Sec-WebSocket-Version", "13")
            }
            Rejection::MissingUpgrade
            | Rejection::MissingConnection
            | Rejection::MissingKey
            | Rejection::RepeatedKey
            | Rejection::BadKey
            | Rejection::HasBody => Response::text(Status::BadRequest, &text),
        }
    }
}

/// Judges a request as the opening handshake of RFC 6455 §4.2.1.
pub fn validate_upgrade(request: &Request) -> Result<Upgrade, Rejection> {
    if request.method != "GET" {
        return Err(Rejection::WrongMethod);
    }
    if request.version != Version::Http11 {
        return Err(Rejection::WrongHttpVersion);
    }
    // An element may carry a version: `websocket/13` (RFC 9110 §7.8).
    let names_websocket = |element: &str| {
        let name = element.split('/').next().unwrap_or_default();
        name.trim_end().eq_ignore_ascii_case("websocket")
    };
    if !request.tokens("upgrade").any(names_websocket) {
        return Err(Rejection::MissingUpgrade);
    }
    if !request.has_token("connection", "upgrade") {
        return Err(Rejection::MissingConnection);
    }
    match request.single("sec-websocket-version") {
        Lookup::One("13") => {}
        Lookup::Missing => return Err(Rejection::MissingVersion),
        Lookup::One(_) | Lookup::Many => return Err(Rejection::WrongVersion),
    }
    let key = match request.single("sec-websocket-key") {
        Lookup::One(key) if is_key(key) => key,
        Lookup::One(_) => return Err(Rejection::BadKey),
        Lookup::Missing => return Err(Rejection::MissingKey),
        Lookup::Many => return Err(Rejection::RepeatedKey),
    };
    if request.has_body() {
        return Err(Rejection::HasBody);
    }
    let is_mcp = request.tokens("sec-websocket-protocol").any(|offered| offered == SUBPROTOCOL);
    Ok(Upgrade { accept: accept_of(key), is_mcp })
}

impl Upgrade {
    /// Whether the subprotocol `mcp` was offered, and so agreed.
    pub fn is_mcp(&self) -> bool {
        self.is_mcp
    }

    /// The 101 response, RFC 6455 §4.2.2.
    pub fn response(&self) -> Vec<u8> {
        let mut text = String::from(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
        );
        text += &format!("Sec-WebSocket-Accept: {}\r\n", self.accept);
        if self.is_mcp {
            text += &format!("Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n");
        }
        text += "\r\n";
        text.into_bytes()
    }
}

fn is_key(key: &str) -> bool {
    let is_sixteen_bytes = |bytes: Vec<u8>| bytes.len() == KEY_BYTES;
    key.len() == KEY_CHARS && KEY_BASE64.decode(key).is_ok_and(is_sixteen_bytes)
}

/// Sec-WebSocket-Accept of a key, RFC 6455 §4.2.2 item 5.4.
pub fn accept_of(key: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(key.as_bytes());
    hash.update(ACCEPT_SUFFIX.as_bytes());
    STANDARD.encode(hash.finalize())
}

#[cfg(test)]
mod tests;

//! One JSON-RPC message told apart: request, notification or response.
//!
//! Everything is borrowed from the text: parameters stay raw JSON, so a request of 64 MiB costs one
//! pass and no copy until whoever handles the method decodes what it needs. Arrays are refused
//! here; a door that takes batches splits them first.
//!
//! The order of the checks is a promise: JSON, object, `jsonrpc`, repeated members, `method`, and
//! only then the id. A malformed notification therefore gets an error reply, with `id: null`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::ErrorCode;
use super::id::Id;

/// A well-formed message.
#[derive(Debug, Clone)]
pub enum Message<'a> {
    /// Wants exactly one answer.
    Request {
        /// To be echoed.
        id: Id<'a>,
        /// Decoded; borrowed unless it was spelled with escapes.
        method: Cow<'a, str>,
        /// Any JSON value but null, which counts as absent.
        params: Option<&'a RawValue>,
    },
    /// Never answered.
    Notification {
        /// As in a request.
        method: Cow<'a, str>,
        /// As in a request.
        params: Option<&'a RawValue>,
    },
    /// Answers a request of ours.
    Response {
        /// `None` when the peer could not read ours, or sent no valid id.
        id: Option<Id<'a>>,
        /// What the peer answered, unless it failed.
        result: Option<&'a RawValue>,
        /// Why it failed.
        error: Option<&'a RawValue>,
    },
}

/// Why a text is no message, with the id to answer under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError<'a> {
    /// The rule that was broken.
    pub fault: Fault,
    /// `None` is answered as `null`.
    pub id: Option<Id<'a>>,
}

/// A rule of JSON-RPC 2.0 that a text broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No JSON text; where it went wrong, 1-based.
    NotJson {
        /// Line of the text.
        line: usize,
        /// Column in bytes.
        column: usize,
    },
    /// A JSON value, but no object (§4).
    NotObject,
    /// An array: batches (§6) are not taken on this door.
    Batch,
    /// `jsonrpc` is not exactly "2.0".
    Version,
    /// A member the protocol defines stands twice, so it has no one meaning.
    Repeated(&'static str),
    /// `method` is missing or no string.
    Method,
    /// `id` is neither string nor integer, or too long.
    Id,
}

impl Fault {
    /// What goes on the wire.
    pub fn code(self) -> ErrorCode {
        match self {
            Fault::NotJson { .. } => ErrorCode::PARSE_ERROR,
            Fault::NotObject
            | Fault::Batch
            | Fault::Version
            | Fault::Repeated(_)
            | Fault::Method
            | Fault::Id => ErrorCode::INVALID_REQUEST,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotJson { line, column } => {
                write!(out, "parse error: no JSON at line {line}, column {column}")
            }
            Fault::NotObject => out.write_str("invalid request: a message is a JSON object"),
            Fault::Batch => out.write_str("invalid request: batches are not taken here"),
            Fault::Version => out.write_str("invalid request: \"jsonrpc\" must be \"2.0\""),
            Fault::Repeated(member) => write!(out, "invalid request: \"{member}\" stands twice"),
            Fault::Method => out.write_str("invalid request: \"method\" must be a string"),
            Fault::Id => out.write_str("invalid request: \"id\" must be a string or an integer"),
        }
    }
}

/// Tells one message apart, in one pass and without copying.
///
/// # Errors
/// The first rule broken, in the order of [`Fault`]'s variants; never panics, whatever the text.
pub fn parse(text: &str) -> Result<Message<'_>, ParseError<'_>> {
    let anonymous = |fault| ParseError { fault, id: None };
    if !text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{') {
        return Err(anonymous(match serde_json::from_str::<IgnoredAny>(text) {
            Err(error) => not_json(&error),
            Ok(_) if text.trim_start().starts_with('[') => Fault::Batch,
            Ok(_) => Fault::NotObject,
        }));
    }
    let members: Members<'_> =
        serde_json::from_str(text).map_err(|error| anonymous(not_json(&error)))?;
    members.tell_apart()
}

/// The text of a raw JSON string; `None` for any other value, and for a lone surrogate.
/// Borrowed unless the string holds escapes.
pub fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    decode_string(raw.get())
}

/// [`string`] for a token known to be valid JSON.
pub(super) fn decode_string(token: &str) -> Option<Cow<'_, str>> {
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(token).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

fn not_json(error: &serde_json::Error) -> Fault {
    Fault::NotJson { line: error.line(), column: error.column() }
}

/// The members JSON-RPC defines, still raw; the last one of each name.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    repeated: Option<&'static str>,
}

impl<'a> Members<'a> {
    fn tell_apart(self) -> Result<Message<'a>, ParseError<'a>> {
        let id = self.id.and_then(Id::parse).filter(|_| self.repeated != Some("id"));
        let broken = |fault| ParseError { fault, id };
        if self.jsonrpc.and_then(string).as_deref() != Some("2.0") {
            return Err(broken(Fault::Version));
        }
        if let Some(member) = self.repeated {
            return Err(broken(Fault::Repeated(member)));
        }
        let Some(method) = self.method else {
            if self.result.is_none() && self.error.is_none() {
                return Err(broken(Fault::Method));
            }
            return Ok(Message::Response { id, result: self.result, error: self.error });
        };
        let method = string(method).ok_or(broken(Fault::Method))?;
        let params = self.params.filter(|params| params.get() != "null");
        match (self.id, id) {
            (None, _) => Ok(Message::Notification { method, params }),
            (Some(_), Some(id)) => Ok(Message::Request { id, method, params }),
            (Some(_), None) => Err(broken(Fault::Id)),
        }
    }

    /// Where a member of this name is kept.
    fn slot(&mut self, member: Member) -> Option<(&'static str, &mut Option<&'a RawValue>)> {
        match member {
            Member::Jsonrpc => Some(("jsonrpc", &mut self.jsonrpc)),
            Member::Id => Some(("id", &mut self.id)),
            Member::Method => Some(("method", &mut self.method)),
            Member::Params => Some(("params", &mut self.params)),
            Member::Result => Some(("result", &mut self.result)),
            Member::Error => Some(("error", &mut self.error)),
            Member::Other => None,
        }
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members::default();
                while let Some(member) = map.next_key::<Member>()? {
                    let Some((name, slot)) = members.slot(member) else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    if slot.replace(map.next_value::<&RawValue>()?).is_some() {
                        members.repeated = members.repeated.or(Some(name));
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// The name of a member, without keeping the text.
#[derive(Clone, Copy)]
enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberVisitor;

        impl Visitor<'_> for MemberVisitor {
            type Value = Member;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a member name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Member, E> {
                Ok(match name {
                    "jsonrpc" => Member::Jsonrpc,
                    "id" => Member::Id,
                    "method" => Member::Method,
                    "params" => Member::Params,
                    "result" => Member::Result,
                    "error" => Member::Error,
                    _ => Member::Other,
                })
            }
        }

        deserializer.deserialize_identifier(MemberVisitor)
    }
}

#[cfg(test)]
mod tests;

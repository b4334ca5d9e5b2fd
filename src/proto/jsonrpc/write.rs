//! JSON-RPC messages written into one string each.
//!
//! Ids are copied as they were spelled, results arrive as JSON text; nothing is built as a tree
//! first. Every message stands on one line: `serde_json` escapes line breaks inside strings, and
//! callers hand in JSON without them.

use std::io;

use serde::Serialize;

use super::error::ErrorCode;
use super::id::Id;

/// A response whose result is the JSON text `result`.
pub fn response(id: Id<'_>, result: &str) -> String {
    let mut out = String::with_capacity(FRAME_BYTES + id.token().len() + result.len());
    begin_response(&mut out, id);
    out.push_str(result);
    end(&mut out);
    out
}

/// Writes a response up to its result, which the caller appends before [`end`].
pub fn begin_response(out: &mut String, id: Id<'_>) {
    out.push_str(r#"{"jsonrpc":"2.0","id":"#);
    out.push_str(id.token());
    out.push_str(r#","result":"#);
}

/// Closes what [`begin_response`] opened.
pub fn end(out: &mut String) {
    out.push('}');
}

/// An error response; without an id it carries `null`.
pub fn error(id: Option<Id<'_>>, code: ErrorCode, message: &str) -> String {
    let token = id.map_or("null", Id::token);
    let mut out = String::with_capacity(2 * FRAME_BYTES + token.len() + message.len());
    out.push_str(r#"{"jsonrpc":"2.0","id":"#);
    out.push_str(token);
    out.push_str(r#","error":{"code":"#);
    json(&mut out, &code.0);
    out.push_str(r#","message":"#);
    json(&mut out, message);
    out.push_str("}}");
    out
}

/// A notification with parameters.
pub fn notification<P: Serialize + ?Sized>(method: &str, params: &P) -> String {
    let mut out = String::with_capacity(2 * FRAME_BYTES + method.len());
    out.push_str(r#"{"jsonrpc":"2.0","method":"#);
    json(&mut out, method);
    out.push_str(r#","params":"#);
    json(&mut out, params);
    end(&mut out);
    out
}

/// Appends a value as JSON.
///
/// # Panics
/// For a value that has no JSON form, such as a map with keys that are no strings; a string, a
/// number and a `serde_json::Value` always have one.
pub fn json<V: Serialize + ?Sized>(out: &mut String, value: &V) {
    serde_json::to_writer(Appender(out), value).expect("the value has a JSON form");
}

/// Room for the members around an id, a result or a message.
const FRAME_BYTES: usize = 48;

/// Takes the pieces `serde_json` writes; each is whole UTF-8.
struct Appender<'a>(&'a mut String);

impl io::Write for Appender<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        self.0.push_str(text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::message::{self, Message};
    use super::*;

    #[test]
    fn what_is_written_parses_back() {
        let text = r#"{"jsonrpc":"2.0","id":"\u0061","method":"m"}"#;
        let Ok(Message::Request { id, .. }) = message::parse(text) else { panic!("{text}") };
        for (written, expected) in [
            (response(id, "{}"), r#"{"jsonrpc":"2.0","id":"\u0061","result":{}}"#),
            (
                error(Some(id), ErrorCode::INVALID_PARAMS, "\"x\"\nü"),
                r#"{"jsonrpc":"2.0","id":"\u0061","error":{"code":-32602,"message":"\"x\"\nü"}}"#,
            ),
            (
                error(None, ErrorCode::PARSE_ERROR, ""),
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}"#,
            ),
            (
                notification("a/b", &json!({"text": "l1\u{2028}\r\n\u{0}"})),
                "{\"jsonrpc\":\"2.0\",\"method\":\"a/b\",\"params\":{\"text\":\"l1\u{2028}\\r\\n\\u0000\"}}",
            ),
        ] {
            assert_eq!(written, expected);
            assert!(message::parse(&written).is_ok() && !written.contains('\n'));
        }
    }
}

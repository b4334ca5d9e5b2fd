//! `initialize`: the one exchange that fixes revision and capabilities.

use serde_json::value::RawValue;

use crate::proto::jsonrpc::{message, write};

use super::door::Options;
use super::error::Refusal;
use super::params;
use super::revision::{self, Revision};

/// What a client said of itself; for logs and status, never to decide by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    /// Empty when it did not say; cut to 80 characters.
    pub name: String,
    /// Empty when it did not say; cut to 80 characters.
    pub version: String,
}

/// What `initialize` settled.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) revision: &'static Revision,
    pub(super) client_info: ClientInfo,
}

/// Settles a session. A revision that is missing, of another type or unknown is no error: the
/// answer offers ours, and the client leaves if it cannot take it.
///
/// # Errors
/// -32602 when the parameters are no object.
pub(super) fn open(raw: Option<&RawValue>) -> Result<Session, Refusal> {
    let asked: params::Initialize<'_> = params::take(raw)?;
    let offered = asked.protocol_version.and_then(message::string);
    let info: params::Implementation<'_> = params::take(asked.client_info).unwrap_or_default();
    Ok(Session {
        revision: revision::negotiate(offered.as_deref()),
        client_info: ClientInfo { name: short(info.name), version: short(info.version) },
    })
}

/// The result of `initialize`, as JSON.
pub(super) fn render(revision: &Revision, options: &Options) -> String {
    let mut out = String::with_capacity(512);
    out.push_str(r#"{"protocolVersion":"#);
    write::json(&mut out, revision.name);
    out.push_str(r#","capabilities":"#);
    out.push_str(CAPABILITIES);
    out.push_str(r#","serverInfo":{"name":"#);
    write::json(&mut out, options.server_name);
    push_member(&mut out, "title", options.server_title.filter(|_| revision.has_titles));
    push_member(&mut out, "version", Some(options.server_version));
    let description = options.server_description.filter(|_| revision.has_descriptions);
    push_member(&mut out, "description", description);
    out.push('}');
    push_member(&mut out, "instructions", options.instructions);
    out.push('}');
    out
}

/// What we answer to, no more: the prompts are none yet, and every log level is accepted.
const CAPABILITIES: &str =
    r#"{"logging":{},"prompts":{"listChanged":true},"tools":{"listChanged":true}}"#;

/// Most that is kept of a name or version the client gives itself.
const CLIENT_CHARS_MAX: usize = 80;

fn push_member(out: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        out.push(',');
        write::json(out, name);
        out.push(':');
        write::json(out, value);
    }
}

fn short(raw: Option<&RawValue>) -> String {
    let text = raw.and_then(message::string).unwrap_or_default();
    text.chars().take(CLIENT_CHARS_MAX).collect()
}

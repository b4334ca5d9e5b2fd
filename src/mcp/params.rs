//! Parameters of the methods, taken from raw JSON.
//!
//! Every field stays raw at first, so that a wrong type is told by our own words and a large value
//! is not copied into an error. Unknown fields, `_meta` with its progress token among them, are
//! ignored.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::proto::jsonrpc::message;

use super::error::{Refusal, quoted};

/// What `initialize` says that matters to us.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize<'a> {
    #[serde(borrow)]
    pub(super) protocol_version: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) client_info: Option<&'a RawValue>,
}

/// `clientInfo`, for logs and status only.
#[derive(Default, Deserialize)]
pub(super) struct Implementation<'a> {
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) version: Option<&'a RawValue>,
}

/// Of the lists.
#[derive(Default, Deserialize)]
pub(super) struct Page<'a> {
    #[serde(borrow)]
    pub(super) cursor: Option<&'a RawValue>,
}

/// Of `tools/call` and `prompts/get`.
#[derive(Default, Deserialize)]
pub(super) struct Named<'a> {
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Of `logging/setLevel`.
#[derive(Default, Deserialize)]
pub(super) struct SetLevel<'a> {
    #[serde(borrow)]
    pub(super) level: Option<&'a RawValue>,
}

/// Of `notifications/cancelled`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cancelled<'a> {
    #[serde(borrow)]
    pub(super) request_id: Option<&'a RawValue>,
}

/// Takes the fields of a method; absent parameters are an empty object.
///
/// # Errors
/// -32602 for anything but an object, and for a field of ours that stands twice.
pub(super) fn take<'a, P: Default + Deserialize<'a>>(
    params: Option<&'a RawValue>,
) -> Result<P, Refusal> {
    let Some(params) = params else { return Ok(P::default()) };
    if !params.get().starts_with('{') {
        return Err(Refusal::invalid_params("params must be an object"));
    }
    serde_json::from_str(params.get())
        .map_err(|_| Refusal::invalid_params("a field of params stands twice or cannot be read"))
}

/// Copies the arguments of a call out of the message; absent ones are none.
///
/// # Errors
/// -32602 for anything but an object, for nesting beyond 128 levels, and for strings that are no
/// Unicode (a lone surrogate).
pub(super) fn arguments(raw: Option<&RawValue>) -> Result<Map<String, Value>, Refusal> {
    let Some(raw) = raw else { return Ok(Map::new()) };
    if !raw.get().starts_with('{') {
        return Err(Refusal::invalid_params("arguments must be an object"));
    }
    serde_json::from_str(raw.get())
        .map_err(|error| Refusal::invalid_params(format!("arguments cannot be read: {error}")))
}

impl Named<'_> {
    /// The name that must be there.
    ///
    /// # Errors
    /// -32602 without one, or when it is no string.
    pub(super) fn name(&self) -> Result<Cow<'_, str>, Refusal> {
        let name = self.name.and_then(message::string);
        name.ok_or_else(|| Refusal::invalid_params("params.name must be a string"))
    }
}

impl Page<'_> {
    /// Refuses every cursor: our lists are one page, so none was ever given out.
    ///
    /// # Errors
    /// -32602 with a cursor.
    pub(super) fn check_first(&self) -> Result<(), Refusal> {
        match self.cursor {
            None => Ok(()),
            Some(_) => Err(Refusal::invalid_params("unknown cursor: the list has one page")),
        }
    }
}

impl SetLevel<'_> {
    /// Checks the level and forgets it: we send no log messages, so any threshold is kept.
    ///
    /// # Errors
    /// -32602 without one of the levels of RFC 5424.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        match self.level.and_then(message::string) {
            Some(level) if LEVELS.contains(&level.as_ref()) => Ok(()),
            _ => {
                Err(Refusal::invalid_params(format!("level must be one of {}", LEVELS.join(", "))))
            }
        }
    }
}

const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Names of arguments with their sizes, for the log: bytes of strings, entries of the rest.
pub(super) struct Sizes<'a>(pub(super) &'a Map<String, Value>);

impl fmt::Display for Sizes<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("{")?;
        for (index, (name, value)) in self.0.iter().enumerate() {
            let size = match value {
                Value::Null | Value::Bool(_) | Value::Number(_) => 1,
                Value::String(text) => text.len(),
                Value::Array(elements) => elements.len(),
                Value::Object(members) => members.len(),
            };
            let separator = if index == 0 { "" } else { " " };
            write!(out, "{separator}{}:{size}", quoted(name))?;
        }
        out.write_str("}")
    }
}

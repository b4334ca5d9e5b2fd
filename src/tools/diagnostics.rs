//! `getDiagnostics`: what is known to be wrong, at once and in the one shape the agent reads.
//!
//! The agent compares URIs as strings: what it asked for comes back as it asked, and what it did
//! not ask for goes out as `file://` and the raw path. What is not known yet is an empty list;
//! nobody waits for a checker, since three late answers make the agent stop asking.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::editor::diagnostic::{Diagnostic, Severity};
use crate::editor::state::State;
use crate::editor::uri;
use crate::mcp::content::ToolResult;
use crate::tools::args::Args;
use crate::tools::result;
use crate::tools::view::View;

/// The agent's name for the proposed side of a diff; a plain path follows it.
const PROPOSED_SIDE: &str = "_claude_fs_right:";

/// `getDiagnostics`
pub(crate) fn get(args: &Args, view: &View<'_>) -> ToolResult {
    let entries = match args.text_if_any("uri") {
        Some(asked) => vec![entry_asked(asked, view.editor)],
        None => {
            let all = view.editor.diagnostics();
            all.map(|(path, list)| entry(uri::raw(path), list)).collect()
        }
    };
    result::json_text(&Value::Array(entries))
}

fn entry_asked(asked: &str, state: &State) -> Value {
    let literal = match asked.strip_prefix(PROPOSED_SIDE) {
        Some(path) => Some(PathBuf::from(path)),
        None => uri::raw_path_of(asked),
    };
    let resolved = state.resolve(asked);
    // A name with `%41` in it is rarer than an escape, but the agent sends it raw: it goes first.
    let known = literal.as_deref().map_or(&[][..], |path| state.diagnostics_of(path));
    let list = if known.is_empty() { state.diagnostics_of(&resolved) } else { known };
    let is_uri = literal.is_some();
    entry(if is_uri { asked.to_owned() } else { uri::raw(&resolved) }, list)
}

fn entry(uri: String, list: &[Diagnostic]) -> Value {
    json!({ "uri": uri, "diagnostics": list.iter().map(shape).collect::<Vec<Value>>() })
}

fn shape(diagnostic: &Diagnostic) -> Value {
    let mut shape = json!({
        "message": diagnostic.message,
        "severity": severity(diagnostic.severity),
        "range": diagnostic.range.json(),
    });
    if let Some(source) = &diagnostic.source {
        shape["source"] = json!(source);
    }
    if let Some(code) = &diagnostic.code {
        shape["code"] = json!(code);
    }
    shape
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Info => "Info",
        Severity::Hint => "Hint",
    }
}

//! Plays the transcripts under `tests/data/mcp/<revision>/` against the MCP server core.
//!
//! A transcript is a conversation, line by line; whatever the core puts out must be named by the
//! next lines, in order, and nothing more may come:
//!
//! ```text
//! # a remark
//! > TEXT                  the client sends this
//! < JSON                  the server sends this, compared as JSON; "*" stands for any value
//! << TEXT                 the server sends this, byte for byte
//! = call TOOL JSON        a tool is to be run with these arguments
//! = cancelled TOOL        a call of the tool is given up
//! = initialized           the client said so
//! = notification METHOD [JSON]
//! ! complete TOOL TEXT    the oldest call of the tool succeeds with one text
//! ! fail TOOL TEXT        it fails with a text
//! ! break TOOL TEXT       the tool breaks
//! ! fill TOOL BYTES       it succeeds with that many bytes
//! ! notify METHOD JSON    the program notifies the client
//! @ 30s                   time passes
//! ```

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use footbridge::mcp::call::{CallId, ClientId};
use footbridge::mcp::content::{Outcome, ToolResult};
use footbridge::mcp::door::{Door, Options};
use footbridge::mcp::tool::Descriptor;
use footbridge::mcp::{Output, Server};

#[test]
fn every_transcript_of_every_revision_is_followed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mcp");
    let door = Door::leak(options());
    let mut played = 0;
    for revision in entries(&root) {
        for transcript in entries(&revision) {
            play(&transcript, door);
            played += 1;
        }
    }
    assert!(played >= 20, "only {played} transcripts were found under {}", root.display());
}

/// Limits small enough to be met in a transcript.
fn options() -> Options {
    Options {
        server_name: "footbridge",
        server_version: "0.0.0",
        server_title: Some("Footbridge"),
        server_description: Some("joins agents to editors"),
        instructions: None,
        tools: &TOOLS,
        outbound_bytes_max: 2_000,
        calls_max: 2,
        held_calls_max: 1,
    }
}

static TOOLS: [Descriptor; 3] = [
    Descriptor {
        name: "closeAllDiffTabs",
        description: "Closes the proposals of this client.",
        input_schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        is_held: false,
    },
    Descriptor {
        name: "openDiff",
        description: "Shows a proposal.",
        input_schema: r#"{
            "type": "object",
            "properties": {"tab_name": {"type": "string"}},
            "required": ["tab_name"],
            "additionalProperties": false
        }"#,
        is_held: true,
    },
    Descriptor {
        name: "checkDocumentDirty",
        description: "Tells whether a document has unsaved changes.",
        input_schema: r#"{"type":"object","properties":{"filePath":{"type":"string"}},"required":["filePath"],"additionalProperties":false}"#,
        is_held: false,
    },
];

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    paths.sort();
    paths
}

fn play(path: &Path, door: &'static Door) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut stage = Stage::new(door);
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Err(fault) = stage.step(line) {
            panic!("{}:{}: {fault}\n    {line}", path.display(), index + 1);
        }
    }
    if let Some(output) = stage.server.poll_output() {
        panic!("{}: nobody expects {output:?} at the end", path.display());
    }
}

struct Stage {
    server: Server,
    now: u64,
    /// Calls handed out and not completed, cancelled ones among them.
    calls: VecDeque<(CallId, &'static str)>,
}

impl Stage {
    fn new(door: &'static Door) -> Stage {
        Stage { server: Server::new(ClientId(1), door), now: 1_000, calls: VecDeque::new() }
    }

    fn step(&mut self, line: &str) -> Result<(), String> {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        match mark {
            ">" | "!" => {
                if let Some(output) = self.server.poll_output() {
                    return Err(format!("before this, nobody expected {output:?}"));
                }
                match mark {
                    ">" => self.server.handle_message(rest, self.now),
                    _ => self.act(rest)?,
                }
                Ok(())
            }
            "<" => {
                let sent = self.sent()?;
                let (got, expected) = (parse(&sent)?, parse(rest)?);
                matches(&got, &expected).then_some(()).ok_or(format!("sent: {sent}"))
            }
            "<<" => {
                let sent = self.sent()?;
                (sent == rest).then_some(()).ok_or(format!("sent: {sent}"))
            }
            "=" => self.expect(rest),
            "@" => {
                let seconds = rest.strip_suffix('s').and_then(|number| number.parse::<u64>().ok());
                self.now += 1_000 * seconds.ok_or("no number of seconds")?;
                Ok(())
            }
            _ => Err("no line of a transcript".to_owned()),
        }
    }

    fn sent(&mut self) -> Result<String, String> {
        match self.server.poll_output() {
            Some(Output::Send(text)) => Ok(text),
            other => Err(format!("put out instead: {other:?}")),
        }
    }

    fn act(&mut self, action: &str) -> Result<(), String> {
        let (verb, rest) = action.split_once(' ').ok_or("no action")?;
        let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
        if verb == "notify" {
            let sent = self.server.notify(name, &parse(text)?);
            return sent.map_err(|fault| format!("{fault:?}"));
        }
        let outcome = match verb {
            "complete" => Outcome::Result(ToolResult::text([text.to_owned()])),
            "fail" => Outcome::Result(ToolResult::error(text)),
            "break" => Outcome::Internal(text.to_owned()),
            "fill" => {
                let bytes = text.parse().map_err(|_| "no number of bytes")?;
                Outcome::Result(ToolResult::text(["x".repeat(bytes)]))
            }
            _ => return Err("no action".to_owned()),
        };
        let index = self.calls.iter().position(|(_, tool)| *tool == name).ok_or("no such call")?;
        let (call, _) = self.calls.remove(index).expect("the index was just found");
        self.server.complete(call, outcome, self.now);
        Ok(())
    }

    fn expect(&mut self, expected: &str) -> Result<(), String> {
        let output = self.server.poll_output();
        let told = match &output {
            Some(Output::Call { call, tool, arguments }) => {
                self.calls.push_back((*call, tool));
                format!("call {tool} {}", Value::Object(arguments.clone()))
            }
            Some(Output::Cancelled { call }) => {
                let known = self.calls.iter().find(|(known, _)| known == call);
                format!("cancelled {}", known.map_or("unknown", |(_, tool)| tool))
            }
            Some(Output::Initialized) => "initialized".to_owned(),
            Some(Output::Notification { method, params }) => match params {
                Some(params) => format!("notification {method} {}", params.get()),
                None => format!("notification {method}"),
            },
            Some(Output::Send(text)) => format!("sent {text}"),
            None => "nothing".to_owned(),
        };
        (told == expected).then_some(()).ok_or(format!("put out instead: {told}"))
    }
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("no JSON: {error}: {text}"))
}

/// Whether a value is the expected one, where "*" stands for any.
fn matches(got: &Value, expected: &Value) -> bool {
    match (got, expected) {
        (_, Value::String(any)) if any == "*" => true,
        (Value::Object(got), Value::Object(expected)) => {
            got.len() == expected.len()
                && expected
                    .iter()
                    .all(|(name, value)| got.get(name).is_some_and(|got| matches(got, value)))
        }
        (Value::Array(got), Value::Array(expected)) => {
            got.len() == expected.len()
                && got.iter().zip(expected).all(|(got, expected)| matches(got, expected))
        }
        _ => got == expected,
    }
}

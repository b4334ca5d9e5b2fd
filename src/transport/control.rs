//! The control door: what the verbs of the command line ask of a running bridge.
//!
//! JSON-RPC 2.0, one message a text frame, no greeting. A request becomes a [`Request`], typed and
//! checked; its answer comes back under its [`Ticket`]. The door is for the person whose bridge it
//! is: only the state folder, which they alone can read, holds its token.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::session::Work;
use crate::editor::diff::{DiffId, EndedBy, NotSettled};
use crate::editor::selection::Selection;
use crate::editor::text::{Position, Range};
use crate::proto::jsonrpc::error::ErrorCode;
use crate::proto::jsonrpc::id::{Id, OwnedId};
use crate::proto::jsonrpc::message::{self, Message};
use crate::proto::jsonrpc::write;
use crate::proto::ws::connection::Connection;

/// What a verb asks.
#[derive(Debug, PartialEq)]
pub enum Request {
    /// What runs, in figures.
    Status,
    /// Puts a file, or lines of it, into every agent's prompt.
    Mention(Mention),
    /// Tells every agent what is selected.
    Select(Selection),
    /// Tells every agent that nothing is selected any more.
    Clear,
    /// The diffs that wait; from now on the asker is told when they change.
    Diffs,
    /// Answers a diff. Without contents it is accepted as proposed.
    Settle {
        /// Which one.
        id: DiffId,
        /// Accepted, with other contents than proposed if any; else rejected.
        verdict: Answer,
    },
}

/// A file or lines of it, as `at_mentioned` has them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mention {
    /// Absolute.
    pub file_path: PathBuf,
    /// First line, from 0.
    pub line_start: Option<u32>,
    /// Last line, from 0; `line_start <= line_end`.
    pub line_end: Option<u32>,
}

/// A person's word on a diff.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// As proposed.
    Accept,
    /// With these contents.
    AcceptAs(String),
    /// Not at all.
    Reject,
}

/// Names a request until it is answered.
#[derive(Debug, Clone)]
pub struct Ticket(OwnedId);

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nobody took the mention in time.
    NoAgent,
    /// More mentions wait than may.
    TooManyMentions,
    /// The diff is not there to be settled.
    Diff(DiffId, NotSettled),
}

/// One verb's side of the door.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// It asked for diffs, so it is told when they change.
    pub(super) is_watching: bool,
    replies: VecDeque<String>,
    work: VecDeque<Work>,
}

impl Control {
    pub(super) fn handle_message(&mut self, text: &str) {
        match message::parse(text) {
            Ok(Message::Request { id, method, params }) => match parse(&method, params) {
                Ok(request) => {
                    self.is_watching |= request == Request::Diffs;
                    let ticket = Ticket(id.to_owned());
                    self.work.push_back(Work::Control { ticket, request });
                }
                Err((code, text)) => self.replies.push_back(write::error(Some(id), code, &text)),
            },
            Ok(Message::Notification { .. } | Message::Response { .. }) => {}
            Err(error) => {
                let (code, text) = (error.fault.code(), error.fault.to_string());
                self.replies.push_back(write::error(error.id, code, &text));
            }
        }
    }

    /// Moves what is to be said and done on; true when a request waits in `work`.
    pub(super) fn take_outputs(
        &mut self,
        connection: &mut Connection,
        work: &mut VecDeque<Work>,
    ) -> bool {
        for body in self.replies.drain(..) {
            connection.send_text_owned(body);
        }
        let has_asked = !self.work.is_empty();
        work.append(&mut self.work);
        has_asked
    }

    pub(super) fn answer(&mut self, ticket: &Ticket, answer: Result<Value, Fault>) {
        let id: Id<'_> = ticket.0.get();
        self.replies.push_back(match answer {
            Ok(result) => write::response(id, &result.to_string()),
            Err(fault) => write::error(Some(id), fault.code(), &fault.to_string()),
        });
    }

    pub(super) fn tell_diffs_changed(&mut self) {
        self.replies.push_back(write::notification("bridge/diffsChanged", &json!({})));
    }
}

impl Fault {
    fn code(&self) -> ErrorCode {
        ErrorCode(match self {
            Fault::NoAgent => -32010,
            Fault::Diff(_, NotSettled::Unknown) => -32011,
            Fault::Diff(_, NotSettled::Ended(_)) => -32012,
            Fault::TooManyMentions => -32013,
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoAgent => out.write_str("no agent was attached in time"),
            Fault::TooManyMentions => out.write_str("too many mentions wait for an agent already"),
            Fault::Diff(id, NotSettled::Unknown) => write!(out, "no diff {id}"),
            Fault::Diff(_, NotSettled::Ended(by)) => {
                write!(out, "already answered by {}", place(*by))
            }
        }
    }
}

/// Who ended a diff, for a person who comes too late.
fn place(by: EndedBy) -> &'static str {
    match by {
        EndedBy::Reviewer => "another review",
        EndedBy::Agent => "Claude Code",
        EndedBy::Newer => "a newer proposal of the same name",
        EndedBy::Departure => "the departure of its client",
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParams {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SelectParams {
    #[serde(default)]
    clear: bool,
    file_path: Option<PathBuf>,
    text: Option<String>,
    selection: Option<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Span {
    start: Place,
    end: Place,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    line: u32,
    character: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettleParams {
    id: u64,
    verdict: Word,
    contents: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Accept,
    Reject,
}

type Refusal = (ErrorCode, String);

fn parse(method: &str, params: Option<&RawValue>) -> Result<Request, Refusal> {
    match method {
        "bridge/status" => read::<NoParams>(params).map(|_| Request::Status),
        "diffs" => read::<NoParams>(params).map(|_| Request::Diffs),
        "mention" => {
            let mention: Mention = read(params)?;
            let is_range = match (mention.line_start, mention.line_end) {
                (Some(start), Some(end)) => start <= end,
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if !mention.file_path.is_absolute() || !is_range {
                return Err(invalid("filePath is absolute, lineStart <= lineEnd, both or none"));
            }
            Ok(Request::Mention(mention))
        }
        "select" => select(read(params)?),
        "settle" => {
            let SettleParams { id, verdict, contents } = read(params)?;
            let verdict = match (verdict, contents) {
                (Word::Accept, None) => Answer::Accept,
                (Word::Accept, Some(contents)) => Answer::AcceptAs(contents),
                (Word::Reject, None) => Answer::Reject,
                (Word::Reject, Some(_)) => {
                    return Err(invalid("contents go with the verdict accept only"));
                }
            };
            Ok(Request::Settle { id: DiffId(id), verdict })
        }
        _ => Err((ErrorCode::METHOD_NOT_FOUND, format!("unknown method {method:?}"))),
    }
}

fn select(params: SelectParams) -> Result<Request, Refusal> {
    let SelectParams { clear, file_path, text, selection } = params;
    match (clear, file_path, text, selection) {
        (true, None, None, None) => Ok(Request::Clear),
        (false, Some(path), Some(text), Some(span)) if path.is_absolute() => {
            let position = |place: Place| Position { line: place.line, character: place.character };
            let range = Range::between(position(span.start), position(span.end));
            Ok(Request::Select(Selection { path, text, range }))
        }
        _ => Err(invalid("either clear, or an absolute filePath with text and selection")),
    }
}

/// Reads the parameters; absent ones count as `{}`.
fn read<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, Refusal> {
    serde_json::from_str(params.map_or("{}", RawValue::get)).map_err(invalid)
}

fn invalid(what: impl fmt::Display) -> Refusal {
    (ErrorCode::INVALID_PARAMS, what.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, params: &str, expected: Result<Request, i32>) {
        let raw = RawValue::from_string(params.to_owned()).unwrap();
        assert_eq!(parse(method, Some(&raw)).map_err(|(code, _)| code.0), expected, "{params}");
    }

    #[test]
    fn requests_are_read_whole_or_refused_by_name() {
        let mention = |line_start, line_end| {
            Ok(Request::Mention(Mention { file_path: "/a".into(), line_start, line_end }))
        };
        check("bridge/status", "{}", Ok(Request::Status));
        check("bridge/status", r#"{"x":1}"#, Err(-32602));
        check("diffs", "{}", Ok(Request::Diffs));
        check("mention", r#"{"filePath":"/a"}"#, mention(None, None));
        check(
            "mention",
            r#"{"filePath":"/a","lineStart":1,"lineEnd":2}"#,
            mention(Some(1), Some(2)),
        );
        check("mention", r#"{"filePath":"/a","lineStart":2,"lineEnd":1}"#, Err(-32602));
        check("mention", r#"{"filePath":"/a","lineStart":2}"#, Err(-32602));
        check("mention", r#"{"filePath":"a"}"#, Err(-32602));
        check("mention", r#"{"filePath":"/a","lineStart":-1,"lineEnd":1}"#, Err(-32602));
        check("select", r#"{"clear":true}"#, Ok(Request::Clear));
        check("select", r#"{"clear":true,"text":""}"#, Err(-32602));
        check("select", r#"{"filePath":"/a","text":""}"#, Err(-32602));
        check("settle", r#"{"id":1,"verdict":"reject","contents":""}"#, Err(-32602));
        check("settle", r#"{"id":1,"verdict":"perhaps"}"#, Err(-32602));
        let verdict = Answer::AcceptAs("x".into());
        let settle = Ok(Request::Settle { id: DiffId(1), verdict });
        check("settle", r#"{"id":1,"verdict":"accept","contents":"x"}"#, settle);
        check("initialize", "{}", Err(-32601));
    }
}

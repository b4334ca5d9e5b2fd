//! Transcripts at the edge of the core: a call goes in, questions come out, answers go in, one
//! result comes out, and nothing is left behind.

mod calls;
mod catalogue;
mod diffs;
mod documents;
mod open_file;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::editor::diff::{Proposal, Verdict};
use crate::editor::state::{Document, Focus, Folder, Opened, State};
use crate::editor::text::{Position, Range};
use crate::effect::{Answer, Effect, FileError};
use crate::mcp::call::{CallId, ClientId};
use crate::mcp::content::{Content, Outcome, ToolResult};
use crate::tools::ask::{ANSWER_MS_MAX, Lost, Reply, Request};
use crate::tools::view::View;
use crate::tools::{Output, Tools};

/// One line of a transcript.
enum Line {
    /// The tool asks this.
    Asks(Request),
    /// It is told this.
    Told(Reply),
    /// So much time passes, and the deadlines that lie in it.
    Passes(u64),
    /// The question is given up.
    GivesUp,
    /// It ends with these blocks.
    Ends(Vec<String>),
    /// It ends with one block of this JSON.
    EndsJson(Value),
    /// It ends as a failed tool with this text.
    Fails(&'static str),
    /// It broke.
    Breaks,
}

const CALL: CallId = CallId { client: ClientId(1), serial: 1 };

/// Two folders, nothing open.
fn editor() -> State {
    let folder = |path: &str| Folder { given: path.into(), physical: path.into() };
    State::new(vec![folder("/ws"), folder("/other ws")])
}

fn start(tools: &mut Tools, call: CallId, tool: &str, arguments: Value, editor: &State) {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    tools.start(call, tool, arguments, &View { editor }, 0);
}

/// Plays a call of the real catalogue.
#[track_caller]
fn check(editor: &State, tool: &str, arguments: Value, transcript: Vec<Line>) {
    let mut tools = Tools::new();
    start(&mut tools, CALL, tool, arguments, editor);
    play(&mut tools, transcript);
}

/// Plays the rest of a call that was started; it must end with the transcript.
#[track_caller]
fn play(tools: &mut Tools, transcript: Vec<Line>) {
    let mut now = 0;
    for line in transcript {
        match line {
            Line::Asks(request) => expect(tools, Output::Ask { call: CALL, request }),
            Line::Told(reply) => {
                assert_eq!(tools.poll_output(), None, "it waits for an answer");
                tools.answer(CALL, reply, now);
            }
            Line::Passes(ms) => {
                now += ms;
                tools.handle_timeout(now);
            }
            Line::GivesUp => expect(tools, Output::Abandoned { call: CALL }),
            Line::Ends(blocks) => {
                let content = blocks.into_iter().map(Content::Text).collect();
                expect_result(tools, ToolResult { content, is_error: false });
            }
            Line::EndsJson(value) => {
                let Some(Output::Finished { call: CALL, outcome: Outcome::Result(result) }) =
                    tools.poll_output()
                else {
                    panic!("expected {value}");
                };
                let [Content::Text(text)] = result.content.as_slice() else {
                    panic!("expected one block")
                };
                let got: Value = serde_json::from_str(text).expect("the block is JSON");
                assert_eq!((got, result.is_error), (value, false));
            }
            Line::Fails(text) => expect_result(tools, ToolResult::error(text)),
            Line::Breaks => {
                let output = tools.poll_output();
                let Some(Output::Finished { outcome: Outcome::Internal(text), .. }) = output else {
                    panic!("expected a broken tool, got {output:?}");
                };
                assert!(!text.contains("secret"), "{text}");
            }
        }
    }
    assert_eq!(tools.poll_output(), None);
    assert_idle(tools);
}

#[track_caller]
fn expect(tools: &mut Tools, output: Output) {
    assert_eq!(tools.poll_output(), Some(output));
}

#[track_caller]
fn expect_result(tools: &mut Tools, result: ToolResult) {
    expect(tools, Output::Finished { call: CALL, outcome: Outcome::Result(result) });
}

#[track_caller]
fn assert_idle(tools: &Tools) {
    assert_eq!((tools.in_flight(), tools.poll_timeout()), (0, None), "nothing is left behind");
}

fn text(block: impl Into<String>) -> Line {
    Line::Ends(vec![block.into()])
}

fn range(start: (u32, u32), end: (u32, u32)) -> Range {
    let place = |(line, character)| Position { line, character };
    Range::between(place(start), place(end))
}

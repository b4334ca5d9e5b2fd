//! `openDiff`, `close_tab`, `closeAllDiffTabs`: alone, and joined with the core that holds diffs.

use super::*;
use crate::editor::diff::{self, Diffs};

fn asks(tab_name: &str, path: &str, contents: &str) -> Line {
    Line::Asks(Request::OpenDiff(Proposal {
        old_path: path.into(),
        new_path: path.into(),
        new_contents: contents.into(),
        tab_name: tab_name.into(),
    }))
}

fn arguments(tab_name: &str, path: &str, contents: &str) -> Value {
    json!({
        "old_file_path": path,
        "new_file_path": path,
        "new_file_contents": contents,
        "tab_name": tab_name,
    })
}

#[test]
fn an_accepted_diff_answers_with_the_contents_as_they_were_left() {
    let proposed = "\u{feff}one\r\ntwo\n";
    let left = "\u{feff}one\r\nthree\r\n";
    check(
        &editor(),
        "openDiff",
        arguments("tab", "/ws/é %.txt", proposed),
        vec![
            asks("tab", "/ws/é %.txt", proposed),
            Line::Told(Reply::Diff(Verdict::Saved(left.into()))),
            Line::Ends(vec!["FILE_SAVED".into(), left.into()]),
        ],
    );
}

#[test]
fn a_rejected_diff_answers_with_its_tab_name() {
    for tab_name in ["✻ [Claude Code] a (d78a97) ⧉", ""] {
        check(
            &editor(),
            "openDiff",
            arguments(tab_name, "new/file.rs", ""),
            vec![
                asks(tab_name, "/ws/new/file.rs", ""),
                Line::Told(Reply::Diff(Verdict::Rejected)),
                Line::Ends(vec!["DIFF_REJECTED".into(), tab_name.into()]),
            ],
        );
    }
}

#[test]
fn a_diff_waits_for_days_and_fails_only_when_it_cannot_be_held() {
    check(
        &editor(),
        "openDiff",
        arguments("tab", "/a", "b"),
        vec![
            asks("tab", "/a", "b"),
            Line::Passes(7 * 24 * 3_600_000),
            Line::Told(Reply::Diff(Verdict::Rejected)),
            Line::Ends(vec!["DIFF_REJECTED".into(), "tab".into()]),
        ],
    );
    check(
        &editor(),
        "openDiff",
        arguments("tab", "/a", "b"),
        vec![
            asks("tab", "/a", "b"),
            Line::Told(Reply::Lost(Lost::Refused("too many".into()))),
            Line::Fails("cannot show the diff: too many"),
        ],
    );
}

#[test]
fn closing_answers_whether_or_not_there_was_a_tab() {
    let close = Request::CloseTab { tab_name: "tab".into() };
    check(
        &editor(),
        "close_tab",
        json!({ "tab_name": "tab" }),
        vec![Line::Asks(close), Line::Told(Reply::Done), text("TAB_CLOSED")],
    );
    for count in [0, 12] {
        check(
            &editor(),
            "closeAllDiffTabs",
            json!({}),
            vec![
                Line::Asks(Request::CloseAllDiffTabs),
                Line::Told(Reply::Closed(count)),
                text(format!("CLOSED_{count}_DIFF_TABS")),
            ],
        );
    }
}

/// The two cores, joined as the bridge joins them.
#[derive(Default)]
struct Joined {
    tools: Tools,
    diffs: Diffs,
    /// What each call got, in order.
    answers: Vec<(CallId, Vec<String>)>,
}

impl Joined {
    fn call(&mut self, call: CallId, tool: &str, arguments: Value) {
        start(&mut self.tools, call, tool, arguments, &editor());
        self.settle();
    }

    fn settle(&mut self) {
        loop {
            if let Some(output) = self.tools.poll_output() {
                self.handle(output);
            } else if let Some(output) = self.diffs.poll_output() {
                if let diff::Output::Settled { call, verdict } = output {
                    self.tools.answer(call, Reply::Diff(verdict), 0);
                }
            } else {
                return;
            }
        }
    }

    fn handle(&mut self, output: Output) {
        match output {
            Output::Finished { call, outcome } => {
                let Outcome::Result(result) = outcome else { panic!("{outcome:?}") };
                let blocks = result.content.into_iter().map(|Content::Text(text)| text);
                self.answers.push((call, blocks.collect()));
            }
            Output::Abandoned { call } => self.diffs.cancel(call),
            Output::Ask { call, request } => match request {
                Request::OpenDiff(proposal) => {
                    self.diffs.open(call, proposal, 0).expect("there is room");
                }
                Request::CloseTab { tab_name } => {
                    self.diffs.close_tab(call.client, &tab_name);
                    self.tools.answer(call, Reply::Done, 0);
                }
                Request::CloseAllDiffTabs => {
                    let count = self.diffs.close_all(call.client);
                    self.tools.answer(call, Reply::Closed(count), 0);
                }
                other => panic!("no diff tool asks {other:?}"),
            },
        }
    }
}

fn id(client: u64, serial: u64) -> CallId {
    CallId { client: ClientId(client), serial }
}

/// Client 1 holds `a`, client 2 holds `a` too; `end` ends the first. Expects what call 1 of
/// client 1 got, and that client 2 got nothing.
#[track_caller]
fn check_end(end: fn(&mut Joined), expected: &[&[&str]]) {
    let mut joined = Joined::default();
    joined.call(id(1, 1), "openDiff", arguments("a", "/ws/a", "new"));
    joined.call(id(2, 1), "openDiff", arguments("a", "/ws/a", "new"));
    assert_eq!((joined.answers.len(), joined.diffs.pending().len()), (0, 2));
    end(&mut joined);
    joined.settle();
    let got: Vec<&Vec<String>> =
        joined.answers.iter().filter(|(call, _)| *call == id(1, 1)).map(|(_, got)| got).collect();
    assert_eq!(got, expected);
    assert!(joined.answers.iter().all(|(call, _)| call.client == ClientId(1)));
    assert_eq!((joined.tools.in_flight(), joined.diffs.pending().len()), (1, 1));
    joined.tools.client_gone(ClientId(2));
    joined.settle();
    assert_eq!(joined.diffs.pending().len(), 0);
    assert_idle(&joined.tools);
}

const REJECTED: &[&[&str]] = &[&["DIFF_REJECTED", "a"]];

#[test]
fn every_way_a_diff_ends_answers_its_call_exactly_once() {
    check_end(|joined| joined.call(id(1, 2), "close_tab", json!({ "tab_name": "a" })), REJECTED);
    check_end(|joined| joined.call(id(1, 2), "closeAllDiffTabs", json!({})), REJECTED);
    check_end(
        |joined| {
            joined.call(id(1, 2), "openDiff", arguments("a", "/ws/a", "newer"));
            joined.call(id(1, 3), "closeAllDiffTabs", json!({}));
        },
        REJECTED,
    );
    check_end(
        |joined| {
            let first = joined.diffs.pending().next().expect("it waits").id;
            assert!(joined.diffs.settle(first, Verdict::Rejected).is_ok());
            assert!(joined.diffs.settle(first, Verdict::Saved("late".into())).is_err());
        },
        REJECTED,
    );
    check_end(
        |joined| {
            let first = joined.diffs.pending().next().expect("it waits").id;
            assert!(joined.diffs.settle(first, Verdict::Saved("kept".into())).is_ok());
            joined.call(id(1, 2), "close_tab", json!({ "tab_name": "a" }));
            joined.call(id(1, 3), "close_tab", json!({ "tab_name": "a" }));
        },
        &[&["FILE_SAVED", "kept"]],
    );
}

#[test]
fn a_diff_that_nobody_waits_for_answers_nothing() {
    check_end(|joined| joined.tools.cancel(id(1, 1)), &[]);
    check_end(|joined| joined.tools.client_gone(ClientId(1)), &[]);
    check_end(
        |joined| {
            let first = joined.diffs.pending().next().expect("it waits").id;
            assert!(joined.diffs.settle(first, Verdict::Rejected).is_ok());
            joined.tools.cancel(id(1, 1));
        },
        &[],
    );
}

#[test]
fn close_all_counts_the_callers_own_and_leaves_the_others() {
    let mut joined = Joined::default();
    for serial in 1..=3 {
        joined.call(id(1, serial), "openDiff", arguments(&serial.to_string(), "/a", ""));
        joined.call(id(2, serial), "openDiff", arguments(&serial.to_string(), "/a", ""));
    }
    joined.call(id(1, 9), "closeAllDiffTabs", json!({}));
    let counted: Vec<&str> = joined
        .answers
        .iter()
        .filter(|(call, _)| *call == id(1, 9))
        .map(|(_, blocks)| blocks[0].as_str())
        .collect();
    assert_eq!(counted, ["CLOSED_3_DIFF_TABS"]);
    assert_eq!((joined.answers.len(), joined.diffs.pending().len()), (4, 3));
}

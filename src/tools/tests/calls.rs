//! The life of a call: panics, cancels at each question, clients that leave, late and wrong replies.

use std::future::Future;

use super::*;
use crate::mcp::tool::Descriptor;
use crate::tools::ask::{Ask, CloseAllDiffTabs, CloseTab};
use crate::tools::tool::{Handler, Surface, Tool};
use crate::tools::{CALLS_MAX, TOOLS};

const fn row(name: &'static str, handler: Handler) -> Tool {
    let descriptor =
        Descriptor { name, description: "for the test", input_schema: "{}", is_held: false };
    Tool { surface: Surface::Ide, descriptor, handler }
}

/// Tools that misbehave, and one that asks three times and tells what it heard.
static ODD: [Tool; 6] = [
    row("panics_now", Handler::Now(|_, _| panic!("secret"))),
    row("panics_first", Handler::Later(|_, _, _| panic!("secret"))),
    row(
        "panics_later",
        Handler::Later(|_, _, cx| {
            Box::pin(async move {
                let _ = cx.ask(CloseAllDiffTabs).await;
                panic!("secret");
            })
        }),
    ),
    row("waits_for_nothing", Handler::Later(|_, _, _| Box::pin(std::future::pending()))),
    row(
        "asks_twice_at_once",
        Handler::Later(|_, _, cx| {
            Box::pin(async move {
                let mut first = Box::pin(cx.ask(CloseAllDiffTabs));
                let mut second = Box::pin(cx.ask(CloseAllDiffTabs));
                std::future::poll_fn(|context| {
                    let _ = first.as_mut().poll(context);
                    second.as_mut().poll(context)
                })
                .await
                .map_or_else(|_| unreachable!(), |_| ToolResult::error("both went out"))
            })
        }),
    ),
    row(
        "asks_thrice",
        Handler::Later(|_, _, cx| {
            Box::pin(async move {
                let first = cx.ask(CloseAllDiffTabs).await;
                let second = cx.ask(CloseTab { tab_name: "x".into() }).await;
                let third = cx.ask(CloseAllDiffTabs).await;
                ToolResult::text([format!("{first:?} {second:?} {third:?}")])
            })
        }),
    ),
];

fn all() -> Line {
    Line::Asks(Request::CloseAllDiffTabs)
}

fn tab() -> Line {
    Line::Asks(Request::CloseTab { tab_name: "x".into() })
}

#[track_caller]
fn check_odd(tool: &str, transcript: Vec<Line>) {
    let mut tools = Tools::of(&ODD);
    start(&mut tools, CALL, tool, json!({}), &editor());
    play(&mut tools, transcript);
}

#[test]
fn a_panic_ends_its_own_call_and_no_other() {
    check_odd("panics_now", vec![Line::Breaks]);
    check_odd("panics_first", vec![Line::Breaks]);
    check_odd("panics_later", vec![all(), Line::Told(Reply::Closed(1)), Line::Breaks]);

    let mut tools = Tools::of(&ODD);
    let other = CallId { client: ClientId(2), serial: 1 };
    start(&mut tools, other, "asks_thrice", json!({}), &editor());
    expect(&mut tools, Output::Ask { call: other, request: Request::CloseAllDiffTabs });
    for (serial, tool) in (1..).zip(["panics_now", "panics_first"]) {
        start(&mut tools, CallId { serial, ..CALL }, tool, json!({}), &editor());
        let output = tools.poll_output();
        assert!(
            matches!(&output, Some(Output::Finished { outcome: Outcome::Internal(_), .. })),
            "{output:?}"
        );
    }
    tools.answer(other, Reply::Closed(0), 0);
    let output = tools.poll_output();
    assert!(matches!(output, Some(Output::Ask { call, .. }) if call == other), "{output:?}");
}

#[test]
fn a_tool_that_waits_for_what_nobody_answers_breaks_at_once() {
    check_odd("waits_for_nothing", vec![Line::Breaks]);
    check_odd("asks_twice_at_once", vec![Line::Breaks]);
}

#[test]
fn replies_of_another_kind_are_ignored() {
    check_odd(
        "asks_thrice",
        vec![
            all(),
            Line::Told(Reply::Done),
            Line::Told(Reply::Diff(Verdict::Rejected)),
            Line::Told(Reply::Closed(1)),
            tab(),
            Line::Told(Reply::Closed(2)),
            Line::Told(Reply::Done),
            all(),
            Line::Told(Reply::Closed(3)),
            text("Ok(1) Ok(()) Ok(3)"),
        ],
    );
}

#[test]
fn a_wrong_reply_does_not_move_the_deadline() {
    check_odd(
        "asks_thrice",
        vec![
            all(),
            Line::Passes(ANSWER_MS_MAX - 1),
            Line::Told(Reply::Done),
            Line::Passes(1),
            Line::GivesUp,
            tab(),
            Line::Told(Reply::Done),
            all(),
            Line::Told(Reply::Lost(Lost::Refused("no".into()))),
            text("Err(TimedOut) Ok(()) Err(Refused(\"no\"))"),
        ],
    );
}

#[test]
fn a_reply_to_a_question_given_up_does_not_answer_the_next() {
    let mut tools = Tools::of(&ODD);
    start(&mut tools, CALL, "asks_thrice", json!({}), &editor());
    expect(&mut tools, Output::Ask { call: CALL, request: Request::CloseAllDiffTabs });
    tools.handle_timeout(ANSWER_MS_MAX);
    // The next question is not out yet, so whatever comes now was meant for the last one.
    tools.answer(CALL, Reply::Done, ANSWER_MS_MAX);
    assert_eq!(tools.poll_timeout(), Some(2 * ANSWER_MS_MAX));
    play(
        &mut tools,
        vec![
            Line::GivesUp,
            tab(),
            Line::Told(Reply::Done),
            all(),
            Line::Told(Reply::Closed(0)),
            text("Err(TimedOut) Ok(()) Ok(0)"),
        ],
    );
}

#[test]
fn replies_for_calls_that_are_gone_are_ignored() {
    let mut tools = Tools::of(&ODD);
    tools.answer(CALL, Reply::Done, 0);
    tools.cancel(CALL);
    tools.client_gone(CALL.client);
    tools.handle_timeout(u64::MAX);
    play(&mut tools, vec![]);
}

/// Plays `asks_thrice` up to its question number `answered + 1`, then gives it up by `end`.
#[track_caller]
fn check_given_up(answered: usize, is_asked: bool, end: fn(&mut Tools)) {
    let mut tools = Tools::of(&ODD);
    start(&mut tools, CALL, "asks_thrice", json!({}), &editor());
    for reply in [Reply::Closed(1), Reply::Done].into_iter().take(answered) {
        assert!(matches!(tools.poll_output(), Some(Output::Ask { .. })));
        tools.answer(CALL, reply, 0);
    }
    if is_asked {
        assert!(matches!(tools.poll_output(), Some(Output::Ask { .. })));
    }
    end(&mut tools);
    tools.answer(CALL, Reply::Closed(9), 0);
    let expected = if is_asked { vec![Line::GivesUp] } else { vec![] };
    play(&mut tools, expected);
}

#[test]
fn a_call_can_be_given_up_at_each_question() {
    for answered in 0..=2 {
        for is_asked in [false, true] {
            check_given_up(answered, is_asked, |tools| tools.cancel(CALL));
            check_given_up(answered, is_asked, |tools| tools.client_gone(CALL.client));
        }
    }
}

#[test]
fn a_result_nobody_fetched_goes_with_its_call() {
    let mut tools = Tools::new();
    start(&mut tools, CALL, "getOpenEditors", json!({}), &editor());
    tools.cancel(CALL);
    assert_eq!(tools.poll_output(), None);
    start(&mut tools, CALL, "getOpenEditors", json!({}), &editor());
    tools.client_gone(CALL.client);
    assert_eq!(tools.poll_output(), None);
}

#[test]
fn a_client_that_leaves_takes_only_its_own_calls() {
    let mut tools = Tools::of(&ODD);
    for client in 1..=3 {
        for serial in [0, 1, u64::MAX] {
            let call = CallId { client: ClientId(client), serial };
            start(&mut tools, call, "asks_thrice", json!({}), &editor());
        }
    }
    while tools.poll_output().is_some() {}
    tools.client_gone(ClientId(2));
    let given_up: Vec<u64> = std::iter::from_fn(|| tools.poll_output())
        .map(|output| match output {
            Output::Abandoned { call: CallId { client: ClientId(2), serial } } => serial,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((given_up, tools.in_flight()), (vec![0, 1, u64::MAX], 6));
}

#[test]
fn beyond_the_bound_a_call_fails_at_once_and_instant_ones_still_run() {
    let mut tools = Tools::new();
    for serial in 0..CALLS_MAX as u64 {
        let call = CallId { serial, ..CALL };
        start(&mut tools, call, "closeAllDiffTabs", json!({}), &editor());
    }
    while tools.poll_output().is_some() {}
    let more = CallId { client: ClientId(2), serial: 0 };
    for (tool, fails) in [("closeAllDiffTabs", true), ("getOpenEditors", false)] {
        start(&mut tools, more, tool, json!({}), &editor());
        let Some(Output::Finished { outcome: Outcome::Result(result), .. }) = tools.poll_output()
        else {
            panic!("{tool} ends at once")
        };
        assert_eq!(result.is_error, fails, "{tool}");
    }
    assert_eq!(tools.in_flight(), CALLS_MAX);
}

#[test]
fn every_question_but_a_persons_has_a_deadline() {
    let asked: [(&str, Value, bool); 4] = [
        ("openDiff", json!({}), false),
        ("openFile", json!({ "filePath": "a" }), true),
        ("close_tab", json!({}), true),
        ("closeAllDiffTabs", json!({}), true),
    ];
    for (tool, arguments, is_bounded) in asked {
        let mut tools = Tools::new();
        start(&mut tools, CALL, tool, arguments, &editor());
        assert_eq!(tools.poll_timeout(), is_bounded.then_some(ANSWER_MS_MAX), "{tool}");
    }
    let held = TOOLS.iter().filter(|tool| tool.descriptor.is_held).count();
    assert_eq!(held, 1, "a held call is one whose question has no deadline");
    assert_eq!(CloseAllDiffTabs.deadline_ms(), Some(ANSWER_MS_MAX));
}

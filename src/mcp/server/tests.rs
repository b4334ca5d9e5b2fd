//! What no transcript can say: any text is survived, every request is answered once, calls of two
//! clients never meet, large answers are bounded.

use proptest::prelude::*;
use serde_json::json;

use super::super::door::Options;
use super::super::tool::Descriptor;
use super::*;

static TOOLS: [Descriptor; 2] = [
    Descriptor {
        name: "now",
        description: "d",
        input_schema: r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#,
        is_held: false,
    },
    Descriptor {
        name: "held",
        description: "d",
        input_schema: r#"{"type":"object"}"#,
        is_held: true,
    },
];

fn door() -> &'static Door {
    static DOOR: std::sync::OnceLock<Door> = std::sync::OnceLock::new();
    DOOR.get_or_init(|| {
        Door::new(Options {
            server_name: "footbridge",
            server_version: "1",
            server_title: None,
            server_description: None,
            instructions: Some("read me"),
            tools: &TOOLS,
            outbound_bytes_max: 10_000,
            calls_max: 64,
            held_calls_max: 32,
        })
    })
}

fn initialized(client: u64) -> Server {
    let mut server = Server::new(ClientId(client), door());
    server.handle_message(
        r#"{"jsonrpc":"2.0","id":-1,"method":"initialize","params":{"clientInfo":{"name":"c"}}}"#,
        0,
    );
    assert!(matches!(server.poll_output(), Some(Output::Send(_))));
    server
}

/// All that is to be sent, and the calls handed out meanwhile.
fn drain(server: &mut Server) -> (Vec<Value>, Vec<CallId>) {
    let (mut sent, mut calls) = (Vec::new(), Vec::new());
    while let Some(output) = server.poll_output() {
        match output {
            Output::Send(text) => sent.push(serde_json::from_str(&text).unwrap()),
            Output::Call { call, .. } => calls.push(call),
            Output::Cancelled { .. } | Output::Initialized | Output::Notification { .. } => {}
        }
    }
    (sent, calls)
}

fn call_text(id: usize, tool: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})
        .to_string()
}

#[test]
fn the_numbers_at_the_limits_are_exact() {
    let mut server = initialized(1);
    for (tool, most) in [("now", 64), ("held", 32)] {
        for id in 0..=most {
            server.handle_message(&call_text(id + 1_000 * most, tool), 0);
            let (sent, calls) = drain(&mut server);
            assert_eq!((sent.len(), calls.len()), if id < most { (0, 1) } else { (1, 0) }, "{id}");
        }
    }
    assert_eq!(server.calls_in_flight(), 96);
}

#[test]
fn a_call_of_another_client_is_not_answered() {
    let (mut one, mut two) = (initialized(1), initialized(2));
    for server in [&mut one, &mut two] {
        server.handle_message(&call_text(1, "held"), 0);
    }
    let (_, calls) = drain(&mut one);
    two.complete(calls[0], Outcome::Internal(String::new()), 0);
    assert_eq!((two.calls_in_flight(), drain(&mut two).0.len()), (1, 0));
    one.complete(calls[0], Outcome::Internal(String::new()), 0);
    one.complete(calls[0], Outcome::Internal(String::new()), 0);
    assert_eq!((one.calls_in_flight(), drain(&mut one).0.len()), (0, 1));
}

#[test]
fn notifications_wait_for_the_handshake_and_are_bounded() {
    let mut server = Server::new(ClientId(1), door());
    assert_eq!(server.notify("m", &json!({})), Err(NotSent::NotInitialized));
    let mut server = initialized(1);
    let around = r#"{"jsonrpc":"2.0","method":"m","params":""}"#.len();
    assert_eq!(server.notify("m", &json!("x".repeat(10_000 - around))), Ok(()));
    let fault = server.notify("m", &json!("x".repeat(10_001 - around)));
    assert_eq!(fault, Err(NotSent::TooLarge { bytes: 10_001 }));
    assert_eq!(drain(&mut server).0.len(), 1);
}

#[test]
fn a_client_is_known_by_what_it_said() {
    let client = |params: &str| {
        let mut server = Server::new(ClientId(1), door());
        server.handle_message(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#),
            0,
        );
        assert!(server.is_initialized());
        let ClientInfo { name, version } = server.client_info().unwrap().clone();
        (name, version, server.revision_name().unwrap())
    };
    for (params, name, version, revision) in [
        (r#"{"clientInfo":{"name":"c","version":"2"}}"#, "c", "2", "2025-11-25"),
        (r#"{"protocolVersion":"2024-11-05","clientInfo":{"name":5}}"#, "", "", "2024-11-05"),
        (r#"{"protocolVersion":"2025-0\u0033-26","clientInfo":[]}"#, "", "", "2025-03-26"),
    ] {
        assert_eq!(client(params), (name.to_owned(), version.to_owned(), revision), "{params}");
    }
    let long = format!(r#"{{"clientInfo":{{"name":"{}"}}}}"#, "é".repeat(1 << 16));
    assert_eq!(client(&long).0, "é".repeat(80));
}

#[test]
fn a_large_argument_arrives_whole_and_a_long_name_is_not_echoed_whole() {
    let mut server = initialized(1);
    let text = "x".repeat(8 << 20);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "held", "arguments": {"text": &text}}});
    server.handle_message(&call.to_string(), 0);
    let Some(Output::Call { arguments, .. }) = server.poll_output() else { panic!() };
    assert_eq!(arguments["text"], text);
    for method in [text, format!("\u{0}{}", "é".repeat(1 << 20))] {
        let request = json!({"jsonrpc": "2.0", "id": 2, "method": method});
        server.handle_message(&request.to_string(), 0);
        let Some(Output::Send(answer)) = server.poll_output() else { panic!() };
        assert!(answer.len() < 400, "{}", answer.len());
    }
}

/// One thing a client may do, or that happens to its calls.
#[derive(Debug, Clone)]
enum Step {
    Request(&'static str, &'static str),
    Cancel(usize),
    Complete(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let request = prop::sample::select(vec![
        ("ping", "null"),
        ("initialize", "{}"),
        ("tools/list", "{}"),
        ("tools/list", r#"{"cursor":1}"#),
        ("tools/call", r#"{"name":"now"}"#),
        ("tools/call", r#"{"name":"held","arguments":{"a":[]}}"#),
        ("tools/call", r#"{"name":"now","arguments":{"n":"x"}}"#),
        ("tools/call", r#"{"name":"none"}"#),
        ("tools/call", "[1]"),
        ("logging/setLevel", r#"{"level":"info"}"#),
        ("prompts/get", "{}"),
        ("", "5"),
    ]);
    prop_oneof![
        4 => request.prop_map(|(method, params)| Step::Request(method, params)),
        1 => (0..40_usize).prop_map(Step::Cancel),
        1 => (0..40_usize).prop_map(Step::Complete),
    ]
}

proptest! {
    #[test]
    fn any_text_is_survived(text in ".{0,60}", is_fresh in any::<bool>()) {
        let mut server = if is_fresh { Server::new(ClientId(1), door()) } else { initialized(1) };
        server.handle_message(&text, 0);
        prop_assert!(drain(&mut server).0.len() <= 1);
    }

    #[test]
    fn any_mutilated_message_is_survived(
        edits in prop::collection::vec((0..200_usize, "[\\[\\]{}\",:0-9a-z\\\\ ]{0,3}"), 0..6)
    ) {
        let mut text = call_text(1, "now").replace(r#""now""#, r#""now","arguments":{"n":1}"#);
        for (position, edit) in edits {
            let position = position % text.len();
            let end = (position + edit.len() / 2).min(text.len());
            text.replace_range(position..end, &edit);
        }
        let mut server = initialized(1);
        server.handle_message(&text, 0);
        let (sent, calls) = drain(&mut server);
        prop_assert!(sent.len() + calls.len() <= 1);
        prop_assert_eq!(calls.len(), server.calls_in_flight());
    }

    #[test]
    fn every_request_is_answered_once_or_cancelled(
        is_fresh in any::<bool>(), steps in prop::collection::vec(step(), 0..120)
    ) {
        let mut server = if is_fresh { Server::new(ClientId(1), door()) } else { initialized(1) };
        let mut answers = vec![0_usize; steps.len()];
        let mut calls = vec![None; steps.len()];
        let mut is_cancelled = vec![false; steps.len()];
        for (id, step) in steps.iter().enumerate() {
            match step {
                Step::Request(method, params) => server.handle_message(
                    &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#),
                    0,
                ),
                Step::Cancel(of) => {
                    let is_open = calls.get(*of).is_some_and(Option::is_some);
                    if is_open && answers[*of] == 0 {
                        is_cancelled[*of] = true;
                    }
                    let params = json!({"requestId": of});
                    server.handle_message(&write::notification("notifications/cancelled", &params), 0);
                }
                Step::Complete(of) => {
                    if let Some(Some(call)) = calls.get(*of) {
                        server.complete(*call, Outcome::Result(ToolResult::text([])), 0);
                    }
                }
            }
            let (sent, started) = drain(&mut server);
            prop_assert!(sent.len() + started.len() <= 1);
            for answer in sent {
                answers[answer["id"].as_u64().expect("every answer here has its id") as usize] += 1;
            }
            for call in started {
                calls[id] = Some(call);
            }
        }
        for call in calls.iter().flatten() {
            server.complete(*call, Outcome::Internal(String::new()), 0);
        }
        for answer in drain(&mut server).0 {
            answers[answer["id"].as_u64().expect("every answer here has its id") as usize] += 1;
        }
        prop_assert_eq!(server.calls_in_flight(), 0);
        for (id, step) in steps.iter().enumerate() {
            let expected = usize::from(matches!(step, Step::Request(..)) && !is_cancelled[id]);
            prop_assert_eq!(answers[id], expected, "{}", id);
        }
    }
}

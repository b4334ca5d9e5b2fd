//! The control door: mentions, selections, diffs and figures, as the verbs of the command line ask.

use serde_json::{Value, json};

use crate::harness::{Claude, Home, texts};

fn at(home: &Home, name: &str) -> String {
    home.workspace().join(name).to_str().unwrap().to_owned()
}

/// Waits until the agent's gate is open: the selection that stands is told then.
fn listening(bridge: &crate::harness::Bridge) -> Claude {
    let mut claude = bridge.attach();
    let mut verb = bridge.control();
    // A mention is answered once every attached agent has got it.
    let done = verb.request("mention", json!({"filePath": "/warm-up"}));
    assert!(done["result"]["agents"].as_u64() >= Some(1), "{done}");
    while claude.next()["method"] != "at_mentioned" {}
    claude
}

#[test]
fn a_mention_waits_for_an_agent_and_reaches_every_one() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut verb = bridge.control();
    let params = json!({"filePath": at(&home, "a.rs"), "lineStart": 1, "lineEnd": 3});
    let asked = verb.ask("mention", params.clone());
    assert_eq!(verb.request("bridge/status", json!({}))["result"]["waitingMentions"], 1);
    let mut claude = bridge.attach();
    let told = claude.next();
    assert_eq!((&told["method"], &told["params"]), (&json!("at_mentioned"), &params));
    assert_eq!(verb.answer(asked)["result"], json!({"agents": 1}));
    let mut second = listening(&bridge);
    assert_eq!(claude.next()["params"], json!({"filePath": "/warm-up"}));
    let whole = json!({"filePath": at(&home, "b.rs")});
    assert_eq!(verb.request("mention", whole.clone())["result"], json!({"agents": 2}));
    assert_eq!(
        (claude.next()["params"].clone(), second.next()["params"].clone()),
        (whole.clone(), whole)
    );
}

#[test]
fn a_mention_goes_with_the_verb_that_gave_up() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut verb = bridge.control();
    verb.ask("mention", json!({"filePath": "/given-up"}));
    assert_eq!(verb.request("bridge/status", json!({}))["result"]["waitingMentions"], 1);
    drop(verb);
    let mut other = bridge.control();
    crate::harness::eventually("it is forgotten", || {
        other.request("bridge/status", json!({}))["result"]["waitingMentions"] == 0
    });
}

#[test]
fn a_selection_is_told_at_once_to_the_attached_and_later_to_those_who_come() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = listening(&bridge);
    let mut verb = bridge.control();
    let range = json!({"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 5}});
    let params = json!({"filePath": at(&home, "a.rs"), "text": "hello", "selection": range});
    assert_eq!(verb.request("select", params.clone())["result"], json!({"agents": 1}));
    let told = claude.next();
    assert_eq!(told["method"], "selection_changed");
    assert_eq!(told["params"]["text"], "hello");
    assert_eq!(told["params"]["selection"]["start"], range["start"]);
    let mut later = bridge.attach();
    assert_eq!(later.next()["params"]["filePath"], params["filePath"]);
    assert_eq!(verb.request("select", json!({"clear": true}))["result"], json!({"agents": 2}));
    let told = claude.next();
    assert_eq!(
        (&told["params"]["text"], &told["params"]["selection"]["isEmpty"]),
        (&json!(""), &json!(true))
    );
}

#[test]
fn a_diff_is_listed_told_of_and_settled_by_the_first_answer() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    let (mut verb, mut other) = (bridge.control(), bridge.control());
    assert_eq!(verb.request("diffs", json!({}))["result"], json!({"diffs": []}));
    let path = at(&home, "a.txt");
    let mut held = Vec::new();
    for (tab, contents) in [("one", "1\r\n"), ("two", "2"), ("three", "3")] {
        held.push(claude.call(
            "openDiff",
            json!({"old_file_path": path, "new_file_path": path,
            "new_file_contents": contents, "tab_name": tab}),
        ));
        assert_eq!(verb.next()["method"], "bridge/diffsChanged");
    }
    let listed = other.request("diffs", json!({}))["result"]["diffs"].clone();
    assert_eq!(listed[0]["tabName"], "one");
    assert_eq!((&listed[0]["newContents"], &listed[0]["oldPath"]), (&json!("1\r\n"), &json!(path)));
    assert_eq!(listed[0]["agent"], "client_1");
    let id = |at: usize| listed[at]["id"].clone();
    // As proposed, with other contents, rejected.
    let accepted = verb.ask("settle", json!({"id": id(0), "verdict": "accept"}));
    let edited = json!({"id": id(1), "verdict": "accept", "contents": "\u{feff}mine"});
    let edited = verb.ask("settle", edited);
    let rejected = verb.ask("settle", json!({"id": id(2), "verdict": "reject"}));
    let mut answered = Vec::new();
    while answered.len() < 3 {
        let message = verb.next();
        if message["method"] != "bridge/diffsChanged" {
            answered.push((message["id"].clone(), message["result"].clone()));
        }
    }
    let done = json!({});
    let expected = [accepted, edited, rejected].map(|asked| (json!(asked), done.clone()));
    assert_eq!(answered, expected);
    assert_eq!(texts(&claude.answer(held[0])), ["FILE_SAVED", "1\r\n"]);
    assert_eq!(texts(&claude.answer(held[1])), ["FILE_SAVED", "\u{feff}mine"]);
    assert_eq!(texts(&claude.answer(held[2])), ["DIFF_REJECTED", "three"]);
    assert!(!home.workspace().join("a.txt").exists());
    let late = settle_error(&mut other, json!({"id": id(0), "verdict": "reject"}));
    assert_eq!(late["code"], -32012);
    assert!(late["message"].as_str().unwrap().contains("another review"), "{late}");
    let unknown = settle_error(&mut other, json!({"id": 99, "verdict": "reject"}));
    assert_eq!((&unknown["code"], &unknown["message"]), (&json!(-32011), &json!("no diff #99")));
}

/// The error of a `settle`; changes told meanwhile are passed over.
fn settle_error(verb: &mut Claude, params: Value) -> Value {
    let asked = verb.ask("settle", params);
    loop {
        let message = verb.next();
        if message["id"] == asked {
            return message["error"].clone();
        }
    }
}

#[test]
fn a_withdrawn_diff_says_who_withdrew_it() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    let mut verb = bridge.control();
    let proposal = json!({"old_file_path": "/x", "new_file_path": "/x", "new_file_contents": "",
        "tab_name": "tab"});
    let held = claude.call("openDiff", proposal);
    claude.call("close_tab", json!({"tab_name": "tab"}));
    claude.answer(held);
    let error = settle_error(&mut verb, json!({"id": 1, "verdict": "accept"}));
    assert_eq!(error["message"], "already answered by Claude Code");
}

#[test]
fn the_figures_are_those_of_the_moment() {
    let home = Home::new();
    let bridge = home.start(&["--ide-name", "my bridge"]);
    let mut verb = bridge.control();
    let status = verb.request("bridge/status", json!({}))["result"].clone();
    assert_eq!((&status["pid"], &status["port"]), (&json!(bridge.pid()), &json!(bridge.port)));
    assert_eq!(status["workspaces"], json!([home.workspace()]));
    assert_eq!((&status["ideName"], &status["tokenRequired"]), (&json!("my bridge"), &json!(true)));
    assert_eq!(status["lockFile"], json!(bridge.lock_path()));
    assert_eq!(status["agents"], json!([]), "a verb is no agent");
    let mut claude = bridge.attach();
    claude.call(
        "openDiff",
        json!({"old_file_path": "/x", "new_file_path": "/x",
        "new_file_contents": "", "tab_name": "tab"}),
    );
    claude.request("ping", json!({}));
    let status = verb.request("bridge/status", json!({}))["result"].clone();
    let agent = &status["agents"][0];
    assert_eq!((&agent["name"], &agent["version"]), (&json!("claude-code"), &json!("2.1.332")));
    assert_eq!((&agent["calls"], &status["diffs"]), (&json!(1), &json!(1)));
    assert_eq!((&agent["isPaused"], &agent["queuedBytes"]), (&json!(false), &json!(0)));
}

#[test]
fn what_is_no_request_of_this_door_is_refused_and_the_connection_stays() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut verb = bridge.control();
    for (method, params, code) in [
        ("initialize", json!({}), -32601),
        ("mention", json!({"filePath": "relative"}), -32602),
        ("mention", json!({}), -32602),
        ("settle", json!({"id": "1", "verdict": "accept"}), -32602),
        ("select", json!({}), -32602),
    ] {
        assert_eq!(verb.request(method, params)["error"]["code"], code, "{method}");
    }
    assert!(verb.request("bridge/status", json!({}))["result"].is_object());
}

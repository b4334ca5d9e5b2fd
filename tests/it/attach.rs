//! Claude Code attaches, calls tools, and leaves.

use std::io::Write;

use serde_json::{Value, json};

use crate::harness::{Claude, Home, eventually, texts};

fn diff(home: &Home, tab_name: &str) -> Value {
    let path = home.workspace().join("new.txt");
    json!({
        "old_file_path": path, "new_file_path": path,
        "new_file_contents": "alpha\r\nbeta", "tab_name": tab_name,
    })
}

#[test]
fn the_greeting_is_what_claude_code_needs() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.upgrade();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2.1.332"}});
    let result = claude.request("initialize", params)["result"].clone();
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["serverInfo"]["name"], "footbridge");
    assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(result["capabilities"]["tools"].is_object(), "{result}");
    assert!(result["capabilities"]["logging"].is_object(), "{result}");
    claude.notify("notifications/initialized", json!({}));
    let (tools, prompts) =
        (claude.ask("tools/list", json!({})), claude.ask("prompts/list", json!({})));
    let listed = claude.answer(tools);
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["name"].as_str().unwrap())
        .collect();
    for name in [
        "openFile",
        "openDiff",
        "getCurrentSelection",
        "getLatestSelection",
        "getOpenEditors",
        "getWorkspaceFolders",
        "getDiagnostics",
        "checkDocumentDirty",
        "saveDocument",
        "close_tab",
        "closeAllDiffTabs",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert_eq!(claude.answer(prompts)["result"]["prompts"], json!([]));
    assert_eq!(claude.request("server/discover", json!({}))["error"]["code"], -32601);
    assert_eq!(claude.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn a_diff_is_held_until_its_tab_is_closed_and_the_file_is_never_touched() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    let held = claude.call("openDiff", diff(&home, "✻ new.txt"));
    assert_eq!(claude.call_for_texts("getWorkspaceFolders", json!({})).len(), 1);
    let closing = claude.call("close_tab", json!({"tab_name": "✻ new.txt"}));
    let mut answers = [claude.next(), claude.next()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(held), &json!(closing)));
    assert_eq!(texts(&answers[0]), ["DIFF_REJECTED", "✻ new.txt"]);
    assert_eq!(texts(&answers[1]), ["TAB_CLOSED"]);
    assert_eq!(
        claude.call_for_texts("close_tab", json!({"tab_name": "✻ new.txt"})),
        ["TAB_CLOSED"]
    );
    assert_eq!(claude.call_for_texts("closeAllDiffTabs", json!({})), ["CLOSED_0_DIFF_TABS"]);
    assert!(!home.workspace().join("new.txt").exists());
}

#[test]
fn a_cancelled_diff_is_never_answered() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    let held = claude.call("openDiff", diff(&home, "tab"));
    claude.notify("notifications/cancelled", json!({"requestId": held, "reason": "timed out"}));
    // What comes after it is answered, and the diff is gone from the books.
    assert_eq!(claude.call_for_texts("closeAllDiffTabs", json!({})), ["CLOSED_0_DIFF_TABS"]);
}

#[test]
fn diffs_belong_to_their_client_and_go_with_it() {
    let home = Home::new();
    let mut bridge = home.start(&[]);
    let (mut first, mut second) = (bridge.attach(), bridge.attach());
    first.call("openDiff", diff(&home, "tab"));
    let held = second.call("openDiff", diff(&home, "tab"));
    assert_eq!(first.call("getOpenEditors", json!({})), 2);
    first.answer(2);
    drop(first);
    bridge.expect_log("client_1 left");
    let closing = second.call("closeAllDiffTabs", json!({}));
    let mut answers = [second.next(), second.next()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0]["id"], held);
    assert_eq!(texts(&answers[0]), ["DIFF_REJECTED", "tab"]);
    assert_eq!(answers[1]["id"], closing);
    assert_eq!(texts(&answers[1]), ["CLOSED_1_DIFF_TABS"]);
}

#[test]
fn diagnostics_have_the_shape_that_claude_code_reads() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    assert_eq!(claude.call_for_texts("getDiagnostics", json!({})), ["[]"]);
    let uri = format!("file://{}/a é%.txt", home.workspace().display());
    let answer = claude.call_for_texts("getDiagnostics", json!({"uri": uri}));
    let parsed: Value = serde_json::from_str(&answer[0]).unwrap();
    assert_eq!(parsed, json!([{"uri": uri, "diagnostics": []}]));
}

#[test]
fn a_file_is_opened_with_the_persons_command_and_its_selection_is_told_to_every_client() {
    let home = Home::new();
    let file = home.workspace().join("a b.rs");
    std::fs::write(&file, "fn main() {\n    let é = 1;\n}\n").unwrap();
    let seen = home.path().join("seen");
    let command =
        format!("sh -c 'printf %s \"$0\" > {}' {{file}}:{{line}}:{{column}}", seen.display());
    let bridge = home.start(&["--open-command", &command]);
    let mut claude = bridge.attach();
    let arguments = json!({"filePath": file, "startText": "let é", "endText": "1;"});
    let answer = claude.call_for_texts("openFile", arguments);
    assert_eq!(answer, [format!("Opened file: {}", file.display())]);
    let expected = format!("{}:2:5", file.display());
    eventually("the command ran", || std::fs::read_to_string(&seen).is_ok_and(|s| s == expected));
    let selection: Value =
        serde_json::from_str(&claude.call_for_texts("getCurrentSelection", json!({}))[0]).unwrap();
    assert_eq!(selection["text"], "let é = 1;");
    assert_eq!(selection["selection"]["start"], json!({"line": 1, "character": 4}));
    // A client that comes later hears of it once its gate has opened.
    let mut later: Claude = bridge.attach();
    let told = later.next();
    assert_eq!(told["method"], "selection_changed");
    assert_eq!(told["params"]["filePath"], json!(file));
    assert_eq!(told["params"]["text"], "let é = 1;");
}

#[test]
fn opening_what_cannot_be_opened_is_a_failed_result_that_names_the_path() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    for path in [home.workspace(), home.workspace().join("none.txt")] {
        let id = claude.call("openFile", json!({"filePath": path}));
        let answer = claude.answer(id);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(texts(&answer)[0].contains(path.to_str().unwrap()), "{answer}");
    }
}

#[test]
fn a_large_proposal_comes_through_whole_and_its_memory_is_given_back() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    let contents = "0123456789abcde\n".repeat(1 << 20);
    let arguments = json!({"old_file_path": "/x", "new_file_path": "/x",
        "new_file_contents": contents, "tab_name": "big"});
    let held = claude.call("openDiff", arguments);
    let closing = claude.call("close_tab", json!({"tab_name": "big"}));
    let mut ids = [claude.next()["id"].as_u64().unwrap(), claude.next()["id"].as_u64().unwrap()];
    ids.sort_unstable();
    assert_eq!(ids, [held, closing]);
    #[cfg(target_os = "linux")]
    eventually("memory is given back", || bridge.resident_bytes() < 24 << 20);
}

#[test]
fn a_message_in_65536_fragments_with_pings_between_is_one_message() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":99,"method":"ping","params":{{"_meta":{{"pad":"{}"}}}}}}"#,
        "é".repeat(1 << 15)
    );
    let mut wire = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        let fin = if at + 1 == text.len() { 0x80 } else { 0 };
        let opcode = u8::from(at == 0);
        wire.extend_from_slice(&[fin | opcode, 0x81, 1, 2, 3, 4, byte ^ 1]);
        if at % 1000 == 0 {
            wire.extend_from_slice(&[0x89, 0x80, 0, 0, 0, 0]);
        }
    }
    claude.socket.get_mut().write_all(&wire).unwrap();
    assert_eq!(claude.next(), json!({"jsonrpc": "2.0", "id": 99, "result": {}}));
}

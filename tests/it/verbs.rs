//! The verbs of the command line, from the real binary through a real bridge to agents.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Bridge, Claude, DEADLINE, Ended, Home};

/// Runs a verb to its end, in a folder of the home.
fn verb_in(home: &Home, folder: &Path, arguments: &[&str], stdin: &str) -> Ended {
    let mut command = home.command(arguments);
    ended(spawn(command.current_dir(folder), stdin))
}

fn verb(home: &Home, arguments: &[&str]) -> Ended {
    verb_in(home, &home.workspace(), arguments, "")
}

fn spawn(command: &mut Command, stdin: &str) -> Child {
    use std::io::Write;
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // A verb that does not read it may be gone by now.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child
}

fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    Ended {
        status: output.status,
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[track_caller]
fn check(ended: &Ended, code: i32, stdout: &str, stderr: &str) {
    let said = (ended.status.code(), ended.stdout.as_str(), ended.stderr.as_str());
    assert_eq!(said, (Some(code), stdout, stderr));
}

fn write(home: &Home, name: &str, text: &str) {
    std::fs::write(home.workspace().join(name), text).unwrap();
}

/// The path as agents hear it.
fn physical(home: &Home, name: &str) -> Value {
    json!(std::fs::canonicalize(home.workspace()).unwrap().join(name))
}

/// The next notification of that name; others are passed over.
fn next(claude: &mut Claude, method: &str) -> Value {
    loop {
        let message = claude.next();
        if message["method"] == method {
            return message["params"].clone();
        }
    }
}

fn status(home: &Home) -> Value {
    let ended = verb(home, &["status", "--json"]);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}", ended.stderr))
}

fn attached(home: &Home, bridge: &Bridge, agents: usize) -> Vec<Claude> {
    let attached = (0..agents).map(|_| bridge.attach()).collect();
    assert_eq!(status(home)[0]["agents"].as_array().unwrap().len(), agents);
    attached
}

#[test]
fn a_mention_made_before_an_agent_attaches_waits_for_it_and_its_gate() {
    let home = Home::new();
    write(&home, "a.rs", "1\n2\n3\n");
    let bridge = home.start(&[]);
    let waiting = spawn(&mut home.command(&["mention", "a.rs:2-3"]), "");
    crate::harness::eventually("the mention waits", || status(&home)[0]["waitingMentions"] == 1);
    let before = Instant::now();
    let mut claude = bridge.attach();
    let told = next(&mut claude, "at_mentioned");
    assert!(before.elapsed().as_millis() >= 500, "{:?}", before.elapsed());
    let expected = json!({"filePath": physical(&home, "a.rs"), "lineStart": 1, "lineEnd": 2});
    assert_eq!(told, expected);
    let waits = "no agent is attached: waiting up to 30 s for one\n";
    check(&ended(waiting), 0, "sent to 1 agent\n", waits);
}

#[test]
fn a_mention_reaches_every_agent() {
    let home = Home::new();
    write(&home, "b 1:2.rs", "");
    let bridge = home.start(&[]);
    let mut claudes = attached(&home, &bridge, 2);
    check(&verb(&home, &["mention", "b 1:2.rs"]), 0, "sent to 2 agents\n", "");
    for claude in &mut claudes {
        let expected = json!({"filePath": physical(&home, "b 1:2.rs")});
        assert_eq!(next(claude, "at_mentioned"), expected);
    }
}

#[test]
fn a_mention_that_nobody_takes_says_so_when_its_time_is_over() {
    let home = Home::new();
    write(&home, "a.rs", "");
    let _bridge = home.start(&[]);
    let hint = "start one with footbridge claude, or /ide in it\n";
    let expected = format!("footbridge: no agent was attached: {hint}");
    check(&verb(&home, &["mention", "--wait", "0", "a.rs"]), 1, "", &expected);
    let before = Instant::now();
    let expected = format!(
        "no agent is attached: waiting up to 0.3 s for one\n\
         footbridge: no agent was attached within 0.3 s: {hint}"
    );
    check(&verb(&home, &["mention", "--wait", "0.3", "a.rs"]), 1, "", &expected);
    assert!(before.elapsed().as_millis() >= 300 && before.elapsed() < DEADLINE);
    crate::harness::eventually("the mention went with its verb", || {
        status(&home)[0]["waitingMentions"] == 0
    });
    let missing = "footbridge: there is no file \"b.rs\"\n";
    check(&verb(&home, &["mention", "b.rs:1"]), 1, "", missing);
}

#[test]
fn a_selection_reaches_agents_now_and_later_until_it_is_cleared() {
    let home = Home::new();
    write(&home, "a.rs", "fn é😀() {\r\n    one();\r\n}\r\n");
    let bridge = home.start(&[]);
    let none = "no agent is attached: the next one is told\n";
    check(&verb(&home, &["select", "a.rs:1:4-2:5"]), 0, none, "");
    let mut claude = bridge.attach();
    let told = next(&mut claude, "selection_changed");
    assert_eq!(told["filePath"], physical(&home, "a.rs"));
    assert_eq!(told["text"], "é😀() {\r\n    ");
    let at = |line: u32, character: u32| json!({"line": line, "character": character});
    let range = json!({"start": at(0, 3), "end": at(1, 4), "isEmpty": false});
    assert_eq!(told["selection"], range);
    let given = ["select", "a.rs:1:6-1:9", "--columns", "utf16", "--text", "-"];
    let ended = verb_in(&home, &home.workspace(), &given, "other\n");
    check(&ended, 0, "told to 1 agent\n", "");
    let told = next(&mut claude, "selection_changed");
    assert_eq!((&told["text"], &told["selection"]["end"]), (&json!("other\n"), &at(0, 8)));
    check(&verb(&home, &["select", "--clear"]), 0, "told to 1 agent\n", "");
    let told = next(&mut claude, "selection_changed");
    assert_eq!((&told["text"], &told["selection"]["isEmpty"]), (&json!(""), &json!(true)));
    let mut later = bridge.attach();
    assert_eq!(next(&mut later, "selection_changed")["text"], "");
    let outside = "footbridge: line 2 ends at column 11, so there is no column 12\n";
    check(&verb(&home, &["select", "a.rs:2:1-2:12"]), 1, "", outside);
}

#[test]
fn status_tells_the_figures_of_every_bridge() {
    let home = Home::new();
    let other = home.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let none = "footbridge: no bridge runs: start one with footbridge in a project's folder\n";
    check(&verb(&home, &["status"]), 1, "", none);
    let (mut first, mut second) =
        (home.start(&[]), home.start(&["--workspace", other.to_str().unwrap()]));
    let mut claude = second.attach();
    let proposal = json!({"old_file_path": "/x", "new_file_path": "/x", "new_file_contents": "",
        "tab_name": "tab"});
    claude.call("openDiff", proposal);
    claude.request("ping", json!({}));
    let all = status(&home);
    assert_eq!(all.as_array().unwrap().len(), 2);
    let of = |port: u16| all.as_array().unwrap().iter().find(|one| one["port"] == port).unwrap();
    assert_eq!(of(first.port)["pid"], first.pid());
    assert_eq!(of(first.port)["agents"], json!([]));
    let busy = of(second.port);
    assert_eq!((&busy["diffs"], &busy["connections"]), (&json!(1), &json!(2)));
    assert_eq!(busy["agents"][0]["name"], "claude-code");
    assert_eq!(busy["workspaces"], json!([other]));
    let words = verb(&home, &["status", "--port", &second.port.to_string()]).stdout;
    assert!(words.starts_with(&format!("port {}  {}\n", second.port, other.display())), "{words}");
    assert!(words.contains("claude-code 2.1.332") && words.contains("1 diff to answer"), "{words}");
    assert_eq!(words.lines().count(), 5, "{words}");
    first.stop();
    second.stop();
    let gone = format!("footbridge: no bridge has port {}: see footbridge status\n", first.port);
    check(&verb(&home, &["status", "--port", &first.port.to_string()]), 1, "", &gone);
    assert_eq!(status(&home), json!([]));
}

#[test]
fn a_bridge_that_was_killed_is_not_taken_for_a_running_one() {
    let home = Home::new();
    let mut bridge = home.start(&[]);
    bridge.signal("-KILL");
    bridge.wait();
    assert_eq!(status(&home), json!([]));
    let workspace = std::fs::canonicalize(home.workspace()).unwrap();
    let expected = format!(
        "footbridge: no bridge serves {}: start one with footbridge in that folder\n",
        workspace.display()
    );
    for line in [&["token"][..], &["select", "--clear"], &["env"], &["call", "x"], &["claude"]] {
        check(&verb(&home, line), 1, "", &expected);
    }
}

#[test]
fn the_nearest_bridge_above_is_meant_unless_a_port_is_given() {
    let home = Home::new();
    let (inner, more) = (home.workspace().join("inner"), home.path().join("more"));
    std::fs::create_dir_all(inner.join("deep")).unwrap();
    std::fs::create_dir(&more).unwrap();
    let outer = home.start(&["--workspace", ".", "--workspace", more.to_str().unwrap()]);
    let within = home.start(&["--workspace", inner.to_str().unwrap()]);
    let token = |folder: &Path, arguments: &[&str]| {
        let arguments = [&["token"], arguments].concat();
        verb_in(&home, folder, &arguments, "").stdout.trim_end().to_owned()
    };
    assert_ne!(outer.token(), within.token());
    assert_eq!(token(&home.workspace(), &[]), outer.token());
    assert_eq!(token(&more, &[]), outer.token());
    assert_eq!(token(&inner, &[]), within.token());
    assert_eq!(token(&inner.join("deep"), &[]), within.token());
    assert_eq!(token(&inner, &["--port", &outer.port.to_string()]), outer.token());
    assert_eq!(token(home.path(), &["--port", &within.port.to_string()]), within.token());
}

#[test]
fn the_token_is_printed_when_it_is_known() {
    let home = Home::new();
    let mut bridge = home.start(&["--no-lock-file"]);
    let state = std::fs::read_dir(home.path().join(".local/state/footbridge")).unwrap();
    let folder = state.last().unwrap().unwrap().path();
    let remembered = std::fs::read_to_string(folder.join("token")).unwrap();
    check(&verb(&home, &["token"]), 0, &remembered, "");
    bridge.stop();
    let mut given = home.start(&["--no-lock-file", "--token", "given-by-hand"]);
    let unknown = "footbridge: only whoever started this bridge knows its token: it was given with \
                   --token or --token-file\n";
    check(&verb(&home, &["token"]), 1, "", unknown);
    given.stop();
    let mut locked = home.start(&["--token", "given-by-hand"]);
    check(&verb(&home, &["token"]), 0, "given-by-hand\n", "");
    locked.stop();
    let _open = home.start(&["--no-auth"]);
    let open = "footbridge: this bridge asks for no token: it was started with --no-auth\n";
    check(&verb(&home, &["token"]), 1, "", open);
}

#[test]
fn env_joins_a_shell_to_the_bridge() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let lines = |name: &str, equals: &str| {
        format!(
            "{name}CLAUDE_CODE_SSE_PORT{equals}'{}'\n{name}ENABLE_IDE_INTEGRATION{equals}'true'\n\
             {name}no_proxy{equals}'it''s,localhost,127.0.0.1,::1'\n\
             {name}NO_PROXY{equals}'it''s,localhost,127.0.0.1,::1'\n",
            bridge.port
        )
    };
    let mut command = home.command(&["env"]);
    command.env("SHELL", "/usr/bin/pwsh").env("NO_PROXY", "it's");
    check(&ended(spawn(&mut command, "")), 0, &lines("$env:", " = "), "");
    let fish = home.command(&["env", "--shell", "fish"]).output().unwrap();
    assert!(fish.stdout.starts_with(b"set -gx CLAUDE_CODE_SSE_PORT '"));
    // What sh makes of it.
    let program = env!("CARGO_BIN_EXE_footbridge");
    let script = format!("eval \"$({program} env)\"; echo $CLAUDE_CODE_SSE_PORT \"$no_proxy\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env_clear().env("HOME", home.path()).env("no_proxy", "it's");
    shell.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let said = shell.current_dir(home.workspace()).output().unwrap();
    let expected = format!("{} it's,localhost,127.0.0.1,::1\n", bridge.port);
    assert_eq!(String::from_utf8(said.stdout).unwrap(), expected);
}

#[cfg(unix)]
#[test]
fn claude_is_started_with_the_right_environment() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let bridge = home.start(&[]);
    let folder = home.path().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let mut without = home.command(&["claude"]);
    let missing = "footbridge: there is no claude on PATH: install Claude Code\n";
    check(&ended(spawn(without.env("PATH", &folder), "")), 1, "", missing);
    let script = "#!/bin/sh\necho \"$CLAUDE_CODE_SSE_PORT $ENABLE_IDE_INTEGRATION $NO_PROXY\"\n\
                  for one; do echo \"<$one>\"; done\nexit 7\n";
    std::fs::write(folder.join("claude"), script).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.join("claude"), mode).unwrap();
    let first = format!("{} true localhost,127.0.0.1,::1\n", bridge.port);
    for (arguments, expected) in [
        (&["claude"][..], ""),
        (&["claude", "--resume", "a b", "--port", "1"], "<--resume>\n<a b>\n<--port>\n<1>\n"),
        (&["claude", "--", "--help", "-p"], "<--help>\n<-p>\n"),
        (&["claude", "--port", &bridge.port.to_string(), "-p", "x"], "<-p>\n<x>\n"),
    ] {
        let mut command = home.command(arguments);
        let ended = ended(spawn(command.env("PATH", &folder), ""));
        check(&ended, 7, &format!("{first}{expected}"), "");
    }
}

#[test]
fn a_tool_is_called_by_hand() {
    let home = Home::new();
    write(&home, "a.rs", "");
    let bridge = home.start(&[]);
    let called = verb(&home, &["call", "getWorkspaceFolders"]);
    assert_eq!(called.status.code(), Some(0), "{}", called.stderr);
    let folders: Value = serde_json::from_str(&called.stdout).unwrap();
    assert!(folders.to_string().contains(home.workspace().to_str().unwrap()), "{folders}");
    let path = home.workspace().join("a.rs");
    let arguments = json!({"filePath": path}).to_string();
    let stdin = verb_in(&home, &home.workspace(), &["call", "checkDocumentDirty", "-"], &arguments);
    assert_eq!((stdin.status.code(), stdin.stderr.as_str()), (Some(0), ""));
    let failed = verb(&home, &["call", "checkDocumentDirty"]);
    assert_eq!((failed.status.code(), failed.stdout.as_str()), (Some(1), ""));
    assert!(failed.stderr.contains("filePath"), "{}", failed.stderr);
    let unknown = verb(&home, &["call", "getDiagnostic"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(unknown.stderr.contains("did you mean \"getDiagnostics\"?"), "{}", unknown.stderr);
    let garbled = verb(&home, &["call", "getDiagnostics", "[]"]);
    assert_eq!(garbled.status.code(), Some(2));
    // Called by hand, a diff waits for its answer as an agent's does.
    let proposal = json!({"old_file_path": path, "new_file_path": path,
        "new_file_contents": "x", "tab_name": "by hand"});
    let held = spawn(&mut home.command(&["call", "openDiff", &proposal.to_string()]), "");
    crate::harness::eventually("the diff waits", || status(&home)[0]["diffs"] == 1);
    assert_eq!(status(&home)[0]["agents"][0]["name"], "footbridge call");
    let mut control = bridge.control();
    control.request("settle", json!({"id": 1, "verdict": "accept"}));
    check(&ended(held), 0, "FILE_SAVED\nx\n", "");
    drop(bridge);
    let closed = home.start(&["--no-auth"]);
    assert_eq!(verb(&home, &["call", "getOpenEditors"]).status.code(), Some(0));
    drop(closed);
}

#[test]
fn the_catalogue_needs_no_bridge() {
    let home = Home::new();
    let listed: Value = serde_json::from_str(&verb(&home, &["tools", "--json"]).stdout).unwrap();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"openDiff") && listed[0]["inputSchema"]["type"] == "object");
    let words = verb(&home, &["tools"]).stdout;
    assert_eq!(words.lines().count(), names.len());
}

#[test]
fn completions_and_manual_pages_are_written() {
    let home = Home::new();
    for (shell, sign) in
        [("bash", "complete -F"), ("fish", "complete -c footbridge"), ("zsh", "#compdef")]
    {
        let script = verb(&home, &["completions", shell]);
        assert_eq!((script.status.code(), script.stderr.as_str()), (Some(0), ""));
        assert!(script.stdout.contains(sign) && script.stdout.contains("mention"), "{shell}");
    }
    let page = verb(&home, &["man"]).stdout;
    assert!(page.contains(".TH footbridge 1") && page.contains("footbridge\\-mention"), "{page}");
    let page = verb(&home, &["man", "mention"]).stdout;
    assert!(page.contains("footbridge\\-mention") && page.contains("Exit codes"), "{page}");
    assert_eq!(verb(&home, &["man", "nothing"]).status.code(), Some(1));
}

#[test]
fn a_verb_survives_when_nobody_reads_what_it_says() {
    let home = Home::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = home.command(&["tools"]);
    assert_eq!(command.stdout(writer).status().unwrap().code(), Some(0));
}

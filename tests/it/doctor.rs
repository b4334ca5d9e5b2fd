//! `footbridge doctor` on machines prepared to have each fault that needs no privileges.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Bridge, Ended, Home, eventually};

/// What `--json` says, which agrees with the exit code.
struct Report {
    findings: Value,
    is_well: bool,
}

impl Report {
    #[track_caller]
    fn of(ended: &Ended) -> Report {
        assert_eq!(ended.stderr, "");
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        let is_well = report["isWell"].as_bool().unwrap();
        assert_eq!(ended.status.code(), Some(if is_well { 0 } else { 1 }), "{report:#}");
        Report { findings: report["findings"].clone(), is_well }
    }

    /// The finding of a check has this severity and these words, and a remedy unless it is fine.
    #[track_caller]
    fn expect(&self, name: &str, severity: &str, words: &str) -> &Report {
        let mut findings = self.findings.as_array().unwrap().iter();
        let found = findings.find(|finding| finding["check"] == name).unwrap();
        let text = found["text"].as_str().unwrap();
        assert_eq!(found["severity"], severity, "{found}");
        assert!(text.contains(words), "{words:?} is not in {found}");
        assert_eq!(found["remedy"].is_null(), severity == "fine", "{found}");
        if severity == "fault" {
            assert!(!self.is_well);
        }
        self
    }

    /// Names of the checks that found a fault.
    fn faults(&self) -> Vec<&str> {
        let findings = self.findings.as_array().unwrap().iter();
        let faults = findings.filter(|finding| finding["severity"] == "fault");
        faults.map(|finding| finding["check"].as_str().unwrap()).collect()
    }
}

impl Home {
    fn examine(&self) -> Report {
        self.examine_with(&[])
    }

    fn examine_with(&self, variables: &[(&str, &str)]) -> Report {
        let mut command = self.command(&["doctor", "--json"]);
        command.envs(variables.iter().copied());
        Report::of(&ended(command))
    }

    fn examine_in(&self, folder: &Path) -> Report {
        let mut command = self.command(&["doctor", "--json"]);
        command.current_dir(folder);
        Report::of(&ended(command))
    }

    fn lock_folder(&self) -> PathBuf {
        self.path().join(".claude/ide")
    }

    /// A lock of another program, for `folder`.
    fn write_lock(&self, port: u16, pid: Option<u32>, folder: &str) -> PathBuf {
        let mut lock = json!({"workspaceFolders": [folder], "ideName": "Some Editor",
            "transport": "ws", "authToken": "0123456789abcdef"});
        if let Some(pid) = pid {
            lock["pid"] = json!(pid);
        }
        self.write_lock_text(&format!("{port}.lock"), &lock.to_string())
    }

    fn write_lock_text(&self, name: &str, text: &str) -> PathBuf {
        let folder = self.lock_folder();
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn work(&self) -> String {
        self.physical(&self.workspace())
    }

    fn physical(&self, folder: &Path) -> String {
        fs::canonicalize(folder).unwrap().to_str().unwrap().to_owned()
    }

    fn state_folder(&self) -> PathBuf {
        let folders = fs::read_dir(self.path().join(".local/state/footbridge")).unwrap();
        folders.map(|folder| folder.unwrap().path()).next().unwrap()
    }
}

fn ended(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        status: output.status,
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A port on which someone listens, and its listener.
fn listening() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// A port on which nobody listens, nor can while the stream is there: its own end has it.
fn refusing() -> (TcpStream, u16) {
    let (listener, _) = listening();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let port = stream.local_addr().unwrap().port();
    (stream, port)
}

/// The number of a process that is gone.
fn gone() -> u32 {
    let mut child = Command::new("true").stdout(Stdio::null()).spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

fn me() -> Option<u32> {
    Some(std::process::id())
}

/// Every file below a folder with its contents and mode.
fn snapshot(folder: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        match path.is_dir() {
            true => found.extend(snapshot(&path)),
            false => found.push((path.clone(), mode, fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn with_a_bridge_and_nothing_else_nothing_is_wrong() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let report = home.examine();
    assert!(report.is_well, "{:?}", report.faults());
    report
        .expect("bridge", "fine", &format!("port {}", bridge.port))
        .expect("answer", "fine", "answers")
        .expect("door", "fine", "lets an agent in")
        .expect("competitors", "fine", "one lock matches")
        .expect("dead-pid", "fine", "living")
        .expect("trigger", "note", "a plain claude")
        .expect("print-mode", "note", "claude -p never attaches");
    let ended = home.run(&["doctor"]);
    assert_eq!(ended.status.code(), Some(0));
    assert!(ended.stdout.contains("\n0 faults, "), "{}", ended.stdout);
    assert!(!ended.stdout.contains("\nfine "), "{}", ended.stdout);
    assert!(ended.stdout.contains("-> claude --ide, or footbridge claude"), "{}", ended.stdout);
    let verbose = home.run(&["doctor", "--verbose"]);
    assert!(verbose.stdout.contains("\nfine     the bridge answers\n"), "{}", verbose.stdout);
    // From a folder below too.
    let below = home.workspace().join("src");
    fs::create_dir(&below).unwrap();
    assert!(home.examine_in(&below).is_well);
}

#[test]
fn nothing_is_changed_on_disk_and_no_secret_is_printed() {
    let home = Home::new();
    let mut bridge = home.start(&[]);
    let token = bridge.token();
    let control = fs::read_to_string(home.state_folder().join("bridge.json")).unwrap();
    let control: Value = serde_json::from_str(&control).unwrap();
    let secrets = [
        token,
        control["controlToken"].as_str().unwrap().to_owned(),
        "0123456789abcdef".to_owned(),
        "hunter2".to_owned(),
    ];
    let (listener, port) = listening();
    home.write_lock(port, me(), &home.work());
    let (_stream, refusing) = refusing();
    home.write_lock(refusing, Some(gone()), "/elsewhere");
    home.write_lock_text("junk.lock", "junk");
    home.write_lock_text("1.lock", "{\"authToken\":\"0123456789abcdef\"");
    for is_running in [true, false] {
        if !is_running {
            bridge.stop();
        }
        let before = snapshot(home.path());
        for arguments in [&["doctor", "--verbose"][..], &["doctor", "--json"]] {
            let mut command = home.command(arguments);
            command.env("http_proxy", "http://me:hunter2@127.0.0.1:1");
            let ended = ended(command);
            assert_eq!(ended.status.code(), Some(1), "{}", ended.stdout);
            for secret in &secrets {
                assert!(!ended.stdout.contains(secret.as_str()), "{}", ended.stdout);
            }
        }
        assert!(snapshot(home.path()) == before);
    }
    drop(listener);
}

#[test]
fn a_folder_that_no_bridge_serves_is_named_with_those_that_are() {
    let home = Home::new();
    home.examine().expect("bridge", "fault", "none runs");
    assert_eq!(home.examine().faults(), ["bridge"]);
    let ended = home.run(&["doctor"]);
    assert_eq!(ended.status.code(), Some(1));
    let told = format!("fault    no bridge serves {}: none runs\n", home.work());
    assert!(ended.stdout.contains(&told), "{}", ended.stdout);
    assert!(ended.stdout.contains("-> start one in this folder: footbridge"), "{}", ended.stdout);
    let bridge = home.start(&[]);
    let sibling = home.path().join("worker");
    fs::create_dir(&sibling).unwrap();
    let words = format!("{} (port {})", home.work(), bridge.port);
    home.examine_in(&sibling).expect("bridge", "fault", &words);
    let words = format!("the one on port {} serves {}, which is below", bridge.port, home.work());
    home.examine_in(home.path()).expect("bridge", "fault", &words);
}

#[test]
fn a_bridge_without_a_lock_that_can_be_used_is_found() {
    let home = Home::new();
    let mut bridge = home.start(&["--no-lock-file"]);
    home.examine().expect("lock-file", "fault", "--no-lock-file");
    bridge.stop();
    let mut bridge = home.start(&["--pid", &gone().to_string()]);
    home.examine().expect("dead-pid", "fault", "Claude Code deletes it");
    bridge.stop();
    let mut bridge = home.start(&["--no-pid"]);
    let report = home.examine();
    assert!(report.is_well);
    report.expect("no-pid", "note", "names no process");
    bridge.stop();
    let bridge = home.start(&[]);
    fs::remove_dir_all(home.lock_folder()).unwrap();
    fs::write(home.lock_folder(), "").unwrap();
    home.examine().expect("lock-file", "fault", &format!("{}.lock is gone", bridge.port)).expect(
        "lock-folder",
        "fault",
        "is no folder",
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_bridge_on_another_address_is_found() {
    let home = Home::new();
    let _bridge = home.start(&["--bind", "127.0.0.2"]);
    home.examine().expect("address", "fault", "listens on 127.0.0.2").expect(
        "port",
        "fault",
        "nobody answers",
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_stopped_bridge_is_found() {
    let home = Home::new();
    let bridge = home.start(&[]);
    bridge.signal("-STOP");
    eventually("it is stopped", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", bridge.pid())).unwrap();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    });
    let words = format!("was stopped, as by Ctrl-Z: process {}", bridge.pid());
    home.examine().expect("answer", "fault", &words);
    bridge.signal("-CONT");
    home.examine().expect("answer", "fine", "answers");
}

#[test]
fn a_bridge_of_another_version_and_a_changed_lock_are_found() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let path = home.state_folder().join("bridge.json");
    let record = fs::read_to_string(&path).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    fs::write(&path, record.replace(&format!("\"{version}\""), "\"0.0.0\"")).unwrap();
    let report = home.examine();
    assert!(report.is_well);
    report.expect("version", "warning", "\"0.0.0\"");
    let lock = fs::read_to_string(bridge.lock_path()).unwrap();
    let changed = lock.replace(&bridge.token(), "another-token");
    fs::write(bridge.lock_path(), changed).unwrap();
    home.examine().expect("door", "fault", "does not take the token");
    fs::write(bridge.lock_path(), lock.replace("\"ws\"", "\"sse\"")).unwrap();
    home.examine().expect("transport", "fault", "another transport");
    fs::write(bridge.lock_path(), "no JSON\n").unwrap();
    home.examine().expect("json", "fault", "is no JSON object");
    fs::remove_file(bridge.lock_path()).unwrap();
    symlink(bridge.lock_path(), bridge.lock_path()).unwrap();
    home.examine().expect("readable", "fault", "cannot be read");
}

#[test]
fn a_bridge_that_lets_nobody_in_is_found() {
    let home = Home::new();
    let bridge = home.start(&["--max-connections", "1"]);
    let _agent = bridge.attach();
    home.examine().expect("answer", "fault", "as many connections as it may have");
}

#[test]
fn an_agent_that_does_not_read_is_named() {
    let home = Home::new();
    let text = format!("start{}end\n", "x".repeat(500_000));
    let file = home.workspace().join("long.txt");
    fs::write(&file, text).unwrap();
    let bridge = home.start(&["--ping-interval", "0"]);
    let mut agent = bridge.attach();
    let arguments = json!({"filePath": file, "startText": "start", "endText": "end"});
    agent.call_for_texts("openFile", arguments);
    let stream = agent.socket.get_ref().try_clone().unwrap();
    stream.set_write_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
    // Each answer is half a megabyte; the bridge stops reading when four megabytes wait.
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "getLatestSelection", "arguments": {}}});
    let mut control = bridge.control();
    eventually("the agent is paused", || {
        let _ = agent.socket.write(tungstenite::Message::text(ask.to_string()));
        let _ = agent.socket.flush();
        control.request("bridge/status", json!({}))["result"]["agents"][0]["isPaused"] == true
    });
    let report = home.examine();
    assert!(report.is_well);
    report.expect("agents", "warning", "not reading: client_1 (");
}

#[test]
fn locks_that_compete_are_named_with_whose_they_are() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let (_listener, port) = listening();
    home.write_lock(port, me(), &home.work());
    let report = home.examine();
    let ours = format!("footbridge (port {}, process {})", bridge.port, bridge.pid());
    let theirs = format!("\"Some Editor\" (port {port}, process {})", std::process::id());
    report.expect("competitors", "fault", &ours).expect("competitors", "fault", &theirs).expect(
        "competitors",
        "fault",
        "connects to none",
    );
    assert_eq!(report.faults(), ["competitors"]);
    // A port that is named settles it.
    let told = bridge.port.to_string();
    let report = home.examine_with(&[("CLAUDE_CODE_SSE_PORT", &told)]);
    assert!(report.is_well);
    report.expect("competitors", "note", "CLAUDE_CODE_SSE_PORT chooses footbridge");
    // So is a bridge for a folder above a match as well.
    let above = home.start(&["--workspace", home.path().to_str().unwrap()]);
    home.examine().expect("competitors", "fault", &format!("port {}", above.port));
}

#[test]
fn locks_of_other_programs_are_judged_and_left_alone() {
    let home = Home::new();
    let _bridge = home.start(&[]);
    let (_listener, port) = listening();
    let ((_one, first), (_two, second)) = (refusing(), refusing());
    let dead = home.write_lock(first, Some(gone()), &home.work());
    let refuses = home.write_lock(second, None, "/elsewhere");
    let below = home.workspace().join("below");
    fs::create_dir(&below).unwrap();
    home.write_lock(port, me(), below.to_str().unwrap());
    home.write_lock_text("words.lock", "{}");
    let report = home.examine();
    assert!(report.is_well, "{:?}", report.faults());
    report
        .expect("dead-pid", "note", dead.to_str().unwrap())
        .expect("port", "note", refuses.to_str().unwrap())
        .expect("below", "note", "\"Some Editor\"")
        .expect("lock-name", "note", "words.lock");
    let (_other, port) = listening();
    home.write_lock_text(&format!("{port}.lock"), "{\"transport\":\"sse\"}");
    let junk = home.write_lock_text("2.lock", "no JSON\n");
    symlink("3.lock", home.lock_folder().join("3.lock")).unwrap();
    let report = home.examine();
    assert!(report.is_well, "{:?}", report.faults());
    report
        .expect("transport", "warning", &format!("{port}.lock"))
        .expect("json", "warning", junk.to_str().unwrap())
        .expect("readable", "warning", "3.lock");
    // One that matches and whose process lives counts, even if nobody listens.
    let (_three, port) = refusing();
    home.write_lock(port, me(), &home.work());
    home.examine().expect("port", "fault", &format!("port {port}")).expect(
        "competitors",
        "fault",
        "2 locks",
    );
    assert!(dead.exists() && refuses.exists() && junk.exists());
}

#[test]
fn a_folder_that_a_lock_spells_otherwise_is_found() {
    let home = Home::new();
    let link = home.path().join("link");
    symlink(home.workspace(), &link).unwrap();
    let (_listener, port) = listening();
    let spell = |folder: &str| {
        home.write_lock(port, me(), folder);
        home.examine()
    };
    spell(link.to_str().unwrap()).expect("spelling", "fault", "a symbolic link to it");
    let upper = home.work().replace("/work", "/WORK");
    spell(&upper).expect("spelling", "fault", "large and small");
    let doubled = home.work().replace("/work", "//work");
    spell(&doubled).expect("spelling", "fault", "doubled separators");
    let slash = home.work() + "/";
    spell(&slash).expect("spelling", "fine", "").expect("competitors", "fine", "one lock matches");
    // Composed and decomposed letters are one to Claude Code.
    let composed = home.path().join("\u{e9}");
    fs::create_dir(&composed).unwrap();
    let decomposed = format!("{}/e\u{301}", home.physical(home.path()));
    home.write_lock(port, me(), &decomposed);
    home.examine_in(&composed).expect("competitors", "fine", "one lock matches");
    // A bridge lists its folder both ways.
    let mut command = home.command(&[]);
    command.current_dir(&link).env("PWD", &link);
    let _bridge = Bridge::spawn(command, home.path());
    let report = home.examine_in(&link);
    assert!(report.is_well, "{:?}", report.faults());
}

#[test]
fn folders_that_cannot_be_used_are_found() {
    let home = Home::new();
    fs::write(home.path().join(".claude"), "").unwrap();
    fs::create_dir_all(home.path().join(".local/state")).unwrap();
    fs::write(home.path().join(".local/state/footbridge"), "").unwrap();
    home.examine().expect("lock-folder", "fault", "is no folder").expect(
        "state-folder",
        "fault",
        "is no folder",
    );
    let home = Home::new();
    symlink("nowhere", home.path().join(".claude")).unwrap();
    home.examine().expect("lock-folder", "fault", "cannot be made");
    let home = Home::new();
    home.examine().expect("lock-folder", "note", "is missing");
    home.examine_with(&[("HOME", "")])
        .expect("config-dir", "fault", "neither CLAUDE_CONFIG_DIR nor HOME")
        .expect("state-folder", "warning", "no home folder");
    home.examine_with(&[("CLAUDE_CONFIG_DIR", "here")]).expect(
        "config-dir",
        "fault",
        "relative path",
    );
    let bridge = home.start(&[]);
    fs::set_permissions(home.lock_folder(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(home.state_folder(), fs::Permissions::from_mode(0o750)).unwrap();
    let report = home.examine();
    assert!(report.is_well);
    report.expect("lock-folder-mode", "warning", "mode 0755").expect(
        "state-folder",
        "warning",
        "mode 0750",
    );
    drop(bridge);
}

/// As root the other user can be played; as anybody else the first process is another's.
#[test]
fn another_users_processes_and_files_are_found() {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    let home = Home::new();
    let (_listener, port) = listening();
    let lock = home.write_lock(port, Some(1), &home.work());
    if fs::metadata(home.path()).unwrap().uid() != 0 {
        home.examine().expect("foreign-pid", "fault", "another user's");
        return;
    }
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let program = home.path().join("footbridge");
    fs::copy(env!("CARGO_BIN_EXE_footbridge"), &program).unwrap();
    for path in [home.path(), &home.path().join(".claude"), &home.lock_folder(), &lock, &program] {
        open(path);
    }
    let mut command = Command::new(program);
    command
        .args(["doctor", "--json"])
        .current_dir(home.workspace())
        .env_clear()
        .env("HOME", home.path())
        .uid(65_534)
        .gid(65_534);
    Report::of(&ended(command))
        .expect("foreign-pid", "fault", "another user's")
        .expect("lock-owner", "warning", "you are user 65534")
        .expect("user", "warning", "belongs to user 0")
        .expect("lock-folder", "fault", "cannot be written")
        .expect("lock-folder-mode", "warning", "belongs to user 0")
        .expect("state-folder", "fault", "cannot be made");
}

#[test]
fn a_config_folder_of_its_own_is_found() {
    let home = Home::new();
    let other = home.path().join("other");
    fs::create_dir(&other).unwrap();
    let mut bridge = home.start(&[]);
    let report = home.examine_with(&[("CLAUDE_CONFIG_DIR", other.to_str().unwrap())]);
    assert!(report.is_well, "{:?}", report.faults());
    report.expect("config-dir", "note", "found all the same");
    bridge.stop();
    let mut command = home.command(&[]);
    command.env("CLAUDE_CONFIG_DIR", &other);
    let _bridge = Bridge::spawn(command, home.path());
    let words = format!("lock is {}/ide/", other.display());
    home.examine().expect("config-dir", "fault", &words);
    let same = home.examine_with(&[("CLAUDE_CONFIG_DIR", other.to_str().unwrap())]);
    assert!(same.is_well, "{:?}", same.faults());
}

#[test]
fn what_is_remembered_and_of_no_use_is_found() {
    let home = Home::new();
    let mut bridge = home.start(&[]);
    bridge.stop();
    let token = home.state_folder().join("token");
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    home.examine().expect("token-file", "warning", "others may read").expect(
        "last-port",
        "fine",
        &format!("port {}, used last time, is free", bridge.port),
    );
    fs::write(&token, "x").unwrap();
    home.examine().expect("token-file", "warning", "holds no token");
    fs::remove_file(&token).unwrap();
    fs::create_dir(&token).unwrap();
    home.examine().expect("token-file", "warning", "cannot be read");
    let _listener = TcpListener::bind(("127.0.0.1", bridge.port)).unwrap();
    let words = format!("port {}, used last time, is taken by another program", bridge.port);
    home.examine().expect("last-port", "warning", &words);
}

#[test]
fn variables_that_keep_claude_code_away_are_found() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let (_listener, other) = listening();
    home.write_lock(other, me(), "/elsewhere");
    let port = bridge.port.to_string();
    let (_stream, stale) = refusing();
    let (stale, other) = (stale.to_string(), other.to_string());
    // Name, value, the check that objects, how, and in which words.
    for (name, value, check, severity, words) in [
        ("CLAUDE_CODE_SSE_PORT", stale.as_str(), "told-port", "warning", "where no lock is"),
        ("CLAUDE_CODE_SSE_PORT", &other, "told-port", "fault", "not to the bridge of this folder"),
        ("CLAUDE_CODE_SSE_PORT", &port, "told-port", "fine", "names the bridge"),
        ("CLAUDE_CODE_SSE_PORT", &port, "trigger", "fine", "CLAUDE_CODE_SSE_PORT"),
        ("CLAUDE_CODE_AUTO_CONNECT_IDE", "false", "auto-connect", "fault", "never connects"),
        ("CLAUDE_CODE_AUTO_CONNECT_IDE", "true", "trigger", "fine", "by itself"),
        ("CLAUDE_CODE_IDE_HOST_OVERRIDE", "far", "host", "fault", "does not listen"),
        ("CLAUDE_CODE_IDE_HOST_OVERRIDE", "localhost", "host", "note", "\"localhost\""),
        ("CLAUDE_CODE_IDE_SKIP_VALID_CHECK", "true", "valid-check", "warning", "every lock"),
        ("CLAUDE_CODE_IDE_SKIP_VALID_CHECK", "true", "competitors", "fault", "2 locks match"),
        ("http_proxy", "http://127.0.0.1:1", "proxy", "warning", "http_proxy set"),
        ("ALL_PROXY", "socks5://127.0.0.1:1", "proxy", "warning", "ALL_PROXY set"),
        ("MCP_TIMEOUT", "5", "timeout", "warning", "5 ms"),
        ("MCP_TOOL_TIMEOUT", "5000", "timeout", "note", "\"5000\""),
        ("container", "podman", "container", "note", "container"),
    ] {
        let report = home.examine_with(&[(name, value)]);
        report.expect(check, severity, words);
        assert_eq!(report.is_well, report.faults().is_empty());
    }
    let direct = [("http_proxy", "http://127.0.0.1:1"), ("no_proxy", "corp,127.0.0.1")];
    home.examine_with(&direct).expect("proxy", "fine", "127.0.0.1");
    #[cfg(target_os = "linux")]
    home.examine_with(&[("TERM_PROGRAM", "vscode")]).expect(
        "terminal",
        "fault",
        "TERM_PROGRAM=vscode",
    );
    home.examine_with(&[("TERM_PROGRAM", "vscode"), ("CLAUDE_CODE_SSE_PORT", &port)]).expect(
        "terminal",
        "fine",
        "not asked",
    );
    drop(bridge);
    home.examine_with(&[("CLAUDE_CODE_SSE_PORT", &stale)]).expect("told-port", "fault", "no lock");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_started_by_the_locks_process_is_let_be() {
    let home = Home::new();
    let (_listener, port) = listening();
    home.write_lock(port, me(), &home.work());
    home.examine_with(&[("TERM_PROGRAM", "vscode")]).expect(
        "terminal",
        "fine",
        "started by the lock's process",
    );
}

#[test]
fn claude_code_and_its_settings_are_looked_at() {
    let home = Home::new();
    let programs = home.path().join("bin");
    fs::create_dir(&programs).unwrap();
    let path = [("PATH", programs.to_str().unwrap())];
    home.examine_with(&path)
        .expect("claude", "note", "no claude on PATH")
        .expect("trigger", "note", "a plain claude")
        .expect("diff-tool", "fine", "");
    // It is not run.
    let program = programs.join("claude");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", home.path().join("ran").display()))
        .unwrap();
    home.examine_with(&path).expect("claude", "note", "no claude on PATH");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let settings = "{\"autoConnectIde\": true, \"diffTool\": \"terminal\"}";
    fs::write(home.path().join(".claude.json"), settings).unwrap();
    home.examine_with(&path)
        .expect("claude", "fine", "on PATH")
        .expect("trigger", "fine", "autoConnectIde")
        .expect("diff-tool", "note", ".claude.json");
    assert!(!home.path().join("ran").exists());
}

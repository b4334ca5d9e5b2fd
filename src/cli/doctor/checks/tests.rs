use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use super::*;
use crate::cli::doctor::facts::tests::{bridge, healthy, lock};
use crate::cli::doctor::facts::{
    Access, Agent, Answer, Door, Fields, Figures, Lock, LockFolder, LockText, Process, Reach,
    Spelling, TokenFile,
};

type Change = fn(&mut Facts);

fn finding(name: &str, facts: &Facts) -> Finding {
    let check = CHECKS.iter().find(|check| check.name == name).expect("a check of that name");
    (check.look)(facts)
}

/// Changes a healthy machine; the check of that name must object, in these words, and nobody else
/// may see a fault but those in `also`.
#[track_caller]
fn check_also(name: &str, change: Change, severity: Severity, words: &str, also: &[&str]) {
    let mut facts = healthy();
    change(&mut facts);
    let found = finding(name, &facts);
    assert_eq!(found.severity, severity, "{name}: {found:?}");
    let remedy = found.remedy.as_deref().unwrap_or_default();
    assert_eq!(remedy.is_empty(), severity == Severity::Fine, "{name}: {found:?}");
    assert!(found.text.contains(words), "{name}: {words:?} is not in {found:?}");
    assert!(!found.text.contains('\n') && !remedy.contains('\n'), "{name}: {found:?}");
    let findings = run(&facts);
    let faults = findings.iter().filter(|(_, finding)| finding.is_fault());
    let others: Vec<&str> =
        faults.map(|(check, _)| check.name).filter(|one| *one != name).collect();
    assert_eq!(others, also, "{name}: {findings:#?}");
}

#[track_caller]
fn check(name: &str, change: Change, severity: Severity, words: &str) {
    check_also(name, change, severity, words, &[]);
}

fn figures(facts: &mut Facts) -> &mut Figures {
    match &mut facts.bridges[0].answer {
        Answer::Figures(figures) => figures,
        other => panic!("{other:?}"),
    }
}

fn fields(lock: &mut Lock) -> &mut Fields {
    match &mut lock.text {
        LockText::Fields(fields) => fields,
        other => panic!("{other:?}"),
    }
}

/// Another program's lock.
fn foreign(port: u16) -> Lock {
    let mut lock = Lock { reach: Reach::Elsewhere, process: Process::Alive(900), ..lock(port) };
    *fields(&mut lock) = Fields {
        ide_name: Some("Code".to_owned()),
        transport: Some("ws".to_owned()),
        folders: vec!["/v".to_owned()],
        is_ours: false,
    };
    lock
}

fn set(facts: &mut Facts, name: &'static str, value: &str) {
    facts.variables.insert(name, value.to_owned());
}

fn no_bridge(facts: &mut Facts) {
    facts.bridges.clear();
    facts.locks.clear();
}

use Severity::{Fault, Fine, Note, Warning};

#[test]
fn a_healthy_machine_has_one_note_about_print_mode() {
    let findings = run(&healthy());
    let told: Vec<&str> = findings
        .iter()
        .filter(|(_, finding)| finding.severity != Fine)
        .map(|(check, _)| check.name)
        .collect();
    assert_eq!(told, ["print-mode"], "{findings:#?}");
    assert_eq!(finding("print-mode", &healthy()).severity, Note);
}

#[test]
fn names_differ_and_help_has_them_all() {
    let names: BTreeSet<&str> = CHECKS.iter().map(|check| check.name).collect();
    assert_eq!(names.len(), CHECKS.len());
    let help = help_text();
    assert!(CHECKS.iter().all(|check| help.contains(check.name)), "{help}");
    assert!(help.lines().all(|line| line.len() <= 80), "{help}");
    assert_eq!(markdown_table().lines().count(), CHECKS.len() + 2);
}

#[test]
fn without_a_bridge_for_the_folder_it_is_said_where_others_are() {
    check("bridge", no_bridge, Fault, "none runs");
    check(
        "bridge",
        |facts| {
            no_bridge(facts);
            facts.bridges = vec![bridge(1, "/w/a/b")];
        },
        Fault,
        "the one on port 1 serves /w/a/b, which is below it",
    );
    check(
        "bridge",
        |facts| {
            no_bridge(facts);
            facts.bridges = vec![bridge(1, "/w/ab"), bridge(2, "/v")];
        },
        Fault,
        "those that run serve /w/ab (port 1), /v (port 2)",
    );
    check("bridge", |facts| facts.bridges.clear(), Warning, "40000.lock, but the verbs do not");
    check("bridge", |_| {}, Fine, "on port 40000");
}

#[test]
fn a_bridge_that_does_not_answer_is_found() {
    check(
        "answer",
        |facts| {
            facts.bridges[0].is_stopped = true;
            facts.bridges[0].answer = Answer::NotAsked;
            facts.bridges[0].door = Door::NotTried;
        },
        Fault,
        "was stopped, as by Ctrl-Z: process 700",
    );
    check(
        "answer",
        |facts| {
            facts.bridges[0].answer = Answer::Silence("it hung up".to_owned());
            facts.bridges[0].door = Door::NotTried;
        },
        Fault,
        "port 40000 does not answer: it hung up",
    );
    let full: Change = |facts| {
        facts.bridges[0].answer = Answer::Full;
        facts.bridges[0].door = Door::NotTried;
    };
    check("answer", full, Fault, "as many connections as it may have");
    check("version", |facts| facts.bridges[0].version = "1.2.2".to_owned(), Warning, "\"1.2.2\"");
    let elsewhere: Change = |facts| facts.bridges[0].bind = IpAddr::from([192, 168, 0, 1]);
    check("address", elsewhere, Fault, "listens on 192.168.0.1");
    let wide: Change = |facts| facts.bridges[0].bind = Ipv4Addr::UNSPECIFIED.into();
    check("address", wide, Fine, "127.0.0.1");
}

#[test]
fn a_lock_that_is_missing_or_out_of_sight_is_found() {
    check(
        "lock-file",
        |facts| {
            figures(facts).lock = None;
            facts.locks.clear();
        },
        Fault,
        "--no-lock-file",
    );
    check(
        "lock-file",
        |facts| {
            figures(facts).is_lock_there = false;
            facts.locks.clear();
        },
        Fault,
        "40000.lock is gone",
    );
    check(
        "config-dir",
        |facts| {
            figures(facts).lock = Some(PathBuf::from("/c/ide/40000.lock"));
            figures(facts).is_lock_in_sight = false;
            facts.locks.clear();
        },
        Fault,
        "is /c/ide/40000.lock, but Claude Code here looks in /h/.claude/ide",
    );
    check(
        "config-dir",
        |facts| {
            let first = LockFolder { path: "/c/ide".into(), ..facts.lock_folders[0].clone() };
            facts.lock_folders.insert(0, first);
            set(facts, "CLAUDE_CONFIG_DIR", "/c");
        },
        Note,
        "was not for the bridge; its lock in /h/.claude/ide",
    );
    check(
        "config-dir",
        |facts| {
            facts.lock_folder_error = Some("CLAUDE_CONFIG_DIR is a relative path".to_owned());
        },
        Fault,
        "relative path",
    );
}

#[test]
fn a_door_that_stays_shut_is_found() {
    check("door", |facts| facts.bridges[0].door = Door::Refused(401), Fault, "the token");
    check("door", |facts| facts.bridges[0].door = Door::Refused(503), Fault, "connections");
    check("door", |facts| facts.bridges[0].door = Door::Refused(400), Fault, "HTTP 400");
    let failed: Change = |facts| facts.bridges[0].door = Door::Failed("no proof".to_owned());
    check("door", failed, Fault, "no proof");
    check(
        "agents",
        |facts| {
            let agent =
                |id: &str, is_paused| Agent { id: id.to_owned(), is_paused, queued_bytes: 4097 };
            figures(facts).agents = vec![agent("client_1", false), agent("client_2", true)];
        },
        Warning,
        "not reading: client_2 (5 KiB wait)",
    );
}

#[test]
fn of_two_locks_that_match_both_are_named_with_whose_they_are() {
    let two: Change = |facts| {
        facts.locks.push(Lock { reach: Reach::Serves, ..foreign(50_000) });
    };
    check(
        "competitors",
        two,
        Fault,
        "footbridge (port 40000, process 700); \"Code\" (port 50000, \
        process 900); Claude Code connects to none",
    );
    check(
        "competitors",
        |facts| {
            facts.locks.push(Lock { reach: Reach::Serves, ..foreign(50_000) });
            set(facts, "CLAUDE_CODE_SSE_PORT", "40000");
        },
        Note,
        "CLAUDE_CODE_SSE_PORT chooses footbridge (port 40000",
    );
    check(
        "competitors",
        |facts| {
            facts.locks = vec![Lock { reach: Reach::Serves, ..foreign(50_000) }];
        },
        Warning,
        "another program: \"Code\" (port 50000",
    );
    // One that Claude Code clears away does not count, nor does one for another folder.
    check(
        "competitors",
        |facts| {
            let process = Process::Gone(9);
            facts.locks.push(Lock {
                reach: Reach::Serves,
                process,
                is_answering: false,
                ..foreign(50_000)
            });
            facts.locks.push(foreign(50_001));
        },
        Fine,
        "one lock matches",
    );
    // Unless folders are not looked at.
    check(
        "competitors",
        |facts| {
            facts.locks.push(foreign(50_000));
            set(facts, "CLAUDE_CODE_IDE_SKIP_VALID_CHECK", "true");
        },
        Fault,
        "2 locks match",
    );
}

#[test]
fn another_spelling_or_a_folder_below_is_found() {
    for (how, words) in [
        (Spelling::Link, "a symbolic link"),
        (Spelling::Case, "large and small"),
        (Spelling::Form, "doubled separators"),
    ] {
        let mut facts = healthy();
        facts.locks[0].reach = Reach::Misspelled("/link".to_owned(), how);
        let found = finding("spelling", &facts);
        assert!(found.is_fault() && found.text.contains(words), "{found:?}");
        assert!(found.text.contains("serves /link") && found.text.contains("/w/a"), "{found:?}");
    }
    check(
        "spelling",
        |facts| {
            let reach = Reach::Misspelled("/link".to_owned(), Spelling::Link);
            facts.locks.push(Lock { reach, ..foreign(50_000) });
        },
        Note,
        "\"Code\" (port 50000, process 900) serves /link",
    );
    check(
        "below",
        |facts| {
            facts.locks.push(Lock { reach: Reach::Below("/w/a/b".to_owned()), ..foreign(50_000) });
        },
        Note,
        "serves /w/a/b, below this folder",
    );
}

#[test]
fn a_lock_that_claude_code_deletes_is_found() {
    let gone: Change = |facts| facts.locks[0].process = Process::Gone(9);
    check("dead-pid", gone, Fault, "40000.lock; Claude Code deletes it");
    let forbidden: Change = |facts| facts.locks[0].process = Process::Forbidden(9);
    check("foreign-pid", forbidden, Fault, "another user's, which Claude Code takes for dead");
    check(
        "dead-pid",
        |facts| {
            let process = Process::Gone(9);
            facts.locks.push(Lock { process, is_answering: false, ..foreign(50_000) });
        },
        Note,
        "/h/.claude/ide/50000.lock",
    );
    check(
        "dead-pid",
        |facts| {
            let (process, reach) = (Process::Gone(9), Reach::Elsewhere);
            facts.locks.push(Lock { process, reach, is_answering: false, ..lock(50_000) });
        },
        Note,
        "50000.lock",
    );
    check(
        "foreign-pid",
        |facts| {
            facts.locks.push(Lock { process: Process::Forbidden(1), ..foreign(50_000) });
        },
        Note,
        "50000.lock",
    );
    // A bridge of another namespace of processes.
    check(
        "dead-pid",
        |facts| {
            facts.locks.push(Lock { process: Process::Gone(9), ..lock(50_000) });
        },
        Fault,
        "someone answers on its port all the same",
    );
    check("no-pid", |facts| facts.locks[0].process = Process::NotNamed, Note, "--no-pid");
}

#[test]
fn a_lock_whose_port_refuses_is_found() {
    check("port", |facts| facts.locks[0].is_answering = false, Fault, "the bridge's lock");
    check_also(
        "port",
        |facts| {
            let reach = Reach::Serves;
            facts.locks.push(Lock { is_answering: false, reach, ..foreign(50_000) });
        },
        Fault,
        "\"Code\" (port 50000, process 900) matches this folder",
        &["competitors"],
    );
    check(
        "port",
        |facts| {
            facts.locks.push(Lock { is_answering: false, ..foreign(50_000) });
        },
        Note,
        "50000.lock",
    );
}

#[test]
fn a_lock_that_is_not_as_it_should_be_is_found() {
    let old: Change = |facts| fields(&mut facts.locks[0]).transport = None;
    check("transport", old, Fault, "another transport");
    check(
        "transport",
        |facts| {
            let mut lock = foreign(50_000);
            fields(&mut lock).transport = Some("sse".to_owned());
            facts.locks.push(lock);
        },
        Warning,
        "no transport ws in /h/.claude/ide/50000.lock",
    );
    check("json", |facts| facts.locks[0].text = LockText::Lines, Fault, "the bridge's lock");
    let lines: Change = |facts| facts.locks.push(Lock { text: LockText::Lines, ..foreign(50_000) });
    check("json", lines, Warning, "50000.lock");
    let unread = || LockText::Unreadable("denied".to_owned());
    let mut facts = healthy();
    facts.locks.push(Lock { text: unread(), ..foreign(50_000) });
    let found = finding("readable", &facts);
    assert!(found.severity == Warning && found.text.ends_with("50000.lock: denied"), "{found:?}");
    check(
        "readable",
        |facts| {
            facts.locks[0].text = LockText::Unreadable("denied".to_owned());
        },
        Fault,
        "40000.lock: denied",
    );
    check(
        "lock-name",
        |facts| {
            facts.locks.push(Lock { port: None, path: "/h/x.lock".into(), ..foreign(1) });
        },
        Note,
        "/h/x.lock",
    );
    check("lock-owner", |facts| facts.locks[0].owner = Some(0), Warning, "you are user 1000");
}

#[test]
fn a_folder_that_cannot_be_used_is_found() {
    let unusable = [
        (Access::NotAFolder, "is no folder"),
        (Access::Hidden("denied".to_owned()), "denied"),
        (Access::Missing { can_be_made: false }, "cannot be made"),
        (Access::There { is_writable: false, owner_and_mode: None }, "cannot be written"),
    ];
    for (access, words) in unusable {
        let mut facts = healthy();
        no_bridge(&mut facts);
        facts.lock_folders[0].access = access.clone();
        facts.state.access = access;
        for name in ["lock-folder", "state-folder"] {
            let found = finding(name, &facts);
            assert!(found.is_fault() && found.text.contains(words), "{found:?}");
        }
    }
    check_also(
        "lock-folder",
        |facts| {
            no_bridge(facts);
            facts.lock_folders[0].access = Access::Missing { can_be_made: true };
        },
        Note,
        "is missing",
        &["bridge"],
    );
    check_also(
        "state-folder",
        |facts| {
            no_bridge(facts);
            facts.state.access = Access::Missing { can_be_made: true };
        },
        Fine,
        "state folder",
        &["bridge"],
    );
    check("state-folder", |facts| facts.state.folder = None, Warning, "no home folder");
}

#[test]
fn a_folder_of_others_is_found() {
    let open: Change = |facts| {
        facts.lock_folders[0].access =
            Access::There { is_writable: true, owner_and_mode: Some((1000, 0o755)) };
    };
    check("lock-folder-mode", open, Warning, "mode 0755");
    let others: Change = |facts| {
        facts.lock_folders[0].access =
            Access::There { is_writable: true, owner_and_mode: Some((0, 0o700)) };
    };
    check("lock-folder-mode", others, Warning, "belongs to user 0");
    let state: Change = |facts| {
        facts.state.access =
            Access::There { is_writable: true, owner_and_mode: Some((1000, 0o750)) };
    };
    check("state-folder", state, Warning, "mode 0750");
    check("user", |facts| facts.user = Some(0), Warning, "you are user 0");
}

#[test]
fn what_is_remembered_and_of_no_use_is_found() {
    check("token-file", |facts| facts.state.token = TokenFile::Exposed, Warning, "others may read");
    check("token-file", |facts| facts.state.token = TokenFile::Junk, Warning, "holds no token");
    check(
        "token-file",
        |facts| {
            facts.state.token = TokenFile::Unreadable("denied".to_owned());
        },
        Warning,
        "/h/state/token cannot be read: denied",
    );
    check("token-file", |facts| facts.state.token = TokenFile::Missing, Fine, "yet");
    check_also(
        "last-port",
        |facts| {
            no_bridge(facts);
            (facts.state.last_port, facts.state.is_last_port_taken) = (Some(41_000), true);
        },
        Warning,
        "port 41000, used last time, is taken by another program",
        &["bridge"],
    );
    check_also(
        "last-port",
        |facts| {
            no_bridge(facts);
            facts.bridges = vec![bridge(41_000, "/v")];
            (facts.state.last_port, facts.state.is_last_port_taken) = (Some(41_000), true);
        },
        Warning,
        "taken by the bridge of process 700",
        &["bridge"],
    );
    check_also(
        "last-port",
        |facts| {
            no_bridge(facts);
            facts.state.last_port = Some(41_000);
        },
        Fine,
        "is free",
        &["bridge"],
    );
}

#[test]
fn a_container_and_linux_under_windows_are_told() {
    let container: Change = |facts| facts.machine.container = Some("/.dockerenv".to_owned());
    check("container", container, Note, "a container (/.dockerenv)");
    check("wsl", |facts| facts.machine.is_wsl = true, Note, "Linux under Windows");
}

#[test]
fn a_port_from_an_old_terminal_is_found() {
    let stale: Change = |facts| set(facts, "CLAUDE_CODE_SSE_PORT", "41000");
    check("told-port", stale, Warning, "\"41000\", where no lock is");
    check("told-port", |facts| set(facts, "CLAUDE_CODE_SSE_PORT", "x"), Warning, "where no lock");
    check_also(
        "told-port",
        |facts| {
            no_bridge(facts);
            set(facts, "CLAUDE_CODE_SSE_PORT", "41000");
        },
        Fault,
        "left from an editor that is gone",
        &["bridge"],
    );
    check(
        "told-port",
        |facts| {
            facts.locks.push(foreign(50_000));
            set(facts, "CLAUDE_CODE_SSE_PORT", "50000");
        },
        Fault,
        "connects to /h/.claude/ide/50000.lock and not to the bridge",
    );
    check("told-port", |facts| set(facts, "CLAUDE_CODE_SSE_PORT", "40000"), Fine, "names the");
}

#[test]
fn an_attachment_that_is_switched_off_or_asked_of_nobody_is_found() {
    let off: Change = |facts| set(facts, "CLAUDE_CODE_AUTO_CONNECT_IDE", "false");
    check("auto-connect", off, Fault, "never connects");
    let plain: Change = |facts| facts.settings.is_auto_connecting = false;
    check("trigger", plain, Note, "a plain claude");
    check(
        "trigger",
        |facts| {
            facts.settings.is_auto_connecting = false;
            set(facts, "CLAUDE_CODE_AUTO_CONNECT_IDE", "true");
        },
        Fine,
        "CLAUDE_CODE_AUTO_CONNECT_IDE",
    );
    check(
        "trigger",
        |facts| {
            facts.settings.is_auto_connecting = false;
            set(facts, "CLAUDE_CODE_SSE_PORT", "40000");
        },
        Fine,
        "CLAUDE_CODE_SSE_PORT",
    );
    check("claude", |facts| facts.machine.has_claude = false, Note, "no claude on PATH");
    let terminal: Change = |facts| facts.settings.is_diff_in_terminal = true;
    check("diff-tool", terminal, Note, "in /h/.claude.json");
}

#[test]
fn a_terminal_of_an_editor_wants_the_lock_of_its_editor() {
    let code: Change = |facts| set(facts, "TERM_PROGRAM", "vscode");
    check("terminal", code, Fault, "TERM_PROGRAM=vscode without CLAUDE_CODE_SSE_PORT");
    let forced: Change = |facts| set(facts, "FORCE_CODE_TERMINAL", "1");
    check("terminal", forced, Fault, "FORCE_CODE_TERMINAL");
    check("terminal", |facts| set(facts, "TERM_PROGRAM", "tmux"), Fine, "not asked");
    check(
        "terminal",
        |facts| {
            set(facts, "TERM_PROGRAM", "vscode");
            facts.machine.ancestors.clear();
        },
        Warning,
        "started this terminal",
    );
    check(
        "terminal",
        |facts| {
            set(facts, "TERM_PROGRAM", "vscode");
            facts.machine.ancestors.push(700);
        },
        Fine,
        "started by the lock's process",
    );
    check(
        "terminal",
        |facts| {
            set(facts, "TERM_PROGRAM", "vscode");
            set(facts, "CLAUDE_CODE_SSE_PORT", "40000");
        },
        Fine,
        "not asked",
    );
}

#[test]
fn variables_that_lead_elsewhere_are_found() {
    let name = "CLAUDE_CODE_IDE_HOST_OVERRIDE";
    assert!(facts_with(name, "box").is_fault());
    assert_eq!(facts_with(name, "localhost").severity, Note);
    check(
        "host",
        |facts| {
            set(facts, "CLAUDE_CODE_IDE_HOST_OVERRIDE", "box");
            facts.bridges[0].bind = Ipv4Addr::UNSPECIFIED.into();
        },
        Warning,
        "connect to \"box\"",
    );
    let all: Change = |facts| set(facts, "CLAUDE_CODE_IDE_SKIP_VALID_CHECK", "true");
    check("valid-check", all, Warning, "every lock matches");
    check(
        "proxy",
        |facts| facts.proxies = vec!["http_proxy", "ALL_PROXY"],
        Warning,
        "http_proxy, ALL_PROXY set",
    );
    check(
        "proxy",
        |facts| {
            facts.proxies = vec!["http_proxy"];
            facts.is_loopback_direct = true;
        },
        Fine,
        "127.0.0.1",
    );
    check("timeout", |facts| set(facts, "MCP_TIMEOUT", "50"), Warning, "50 ms");
    check("timeout", |facts| set(facts, "MCP_TIMEOUT", "30000"), Fine, "no timeout");
    check("timeout", |facts| set(facts, "MCP_TOOL_TIMEOUT", "5000"), Note, "\"5000\"");
}

fn facts_with(name: &'static str, value: &str) -> Finding {
    let mut facts = healthy();
    set(&mut facts, name, value);
    finding("host", &facts)
}

//! Start, the lock file, the second start, and what a restart finds again.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::harness::{Bridge, Home, eventually};

#[test]
fn the_lock_file_says_all_a_client_needs() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let lock = bridge.lock();
    let workspace = home.workspace();
    assert_eq!(lock["pid"], json!(bridge.pid()));
    assert_eq!(lock["workspace"], json!(workspace));
    assert_eq!(lock["workspaceFolders"], json!([workspace]));
    assert_eq!((&lock["transport"], &lock["isBridge"]), (&json!("ws"), &json!(true)));
    assert_eq!(lock["runningInWindows"], json!(false));
    assert_eq!(lock["authToken"].as_str().unwrap().len(), 32);
    assert!(lock["startedAt"].as_u64().unwrap() > 1_600_000_000_000);
    assert!(lock["nonce"].is_string() && lock["footbridge"]["version"].is_string());
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_lock_and_the_token() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let bridge = home.start(&[]);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let lock = bridge.lock_path();
    assert_eq!((mode(&lock), mode(lock.parent().unwrap())), (0o600, 0o700));
    let state = home.path().join(".local/state/footbridge");
    for folder in fs::read_dir(state).unwrap() {
        let folder = folder.unwrap().path();
        assert_eq!(mode(&folder), 0o700);
        for file in fs::read_dir(folder).unwrap() {
            assert_eq!(mode(&file.unwrap().path()), 0o600);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_workspace_behind_a_link_is_listed_in_both_forms() {
    let home = Home::new();
    let link = home.path().join("link");
    std::os::unix::fs::symlink(home.workspace(), &link).unwrap();
    let bridge = home.start(&["--workspace", &format!("{}/", link.display())]);
    let lock = bridge.lock();
    assert_eq!(lock["workspaceFolders"], json!([link, home.workspace()]));
    assert_eq!(lock["workspace"], json!(link));
}

#[test]
fn claude_config_dir_moves_the_lock_and_no_lock_file_leaves_it_out() {
    let home = Home::new();
    let config = home.path().join("conf");
    let mut command = home.command(&[]);
    command.env("CLAUDE_CONFIG_DIR", &config);
    let bridge = Bridge::spawn(command, home.path());
    assert!(config.join(format!("ide/{}.lock", bridge.port)).exists());
    drop(bridge);
    let home = Home::new();
    let _bridge = home.start(&["--no-lock-file"]);
    assert_eq!(home.locks(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_start_that_cannot_write_its_lock_fails_and_names_the_path() {
    let home = Home::new();
    fs::create_dir(home.path().join(".claude")).unwrap();
    fs::write(home.path().join(".claude/ide"), "in the way").unwrap();
    let ended = home.run(&[]);
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains(".claude/ide"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    let mut command = home.command(&[]);
    command.env("CLAUDE_CONFIG_DIR", "relative");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("CLAUDE_CONFIG_DIR"));
}

#[test]
fn a_restart_keeps_port_and_token_even_after_a_kill() {
    let home = Home::new();
    let mut bridge = home.start(&[]);
    let (port, token) = (bridge.port, bridge.token());
    bridge.stop();
    let mut bridge = home.start(&[]);
    assert_eq!((bridge.port, bridge.token()), (port, token.clone()));
    bridge.signal("-KILL");
    bridge.wait();
    let bridge = home.start(&[]);
    assert_eq!((bridge.port, bridge.token()), (port, token));
    assert_eq!(home.locks(), [bridge.lock_path()]);
}

#[test]
fn when_the_remembered_port_is_taken_the_next_start_says_so() {
    let home = Home::new();
    let mut bridge = home.start(&[]);
    let (port, token) = (bridge.port, bridge.token());
    bridge.stop();
    let _squatter = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let mut bridge = home.start(&[]);
    assert_ne!(bridge.port, port);
    assert_eq!(bridge.token(), token);
    bridge.expect_log(&format!("port {port}"));
}

#[test]
fn a_second_start_in_the_workspace_points_at_the_first() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let second = home.run(&[]);
    assert_eq!(second.status.code(), Some(3), "{}", second.stderr);
    assert!(second.stderr.contains(&bridge.port.to_string()), "{}", second.stderr);
    assert_eq!(home.run(&["--join"]).status.code(), Some(0));
    assert_eq!(home.locks(), [bridge.lock_path()]);
}

#[test]
fn locks_of_the_dead_are_cleared_and_those_of_others_are_left_alone() {
    let home = Home::new();
    let mut bridge = home.start(&[]);
    let folder = bridge.lock_path().parent().unwrap().to_owned();
    let ours = fs::read_to_string(bridge.lock_path()).unwrap();
    bridge.stop();
    let listening = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let alive = listening.local_addr().unwrap().port();
    let closed = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let dead = closed.local_addr().unwrap().port();
    drop(closed);
    let lock = |port: u16| folder.join(format!("{port}.lock"));
    fs::write(lock(dead), &ours).unwrap();
    fs::write(lock(alive), &ours).unwrap();
    let foreign = folder.join("1.lock");
    fs::write(&foreign, r#"{"pid":999999,"transport":"ws"}"#).unwrap();
    let mut bridge = home.start(&[]);
    assert!(!lock(dead).exists());
    assert!(lock(alive).exists() && foreign.exists());
    bridge.stop();
    assert!(lock(alive).exists() && foreign.exists());
}

#[test]
fn a_lock_that_went_missing_is_written_again_when_a_client_comes() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let text = fs::read(bridge.lock_path()).unwrap();
    let token = bridge.token();
    let request = bridge.upgrade_request(|line| Some(line.to_owned()));
    fs::remove_file(bridge.lock_path()).unwrap();
    assert!(request.contains(&token));
    let mut stream = bridge.tcp();
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    eventually("the lock is back", || fs::read(bridge.lock_path()).is_ok_and(|now| now == text));
}

#[test]
fn twenty_starts_share_a_range_of_twenty_and_the_next_one_is_told() {
    // A block of 20 ports that are free together, found by trying.
    let first = (20_000..60_000u16)
        .step_by(20)
        .find(|first| {
            (*first..first + 20).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        })
        .unwrap();
    let range = format!("{first}-{}", first + 19);
    let homes: Vec<Home> = (0..20).map(|_| Home::new()).collect();
    let bridges: Vec<Bridge> = homes.iter().map(|home| home.start(&["--port", &range])).collect();
    let ports: BTreeSet<u16> = bridges.iter().map(|bridge| bridge.port).collect();
    assert_eq!(ports, (first..first + 20).collect());
    let ended = Home::new().run(&["--port", &range]);
    assert_eq!(ended.status.code(), Some(1));
    let expected = format!("No free port in {range} (EADDRINUSE)");
    assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
}

#[test]
fn usage_errors_are_one_line_with_exit_code_2() {
    let home = Home::new();
    for (arguments, hint) in [
        (&["serv"][..], "serve"),
        (&["--prot", "1"], "--port"),
        (&["--port", "70000"], "--port"),
        (&["--port", "9-1"], "--port"),
        (&["--ping-interval", "-1"], "--ping-interval"),
        (&["--token", "short"], "token"),
        (&["--workspace", "/no/such/folder"], "/no/such/folder"),
    ] {
        let ended = home.run(arguments);
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(hint), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn settings_come_from_flags_before_environment_before_file() {
    let home = Home::new();
    let file = home.path().join(".config/footbridge/config.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, json!({"ide-name": "from file"}).to_string()).unwrap();
    let name = |bridge: &Bridge| -> Value { bridge.lock()["ideName"].clone() };
    assert_eq!(name(&home.start(&[])), "from file");
    let mut command = home.command(&[]);
    command.env("FOOTBRIDGE_IDE_NAME", "from environment");
    assert_eq!(name(&Bridge::spawn(command, home.path())), "from environment");
    let mut command = home.command(&["--ide-name", "from flag"]);
    command.env("FOOTBRIDGE_IDE_NAME", "from environment");
    assert_eq!(name(&Bridge::spawn(command, home.path())), "from flag");
    fs::write(&file, json!({"ide-nmae": "x"}).to_string()).unwrap();
    let ended = home.run(&[]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(
        ended.stderr.contains("ide-nmae") && ended.stderr.contains("ide-name"),
        "{}",
        ended.stderr
    );
}

#[test]
fn the_token_is_never_logged_even_at_trace() {
    let home = Home::new();
    let mut bridge = home.start(&["--log", "trace"]);
    let token = bridge.token();
    let mut claude = bridge.attach();
    let secret = "contents that must stay private";
    claude.call_for_texts("close_tab", json!({"tab_name": secret}));
    bridge.stop();
    bridge.expect_log("stopp");
    while bridge.poll_log("\0").is_some() {}
    let log = bridge.log.join("\n");
    assert!(log.contains("close_tab"), "{log}");
    assert!(!log.contains(&token) && !log.contains(secret), "{log}");
}

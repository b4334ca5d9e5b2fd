//! What the machine around a bridge does to it: few descriptors, a full pipe, folders that go.
#![cfg(unix)]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::{Bridge, Home, eventually, texts};

/// A bridge started by a shell that runs `before` first and then becomes it.
fn start_after(home: &Home, before: &str, arguments: &[&str]) -> Bridge {
    let bridge = home.command(arguments);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{before} exec \"$0\" \"$@\"")).arg(bridge.get_program());
    shell.args(bridge.get_args()).current_dir(home.workspace()).env_clear();
    shell.envs(bridge.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Bridge::spawn(shell, home.path())
}

#[test]
fn a_bridge_started_by_nohup_outlives_its_terminal() {
    let home = Home::new();
    let mut bridge = start_after(&home, "trap '' HUP;", &[]);
    bridge.signal("-HUP");
    let mut claude = bridge.attach();
    assert_eq!(claude.request("ping", json!({}))["result"], json!({}));
    assert!(bridge.stop().success());
    let mut bridge = start_after(&home, "", &[]);
    bridge.signal("-HUP");
    assert!(bridge.wait().success(), "without it the terminal takes its bridge along");
}

#[test]
fn a_stderr_that_is_full_from_the_start_stops_nothing() {
    let home = Home::new();
    let (_reader, mut writer) = std::io::pipe().unwrap();
    let filling = OwnedFd::from(writer.try_clone().unwrap());
    rustix::io::ioctl_fionbio(&filling, true).unwrap();
    for size in [4096, 1] {
        while writer.write(&vec![b'x'; size]).is_ok() {}
    }
    rustix::io::ioctl_fionbio(&filling, false).unwrap();
    let mut command = home.command(&["--log", "debug"]);
    let mut child = command.stderr(writer).spawn().unwrap();
    let mut first = vec![0; "footbridge listening on 127.0.0.1:10000\n".len()];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    let port = String::from_utf8(first).unwrap().trim().rsplit_once(':').unwrap().1.to_owned();
    let mut stream = std::net::TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.set_read_timeout(Some(crate::harness::DEADLINE)).unwrap();
    stream.write_all(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    child.kill().unwrap();
    child.wait().unwrap();
    read.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn a_path_cannot_move_the_cursor_of_whoever_reads_what_the_bridge_says() {
    let home = Home::new();
    let odd = home.path().join("a\nb\u{1b}[31m\u{202e}c");
    fs::create_dir(&odd).unwrap();
    let mut bridge = home.start(&["--workspace", odd.to_str().unwrap()]);
    let line = bridge.expect_log("serving ");
    assert!(line.ends_with(r"/a\nb\u{1b}[31m\u{202e}c"), "{line:?}");
    assert_eq!(bridge.lock()["workspace"], json!(odd));
    let second = home.run(&["--workspace", odd.to_str().unwrap()]);
    assert_eq!(second.stderr.lines().count(), 1, "{}", second.stderr);
}

#[test]
fn a_lock_folder_that_went_missing_is_made_again_with_the_lock() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let mut bridge = home.start(&[]);
    let request = bridge.upgrade_request(|line| Some(line.to_owned()));
    let text = fs::read(bridge.lock_path()).unwrap();
    fs::remove_dir_all(home.path().join(".claude")).unwrap();
    bridge.tcp().write_all(request.as_bytes()).unwrap();
    let lock = bridge.lock_path();
    eventually("the lock is back", || fs::read(&lock).is_ok_and(|now| now == text));
    let mode = fs::metadata(lock.parent().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    bridge.stop();
    assert_eq!(home.locks(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn only_what_is_certainly_dead_is_cleared_away() {
    let home = Home::new();
    let mut bridge = home.start(&[]);
    let folder = bridge.lock_path().parent().unwrap().to_owned();
    let ours = bridge.lock();
    bridge.stop();
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = unused.local_addr().unwrap().port();
    drop(unused);
    // A sibling whose port only another address answers for.
    let elsewhere = TcpListener::bind("127.0.0.2:0").unwrap();
    let sibling = elsewhere.local_addr().unwrap().port();
    let nonce = ours["nonce"].as_str().unwrap();
    let file = |name: String, change: &dyn Fn(&mut serde_json::Value)| {
        let mut lock = ours.clone();
        change(&mut lock);
        fs::write(folder.join(&name), lock.to_string()).unwrap();
        folder.join(name)
    };
    let now = ours["startedAt"].as_u64().unwrap();
    let other_host = file(format!("{port}.lock"), &|lock| {
        lock["footbridge"]["host"] = json!("a-container");
    });
    let other_host_long_ago = file("3.lock".into(), &|lock| {
        lock["footbridge"]["host"] = json!("a-container");
        lock["startedAt"] = json!(now - 3 * 24 * 60 * 60 * 1000);
    });
    let bound_elsewhere = file(format!("{sibling}.lock"), &|lock| {
        lock["footbridge"]["address"] = json!("127.0.0.2");
    });
    let cut_short = file(format!("{}.{nonce}.tmp", port - 1), &|_| {});
    fs::write(&cut_short, &b"{\"pid\":1,\"works"[..]).unwrap();
    let left_behind = file(format!("{}.{nonce}.tmp", port - 2), &|_| {});
    let foreign = file("5.something.tmp".into(), &|_| {});
    let _bridge = home.start(&[]);
    for (path, stays) in [
        (other_host, true),
        (other_host_long_ago, false),
        (bound_elsewhere, true),
        (cut_short, false),
        (left_behind, false),
        (foreign, true),
    ] {
        assert_eq!(path.exists(), stays, "{}", path.display());
    }
}

#[test]
fn a_lock_with_many_folders_is_taken_away_like_any() {
    let home = Home::new();
    let folders: Vec<String> = (0..200)
        .map(|n| home.path().join(format!("{n}-{}", "x".repeat(240))))
        .map(|path| path.join("y".repeat(240)))
        .map(|path| {
            fs::create_dir_all(&path).unwrap();
            path.to_str().unwrap().to_owned()
        })
        .collect();
    let arguments: Vec<&str> = folders.iter().flat_map(|path| ["--workspace", path]).collect();
    let mut bridge = home.start(&arguments);
    assert!(fs::metadata(bridge.lock_path()).unwrap().len() > 64 << 10);
    bridge.stop();
    assert_eq!(home.locks(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn with_few_descriptors_few_clients_come_in_and_the_log_says_why() {
    let home = Home::new();
    for limit in [64, 20] {
        let mut bridge = start_after(&home, &format!("ulimit -n {limit};"), &[]);
        bridge.expect_log(&format!("this process may have {limit} open files"));
        let mut claude = bridge.attach();
        assert_eq!(claude.request("ping", json!({}))["result"], json!({}));
        bridge.stop();
    }
}

#[test]
fn open_commands_that_never_end_are_bounded_and_forgotten_when_they_end() {
    let home = Home::new();
    let file = home.workspace().join("a.txt");
    fs::write(&file, "text").unwrap();
    // Each waits for the end of a pipe, which the test holds.
    let fifo = home.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let held = fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
    let command = format!("sh -c 'read x < {}' {{file}}", fifo.display());
    let bridge = home.start(&["--open-command", &command]);
    let mut claude = bridge.attach();
    let mut open = || {
        let id = claude.call("openFile", json!({"filePath": file}));
        loop {
            let message = claude.next();
            if message["id"] == json!(id) {
                return message["result"]["isError"] != json!(true);
            }
        }
    };
    let started = (0..100).take_while(|_| open()).count();
    assert_eq!(started, 64);
    drop((fs::OpenOptions::new().write(true).open(&fifo).unwrap(), held));
    eventually("an ended command makes room", open);
}

#[test]
fn a_read_that_was_cancelled_keeps_no_worker_from_others() {
    let home = Home::new();
    let file = home.workspace().join("large.txt");
    fs::write(&file, vec![b'x'; 15 << 20]).unwrap();
    let bridge = home.start(&[]);
    let mut flood = bridge.attach();
    for id in 1000..3000 {
        let params = json!({"name": "openFile", "arguments": {"filePath": file}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        flood.send(&call);
        flood.notify("notifications/cancelled", json!({"requestId": id}));
    }
    flood.request("ping", json!({}));
    let mut claude = bridge.attach();
    let id = claude.call("openFile", json!({"filePath": file, "makeFrontmost": false}));
    let answer = loop {
        let message = claude.next();
        if message["id"] == json!(id) {
            break texts(&message).concat();
        }
    };
    assert!(answer.contains("\"success\":true"), "{answer}");
}

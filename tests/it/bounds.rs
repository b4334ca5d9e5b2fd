//! What one client leaves unread or undone costs bounded memory, and nobody else.

use std::io::{ErrorKind, Read, Write};
use std::time::Instant;

use serde_json::json;

use crate::harness::{DEADLINE, Home};

/// Far above what a bridge needs at rest, far below what it would take without bounds.
#[cfg(target_os = "linux")]
const RESIDENT_BYTES_MAX: usize = 40 << 20;

#[test]
fn pings_without_end_do_not_pile_up_pongs() {
    let home = Home::new();
    let bridge = home.start(&["--ping-interval", "0"]);
    let claude = bridge.attach();
    let stream = claude.socket.get_ref();
    stream.set_nonblocking(true).unwrap();
    let mut ping = vec![0x89, 0x80 | 125, 0, 0, 0, 0];
    ping.resize(ping.len() + 125, b'p');
    let flood = ping.repeat(1000);
    let (mut sent, mut stood_still) = (0, Instant::now());
    while stood_still.elapsed().as_millis() < 300 {
        match (&*stream).write(&flood[sent % ping.len()..]) {
            Ok(taken) => {
                sent += taken;
                stood_still = Instant::now();
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        assert!(sent < 512 << 20, "the bridge takes without end");
    }
    #[cfg(target_os = "linux")]
    assert!(bridge.resident_bytes() < RESIDENT_BYTES_MAX, "{}", bridge.resident_bytes());
    let mut other = bridge.attach();
    assert_eq!(other.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn notifications_that_nobody_reads_do_not_pile_up() {
    let home = Home::new();
    let files = ["one.txt", "two.txt"].map(|name| home.workspace().join(name));
    for file in &files {
        std::fs::write(file, format!("start{}end\n", "x".repeat(500_000))).unwrap();
    }
    let bridge = home.start(&["--ping-interval", "0"]);
    let mut deaf = bridge.attach();
    let mut claude = bridge.attach();
    // What one client opens is told to all: fifty megabytes to one that takes none of it.
    for file in files.iter().cycle().take(100) {
        let id = claude
            .call("openFile", json!({"filePath": file, "startText": "start", "endText": "end"}));
        let (mut is_answered, mut is_told) = (false, false);
        while !(is_answered && is_told) {
            let message = claude.next();
            is_answered |= message["id"] == id;
            is_told |= message["params"]["filePath"] == json!(file);
        }
    }
    #[cfg(target_os = "linux")]
    assert!(bridge.resident_bytes() < RESIDENT_BYTES_MAX, "{}", bridge.resident_bytes());
    // Once it reads, it is told of the last one, whatever it missed on the way.
    let mut told = 0;
    let arguments = json!({"filePath": files[0], "startText": "start"});
    claude.call("openFile", arguments);
    while deaf.next()["params"]["text"] != "start" {
        told += 1;
    }
    assert!((1..50).contains(&told), "{told}");
}

#[test]
fn a_client_that_hangs_up_during_its_upgrade_never_becomes_connected() {
    let home = Home::new();
    let mut bridge = home.start(&["--log", "debug"]);
    let request = bridge.upgrade_request(|line| Some(line.to_owned()));
    for cut in [1, request.len() / 2, request.len() - 1] {
        let mut stream = bridge.tcp();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(&request.as_bytes()[..cut]).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(!rest.starts_with(b"HTTP/1.1 101"), "{rest:?}");
    }
    let mut claude = bridge.attach();
    assert_eq!(claude.request("ping", json!({}))["result"], json!({}));
    bridge.expect_log("client_4 connected");
    let connected = bridge.log.iter().filter(|line| line.contains(" connected")).count();
    assert_eq!(connected, 1, "{:?}", bridge.log);
}

#[test]
fn faults_of_a_client_are_no_errors_of_ours_and_name_the_rule() {
    let home = Home::new();
    let mut bridge = home.start(&["--log", "debug"]);
    let mut wrong = bridge.upgrade();
    wrong.socket.get_mut().write_all(&[0x83, 0x80, 0, 0, 0, 0]).unwrap();
    bridge.expect_log("client_1: Client error: Reserved opcode 0x3");
    let mut lost = bridge.upgrade();
    lost.socket.get_mut().write_all(&[0x81]).unwrap();
    drop(lost);
    bridge.expect_log("client_2 left");
    bridge.stop();
    let ours = [" WARN ", " ERROR "];
    let is_ours = |line: &&String| ours.iter().any(|level| line.contains(level));
    assert_eq!(bridge.log.iter().find(is_ours), None, "{:?}", bridge.log);
}

//! Who is let in, who is not, and what they are told.

use std::io::{Read, Write};

use crate::harness::{DEADLINE, Home, read_head};

#[track_caller]
fn check(answer: &str, status: &str, body: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(answer.contains(body), "{body:?} in {answer}");
    assert!(answer.to_lowercase().contains("connection: close\r\n"), "{answer}");
}

#[test]
fn every_wrong_upgrade_is_answered_and_logged() {
    let home = Home::new();
    let mut bridge = home.start(&[]);
    let prefix = "Bad WebSocket upgrade request: ";
    let replaced = [
        ("Upgrade", "Upgrade: h2c", "400", prefix),
        ("Connection", "Connection: close", "400", prefix),
        ("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8", "400", prefix),
        ("Sec-WebSocket-Key", "Sec-WebSocket-Key: short", "400", prefix),
        ("X-Claude", "X-Claude-Code-Ide-Authorization: not-the-token", "401", prefix),
        ("X-Claude", "X-Other: 1", "401", prefix),
        ("Host", "Host: evil.example", "403", ""),
        ("Host", "Host: 127.0.0.1\r\nOrigin: https://evil.example", "403", ""),
        ("Host", "Host: 127.0.0.1\r\nOrigin: null", "403", ""),
        ("GET", "POST / HTTP/1.1", "404", ""),
        ("GET", "GET / HTTP/1.0", "404", ""),
        ("GET", "GET /nothing HTTP/1.1", "404", ""),
    ];
    for (line, replacement, status, body) in replaced {
        let request = bridge.upgrade_request(|given| {
            Some(if given.starts_with(line) { replacement } else { given }.to_owned())
        });
        let answer = bridge.exchange(request.as_bytes());
        check(&answer, status, body);
        assert!(!answer.contains("not-the-token"), "{answer}");
        bridge.log.clear();
        assert!(bridge.expect_log("Rejected client_").contains("WARN"));
    }
    let version = bridge.upgrade_request(|line| Some(line.replace("Version: 13", "Version: 14")));
    assert!(bridge.exchange(version.as_bytes()).contains("Sec-WebSocket-Version: 13\r\n"));
}

#[test]
fn a_wrong_method_names_the_right_ones_and_ping_answers() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let answer = bridge.exchange(b"DELETE /ping HTTP/1.1\r\nHost: localhost\r\n\r\n");
    check(&answer, "405", "");
    assert!(answer.contains("Allow: GET"), "{answer}");
    let answer = bridge.exchange(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n");
    check(&answer, "200", &format!(r#"{{"ok":true,"v":"{}"}}"#, env!("CARGO_PKG_VERSION")));
}

#[test]
fn frames_sent_right_behind_the_request_are_kept_for_after_the_101() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut stream = bridge.tcp();
    let mut bytes = bridge.upgrade_request(|line| Some(line.to_owned())).into_bytes();
    bytes.extend_from_slice(b"\x89\x82\0\0\0\0hi");
    stream.write_all(&bytes).unwrap();
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 101 "));
    let mut pong = [0; 4];
    stream.read_exact(&mut pong).unwrap();
    assert_eq!(&pong, b"\x8a\x02hi");
}

#[test]
fn a_request_in_single_bytes_is_one_request() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut stream = bridge.tcp();
    stream.set_nodelay(true).unwrap();
    for byte in bridge.upgrade_request(|line| Some(line.to_owned())).bytes() {
        stream.write_all(&[byte]).unwrap();
    }
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 101 "));
}

#[test]
fn an_endless_head_is_refused_at_its_cap() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let head = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    check(&bridge.exchange(head.as_bytes()), "431", "");
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: 1\r\n".repeat(101));
    check(&bridge.exchange(many.as_bytes()), "431", "");
}

#[test]
fn the_oldest_of_too_many_silent_connections_goes_and_a_real_client_still_comes_in() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut silent: Vec<_> = (0..129).map(|_| bridge.tcp()).collect();
    let mut claude = bridge.attach();
    assert_eq!(claude.request("ping", serde_json::json!({}))["result"], serde_json::json!({}));
    let mut answer = Vec::new();
    silent[0].set_read_timeout(Some(DEADLINE)).unwrap();
    silent[0].read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "), "{answer:?}");
}

#[test]
fn whoever_was_turned_away_and_lingers_takes_no_place() {
    let home = Home::new();
    let bridge = home.start(&["--max-connections", "4"]);
    let first = bridge.attach();
    let mut lingering = Vec::new();
    for _ in 0..20 {
        let mut stream = bridge.tcp();
        stream.write_all(b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 404 "));
        lingering.push(stream);
    }
    let clients = [bridge.attach(), bridge.attach(), bridge.attach()];
    check(&bridge.exchange(b""), "503", "");
    check(&bridge.exchange(b""), "503", "");
    drop((first, clients, lingering));
}

#[test]
fn beyond_the_cap_of_clients_the_next_is_told_503() {
    let home = Home::new();
    let bridge = home.start(&["--max-connections", "2"]);
    let _clients = [bridge.attach(), bridge.attach()];
    check(&bridge.exchange(b""), "503", "");
}

#[test]
fn the_bridge_is_reached_by_loopback_only_and_without_a_token_when_told_so() {
    let home = Home::new();
    let mut bridge = home.start(&["--no-auth"]);
    bridge.expect_log("--no-auth");
    assert!(bridge.lock()["authToken"].is_null());
    let ended = home.run(&["--no-auth", "--bind", "0.0.0.0", "--workspace", "/"]);
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
    let ended = home.run(&["--bind", "0.0.0.0", "--workspace", "/"]);
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
}

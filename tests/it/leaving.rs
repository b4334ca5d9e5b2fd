//! Ways a client goes, and what the last bytes are.

use std::io::{Read, Write};
use std::net::Shutdown;

use serde_json::json;

use crate::harness::{Home, eventually};

#[track_caller]
fn check_violation(wire: &[u8], code: u16, reason: &str) {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    // A request first: its answer must still arrive before the Close.
    let asked = claude.ask("tools/list", json!({}));
    claude.socket.get_mut().write_all(wire).unwrap();
    assert_eq!(claude.next()["id"], asked);
    assert_eq!(claude.close_frame(), Some((code, reason.to_owned())), "{wire:x?}");
    let mut rest = Vec::new();
    claude.socket.get_mut().read_to_end(&mut rest).expect("EOF, not a reset");
    assert_eq!(rest, b"");
}

#[test]
fn each_violation_is_named_in_the_close_frame() {
    const MASK: [u8; 4] = [0; 4];
    let frame = |first: u8, second: u8, rest: &[u8]| [&[first, second], &MASK[..], rest].concat();
    check_violation(&frame(0xc1, 0x81, b"x"), 1002, "Protocol error");
    check_violation(&frame(0x83, 0x81, b"x"), 1002, "Protocol error");
    check_violation(&frame(0x80, 0x81, b"x"), 1002, "Protocol error");
    check_violation(&frame(0x88, 0x81, b"x"), 1002, "Protocol error");
    check_violation(&frame(0x82, 0x81, b"x"), 1003, "Unsupported data");
    check_violation(&frame(0x81, 0x81, b"\xff"), 1007, "Invalid frame payload data");
    let huge = [&[0x81, 0xff][..], &(101u64 << 20).to_be_bytes()].concat();
    check_violation(&huge, 1009, "Message too big");
}

#[test]
fn a_close_reaches_a_client_that_goes_on_sending() {
    let home = Home::new();
    let bridge = home.start(&[]);
    for _ in 0..100 {
        let mut claude = bridge.upgrade();
        let mut wire = vec![0x83, 0x80, 0, 0, 0, 0];
        wire.resize(256 << 10, b'x');
        claude.socket.get_mut().write_all(&wire).unwrap();
        assert_eq!(claude.close_frame().map(|(code, _)| code), Some(1002));
    }
}

#[test]
fn a_close_frame_is_answered_with_its_code_and_nothing_behind_it_runs() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    let mut wire = b"\x88\x82\0\0\0\0\x0f\xa1".to_vec();
    wire.extend_from_slice(b"\x89\x82\0\0\0\0hi");
    claude.socket.get_mut().write_all(&wire).unwrap();
    let mut answer = Vec::new();
    claude.socket.get_mut().read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"\x88\x02\x0f\xa1");
}

#[test]
fn an_empty_close_is_answered_empty() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    claude.socket.get_mut().write_all(b"\x88\x80\0\0\0\0").unwrap();
    assert_eq!(claude.close_frame(), None);
}

#[test]
fn replies_to_what_came_before_the_end_still_leave() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    let ids: Vec<u64> = (0..50).map(|_| claude.ask("tools/list", json!({}))).collect();
    claude.socket.get_mut().shutdown(Shutdown::Write).unwrap();
    for id in ids {
        claude.answer(id);
    }
}

#[test]
fn a_stop_says_1001_to_everyone_and_leaves_nothing_behind() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let home = Home::new();
        let mut bridge = home.start(&[]);
        let mut clients = [bridge.attach(), bridge.attach()];
        let lock = bridge.lock_path();
        assert!(lock.exists());
        bridge.signal(signal);
        for claude in &mut clients {
            let farewell = Some((1001, "Server shutting down".to_owned()));
            assert_eq!(claude.close_frame(), farewell);
        }
        assert_eq!(bridge.wait().code(), Some(0), "{signal}");
        assert!(!lock.exists(), "{signal}");
    }
}

#[test]
fn a_second_signal_ends_the_stop_of_a_client_that_does_not_answer() {
    let home = Home::new();
    let mut bridge = home.start(&[]);
    let _silent = bridge.attach();
    bridge.signal("-TERM");
    bridge.expect_log("stopping");
    bridge.signal("-TERM");
    assert_eq!(bridge.wait().code(), Some(0));
}

#[test]
fn a_client_that_answers_no_ping_is_closed_and_one_that_does_is_kept() {
    let home = Home::new();
    let mut bridge = home.start(&["--ping-interval", "0.1"]);
    let mut silent = bridge.attach();
    let mut polite = bridge.attach();
    silent.socket.get_mut().set_read_timeout(None).unwrap();
    // Answering pings happens inside the library's read; a read on the raw socket answers none.
    let mut bytes = Vec::new();
    let reader = silent.socket.get_mut().try_clone().unwrap();
    let drained = std::thread::scope(|scope| {
        let drained = scope.spawn(|| (&reader).read_to_end(&mut bytes).unwrap());
        let line = wait_while_polite(&mut polite, &mut bridge);
        assert!(line.contains("Closed client_1: no reply for "), "{line}");
        drained.join().unwrap()
    });
    assert!(drained > 0);
    let farewell = b"\x03\xf3Keepalive timeout";
    assert!(bytes.windows(farewell.len()).any(|window| window == farewell), "{bytes:x?}");
    assert_eq!(polite.request("ping", json!({}))["result"], json!({}));
}

fn wait_while_polite(
    polite: &mut crate::harness::Claude,
    bridge: &mut crate::harness::Bridge,
) -> String {
    let mut line = None;
    eventually("the silent client is closed", || {
        polite.request("ping", json!({}));
        line = bridge.poll_log("Closed client_1");
        line.is_some()
    });
    line.unwrap()
}

#[test]
fn a_client_that_asks_and_asks_but_never_reads_is_closed_as_not_reading() {
    let home = Home::new();
    let mut bridge = home.start(&["--ping-interval", "0.1"]);
    let claude = bridge.attach();
    let stream = claude.socket.get_ref();
    stream.set_nonblocking(true).unwrap();
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let mut frame = vec![0x81, 0x80 | request.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(request);
    let flood = frame.repeat(1000);
    let mut sent = 0;
    let mut line = None;
    eventually("the client is closed", || {
        // Whole requests on the wire, however the socket cuts them.
        sent += (&*stream).write(&flood[sent % frame.len()..]).unwrap_or(0);
        line = bridge.poll_log("Closed client_1");
        line.is_some()
    });
    let line = line.unwrap();
    assert!(line.contains("not reading for ") && line.contains(" KB queued"), "{line}");
}

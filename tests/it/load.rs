//! Many messages, many clients, and clients that misbehave in bulk.

use std::io::{Read, Write};
use std::time::Instant;

use serde_json::json;

use crate::harness::{Home, eventually};

fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81, 0x80 | u8::try_from(text.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(text.as_bytes());
    frame
}

#[test]
fn a_thousand_requests_in_one_segment_have_a_thousand_answers_in_order() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    let wire: Vec<u8> = (0..1000)
        .flat_map(|id| {
            let call = match id % 3 {
                0 => r#""ping""#,
                1 => r#""tools/list""#,
                _ => r#""tools/call","params":{"name":"getOpenEditors"}"#,
            };
            frame(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{call}}}"#))
        })
        .collect();
    claude.socket.get_mut().write_all(&wire).unwrap();
    for id in 0..1000 {
        assert_eq!(claude.next()["id"], id);
    }
}

#[test]
fn a_client_that_does_not_read_is_not_read_from_and_gets_every_answer_in_the_end() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    let wire = frame(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
    let stream = claude.socket.get_ref().try_clone().unwrap();
    // Sent until the bridge stops taking: its window closes because it stopped reading.
    stream.set_nonblocking(true).unwrap();
    let flood = wire.repeat(64);
    let (mut sent, mut stood_still) = (0, Instant::now());
    while stood_still.elapsed().as_millis() < 300 {
        if let Ok(taken) = (&stream).write(&flood[sent % wire.len()..]) {
            sent += taken;
            stood_still = Instant::now();
        }
        assert!(sent < 512 << 20, "the bridge takes without end");
    }
    #[cfg(target_os = "linux")]
    assert!(bridge.resident_bytes() < 32 << 20, "{}", bridge.resident_bytes());
    stream.set_nonblocking(false).unwrap();
    let rest = wire.len() - sent % wire.len();
    let total = (sent + rest) / wire.len();
    let mut last = (&stream).try_clone_write(&wire, rest);
    for _ in 0..total {
        assert_eq!(claude.next()["id"], 7);
    }
    last.finish();
    assert_eq!(claude.request("ping", json!({}))["result"], json!({}));
}

/// Writes the end of a half-sent frame while the test reads, so that neither side waits for good.
struct LastBytes(Option<std::thread::JoinHandle<()>>);

trait CloneWrite {
    fn try_clone_write(&self, wire: &[u8], rest: usize) -> LastBytes;
}

impl CloneWrite for &std::net::TcpStream {
    fn try_clone_write(&self, wire: &[u8], rest: usize) -> LastBytes {
        let mut stream = self.try_clone().unwrap();
        let bytes = wire[wire.len() - rest..].to_vec();
        let writer = std::thread::spawn(move || stream.write_all(&bytes).unwrap());
        LastBytes(Some(writer))
    }
}

impl LastBytes {
    fn finish(&mut self) {
        if let Some(writer) = self.0.take() {
            writer.join().unwrap();
        }
    }
}

#[test]
fn one_clients_flood_does_not_hold_up_anothers_ping() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let (flooder, mut polite) = (bridge.attach(), bridge.attach());
    let stream = flooder.socket.get_ref().try_clone().unwrap();
    let flood = frame(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).repeat(100_000);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (&stream).write_all(&flood).unwrap());
        while !writer.is_finished() {
            assert_eq!(polite.request("ping", json!({}))["result"], json!({}));
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_storm_of_reconnects_leaves_no_descriptor_and_no_memory_behind() {
    let home = Home::new();
    let bridge = home.start(&["--log", "error"]);
    drop(bridge.attach());
    let before = bridge.descriptors();
    for round in 0..300 {
        let mut claude = bridge.attach();
        claude.call(
            "openDiff",
            json!({"old_file_path": "/x", "new_file_path": "/x",
            "new_file_contents": "x".repeat(10_000), "tab_name": "t"}),
        );
        if round % 2 == 0 {
            claude.request("ping", json!({}));
        }
    }
    eventually("all descriptors are back", || bridge.descriptors() <= before);
    assert!(bridge.resident_bytes() < 16 << 20, "{}", bridge.resident_bytes());
}

#[cfg(target_os = "linux")]
#[test]
fn a_declared_length_costs_no_memory() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let before = bridge.resident_bytes();
    let clients: Vec<_> = (0..50)
        .map(|_| {
            let mut claude = bridge.attach();
            let mut half = vec![0x81, 0xff];
            half.extend_from_slice(&(90u64 << 20).to_be_bytes());
            half.extend_from_slice(&[0, 0, 0, 0, b'{']);
            claude.socket.get_mut().write_all(&half).unwrap();
            claude
        })
        .collect();
    let mut probe = bridge.attach();
    probe.request("ping", json!({}));
    assert!(bridge.resident_bytes() < before + (8 << 20), "{}", bridge.resident_bytes());
    drop(clients);
}

#[cfg(target_os = "linux")]
#[test]
fn at_rest_the_process_has_one_thread_and_never_wakes() {
    let home = Home::new();
    let bridge = home.start(&[]);
    let mut claude = bridge.attach();
    claude.request("ping", json!({}));
    drop(claude);
    let of =
        |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", bridge.pid())).unwrap();
    assert!(of("status").contains("Threads:\t1\n"));
    let switches = || {
        let status = of("status");
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    // The client's departure may still be under way; after that nothing must move for 300 ms.
    let (mut seen, mut since) = (switches(), Instant::now());
    eventually("the process rests", || {
        let now = switches();
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        since.elapsed().as_millis() > 300
    });
}

#[test]
fn a_silent_probe_of_the_port_is_harmless() {
    let home = Home::new();
    let bridge = home.start(&[]);
    for _ in 0..50 {
        drop(bridge.tcp());
    }
    let mut claude = bridge.attach();
    assert_eq!(claude.request("ping", json!({}))["result"], json!({}));
    let mut stream = bridge.tcp();
    stream.write_all(b"GET / HT").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"");
}

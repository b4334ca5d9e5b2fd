//! One connection as its owner sees it: bytes in at a time that is a number, outputs and bytes out.
//!
//! [`Play`] is the owner: it does what an [`Output`] asks, as `bridge` would, and keeps the bytes of
//! a socket that takes as many as the test lets it. What happened is told in words, in order.

use std::io;

use super::*;
use crate::mcp;
use crate::mcp::content::ToolResult;
use crate::mcp::tool::Descriptor;
use crate::proto::ws::connection::Options;
use crate::transport::token::Token;

mod leaving;
mod queue;
mod upgrade;

const INTERVAL_MS: Millis = 30_000;

const UPGRADE: &str = "GET / HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nUpgrade: websocket\r\n\
                       Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                       X-Claude-Code-Ide-Authorization: 0123456789abcdef\r\n\r\n";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const IDE_CONNECTED: &str = r#"{"jsonrpc":"2.0","method":"ide_connected","params":{"pid":1}}"#;

/// Bytes of the answer to `large`, without what JSON-RPC puts around it.
const LARGE_BYTES: usize = 100_000;

const fn tool(name: &'static str, is_held: bool) -> Descriptor {
    let input_schema = r#"{"type":"object"}"#;
    Descriptor { name, description: "d", input_schema, is_held }
}

static TOOLS: [Descriptor; 4] = [
    tool("quick", false),
    tool("large", false),
    tool("held", true),
    // Makes the answer to tools/list some 2 KB long.
    Descriptor {
        description: match std::str::from_utf8(&[b'd'; 2_000]) {
            Ok(text) => text,
            Err(_) => "",
        },
        ..tool("wordy", false)
    },
];

/// Something done to a client.
type Act = fn(&mut Play);

/// A row of ways: its name, what is done, what must come of it.
type Way = (&'static str, Act, &'static str);

/// A client and its owner.
struct Play {
    client: Client,
    rules: Rules,
    now: Millis,
    log: Vec<String>,
    /// Handed over, not taken by the socket.
    queue: Vec<u8>,
    /// Taken by the socket.
    wire: Vec<u8>,
    /// Whether the socket takes everything at once.
    is_flowing: bool,
    read_total: u64,
    queued_most: usize,
    awaits_written: bool,
    awaits_shut_down: bool,
    held: Vec<CallId>,
}

impl Play {
    fn new() -> Play {
        Play::every(INTERVAL_MS)
    }

    fn every(interval_ms: Millis) -> Play {
        let token = Token::new("0123456789abcdef").unwrap();
        let loopback = "127.0.0.1".parse().unwrap();
        let door = Door::leak(mcp::door::Options {
            server_name: "footbridge",
            server_version: "1",
            server_title: None,
            server_description: None,
            instructions: None,
            tools: &TOOLS,
            outbound_bytes_max: 16 << 20,
            calls_max: 64,
            held_calls_max: 32,
        });
        Play {
            client: Client::new(ClientId(1), 0),
            rules: Rules {
                policy: DoorPolicy::new(Some(token.clone()), token, loopback, &[], Vec::new()),
                door,
                websocket: Options::default(),
                interval_ms,
            },
            now: 0,
            log: Vec::new(),
            queue: Vec::new(),
            wire: Vec::new(),
            is_flowing: true,
            read_total: 0,
            queued_most: 0,
            awaits_written: false,
            awaits_shut_down: false,
            held: Vec::new(),
        }
    }

    /// A client that was let in, initialized, and has not been told of otherwise.
    fn connected() -> Play {
        Play::connected_every(INTERVAL_MS)
    }

    fn connected_every(interval_ms: Millis) -> Play {
        let mut play = Play::every(interval_ms);
        play.feed(UPGRADE.as_bytes());
        play.feed(&text(INITIALIZE));
        assert_eq!(play.take_log(), "pause came resume");
        assert_eq!(play.take_sent(), "101 answer(0)");
        play
    }

    fn at(&mut self, now: Millis) -> &mut Play {
        assert!(now >= self.now);
        self.now = now;
        self
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.feed_unsettled(bytes);
        self.settle();
    }

    /// The owner has had no time to do what the client wants.
    fn feed_unsettled(&mut self, bytes: &[u8]) {
        self.read_total += bytes.len() as u64;
        let mut bytes = bytes.to_vec();
        self.client.handle_data(&mut bytes, self.queue.len(), &self.rules, self.now);
    }

    fn end(&mut self) {
        self.client.handle_end(self.now);
        self.settle();
    }

    fn fail(&mut self) {
        self.client.handle_failure(&io::ErrorKind::ConnectionReset.into());
        self.settle();
    }

    fn stop(&mut self) {
        let (code, now) = (CloseCode::GOING_AWAY, self.now);
        self.client.close(code, "Server shutting down", 1_000, now);
        self.settle();
    }

    /// A deadline of the client, if it is due.
    fn time_out(&mut self) {
        let written_total = self.wire.len() as u64;
        self.client.handle_timeout(written_total, self.now);
        self.settle();
    }

    /// A tick of the keep-alive, with the confirmation it may ask for.
    fn tick(&mut self) {
        let tick = Tick {
            kind: crate::proto::ws::keepalive::TickKind::Ordinary,
            interval_ms: self.rules.interval_ms,
        };
        if self.client.tick(tick, self.sample(), self.now) {
            self.log.push("confirm".into());
            self.client.confirm(self.sample(), self.now);
        }
        self.settle();
    }

    fn sample(&self) -> Sample {
        Sample {
            read_total: self.read_total,
            written_total: self.wire.len() as u64,
            queued: self.queue.len(),
            is_paused: false,
        }
    }

    fn settle(&mut self) {
        loop {
            self.settle_once();
            if !self.is_flowing || !self.write(usize::MAX) {
                return;
            }
        }
    }

    fn settle_once(&mut self) {
        loop {
            let mut is_busy = false;
            while let Some(output) = self.client.poll_output() {
                is_busy = true;
                self.apply(output);
            }
            self.collect();
            let has_resumed = self.client.resume(self.queue.len(), &self.rules, self.now);
            if !is_busy && !has_resumed {
                return;
            }
        }
    }

    fn collect(&mut self) {
        let queue = &mut self.queue;
        self.client.take_bytes(&mut |chunks| {
            while let Some((chunk, front)) = chunks.pop() {
                queue.extend_from_slice(&chunk[front..]);
            }
        });
        self.queued_most = self.queued_most.max(self.queue.len());
    }

    fn apply(&mut self, output: Output) {
        let word = match output {
            Output::Work(work) => return self.work(work),
            Output::AwaitWritten => {
                self.collect();
                self.awaits_written = true;
                return;
            }
            Output::PauseReads => "pause",
            Output::ResumeReads => "resume",
            Output::Came => {
                self.client.begin_keepalive(self.sample(), self.now);
                "came"
            }
            Output::Left => "left",
            Output::Finish => {
                self.collect();
                self.client.begin_finish(self.wire.len() as u64);
                self.awaits_shut_down = true;
                "finish"
            }
            Output::Close => "close",
        };
        self.log.push(word.into());
    }

    fn work(&mut self, work: Work) {
        let (call, tool) = match work {
            Work::Call { call, tool, .. } => (call, tool),
            Work::Cancel { call } => return self.log.push(format!("cancel({})", call.serial)),
            Work::GateOpened => return self.log.push("gate".into()),
            Work::Control { .. } => panic!("no verb speaks here"),
        };
        self.log.push(tool.to_owned());
        match tool {
            "held" => self.held.push(call),
            "large" => self.answer(call, "x".repeat(LARGE_BYTES)),
            _ => self.answer(call, "done".into()),
        }
    }

    fn answer(&mut self, call: CallId, text: String) {
        let outcome = Outcome::Result(ToolResult::text([text]));
        self.client.complete(call, outcome, self.now);
    }

    /// The socket takes some bytes; false when there was nothing to take and nothing to tell.
    fn write(&mut self, bytes_max: usize) -> bool {
        let count = bytes_max.min(self.queue.len());
        self.wire.extend(self.queue.drain(..count));
        let is_empty = self.queue.is_empty();
        if is_empty && std::mem::take(&mut self.awaits_written) {
            self.client.handle_written(0, &self.rules, self.now);
        } else if is_empty && std::mem::take(&mut self.awaits_shut_down) {
            self.client.handle_shut_down(self.now);
        } else if count == 0 {
            return false;
        }
        self.settle_once();
        true
    }

    /// What came out since the last call.
    fn take_log(&mut self) -> String {
        std::mem::take(&mut self.log).join(" ")
    }

    /// What the peer can read since the last call; the socket's count stays right.
    fn take_sent(&mut self) -> String {
        let sent = words(&self.wire);
        self.read_by_peer();
        sent
    }

    fn read_by_peer(&mut self) {
        // Totals never go back: bytes read are crossed out, not removed.
        self.wire.fill(READ);
    }
}

/// Stands for a byte the peer has read; no frame of ours and no head begins with it.
const READ: u8 = 0;

/// One word for each thing on the wire: the status of a response, the kind of a frame.
fn words(mut wire: &[u8]) -> String {
    let mut words = Vec::new();
    while let Some(start) = wire.iter().position(|&byte| byte != READ) {
        wire = &wire[start..];
        if let Some(head) = wire.strip_prefix(b"HTTP/1.1 ") {
            words.push(String::from_utf8(head[..3].to_vec()).unwrap());
            let end = wire.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
            // Only a refusal has a body, and nothing follows it.
            wire = if head.starts_with(b"101") { &wire[end..] } else { &[] };
            continue;
        }
        let (opcode, payload, rest) = split_frame(wire);
        words.push(match opcode {
            1 => message(payload),
            8 if payload.is_empty() => "Close()".into(),
            8 => {
                let code = u16::from_be_bytes([payload[0], payload[1]]);
                format!("Close({code} {})", std::str::from_utf8(&payload[2..]).unwrap())
                    .replace(" )", ")")
            }
            9 => "ping".into(),
            10 => "pong".into(),
            other => panic!("a frame of opcode {other}"),
        });
        wire = rest;
    }
    words.join(" ")
}

fn message(payload: &[u8]) -> String {
    let message: Value = serde_json::from_slice(payload).unwrap();
    match &message["method"] {
        Value::String(method) => method.clone(),
        _ if message["error"].is_object() => format!("error({})", message["id"]),
        _ => format!("answer({})", message["id"]),
    }
}

/// The first frame of a server, which masks nothing and fragments nothing.
fn split_frame(wire: &[u8]) -> (u8, &[u8], &[u8]) {
    assert_eq!(wire[0] & 0xf0, 0x80, "final, no reserved bit");
    let (len, start) = match wire[1] {
        126 => (u16::from_be_bytes(wire[2..4].try_into().unwrap()).into(), 4),
        127 => (u64::from_be_bytes(wire[2..10].try_into().unwrap()), 10),
        len => (len.into(), 2),
    };
    let end = start + usize::try_from(len).unwrap();
    (wire[0] & 0x0f, &wire[start..end], &wire[end..])
}

/// A masked frame of a client.
fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x12, 0x34, 0x56, 0x78];
    let mut bytes = vec![0x80 | opcode];
    match payload.len() {
        len @ 0..126 => bytes.push(0x80 | len as u8),
        len => {
            bytes.push(0x80 | 126);
            bytes.extend(u16::try_from(len).unwrap().to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

fn text(json: &str) -> Vec<u8> {
    frame(1, json.as_bytes())
}

fn list(id: usize) -> Vec<u8> {
    text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#))
}

fn call(id: usize, tool: &str) -> Vec<u8> {
    text(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#
    ))
}

fn close(payload: &[u8]) -> Vec<u8> {
    frame(8, payload)
}

/// A frame of an opcode that nobody has given a meaning.
fn violation() -> Vec<u8> {
    frame(3, b"")
}

#[test]
fn a_head_that_trickles_is_turned_away_ten_seconds_after_the_accept() {
    let mut play = Play::new();
    for (second, byte) in (0..10).zip(UPGRADE.bytes()) {
        play.at(second * 1_000).feed(&[byte]);
        play.time_out();
        assert_eq!(play.client.poll_timeout(), Some(10_000), "after {second} s");
    }
    play.at(9_999).time_out();
    assert_eq!((play.take_log().as_str(), play.take_sent().as_str()), ("", ""));
    play.at(10_000).time_out();
    assert_eq!(play.take_sent(), "408");
    assert_eq!(play.take_log(), "finish");
    play.feed(&UPGRADE.as_bytes()[10..]);
    play.at(12_000).time_out();
    assert_eq!((play.take_log().as_str(), play.take_sent().as_str()), ("close", ""));
}

#[test]
fn nothing_runs_until_the_101_is_written() {
    let mut play = Play::new();
    play.is_flowing = false;
    let frames = [text(INITIALIZE), call(1, "quick"), list(2)].concat();
    play.feed(&[UPGRADE.as_bytes(), &frames].concat());
    for _ in 1..play.queue.len() {
        play.write(1);
        assert_eq!(play.log.join(" "), "pause");
    }
    assert!(!play.client.is_connected());
    play.write(1);
    assert_eq!(play.take_log(), "pause came resume quick");
    play.write(usize::MAX);
    assert_eq!(play.take_sent(), "101 answer(0) answer(1) answer(2)");
}

#[test]
fn who_goes_while_the_101_is_written_never_came() {
    let ways: [Way; 3] = [
        ("hangs up", Play::end, "101"),
        ("is reset", Play::fail, "101"),
        ("is stopped, twice", stop_twice, STOPPED),
    ];
    for (way, go, sent) in ways {
        let mut play = Play::new();
        play.is_flowing = false;
        play.feed(&[UPGRADE.as_bytes(), &text(INITIALIZE), &call(1, "quick")].concat());
        go(&mut play);
        play.is_flowing = true;
        play.settle();
        play.feed(&call(2, "quick"));
        play.end();
        assert!(!play.client.is_connected());
        assert_eq!(play.take_sent(), sent, "{way}");
        let log = play.take_log();
        assert!(["pause finish close", "pause close"].contains(&log.as_str()), "{way}: {log}");
    }
}

const STOPPED: &str = "101 Close(1001 Server shutting down)";

fn stop_twice(play: &mut Play) {
    play.stop();
    play.stop();
}

#[test]
fn the_gate_opens_after_ide_connected_or_later_without_it() {
    let never: Millis = Millis::MAX;
    let rows: [(&[(Millis, &str)], Millis); 6] = [
        (&[(100, IDE_CONNECTED)], 600),
        (&[(100, INITIALIZED)], 1_100),
        (&[(100, INITIALIZED), (200, IDE_CONNECTED)], 700),
        (&[(100, IDE_CONNECTED), (200, INITIALIZED)], 600),
        (&[(100, IDE_CONNECTED), (300, IDE_CONNECTED)], 600),
        (&[(100, r#"{"jsonrpc":"2.0","method":"other"}"#)], never),
    ];
    for (messages, opens_at) in rows {
        let mut play = Play::connected();
        for &(at, json) in messages {
            play.at(at).feed(&text(json));
        }
        let due = play.client.poll_timeout();
        assert_eq!(due.unwrap_or(never), opens_at, "{messages:?}");
        let shut_until = opens_at.min(1_000_000);
        play.at(shut_until - 1).time_out();
        assert!(
            !play.client.notify("selection_changed", &Value::Null, 0, play.now),
            "{messages:?}"
        );
        play.settle();
        assert_eq!((play.take_log().as_str(), play.take_sent().as_str()), ("", ""));
        play.at(shut_until).time_out();
        let is_open = opens_at != never;
        assert_eq!(play.take_log(), if is_open { "gate" } else { "" }, "{messages:?}");
        assert_eq!(play.client.notify("selection_changed", &Value::Null, 0, play.now), is_open);
        play.settle();
        assert_eq!(play.take_sent(), if is_open { "selection_changed" } else { "" });
        assert_eq!(play.client.poll_timeout(), None, "an open gate has no deadline");
    }
}

#[test]
fn a_cancelled_call_and_a_client_that_left_get_no_answer() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let mut play = Play::connected();
    play.feed(&[call(1, "held"), call(2, "held"), text(cancel)].concat());
    assert_eq!(play.take_log(), format!("held held cancel({})", play.held[0].serial));
    for call in play.held.clone() {
        play.answer(call, "late".into());
        play.answer(call, "twice".into());
    }
    play.feed(&call(3, "held"));
    assert_eq!(play.take_sent(), "answer(2)");
    play.end();
    play.answer(play.held[2], "too late".into());
    assert!(!play.client.notify("selection_changed", &Value::Null, 0, 0));
    play.settle();
    assert_eq!(
        (play.take_log().as_str(), play.take_sent().as_str()),
        ("held left finish close", "")
    );
}

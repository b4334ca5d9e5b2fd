#![allow(clippy::disallowed_methods)] // The peer of a client that waits is a thread.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::thread::JoinHandle;

use super::*;

#[track_caller]
fn check_head(bytes: &str, expected: Result<Option<usize>, &str>) {
    let parsed = parse_head(bytes.as_bytes(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    let parsed = parsed.map_err(|error| error.to_string());
    assert_eq!(parsed.as_ref().copied().map_err(String::as_str), expected, "{bytes}");
}

#[test]
fn only_a_proven_upgrade_opens_the_door() {
    let good = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                SEC-WebSocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    check_head(good, Ok(Some(good.len())));
    check_head(&format!("{good}\u{1}"), Ok(Some(good.len())));
    check_head(&good[..good.len() - 1], Ok(None));
    check_head("", Ok(None));
    let unproven = "not understood: \"a handshake without its proof\"";
    check_head(&good.replace("s3pP", "s3pQ"), Err(unproven));
    check_head("HTTP/1.1 101 Switching Protocols\r\n\r\n", Err(unproven));
    let refused = "the bridge did not let us in: it answered HTTP 401";
    check_head("HTTP/1.1 401 Unauthorized\r\n\r\n", Err(refused));
    check_head("SSH-2.0-x\r\n", Err("not understood: \"invalid HTTP version\""));
}

#[track_caller]
fn check_answer(answer: Value, expected: Result<Value, &str>) {
    let result = result_of(answer).map_err(|error| error.to_string());
    assert_eq!(result.as_ref().map_err(String::as_str), expected.as_ref().map_err(|text| *text));
}

#[test]
fn an_answer_is_a_result_or_an_error() {
    check_answer(json!({"id": 1, "result": {"agents": 2}}), Ok(json!({"agents": 2})));
    check_answer(json!({"id": 1, "result": null}), Ok(Value::Null));
    check_answer(
        json!({"id": 1, "error": {"code": -32012, "message": "already answered by client_1"}}),
        Err("already answered by client_1"),
    );
    for garbled in [json!({"id": 1}), json!({"id": 1, "error": {"code": "x"}})] {
        let expected = "not understood: \"an answer without result or error\"";
        check_answer(garbled, Err(expected));
    }
}

#[test]
fn old_notifications_make_room() {
    let mut kept = VecDeque::new();
    for number in 0..=NOTIFICATIONS_MAX {
        keep(&mut kept, &json!({"method": number.to_string()}));
    }
    assert_eq!((kept.len(), kept[0].as_str()), (NOTIFICATIONS_MAX, "1"));
    keep(&mut kept, &json!({"params": {}}));
    assert_eq!(kept.len(), NOTIFICATIONS_MAX);
}

/// The peer: upgrades, then does one thing after another.
struct Peer {
    stream: TcpStream,
    connection: Connection,
}

impl Peer {
    /// Runs `script` against the first client that connects.
    fn start(script: impl FnOnce(&mut Peer) + Send + 'static) -> (SocketAddr, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let running = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a client");
            let mut key = String::new();
            for line in BufReader::new(&stream).lines() {
                let line = line.expect("a head");
                match line.strip_prefix("Sec-WebSocket-Key: ") {
                    Some(given) => key = given.to_owned(),
                    None if line.is_empty() => break,
                    None => {}
                }
            }
            let head =
                format!("HTTP/1.1 101 x\r\nSec-WebSocket-Accept: {}\r\n\r\n", accept_of(&key));
            let connection = Connection::new(Role::Server, Options::default());
            let mut peer = Peer { stream, connection };
            peer.stream.write_all(head.as_bytes()).expect("the client reads");
            script(&mut peer);
        });
        (address, running)
    }

    fn say(&mut self, message: &Value) {
        self.connection.send_text(&message.to_string());
        self.flush();
    }

    fn flush(&mut self) {
        while let Some((chunk, front)) = self.connection.output().pop() {
            self.stream.write_all(&chunk[front..]).expect("the client reads");
        }
    }

    /// What the client sends up to its next message, each by name, the message's id last.
    fn hear(&mut self) -> (Vec<&'static str>, Value) {
        let mut heard = Vec::new();
        let mut byte = [0];
        loop {
            assert_eq!(self.stream.read(&mut byte).expect("the client speaks"), 1);
            let mut input = Input::new(&mut byte);
            match self.connection.receive(&mut input) {
                Some(Event::Text(text)) => {
                    let message: Value = serde_json::from_str(text).expect("JSON");
                    return (heard, message["id"].clone());
                }
                Some(Event::Pong) => heard.push("pong"),
                Some(Event::Close(_)) => return (heard, json!("close")),
                Some(_) => heard.push("other"),
                None => {}
            }
        }
    }
}

const SOON: Duration = Duration::from_secs(20);

fn open(address: SocketAddr) -> RpcClient {
    RpcClient::open(address, "/x", &[("A", "b")]).expect("the peer upgrades")
}

#[test]
fn pings_are_answered_and_notifications_kept_while_an_answer_is_awaited() {
    let (address, peer) = Peer::start(|peer| {
        let (_, id) = peer.hear();
        peer.connection.send_ping(b"x");
        peer.say(&json!({"method": "changed", "params": {}}));
        peer.say(&json!({"id": 99, "method": "roots/list"}));
        peer.say(&json!({"id": id, "result": "first"}));
        let (heard, id) = peer.hear();
        assert_eq!(heard, ["pong"]);
        peer.say(&json!({"id": id, "error": {"code": -5, "message": "no", "data": {"by": 1}}}));
        assert_eq!(peer.hear(), (vec![], json!("close")));
    });
    let mut client = open(address);
    let answer = client.request_within("a", &json!({}), SOON).expect("an answer");
    assert_eq!(answer, "first");
    assert_eq!(client.take_notifications(), ["changed"]);
    assert_eq!(client.take_notifications(), [""; 0]);
    match client.request_within("b", &json!({}), SOON) {
        Err(RpcError::Refused { code: -5, message, data }) => {
            assert_eq!((message.as_str(), data), ("no", json!({"by": 1})));
        }
        other => panic!("{other:?}"),
    }
    drop(client);
    peer.join().expect("the peer heard what it should");
}

#[test]
fn an_answer_that_comes_too_late_is_not_taken_for_the_next() {
    let (address, peer) = Peer::start(|peer| {
        let (_, first) = peer.hear();
        let (_, second) = peer.hear();
        peer.say(&json!({"id": first, "result": "late"}));
        peer.say(&json!({"id": second, "result": "right"}));
        peer.hear();
    });
    let mut client = open(address);
    let limit = Duration::from_millis(20);
    let late = client.request_within("a", &json!({}), limit).expect_err("nobody answers");
    assert_eq!(late.to_string(), "the bridge did not answer within 0.02 s");
    assert_eq!(client.request_within("b", &json!({}), SOON).expect("an answer"), "right");
    drop(client);
    peer.join().expect("the peer heard what it should");
}

#[test]
fn a_peer_that_goes_is_lost_at_once() {
    for says_close in [true, false] {
        let (address, peer) = Peer::start(move |peer| {
            peer.hear();
            if says_close {
                peer.connection.send_close(CloseCode::NORMAL, "");
                peer.flush();
            }
        });
        let mut client = open(address);
        let error = client.request_within("a", &json!({}), SOON).expect_err("the peer goes");
        assert!(matches!(error, RpcError::Lost), "{error:?}");
        peer.join().expect("the peer heard what it should");
    }
}

#[test]
fn what_has_come_is_taken_without_waiting() {
    let (address, peer) = Peer::start(|peer| {
        peer.hear();
        peer.say(&json!({"method": "one"}));
        peer.say(&json!({"method": "two"}));
        peer.connection.send_ping(b"");
        peer.flush();
        assert_eq!(peer.hear(), (vec!["pong"], json!("close")));
    });
    let mut client = open(address);
    client.receive_ready().expect("nothing came, and that is fine");
    client.notify("go", &json!({})).expect("it is sent");
    let mut told = Vec::new();
    while told.len() < 2 {
        client.socket().peek(&mut [0]).expect("the peer speaks");
        client.receive_ready().expect("the peer is there");
        told.extend(client.take_notifications());
    }
    assert_eq!(told, ["one", "two"]);
    // The ping may have come apart from them.
    client.socket().set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    let _ = client.socket().peek(&mut [0]);
    client.receive_ready().expect("the peer is there");
    drop(client);
    peer.join().expect("the peer heard what it should");
}

#[test]
fn nobody_there_is_told_with_the_address() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let error = RpcClient::open(address, "/", &[]).err().expect("nobody listens").to_string();
    assert!(error.starts_with(&format!("cannot reach {address}: ")), "{error}");
}

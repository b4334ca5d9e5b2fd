use super::*;
use crate::proto::http::head::{HeadReader, Limits, Progress};

/// The key and its answer of RFC 6455 §1.3.
const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const ACCEPT: &str = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
const UPGRADE: &str = "Upgrade: websocket\r\n";
const CONNECTION: &str = "Connection: Upgrade\r\n";
const VERSION: &str = "Sec-WebSocket-Version: 13\r\n";

#[track_caller]
fn validate(start: &str, lines: &[&str]) -> Result<Upgrade, Rejection> {
    let head = format!("{start}\r\nHost: a\r\n{}\r\n", lines.concat());
    match HeadReader::new(Limits::default()).feed(head.as_bytes()) {
        Progress::Complete { request, .. } => validate_upgrade(&request),
        other => panic!("{other:?} from {head:?}"),
    }
}

#[track_caller]
fn check(lines: &[&str], expected: Result<(), Rejection>) {
    assert_eq!(validate("GET / HTTP/1.1", lines).map(|_| ()), expected, "{lines:?}");
}

#[track_caller]
fn check_subprotocol(lines: &str, expected: bool) {
    let upgrade = validate("GET / HTTP/1.1", &[UPGRADE, CONNECTION, VERSION, KEY, lines]).unwrap();
    let protocol = if expected { "Sec-WebSocket-Protocol: mcp\r\n" } else { "" };
    let text = String::from_utf8(upgrade.response()).unwrap();
    let start = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    assert_eq!(text, format!("{start}{ACCEPT}{protocol}\r\n"), "{lines:?}");
    assert_eq!(upgrade.is_mcp(), expected);
}

#[test]
fn every_legal_spelling_of_an_upgrade_is_accepted() {
    for (upgrade, connection) in [
        (UPGRADE, CONNECTION),
        ("upgrade: WebSocket\r\n", "connection: upgrade\r\n"),
        ("UPGRADE:websocket\r\n", "Connection: keep-alive, Upgrade\r\n"),
        (UPGRADE, "Connection: keep-alive\r\nConnection: Upgrade\r\n"),
        ("Upgrade:\twebsocket\t\r\n", "Connection:\tkeep-alive\t,\tUPGRADE\t\r\n"),
        ("Upgrade: websocket/13, h2c\r\n", CONNECTION),
        ("Upgrade: h2c\r\nUpgrade: WEBSOCKET\r\n", "Connection: ,Upgrade,\r\n"),
    ] {
        check(&[upgrade, connection, VERSION, KEY], Ok(()));
        check(&[KEY, VERSION, connection, upgrade, "Content-Length: 0\r\n"], Ok(()));
    }
}

#[test]
fn each_required_field_missing_or_wrong_is_named() {
    use Rejection::*;
    check(&[CONNECTION, VERSION, KEY], Err(MissingUpgrade));
    for upgrade in
        ["Upgrade:\r\n", "Upgrade: h2c\r\n", "Upgrade: websockets\r\n", "Upgrade: xwebsocket\r\n"]
    {
        check(&[upgrade, CONNECTION, VERSION, KEY], Err(MissingUpgrade));
    }
    check(&[UPGRADE, VERSION, KEY], Err(MissingConnection));
    for connection in
        ["Connection:\r\n", "Connection: keep-alive\r\n", "Connection: no-upgrade\r\n"]
    {
        check(&[UPGRADE, connection, VERSION, KEY], Err(MissingConnection));
    }
    check(&[UPGRADE, CONNECTION, KEY], Err(MissingVersion));
    for version in
        ["8", "", "013", "13, 8", "13 "].map(|text| format!("Sec-WebSocket-Version: {text}\r\n"))
    {
        let expected = if version.trim_end().ends_with(" 13") { Ok(()) } else { Err(WrongVersion) };
        check(&[UPGRADE, CONNECTION, &version, KEY], expected);
    }
    check(&[UPGRADE, CONNECTION, VERSION, VERSION, KEY], Err(WrongVersion));
    check(&[UPGRADE, CONNECTION, VERSION, KEY, "Content-Length: 1\r\n"], Err(HasBody));
    check(&[UPGRADE, CONNECTION, VERSION, KEY, "Transfer-Encoding: chunked\r\n"], Err(HasBody));
}

#[test]
fn the_key_is_sixteen_bytes_of_base64_and_stands_once() {
    use Rejection::*;
    check(&[UPGRADE, CONNECTION, VERSION], Err(MissingKey));
    check(&[UPGRADE, CONNECTION, VERSION, KEY, KEY], Err(RepeatedKey));
    for (key, expected) in [
        ("dGhlIHNhbXBsZSBub25jZQ==", Ok(())),
        ("AAAAAAAAAAAAAAAAAAAAAB==", Ok(())),
        ("", Err(BadKey)),
        ("dGhlIHNhbXBsZSBub25jZQ=", Err(BadKey)),
        ("dGhlIHNhbXBsZSBub25jZQ===", Err(BadKey)),
        ("dGhlIHNhbXBsZSBub25jZSE=", Err(BadKey)),
        ("dGhlIHNhbXBsZSBub25jZSEh", Err(BadKey)),
        ("dGhlIHNhbXBsZSBub25jZ-==", Err(BadKey)),
        ("dGhlIHNhbXBs ZSBub25jZ==", Err(BadKey)),
        ("========================", Err(BadKey)),
    ] {
        check(&[UPGRADE, CONNECTION, VERSION, &format!("Sec-WebSocket-Key: {key}\r\n")], expected);
    }
}

#[test]
fn the_subprotocol_is_answered_once_and_only_if_offered() {
    check_subprotocol("", false);
    check_subprotocol("Sec-WebSocket-Protocol: mcp\r\n", true);
    check_subprotocol("Sec-WebSocket-Protocol: a, mcp\r\n", true);
    check_subprotocol("Sec-WebSocket-Protocol: a\r\nsec-websocket-protocol: mcp\r\n", true);
    check_subprotocol("Sec-WebSocket-Protocol: mcp, mcp\r\n", true);
    check_subprotocol("Sec-WebSocket-Protocol: a\r\n", false);
    check_subprotocol("Sec-WebSocket-Protocol: MCP\r\n", false);
    check_subprotocol("Sec-WebSocket-Protocol: mcp2\r\n", false);
    check_subprotocol("Sec-WebSocket-Extensions: permessage-deflate\r\n", false);
}

#[test]
fn refusals_carry_the_status_and_text_of_their_rule() {
    let all = [UPGRADE, CONNECTION, VERSION, KEY];
    let text = |rejection: Rejection| String::from_utf8(rejection.response().to_bytes()).unwrap();
    for start in ["POST / HTTP/1.1", "HEAD / HTTP/1.1", "get / HTTP/1.1", "GET / HTTP/1.0"] {
        let rejection = validate(start, &all).unwrap_err();
        assert_eq!(rejection.response().status(), Status::NotFound, "{start}");
    }
    let missing = text(Rejection::MissingUpgrade);
    assert!(missing.starts_with("HTTP/1.1 400 Bad Request\r\n"));
    assert!(
        missing.ends_with(
            "Bad WebSocket upgrade request: the Upgrade header does not name websocket\n"
        )
    );
    assert!(!missing.contains("Sec-WebSocket-Version:"));
    for version in [Rejection::WrongVersion, Rejection::MissingVersion] {
        assert!(text(version).contains("\r\nSec-WebSocket-Version: 13\r\n"));
    }
}

#[test]
fn an_independent_client_is_answered_as_it_expects() {
    use tungstenite::client::IntoClientRequest;
    use tungstenite::handshake::client::generate_request;
    use tungstenite::handshake::derive_accept_key;

    let request = "ws://127.0.0.1:4000/".into_client_request().unwrap();
    let (bytes, key) = generate_request(request).unwrap();
    let Progress::Complete { request, consumed } = HeadReader::new(Limits::default()).feed(&bytes)
    else {
        panic!("{:?}", String::from_utf8_lossy(&bytes));
    };
    assert_eq!(consumed, bytes.len());
    let text = String::from_utf8(validate_upgrade(&request).unwrap().response()).unwrap();
    let accept = format!("\r\nSec-WebSocket-Accept: {}\r\n", derive_accept_key(key.as_bytes()));
    assert!(text.contains(&accept), "{text}");
}

use super::*;
use crate::proto::http::head::{HeadReader, Limits, Progress};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const CONTROL: &str = "a-secret-of-the-state-folder";
const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const HOST: &str = "Host: 127.0.0.1:4000\r\n";
const AUTH: &str = "X-Claude-Code-Ide-Authorization: 0123456789abcdef0123456789abcdef\r\n";

/// A request out of its text.
#[track_caller]
pub(crate) fn request(text: &str) -> Request {
    match HeadReader::new(Limits::default()).feed(text.as_bytes()) {
        Progress::Complete { request, .. } => request,
        other => panic!("{other:?} from {text:?}"),
    }
}

fn policy(token: Option<&str>) -> DoorPolicy {
    let origins = vec![Origin::parse("https://app.example").unwrap()];
    let token = token.map(|text| Token::new(text).unwrap());
    let control = Token::new(CONTROL).unwrap();
    DoorPolicy::new(token, control, "127.0.0.1".parse().unwrap(), &[], origins)
}

/// What came of a request: 101 for the IDE link.
#[track_caller]
fn status_with(policy: &DoorPolicy, start: &str, lines: &[&str]) -> (u16, String) {
    let decision = decide(&request(&format!("{start}\r\n{}\r\n", lines.concat())), policy);
    let (code, bytes) = match decision {
        Decision::IdeUpgrade(upgrade) | Decision::ControlUpgrade(upgrade) => {
            (101, upgrade.response())
        }
        Decision::Respond(response) => (response.status().code(), response.to_bytes()),
        Decision::Refuse(refusal) => {
            let body = refusal.response.body();
            assert!(body.trim_end().ends_with(refusal.reason), "{body:?}");
            (refusal.response.status().code(), refusal.response.to_bytes())
        }
    };
    (code, String::from_utf8(bytes).unwrap())
}

#[track_caller]
fn check(start: &str, lines: &[&str], expected: u16) -> String {
    let (code, text) = status_with(&policy(Some(TOKEN)), start, lines);
    assert_eq!(code, expected, "{start} {lines:?}\n{text}");
    assert!(text.starts_with(&format!("HTTP/1.1 {expected} ")), "{text}");
    text
}

#[test]
fn the_control_door_opens_to_its_own_token_alone() {
    let get = "GET /control HTTP/1.1";
    check(get, &[HOST, UPGRADE, &format!("Authorization: Bearer {CONTROL}\r\n")], 101);
    check(get, &[HOST, UPGRADE, &format!("authorization: bEARER  {CONTROL} \r\n")], 101);
    for lines in [
        String::new(),
        AUTH.to_owned(),
        format!("Authorization: Bearer {TOKEN}\r\n"),
        format!("Authorization: Basic {CONTROL}\r\n"),
        format!("Authorization: {CONTROL}\r\n"),
        format!("Authorization: Bearer {CONTROL}\r\nAuthorization: Bearer {CONTROL}\r\n"),
    ] {
        check(get, &[HOST, UPGRADE, &lines], 401);
        let (code, _) = status_with(&policy(None), get, &[HOST, UPGRADE, &lines]);
        assert_eq!(code, 401, "also when agents need no token");
    }
    check("POST /control HTTP/1.1", &[HOST], 405);
}

#[test]
fn the_ide_door_opens_to_the_token_alone() {
    let get = "GET / HTTP/1.1";
    check(get, &[HOST, UPGRADE, AUTH], 101);
    check("GET /?x=y HTTP/1.1", &[HOST, UPGRADE, AUTH], 101);
    check("GET http://localhost:4000/ HTTP/1.1", &[HOST, UPGRADE, AUTH], 101);
    let header = "x-claude-code-ide-authorization: ";
    let wrong = [
        String::new(),
        format!("{header}\r\n"),
        format!("{header}short\r\n"),
        format!("{header}{}\r\n", "x".repeat(501)),
        format!("{header}{}\r\n", TOKEN.to_uppercase()),
        format!("{header}{TOKEN}x\r\n"),
        format!("{header}\"{TOKEN}\"\r\n"),
        format!("{AUTH}{AUTH}"),
        format!("Authorization: Bearer {TOKEN}\r\n"),
    ];
    for lines in &wrong {
        let text = check(get, &[HOST, UPGRADE, lines], 401);
        assert!(text.contains("\r\nWWW-Authenticate: Bearer\r\n"), "{text}");
        assert!(text.contains("\r\n\r\nBad WebSocket upgrade request: "), "{text}");
        assert!(!text.contains(TOKEN), "{text}");
    }
}

#[test]
fn without_a_token_the_ide_door_asks_for_none() {
    let (code, _) = status_with(&policy(None), "GET / HTTP/1.1", &[HOST, UPGRADE]);
    assert_eq!(code, 101);
    let (code, _) = status_with(&policy(None), "GET / HTTP/1.1", &[HOST, UPGRADE, AUTH]);
    assert_eq!(code, 101);
}

#[test]
fn a_failed_upgrade_is_400_and_a_wrong_method_or_version_404() {
    let text = check("GET / HTTP/1.1", &[HOST, AUTH], 400);
    assert!(text.contains("\r\n\r\nBad WebSocket upgrade request: "), "{text}");
    let old = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n";
    let text = check("GET / HTTP/1.1", &[HOST, AUTH, old], 400);
    assert!(text.contains("\r\nSec-WebSocket-Version: 13\r\n"), "{text}");
    for start in ["GET / HTTP/1.0", "POST / HTTP/1.1", "HEAD / HTTP/1.1", "OPTIONS / HTTP/1.1"] {
        check(start, &[HOST, UPGRADE, AUTH], 404);
    }
    check("GET / HTTP/1.0", &[], 404);
}

#[test]
fn other_paths_are_not_found_whatever_else_they_bring() {
    for path in ["/x", "//", "/ping/", "/PING", "/%70ing", "/mcp", "/extension", "/../ping"] {
        check(&format!("GET {path} HTTP/1.1"), &[HOST, UPGRADE, AUTH], 404);
        check(&format!("GET {path} HTTP/1.1"), &[HOST], 404);
    }
    check("OPTIONS * HTTP/1.1", &[HOST], 404);
}

#[test]
fn ping_answers_anyone_who_names_this_host() {
    let text = check("GET /ping HTTP/1.1", &[HOST], 200);
    assert!(text.contains("\r\nContent-Type: application/json\r\n"), "{text}");
    assert!(text.ends_with(&format!("\r\n\r\n{{\"ok\":true,\"v\":\"{VERSION}\"}}")), "{text}");
    let text = check("HEAD /ping HTTP/1.1", &[HOST], 200);
    assert!(text.ends_with("\r\n\r\n"), "{text}");
    check("GET /ping HTTP/1.0", &[], 200);
    check("GET /ping HTTP/1.1", &[HOST, "Content-Length: 0\r\n"], 200);
    check("GET /ping HTTP/1.1", &[HOST, "Content-Length: 1\r\n"], 400);
    let text = check("POST /ping HTTP/1.1", &[HOST], 405);
    assert!(text.contains("\r\nAllow: GET, HEAD\r\n"), "{text}");
    check("OPTIONS /ping HTTP/1.1", &[HOST, "Origin: https://app.example\r\n"], 405);
}

#[test]
fn host_is_judged_before_origin_and_origin_before_the_token_on_every_route() {
    let evil_host = "Host: evil.example\r\n";
    let evil_origin = "Origin: https://evil.example\r\n";
    for start in ROUTES.map(|route| format!("{} {} HTTP/1.1", route.methods[0], route.path)) {
        for lines in [&[evil_host, UPGRADE, AUTH][..], &[evil_host], &[evil_host, evil_origin]] {
            let text = check(&start, lines, 403);
            assert!(text.contains("Host header"), "{text}");
        }
        for lines in [&[HOST, UPGRADE, AUTH, evil_origin][..], &[HOST, evil_origin]] {
            let text = check(&start, lines, 403);
            assert!(text.contains("--allow-origin"), "{text}");
        }
        check(&start, &[HOST, "Origin: null\r\n"], 403);
    }
    check("GET / HTTP/1.1", &[HOST, UPGRADE, AUTH, "Origin: https://app.example\r\n"], 101);
    check("GET /nothing HTTP/1.1", &[evil_host], 403);
    check("GET /ping HTTP/1.0", &[evil_host], 403);
    check("GET http://evil.example/ping HTTP/1.1", &[HOST], 403);
    check("GET http://localhost/ping HTTP/1.1", &[evil_host], 403);
    check("GET http://u@localhost/ping HTTP/1.1", &[HOST], 403);
}

#[test]
fn a_broken_head_is_answered_with_its_status() {
    for (error, code) in [
        (HeadError::BareLf, 400),
        (HeadError::MissingHost, 400),
        (HeadError::RequestLineTooLong, 414),
        (HeadError::TooManyFields, 431),
        (HeadError::UnknownTransferCoding, 501),
        (HeadError::UnsupportedVersion, 505),
    ] {
        let refusal = refuse_head(error);
        assert_eq!(refusal.response.status().code(), code);
        assert_eq!(refusal.response.body(), format!("Bad request: {}\n", refusal.reason));
    }
}

#[test]
fn no_answer_to_a_head_has_a_body() {
    for (path, lines, expected) in [
        ("/ping", HOST, 200),
        ("/none", HOST, 404),
        ("/", HOST, 404),
        ("/ping", "Host: evil.example\r\n", 403),
    ] {
        let text = check(&format!("HEAD {path} HTTP/1.1"), &[lines], expected);
        assert!(text.ends_with("\r\n\r\n") && !text.contains("Content-Length: 0"), "{text}");
    }
}

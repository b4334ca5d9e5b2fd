//! Every code there is, and payloads in rows.

use super::*;

/// What a payload reads as: code and reason, or the rule broken.
#[track_caller]
fn check(payload: &[u8], expected: Result<(Option<u16>, &str), PeerError>) {
    let read = CloseFrame::parse(payload);
    let told = read.clone().map(|close| (close.code.map(CloseCode::get), close.reason));
    assert_eq!(told, expected.map(|(code, reason)| (code, reason.to_owned())));
    if let Ok(close) = read {
        assert_eq!(close.payload(), payload, "written as read");
        assert_eq!(close.echo().payload(), &payload[..payload.len().min(2)], "echoed: the code");
    }
}

#[test]
fn payloads() {
    check(b"", Ok((None, "")));
    check(b"\x03\xE8", Ok((Some(1000), "")));
    check(b"\x03\xE9so long \xC3\xA4", Ok((Some(1001), "so long ä")));
    check(b"\x03", Err(PeerError::CloseHalfCode));
    check(b"\x03\xED", Err(PeerError::CloseForbiddenCode(1005)));
    check(b"\x00\x00", Err(PeerError::CloseForbiddenCode(0)));
    check(b"\x03\xE8\xC3", Err(PeerError::CloseReasonUtf8));
    check(b"\x03\xE8\xED\xA0\x80", Err(PeerError::CloseReasonUtf8));
    // The code is looked at before the reason.
    check(b"\x03\xED\xFF", Err(PeerError::CloseForbiddenCode(1005)));
}

#[test]
fn the_codes_that_may_be_on_the_wire() {
    let allowed: Vec<u16> = (0..=u16::MAX).filter(|&c| CloseCode::from_wire(c).is_some()).collect();
    let expected: Vec<u16> = (1000..=1003).chain(1007..=1014).chain(3000..=4999).collect();
    assert_eq!(allowed, expected);
    for code in (1000..=1003).chain(1007..=1014) {
        assert_ne!(CloseCode::from_wire(code).unwrap().name(), "", "{code}");
    }
}

#[test]
fn a_long_reason_is_cut_between_two_characters() {
    for (reason, len) in [("x".repeat(123), 123), ("x".repeat(200), 123), ("ä".repeat(80), 122)] {
        let close = CloseFrame::new(CloseCode::NORMAL, &reason);
        assert_eq!((close.reason.len(), close.payload().len()), (len, len + 2));
        assert!(reason.starts_with(&close.reason));
    }
}

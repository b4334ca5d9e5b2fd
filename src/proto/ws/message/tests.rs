//! UTF-8 that comes in pieces, and buffers that grow with what came.

use super::*;

/// Where a text fails, fed byte by byte: the index of the byte that shows it, or the length when
/// only the end does.
fn failing_byte(text: &[u8]) -> Option<usize> {
    let mut joiner = Joiner::default();
    joiner.begin(Kind::Text);
    for (index, byte) in text.iter().enumerate() {
        if joiner.extend(&[*byte], None).is_err() {
            return Some(index);
        }
    }
    joiner.finish().is_err().then_some(text.len())
}

#[test]
fn bad_text_is_found_at_its_first_bad_byte() {
    for (text, expected) in [
        (&b"plain"[..], None),
        ("κόσμε, \u{10FFFF}\u{FFFF}\u{7FF}\u{0}".as_bytes(), None),
        (b"ab\xFFcd", Some(2)),
        (b"\xC0\xAF", Some(0)),
        (b"\xC1\x80", Some(0)),
        (b"\xE0\x80\xAF", Some(1)),     // Overlong.
        (b"\xED\xA0\x80", Some(1)),     // A surrogate.
        (b"\xF4\x90\x80\x80", Some(1)), // Above U+10FFFF.
        (b"\xF5", Some(0)),
        (b"\xCE\xBAx\x80", Some(3)),
        (b"\xF0\x9F\x92x", Some(3)),
        (b"\xF0\x9F\x92", Some(3)),
        (b"ok\xC3", Some(3)),
    ] {
        assert_eq!(failing_byte(text), expected, "{text:x?}");
        assert_eq!(expected.is_none(), std::str::from_utf8(text).is_ok(), "{text:x?}");
    }
}

#[test]
fn each_scalar_value_may_be_cut_anywhere() {
    let scalars = ('\u{0}'..=char::MAX).step_by(61).chain(['\u{7F}', '\u{800}', '\u{E000}']);
    for scalar in scalars {
        let mut bytes = [0; 4];
        let text = scalar.encode_utf8(&mut bytes).as_bytes();
        assert_eq!(failing_byte(text), None, "{scalar:?}");
    }
}

#[test]
fn binary_is_not_looked_at() {
    let mut joiner = Joiner::default();
    joiner.begin(Kind::Binary);
    joiner.extend(b"\xFF\xFE", None).unwrap();
    assert_eq!(joiner.finish(), Ok(Kind::Binary));
    assert_eq!(joiner.take(), Some(Message::from(vec![0xFF, 0xFE])));
    assert!(!joiner.is_open());
}

#[test]
fn memory_and_work_follow_the_bytes_received() {
    const LEN: usize = 1 << 20;
    let mut joiner = Joiner::default();
    joiner.begin(Kind::Text);
    for received in 1..=LEN {
        joiner.extend(b"x", Some(LEN)).unwrap();
        assert!(joiner.capacity() <= 2 * received);
    }
    assert_eq!(joiner.capacity(), LEN, "the last growth does not overshoot");
    assert!(joiner.work <= 4 * LEN, "{} bytes copied and checked", joiner.work);
}

#[test]
fn fragments_without_payload_are_bounded() {
    for header_len in [2, 6] {
        let mut joiner = Joiner::default();
        joiner.begin(Kind::Text);
        let allowed = EMPTY_FRAGMENTS_BYTES_MAX / header_len;
        for _ in 0..allowed {
            joiner.count_empty(header_len).unwrap();
        }
        assert_eq!(joiner.count_empty(header_len), Err(PeerError::EmptyFragments));
        joiner.forget();
        assert_eq!(joiner.count_empty(header_len), Ok(()), "counted anew for each message");
    }
}

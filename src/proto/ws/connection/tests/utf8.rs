//! Text that is or is not UTF-8: Autobahn's family 6, and that a bad byte fails at once.

use proptest::prelude::*;

use super::*;

/// Sends `bytes` as one frame, in two fragments cut at each place, and in fragments of one byte.
#[track_caller]
fn check_text(bytes: &[u8], is_valid: bool) {
    let expected = match is_valid {
        true => Reply::Text(bytes.to_vec()),
        false => invalid_payload(),
    };
    let expected = std::slice::from_ref(&expected);
    check(&[frame(0x81, bytes)], expected);
    for cut in 0..=bytes.len() {
        check(&[frame(0x01, &bytes[..cut]), frame(0x80, &bytes[cut..])], expected);
    }
    let mut wire = vec![frame(0x01, b"")];
    wire.extend(bytes.chunks(1).map(|byte| frame(0x00, byte)));
    wire.push(frame(0x80, b""));
    check(&wire, expected);
}

#[test]
fn family_6_well_formed() {
    for valid in [
        "Hello-µ@ßöäüàá-UTF-8!!",
        "κόσμε",
        "\0",
        "\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}",
        "\u{D7FF}\u{E000}\u{FFFD}\u{FFFE}\u{FDD0}\u{1FFFE}",
    ] {
        check_text(valid.as_bytes(), true);
    }
}

#[test]
fn family_6_ill_formed() {
    for invalid in [
        &b"\xCE\xBA\xE1\xBD\xB9\xCF\x83\xCE\xBC\xCE\xB5\xED\xA0\x80edited"[..],
        b"\xF8\x88\x80\x80\x80",     // Five bytes.
        b"\xFC\x84\x80\x80\x80\x80", // Six bytes.
        b"\xF7\xBF\xBF\xBF",
        b"\xF4\x90\x80\x80",
        b"\x80",
        b"\xBF\x80\xBF",
        b"\xC0 \xC1 ",
        b"\xE0 ",
        b"\xF0 ",
        b"\xC2",
        b"\xE2\x82",
        b"\xF0\x9F\x92",
        b"\xFE",
        b"\xFF",
        b"\xC0\xAF",
        b"\xE0\x80\xAF",
        b"\xF0\x80\x80\xAF",
        b"\xC1\xBF",
        b"\xE0\x9F\xBF",
        b"\xF0\x8F\xBF\xBF",
        b"\xED\xA0\x80",
        b"\xED\xBF\xBF",
        b"\xED\xA0\x80\xED\xB0\x80", // A pair of surrogates.
    ] {
        check_text(invalid, false);
    }
}

/// Feeds a first part, which must be of no consequence, then a second, which must fail.
#[track_caller]
fn check_fails_with(feeding: Feeding, harmless: &[u8], bad: &[u8]) {
    let (told, _) = play(Options::default(), harmless, feeding);
    assert_eq!(told, [], "{feeding:?}: too early");
    let (told, sent) = play(Options::default(), &[harmless, bad].concat(), feeding);
    assert_eq!(told, [Told::Failed(PeerError::TextUtf8)], "{feeding:?}");
    assert_eq!(sent, [invalid_payload()]);
}

#[test]
fn family_6_4_fails_at_the_first_bad_byte() {
    let (good, bad, rest) =
        (&b"\xCE\xBA\xE1\xBD\xB9\xCF\x83\xCE\xBC\xCE\xB5"[..], b"\xF4\x90", b"edited");
    for feeding in [Feeding::Whole, Feeding::Bytes, Feeding::Split(1), Feeding::Kept(2)] {
        // In a fragment of its own, with more fragments to come.
        let first = frame(0x01, good);
        check_fails_with(feeding, &first, &frame(0x00, bad));
        // In the middle of one frame whose end has not come.
        let whole = frame(0x81, &[good, bad, rest].concat());
        let (until_bad, from_bad) = whole.split_at(whole.len() - rest.len() - 1);
        check_fails_with(feeding, until_bad, &from_bad[..1]);
    }
}

#[test]
fn a_bad_byte_in_a_lent_buffer_fails_at_once() {
    let whole = frame(0x81, &[&[b'x'; 100_000][..], b"\xFF", &[b'x'; 100_000]].concat());
    let mut connection = Connection::new(Role::Server, Options::default());
    let mut head = whole[..20].to_vec();
    assert_eq!(connection.receive(&mut Input::new(&mut head)), None);
    let Fill { mut buffer, want } = connection.take_fill().unwrap();
    assert_eq!((buffer.len(), want), (20 - 14, 200_001 - 6));
    let fresh_from = buffer.len();
    buffer.extend_from_slice(&whole[20..100_014]);
    assert_eq!(connection.receive_filled(buffer, fresh_from), None);
    let Fill { mut buffer, want } = connection.take_fill().unwrap();
    assert_eq!((buffer.len(), want), (100_000, 100_001));
    buffer.extend_from_slice(&whole[100_014..100_015]);
    let event = connection.receive_filled(buffer, 100_000);
    assert_eq!(event, Some(Event::Failed(PeerError::TextUtf8)));
    assert_eq!(connection.held_bytes(), 0);
    assert_eq!(replies(&drain(&mut connection)), [invalid_payload()]);
}

#[test]
fn text_to_send_never_has_ill_formed_sequences() {
    for (bytes, expected) in [
        (&b"plain \xC3\xA4"[..], "plain ä"),
        (b"a\xFFb", "a\u{FFFD}b"),
        (b"\xED\xA0\x80", "\u{FFFD}\u{FFFD}\u{FFFD}"),
        (b"end \xE2\x82", "end \u{FFFD}"),
    ] {
        assert_eq!(text_lossy(bytes), expected);
    }
    assert!(matches!(text_lossy(b"plain"), Cow::Borrowed("plain")));
}

proptest! {
    #[test]
    fn any_bytes_are_judged_as_std_judges_them(
        text: String,
        noise in proptest::collection::vec(any::<u8>(), 0..3),
        at: prop::sample::Index,
        seed: u64,
        cut: prop::sample::Index,
    ) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len() + 1);
        bytes.splice(at..at, noise);
        let expected = match std::str::from_utf8(&bytes) {
            Ok(_) => Reply::Text(bytes.clone()),
            Err(_) => invalid_payload(),
        };
        let cut = cut.index(bytes.len() + 1);
        let fragments = [frame(0x01, &bytes[..cut]), frame(0x80, &bytes[cut..])].concat();
        for wire in [frame(0x81, &bytes), fragments] {
            for feeding in [Feeding::Whole, Feeding::Bytes, Feeding::Split(seed)] {
                let (_, sent) = play(Options::default(), &wire, feeding);
                prop_assert_eq!(&sent, std::slice::from_ref(&expected));
            }
        }
    }
}

//! The case families 1 to 5, 7, 9 and 10 of the Autobahn suite, as rows of our own: what a client
//! sends, what comes back. Family 6 is in `utf8`.

use super::*;

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8A;
/// First fragments and continuations; with FIN they end a message.
const TEXT_PART: u8 = 0x01;
const PART: u8 = 0x00;
const LAST_PART: u8 = 0x80;

fn closing() -> Vec<u8> {
    frame(CLOSE, &status(1000, b""))
}

#[test]
fn family_1_text_and_binary_of_all_header_forms() {
    for len in [0, 1, 125, 126, 127, 128, 65_535, 65_536] {
        let payload = "*".repeat(len);
        check(&[frame(TEXT, payload.as_bytes()), closing()], &[text(&payload), close(1000)]);
        check(&[frame(BINARY, payload.as_bytes()), closing()], &[unsupported_data()]);
        let accepting = Options { binary: Binary::Accept, ..Options::default() };
        let wire = [frame(BINARY, &vec![0xFE; len]), closing()].concat();
        check_with(accepting, &wire, &[Reply::Binary(vec![0xFE; len]), close(1000)]);
    }
}

#[test]
fn family_2_pings_and_pongs() {
    for payload in [&b""[..], b"Hello, world!", b"\x00\xFF\xFE\xFD", &[0xFE; 125]] {
        let told = check(&[frame(PING, payload), closing()], &[pong(payload), close(1000)]);
        assert_eq!(told[0], Told::Ping(payload.len()));
        let told = check(&[frame(PONG, payload), closing()], &[close(1000)]);
        assert_eq!(told[0], Told::Pong);
    }
    check(&[frame(PING, &[0xFE; 126]), closing()], &[protocol_error()]);
    check(&[frame(PONG, b"unasked"), frame(PING, b"asked")], &[pong(b"asked")]);
    let pings: Vec<Vec<u8>> = (0..10).map(|n| frame(PING, &[b'a' + n])).collect();
    let pongs: Vec<Reply> = (0..10).map(|n| pong(&[b'a' + n])).collect();
    check(&pings, &pongs);
}

#[test]
fn family_3_reserved_bits() {
    for bits in 1..8u8 {
        for first in [TEXT, BINARY, CLOSE, PING, PONG, TEXT_PART, PART] {
            let bad = frame(first | bits << 4, b"bad");
            // The good message before it is echoed; the ping behind it is not answered.
            let wire = [frame(TEXT, b"good"), bad, frame(PING, b"")];
            let told = check(&wire, &[text("good"), protocol_error()]);
            assert_eq!(told[1], Told::Failed(PeerError::ReservedBits(bits)));
        }
    }
}

#[test]
fn family_4_reserved_opcodes() {
    for opcode in (0x3..=0x7).chain(0xB..=0xF) {
        for payload in [&b""[..], b"payload"] {
            let wire = [frame(TEXT, b"good"), frame(0x80 | opcode, payload), frame(PING, b"")];
            let told = check(&wire, &[text("good"), protocol_error()]);
            assert_eq!(told[1], Told::Failed(PeerError::ReservedOpcode(opcode)));
        }
    }
}

#[test]
fn family_5_fragments_of_one_message() {
    let (first, last) = (frame(TEXT_PART, b"frag1"), frame(LAST_PART, b"frag2"));
    let ping = frame(PING, b"between");
    check(&[first.clone(), last.clone()], &[text("frag1frag2")]);
    // Answered at once, between the fragments.
    check(&[first.clone(), ping.clone(), last.clone()], &[pong(b"between"), text("frag1frag2")]);
    check(&[first, frame(PONG, b""), frame(PART, b""), last], &[text("frag1frag2")]);
    // Cases 5.19 and 5.20.
    let wire = [
        frame(TEXT_PART, b"1"),
        frame(PART, b"2"),
        ping.clone(),
        frame(PART, b"3"),
        frame(PART, b"4"),
        ping,
        frame(LAST_PART, b"5"),
        closing(),
    ];
    check(&wire, &[pong(b"between"), pong(b"between"), text("12345"), close(1000)]);
    check(&[frame(TEXT_PART, b""), frame(PART, b""), frame(LAST_PART, b"")], &[text("")]);
}

#[test]
fn family_5_fragments_out_of_place() {
    let fragmented = [frame(0x09, b"fragment"), frame(LAST_PART, b"1")];
    check(&fragmented, &[protocol_error()]);
    check(&[frame(0x0A, b"fragment"), frame(LAST_PART, b"1")], &[protocol_error()]);
    check(&[frame(0x08, &status(1000, b""))], &[protocol_error()]);
    for stray in [LAST_PART, PART] {
        let told = check(&[frame(stray, b"stray"), frame(TEXT, b"no")], &[protocol_error()]);
        assert_eq!(told, [Told::Failed(PeerError::UnexpectedContinuation)]);
        // Case 5.15: the good message before it is echoed.
        let good = [frame(TEXT_PART, b"frag1"), frame(LAST_PART, b"frag2")];
        let wire = [good.concat(), frame(stray, b"frag3"), frame(TEXT, b"no")];
        check(&wire, &[text("frag1frag2"), protocol_error()]);
    }
    for (inner, opcode) in [
        (TEXT, Opcode::Text),
        (TEXT_PART, Opcode::Text),
        (BINARY, Opcode::Binary),
        (0x02, Opcode::Binary),
    ] {
        let wire = [frame(TEXT_PART, b"frag1"), frame(inner, b"frag2"), frame(LAST_PART, b"3")];
        let told = check(&wire, &[protocol_error()]);
        assert_eq!(told, [Told::Failed(PeerError::ExpectedContinuation(opcode))]);
    }
}

#[test]
fn family_7_closing_handshakes() {
    let rows: [(&[Vec<u8>], &[Reply]); 7] = [
        (&[frame(TEXT, b"Hello"), closing()], &[text("Hello"), close(1000)]),
        (&[closing(), closing()], &[close(1000)]),
        (&[closing(), frame(PING, b"")], &[close(1000)]),
        (&[closing(), frame(TEXT, b"late")], &[close(1000)]),
        (&[frame(TEXT_PART, b"1"), closing(), frame(LAST_PART, b"2")], &[close(1000)]),
        (&[frame(CLOSE, b"")], &[Reply::Close(None, String::new())]),
        (&[frame(PING, b"x"), frame(CLOSE, b"")], &[pong(b"x"), Reply::Close(None, String::new())]),
    ];
    for (wire, expected) in rows {
        check(wire, expected);
    }
    let long = "*".repeat(256 << 10);
    let wire = [frame(TEXT, long.as_bytes()), closing(), frame(PING, b"")];
    check(&wire, &[text(&long), close(1000)]);
}

#[test]
fn family_7_close_payloads() {
    let close_of = |payload: &[u8], expected: Reply| {
        let told = check(&[frame(CLOSE, payload), frame(TEXT, b"late")], &[expected]);
        assert_eq!(told.len(), 1);
    };
    close_of(b"\x03", protocol_error());
    close_of(&status(1000, b"Hello"), close(1000));
    close_of(&status(1000, &[b'*'; 123]), close(1000));
    close_of(&status(1000, &[b'*'; 124]), protocol_error());
    close_of(&status(1000, b"\xCE\xBA\xE1\xBD\xB9\xCF\x83\xED\xA0\x80"), invalid_payload());
    close_of(&status(1000, b"cut \xC3"), invalid_payload());
    for code in (1000..=1003).chain(1007..=1014).chain([3000, 3999, 4000, 4999]) {
        close_of(&status(code, b""), close(code));
        close_of(&status(code, b"reason"), close(code));
    }
    let forbidden = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535];
    for code in forbidden {
        close_of(&status(code, b""), protocol_error());
        close_of(&status(code, b"reason"), protocol_error());
    }
}

#[test]
fn family_9_large_messages() {
    for len in [64 << 10, 1 << 20, 16 << 20] {
        let payload = "BAsd7&jh23".repeat(len / 10 + 1);
        check(&[frame(TEXT, &payload.as_bytes()[..len])], &[text(&payload[..len])]);
    }
}

#[test]
fn family_9_and_10_many_fragments() {
    // 4 MiB in fragments of 64 bytes are 65,536 of them: their number is not limited.
    for (len, fragment_len) in [(4 << 20, 64), (4 << 20, 64 << 10), (64 << 10, 1), (65_536, 1300)] {
        let payload = "BAsd7&jh23".repeat(len / 10 + 1);
        let mut wire = vec![frame(TEXT_PART, b"")];
        wire.extend(payload.as_bytes()[..len].chunks(fragment_len).map(|part| frame(PART, part)));
        wire.push(frame(LAST_PART, b""));
        check(&wire, &[text(&payload[..len])]);
    }
}

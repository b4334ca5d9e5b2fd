//! Headers in rows: what each reads as, and at which byte.

use super::*;

const MAX: usize = 100 << 20;

/// Reads `bytes` whole and prefix by prefix: the same result, and none before the last byte it
/// needs.
#[track_caller]
fn check(bytes: &[u8], expected: Result<Header, PeerError>) {
    let whole = Header::parse(bytes, MAX).transpose().expect("the row holds enough");
    match whole {
        Ok((header, len)) => {
            assert_eq!((Ok(header), len), (expected, bytes.len()));
            let (encoded, encoded_len) = header.encode();
            assert_eq!(&encoded[..encoded_len], bytes, "written as read");
        }
        Err(error) => assert_eq!(Err(error), expected),
    }
    for end in 0..bytes.len() {
        assert_eq!(Header::parse(&bytes[..end], MAX), Ok(None), "after {end} bytes");
    }
    let longer = [bytes, b"\x81\x00"].concat();
    assert_eq!(Header::parse(&longer, MAX).transpose(), Some(whole), "what follows is not read");
}

fn header(opcode: Opcode, is_final: bool, mask: Option<[u8; 4]>, payload_len: usize) -> Header {
    Header { opcode, is_final, mask, payload_len }
}

#[test]
fn headers() {
    let key = Some(*b"abcd");
    check(b"\x81\x00", Ok(header(Opcode::Text, true, None, 0)));
    check(b"\x01\x7D", Ok(header(Opcode::Text, false, None, 125)));
    check(b"\x82\x85abcd", Ok(header(Opcode::Binary, true, key, 5)));
    check(b"\x00\x7E\x00\x7E", Ok(header(Opcode::Continuation, false, None, 126)));
    check(b"\x80\xFE\xFF\xFFabcd", Ok(header(Opcode::Continuation, true, key, 65_535)));
    check(b"\x81\x7F\0\0\0\0\0\x01\0\0", Ok(header(Opcode::Text, true, None, 65_536)));
    check(b"\x81\xFF\0\0\0\0\x06\x40\0\0abcd", Ok(header(Opcode::Text, true, key, MAX)));
    check(b"\x88\x00", Ok(header(Opcode::Close, true, None, 0)));
    check(b"\x89\xFDabcd", Ok(header(Opcode::Ping, true, key, 125)));
    check(b"\x8A\x00", Ok(header(Opcode::Pong, true, None, 0)));
}

#[test]
fn faults_of_the_first_byte() {
    for bits in 1..8u8 {
        for opcode in 0..16u8 {
            check(&[0x80 | bits << 4 | opcode], Err(PeerError::ReservedBits(bits)));
        }
    }
    for opcode in (0x3..=0x7).chain(0xB..=0xF) {
        check(&[0x80 | opcode], Err(PeerError::ReservedOpcode(opcode)));
        check(&[opcode], Err(PeerError::ReservedOpcode(opcode)));
    }
    check(b"\x08", Err(PeerError::FragmentedControl(Opcode::Close)));
    check(b"\x09", Err(PeerError::FragmentedControl(Opcode::Ping)));
    check(b"\x0A", Err(PeerError::FragmentedControl(Opcode::Pong)));
}

#[test]
fn faults_of_the_length() {
    check(b"\x89\x7E", Err(PeerError::ControlTooLong(Opcode::Ping)));
    check(b"\x88\xFF", Err(PeerError::ControlTooLong(Opcode::Close)));
    check(b"\x81\x7E\x00\x7D", Err(PeerError::LengthNotMinimal(125)));
    check(b"\x81\xFE\x00\x00", Err(PeerError::LengthNotMinimal(0)));
    check(b"\x81\x7F\0\0\0\0\0\0\xFF\xFF", Err(PeerError::LengthNotMinimal(65_535)));
    let lens = [
        (MAX as u64 + 1, PeerError::FrameTooBig(MAX as u64 + 1)),
        (1 << 32, PeerError::FrameTooBig(1 << 32)),
        (i64::MAX as u64, PeerError::FrameTooBig(i64::MAX as u64)),
        (1 << 63, PeerError::LengthTopBit),
        (u64::MAX, PeerError::LengthTopBit),
    ];
    for (len, error) in lens {
        // Found without waiting for the masking key.
        check(&[b"\x82\xFF", &len.to_be_bytes()[..]].concat(), Err(error));
    }
}

#[test]
fn each_rule_has_a_name_and_a_code() {
    for (error, text, code) in [
        (PeerError::ReservedBits(4), "Reserved bits 0x4", 1002),
        (PeerError::ReservedOpcode(3), "Reserved opcode 0x3", 1002),
        (PeerError::ReservedOpcode(0xB), "Reserved opcode 0xB", 1002),
        (PeerError::FragmentedControl(Opcode::Ping), "Fragmented PING frame", 1002),
        (PeerError::ControlTooLong(Opcode::Close), "CLOSE payload over 125 bytes", 1002),
        (PeerError::LengthTopBit, "Payload length with its top bit set", 1002),
        (PeerError::LengthNotMinimal(7), "Payload length 7 in too many bytes", 1002),
        (PeerError::UnmaskedFrame, "Unmasked client frame", 1002),
        (PeerError::MaskedFrame, "Masked server frame", 1002),
        (PeerError::UnexpectedContinuation, "CONTINUATION without a message", 1002),
        (
            PeerError::ExpectedContinuation(Opcode::Text),
            "TEXT frame inside a fragmented message",
            1002,
        ),
        (PeerError::CloseHalfCode, "CLOSE payload of 1 byte", 1002),
        (PeerError::CloseForbiddenCode(1005), "Forbidden close code 1005", 1002),
        (PeerError::CloseReasonUtf8, "CLOSE reason is not UTF-8", 1007),
        (PeerError::TextUtf8, "TEXT message is not UTF-8", 1007),
        (PeerError::BinaryMessage, "BINARY message", 1003),
        (PeerError::FrameTooBig(9), "Frame payload of 9 bytes", 1009),
        (PeerError::MessageTooBig(9), "Message of 9 bytes", 1009),
        (PeerError::EmptyFragments, "Too many fragments without payload", 1009),
    ] {
        assert_eq!((error.to_string().as_str(), error.close_code().get()), (text, code));
    }
}

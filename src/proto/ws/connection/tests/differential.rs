//! The same bytes to another implementation, written by other people: both must tell the same.
//!
//! Known differences, each with its reason:
//! - a forbidden status code: the peer implementation tells a Close and answers 1002; ours fails
//!   with 1002 by RFC 6455 §7.4, which is the same on the wire;
//! - 1014: the other does not know this code, which IANA registered late, and refuses it;
//! - a length in more bytes than it needs: ours fails with 1002 by RFC 6455 §5.2, the other takes
//!   it, so rows that hold one are compared up to it.

use std::io::{self, Read, Write};

use proptest::prelude::*;
use tungstenite::protocol::{self, WebSocket, WebSocketConfig};

use super::*;

/// Bytes to read and then no more for now; what is written is dropped.
struct Wire<'a>(&'a [u8]);

impl Read for Wire<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.0.is_empty() {
            true => Err(io::ErrorKind::WouldBlock.into()),
            false => self.0.read(bytes),
        }
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What both implementations can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Common {
    Text(String),
    Binary(Vec<u8>),
    Ping,
    Pong,
    Close(Option<u16>, String),
    Refused,
}

const LEN_MAX: usize = 300;

fn theirs(wire: &[u8]) -> Vec<Common> {
    let config = WebSocketConfig::default()
        .accept_unmasked_frames(true)
        .max_message_size(Some(LEN_MAX))
        .max_frame_size(Some(LEN_MAX));
    let mut socket = WebSocket::from_raw_socket(Wire(wire), protocol::Role::Server, Some(config));
    let mut told = Vec::new();
    loop {
        told.push(match socket.read() {
            Ok(tungstenite::Message::Text(text)) => Common::Text(text.to_string()),
            Ok(tungstenite::Message::Binary(bytes)) => Common::Binary(bytes.to_vec()),
            Ok(tungstenite::Message::Ping(_)) => Common::Ping,
            Ok(tungstenite::Message::Pong(_)) => Common::Pong,
            Ok(tungstenite::Message::Close(close)) => {
                told.push(match close {
                    None => Common::Close(None, String::new()),
                    Some(close) if close.reason == "Protocol violation" => Common::Refused,
                    Some(close) => Common::Close(Some(close.code.into()), close.reason.to_string()),
                });
                return told;
            }
            Ok(tungstenite::Message::Frame(_)) => unreachable!("never told by a read"),
            Err(tungstenite::Error::Io(error)) => {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                return told;
            }
            Err(_) => {
                told.push(Common::Refused);
                return told;
            }
        });
    }
}

fn ours(wire: &[u8], feeding: Feeding) -> Vec<Common> {
    let options =
        Options { message_bytes_max: LEN_MAX, binary: Binary::Accept, strict_masking: false };
    let (told, _) = play(options, wire, feeding);
    told.into_iter()
        .map(|told| match told {
            Told::Text(text) => Common::Text(text),
            Told::Binary(bytes) => Common::Binary(bytes),
            Told::Ping(_) => Common::Ping,
            Told::Pong => Common::Pong,
            Told::Failed(_) | Told::Close(Some(1014), _) => Common::Refused,
            Told::Close(code, reason) => Common::Close(code, reason),
        })
        .collect()
}

/// One frame, usually a good one.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        6 => Just(0x81u8),
        6 => Just(0x01),
        8 => Just(0x00),
        6 => Just(0x80),
        3 => Just(0x82),
        2 => Just(0x02),
        3 => Just(0x89),
        1 => Just(0x8A),
        1 => Just(0x88),
        1 => any::<u8>(),
    ];
    let payload = prop_oneof![
        8 => "[a-zäß€💩]{0,40}".prop_map(String::into_bytes),
        1 => (prop_oneof![990..1020u16, any::<u16>()], "[a-zä]{0,5}")
            .prop_map(|(code, reason)| status(code, reason.as_bytes())),
        1 => proptest::collection::vec(any::<u8>(), 0..4),
        1 => (120..340usize).prop_map(|len| vec![b'x'; len]),
        // Half a character here, the other half maybe in the next fragment.
        1 => Just(b"\xF0\x9F".to_vec()),
        1 => Just(b"\x92\xA9".to_vec()),
    ];
    (first, payload, any::<bool>()).prop_map(|(first, payload, is_masked)| match is_masked {
        true => frame(first, &payload),
        false => unmasked(first, &payload),
    })
}

fn unmasked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = frame(first, payload);
    let header_len = bytes.len() - payload.len();
    bytes[1] &= 0x7F;
    bytes.splice(header_len - 4.., payload.iter().copied());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn whole_frames_tell_the_same(
        frames in proptest::collection::vec(any_frame(), 1..12),
        seed: u64,
    ) {
        let wire = frames.concat();
        let expected = theirs(&wire);
        for feeding in [
            Feeding::Whole,
            Feeding::Bytes,
            Feeding::Split(seed),
            Feeding::Kept(seed),
            Feeding::Filled(seed),
        ] {
            prop_assert_eq!(&ours(&wire, feeding), &expected, "{:?}", feeding);
        }
    }

    #[test]
    fn a_length_in_too_many_bytes_is_refused_here_only(
        frames in proptest::collection::vec(any_frame(), 0..4),
        len in 0..126u16,
    ) {
        let wire = frames.concat();
        let before = theirs(&wire);
        let is_over =
            before.iter().any(|told| matches!(told, Common::Close(..) | Common::Refused));
        let longer = [&wire[..], &[0x8A, 126], &len.to_be_bytes()].concat();
        let ours = ours(&longer, Feeding::Whole);
        match is_over {
            true => prop_assert_eq!(ours, before),
            false => {
                // A pong may not have the longer form at all; text may not need it.
                prop_assert_eq!(ours.last(), Some(&Common::Refused));
                prop_assert_eq!(&ours[..ours.len() - 1], &before[..]);
            }
        }
    }

    #[test]
    fn noise_never_panics_and_is_judged_alike_however_split(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        frames in proptest::collection::vec(any_frame(), 0..6),
        seed: u64,
    ) {
        let wire = [frames.concat(), bytes].concat();
        let whole = ours(&wire, Feeding::Whole);
        for feeding in [Feeding::Bytes, Feeding::Split(seed), Feeding::Kept(seed)] {
            prop_assert_eq!(&ours(&wire, feeding), &whole, "{:?}", feeding);
        }
    }
}

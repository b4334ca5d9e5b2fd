//! An echo server on the codec, fed in every way there is: whole, byte by byte, split at random,
//! stopped after each event, and straight into lent buffers. All must tell and send the same.

use super::*;

mod autobahn;
mod differential;
mod life;
mod limits;
mod utf8;

/// An event with its own bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Text(String),
    Binary(Vec<u8>),
    Ping(usize),
    Pong,
    Close(Option<u16>, String),
    Failed(PeerError),
}

impl From<Event<'_>> for Told {
    fn from(event: Event<'_>) -> Told {
        match event {
            Event::Text(text) => Told::Text(text.to_owned()),
            Event::Binary(bytes) => Told::Binary(bytes.to_vec()),
            Event::Ping(len) => Told::Ping(len),
            Event::Pong => Told::Pong,
            Event::Close(close) => Told::Close(close.code.map(CloseCode::get), close.reason),
            Event::Failed(error) => Told::Failed(error),
        }
    }
}

/// A frame the server sent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reply {
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
}

fn text(text: &str) -> Reply {
    Reply::Text(text.as_bytes().to_vec())
}

fn pong(payload: &[u8]) -> Reply {
    Reply::Pong(payload.to_vec())
}

fn protocol_error() -> Reply {
    Reply::Close(Some(1002), "Protocol error".to_owned())
}

fn invalid_payload() -> Reply {
    Reply::Close(Some(1007), "Invalid frame payload data".to_owned())
}

fn unsupported_data() -> Reply {
    Reply::Close(Some(1003), "Unsupported data".to_owned())
}

fn too_big() -> Reply {
    Reply::Close(Some(1009), "Message too big".to_owned())
}

fn close(code: u16) -> Reply {
    Reply::Close(Some(code), String::new())
}

/// How bytes reach the codec.
#[derive(Debug, Clone, Copy)]
enum Feeding {
    Whole,
    Bytes,
    /// In random pieces.
    Split(u64),
    /// In random pieces, and the owner keeps the rest after each event.
    Kept(u64),
    /// In random pieces, straight into the message's buffer whenever one is lent.
    Filled(u64),
}

/// A client's frame: the first byte as given, masked, its length in as few bytes as it needs.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    const KEY: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];
    let mut bytes = vec![first];
    match payload.len() {
        len @ 0..=125 => bytes.push(0x80 | len as u8),
        len @ 126..=0xFFFF => {
            bytes.push(0x80 | 126);
            bytes.extend((len as u16).to_be_bytes());
        }
        len => {
            bytes.push(0x80 | 127);
            bytes.extend((len as u64).to_be_bytes());
        }
    }
    bytes.extend(KEY);
    bytes.extend(payload.iter().zip(KEY.iter().cycle()).map(|(byte, key)| byte ^ key));
    bytes
}

/// A close frame's payload.
fn status(code: u16, reason: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes(), reason].concat()
}

/// Pseudo-random numbers that a seed fixes.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Cuts `wire` as the feeding wants it.
fn pieces(wire: &[u8], feeding: Feeding) -> Vec<Vec<u8>> {
    let mut seed = match feeding {
        Feeding::Whole => return vec![wire.to_vec()],
        Feeding::Bytes => return wire.chunks(1).map(<[u8]>::to_vec).collect(),
        Feeding::Split(seed) | Feeding::Kept(seed) | Feeding::Filled(seed) => seed,
    };
    let (mut pieces, mut rest) = (Vec::new(), wire);
    while !rest.is_empty() {
        let size_max = [3, 20, 1_000, 40_000, 300_000][next_random(&mut seed) as usize % 5];
        let len = (1 + next_random(&mut seed) as usize % size_max).min(rest.len());
        pieces.push(rest[..len].to_vec());
        rest = &rest[len..];
    }
    pieces
}

/// Sends all that is queued; empties the queue.
fn drain(connection: &mut Connection) -> Vec<u8> {
    let mut sent = Vec::new();
    while let Some((chunk, front)) = connection.output().pop() {
        sent.extend_from_slice(&chunk[front..]);
    }
    sent
}

/// Echoes `wire`: what was told, and what was sent.
fn play(options: Options, wire: &[u8], feeding: Feeding) -> (Vec<Told>, Vec<Reply>) {
    let mut connection = Connection::new(Role::Server, options);
    let (mut told, mut sent) = (Vec::new(), Vec::new());
    for mut piece in pieces(wire, feeding) {
        let mut bytes = &mut piece[..];
        if let Feeding::Filled(_) = feeding
            && let Some(Fill { mut buffer, want }) = connection.take_fill()
        {
            let (fresh, rest) = bytes.split_at_mut(want.min(bytes.len()));
            let fresh_from = buffer.len();
            buffer.extend_from_slice(fresh);
            told.extend(connection.receive_filled(buffer, fresh_from).map(Told::from));
            connection.send_back(&Input::default());
            bytes = rest;
        }
        let mut input = Input::new(bytes);
        while let Some(event) = connection.receive(&mut input) {
            told.push(Told::from(event));
            connection.send_back(&input);
            if let Feeding::Kept(_) = feeding {
                connection.keep(input);
                input = Input::default();
            }
        }
        assert!(!connection.has_rest() && input.rest().is_empty(), "a None leaves nothing");
        connection.reclaim();
        sent.extend(drain(&mut connection));
    }
    (told, replies(&sent))
}

/// Reads a server's frames, each of which must be whole, final and unmasked.
fn replies(mut sent: &[u8]) -> Vec<Reply> {
    let mut replies = Vec::new();
    while let [first, len, rest @ ..] = sent {
        let (len, rest) = match len {
            0..=125 => (usize::from(*len), rest),
            126 => (usize::from(u16::from_be_bytes(rest[..2].try_into().unwrap())), &rest[2..]),
            127 => (u64::from_be_bytes(rest[..8].try_into().unwrap()) as usize, &rest[8..]),
            128.. => panic!("a server's frame is masked"),
        };
        let payload = rest[..len].to_vec();
        replies.push(match (first, &payload[..]) {
            (0x81, _) => Reply::Text(payload),
            (0x82, _) => Reply::Binary(payload),
            (0x88, []) => Reply::Close(None, String::new()),
            (0x88, [high, low, reason @ ..]) => Reply::Close(
                Some(u16::from_be_bytes([*high, *low])),
                String::from_utf8(reason.to_vec()).unwrap(),
            ),
            (0x89, _) => Reply::Ping(payload),
            (0x8A, _) => Reply::Pong(payload),
            (first, payload) => panic!("unknown frame {first:#x} {payload:x?}"),
        });
        sent = &rest[len..];
    }
    assert!(sent.is_empty());
    replies
}

/// Every feeding that a wire of this length can bear.
fn feedings(len: usize) -> Vec<Feeding> {
    let mut feedings = vec![Feeding::Whole];
    if len <= 200_000 {
        feedings.push(Feeding::Bytes);
    }
    let rounds = if len <= 200_000 { 4 } else { 1 };
    for seed in 0..rounds {
        feedings.extend([Feeding::Split(seed), Feeding::Kept(seed), Feeding::Filled(seed)]);
    }
    feedings
}

/// Echoes `wire` with `options`, fed in every way, and expects the same replies each time.
#[track_caller]
fn check_with(options: Options, wire: &[u8], expected: &[Reply]) -> Vec<Told> {
    let (first_told, _) = play(options, wire, Feeding::Whole);
    for feeding in feedings(wire.len()) {
        let (told, sent) = play(options, wire, feeding);
        // Not by assert_eq: some messages are megabytes.
        assert!(sent == expected, "{feeding:?}: {} {}", brief(&sent), brief(expected));
        assert!(told == first_told, "{feeding:?}: {} {}", brief(&told), brief(&first_told));
    }
    first_told
}

fn brief(list: &[impl std::fmt::Debug]) -> String {
    let mut text = format!("{list:?}");
    text.truncate((0..=text.len().min(400)).rev().find(|&at| text.is_char_boundary(at)).unwrap());
    text
}

/// [`check_with`] the options of the IDE door.
#[track_caller]
fn check(wire: &[Vec<u8>], expected: &[Reply]) -> Vec<Told> {
    check_with(Options::default(), &wire.concat(), expected)
}

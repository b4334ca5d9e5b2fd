//! Limits, memory and linear time: by capacities and counted work, never by the clock.

use super::*;

/// A header alone: no payload follows.
fn header(first: u8, len: u64) -> Vec<u8> {
    [&[first, 0xFF][..], &len.to_be_bytes(), &[1, 2, 3, 4]].concat()
}

fn small(message_bytes_max: usize) -> Options {
    Options { message_bytes_max, ..Options::default() }
}

fn connection() -> Connection {
    Connection::new(Role::Server, Options::default())
}

/// Feeds bytes of which nothing may come yet.
#[track_caller]
fn feed(connection: &mut Connection, bytes: &[u8]) {
    assert_eq!(connection.receive(&mut Input::new(&mut bytes.to_vec())), None);
}

#[test]
fn a_declared_length_allocates_nothing() {
    let accepting = Options { binary: Binary::Accept, ..Options::default() };
    let mut all: Vec<Connection> =
        (0..200).map(|_| Connection::new(Role::Server, accepting)).collect();
    for connection in &mut all {
        feed(connection, &header(0x82, 90 << 20));
        assert_eq!(connection.held_bytes(), 0);
    }
    let told = check_with(accepting, &header(0x82, 1 << 32), &[too_big()]);
    assert_eq!(told, [Told::Failed(PeerError::FrameTooBig(1 << 32))]);
}

#[test]
fn memory_grows_with_the_bytes_received() {
    let mut connection = connection();
    feed(&mut connection, &header(0x81, 90 << 20));
    let mut received = 0;
    for len in (1..2000).step_by(7) {
        // Unmasked this is text: every byte of the key turns into an ASCII character.
        feed(&mut connection, &vec![0x40; len]);
        received += len;
        assert_eq!(connection.unfinished_bytes(), received);
        assert!(connection.held_bytes() <= 2 * received, "{received} received");
    }
    connection.send_close(CloseCode::MESSAGE_TOO_BIG, "Message too big");
    assert_eq!((connection.held_bytes(), connection.unfinished_bytes()), (0, 0));
}

#[test]
fn lengths_at_the_boundaries_of_64_bits() {
    let max = MESSAGE_BYTES_MAX as u64;
    for (len, error) in [
        (max + 1, PeerError::FrameTooBig(max + 1)),
        ((1 << 32) - 1, PeerError::FrameTooBig((1 << 32) - 1)),
        (1 << 32, PeerError::FrameTooBig(1 << 32)),
        ((1 << 63) - 1, PeerError::FrameTooBig((1 << 63) - 1)),
        (1 << 63, PeerError::LengthTopBit),
        (u64::MAX, PeerError::LengthTopBit),
        (65_535, PeerError::LengthNotMinimal(65_535)),
        (0, PeerError::LengthNotMinimal(0)),
    ] {
        let code = error.close_code();
        let reply = Reply::Close(Some(code.get()), code.name().to_owned());
        let told = check(&[header(0x81, len)], std::slice::from_ref(&reply));
        assert_eq!(told, [Told::Failed(error)]);
        // The same after a fragment of one byte.
        let told = check(&[frame(0x01, b"x"), header(0x80, len)], &[reply]);
        assert_eq!(told, [Told::Failed(error)]);
    }
    let told = check(&[frame(0x01, b"x"), header(0x80, max)], &[too_big()]);
    assert_eq!(told, [Told::Failed(PeerError::MessageTooBig(max + 1))]);
}

#[test]
fn fragments_add_up_to_the_limit_and_not_a_byte_more() {
    let part = [b'x'; 100];
    let mut wire = vec![frame(0x01, &part)];
    wire.extend((1..10).map(|_| frame(0x00, &part)));
    let exact = [wire.concat(), frame(0x80, b"")].concat();
    check_with(small(1000), &exact, &[Reply::Text(vec![b'x'; 1000])]);
    let told = check_with(small(999), &exact, &[too_big()]);
    assert_eq!(told, [Told::Failed(PeerError::MessageTooBig(1000))]);
    let over = [wire.concat(), frame(0x80, b"x")].concat();
    let told = check_with(small(1000), &over, &[too_big()]);
    assert_eq!(told, [Told::Failed(PeerError::MessageTooBig(1001))]);
    check_with(small(1000), &frame(0x81, &[b'x'; 1000]), &[Reply::Text(vec![b'x'; 1000])]);
    check_with(small(1000), &frame(0x81, &[b'x'; 1001])[..8], &[too_big()]);
}

#[test]
fn endless_fragments_without_payload_fail() {
    let mut connection = connection();
    feed(&mut connection, &frame(0x01, b""));
    let allowed = crate::proto::ws::message::EMPTY_FRAGMENTS_BYTES_MAX / 6 - 1;
    feed(&mut connection, &frame(0x00, b"").repeat(allowed));
    feed(&mut connection, &frame(0x00, b"payload counts elsewhere"));
    let mut last = frame(0x00, b"");
    let event = connection.receive(&mut Input::new(&mut last)).map(Told::from);
    assert_eq!(event, Some(Told::Failed(PeerError::EmptyFragments)));
    assert_eq!(replies(&drain(&mut connection)), [too_big()]);
}

#[test]
fn binary_is_refused_by_its_header() {
    let told = check(&[header(0x82, 90 << 20)], &[unsupported_data()]);
    assert_eq!(told, [Told::Failed(PeerError::BinaryMessage)]);
    check(&[frame(0x02, b"")], &[unsupported_data()]);
}

/// Feeds `wire` in pieces of `piece_len`, keeping the rest after each event when `is_kept`; the
/// bytes copied, unmasked and checked.
fn work(wire: &[u8], piece_len: usize, is_kept: bool) -> usize {
    let mut connection = connection();
    let mut events = 0;
    for piece in wire.chunks(piece_len) {
        let mut bytes = piece.to_vec();
        let mut input = Input::new(&mut bytes);
        while connection.receive(&mut input).is_some() {
            events += 1;
            if is_kept {
                connection.keep(input);
                input = Input::default();
            }
        }
    }
    assert!(events > 0);
    connection.receiver.work + connection.receiver.joiner.work
}

#[test]
fn time_is_linear_however_the_bytes_are_split() {
    const LEN: usize = 1 << 20;
    let one = frame(0x81, &[b'x'; LEN]);
    for (piece_len, factor_max) in [(usize::MAX, 1), (1, 5), (1000, 5), (64 << 10, 5)] {
        let work = work(&one, piece_len.min(one.len()), false);
        assert!(work <= factor_max * LEN, "{piece_len}: {work}");
    }
    let fragments =
        [frame(0x01, b""), frame(0x00, &[b'x'; 64]).repeat(LEN / 64), frame(0x80, b"")].concat();
    for piece_len in [1, 7, 64 << 10] {
        let work = work(&fragments, piece_len, false);
        assert!(work <= 5 * LEN, "{piece_len}: {work}");
    }
}

#[test]
fn many_small_frames_in_one_read_cost_their_bytes_once() {
    const COUNT: usize = 100_000;
    let wire = frame(0x81, b"small").repeat(COUNT);
    assert_eq!(work(&wire, wire.len(), false), 5 * COUNT);
    // Kept once, then what is left is moved each time half of it is gone.
    let kept = work(&wire, wire.len(), true);
    assert!(kept <= 5 * COUNT + 3 * wire.len(), "{kept}");
}

#[test]
fn a_whole_frame_is_handed_out_where_it_lies() {
    let mut connection = connection();
    let mut bytes = frame(0x81, &[b'x'; 60_000]);
    let place = bytes[8..].as_ptr();
    let mut input = Input::new(&mut bytes);
    let Some(Event::Text(text)) = connection.receive(&mut input) else { panic!("a text") };
    assert_eq!((text.as_ptr(), text.len()), (place, 60_000));
    assert_eq!(connection.held_bytes(), 0);
}

#[test]
fn a_large_message_is_echoed_without_a_copy() {
    const LEN: usize = 16 << 20;
    let wire = frame(0x81, &vec![b'x'; LEN]);
    let mut connection = connection();
    feed(&mut connection, &wire[..1000]);
    let Fill { mut buffer, want } = connection.take_fill().unwrap();
    assert_eq!(want, wire.len() - 1000);
    let fresh_from = buffer.len();
    buffer.extend_from_slice(&wire[1000..]);
    let place = buffer.as_ptr();
    let Some(Event::Text(text)) = connection.receive_filled(buffer, fresh_from) else {
        panic!("a text")
    };
    assert_eq!((text.as_ptr(), text.len()), (place, LEN));
    let message = connection.take_message().unwrap();
    assert_eq!((message.kind(), message.bytes().len()), (Kind::Text, LEN));
    connection.send_message(message);
    let (header, _) = connection.output().pop().unwrap();
    let (payload, _) = connection.output().pop().unwrap();
    assert_eq!(header, [0x81, 127, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!((payload.as_ptr(), payload.len()), (place, LEN));
    assert_eq!(connection.held_bytes(), 0);
    assert!(connection.take_message().is_none());
}

#[test]
fn nothing_is_held_once_a_message_was_handled() {
    for len in [200, 100_000] {
        let mut connection = connection();
        let wire = frame(0x81, &vec![b'x'; len]);
        feed(&mut connection, &wire[..100]);
        let mut rest = wire[100..].to_vec();
        assert!(connection.receive(&mut Input::new(&mut rest)).is_some());
        assert_eq!(connection.unfinished_bytes(), 0);
        // A large buffer goes back for reuse, a small one is freed.
        assert_eq!(
            connection.reclaim().map(|buffer| buffer.capacity()),
            (len > 200).then_some(len)
        );
        assert_eq!(connection.held_bytes(), 0);
        feed(&mut connection, &frame(0x89, b"ping")[..7]);
        let mut rest = frame(0x89, b"ping")[7..].to_vec();
        assert!(connection.receive(&mut Input::new(&mut rest)).is_some());
        assert_eq!(connection.held_bytes(), 0);
    }
}

#[test]
fn an_idle_connection_is_small() {
    // DESIGN's gate is 1 KiB for all of an idle client; the codec takes its share at most.
    assert!(size_of::<Connection>() <= 512, "{}", size_of::<Connection>());
}

#[test]
fn a_lent_buffer_may_come_back_empty_handed() {
    let mut connection = connection();
    let wire = frame(0x81, &[b'x'; 50_000]);
    feed(&mut connection, &wire[..1000]);
    let Fill { buffer, .. } = connection.take_fill().unwrap();
    assert!(connection.take_fill().is_none(), "lent already");
    assert_eq!(connection.unfinished_bytes(), 992);
    assert_eq!(connection.receive_filled(buffer, 992), None);
    feed(&mut connection, &wire[1000..40_000]);
    assert!(connection.take_fill().is_none(), "what lacks is too little");
    let mut rest = wire[40_000..].to_vec();
    assert!(connection.receive(&mut Input::new(&mut rest)).is_some());
}

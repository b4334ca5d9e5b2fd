//! The closing handshake from both ends, back-pressure, roles and masking.

use super::*;

fn server() -> Connection {
    Connection::new(Role::Server, Options::default())
}

/// Feeds `bytes` whole; what was told.
fn feed(connection: &mut Connection, bytes: &[u8]) -> Vec<Told> {
    let mut bytes = bytes.to_vec();
    let mut input = Input::new(&mut bytes);
    let mut told = Vec::new();
    while let Some(event) = connection.receive(&mut input) {
        told.push(Told::from(event));
    }
    told
}

#[test]
fn what_was_parsed_before_a_close_is_answered_before_it() {
    for (last, farewell) in [
        (frame(0x88, &status(1001, b"bye")), close(1001)),
        (frame(0x83, b""), protocol_error()),
        (frame(0x81, b"\xFF"), invalid_payload()),
    ] {
        let mut connection = server();
        let told = feed(&mut connection, &[frame(0x81, b"request"), last].concat());
        assert_eq!(told.len(), 2);
        assert_eq!(connection.phase(), Phase::CloseReceived);
        connection.send_text("answer");
        connection.send_close(CloseCode::GOING_AWAY, "Server shutting down");
        assert_eq!(replies(&drain(&mut connection)), [text("answer"), farewell]);
        assert_eq!(connection.phase(), Phase::Closed);
        connection.send_text("too late");
        connection.send_close(CloseCode::NORMAL, "");
        assert_eq!((connection.queued(), feed(&mut connection, b"anything")), (0, vec![]));
    }
}

#[test]
fn after_our_close_only_the_peers_matters() {
    let mut connection = server();
    feed(&mut connection, &frame(0x01, b"begun"));
    connection.send_text("before");
    connection.send_close(CloseCode::GOING_AWAY, "Server shutting down");
    assert_eq!((connection.phase(), connection.held_bytes()), (Phase::CloseSent, 0));
    connection.send_text_owned("after".to_owned());
    connection.send_ping(b"");
    connection.send_close(CloseCode::NORMAL, "twice");
    let dropped = [
        frame(0x80, b"ended"),
        frame(0x81, b"\xFF"),
        frame(0x82, b"binary"),
        frame(0x89, b"ping"),
        frame(0x81, &[b'x'; 100_000]),
    ]
    .concat();
    for piece in dropped.chunks(1013) {
        assert_eq!(feed(&mut connection, piece), []);
        assert!(connection.take_fill().is_none());
        assert!(connection.held_bytes() <= 125);
    }
    let told = feed(&mut connection, &frame(0x88, &status(1001, b"")));
    assert_eq!(told, [Told::Close(Some(1001), String::new())]);
    assert_eq!(connection.phase(), Phase::Closed);
    let going = Reply::Close(Some(1001), "Server shutting down".to_owned());
    assert_eq!(replies(&drain(&mut connection)), [text("before"), going]);
}

#[test]
fn a_violation_after_our_close_sends_no_second_one() {
    let mut connection = server();
    connection.send_close(CloseCode::INTERNAL_ERROR, "Not reading");
    let told = feed(&mut connection, &frame(0x83, b""));
    assert_eq!(told, [Told::Failed(PeerError::ReservedOpcode(3))]);
    assert_eq!(connection.phase(), Phase::Closed);
    let sent = replies(&drain(&mut connection));
    assert_eq!(sent, [Reply::Close(Some(1011), "Not reading".to_owned())]);
}

#[test]
fn our_close_frees_what_was_kept_and_still_finds_the_next_frame() {
    let mut connection = server();
    let wire = [frame(0x81, b"one"), frame(0x81, b"two"), frame(0x88, b"")].concat();
    let (now, later) = wire.split_at(wire.len() - 3);
    let mut bytes = now.to_vec();
    let mut input = Input::new(&mut bytes);
    assert!(connection.receive(&mut input).is_some());
    connection.keep(input);
    assert!(connection.has_rest());
    connection.send_close(CloseCode::GOING_AWAY, "");
    assert!(!connection.has_rest());
    assert_eq!(connection.held_bytes(), 0);
    assert_eq!(feed(&mut connection, later), [Told::Close(None, String::new())]);
}

#[test]
fn a_close_in_what_was_kept_completes_the_handshake() {
    let mut connection = server();
    let mut bytes = [frame(0x81, b"one"), frame(0x88, b"")].concat();
    let mut input = Input::new(&mut bytes);
    assert!(connection.receive(&mut input).is_some());
    connection.keep(input);
    connection.send_close(CloseCode::GOING_AWAY, "");
    assert_eq!(connection.phase(), Phase::Closed);
}

#[test]
fn our_close_while_a_buffer_is_lent_drops_it() {
    let mut connection = server();
    let wire = [frame(0x81, &[b'x'; 50_000]), frame(0x88, b"")].concat();
    feed(&mut connection, &wire[..1000]);
    let Fill { mut buffer, .. } = connection.take_fill().unwrap();
    connection.send_close(CloseCode::GOING_AWAY, "");
    let fresh_from = buffer.len();
    buffer.extend_from_slice(&wire[1000..20_000]);
    assert_eq!(connection.receive_filled(buffer, fresh_from), None);
    assert_eq!(connection.held_bytes(), 0);
    assert_eq!(feed(&mut connection, &wire[20_000..]), [Told::Close(None, String::new())]);
}

#[test]
fn what_is_kept_comes_before_what_is_read_later() {
    let mut connection = server();
    let wire: Vec<u8> = (0..100).flat_map(|n| frame(0x81, format!("{n}").as_bytes())).collect();
    let mut told = Vec::new();
    for piece in wire.chunks(100) {
        let mut bytes = piece.to_vec();
        let mut input = Input::new(&mut bytes);
        for _ in 0..5 {
            told.extend(connection.receive(&mut input).map(Told::from));
        }
        connection.keep(input);
    }
    assert!(connection.has_rest());
    told.extend(feed(&mut connection, b""));
    assert!(!connection.has_rest());
    assert_eq!(connection.held_bytes(), 0);
    assert_eq!(told, (0..100).map(|n| Told::Text(n.to_string())).collect::<Vec<_>>());
}

#[test]
fn masks_as_each_role_wants_them() {
    let unmasked = b"\x81\x02hi".to_vec();
    check(std::slice::from_ref(&unmasked), &[text("hi")]);
    let strict = Options { strict_masking: true, ..Options::default() };
    check_with(strict, &frame(0x81, b"hi"), &[text("hi")]);
    let told = check_with(strict, &unmasked, &[protocol_error()]);
    assert_eq!(told, [Told::Failed(PeerError::UnmaskedFrame)]);

    let mut client = Connection::new(Role::Client { mask_seed: [7; 16] }, Options::default());
    assert_eq!(feed(&mut client, &unmasked), [Told::Text("hi".to_owned())]);
    let told = feed(&mut client, &frame(0x81, b"hi"));
    assert_eq!(told, [Told::Failed(PeerError::MaskedFrame)]);
}

#[test]
fn a_client_masks_each_frame_with_another_key() {
    let mut client = Connection::new(Role::Client { mask_seed: [7; 16] }, Options::default());
    client.send_text("same");
    client.send_text("same");
    client.send_text_owned("x".repeat(70_000));
    client.send_binary(b"binary");
    client.send_ping(b"ping");
    client.send_close(CloseCode::NORMAL, "done");
    let sent = drain(&mut client);
    assert_eq!((&sent[..2], &sent[10..12]), (&b"\x81\x84"[..], &b"\x81\x84"[..]));
    assert_ne!(sent[2..10], sent[12..20]);

    let options = Options { binary: Binary::Accept, strict_masking: true, ..Options::default() };
    let (told, _) = play(options, &sent, Feeding::Whole);
    let expected = [
        Told::Text("same".to_owned()),
        Told::Text("same".to_owned()),
        Told::Text("x".repeat(70_000)),
        Told::Binary(b"binary".to_vec()),
        Told::Ping(4),
        Told::Close(Some(1000), "done".to_owned()),
    ];
    assert!(told == expected, "{}", brief(&told));
}

#[test]
fn a_servers_frames_on_the_wire() {
    let mut server = Connection::new(Role::Server, Options::default());
    server.send_text("hi");
    server.send_text("");
    server.send_ping(b"");
    assert_eq!((server.queued(), server.is_open()), (8, true));
    assert_eq!(server.output().slices(&mut [std::io::IoSlice::new(&[]); 4]), 1, "one write");
    assert_eq!(drain(&mut server), b"\x81\x02hi\x81\x00\x89\x00");
}

//! The moments between the request and the 101, and between a stall and its confirmation.

use crate::mcp::call::ClientId;
use crate::mcp::door::{Door, Options};
use crate::proto::ws::keepalive::Ticker;
use crate::stdx::Millis;
use crate::transport::client::*;
use crate::transport::token::Token;

const INTERVAL_MS: Millis = 1_000;

const UPGRADE: &str = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n\
                       Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

const EMPTY_CLOSE: [u8; 6] = [0x88, 0x80, 0, 0, 0, 0];

fn rules() -> Rules {
    let door = Door::leak(Options {
        server_name: "footbridge",
        server_version: "1",
        server_title: None,
        server_description: None,
        instructions: None,
        tools: &[],
        outbound_bytes_max: 10_000,
        calls_max: 1,
        held_calls_max: 1,
    });
    Rules {
        policy: DoorPolicy::new(
            None,
            Token::from_random([7; 16]),
            "127.0.0.1".parse().unwrap(),
            &[],
            Vec::new(),
        ),
        door,
        websocket: connection::Options::default(),
        interval_ms: INTERVAL_MS,
    }
}

/// A client whose request is accepted and whose 101 is being written.
fn upgrading(rules: &Rules) -> Client {
    let mut client = Client::new(ClientId(1), 0);
    client.handle_data(&mut UPGRADE.as_bytes().to_vec(), 0, rules, 0);
    client
}

fn outputs(client: &mut Client) -> Vec<Output> {
    std::iter::from_fn(|| client.poll_output()).collect()
}

fn count(outputs: &[Output], is_counted: impl Fn(&Output) -> bool) -> usize {
    outputs.iter().filter(|output| is_counted(output)).count()
}

fn bytes(client: &mut Client) -> Vec<u8> {
    let mut bytes = Vec::new();
    client.take_bytes(&mut |chunks| {
        while let Some((chunk, front)) = chunks.pop() {
            bytes.extend_from_slice(&chunk[front..]);
        }
    });
    bytes
}

#[test]
fn a_client_that_hangs_up_while_its_101_is_written_never_comes() {
    let rules = rules();
    let mut client = upgrading(&rules);
    client.handle_data(&mut EMPTY_CLOSE.to_vec(), 0, &rules, 0);
    client.handle_end(1);
    client.handle_written(0, &rules, 2);
    let outputs = outputs(&mut client);
    assert_eq!(count(&outputs, |output| matches!(output, Output::Came | Output::Left)), 0);
    assert!(!client.is_connected());
}

/// A stalled client that left between the tick and the poll is gone already: nothing is judged, and
/// so nothing is logged or sent.
#[test]
fn a_client_that_left_before_its_stall_was_confirmed_is_skipped() {
    let rules = rules();
    let stalled = Sample { read_total: 1, written_total: 0, queued: 100, is_paused: false };
    for leaves in [
        (|client: &mut Client, rules: &Rules| {
            client.handle_data(&mut EMPTY_CLOSE.to_vec(), 0, rules, 9);
        }) as fn(&mut Client, &Rules),
        |client, rules| client.handle_data(&mut [0x83, 0x80, 0, 0, 0, 0], 0, rules, 9),
        |client, _| client.handle_end(9),
        |client, _| client.handle_failure(&std::io::Error::other("reset")),
    ] {
        let mut client = upgrading(&rules);
        client.handle_written(0, &rules, 0);
        client.begin_keepalive(Sample { queued: 0, ..stalled }, 0);
        let mut ticker = Ticker::new(INTERVAL_MS);
        let mut now = 0;
        let asks = std::iter::from_fn(|| {
            now += INTERVAL_MS;
            let read_total = stalled.read_total + now;
            Some(client.tick(ticker.tick(now), Sample { read_total, ..stalled }, now))
        })
        .take(4)
        .any(|asks| asks);
        assert!(asks, "a stall must ask for its confirmation");
        leaves(&mut client, &rules);
        assert_eq!(count(&outputs(&mut client), |output| matches!(output, Output::Left)), 1);
        bytes(&mut client);
        client.confirm(stalled, now);
        assert!(outputs(&mut client).is_empty());
        assert_eq!(bytes(&mut client), b"");
    }
}

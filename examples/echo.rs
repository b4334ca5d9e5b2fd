//! A WebSocket echo server on footbridge's reactor and codec, for outside suites and load clients.
//!
//! Text comes back as it came, a binary message is answered with Close 1003, everything else is the
//! codec's. `--port N` fixes the port (0 = any free one); the first line on stdout names it. A client
//! that does not read is not read from; there is no keep-alive, no token and no session.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;

use footbridge::proto::http::head::{HeadReader, Progress};
use footbridge::proto::ws::connection::{Connection, Event as Message, Input, Options, Role};
use footbridge::proto::ws::handshake;
use footbridge::reactor::event::Event;
use footbridge::reactor::sys::real::RealKernel;
use footbridge::reactor::{self, PortRange, Reactor, StreamId, Tag};
use footbridge::stdx::chunks::Chunks;
use footbridge::stdx::slots::{Key, Slots};

/// Whose handle it is: a client's, or the listener's.
#[derive(Debug, Clone, Copy)]
struct Owner(Option<Key>);

impl Tag for Owner {}

/// What a client's socket needs after an event.
#[derive(Default)]
struct Wants {
    adopt: Option<StreamId>,
    finish: bool,
    close: bool,
}

struct Client {
    stream: StreamId,
    state: State,
    bytes: Chunks,
    is_paused: bool,
}

enum State {
    Head(HeadReader),
    Open(Box<Connection>),
    Leaving,
}

/// A client that leaves more than this unread is not read from.
const QUEUE_HIGH_BYTES: usize = 4 << 20;

fn main() -> ExitCode {
    match port().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("echo: {error}");
            ExitCode::FAILURE
        }
    }
}

//! A WebSocket echo server on footbridge's reactor and codec, for outside suites and load clients.
//!
//! Text comes back as it came, a binary message is answered with Close 1003, everything else is the
//! codec's. `--port N` fixes the port (0 = any free one); the first line on stdout names it. A client
//! that does not read is not read from; there is no keep-alive, no token and no session.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;

use footbridge::proto::http::head::{HeadReader, Limits, Progress};
use footbridge::proto::ws::connection::{Connection, Event as Message, Input, Options, Role};
use footbridge::proto::ws::handshake;
use footbridge::reactor::sys::real::RealKernel;
use footbridge::reactor::{self, Event, PortRange, Reactor, StreamId, Tag};
use footbridge::stdx::chunks::Chunks;
use footbridge::stdx::slots::{Key, Slots};

/// Whose handle it is: a client's, or the listener's.
#[derive(Debug, Clone, Copy)]
struct Owner(Option<Key>);

impl Tag for Owner {}

struct Client {
    stream: StreamId,
    state: State,
    bytes: Chunks,
    is_paused: bool,
}

enum State {
    Head(HeadReader),
    Open(Box<Connection>),
    /// Nothing more is read; the socket closes once everything is written and the peer is gone.
    Leaving,
    Gone,
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

fn port() -> io::Result<u16> {
    let mut arguments = std::env::args().skip(1);
    let port = match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => Some(0),
        (Some("--port"), Some(port)) => port.parse().ok(),
        (Some(_), _) => None,
    };
    port.ok_or_else(|| io::Error::other("usage: echo [--port N]"))
}

fn run(port: u16) -> io::Result<()> {
    let marks = reactor::Options { queue_high_bytes: QUEUE_HIGH_BYTES, queue_low_bytes: 1 << 20 };
    let mut reactor = Reactor::new(RealKernel::new()?, marks)?;
    let ports = PortRange { min: port, max: port };
    let (_, port) = reactor
        .listen(Owner(None), IpAddr::V4(Ipv4Addr::LOCALHOST), ports)
        .map_err(io::Error::other)?;
    println!("listening on 127.0.0.1:{port}");
    let mut clients: Slots<Client> = Slots::default();
    while let Some(event) = reactor.next()? {
        let touched = match event {
            Event::Accepted { stream, .. } => {
                let state = State::Head(HeadReader::new(Limits::default()));
                let bytes = Chunks::default();
                let key = clients.insert(Client { stream, state, bytes, is_paused: false });
                reactor.set_owner(stream, Owner(Some(key)));
                continue;
            }
            Event::Data { owner, bytes, .. } => {
                act(&mut clients, owner, |client| client.receive(bytes))
            }
            Event::Filled { owner, buffer, fresh_from, .. } => {
                act(&mut clients, owner, |client| client.receive_filled(buffer, fresh_from))
            }
            Event::Drained { owner, .. } => act(&mut clients, owner, Client::resume),
            Event::End { owner, .. } | Event::Failed { owner, .. } => {
                act(&mut clients, owner, |client| client.state = State::Gone)
            }
            _ => None,
        };
        if let Some(key) = touched {
            settle(&mut reactor, &mut clients, key);
        }
    }
    Ok(())
}

fn act(clients: &mut Slots<Client>, owner: Owner, act: impl FnOnce(&mut Client)) -> Option<Key> {
    let key = owner.0?;
    act(clients.get_mut(key)?);
    Some(key)
}

/// Hands what the client has to say to the reactor.
fn settle(reactor: &mut Reactor<RealKernel, Owner>, clients: &mut Slots<Client>, key: Key) {
    let Some(client) = clients.get_mut(key) else { return };
    let stream = client.stream;
    reactor.write_chunks(stream, &mut client.bytes);
    match &mut client.state {
        State::Head(_) => {}
        State::Open(connection) => {
            reactor.write_chunks(stream, connection.output());
            let is_crowded = reactor.queued(stream) > QUEUE_HIGH_BYTES;
            if is_crowded != client.is_paused {
                client.is_paused = is_crowded;
                match is_crowded {
                    true => reactor.pause_reads(stream),
                    false => reactor.resume_reads(stream),
                }
            }
            if let Some(buffer) = connection.reclaim() {
                reactor.give_back(buffer);
            }
            if let Some(fill) = connection.take_fill() {
                reactor.fill(stream, fill.buffer, fill.want);
            }
        }
        State::Leaving => {
            reactor.discard_reads(stream);
            reactor.shutdown_write(stream);
        }
        State::Gone => {
            reactor.close(stream);
            clients.remove(key);
        }
    }
}

impl Client {
    fn receive(&mut self, bytes: &mut [u8]) {
        match &mut self.state {
            State::Head(reader) => match reader.feed(bytes) {
                Progress::NeedMore => {}
                Progress::Failed(error) => self.refuse(error.reason()),
                Progress::Complete { request, consumed } => {
                    match handshake::validate_upgrade(&request) {
                        Ok(upgrade) => self.open(&upgrade.response(), &mut bytes[consumed..]),
                        Err(rejection) => self.refuse(rejection.reason()),
                    }
                }
            },
            State::Open(connection) => {
                if !echo(connection, Input::new(bytes)) {
                    self.leave();
                }
            }
            State::Leaving | State::Gone => {}
        }
    }

    fn receive_filled(&mut self, buffer: Vec<u8>, fresh_from: usize) {
        let State::Open(connection) = &mut self.state else { return };
        let is_going_on = match connection.receive_filled(buffer, fresh_from) {
            None | Some(Message::Binary(_) | Message::Ping(_) | Message::Pong) => true,
            Some(Message::Text(_)) => {
                connection.send_back(&Input::default());
                true
            }
            Some(Message::Close(_) | Message::Failed(_)) => false,
        };
        if !is_going_on {
            self.leave();
        }
    }

    fn resume(&mut self) {
        self.receive(&mut []);
    }

    fn open(&mut self, response: &[u8], rest: &mut [u8]) {
        self.bytes.push(response);
        self.state = State::Open(Box::new(Connection::new(Role::Server, Options::default())));
        self.receive(rest);
    }

    fn refuse(&mut self, reason: &str) {
        let length = reason.len();
        let head = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: ";
        self.bytes.push(format!("{head}{length}\r\n\r\n{reason}").as_bytes());
        self.state = State::Leaving;
    }

    fn leave(&mut self) {
        if let State::Open(connection) = &mut self.state {
            self.bytes.append(connection.output());
        }
        self.state = State::Leaving;
    }
}

/// Echoes the messages in `input`; false when the connection is over. The rest is kept when the
/// replies already fill the queue.
fn echo(connection: &mut Connection, mut input: Input<'_>) -> bool {
    loop {
        match connection.receive(&mut input) {
            None => return true,
            Some(Message::Text(_)) => connection.send_back(&input),
            Some(Message::Binary(_) | Message::Ping(_) | Message::Pong) => {}
            Some(Message::Close(_) | Message::Failed(_)) => return false,
        }
        if connection.queued() > QUEUE_HIGH_BYTES {
            connection.keep(input);
            return true;
        }
    }
}

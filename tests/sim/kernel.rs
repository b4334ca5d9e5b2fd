//! A simulated kernel: virtual time, finite buffers, edge-triggered readiness, faults on demand.
//!
//! Readiness works as epoll's ready list does: something that happens to an object puts its token
//! on the list, and the poll tells the state it finds then, once. Nothing is told again until
//! something happens again. When a poll would sleep, time jumps to the next thing on the agenda or
//! to the end of the sleep; a sleep without end is an error, since nothing could end it.
//!
//! Peers are the far ends of wires. They act only when told to, now or by the agenda. A loop that is
//! owned by what is under test is taken back by a halt: its next poll that would sleep fails.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use footbridge::effect::{Command, FileError};
use footbridge::reactor::sys::{Bell, LongRead, Object, Ready, Token};
use footbridge::reactor::{Exit, HeldFile, Kernel, Signal};
use footbridge::stdx::Millis;

use crate::disk::Disk;

/// The far end of a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer(pub(crate) usize);

/// What a peer finds when it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Received {
    Bytes(Vec<u8>),
    Nothing,
    End,
    Reset,
}

/// Something that happens later, by itself.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Send(Peer, Vec<u8>),
    Receive(Peer, usize),
    Finish(Peer),
    Exit(Object, Exit),
    Signal(Signal),
    /// The machine sleeps that long, in the middle of a poll, on a clock that goes on.
    Sleep(Millis),
    /// See [`SimKernel::halt_when_idle`].
    Halt,
}

/// What goes wrong, or goes slowly.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    /// Opening a descriptor fails with EMFILE unless the spare one was given up.
    pub(crate) out_of_descriptors: bool,
    /// So many polls are interrupted first, each after `interrupt_after_ms`.
    pub(crate) interrupts: u32,
    pub(crate) interrupt_after_ms: Millis,
    /// Most bytes one read or write moves.
    pub(crate) read_bytes_max: usize,
    pub(crate) write_bytes_max: usize,
}

/// The whole simulated system.
pub(crate) struct SimKernel {
    pub(crate) faults: Faults,
    /// The timeouts of all polls so far.
    pub(crate) polls: Vec<Option<Millis>>,
    /// The number of writes so far.
    pub(crate) writes: usize,
    /// Programs started so far.
    pub(crate) started: Vec<Command>,
    now: Millis,
    /// When the last poll began, and how many before it began at the same time.
    polled_at: Millis,
    polls_of_now: u32,
    random: u64,
    things: Vec<Option<Thing>>,
    wires: Vec<Wire>,
    agenda: BTreeMap<(Millis, u64), Act>,
    acts_planned: u64,
    ready: VecDeque<Token>,
    bell: Option<(Token, Arc<AtomicBool>)>,
    signals_token: Option<Token>,
    signals: Vec<Signal>,
    has_spare: bool,
    disk: Disk,
    /// The next poll that would sleep fails.
    is_halting: bool,
    /// The poll under way returns although nothing is ready, as a real one may.
    is_woken: bool,
}

enum Thing {
    Listener { port: u16, waiting: VecDeque<usize>, token: Option<Token> },
    Stream { wire: usize, token: Option<Token> },
    Process { exit: Option<Exit>, token: Option<Token> },
}

/// Both directions between one stream and one peer.
#[derive(Debug)]
struct Wire {
    to_stream: Pipe,
    to_peer: Pipe,
    /// The stream's object, once accepted and until closed.
    object: Option<Object>,
    /// The stream was closed; its last bytes may still be on the wire.
    is_closed: bool,
    is_reset: bool,
    /// The stream learnt of the reset.
    is_reset_told: bool,
}

#[derive(Debug)]
struct Pipe {
    bytes: VecDeque<u8>,
    is_finished: bool,
    /// A write was refused since there was room.
    is_awaited: bool,
}

/// Bytes each direction of a wire holds.
pub(crate) const PIPE_BYTES: usize = 1 << 20;

/// Polls within one millisecond; far more than any scenario needs.
const POLLS_OF_NOW_MAX: u32 = 100_000;

/// What an unusual descriptor shortage is called on Linux and macOS.
const EMFILE: i32 = 24;

impl SimKernel {
    pub(crate) fn new(seed: u64) -> SimKernel {
        SimKernel::on(Disk::default(), seed)
    }

    /// A kernel over a disk that others have written to, or will.
    pub(crate) fn on(disk: Disk, seed: u64) -> SimKernel {
        SimKernel {
            faults: Faults {
                out_of_descriptors: false,
                interrupts: 0,
                interrupt_after_ms: 0,
                read_bytes_max: usize::MAX,
                write_bytes_max: usize::MAX,
            },
            polls: Vec::new(),
            writes: 0,
            started: Vec::new(),
            now: 1000,
            polled_at: 0,
            polls_of_now: 0,
            random: seed,
            things: Vec::new(),
            wires: Vec::new(),
            agenda: BTreeMap::new(),
            acts_planned: 0,
            ready: VecDeque::new(),
            bell: None,
            signals_token: None,
            signals: Vec::new(),
            has_spare: true,
            disk,
            is_halting: false,
            is_woken: false,
        }
    }

    /// Has the next poll that would sleep fail with [`is_halt`], once.
    pub(crate) fn halt_when_idle(&mut self) {
        self.is_halting = true;
    }

    /// Time passes without the loop turning.
    pub(crate) fn pass(&mut self, ms: Millis) {
        self.now += ms;
    }

    /// Has `act` happen `after_ms` from now.
    pub(crate) fn plan(&mut self, after_ms: Millis, act: Act) {
        self.acts_planned += 1;
        self.agenda.insert((self.now + after_ms, self.acts_planned), act);
    }

    /// Descriptors open, the spare one left out.
    pub(crate) fn open_objects(&self) -> usize {
        self.things.iter().flatten().count()
    }

    pub(crate) fn put_file(&mut self, path: &str, bytes: &[u8]) {
        self.disk.put(path, bytes);
    }

    /// Whether the other end of the peer's wire is open; also while it waits to be accepted.
    pub(crate) fn is_open(&self, peer: Peer) -> bool {
        let wire = &self.wires[peer.0];
        !wire.is_reset && !wire.is_closed
    }

    /// A peer connects; `None` when nobody listens there.
    pub(crate) fn connect(&mut self, port: u16) -> Option<Peer> {
        let wire = self.wires.len();
        let token = self.things.iter_mut().flatten().find_map(|thing| match thing {
            Thing::Listener { port: open, waiting, token } if *open == port => {
                waiting.push_back(wire);
                Some(*token)
            }
            _ => None,
        })?;
        self.wires.push(Wire {
            to_stream: Pipe::new(),
            to_peer: Pipe::new(),
            object: None,
            is_closed: false,
            is_reset: false,
            is_reset_told: false,
        });
        self.tell(token);
        Some(Peer(wire))
    }

    /// The peer sends what fits; returns how much did.
    pub(crate) fn send(&mut self, peer: Peer, bytes: &[u8]) -> usize {
        let wire = &mut self.wires[peer.0];
        if wire.is_reset || wire.to_stream.is_finished {
            return 0;
        }
        let count = bytes.len().min(wire.to_stream.room());
        wire.to_stream.bytes.extend(&bytes[..count]);
        if count > 0 {
            self.tell_wire(peer);
        }
        count
    }

    /// The peer reads; room made may tell the stream that it can write again.
    pub(crate) fn receive(&mut self, peer: Peer, bytes_max: usize) -> Received {
        let wire = &mut self.wires[peer.0];
        if wire.is_reset {
            return Received::Reset;
        }
        if wire.to_peer.bytes.is_empty() {
            return if wire.to_peer.is_finished { Received::End } else { Received::Nothing };
        }
        let count = bytes_max.min(wire.to_peer.bytes.len());
        let bytes = wire.to_peer.bytes.drain(..count).collect();
        // As Linux does, told only when a third of the buffer is free again.
        if wire.to_peer.is_awaited && wire.to_peer.room() * 3 >= PIPE_BYTES {
            wire.to_peer.is_awaited = false;
            self.tell_wire(peer);
        }
        Received::Bytes(bytes)
    }

    /// The peer sends its end.
    pub(crate) fn finish(&mut self, peer: Peer) {
        self.wires[peer.0].to_stream.is_finished = true;
        self.tell_wire(peer);
    }

    /// The peer resets the connection: what is on the wire is lost.
    pub(crate) fn reset(&mut self, peer: Peer) {
        let wire = &mut self.wires[peer.0];
        wire.is_reset = true;
        wire.to_stream.bytes.clear();
        wire.to_peer.bytes.clear();
        self.tell_wire(peer);
    }

    pub(crate) fn end_process(&mut self, object: Object, status: Exit) {
        if let Some(Some(Thing::Process { exit, token })) = self.things.get_mut(object.0 as usize) {
            *exit = Some(status);
            let token = *token;
            self.tell(token);
        }
    }

    pub(crate) fn raise(&mut self, signal: Signal) {
        self.signals.push(signal);
        self.tell(self.signals_token);
    }

    fn tell_wire(&mut self, peer: Peer) {
        let token = self.wires[peer.0].object.and_then(|object| self.token_of(object));
        self.tell(token);
    }

    fn token_of(&self, object: Object) -> Option<Token> {
        match self.things.get(object.0 as usize)?.as_ref()? {
            Thing::Listener { token, .. }
            | Thing::Stream { token, .. }
            | Thing::Process { token, .. } => *token,
        }
    }

    fn tell(&mut self, token: Option<Token>) {
        if let Some(token) = token
            && !self.ready.contains(&token)
        {
            self.ready.push_back(token);
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Send(peer, bytes) => drop(self.send(peer, &bytes)),
            Act::Receive(peer, bytes_max) => drop(self.receive(peer, bytes_max)),
            Act::Finish(peer) => self.finish(peer),
            Act::Exit(object, exit) => self.end_process(object, exit),
            Act::Signal(signal) => self.raise(signal),
            Act::Sleep(ms) => self.now += ms,
            Act::Halt => (self.is_halting, self.is_woken) = (true, true),
        }
    }

    /// Does what the agenda has up to now.
    fn catch_up(&mut self) {
        while let Some((&(due, number), _)) = self.agenda.first_key_value()
            && due <= self.now
        {
            let act = self.agenda.remove(&(due, number)).expect("it was just seen");
            self.act(act);
        }
    }

    /// Tells what is on the ready list, each in the state it has now.
    fn collect(&mut self, ready: &mut Vec<Ready>) {
        while let Some(token) = self.ready.pop_front() {
            ready.extend(self.state_of(token));
        }
        if let Some((token, is_rung)) = &self.bell
            && is_rung.swap(false, Ordering::AcqRel)
        {
            ready.push(readable(*token));
        }
    }

    fn state_of(&self, token: Token) -> Option<Ready> {
        if Some(token) == self.signals_token {
            return (!self.signals.is_empty()).then(|| readable(token));
        }
        let thing = self.things.iter().flatten().find(|thing| match thing {
            Thing::Listener { token: own, .. }
            | Thing::Stream { token: own, .. }
            | Thing::Process { token: own, .. } => *own == Some(token),
        })?;
        match thing {
            Thing::Listener { waiting, .. } => (!waiting.is_empty()).then(|| readable(token)),
            Thing::Process { exit, .. } => exit.is_some().then(|| readable(token)),
            Thing::Stream { wire, .. } => {
                let wire = &self.wires[*wire];
                let is_read_closed = wire.is_reset || wire.to_stream.is_finished;
                let is_readable = is_read_closed || !wire.to_stream.bytes.is_empty();
                let is_writable = wire.is_reset || wire.to_peer.room() * 3 >= PIPE_BYTES;
                (is_readable || is_writable).then_some(Ready {
                    token,
                    is_readable,
                    is_writable,
                    is_read_closed,
                })
            }
        }
    }

    fn insert(&mut self, thing: Thing) -> Object {
        let free = self.things.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            self.things.push(None);
            self.things.len() - 1
        });
        self.things[index] = Some(thing);
        Object(u32::try_from(index).unwrap())
    }

    fn wire_of(&mut self, object: Object) -> &mut Wire {
        match &self.things[object.0 as usize] {
            Some(Thing::Stream { wire, .. }) => &mut self.wires[*wire],
            Some(Thing::Listener { .. } | Thing::Process { .. }) | None => {
                panic!("the reactor used an object that is no open stream")
            }
        }
    }
}

impl Pipe {
    fn new() -> Pipe {
        Pipe { bytes: VecDeque::new(), is_finished: false, is_awaited: false }
    }

    fn room(&self) -> usize {
        PIPE_BYTES - self.bytes.len()
    }
}

impl Wire {
    /// The error of a stream whose peer reset it: told once by name, then as a broken pipe.
    fn reset_error(&mut self) -> io::Error {
        match std::mem::replace(&mut self.is_reset_told, true) {
            false => io::ErrorKind::ConnectionReset.into(),
            true => io::ErrorKind::BrokenPipe.into(),
        }
    }
}

const HALT: &str = "the simulation halts";

/// Whether a poll failed because the simulation wants the loop back.
pub(crate) fn is_halt(error: &io::Error) -> bool {
    error.to_string() == HALT
}

fn readable(token: Token) -> Ready {
    Ready { token, is_readable: true, is_writable: false, is_read_closed: false }
}

impl Kernel for SimKernel {
    const SHORT_READ_DRAINS: bool = true;

    fn monotonic_ms(&mut self) -> Millis {
        self.now
    }

    fn wall_ms(&mut self) -> u64 {
        1_700_000_000_000 + self.now
    }

    fn fill_random(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        for byte in bytes {
            // Knuth's MMIX generator; the high bits are the good ones.
            self.random = self
                .random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *byte = (self.random >> 56) as u8;
        }
        Ok(())
    }

    fn pid(&self) -> u32 {
        4711
    }

    fn raise_descriptor_limit(&mut self) -> u64 {
        1 << 20
    }

    fn poll(&mut self, timeout_ms: Option<Millis>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.polls.push(timeout_ms);
        self.polls_of_now = if self.polled_at == self.now { self.polls_of_now + 1 } else { 0 };
        self.polled_at = self.now;
        assert!(self.polls_of_now < POLLS_OF_NOW_MAX, "the loop turns and turns");
        if self.faults.interrupts > 0 {
            self.faults.interrupts -= 1;
            self.now += self.faults.interrupt_after_ms;
            return Err(io::ErrorKind::Interrupted.into());
        }
        let wake = timeout_ms.map(|timeout_ms| self.now.saturating_add(timeout_ms));
        loop {
            self.catch_up();
            self.collect(ready);
            let is_woken = std::mem::take(&mut self.is_woken);
            if is_woken || !ready.is_empty() || wake.is_some_and(|wake| wake <= self.now) {
                return Ok(());
            }
            if std::mem::take(&mut self.is_halting) {
                return Err(io::Error::other(HALT));
            }
            let next_act = self.agenda.first_key_value().map(|(&(due, _), _)| due);
            match [wake, next_act].into_iter().flatten().min() {
                Some(time) => self.now = time,
                None => return Err(io::Error::other("the loop would sleep for ever")),
            }
        }
    }

    fn bell(&mut self, token: Token) -> io::Result<Bell> {
        let is_rung = Arc::new(AtomicBool::new(false));
        self.bell = Some((token, is_rung.clone()));
        Ok(Arc::new(move || is_rung.store(true, Ordering::Release)))
    }

    fn register(&mut self, object: Object, under: Token) -> io::Result<()> {
        match self.things[object.0 as usize].as_mut().expect("only open objects are registered") {
            Thing::Listener { token, .. }
            | Thing::Stream { token, .. }
            | Thing::Process { token, .. } => *token = Some(under),
        }
        self.tell(Some(under));
        Ok(())
    }

    fn close(&mut self, object: Object) {
        let thing = self.things[object.0 as usize].take().expect("an object is closed once");
        match thing {
            Thing::Stream { wire, .. } => {
                let wire = &mut self.wires[wire];
                wire.object = None;
                wire.is_closed = true;
                // Bytes that came and were not read make the system answer with a reset, which
                // also destroys what was sent before.
                if wire.to_stream.bytes.is_empty() {
                    wire.to_peer.is_finished = true;
                } else {
                    wire.is_reset = true;
                }
            }
            Thing::Listener { waiting, .. } => {
                for wire in waiting {
                    self.wires[wire].is_reset = true;
                }
            }
            Thing::Process { .. } => {}
        }
    }

    fn listen(&mut self, _: IpAddr, port: u16) -> io::Result<(Object, u16)> {
        let is_taken = |wanted: u16| {
            self.things
                .iter()
                .flatten()
                .any(|thing| matches!(thing, Thing::Listener { port, .. } if *port == wanted))
        };
        let port = match port {
            0 => (40_000..).find(|&port| !is_taken(port)).unwrap(),
            port if is_taken(port) => return Err(io::ErrorKind::AddrInUse.into()),
            port => port,
        };
        let listener = Thing::Listener { port, waiting: VecDeque::new(), token: None };
        Ok((self.insert(listener), port))
    }

    fn accept(&mut self, listener: Object) -> io::Result<(Object, SocketAddr)> {
        let is_short = self.faults.out_of_descriptors && self.has_spare;
        let Some(Some(Thing::Listener { waiting, .. })) = self.things.get_mut(listener.0 as usize)
        else {
            panic!("the reactor accepts from an object that is no open listener");
        };
        if waiting.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if is_short {
            return Err(io::Error::from_raw_os_error(EMFILE));
        }
        let wire = waiting.pop_front().expect("checked above");
        let object = self.insert(Thing::Stream { wire, token: None });
        self.wires[wire].object = Some(object);
        let port = 50_000 + u16::try_from(wire % 10_000).unwrap();
        Ok((object, SocketAddr::from((Ipv4Addr::LOCALHOST, port))))
    }

    fn read(&mut self, stream: Object, into: &mut Vec<u8>, bytes_max: usize) -> io::Result<usize> {
        let room = bytes_max.min(into.capacity() - into.len()).min(self.faults.read_bytes_max);
        assert!(room > 0, "a read without room cannot be told from the end");
        let wire = self.wire_of(stream);
        if wire.is_reset {
            return Err(wire.reset_error());
        }
        let count = room.min(wire.to_stream.bytes.len());
        if count == 0 && !wire.to_stream.is_finished {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        into.extend(wire.to_stream.bytes.drain(..count));
        // Cut short by the fault: the rest counts as bytes that came right after.
        if count == self.faults.read_bytes_max && !self.wire_of(stream).to_stream.bytes.is_empty() {
            self.tell(self.token_of(stream));
        }
        Ok(count)
    }

    fn write(&mut self, stream: Object, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.writes += 1;
        let most = self.faults.write_bytes_max;
        let wire = self.wire_of(stream);
        if wire.is_reset {
            return Err(wire.reset_error());
        }
        if wire.to_peer.is_finished {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = wire.to_peer.room().min(most);
        if room == 0 {
            wire.to_peer.is_awaited = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut left = room;
        for slice in slices {
            let part = &slice[..slice.len().min(left)];
            wire.to_peer.bytes.extend(part);
            left -= part.len();
        }
        Ok(room - left)
    }

    fn shutdown_write(&mut self, stream: Object) -> io::Result<()> {
        self.wire_of(stream).to_peer.is_finished = true;
        Ok(())
    }

    fn release_spare(&mut self) {
        self.has_spare = false;
    }

    fn reserve_spare(&mut self) {
        self.has_spare = true;
    }

    fn spawn(&mut self, command: &Command) -> io::Result<Object> {
        if command.argv.is_empty() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.started.push(command.clone());
        Ok(self.insert(Thing::Process { exit: None, token: None }))
    }

    fn reap(&mut self, process: Object) -> io::Result<Option<Exit>> {
        match &self.things[process.0 as usize] {
            Some(Thing::Process { exit, .. }) => Ok(*exit),
            Some(Thing::Listener { .. } | Thing::Stream { .. }) | None => {
                panic!("the reactor reaped an object that is no process")
            }
        }
    }

    fn watch_signals(&mut self, token: Token) -> io::Result<()> {
        self.signals_token = Some(token);
        Ok(())
    }

    fn take_signals(&mut self, signals: &mut Vec<Signal>) {
        signals.append(&mut self.signals);
    }

    fn read_file(&mut self, path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
        self.disk.read(path, bytes_max)
    }

    fn read_long_file(&mut self, path: &Path, bytes_max: u64) -> LongRead {
        LongRead::Done(self.read_file(path, bytes_max))
    }

    fn create_new(&mut self, path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
        self.disk.create_new(path, mode, bytes)
    }

    fn hard_link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.hard_link(from, to)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn create_dir_all(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        self.disk.create_dir_all(path, mode)
    }

    fn read_dir(&mut self, path: &Path) -> io::Result<Vec<String>> {
        self.disk.read_dir(path)
    }

    fn hold(&mut self, path: &Path, mode: u32) -> io::Result<Option<HeldFile>> {
        self.disk.hold(path, mode)
    }

    fn connect_probe(&mut self, address: SocketAddr, _: Duration) -> bool {
        self.things
            .iter()
            .flatten()
            .any(|thing| matches!(thing, Thing::Listener { port, .. } if *port == address.port()))
    }

    fn is_alive(&mut self, pid: u32) -> bool {
        pid == self.pid()
    }
}

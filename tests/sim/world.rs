//! One way to write a scenario for both kernels: peers, passing time, and a stage to watch.
//!
//! Peers of the real world are std sockets on the same thread; a loopback send is in the other
//! end's buffer when it returns, so the order of things is as fixed there as in the simulation.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpStream};

use footbridge::reactor::sys::real::RealKernel;
use footbridge::reactor::{Event, Kernel, ListenerId, Options, PortRange, Reactor, StreamId, Tag};
use footbridge::stdx::Millis;

use crate::kernel::SimKernel;
pub(crate) use crate::kernel::{Peer, Received};

/// The owner of whatever a scenario starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) &'static str);

impl Tag for Name {}

/// What stands around a reactor.
pub(crate) trait World: Sized {
    type Kernel: Kernel;
    fn create() -> (Self, Self::Kernel);
    fn connect(&mut self, kernel: &mut Self::Kernel, port: u16) -> Peer;
    /// All of `bytes` must fit.
    fn send(&mut self, kernel: &mut Self::Kernel, peer: Peer, bytes: &[u8]);
    fn receive(&mut self, kernel: &mut Self::Kernel, peer: Peer, bytes_max: usize) -> Received;
    fn finish(&mut self, kernel: &mut Self::Kernel, peer: Peer);
    /// Closes so that the other end is reset.
    fn reset(&mut self, kernel: &mut Self::Kernel, peer: Peer);
    /// A handler takes that long.
    fn pass(&mut self, kernel: &mut Self::Kernel, ms: Millis);
}

/// The simulated world: everything is in the kernel.
pub(crate) struct Simulated;

impl World for Simulated {
    type Kernel = SimKernel;

    fn create() -> (Self, SimKernel) {
        (Simulated, SimKernel::new(7))
    }

    fn connect(&mut self, kernel: &mut SimKernel, port: u16) -> Peer {
        kernel.connect(port).unwrap()
    }

    fn send(&mut self, kernel: &mut SimKernel, peer: Peer, bytes: &[u8]) {
        assert_eq!(kernel.send(peer, bytes), bytes.len());
    }

    fn receive(&mut self, kernel: &mut SimKernel, peer: Peer, bytes_max: usize) -> Received {
        kernel.receive(peer, bytes_max)
    }

    fn finish(&mut self, kernel: &mut SimKernel, peer: Peer) {
        kernel.finish(peer);
    }

    fn reset(&mut self, kernel: &mut SimKernel, peer: Peer) {
        kernel.reset(peer);
    }

    fn pass(&mut self, kernel: &mut SimKernel, ms: Millis) {
        kernel.pass(ms);
    }
}

/// The real world: loopback sockets.
#[derive(Default)]
pub(crate) struct Real {
    peers: Vec<Option<TcpStream>>,
}

impl Real {
    fn peer(&mut self, peer: Peer) -> &mut TcpStream {
        self.peers[peer.0].as_mut().unwrap()
    }
}

impl World for Real {
    type Kernel = RealKernel;

    fn create() -> (Self, RealKernel) {
        (Real::default(), RealKernel::new().unwrap())
    }

    fn connect(&mut self, _: &mut RealKernel, port: u16) -> Peer {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        self.peers.push(Some(stream));
        Peer(self.peers.len() - 1)
    }

    fn send(&mut self, _: &mut RealKernel, peer: Peer, bytes: &[u8]) {
        self.peer(peer).write_all(bytes).unwrap();
    }

    fn receive(&mut self, _: &mut RealKernel, peer: Peer, bytes_max: usize) -> Received {
        let mut bytes = vec![0; bytes_max];
        match self.peer(peer).read(&mut bytes) {
            Ok(0) => Received::End,
            Ok(count) => Received::Bytes(bytes[..count].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Received::Nothing,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Received::Reset,
            Err(error) => panic!("{error}"),
        }
    }

    fn finish(&mut self, _: &mut RealKernel, peer: Peer) {
        self.peer(peer).shutdown(Shutdown::Write).unwrap();
    }

    /// A close with unread bytes resets; the scenario sees to it that there are some.
    fn reset(&mut self, _: &mut RealKernel, peer: Peer) {
        self.peers[peer.0] = None;
    }

    fn pass(&mut self, kernel: &mut RealKernel, ms: Millis) {
        let start = kernel.monotonic_ms();
        while kernel.monotonic_ms() < start + ms {
            std::hint::spin_loop();
        }
    }
}

/// A reactor in its world, with a log of what was seen.
pub(crate) struct Stage<W: World> {
    pub(crate) world: W,
    pub(crate) reactor: Reactor<W::Kernel, Name>,
    log: Vec<String>,
}

/// Turns a scenario may take; far more than any needs.
const EVENTS_MAX: usize = 2_000_000;

impl<W: World> Stage<W> {
    pub(crate) fn new() -> Stage<W> {
        Stage::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Stage<W> {
        let (world, kernel) = W::create();
        Stage { world, reactor: Reactor::new(kernel, options).unwrap(), log: Vec::new() }
    }

    /// Gives each event to `handle` until the loop ends.
    pub(crate) fn run(&mut self, mut handle: impl FnMut(&mut Stage<W>, Event<'_, Name>)) {
        for _ in 0..EVENTS_MAX {
            let mut copy;
            let event = match self.reactor.next().unwrap() {
                None => return,
                Some(Event::Data { owner, stream, bytes }) => {
                    copy = bytes.to_vec();
                    Event::Data { owner, stream, bytes: &mut copy }
                }
                Some(other) => without_loan(other),
            };
            handle(self, event);
        }
        panic!("the loop does not end; seen so far: {}", self.log());
    }

    pub(crate) fn see(&mut self, what: impl Into<String>) {
        self.log.push(what.into());
    }

    pub(crate) fn log(&self) -> String {
        self.log.join(" ")
    }

    pub(crate) fn listen(&mut self) -> (ListenerId, u16) {
        let any = PortRange { min: 0, max: 0 };
        self.reactor.listen(Name("listener"), IpAddr::V4(Ipv4Addr::LOCALHOST), any).unwrap()
    }

    /// Connects a peer and turns the loop until its stream is there; the listener is closed.
    pub(crate) fn connected(&mut self) -> (StreamId, Peer) {
        let (listener, port) = self.listen();
        let peer = self.connect(port);
        let mut accepted = None;
        self.run(|stage, event| {
            if let Event::Accepted { stream, .. } = event {
                accepted = Some(stream);
                stage.reactor.stop();
            }
        });
        self.reactor.close_listener(listener);
        (accepted.unwrap(), peer)
    }

    pub(crate) fn connect(&mut self, port: u16) -> Peer {
        self.world.connect(self.reactor.kernel(), port)
    }

    pub(crate) fn send(&mut self, peer: Peer, bytes: &[u8]) {
        self.world.send(self.reactor.kernel(), peer, bytes);
    }

    pub(crate) fn receive(&mut self, peer: Peer, bytes_max: usize) -> Received {
        self.world.receive(self.reactor.kernel(), peer, bytes_max)
    }

    pub(crate) fn finish(&mut self, peer: Peer) {
        self.world.finish(self.reactor.kernel(), peer);
    }

    pub(crate) fn reset(&mut self, peer: Peer) {
        self.world.reset(self.reactor.kernel(), peer);
    }

    pub(crate) fn pass(&mut self, ms: Millis) {
        self.world.pass(self.reactor.kernel(), ms);
    }
}

/// The same event, known to lend nothing.
fn without_loan(event: Event<'_, Name>) -> Event<'static, Name> {
    match event {
        Event::Data { .. } => unreachable!("copied by the caller"),
        Event::Accepted { owner, stream, peer } => Event::Accepted { owner, stream, peer },
        Event::AcceptFailed { owner, error } => Event::AcceptFailed { owner, error },
        Event::Filled { owner, stream, buffer, fresh_from } => {
            Event::Filled { owner, stream, buffer, fresh_from }
        }
        Event::End { owner, stream } => Event::End { owner, stream },
        Event::Failed { owner, stream, error } => Event::Failed { owner, stream, error },
        Event::Written { owner, stream, mark, result } => {
            Event::Written { owner, stream, mark, result }
        }
        Event::Drained { owner, stream } => Event::Drained { owner, stream },
        Event::ShutDown { owner, stream, result } => Event::ShutDown { owner, stream, result },
        Event::Closed { owner, stream } => Event::Closed { owner, stream },
        Event::HandleClosed { owner, handle } => Event::HandleClosed { owner, handle },
        Event::Timer { owner, timer } => Event::Timer { owner, timer },
        Event::Phase { owner, phase, id } => Event::Phase { owner, phase, id },
        Event::AfterPoll { owner } => Event::AfterPoll { owner },
        Event::Signal { owner, signal } => Event::Signal { owner, signal },
        Event::Woken { owner } => Event::Woken { owner },
        Event::Exited { owner, process, status } => Event::Exited { owner, process, status },
        Event::File { owner, result } => Event::File { owner, result },
    }
}

/// Declares each scenario as a test on the simulated and on the real kernel.
macro_rules! on_both_kernels {
    ($($scenario:ident),* $(,)?) => {
        mod simulated {
            $(#[test] fn $scenario() { super::$scenario::<crate::world::Simulated>(); })*
        }
        mod real {
            $(#[test] fn $scenario() { super::$scenario::<crate::world::Real>(); })*
        }
    };
}
pub(crate) use on_both_kernels;

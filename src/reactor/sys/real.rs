//! The real kernel: mio's poll, std's sockets and files.
//!
//! It owns every descriptor and names them by index. What differs between systems stands in the
//! file of that system; here is what they share. No policy: how much to read, when to accept and
//! what to do about an error is the reactor's business.

use std::io::{self, IoSlice, Write};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll};
use slab::Slab;

use super::{
    Bell, Exit, HeldFile, Kernel, LongRead, Object, Ready, Signal, Token, files, platform,
};
use crate::effect::{Command, FileError};
use crate::stdx::Millis;

/// Sockets, files, children and clocks of this machine.
pub struct RealKernel {
    poll: Poll,
    events: Events,
    things: Slab<Thing>,
    started: Instant,
    spare: Option<SpareDescriptor>,
    signals: Option<platform::Watch>,
    children: Option<platform::ChildWatch>,
    has_spawned: bool,
}

#[cfg(unix)]
type SpareDescriptor = std::os::fd::OwnedFd;
#[cfg(windows)]
type SpareDescriptor = std::fs::File;

enum Thing {
    Listener(TcpListener),
    Stream(TcpStream),
    Process { process: platform::Process, told_by_signal: Option<Token> },
}

/// Events taken in one poll; the rest come with the next.
const EVENTS_MAX: usize = 1024;

/// The token of SIGCHLD; the reactor never uses it.
const CHILDREN: mio::Token = mio::Token(usize::MAX);

// A token's 64 bits go through mio's usize.
const _: () = assert!(usize::BITS == 64);

impl RealKernel {
    /// A kernel with nothing open but its poll.
    ///
    /// # Errors
    /// When the system gives no poll.
    #[allow(clippy::disallowed_methods)] // The one monotonic clock of the program.
    pub fn new() -> io::Result<RealKernel> {
        Ok(RealKernel {
            poll: Poll::new()?,
            events: Events::with_capacity(EVENTS_MAX),
            things: Slab::new(),
            started: Instant::now(),
            spare: platform::spare_descriptor().ok(),
            signals: None,
            children: None,
            has_spawned: false,
        })
    }

    fn insert(&mut self, thing: Thing) -> Object {
        let index = self.things.insert(thing);
        Object(u32::try_from(index).expect("descriptors are far fewer than 2^32"))
    }

    fn stream(&self, object: Object) -> io::Result<&TcpStream> {
        match self.things.get(object.0 as usize) {
            Some(Thing::Stream(stream)) => Ok(stream),
            Some(Thing::Listener(_) | Thing::Process { .. }) | None => Err(not_open()),
        }
    }

    /// Makes sure that SIGCHLD is told, where nothing else tells of a child's end.
    fn watch_children(&mut self) -> io::Result<()> {
        if self.children.is_none() && !platform::has_pidfd() {
            let watch = platform::ChildWatch::new(self.poll.registry(), CHILDREN)?;
            self.children = Some(watch);
        }
        Ok(())
    }

    fn tell_children(&mut self, ready: &mut Vec<Ready>) {
        if let Some(children) = &mut self.children {
            children.clear();
        }
        for (_, thing) in &self.things {
            if let Thing::Process { told_by_signal: Some(token), .. } = thing {
                ready.push(readable(*token));
            }
        }
    }
}

fn not_open() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

fn readable(token: Token) -> Ready {
    Ready { token, is_readable: true, is_writable: false, is_read_closed: false }
}

impl Kernel for RealKernel {
    const SHORT_READ_DRAINS: bool = platform::SHORT_READ_DRAINS;

    fn monotonic_ms(&mut self) -> Millis {
        u64::try_from(self.started.elapsed().as_millis()).expect("2^64 ms outlast the machine")
    }

    #[allow(clippy::disallowed_methods)] // The one wall clock of the program.
    fn wall_ms(&mut self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn fill_random(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string()))
    }

    fn pid(&self) -> u32 {
        std::process::id()
    }

    fn raise_descriptor_limit(&mut self) -> u64 {
        platform::raise_descriptor_limit()
    }

    fn poll(&mut self, timeout_ms: Option<Millis>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.poll.poll(&mut self.events, timeout_ms.map(Duration::from_millis))?;
        let mut has_child_ended = false;
        for event in &self.events {
            if event.token() == CHILDREN {
                has_child_ended = true;
                continue;
            }
            ready.push(Ready {
                token: Token(event.token().0 as u64),
                is_readable: event.is_readable() || event.is_error(),
                is_writable: event.is_writable() || event.is_error(),
                is_read_closed: event.is_read_closed() || event.is_error(),
            });
        }
        if has_child_ended {
            self.tell_children(ready);
        }
        Ok(())
    }

    fn bell(&mut self, token: Token) -> io::Result<Bell> {
        let waker = mio::Waker::new(self.poll.registry(), mio::Token(token.0 as usize))?;
        // Ringing can only fail when the loop is gone; then nobody is to be woken.
        Ok(Arc::new(move || drop(waker.wake())))
    }

    fn register(&mut self, object: Object, token: Token) -> io::Result<()> {
        let registry = self.poll.registry();
        let mio_token = mio::Token(token.0 as usize);
        match self.things.get_mut(object.0 as usize) {
            Some(Thing::Listener(listener)) => {
                registry.register(listener, mio_token, Interest::READABLE)
            }
            Some(Thing::Stream(stream)) => {
                registry.register(stream, mio_token, Interest::READABLE | Interest::WRITABLE)
            }
            Some(Thing::Process { process, told_by_signal }) => {
                if !process.register(registry, mio_token)? {
                    *told_by_signal = Some(token);
                }
                Ok(())
            }
            None => Err(not_open()),
        }
    }

    fn close(&mut self, object: Object) {
        // Deregistered first: where a child inherited the descriptor it would go on telling.
        let registry = self.poll.registry();
        match self.things.try_remove(object.0 as usize) {
            Some(Thing::Listener(mut listener)) => drop(registry.deregister(&mut listener)),
            Some(Thing::Stream(mut stream)) => drop(registry.deregister(&mut stream)),
            Some(Thing::Process { process, .. }) => process.deregister(registry),
            None => {}
        }
    }

    fn listen(&mut self, address: IpAddr, port: u16) -> io::Result<(Object, u16)> {
        let listener = TcpListener::bind(SocketAddr::new(address, port))?;
        let port = listener.local_addr()?.port();
        Ok((self.insert(Thing::Listener(listener)), port))
    }

    fn accept(&mut self, listener: Object) -> io::Result<(Object, SocketAddr)> {
        let Some(Thing::Listener(listener)) = self.things.get(listener.0 as usize) else {
            return Err(not_open());
        };
        let (stream, peer) = listener.accept()?;
        // Fails only when the peer is gone already; reading will tell.
        let _ = stream.set_nodelay(true);
        Ok((self.insert(Thing::Stream(stream)), peer))
    }

    fn read(&mut self, stream: Object, into: &mut Vec<u8>, bytes_max: usize) -> io::Result<usize> {
        platform::read(self.stream(stream)?, into, bytes_max)
    }

    fn write(&mut self, stream: Object, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut stream = self.stream(stream)?;
        stream.write_vectored(slices)
    }

    fn shutdown_write(&mut self, stream: Object) -> io::Result<()> {
        self.stream(stream)?.shutdown(Shutdown::Write)
    }

    fn release_spare(&mut self) {
        self.spare = None;
    }

    fn reserve_spare(&mut self) {
        self.spare = platform::spare_descriptor().ok();
    }

    fn spawn(&mut self, command: &Command) -> io::Result<Object> {
        if !std::mem::replace(&mut self.has_spawned, true) {
            platform::keep_descriptors_from_children();
        }
        // Before the child exists, so that its signal cannot come too early.
        self.watch_children()?;
        let process = platform::Process::spawn(command)?;
        Ok(self.insert(Thing::Process { process, told_by_signal: None }))
    }

    fn reap(&mut self, process: Object) -> io::Result<Option<Exit>> {
        match self.things.get_mut(process.0 as usize) {
            Some(Thing::Process { process, .. }) => process.reap(),
            Some(Thing::Listener(_) | Thing::Stream(_)) | None => Err(not_open()),
        }
    }

    fn watch_signals(&mut self, token: Token) -> io::Result<()> {
        let token = mio::Token(token.0 as usize);
        self.signals = Some(platform::Watch::endings(self.poll.registry(), token)?);
        Ok(())
    }

    fn take_signals(&mut self, signals: &mut Vec<Signal>) {
        if let Some(watch) = &mut self.signals {
            watch.take(signals);
        }
    }

    fn read_file(&mut self, path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
        files::read(path, bytes_max)
    }

    fn read_long_file(&mut self, path: &Path, bytes_max: u64) -> LongRead {
        let path = PathBuf::from(path);
        LongRead::Elsewhere(Box::new(move || files::read(&path, bytes_max)))
    }

    fn create_new(&mut self, path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
        files::create_new(path, mode, bytes)
    }

    fn hard_link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn create_dir_all(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        platform::create_dir_all(path, mode)
    }

    fn read_dir(&mut self, path: &Path) -> io::Result<Vec<String>> {
        files::read_dir(path)
    }

    fn hold(&mut self, path: &Path, mode: u32) -> io::Result<Option<HeldFile>> {
        platform::hold(path, mode)
    }

    fn connect_probe(&mut self, address: SocketAddr, timeout: Duration) -> bool {
        std::net::TcpStream::connect_timeout(&address, timeout).is_ok()
    }

    fn is_alive(&mut self, pid: u32) -> bool {
        platform::is_alive(pid)
    }
}

//! Listening sockets: finding a free port, taking connections one a turn.
//!
//! Binding and listening is the probe for a free port; there is no look before the leap. Out of
//! descriptors, connections would wait for ever and keep the listener ready, so the spare
//! descriptor is given up to accept and close everything that waits; peers see the end at once.

use std::fmt;
use std::io;
use std::net::IpAddr;

use super::Reactor;
use super::event::{Event, ListenerId, StreamId, Tag};
use super::stream::Stream;
use super::sys::{self, Kernel, Object};
use super::turn::Source;
use crate::stdx::slots::Key;

/// Ports to try, both ends included; empty when `min > max`. `0..=0` is any free port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    /// The lowest port.
    pub min: u16,
    /// The highest port.
    pub max: u16,
}

/// Why no port of a range could be listened on. Worded as seed 000 demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenError {
    /// The range holds no port.
    EmptyRange(PortRange),
    /// Each port failed; the name of the last error.
    NoneFree(PortRange, String),
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenError::EmptyRange(PortRange { min, max }) => {
                write!(f, "No available ports in range {min}-{max}")
            }
            ListenError::NoneFree(PortRange { min, max }, errno) => {
                write!(f, "No free port in {min}-{max} ({errno})")
            }
        }
    }
}

impl std::error::Error for ListenError {}

/// One listener.
#[derive(Debug)]
pub(super) struct Listener<T> {
    owner: T,
    object: Object,
    /// Stands in `serving` or `still_ready`.
    pub(super) is_listed: bool,
}

/// Connections closed in one go when descriptors ran out; the backlog is 128.
const SHED_MAX: usize = 1024;

impl<K: Kernel, T: Tag> Reactor<K, T> {
    /// Listens on the first free port of the range, from a random start, each tried once.
    ///
    /// # Errors
    /// When the range is empty or every port failed.
    pub fn listen(
        &mut self,
        owner: T,
        address: IpAddr,
        ports: PortRange,
    ) -> Result<(ListenerId, u16), ListenError> {
        if ports.min > ports.max {
            return Err(ListenError::EmptyRange(ports));
        }
        let count = u32::from(ports.max - ports.min) + 1;
        let mut random = [0; 4];
        // Without randomness the walk starts at the lowest port; it finds a free one all the same.
        let _ = self.kernel.fill_random(&mut random);
        let start = u32::from_ne_bytes(random) % count;
        let mut errno = String::new();
        for step in 0..count {
            let offset = u16::try_from((start + step) % count).expect("below the range's length");
            match self.listen_on(owner, address, ports.min + offset) {
                Ok(found) => return Ok(found),
                Err(error) => {
                    errno = sys::errno_name(&error);
                    if !is_about_the_port(&error) {
                        break;
                    }
                }
            }
        }
        Err(ListenError::NoneFree(ports, errno))
    }

    /// Stops listening at once; connections not yet accepted are refused.
    pub fn close_listener(&mut self, listener: ListenerId) {
        if let Some(listener) = self.listeners.remove(listener.0) {
            self.kernel.close(listener.object);
        }
    }

    fn listen_on(&mut self, owner: T, address: IpAddr, port: u16) -> io::Result<(ListenerId, u16)> {
        let (object, port) = self.kernel.listen(address, port)?;
        let key = self.listeners.insert(Listener { owner, object, is_listed: false });
        if let Err(error) = self.kernel.register(object, Source::Listener(key).pack()) {
            self.close_listener(ListenerId(key));
            return Err(error);
        }
        Ok((ListenerId(key), port))
    }

    /// Takes one connection; if there may be more, the listener is still ready in the next turn.
    pub(super) fn accept(&mut self, key: Key) -> Option<Event<'static, T>> {
        let listener = self.listeners.get_mut(key)?;
        listener.is_listed = false;
        let owner = listener.owner;
        let error = match self.kernel.accept(listener.object) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            Err(error) if sys::is_out_of_resources(&error) => {
                let is_more_waiting = shed(&mut self.kernel, listener.object);
                if is_more_waiting {
                    self.list_listener(key);
                }
                return Some(Event::AcceptFailed { owner, error });
            }
            Err(error) => error,
            Ok((object, peer)) => {
                let stream = self.streams.insert(Stream::new(owner, object));
                match self.kernel.register(object, Source::Stream(stream).pack()) {
                    Ok(()) => {
                        self.list_listener(key);
                        return Some(Event::Accepted { owner, stream: StreamId(stream), peer });
                    }
                    Err(error) => {
                        self.streams.remove(stream);
                        self.kernel.close(object);
                        error
                    }
                }
            }
        };
        self.list_listener(key);
        // A peer that hung up before it was accepted, or a signal: nobody's failure.
        let is_noise =
            matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted);
        (!is_noise).then_some(Event::AcceptFailed { owner, error })
    }

    fn list_listener(&mut self, key: Key) {
        if let Some(listener) = self.listeners.get_mut(key)
            && !std::mem::replace(&mut listener.is_listed, true)
        {
            self.still_ready.push_back(Source::Listener(key));
        }
    }
}

/// Accepts and closes what waits; whether more may be waiting.
fn shed<K: Kernel>(kernel: &mut K, listener: Object) -> bool {
    kernel.release_spare();
    let mut is_more_waiting = true;
    for _ in 0..SHED_MAX {
        match kernel.accept(listener) {
            Ok((object, _)) => kernel.close(object),
            Err(_) => {
                is_more_waiting = false;
                break;
            }
        }
    }
    kernel.reserve_spare();
    is_more_waiting
}

/// Whether another port may fare better.
fn is_about_the_port(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

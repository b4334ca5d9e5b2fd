//! What stands in on Windows: sockets and files work, children and signals do not yet.
//!
//! Readiness is re-armed by `WouldBlock` alone there, so every read goes on until it.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use mio::Registry;
use mio::net::TcpStream;

use super::{Exit, HeldFile, Liveness, Signal};
use crate::effect::Command;

pub(super) const SHORT_READ_DRAINS: bool = false;

pub(super) fn is_out_of_resources(code: i32) -> bool {
    const WSAEMFILE: i32 = 10_024;
    const WSAENOBUFS: i32 = 10_055;
    [WSAEMFILE, WSAENOBUFS].contains(&code)
}

/// Reads into the spare capacity of `into`.
pub(super) fn read(
    mut stream: &TcpStream,
    into: &mut Vec<u8>,
    bytes_max: usize,
) -> io::Result<usize> {
    let len = into.len();
    let room = (into.capacity() - len).min(bytes_max);
    into.resize(len + room, 0);
    let result = stream.read(&mut into[len..]);
    into.truncate(len + result.as_ref().map_or(0, |&count| count));
    result
}

/// Sockets are bounded by memory there.
pub(super) fn raise_descriptor_limit() -> u64 {
    u64::MAX
}

pub(super) fn spare_descriptor() -> io::Result<File> {
    File::open("NUL")
}

/// Handles are not inherited there unless marked so.
pub(super) fn keep_descriptors_from_children() {}

fn unsupported<V>(what: &'static str) -> io::Result<V> {
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

/// Signals are not watched on Windows.
pub(super) enum Watch {}

impl Watch {
    pub(super) fn endings(_: &Registry, _: mio::Token) -> io::Result<Watch> {
        unsupported("signals are not watched on Windows: Ctrl-C ends the process at once")
    }

    pub(super) fn take(&mut self, _: &mut Vec<Signal>) {
        match *self {}
    }
}

/// Children are not started on Windows.
pub(super) enum Process {}

impl Process {
    pub(super) fn spawn(_: &Command) -> io::Result<Process> {
        unsupported("starting programs is not supported on Windows yet")
    }

    pub(super) fn register(&self, _: &Registry, _: mio::Token) -> io::Result<bool> {
        match *self {}
    }

    pub(super) fn deregister(&self, _: &Registry) {
        match *self {}
    }

    pub(super) fn reap(&mut self) -> io::Result<Option<Exit>> {
        match *self {}
    }
}

/// Starting fails before anyone asks how an end is told.
pub(super) fn has_pidfd() -> bool {
    true
}

/// Never made: there are no children.
pub(super) enum ChildWatch {}

impl ChildWatch {
    pub(super) fn new(_: &Registry, _: mio::Token) -> io::Result<ChildWatch> {
        unsupported("there are no children to watch on Windows")
    }

    pub(super) fn clear(&mut self) {
        match *self {}
    }
}

pub(super) fn open_without_waiting(_: &mut OpenOptions) {}

pub(super) fn set_mode(_: &mut OpenOptions, _: u32) {}

pub(super) fn create_dir_all(path: &Path, _: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(path)
}

struct Exclusive(File);

impl super::Held for Exclusive {
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        super::files::overwrite(&mut self.0, bytes)
    }
}

/// Opens or creates the file so that others may read it but not open it for writing.
pub(super) fn hold(path: &Path, _: u32) -> io::Result<Option<HeldFile>> {
    const FILE_SHARE_READ: u32 = 1;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).share_mode(FILE_SHARE_READ);
    match options.open(path) {
        Ok(file) => Ok(Some(HeldFile::new(Exclusive(file)))),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether another handle keeps writers out.
pub(super) fn is_held(path: &Path) -> bool {
    const ERROR_SHARING_VIOLATION: i32 = 32;
    let opened = OpenOptions::new().write(true).open(path);
    opened.is_err_and(|error| error.raw_os_error() == Some(ERROR_SHARING_VIOLATION))
}

/// It cannot be told by std alone.
pub(super) fn is_alive(_: u32) -> bool {
    true
}

/// It cannot be told by std alone.
pub(super) fn liveness(_: u32) -> Liveness {
    Liveness::Alive
}

pub(super) fn user() -> Option<u32> {
    None
}

/// It cannot be told by std alone.
pub(super) fn is_folder_writable(path: &Path) -> bool {
    path.is_dir()
}

pub(super) fn owner_and_mode(_: &Metadata) -> Option<(u32, u32)> {
    None
}

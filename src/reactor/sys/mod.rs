//! The kernel seam: all the loop needs of the system below it, as one trait.
//!
//! [`real::RealKernel`] stands on mio; the simulated kernel of the tests has a virtual clock and
//! finite buffers. Both are edge-triggered: readiness is told once, and again only after the
//! operation gave `WouldBlock` (or, where [`Kernel::SHORT_READ_DRAINS`], after a short read).
//! A kernel's objects are named by small numbers, so the reactor never sees a descriptor.
//!
//! The files of this folder are the only ones that may contain unsafe code.

use std::fmt;
use std::fs::Metadata;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::effect::{Command, FileError};
use crate::stdx::Millis;

mod files;
pub mod real;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as platform;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as platform;

/// A listener, stream or process of a kernel; reused only after [`Kernel::close`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object(pub u32);

/// What the reactor registers an object under; comes back in [`Ready`]. Never `u64::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u64);

/// One object's readiness. May be spurious.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// As registered.
    pub token: Token,
    /// Reading, accepting or reaping may give something.
    pub is_readable: bool,
    /// Writing may take something.
    pub is_writable: bool,
    /// The peer is known to send nothing more: read on until 0, no further event need come.
    pub is_read_closed: bool,
}

/// Makes a sleeping poll return, from any thread; rings coalesce.
pub type Bell = Arc<dyn Fn() + Send + Sync>;

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this exit code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
}

/// A signal that asks the process to end or to look again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal went away.
    HangUp,
}

impl fmt::Display for Signal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
            Signal::HangUp => "SIGHUP",
        })
    }
}

/// The read of a file too long to be read in the loop.
pub enum LongRead {
    /// It was read all the same.
    Done(Result<Vec<u8>, FileError>),
    /// To be run on a worker.
    Elsewhere(Box<dyn FnOnce() -> Result<Vec<u8>, FileError> + Send>),
}

/// A file only this process holds, until dropped.
pub struct HeldFile(Box<dyn Held>);

/// What keeps a [`HeldFile`] held; made by kernels.
pub trait Held: Send {
    /// Replaces the file's contents in place.
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()>;
}

impl HeldFile {
    /// Wraps what holds the file until it is dropped.
    pub fn new(held: impl Held + 'static) -> HeldFile {
        HeldFile(Box::new(held))
    }

    /// Replaces the file's contents in place, so that it stays held. Readers may see it half done.
    pub fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.replace(bytes)
    }
}

/// The system below the loop. Nothing here blocks but `poll`, `connect_probe` and short file work.
pub trait Kernel {
    /// Whether a read of fewer bytes than asked for means that the next edge will be told.
    const SHORT_READ_DRAINS: bool;

    /// Milliseconds of a clock that never goes back, rounded down.
    fn monotonic_ms(&mut self) -> Millis;
    /// Milliseconds since 1970-01-01 UTC.
    fn wall_ms(&mut self) -> u64;
    /// Fills `bytes` with randomness fit for tokens.
    fn fill_random(&mut self, bytes: &mut [u8]) -> io::Result<()>;
    /// This process.
    fn pid(&self) -> u32;
    /// Raises the soft limit of open descriptors to the hard one and returns it.
    fn raise_descriptor_limit(&mut self) -> u64;

    /// Waits until something is ready or `timeout_ms` passed (`None`: however long), and appends
    /// to `ready`. `Interrupted` is returned to the caller.
    fn poll(&mut self, timeout_ms: Option<Millis>, ready: &mut Vec<Ready>) -> io::Result<()>;
    /// The one bell of this kernel, told as readable under `token`.
    fn bell(&mut self, token: Token) -> io::Result<Bell>;
    /// Has the object's readiness told under `token`, its present one included.
    fn register(&mut self, object: Object, token: Token) -> io::Result<()>;
    /// Ends the object at once: a stream's unsent bytes are gone, its token is told no more.
    fn close(&mut self, object: Object);

    /// Binds and listens with a backlog of 128. Port 0 takes any free one; returns the port taken.
    fn listen(&mut self, address: IpAddr, port: u16) -> io::Result<(Object, u16)>;
    /// Takes one waiting connection, without Nagle's delay.
    fn accept(&mut self, listener: Object) -> io::Result<(Object, SocketAddr)>;
    /// Appends at most `bytes_max` bytes to `into`, within its spare capacity. 0 is the end.
    fn read(&mut self, stream: Object, into: &mut Vec<u8>, bytes_max: usize) -> io::Result<usize>;
    /// Writes a prefix of the slices.
    fn write(&mut self, stream: Object, slices: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Sends the end of our bytes; reading goes on.
    fn shutdown_write(&mut self, stream: Object) -> io::Result<()>;
    /// Gives the spare descriptor up, so that one more can be opened.
    fn release_spare(&mut self);
    /// Takes a spare descriptor again, if one is to be had.
    fn reserve_spare(&mut self);

    /// Starts a program: no input, output discarded, a session of its own, no descriptor of ours.
    fn spawn(&mut self, command: &Command) -> io::Result<Object>;
    /// How the child ended, if it did; then only `close` may follow.
    fn reap(&mut self, process: Object) -> io::Result<Option<Exit>>;
    /// From now on SIGINT, SIGTERM and SIGHUP are told under `token` instead of ending us.
    fn watch_signals(&mut self, token: Token) -> io::Result<()>;
    /// Appends the signals that came since the last call.
    fn take_signals(&mut self, signals: &mut Vec<Signal>);

    /// Reads a regular file of at most `bytes_max` bytes.
    fn read_file(&mut self, path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError>;
    /// Prepares the same for a file too long to be read in the loop.
    fn read_long_file(&mut self, path: &Path, bytes_max: u64) -> LongRead;
    /// Creates a file that must not exist, with the Unix permissions `mode`.
    fn create_new(&mut self, path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()>;
    /// Gives a file a second name that must not exist.
    fn hard_link(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames, replacing what stands at `to`.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&mut self, path: &Path) -> io::Result<()>;
    /// Creates a folder and those above it that are missing, each with `mode`.
    fn create_dir_all(&mut self, path: &Path, mode: u32) -> io::Result<()>;
    /// The names in a folder, sorted; those that are not UTF-8 are left out.
    fn read_dir(&mut self, path: &Path) -> io::Result<Vec<String>>;
    /// Opens or creates a file and holds it against other processes; `None`: another holds it.
    fn hold(&mut self, path: &Path, mode: u32) -> io::Result<Option<HeldFile>>;

    /// Whether someone accepts connections there. Blocks up to `timeout`: for use at start only.
    fn connect_probe(&mut self, address: SocketAddr, timeout: Duration) -> bool;
    /// Whether a process of this id lives, ours or not. True where it cannot be told.
    fn is_alive(&mut self, pid: u32) -> bool;
}

/// Whether a process holds the file, as [`Kernel::hold`] does. A file that is not there, or that we
/// may not read, counts as held by nobody. While it looks, for microseconds, nobody can take hold.
pub fn is_held(path: &Path) -> bool {
    platform::is_held(path)
}

/// What a signal that does nothing tells of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It lives, and we may signal it; also where it cannot be told.
    Alive,
    /// There is no such process.
    Gone,
    /// It lives, and belongs to another user.
    Forbidden,
}

/// Whether a process of this id lives, and is one we may signal.
pub fn liveness(pid: u32) -> Liveness {
    platform::liveness(pid)
}

/// The user this process acts as; `None` where users have no numbers.
pub fn user() -> Option<u32> {
    platform::user()
}

/// Whether we may make files in the folder.
pub fn is_folder_writable(path: &Path) -> bool {
    platform::is_folder_writable(path)
}

/// Number of the owner, and the permission bits; `None` where there is no such thing.
pub fn owner_and_mode(metadata: &Metadata) -> Option<(u32, u32)> {
    platform::owner_and_mode(metadata)
}

/// Whether accepting failed for want of descriptors or memory, ours or the system's.
pub(super) fn is_out_of_resources(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
        || error.raw_os_error().is_some_and(platform::is_out_of_resources)
}

/// The name a Unix programmer knows the error by.
pub(super) fn errno_name(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "EADDRINUSE".into(),
        io::ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL".into(),
        io::ErrorKind::PermissionDenied => "EACCES".into(),
        _ if is_out_of_resources(error) => "EMFILE".into(),
        _ => match error.raw_os_error() {
            Some(code) => format!("errno {code}"),
            None => error.to_string(),
        },
    }
}

//! What only Unix has: descriptors, signals, children, file modes, locks.
//!
//! Children are watched by a pidfd where there is one (Linux 5.3 and later) and by SIGCHLD
//! elsewhere; either way only our own children are ever waited for.

#![allow(unsafe_code)]

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};

use mio::net::TcpStream;
use mio::{Interest, Registry};
use rustix::io::Errno;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook_mio::v1_0::Signals;

use super::{Exit, HeldFile, Liveness, Signal};
use crate::effect::Command;

/// An edge comes for every arrival, so a short read needs no second one to make sure.
pub(super) const SHORT_READ_DRAINS: bool = true;

pub(super) fn is_out_of_resources(code: i32) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|errno| errno.raw_os_error() == code)
}

/// Reads into the spare capacity of `into`, which is not filled with zeros first.
pub(super) fn read(stream: &TcpStream, into: &mut Vec<u8>, bytes_max: usize) -> io::Result<usize> {
    let len = into.len();
    let spare = into.spare_capacity_mut();
    let room = spare.len().min(bytes_max);
    let (fresh, _) = rustix::io::read(stream.as_fd(), &mut spare[..room])?;
    let count = fresh.len();
    // SAFETY: `read` initialized the first `count <= room` bytes of the spare capacity.
    unsafe { into.set_len(len + count) };
    Ok(count)
}

/// Raises the soft limit of descriptors to the hard one; returns what holds now.
pub(super) fn raise_descriptor_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let old = getrlimit(Resource::Nofile);
    // macOS refuses an infinite soft limit; OPEN_MAX is what it takes.
    let wanted = [old.maximum, Some(old.maximum.unwrap_or(u64::MAX).min(MACOS_OPEN_MAX))];
    let raised = wanted.into_iter().find(|&current| {
        setrlimit(Resource::Nofile, Rlimit { current, maximum: old.maximum }).is_ok()
    });
    raised.unwrap_or(old.current).unwrap_or(u64::MAX)
}

const MACOS_OPEN_MAX: u64 = 10_240;

/// A descriptor kept so that it can be given up.
pub(super) fn spare_descriptor() -> io::Result<OwnedFd> {
    File::open("/dev/null").map(OwnedFd::from)
}

/// Has the descriptors that whoever started us left open end with us, not go on to our children.
/// Our own are opened that way.
pub(super) fn keep_descriptors_from_children() {
    let Ok(entries) = std::fs::read_dir("/dev/fd") else { return };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    for number in names.filter_map(|name| name.parse().ok()).filter(|&number| number > 2) {
        // SAFETY: the number was listed as open; had it been closed since, the call below fails,
        // and had it been opened anew, it belongs to us and is to end with us just the same.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
    }
}

/// The signals that ask us to end, by a self-pipe.
pub(super) struct Watch(Signals);

impl Watch {
    /// Watches SIGINT, SIGTERM and SIGHUP. Whoever started us with SIGHUP ignored, as `nohup`
    /// does, wants us to outlive the terminal: then it stays ignored.
    pub(super) fn endings(registry: &Registry, token: mio::Token) -> io::Result<Watch> {
        match is_ignored(SIGHUP) {
            true => Watch::over(&[SIGINT, SIGTERM], registry, token),
            false => Watch::over(&[SIGINT, SIGTERM, SIGHUP], registry, token),
        }
    }

    fn over(signals: &[i32], registry: &Registry, token: mio::Token) -> io::Result<Watch> {
        let mut signals = Signals::new(signals)?;
        registry.register(&mut signals, token, Interest::READABLE)?;
        Ok(Watch(signals))
    }

    /// Appends what came since the last call.
    pub(super) fn take(&mut self, signals: &mut Vec<Signal>) {
        signals.extend(self.0.pending().filter_map(|code| match code {
            SIGINT => Some(Signal::Interrupt),
            SIGTERM => Some(Signal::Terminate),
            SIGHUP => Some(Signal::HangUp),
            _ => None,
        }));
    }
}

/// Whether the process ignores the signal.
fn is_ignored(signal: i32) -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: with no new action `sigaction` only writes the present one, to memory made for it.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: all of it was written if the call succeeded.
    result == 0 && unsafe { now.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// A child that runs.
pub(super) struct Process {
    child: Child,
    /// Readable once the child ended; `None` where SIGCHLD tells.
    #[cfg(target_os = "linux")]
    pidfd: Option<OwnedFd>,
}

impl Process {
    /// Starts a program in a session of its own. Signal mask and SIGPIPE are reset by std.
    pub(super) fn spawn(command: &Command) -> io::Result<Process> {
        let Some((program, arguments)) = command.argv.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program named"));
        };
        let mut builder = std::process::Command::new(program);
        builder.args(arguments);
        builder.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(cwd) = &command.cwd {
            builder.current_dir(cwd);
        }
        // SAFETY: between fork and exec only one async-signal-safe call is made, `setsid`.
        unsafe { builder.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
        let child = builder.spawn()?;
        Ok(Process {
            #[cfg(target_os = "linux")]
            pidfd: pidfd_of(&child),
            child,
        })
    }

    /// Has the child's end told under `token`; false where only SIGCHLD tells it.
    pub(super) fn register(&self, registry: &Registry, token: mio::Token) -> io::Result<bool> {
        #[cfg(target_os = "linux")]
        if let Some(pidfd) = &self.pidfd {
            use mio::event::Source;
            use std::os::fd::AsRawFd;
            let descriptor = pidfd.as_raw_fd();
            let mut source = mio::unix::SourceFd(&descriptor);
            source.register(registry, token, Interest::READABLE)?;
            return Ok(true);
        }
        let _ = (registry, token);
        Ok(false)
    }

    pub(super) fn deregister(&self, registry: &Registry) {
        #[cfg(target_os = "linux")]
        if let Some(pidfd) = &self.pidfd {
            use mio::event::Source;
            use std::os::fd::AsRawFd;
            let descriptor = pidfd.as_raw_fd();
            let _ = mio::unix::SourceFd(&descriptor).deregister(registry);
        }
        let _ = registry;
    }

    /// How the child ended, if it did.
    pub(super) fn reap(&mut self) -> io::Result<Option<Exit>> {
        let status = self.child.try_wait()?;
        Ok(status.map(|status| match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Code(status.into_raw()),
        }))
    }
}

/// Whether a child's end is told by a descriptor.
pub(super) fn has_pidfd() -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, getpid, pidfd_open};
        pidfd_open(getpid(), PidfdFlags::empty()).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    false
}

#[cfg(target_os = "linux")]
fn pidfd_of(child: &Child) -> Option<OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let pid = Pid::from_raw(i32::try_from(child.id()).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Tells that some child ended, where no pidfd does.
pub(super) struct ChildWatch(Watch);

impl ChildWatch {
    pub(super) fn new(registry: &Registry, token: mio::Token) -> io::Result<ChildWatch> {
        Watch::over(&[SIGCHLD], registry, token).map(ChildWatch)
    }

    /// Empties the pipe, so that the next signal is told.
    pub(super) fn clear(&mut self) {
        self.0.0.pending().for_each(drop);
    }
}

/// Opening a FIFO or device gives a descriptor at once, to be looked at.
pub(super) fn open_without_waiting(options: &mut OpenOptions) {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(i32::try_from(flags.bits()).expect("open flags fit an int"));
}

pub(super) fn set_mode(options: &mut OpenOptions, mode: u32) {
    options.mode(mode);
}

pub(super) fn create_dir_all(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(path)
}

struct Flocked(File);

impl super::Held for Flocked {
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        super::files::overwrite(&mut self.0, bytes)
    }
}

/// Opens or creates the file and takes its lock; `None` when another process has it.
pub(super) fn hold(path: &Path, mode: u32) -> io::Result<Option<HeldFile>> {
    use rustix::fs::{FlockOperation, flock};
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(mode);
    let file = options.open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(HeldFile::new(Flocked(file)))),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether another open of the file has its lock.
pub(super) fn is_held(path: &Path) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let Ok(file) = File::open(path) else { return false };
    // Our shared lock goes with the descriptor, at the end of this function.
    flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

/// Whether the process lives; one we may not signal does.
pub(super) fn is_alive(pid: u32) -> bool {
    liveness(pid) != Liveness::Gone
}

pub(super) fn liveness(pid: u32) -> Liveness {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return Liveness::Gone;
    };
    match rustix::process::test_kill_process(pid) {
        Ok(()) => Liveness::Alive,
        Err(Errno::SRCH) => Liveness::Gone,
        Err(_) => Liveness::Forbidden,
    }
}

pub(super) fn user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

pub(super) fn is_folder_writable(path: &Path) -> bool {
    use rustix::fs::Access;
    rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

pub(super) fn owner_and_mode(metadata: &Metadata) -> Option<(u32, u32)> {
    Some((metadata.uid(), metadata.mode() & 0o7777))
}

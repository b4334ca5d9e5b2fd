//! The terminal: raw while a review is on it, and as it was before in every other moment.
//!
//! Keys come one by one, without echo, and the screen is a second one, so that what was there
//! before comes back. Signals come in as bytes of pipes and are waited for like everything else.
//! The way back is taken on return, on error and on panic, whose message then can be read.

use std::io::{self, Read};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::low_level::pipe;

use super::state::Size;

/// Bytes read at a time; more than a hand types between two polls.
const READ_BYTES: usize = 4096;

/// Second screen, no wrapping at the edge (rows are folded already), no cursor, pastes marked.
const ENTER: &str = "\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[?2004h\x1b[2J";

/// All of that undone.
const LEAVE: &str = "\x1b[?2004l\x1b[?25h\x1b[?7h\x1b[?1049l";

/// The size where the terminal knows none.
const SIZE: Size = Size { columns: 80, rows: 24 };

/// A terminal that a review has for itself.
pub(super) struct Terminal {
    input: OwnedFd,
    output: OwnedFd,
    cooked: Termios,
    is_raw: bool,
    /// Something about the screen or a child changed: SIGWINCH, SIGCHLD.
    changes: UnixStream,
    /// SIGINT; an editor's, while it runs.
    interrupts: UnixStream,
    /// SIGTERM or SIGHUP, the number of which is the pipe's.
    ends: [(i32, UnixStream); 2],
}

/// What there is after waiting.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) has_keys: bool,
    pub(super) has_news: bool,
    /// A signal that ends the program.
    pub(super) signal: Option<i32>,
}

impl Terminal {
    /// Takes the terminal on stdin and stdout.
    pub(super) fn open() -> io::Result<Terminal> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        Terminal::on(input, output)
    }

    fn on(input: OwnedFd, output: OwnedFd) -> io::Result<Terminal> {
        let cooked = tcgetattr(&input)?;
        let changes = signals(&[SIGWINCH, SIGCHLD])?;
        let interrupts = signals(&[SIGINT])?;
        let ends = [(SIGTERM, signals(&[SIGTERM])?), (SIGHUP, signals(&[SIGHUP])?)];
        let mut terminal =
            Terminal { input, output, cooked, is_raw: false, changes, interrupts, ends };
        terminal.restore_on_panic()?;
        terminal.enter()?;
        Ok(terminal)
    }

    /// Makes it raw and shows the second screen.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        let mut raw = self.cooked.clone();
        raw.make_raw();
        tcsetattr(&self.input, OptionalActions::Now, &raw)?;
        self.is_raw = true;
        self.write(ENTER)
    }

    /// Gives it back as it was.
    pub(super) fn leave(&mut self) {
        if std::mem::replace(&mut self.is_raw, false) {
            restore(&self.input, &self.output, &self.cooked);
        }
    }

    /// Its size now.
    pub(super) fn size(&self) -> Size {
        let size = tcgetwinsize(&self.output).map_or(SIZE, |size| Size {
            columns: usize::from(size.ws_col),
            rows: usize::from(size.ws_row),
        });
        if size.columns == 0 || size.rows == 0 { SIZE } else { size }
    }

    /// Puts text on the screen.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        write_all(&self.output, text.as_bytes())
    }

    /// Bytes of keys that were pressed; none means that the terminal is gone.
    pub(super) fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; READ_BYTES];
        loop {
            match rustix::io::read(&self.input, &mut bytes) {
                Ok(len) => {
                    bytes.truncate(len);
                    return Ok(bytes);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Throws away keys that were pressed before what is shown now could be seen.
    pub(super) fn discard_keys(&mut self) {
        let _ = tcflush(&self.input, QueueSelector::IFlush);
    }

    /// Waits for keys, for news from the bridge, and for signals.
    pub(super) fn wait(
        &mut self,
        bridge: Option<&TcpStream>,
        limit: Option<Duration>,
    ) -> io::Result<Ready> {
        let [(_, end), (_, hangup)] = &self.ends;
        let mut fds = vec![
            PollFd::new(&self.changes, PollFlags::IN),
            PollFd::new(&self.interrupts, PollFlags::IN),
            PollFd::new(end, PollFlags::IN),
            PollFd::new(hangup, PollFlags::IN),
        ];
        // The keys belong to an editor while the terminal is not ours.
        let keys_at = self.is_raw.then_some(fds.len());
        fds.extend(self.is_raw.then(|| PollFd::new(&self.input, PollFlags::IN)));
        let news_at = bridge.map(|_| fds.len());
        fds.extend(bridge.map(|bridge| PollFd::new(bridge, PollFlags::IN)));
        let limit = limit.map(|limit| Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        });
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |at: Option<usize>| at.is_some_and(|at| !fds[at].revents().is_empty());
        let (has_keys, has_news) = (is_ready(keys_at), is_ready(news_at));
        drain(&self.changes);
        let is_interrupted = drain(&self.interrupts) && self.is_raw;
        let ended = self.ends.iter().find(|(_, pipe)| drain(pipe)).map(|(signal, _)| *signal);
        Ok(Ready { has_keys, has_news, signal: ended.or(is_interrupted.then_some(SIGINT)) })
    }

    /// A panic's message is to be read, and the shell to be used, afterwards.
    fn restore_on_panic(&self) -> io::Result<()> {
        let (input, output) = (self.input.try_clone()?, self.output.try_clone()?);
        let cooked = self.cooked.clone();
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            restore(&input, &output, &cooked);
            previous(panic);
        }));
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.leave();
    }
}

fn restore(input: &OwnedFd, output: &OwnedFd, cooked: &Termios) {
    let _ = write_all(output, LEAVE.as_bytes());
    let _ = tcsetattr(input, OptionalActions::Now, cooked);
}

fn write_all(output: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(output, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A pipe that gets a byte at each of the signals.
fn signals(signals: &[i32]) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    for &signal in signals {
        pipe::register(signal, write.try_clone()?)?;
    }
    Ok(read)
}

/// Empties a pipe; whether there was something in it.
fn drain(mut pipe: &UnixStream) -> bool {
    let mut bytes = [0; 64];
    let mut was_filled = false;
    while pipe.read(&mut bytes).is_ok_and(|len| len > 0) {
        was_filled = true;
    }
    was_filled
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::LocalModes;

    use super::*;

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_tells() {
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&far).unwrap();
        unlockpt(&far).unwrap();
        let path = ptsname(&far, Vec::new()).unwrap().into_string().unwrap();
        let near = OwnedFd::from(File::options().read(true).write(true).open(path).unwrap());
        let is_cooked = || {
            tcgetattr(&near).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
        };
        let terminal = Terminal::on(near.try_clone().unwrap(), near.try_clone().unwrap()).unwrap();
        assert!(!is_cooked());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            // The hook alone does it, and the owner's end again.
            let _terminal = std::mem::ManuallyDrop::new(terminal);
            panic!("as a bug would");
        }));
        assert!(panicked.is_err() && is_cooked());
        let mut drawn = [0; 256];
        let len = rustix::io::read(&far, &mut drawn).unwrap();
        let drawn = String::from_utf8_lossy(&drawn[..len]).into_owned();
        assert!(drawn.starts_with(ENTER) && drawn.contains(LEAVE), "{drawn:?}");
    }
}

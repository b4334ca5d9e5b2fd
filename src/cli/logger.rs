//! Log lines on stderr: `HH:MM:SS.mmm LEVEL message`, in UTC, one line each.
//!
//! A message may quote what a peer sent, so control characters are escaped: no peer can move the
//! cursor or forge a line. The bridge has one thread, so a line that stderr would not take at once
//! is dropped and counted: a full pipe that nobody reads must not stop it. A closed stderr loses
//! lines and nothing else.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use env_logger::{Builder, Target};
use log::{LevelFilter, Record};

use crate::stdx::one_line::moves_the_cursor;

/// Longest line in bytes; a pipe that reports room takes that much at once (POSIX PIPE_BUF).
const LINE_BYTES_MAX: usize = 4096;

/// Logs what is at least as grave as `level`. A second call changes nothing.
pub fn start(level: LevelFilter) {
    let stderr = Stderr { lines_dropped: 0 };
    let _ = Builder::new()
        .filter_level(level)
        .target(Target::Pipe(Box::new(stderr)))
        .format(|out, record| out.write_all(line(record, since_1970_ms()).as_bytes()))
        .try_init();
}

/// Tells a person what stderr takes at once, line by line: nobody who does not read it stops us.
pub(super) fn tell_at_once(text: &str) {
    let mut stderr = io::stderr().lock();
    for line in text.split_inclusive('\n') {
        if takes_a_line(&stderr) {
            // A closed stderr loses lines and nothing else.
            let _ = stderr.write_all(line.as_bytes());
        }
    }
}

/// Stderr, as long as it takes a line at once.
struct Stderr {
    lines_dropped: u64,
}

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut stderr = io::stderr().lock();
        if self.lines_dropped > 0 && takes_a_line(&stderr) {
            writeln!(stderr, "({} log lines dropped: stderr was full)", self.lines_dropped)?;
            self.lines_dropped = 0;
        }
        // Asked again: the line above may have taken the last room.
        match takes_a_line(&stderr) {
            true => stderr.write_all(line)?,
            false => self.lines_dropped += 1,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
fn takes_a_line(stderr: &impl std::os::fd::AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::new(stderr, PollFlags::OUT)];
    // A closed reader is reported as an error, and a write to it fails at once.
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

#[cfg(not(unix))]
fn takes_a_line(_stderr: &io::StderrLock<'_>) -> bool {
    true
}

fn line(record: &Record<'_>, since_1970_ms: u64) -> String {
    let mut line = format!("{} {} ", time_of_day(since_1970_ms), record.level());
    // Formatting into a String fails only if a value's own formatting does; its start is kept.
    let mut message = String::new();
    let _ = write!(message, "{}", record.args());
    for letter in message.chars() {
        if line.len() + 16 > LINE_BYTES_MAX {
            line.push('…');
            break;
        }
        match letter {
            _ if moves_the_cursor(letter) => line.extend(letter.escape_default()),
            _ => line.push(letter),
        }
    }
    line.push('\n');
    line
}

fn time_of_day(since_1970_ms: u64) -> String {
    let (seconds, millis) = (since_1970_ms / 1000, since_1970_ms % 1000);
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{millis:03}", seconds % 60)
}

#[allow(clippy::disallowed_methods)] // A log line says when it was written, not when its turn began.
fn since_1970_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use log::Level;

    #[track_caller]
    fn check(message: &str, expected: &str) {
        let args = format_args!("{message}");
        let record = Record::builder().args(args).level(Level::Warn).build();
        assert_eq!(line(&record, 86_400_000 + 45_296_789), expected);
    }

    #[test]
    fn a_message_is_one_line_with_time_and_level() {
        check("client_7: left bytes=5", "12:34:56.789 WARN client_7: left bytes=5\n");
        check("naïve ✓", "12:34:56.789 WARN naïve ✓\n");
        check("", "12:34:56.789 WARN \n");
    }

    #[test]
    fn nothing_in_a_message_moves_the_cursor() {
        check("a\nb\r\tc", "12:34:56.789 WARN a\\nb\\r\\tc\n");
        check("\u{1b}[2J\u{7f}\u{9b}", "12:34:56.789 WARN \\u{1b}[2J\\u{7f}\\u{9b}\n");
        check("a\u{2028}b\u{202e}c", "12:34:56.789 WARN a\\u{2028}b\\u{202e}c\n");
    }

    #[test]
    fn a_line_fits_what_a_pipe_takes_at_once() {
        for letter in ["x", "\n", "✓", "\u{2028}"] {
            let args = letter.repeat(LINE_BYTES_MAX);
            let args = format_args!("{args}");
            let line = line(&Record::builder().args(args).build(), 0);
            assert!(line.len() <= LINE_BYTES_MAX && line.ends_with("…\n"), "{}", line.len());
        }
    }
}

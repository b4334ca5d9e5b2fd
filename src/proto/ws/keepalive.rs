//! Whether a client still lives, and whether it still reads: seed 000's keep-alive policy, without
//! a clock or a socket.
//!
//! Theory of operation. One [`Ticker`] a server says what each tick of the keep-alive timer means;
//! one [`KeepAlive`] a client judges it by two rules, the pong rule first.
//!
//! *Pong rule.* A client is silent when nothing came from it for two intervals; any byte counts as
//! life, since a long upload cannot pong. The first tick that finds it silent only notes so,
//! because a tick that runs late can come before the loop has read the pong of the last ping; the
//! next one drops it. While we do not read from the client its pongs wait behind its requests, so
//! the rule is suspended.
//!
//! *Stall rule.* A client is stalled when its queue wrote nothing between two ticks; an empty queue
//! is progress. The second such tick in a row asks for a confirmation right after the next poll,
//! the first moment at which a socket that became writable meanwhile shows it.
//!
//! A tick more than one and a half intervals after the one before follows a sleep, or a loop that
//! was blocked. It counts as life; one that comes three or more ticks after the last fresh start
//! also starts the stall window afresh. Otherwise ticks count late or not, so that a loop that is
//! late again and again still drops a stalled client at the second tick of its window.
//!
//! Not here: the pings themselves (the owner sends one to every client it keeps, at every tick),
//! and what follows a drop.

use std::fmt;

use super::close::CloseCode;
use crate::stdx::Millis;

/// What a tick of the keep-alive timer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickKind {
    /// In time.
    Ordinary,
    /// Late, and counts for the stall rule like any.
    Wake,
    /// Late, and starts the stall window afresh.
    WakeFresh,
}

/// A tick for [`KeepAlive::tick`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// What the tick means.
    pub kind: TickKind,
    /// The timer's interval.
    pub interval_ms: Millis,
}

/// Says what the ticks of a server's keep-alive timer mean. The timer itself is the owner's: it
/// repeats every interval and runs only while someone is connected.
#[derive(Debug)]
pub struct Ticker {
    interval_ms: Millis,
    /// The tick before, of the same run.
    last_tick: Option<Millis>,
    /// Ticks since a fresh stall window started, that one not counted.
    since_fresh: u32,
}

impl Ticker {
    /// For a timer that has not ticked yet.
    pub fn new(interval_ms: Millis) -> Ticker {
        Ticker { interval_ms, last_tick: None, since_fresh: FRESH_TICKS_MIN }
    }

    /// The last client left and the timer with it: the next tick is the first of another run.
    pub fn stop(&mut self) {
        *self = Ticker::new(self.interval_ms);
    }

    /// What the tick at `now` means.
    pub fn tick(&mut self, now: Millis) -> Tick {
        let interval_ms = self.interval_ms;
        let last_tick = self.last_tick.replace(now);
        let is_late = last_tick.is_some_and(|last| (now - last) * 2 > interval_ms * 3);
        self.since_fresh = self.since_fresh.saturating_add(1);
        let kind = match is_late {
            false => TickKind::Ordinary,
            true if self.since_fresh < FRESH_TICKS_MIN => TickKind::Wake,
            true => {
                self.since_fresh = 0;
                TickKind::WakeFresh
            }
        };
        Tick { kind, interval_ms }
    }
}

/// What a client's socket and queue show at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Bytes read from the socket since it was accepted.
    pub read_total: u64,
    /// Bytes the socket took since it was accepted.
    pub written_total: u64,
    /// Bytes that wait to be written.
    pub queued: usize,
    /// Whether we do not read from the client because of what it left unread.
    pub is_paused: bool,
}

/// What becomes of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It stays.
    Keep,
    /// It looks stalled: sample it again right after the next poll, for [`KeepAlive::confirm`].
    Confirm,
    /// It goes.
    Drop(DropReason),
}

/// Why a client is dropped. `Display` is seed 000's log text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// Nothing came from it.
    NoReply {
        /// Since it was last heard.
        seconds: u64,
    },
    /// It reads nothing.
    NotReading {
        /// Since its queue last made progress.
        seconds: u64,
        /// Left unread, rounded up.
        queued_kb: usize,
    },
}

impl DropReason {
    /// Status of its Close frame. RFC 6455 §7.4.1 keeps 1006 off the wire.
    pub fn close_code(self) -> CloseCode {
        CloseCode::INTERNAL_ERROR
    }

    /// Reason in its Close frame.
    pub fn close_reason(self) -> &'static str {
        match self {
            DropReason::NoReply { .. } => "Keepalive timeout",
            DropReason::NotReading { .. } => "Not reading",
        }
    }

    /// Why it disconnected, as the owner is told, with status 1006.
    pub fn disconnect_reason(self) -> &'static str {
        match self {
            DropReason::NoReply { .. } => "Connection timeout",
            DropReason::NotReading { .. } => "Write queue stalled",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DropReason::NoReply { seconds } => write!(f, "no reply for {seconds}s"),
            DropReason::NotReading { seconds, queued_kb } => {
                write!(f, "not reading for {seconds}s, {queued_kb} KB queued")
            }
        }
    }
}

/// Judges one client.
#[derive(Debug)]
pub struct KeepAlive {
    /// The tick that last found life, or the start of the window.
    life_at: Millis,
    /// A moment after which the client was heard last: `heard_after <= life_at`. Ticks ping, so in
    /// a quiet connection the tick before `life_at` is when it was heard.
    heard_after: Millis,
    last_tick: Millis,
    /// At the last tick.
    read_total: u64,
    was_paused: bool,
    is_pong_overdue: bool,
    /// When the queue last made progress, and what was written by then. `None` before the first
    /// tick, for which the 101 is progress: a stall is judged from tick to tick.
    progress_at: Millis,
    written_total: Option<u64>,
    is_write_stalled: bool,
}

impl KeepAlive {
    /// Starts both windows: the client is connected, its 101 is written (seed 000).
    pub fn new(sample: Sample, now: Millis) -> KeepAlive {
        KeepAlive {
            life_at: now,
            heard_after: now,
            last_tick: now,
            read_total: sample.read_total,
            was_paused: false,
            is_pong_overdue: false,
            progress_at: now,
            written_total: None,
            is_write_stalled: false,
        }
    }

    /// Judges the client at a tick. Unless it is dropped, it is pinged.
    pub fn tick(&mut self, tick: Tick, sample: Sample, now: Millis) -> Verdict {
        let is_silent = self.is_silent(tick, sample, now);
        if tick.kind == TickKind::WakeFresh {
            self.is_pong_overdue = false;
            self.is_write_stalled = false;
            self.progress_at = now;
            return Verdict::Keep;
        }
        // Sampled at every tick, silent or not, so that two ticks in a row are consecutive.
        let has_progress = self.has_progress(sample, now);
        let was_stalled = std::mem::replace(&mut self.is_write_stalled, !has_progress);
        let was_overdue = std::mem::replace(&mut self.is_pong_overdue, is_silent);
        if is_silent {
            let seconds = (now - self.heard_after) / 1000;
            return match was_overdue {
                true => Verdict::Drop(DropReason::NoReply { seconds }),
                false => Verdict::Keep,
            };
        }
        match was_stalled && !has_progress {
            true => Verdict::Confirm,
            false => Verdict::Keep,
        }
    }

    /// Judges the client after the poll that followed [`Verdict::Confirm`]. When there is no such
    /// poll, leaving this out leaves the client to the next tick.
    pub fn confirm(&mut self, sample: Sample, now: Millis) -> Verdict {
        if self.has_progress(sample, now) {
            self.is_write_stalled = false;
            return Verdict::Keep;
        }
        let seconds = (now - self.progress_at) / 1000;
        let queued_kb = sample.queued.div_ceil(1024);
        Verdict::Drop(DropReason::NotReading { seconds, queued_kb })
    }

    /// Notes life since the last tick; says whether there was none for two intervals.
    fn is_silent(&mut self, tick: Tick, sample: Sample, now: Millis) -> bool {
        let last_tick = std::mem::replace(&mut self.last_tick, now);
        let was_paused = std::mem::replace(&mut self.was_paused, sample.is_paused);
        let read_before = std::mem::replace(&mut self.read_total, sample.read_total);
        if read_before != sample.read_total {
            self.life_at = now;
            self.heard_after = last_tick;
        }
        let is_late = match tick.kind {
            TickKind::Ordinary => false,
            TickKind::Wake | TickKind::WakeFresh => true,
        };
        if is_late || sample.is_paused || was_paused {
            self.life_at = now;
            self.heard_after = now;
        }
        now - self.life_at >= tick.interval_ms * SILENT_INTERVALS
    }

    /// Notes progress of the queue since it last made some; says whether there was any.
    fn has_progress(&mut self, sample: Sample, now: Millis) -> bool {
        let has_progress = sample.queued == 0 || self.written_total != Some(sample.written_total);
        if has_progress {
            self.written_total = Some(sample.written_total);
            self.progress_at = now;
        }
        has_progress
    }
}

/// Silence of so many intervals is too long (seed 000: `keepalive_timeout`).
const SILENT_INTERVALS: u64 = 2;

/// A late tick starts a fresh stall window at the earliest so many ticks after the last one that
/// did: the two between always count, or a loop that stays blocked would never drop anyone.
const FRESH_TICKS_MIN: u32 = 3;

#[cfg(test)]
mod tests;

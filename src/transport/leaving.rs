//! How a connection ends in order.
//!
//! What is queued goes out first, then the half-close, then reads are dropped until the peer's EOF,
//! then the socket is closed: a close with unread bytes would make the kernel send a reset, which can
//! destroy the Close frame on its way (RFC 6455 §7.1.1). Every step has a deadline.
//!
//! ```text
//! Flushing --queue empty, half-closed--> Draining --EOF or 2 s--> Done
//!     `--no progress in a window, or the hard deadline--> Done
//! ```

use crate::stdx::Millis;

/// Longest wait for the peer's EOF after our half-close, and for the Close frame of a dropped client.
pub const DRAIN_MS: Millis = 2_000;

/// Window in which the queue must shrink when the keep-alive is off: 60 s.
pub const WINDOW_MS_DEFAULT: Millis = 60_000;

/// A connection on its way out.
#[derive(Debug)]
pub struct Leaving {
    step: Step,
    /// The peer has sent its EOF: nothing is left to drain.
    has_ended: bool,
}

#[derive(Debug)]
enum Step {
    /// Queued bytes still leave. They must shrink once per window, unless `is_hard`.
    Flushing {
        deadline: Millis,
        window_ms: Millis,
        written_total: u64,
        is_hard: bool,
    },
    /// Half-closed; reads are dropped until EOF.
    Draining {
        deadline: Millis,
    },
    Done,
}

impl Leaving {
    /// Leaves as long as the queue shrinks in each window of `window_ms`.
    pub fn patient(window_ms: Millis, now: Millis) -> Leaving {
        let deadline = now.saturating_add(window_ms);
        let step = Step::Flushing { deadline, window_ms, written_total: 0, is_hard: false };
        Leaving { step, has_ended: false }
    }

    /// Leaves within `limit_ms`, whatever is still queued.
    pub fn hasty(limit_ms: Millis, now: Millis) -> Leaving {
        let deadline = now.saturating_add(limit_ms);
        let step =
            Step::Flushing { deadline, window_ms: limit_ms, written_total: 0, is_hard: true };
        Leaving { step, has_ended: false }
    }

    /// The first window counts from here: `written_total` bytes had left before the last words.
    pub fn begin(&mut self, so_far: u64) {
        if let Step::Flushing { written_total, .. } = &mut self.step {
            *written_total = so_far;
        }
    }

    /// Everything was written and our side is half-closed.
    pub fn shut_down(&mut self, now: Millis) {
        self.step = match self.step {
            Step::Flushing { .. } if self.has_ended => Step::Done,
            Step::Flushing { deadline, is_hard: true, .. } => {
                Step::Draining { deadline: deadline.min(now.saturating_add(DRAIN_MS)) }
            }
            Step::Flushing { is_hard: false, .. } => {
                Step::Draining { deadline: now.saturating_add(DRAIN_MS) }
            }
            Step::Draining { deadline } => Step::Draining { deadline },
            Step::Done => Step::Done,
        };
    }

    /// The peer's EOF came.
    pub fn end(&mut self) {
        self.has_ended = true;
        if matches!(self.step, Step::Draining { .. }) {
            self.step = Step::Done;
        }
    }

    /// The socket broke: nothing more can leave.
    pub fn fail(&mut self) {
        self.step = Step::Done;
    }

    /// Shortens what is left to `limit_ms`; never lengthens it.
    pub fn hurry(&mut self, limit_ms: Millis, now: Millis) {
        let limit = now.saturating_add(limit_ms);
        match &mut self.step {
            Step::Flushing { deadline, is_hard, .. } => {
                *deadline = limit.min(*deadline);
                *is_hard = true;
            }
            Step::Draining { deadline } => *deadline = limit.min(*deadline),
            Step::Done => {}
        }
    }

    /// When [`Leaving::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Option<Millis> {
        match self.step {
            Step::Flushing { deadline, .. } | Step::Draining { deadline } => Some(deadline),
            Step::Done => None,
        }
    }

    /// Judges the step whose deadline has come.
    pub fn handle_timeout(&mut self, written_total: u64, now: Millis) {
        match &mut self.step {
            Step::Flushing { deadline, window_ms, written_total: before, is_hard }
                if now >= *deadline =>
            {
                if *is_hard || written_total == *before {
                    self.step = Step::Done;
                } else {
                    *before = written_total;
                    *deadline = now.saturating_add(*window_ms);
                }
            }
            Step::Draining { deadline } if now >= *deadline => self.step = Step::Done,
            Step::Flushing { .. } | Step::Draining { .. } | Step::Done => {}
        }
    }

    /// Whether the socket may be closed now.
    pub fn is_done(&self) -> bool {
        matches!(self.step, Step::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_shrinks_once_a_window_keeps_its_socket() {
        let mut leaving = Leaving::patient(60_000, 0);
        leaving.begin(100);
        for (now, written, done) in [
            (59_999, 100, false),
            (60_000, 101, false),
            (120_000, 102, false),
            (180_000, 102, true),
        ] {
            leaving.handle_timeout(written, now);
            assert_eq!(leaving.is_done(), done, "at {now}");
        }
    }

    #[test]
    fn after_the_half_close_the_peer_has_two_seconds() {
        let mut leaving = Leaving::patient(60_000, 0);
        leaving.shut_down(5_000);
        assert_eq!(leaving.poll_timeout(), Some(7_000));
        leaving.handle_timeout(0, 7_000);
        assert!(leaving.is_done());
    }

    #[test]
    fn eof_ends_the_drain_at_once_in_either_order() {
        let mut after = Leaving::patient(60_000, 0);
        after.shut_down(1);
        after.end();
        let mut before = Leaving::patient(60_000, 0);
        before.end();
        assert!(!before.is_done());
        before.shut_down(1);
        assert!(after.is_done() && before.is_done());
    }

    #[test]
    fn a_hasty_leave_ends_at_its_limit_even_while_bytes_flow() {
        let mut leaving = Leaving::hasty(2_000, 0);
        leaving.handle_timeout(999, 1_999);
        assert!(!leaving.is_done());
        leaving.shut_down(1_500);
        assert_eq!(leaving.poll_timeout(), Some(2_000));
        leaving.handle_timeout(999, 2_000);
        assert!(leaving.is_done());
    }
}

//! One turn of the loop: which stage follows which, and what each gives.
//!
//! The theory of operation stands in the folder's `mod.rs`. This file knows the order; what a
//! stream, listener or process does when served stands in their own files.

use std::io;

use super::event::{Event, HandleId, StreamId, Tag};
use super::phase::Phase;
use super::sys::{Kernel, Ready, Token};
use super::{Reactor, stream};
use crate::effect::FileError;
use crate::stdx::Millis;
use crate::stdx::slots::Key;

/// Where in the turn the loop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not running: before the first turn, and after `next` gave `None`.
    Outside,
    /// The due timers that run once before the first turn.
    TimersBefore,
    /// What was settled since the last poll phase.
    Pending,
    /// Idle, prepare or check handles.
    Phase(Phase),
    /// The poll brought sources; they are served.
    Sources,
    /// What the poll phase settled, in rounds.
    PendingAfterPoll { round: u32 },
    /// Closed handles.
    Closing,
    /// Due timers.
    Timers,
}

/// Something the kernel tells readiness of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Stream(Key),
    Listener(Key),
    Process(Key),
    Signals,
    Bell,
}

/// Something to tell in a pending phase.
pub(super) enum Pending<T> {
    Stream(Key),
    File(T, Result<Vec<u8>, FileError>),
}

/// Something to tell in the closing phase.
pub(super) enum Closing<T> {
    Stream(Key),
    Handle(T, HandleId),
}

/// An event to be given, before its bytes are lent.
pub(super) enum Step<T> {
    Event(Event<'static, T>),
    /// The bytes are in `scratch`.
    Data {
        owner: T,
        stream: StreamId,
    },
}

/// Rounds of the pending phase after the poll, as in libuv since 1.44.2.
const PENDING_ROUNDS_MAX: u32 = 8;

/// A token's kind stands in these bits above the index; tables stay far below 2^28 entries.
const KIND_SHIFT: u32 = 28;
const KIND_MASK: u64 = 0xf << KIND_SHIFT;

impl Source {
    pub(super) fn pack(self) -> Token {
        let (kind, key) = match self {
            Source::Stream(key) => (0, key.pack()),
            Source::Listener(key) => (1, key.pack()),
            Source::Process(key) => (2, key.pack()),
            Source::Signals => (3, 0),
            Source::Bell => (4, 0),
        };
        assert!(key & KIND_MASK == 0);
        Token(key | kind << KIND_SHIFT)
    }

    fn unpack(token: Token) -> Option<Source> {
        let key = Key::unpack(token.0 & !KIND_MASK);
        match (token.0 & KIND_MASK) >> KIND_SHIFT {
            0 => Some(Source::Stream(key)),
            1 => Some(Source::Listener(key)),
            2 => Some(Source::Process(key)),
            3 => Some(Source::Signals),
            4 => Some(Source::Bell),
            _ => None,
        }
    }
}

impl<K: Kernel, T: Tag> Reactor<K, T> {
    /// The next event; `None` when `stop` was called or nothing is left that could bring one.
    ///
    /// # Errors
    /// When polling fails; a further call polls again.
    // The event lends from the loop, which `Iterator` cannot say.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<Event<'_, T>>> {
        Ok(self.next_timed()?.map(|(_, event)| event))
    }

    /// The next event with the loop's time, which cannot be asked for while the event is looked at.
    ///
    /// # Errors
    /// As [`Reactor::next`].
    pub fn next_timed(&mut self) -> io::Result<Option<(Millis, Event<'_, T>)>> {
        let Some(step) = self.advance()? else { return Ok(None) };
        let event = match step {
            Step::Event(event) => event,
            Step::Data { owner, stream } => Event::Data { owner, stream, bytes: &mut self.scratch },
        };
        Ok(Some((self.now, event)))
    }

    fn advance(&mut self) -> io::Result<Option<Step<T>>> {
        loop {
            if let Some(event) = self.outbox.pop_front() {
                return Ok(Some(Step::Event(event)));
            }
            let step = match self.stage {
                Stage::Outside => None,
                Stage::TimersBefore | Stage::Timers => self
                    .wheel
                    .fire(self.now)
                    .map(|(owner, timer)| Step::Event(Event::Timer { owner, timer })),
                Stage::Phase(_) => self.phases.run(self.polls_begun).map(Step::Event),
                Stage::Pending | Stage::PendingAfterPoll { .. } => {
                    self.tell_pending().map(Step::Event)
                }
                Stage::Sources => self.serve(),
                Stage::Closing => self.tell_closing().map(Step::Event),
            };
            if step.is_some() {
                return Ok(step);
            }
            if self.outbox.is_empty() && !self.enter_next_stage()? {
                return Ok(None);
            }
        }
    }

    /// Goes on to the stage after this one; false when the loop ends.
    fn enter_next_stage(&mut self) -> io::Result<bool> {
        self.stage = match self.stage {
            Stage::Outside => {
                if self.ends() {
                    return Ok(false);
                }
                self.begin_timers();
                Stage::TimersBefore
            }
            Stage::TimersBefore => {
                self.begin_pending();
                Stage::Pending
            }
            Stage::Timers => {
                if self.ends() {
                    self.stage = Stage::Outside;
                    return Ok(false);
                }
                self.begin_pending();
                Stage::Pending
            }
            Stage::Pending => self.begin_phase(Phase::Idle),
            Stage::Phase(Phase::Idle) => self.begin_phase(Phase::Prepare),
            Stage::Phase(Phase::Prepare) => {
                self.poll()?;
                Stage::Sources
            }
            Stage::Sources => {
                self.begin_pending();
                Stage::PendingAfterPoll { round: 1 }
            }
            Stage::PendingAfterPoll { round } => {
                let is_settled = self.pending.is_empty() && self.dirty.is_empty();
                if is_settled || round == PENDING_ROUNDS_MAX {
                    self.begin_phase(Phase::Check)
                } else {
                    self.begin_pending();
                    Stage::PendingAfterPoll { round: round + 1 }
                }
            }
            Stage::Phase(Phase::Check) => {
                assert!(self.ending.is_empty());
                std::mem::swap(&mut self.closing, &mut self.ending);
                Stage::Closing
            }
            Stage::Closing => {
                self.begin_timers();
                Stage::Timers
            }
        };
        Ok(true)
    }

    /// Whether the loop ends here; a stop is used up by it.
    fn ends(&mut self) -> bool {
        std::mem::take(&mut self.is_stopping) || !self.is_alive()
    }

    fn begin_timers(&mut self) {
        self.update_now();
        self.spare.free_if_due(self.now);
        self.wheel.collect_due(self.now);
    }

    fn begin_pending(&mut self) {
        self.flush();
        assert!(self.telling.is_empty());
        std::mem::swap(&mut self.pending, &mut self.telling);
    }

    fn begin_phase(&mut self, phase: Phase) -> Stage {
        self.phases.begin(phase);
        Stage::Phase(phase)
    }

    fn update_now(&mut self) {
        self.now = self.kernel.monotonic_ms().max(self.now);
    }

    /// Sleeps as long as nothing is due, then lists the sources that became ready.
    fn poll(&mut self) -> io::Result<()> {
        self.dirty.append(&mut self.unflushed);
        self.flush();
        let timeout_ms = self.poll_timeout_ms();
        self.polls_begun += 1;
        self.ready.clear();
        let mut left_ms = timeout_ms;
        while let Err(error) = self.kernel.poll(left_ms, &mut self.ready) {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
            // Counted from the cached time the timeout was made from, as libuv does.
            let passed_ms = self.kernel.monotonic_ms().saturating_sub(self.now);
            left_ms = timeout_ms.map(|timeout_ms| timeout_ms.saturating_sub(passed_ms));
        }
        self.update_now();
        assert!(self.serving.is_empty());
        let mut ready = std::mem::take(&mut self.ready);
        for one in ready.drain(..) {
            self.note_ready(one);
        }
        self.ready = ready;
        self.serving.append(&mut self.still_ready);
        // Signals come last, as in libuv.
        if let Some(index) = self.serving.iter().position(|&source| source == Source::Signals) {
            self.serving.remove(index);
            self.serving.push_back(Source::Signals);
        }
        Ok(())
    }

    /// How long the poll may sleep; `None` is for ever.
    fn poll_timeout_ms(&mut self) -> Option<Millis> {
        let must_not_sleep = self.is_stopping
            || self.phases.forbid_sleep()
            || !self.still_ready.is_empty()
            || !self.pending.is_empty()
            || !self.closing.is_empty()
            || !self.unflushed.is_empty()
            || !self.is_alive();
        if must_not_sleep {
            return Some(0);
        }
        let due = [self.wheel.next_due(), self.spare.due()].into_iter().flatten().min();
        due.map(|due| due.saturating_sub(self.now))
    }

    /// Lists a source the kernel told of; an event for one that is gone ends here.
    fn note_ready(&mut self, ready: Ready) {
        let Some(source) = Source::unpack(ready.token) else { return };
        let is_to_be_served = match source {
            Source::Stream(key) => self.note_stream_ready(key, ready),
            Source::Listener(key) => match self.listeners.get_mut(key) {
                Some(listener) => !std::mem::replace(&mut listener.is_listed, true),
                None => false,
            },
            Source::Process(key) => self.processes.get(key).is_some(),
            Source::Signals | Source::Bell => {
                !self.serving.contains(&source) && !self.still_ready.contains(&source)
            }
        };
        if is_to_be_served {
            self.serving.push_back(source);
        }
    }

    /// Serves ready sources until one gives an event.
    fn serve(&mut self) -> Option<Step<T>> {
        loop {
            if self.reading.is_some() {
                let step = self.read_on();
                if step.is_some() {
                    return step;
                }
                continue;
            }
            match self.serving.pop_front()? {
                Source::Stream(key) => {
                    if let Some(stream) = self.streams.get_mut(key) {
                        stream.is_listed = false;
                        self.reading = Some((key, stream::READS_PER_TURN));
                    }
                }
                Source::Listener(key) => {
                    if let Some(event) = self.accept(key) {
                        return Some(Step::Event(event));
                    }
                }
                Source::Process(key) => {
                    if let Some(event) = self.reap(key) {
                        return Some(Step::Event(event));
                    }
                }
                Source::Signals => self.take_signals(),
                Source::Bell => {
                    self.wakers.take_rung(&mut self.outbox);
                    if self.files.take_done(&mut self.outbox) {
                        self.still_ready.push_back(Source::Bell);
                    }
                }
            }
            if let Some(event) = self.outbox.pop_front() {
                return Some(Step::Event(event));
            }
        }
    }

    fn tell_pending(&mut self) -> Option<Event<'static, T>> {
        loop {
            match self.telling.pop_front()? {
                Pending::File(owner, result) => return Some(Event::File { owner, result }),
                Pending::Stream(key) => {
                    if let Some(event) = self.tell_stream(key) {
                        // More may be to tell of the same stream, before any other's.
                        self.telling.push_front(Pending::Stream(key));
                        return Some(event);
                    }
                }
            }
        }
    }

    fn tell_closing(&mut self) -> Option<Event<'static, T>> {
        match self.ending.pop()? {
            Closing::Handle(owner, handle) => Some(Event::HandleClosed { owner, handle }),
            Closing::Stream(key) => {
                let (event, is_last) = self.tell_closed_stream(key);
                if !is_last {
                    self.ending.push(Closing::Stream(key));
                }
                Some(event)
            }
        }
    }
}

//! The reactor: one loop, one thread, all I/O, no protocol.
//!
//! The loop is an iterator. [`Reactor::next`] gives one [`Event`] at a time and walks the phases of
//! libuv (1.48 and later) between them; the house handles the event, then asks for writes, timers
//! and the like, then calls `next` again. Handlers are never called from in here.
//!
//! # Theory of operation
//!
//! ```text
//! once: clock, due timers
//! turn: pending -> idle -> prepare -> poll: clock, sources, signals -> pending (at most 8 rounds)
//!       -> check -> closing -> clock, due timers
//! ```
//!
//! A [`Stage`] says where in the turn we are. Each stage fixes the set it works on when it is
//! entered and gives its events one by one; `advance` goes on to the next stage when it is empty.
//! What a handler queues is written once: at the end of the poll phase before check, and what was
//! queued later before the next poll. The cached clock moves right after the poll and before
//! timers, nowhere else.
//!
//! The kernel is edge-triggered, so what a turn leaves unread stands on the `still_ready` list,
//! which keeps the next poll from blocking and is served after what that poll brought.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;

use crate::stdx::Millis;
use crate::stdx::slots::{Key, Slots};

mod event;
mod file;
mod listener;
mod phase;
mod process;
mod signal;
mod spare;
mod stream;
pub mod sys;
mod timer;
mod turn;
mod waker;
mod worker;
mod write_queue;

pub use event::{
    Event, HandleId, ListenerId, PhaseId, ProcessId, StreamId, Tag, TimerId, WriteError,
};
pub use listener::{ListenError, PortRange};
pub use phase::Phase;
pub use stream::READ_BYTES_MAX;
pub use sys::{Exit, HeldFile, Kernel, Signal};
pub use waker::Waker;

use spare::Spare;
use turn::{Source, Stage};

/// Settings of a reactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// A stream with more than this queued is told `Drained` later.
    pub queue_high_bytes: usize,
    /// `Drained` is told once fewer than this are queued; `0 < low <= high`.
    pub queue_low_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { queue_high_bytes: 4 << 20, queue_low_bytes: 1 << 20 }
    }
}

/// The loop over kernel `K`, with sources owned by tags `T`.
pub struct Reactor<K, T> {
    kernel: K,
    options: Options,
    /// The loop's time: see the phases above for when it moves.
    now: Millis,
    stage: Stage,
    is_stopping: bool,
    polls_begun: u64,

    streams: Slots<stream::Stream<T>>,
    listeners: Slots<listener::Listener<T>>,
    processes: Slots<process::Process<T>>,
    signals_owner: Option<T>,
    wakers: waker::Wakers<T>,
    files: file::Files<T>,
    wheel: timer::Wheel<T>,
    phases: phase::Phases<T>,

    /// What the poll brought.
    ready: Vec<sys::Ready>,
    /// Sources of the poll phase under way. A listed source stands here or in `still_ready`.
    serving: VecDeque<Source>,
    /// Sources with something left for the next turn.
    still_ready: VecDeque<Source>,
    /// The stream being read and how many reads it has left this turn.
    reading: Option<(Key, u32)>,
    /// Streams with bytes queued that were not offered to the kernel since.
    dirty: Vec<Key>,
    /// Streams that used up their budget in a flush; they go on in the next turn.
    unflushed: Vec<Key>,
    /// What to tell in the next pending phase.
    pending: VecDeque<turn::Pending<T>>,
    /// What the pending phase under way still has to tell.
    telling: VecDeque<turn::Pending<T>>,
    /// Closed handles; the last one is told first.
    closing: Vec<turn::Closing<T>>,
    /// What the closing phase under way still has to tell.
    ending: Vec<turn::Closing<T>>,
    /// Events of a source that gave several at once, told before anything else.
    outbox: VecDeque<Event<'static, T>>,

    /// Where reads land that no one gave a buffer for.
    scratch: Vec<u8>,
    spare: Spare,
}

impl<K: Kernel, T: Tag> Reactor<K, T> {
    /// A loop with nothing in it.
    ///
    /// # Errors
    /// When the kernel cannot make the bell that wakers ring.
    ///
    /// # Panics
    /// When the options break `0 < low <= high`.
    pub fn new(mut kernel: K, options: Options) -> io::Result<Self> {
        assert!(options.queue_low_bytes > 0);
        assert!(options.queue_low_bytes <= options.queue_high_bytes);
        let bell = kernel.bell(Source::Bell.pack())?;
        let now = kernel.monotonic_ms();
        Ok(Reactor {
            kernel,
            options,
            now,
            stage: Stage::Outside,
            is_stopping: false,
            polls_begun: 0,
            streams: Slots::default(),
            listeners: Slots::default(),
            processes: Slots::default(),
            signals_owner: None,
            wakers: waker::Wakers::new(bell.clone()),
            files: file::Files::new(bell),
            wheel: timer::Wheel::new(now),
            phases: phase::Phases::default(),
            ready: Vec::new(),
            serving: VecDeque::new(),
            still_ready: VecDeque::new(),
            reading: None,
            dirty: Vec::new(),
            unflushed: Vec::new(),
            pending: VecDeque::new(),
            telling: VecDeque::new(),
            closing: Vec::new(),
            ending: Vec::new(),
            outbox: VecDeque::new(),
            scratch: Vec::with_capacity(READ_BYTES_MAX),
            spare: Spare::default(),
        })
    }

    /// Ends the loop after the turn under way, whose poll does not block: `next` then gives `None`.
    pub fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// The loop's cached time.
    pub fn now(&self) -> Millis {
        self.now
    }

    /// The system below: wall clock, randomness, process id, short file work.
    pub fn kernel(&mut self) -> &mut K {
        &mut self.kernel
    }

    /// Arms a timer that fires `after_ms` from the cached time, then every `repeat_ms`.
    pub fn start_timer(
        &mut self,
        owner: T,
        after_ms: Millis,
        repeat_ms: Option<NonZeroU64>,
    ) -> TimerId {
        self.wheel.start(owner, self.now, after_ms, repeat_ms)
    }

    /// Takes a timer away; it fires no more, not even later in this turn.
    pub fn stop_timer(&mut self, timer: TimerId) {
        self.wheel.stop(timer);
    }

    /// Takes a timer away and tells so in the closing phase, last closed first.
    pub fn close_timer(&mut self, timer: TimerId) {
        if let Some(owner) = self.wheel.stop(timer) {
            self.closing.push(turn::Closing::Handle(owner, HandleId::Timer(timer)));
        }
    }

    /// Starts a handle that runs in `phase` of each turn. The last started runs first; one started
    /// while its phase runs begins with the next turn.
    pub fn start_phase(&mut self, phase: Phase, owner: T) -> PhaseId {
        self.phases.start(phase, owner)
    }

    /// Takes a phase handle, or a wait for a poll, away.
    pub fn stop_phase(&mut self, id: PhaseId) {
        self.phases.stop(id);
    }

    /// Takes a phase handle away and tells so in the closing phase, last closed first.
    pub fn close_phase(&mut self, id: PhaseId) {
        if let Some(owner) = self.phases.stop(id) {
            self.closing.push(turn::Closing::Handle(owner, HandleId::Phase(id)));
        }
    }

    /// Tells `AfterPoll` once, in the check phase after the first poll that begins after this
    /// call; until then no poll blocks. `stop_phase` cancels. (Seed 000, stall confirmation.)
    pub fn after_next_poll(&mut self, owner: T) -> PhaseId {
        self.phases.start_wait(owner, self.polls_begun)
    }

    /// Whether anything could still bring an event.
    fn is_alive(&self) -> bool {
        !(self.streams.is_empty()
            && self.listeners.is_empty()
            && self.processes.is_empty()
            && self.wheel.is_empty()
            && self.phases.is_empty()
            && self.pending.is_empty()
            && self.closing.is_empty()
            && self.signals_owner.is_none()
            && self.files.is_idle()
            && self.wakers.is_empty())
    }
}

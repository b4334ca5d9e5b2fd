//! The handles that run in a phase of each turn: idle, prepare and check.
//!
//! As in libuv the last started runs first, and a run walks the handles that were there when the
//! phase began: one started by a handler of its own phase runs from the next turn on. A wait for
//! the next poll (`after_next_poll`) is a check handle that runs once, and only after a poll that
//! began later than it was asked for.

use super::event::{Event, PhaseId};
use crate::stdx::slots::{Key, Slots};

/// A phase that handles can run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before the poll; while one is started, the poll does not block.
    Idle,
    /// Right before the poll.
    Prepare,
    /// Right after the poll and what it brought.
    Check,
}

/// Started handles of owners `T`.
#[derive(Debug)]
pub(super) struct Phases<T> {
    handles: Slots<Handle<T>>,
    /// By phase, in order of starting.
    started: [Vec<Key>; 3],
    /// What is left of the run under way; the next to run stands last.
    running: Vec<Key>,
    /// How many handles wait for a poll.
    waiting: usize,
}

#[derive(Debug)]
struct Handle<T> {
    owner: T,
    phase: Phase,
    /// For a wait: the number of polls begun when it was asked for.
    after_poll: Option<u64>,
}

impl<T> Default for Phases<T> {
    fn default() -> Self {
        Phases {
            handles: Slots::default(),
            started: Default::default(),
            running: Vec::new(),
            waiting: 0,
        }
    }
}

impl<T: Copy> Phases<T> {
    /// Starts a handle that runs each turn until stopped.
    pub(super) fn start(&mut self, phase: Phase, owner: T) -> PhaseId {
        self.insert(Handle { owner, phase, after_poll: None })
    }

    /// Starts a handle that runs in the check phase after a poll later than `polls_begun`.
    pub(super) fn start_wait(&mut self, owner: T, polls_begun: u64) -> PhaseId {
        self.waiting += 1;
        self.insert(Handle { owner, phase: Phase::Check, after_poll: Some(polls_begun) })
    }

    /// Takes the handle away and returns its owner, unless it is gone.
    pub(super) fn stop(&mut self, id: PhaseId) -> Option<T> {
        let handle = self.handles.remove(id.0)?;
        self.started[handle.phase as usize].retain(|&key| key != id.0);
        if handle.after_poll.is_some() {
            self.waiting -= 1;
        }
        Some(handle.owner)
    }

    /// Whether no handle is started.
    pub(super) fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// Whether the poll must not block: an idle handle is started or someone waits for the poll.
    pub(super) fn forbid_sleep(&self) -> bool {
        self.waiting > 0 || !self.started[Phase::Idle as usize].is_empty()
    }

    /// Fixes the handles that run in this phase of this turn.
    pub(super) fn begin(&mut self, phase: Phase) {
        assert!(self.running.is_empty());
        self.running.extend_from_slice(&self.started[phase as usize]);
    }

    /// The event of the next handle of the run.
    pub(super) fn run(&mut self, polls_begun: u64) -> Option<Event<'static, T>> {
        while let Some(key) = self.running.pop() {
            let id = PhaseId(key);
            let Some(&Handle { owner, phase, after_poll }) = self.handles.get(key) else {
                continue;
            };
            match after_poll {
                None => return Some(Event::Phase { owner, phase, id }),
                Some(asked) if asked < polls_begun => {
                    self.stop(id);
                    return Some(Event::AfterPoll { owner });
                }
                Some(_) => {}
            }
        }
        None
    }

    fn insert(&mut self, handle: Handle<T>) -> PhaseId {
        let phase = handle.phase;
        let key = self.handles.insert(handle);
        self.started[phase as usize].push(key);
        PhaseId(key)
    }
}

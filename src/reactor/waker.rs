//! Wakers: how another thread makes the loop look up.
//!
//! All share the kernel's one bell; each has a flag that says whether it was the one that rang.
//! Rings coalesce: any number before the event is told give one event.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Reactor;
use super::event::{Event, Tag};
use super::sys::{Bell, Kernel};

/// Rings the loop from any thread. The loop goes on while one exists.
#[derive(Clone)]
pub struct Waker {
    is_rung: Arc<AtomicBool>,
    bell: Bell,
}

impl Waker {
    /// Has `Woken` told in the next poll phase.
    pub fn wake(&self) {
        if !self.is_rung.swap(true, Ordering::AcqRel) {
            (self.bell)();
        }
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waker").field("is_rung", &self.is_rung).finish_non_exhaustive()
    }
}

/// The loop's ends of all wakers.
pub(super) struct Wakers<T> {
    bell: Bell,
    flags: Vec<(T, Arc<AtomicBool>)>,
}

impl<T: Copy> Wakers<T> {
    pub(super) fn new(bell: Bell) -> Wakers<T> {
        Wakers { bell, flags: Vec::new() }
    }

    /// Whether no waker exists outside the loop.
    pub(super) fn is_empty(&self) -> bool {
        self.flags.iter().all(|(_, flag)| Arc::strong_count(flag) == 1)
    }

    /// Tells of each waker that rang, and forgets those that nobody can ring any more.
    pub(super) fn take_rung(&mut self, outbox: &mut VecDeque<Event<'static, T>>) {
        for (owner, flag) in &self.flags {
            if flag.swap(false, Ordering::AcqRel) {
                outbox.push_back(Event::Woken { owner: *owner });
            }
        }
        self.flags.retain(|(_, flag)| Arc::strong_count(flag) > 1);
    }
}

impl<K: Kernel, T: Tag> Reactor<K, T> {
    /// A waker whose rings are told to `owner`.
    pub fn waker(&mut self, owner: T) -> Waker {
        let is_rung = Arc::new(AtomicBool::new(false));
        self.wakers.flags.push((owner, is_rung.clone()));
        Waker { is_rung, bell: self.wakers.bell.clone() }
    }
}

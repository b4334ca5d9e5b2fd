//! The keep-alive timer: one for all clients, running only while somebody is connected.
//!
//! A tick samples every client's socket and asks its policy for a verdict. A queue that stands still
//! for the second time is looked at once more, right after the next poll: only a poll can tell that a
//! socket became writable again, and a loop that was busy has not polled since (seed 000).

use std::num::NonZeroU64;

use super::house::House;
use super::owner::{Chore, Owner};
use crate::proto::ws::keepalive::Sample;
use crate::reactor::sys::Kernel;
use crate::reactor::{Reactor, StreamId};
use crate::stdx::slots::Key;

impl House {
    pub(super) fn client_came<K: Kernel>(&mut self, key: Key, reactor: &mut Reactor<K, Owner>) {
        if let Some(entry) = self.clients.get_mut(key) {
            entry.client.begin_keepalive(sample(entry.stream, reactor), reactor.now());
        }
        self.presence.restore_if_missing(reactor.kernel());
        let Some(interval_ms) = NonZeroU64::new(self.rules.interval_ms) else { return };
        if self.timers.keepalive.is_none() {
            let owner = Owner::Chore(Chore::KeepAlive);
            let timer = reactor.start_timer(owner, interval_ms.get(), Some(interval_ms));
            self.timers.keepalive = Some(timer);
        }
    }

    pub(super) fn client_left<K: Kernel>(&mut self, reactor: &mut Reactor<K, Owner>) {
        if self.connected.is_empty()
            && let Some(timer) = self.timers.keepalive.take()
        {
            reactor.stop_timer(timer);
            self.keepalive.stop();
        }
    }

    pub(super) fn tick<K: Kernel>(&mut self, reactor: &mut Reactor<K, Owner>) {
        self.presence.restore_if_missing(reactor.kernel());
        let now = reactor.now();
        let tick = self.keepalive.tick(now);
        let keys: Vec<Key> = self.connected.values().copied().collect();
        for key in keys {
            let Some(entry) = self.clients.get_mut(key) else { continue };
            let sample = sample(entry.stream, reactor);
            if entry.client.tick(tick, sample, now) {
                reactor.after_next_poll(Owner::Stall(key));
            }
            self.mark_dirty(key);
        }
    }

    /// Judges a stalled client by what the poll in between has let through.
    pub(super) fn confirm<K: Kernel>(&mut self, key: Key, reactor: &mut Reactor<K, Owner>) {
        let Some(entry) = self.clients.get_mut(key) else { return };
        let sample = sample(entry.stream, reactor);
        entry.client.confirm(sample, reactor.now());
        self.mark_dirty(key);
    }
}

fn sample<K: Kernel>(stream: StreamId, reactor: &Reactor<K, Owner>) -> Sample {
    Sample {
        read_total: reactor.read_total(stream),
        written_total: reactor.written_total(stream),
        queued: reactor.queued(stream),
        is_paused: false,
    }
}

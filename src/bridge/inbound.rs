//! Events of the reactor, each handed to the one core it is for.
//!
//! Nothing here can speak to the reactor: its memory is lent to the event. What wants the reactor
//! waits in the books of [`House`] until [`House::settle`](super::settle).

use super::house::{Entry, House, REFUSALS_MAX, Stopping, Todo, UNAUTHENTICATED_MAX};
use super::owner::{Chore, Owner};
use crate::effect::Answer;
use crate::mcp::call::ClientId;
use crate::reactor::{Event, Signal, StreamId};
use crate::stdx::Millis;
use crate::stdx::slots::Key;
use crate::tools::Reply;
use crate::transport::client::{Client, Rules};

/// The mark behind a 101; those behind mentions carry their ids, which begin with 1.
pub(super) const UPGRADE_MARK: u64 = 0;

impl House {
    /// Takes one event in. `now` is the loop's time.
    pub(super) fn handle(&mut self, event: Event<'_, Owner>, now: Millis) {
        match event {
            Event::Accepted { stream, .. } => self.accept(stream, now),
            Event::AcceptFailed { error, .. } => log::error!("accept failed: {error}"),
            Event::Data { owner, bytes, .. } => self.with_client(owner, |entry, rules| {
                entry.client.handle_data(bytes, entry.queued, rules, now);
            }),
            Event::Filled { owner, buffer, fresh_from, .. } => {
                self.with_client(owner, |entry, rules| {
                    let queued = entry.queued;
                    entry.client.handle_filled(buffer, fresh_from, queued, rules, now);
                });
            }
            Event::End { owner, .. } => {
                self.with_client(owner, |entry, _| entry.client.handle_end(now));
            }
            Event::Failed { owner, error, .. } => {
                self.with_client(owner, |entry, _| entry.client.handle_failure(&error));
            }
            Event::Written { owner: Owner::Client(key), mark, result, .. }
                if mark != UPGRADE_MARK =>
            {
                self.mentions.written(mark, key, result.is_ok());
            }
            Event::Written { owner, result: Ok(()), .. } => {
                self.with_client(owner, |entry, rules| {
                    entry.client.handle_written(entry.queued, rules, now);
                });
            }
            Event::ShutDown { owner, .. } => {
                self.with_client(owner, |entry, _| entry.client.handle_shut_down(now));
            }
            Event::Drained { owner, .. } => self.with_client(owner, |_, _| {}),
            Event::Timer { owner, .. } => self.expire(owner),
            Event::AfterPoll { owner: Owner::Stall(key) } => {
                self.chores.push_back(Todo::Confirm(key));
            }
            Event::Signal { signal, .. } => self.signal(signal),
            Event::File { owner: Owner::Call(call), result } => {
                self.tools.answer(call, Reply::Io(Answer::File(result)), now);
            }
            Event::Exited { status, .. } => {
                log::debug!("open command ended: {status:?}");
                self.open_commands_running -= 1;
            }
            Event::Written { result: Err(_), .. }
            | Event::Closed { .. }
            | Event::AfterPoll { .. }
            | Event::File { .. }
            | Event::HandleClosed { .. }
            | Event::Phase { .. }
            | Event::Woken { .. } => {}
        }
    }

    fn accept(&mut self, stream: StreamId, now: Millis) {
        self.accepted_total += 1;
        let id = ClientId(self.accepted_total);
        let client = if self.stopping == Stopping::No && self.make_room() {
            Client::new(id, now)
        } else if self.clients.len() < self.connections_max + REFUSALS_MAX {
            Client::refused(id, now)
        } else {
            log::warn!("Rejected {id}: {} connections already", self.clients.len());
            return self.chores.push_back(Todo::Refuse(stream));
        };
        let key = self.clients.insert(Entry {
            client,
            stream,
            accepted_at: now,
            deadline: None,
            queued: 0,
            unfinished_bytes: 0,
            is_dirty: false,
        });
        log::debug!("{id} accepted");
        self.chores.push_back(Todo::Adopt(key));
        self.mark_dirty(key);
    }

    /// Makes room for one more connection; false when every place is taken by a client let in.
    fn make_room(&mut self) -> bool {
        let is_full = self.clients.len() >= self.connections_max;
        let (outside, oldest) = self.oldest_outsider();
        if !is_full && outside < UNAUTHENTICATED_MAX {
            return true;
        }
        // One that is told that there is no room stands beyond the cap and has no place to give.
        let is_beyond = self.clients.len() > self.connections_max;
        let Some(oldest) = oldest.filter(|_| !is_beyond) else { return !is_full };
        if let Some(entry) = self.clients.get_mut(oldest) {
            entry.client.evict("too many connections that were not let in; the oldest goes");
        }
        self.mark_dirty(oldest);
        true
    }

    /// Lets `act` at the client an event is for; a client that is gone gets nothing.
    fn with_client(&mut self, owner: Owner, act: impl FnOnce(&mut Entry, &Rules)) {
        let Owner::Client(key) = owner else { return };
        let Some(entry) = self.clients.get_mut(key) else { return };
        act(entry, &self.rules);
        self.mark_dirty(key);
    }

    fn expire(&mut self, owner: Owner) {
        match owner {
            Owner::Client(key) => self.chores.push_back(Todo::Expire(key)),
            Owner::Chore(chore) => self.chores.push_back(Todo::Chore(chore)),
            Owner::Door | Owner::Stall(_) | Owner::Call(_) | Owner::OpenCommand => {}
        }
    }

    fn signal(&mut self, signal: Signal) {
        self.stopping = match self.stopping {
            Stopping::No => {
                log::info!("{signal}: stopping");
                Stopping::Asked
            }
            Stopping::Asked | Stopping::Now => Stopping::Now,
        };
        self.chores.push_back(Todo::Chore(Chore::Stop));
    }

    pub(super) fn forget(&mut self, key: Key) -> Option<Entry> {
        let entry = self.clients.remove(key)?;
        self.unfinished_bytes -= entry.unfinished_bytes;
        Some(entry)
    }
}

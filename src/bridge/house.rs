//! Every core of a running bridge, and the books that join them.
//!
//! Borrowed apart from the reactor: [`House::handle`](super::inbound) takes an event that lends the
//! reactor's memory, [`House::settle`](super::settle) then has the reactor to itself.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::mentions::Mentions;
use super::owner::Chore;
use super::presence::Presence;
use crate::config::open_command::OpenCommand;
use crate::editor::diff::Diffs;
use crate::editor::state::State;
use crate::mcp::call::ClientId;
use crate::proto::ws::keepalive::Ticker;
use crate::reactor::{ListenerId, StreamId, TimerId};
use crate::stdx::Millis;
use crate::stdx::slots::{Key, Slots};
use crate::tools::Tools;
use crate::transport::client::{Client, Rules};

/// Connections that were never let in; beyond it the oldest goes.
pub(super) const UNAUTHENTICATED_MAX: usize = 128;

/// Connections over the cap that are told so, at once; more are closed without a word.
pub(super) const REFUSALS_MAX: usize = 32;

/// Bytes of unfinished messages, all clients together; beyond it the client that sent the last of
/// them is closed.
pub(super) const UNFINISHED_BYTES_MAX: usize = 256 << 20;

/// Open commands that have not ended. Some end with the window they opened, so a person's whole
/// screen fits; an agent in a loop does not.
pub(super) const OPEN_COMMANDS_MAX: usize = 64;

/// The cores and what is known of them.
#[derive(Debug)]
pub(super) struct House {
    pub(super) rules: Rules,
    pub(super) connections_max: usize,
    pub(super) open_command: Option<OpenCommand>,
    /// Invariant: at most [`OPEN_COMMANDS_MAX`].
    pub(super) open_commands_running: usize,
    pub(super) presence: Presence,
    pub(super) listener: Option<ListenerId>,
    pub(super) port: u16,
    pub(super) ide_name: String,
    pub(super) started_at: Millis,
    pub(super) clients: Slots<Entry>,
    /// Clients that were let in, by name. Everything addressed to another is for nobody.
    pub(super) connected: BTreeMap<ClientId, Key>,
    pub(super) tools: Tools,
    pub(super) editor: State,
    pub(super) diffs: Diffs,
    /// Changes of the diffs that reviewers were told of.
    pub(super) diffs_told: u64,
    pub(super) mentions: Mentions,
    pub(super) keepalive: Ticker,
    pub(super) accepted_total: u64,
    pub(super) unfinished_bytes: usize,
    /// Clients with something to take out, in the order in which they came by it.
    pub(super) dirty: VecDeque<Key>,
    /// What wants the reactor, in order.
    pub(super) chores: VecDeque<Todo>,
    pub(super) timers: Timers,
    pub(super) stopping: Stopping,
}

/// Handles of the house's own timers, while they run.
#[derive(Debug, Default)]
pub(super) struct Timers {
    pub(super) keepalive: Option<TimerId>,
    pub(super) tools: Option<(TimerId, Millis)>,
    pub(super) mentions: Option<(TimerId, Millis)>,
}

/// One connection and its place in the reactor.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) client: Client,
    pub(super) stream: StreamId,
    pub(super) accepted_at: Millis,
    pub(super) deadline: Option<(TimerId, Millis)>,
    /// Bytes the socket has not taken, as of the last settling.
    pub(super) queued: usize,
    pub(super) unfinished_bytes: usize,
    pub(super) is_dirty: bool,
}

/// One thing to do as soon as the reactor can be spoken to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Todo {
    Adopt(Key),
    Refuse(StreamId),
    Expire(Key),
    Confirm(Key),
    Chore(Chore),
}

/// How far an orderly stop has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopping {
    No,
    Asked,
    Now,
}

impl House {
    /// Sends a notification to every client that can hear it; says how many took it.
    pub(super) fn broadcast(&mut self, method: &str, params: &Value, now: Millis) -> usize {
        let keys: Vec<Key> = self.connected.values().copied().collect();
        let mut taken = 0;
        for key in keys {
            let Some(entry) = self.clients.get_mut(key) else { continue };
            taken += usize::from(entry.client.notify(method, params, entry.queued, now));
            // Also one that did not take it: it wants to know when its queue has drained.
            self.mark_dirty(key);
        }
        taken
    }

    pub(super) fn mark_dirty(&mut self, key: Key) {
        if let Some(entry) = self.clients.get_mut(key)
            && !entry.is_dirty
        {
            entry.is_dirty = true;
            self.dirty.push_back(key);
        }
    }

    pub(super) fn client_mut(&mut self, id: ClientId) -> Option<(Key, &mut Client)> {
        let key = *self.connected.get(&id)?;
        Some((key, &mut self.clients.get_mut(key)?.client))
    }

    /// How many connections were never let in, those on their way out included: they may linger
    /// over a refusal. And which came first, if there is one.
    pub(super) fn oldest_outsider(&self) -> (usize, Option<Key>) {
        let outside = || self.clients.iter().filter(|(_, entry)| entry.client.is_outsider());
        let oldest = outside().min_by_key(|(_, entry)| entry.client.id());
        (outside().count(), oldest.map(|(key, _)| key))
    }
}

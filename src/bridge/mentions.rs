//! Mentions on their way to agents.
//!
//! A mention goes to every agent attached when it is made; one that is still deaf gets it when its
//! gate opens. With no agent at all it waits for the first. It is done when the bytes have left our
//! queue for each agent, and only then is the person told how many got it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::stdx::Millis;
use crate::stdx::slots::Key;
use crate::transport::control::{Mention, Ticket};

/// Most mentions that wait for an agent.
pub(super) const MENTIONS_MAX: usize = 100;

/// How long a mention waits for an agent.
const WAIT_MS: Millis = 30_000;

/// All mentions that are not done.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    waiting: BTreeMap<u64, Waiting>,
    last_id: u64,
}

#[derive(Debug)]
struct Waiting {
    asker: Key,
    ticket: Ticket,
    params: Value,
    due: Millis,
    /// Agents whose gate is still shut.
    deaf: BTreeSet<Key>,
    /// Agents for whom bytes are still in our queue.
    unwritten: BTreeSet<Key>,
    written: usize,
}

/// A mention that is done: whom to tell, and how many agents got it. 0 = none in time.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) asker: Key,
    pub(super) ticket: Ticket,
    pub(super) agents: usize,
}

impl Mentions {
    /// Takes a mention in; `deaf` = agents that cannot hear it yet. `None` when too many wait.
    pub(super) fn add(
        &mut self,
        asker: Key,
        ticket: Ticket,
        mention: &Mention,
        deaf: BTreeSet<Key>,
        now: Millis,
    ) -> Option<u64> {
        if self.waiting.len() >= MENTIONS_MAX {
            return None;
        }
        self.last_id += 1;
        let due = now + WAIT_MS;
        let (unwritten, params) = (BTreeSet::new(), params(mention));
        let waiting = Waiting { asker, ticket, params, due, deaf, unwritten, written: 0 };
        self.waiting.insert(self.last_id, waiting);
        Some(self.last_id)
    }

    /// What `at_mentioned` says.
    pub(super) fn params(&self, id: u64) -> Option<&Value> {
        self.waiting.get(&id).map(|mention| &mention.params)
    }

    /// Mentions that this agent, whose gate has opened, is to get, oldest first: those that wait
    /// for it, and those that no agent has got.
    pub(super) fn for_agent(&self, agent: Key) -> Vec<u64> {
        let is_for_it = |mention: &Waiting| {
            let has_none =
                mention.deaf.is_empty() && mention.unwritten.is_empty() && mention.written == 0;
            mention.deaf.contains(&agent) || has_none
        };
        let due = self.waiting.iter().filter(|(_, mention)| is_for_it(mention));
        due.map(|(id, _)| *id).collect()
    }

    /// The agent's bytes are queued.
    pub(super) fn queued(&mut self, id: u64, agent: Key) {
        if let Some(mention) = self.waiting.get_mut(&id) {
            mention.deaf.remove(&agent);
            mention.unwritten.insert(agent);
        }
    }

    /// The agent cannot take it now.
    pub(super) fn defer(&mut self, id: u64, agent: Key) {
        if let Some(mention) = self.waiting.get_mut(&id) {
            mention.deaf.insert(agent);
        }
    }

    /// The agent's bytes have left our queue, or never will.
    pub(super) fn written(&mut self, id: u64, agent: Key, has_left: bool) {
        if let Some(mention) = self.waiting.get_mut(&id)
            && mention.unwritten.remove(&agent)
        {
            mention.written += usize::from(has_left);
        }
    }

    /// The connection is gone, as an agent or as one who asks.
    pub(super) fn gone(&mut self, key: Key) {
        self.waiting.retain(|_, mention| mention.asker != key);
        for mention in self.waiting.values_mut() {
            mention.deaf.remove(&key);
            mention.unwritten.remove(&key);
        }
    }

    /// Takes out what is done, or has waited too long.
    pub(super) fn take_done(&mut self, now: Millis) -> Vec<Done> {
        let is_done = |mention: &Waiting| {
            let is_everywhere = mention.deaf.is_empty() && mention.unwritten.is_empty();
            (is_everywhere && mention.written > 0) || now >= mention.due
        };
        let ids: Vec<u64> =
            self.waiting.iter().filter(|(_, one)| is_done(one)).map(|(id, _)| *id).collect();
        let done = ids.into_iter().filter_map(|id| self.waiting.remove(&id));
        done.map(|one| Done { asker: one.asker, ticket: one.ticket, agents: one.written }).collect()
    }

    /// When the first of them has waited too long.
    pub(super) fn poll_timeout(&self) -> Option<Millis> {
        self.waiting.values().map(|mention| mention.due).min()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

fn params(mention: &Mention) -> Value {
    let path = mention.file_path.to_string_lossy();
    match (mention.line_start, mention.line_end) {
        (Some(start), Some(end)) => json!({"filePath": path, "lineStart": start, "lineEnd": end}),
        (None, _) | (_, None) => json!({"filePath": path}),
    }
}

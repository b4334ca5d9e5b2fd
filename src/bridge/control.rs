//! What the verbs of the command line ask of the house, and the answers.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::house::House;
use super::owner::Owner;
use crate::editor::diff::{Diff, Verdict};
use crate::editor::selection::Selection;
use crate::reactor::Reactor;
use crate::reactor::sys::Kernel;
use crate::stdx::Millis;
use crate::stdx::slots::Key;
use crate::transport::control::{Answer, Fault, Mention, Request, Ticket};
use crate::transport::door::VERSION;

impl House {
    /// Takes a request of the client at `key` up. A mention is answered when it is done.
    pub(super) fn control<K: Kernel>(
        &mut self,
        key: Key,
        ticket: Ticket,
        request: Request,
        reactor: &mut Reactor<K, Owner>,
    ) {
        let now = reactor.now();
        let answer = match request {
            Request::Status => Ok(self.status(reactor)),
            Request::Mention(mention) => return self.mention(key, ticket, &mention, reactor),
            Request::Select(selection) => Ok(self.select(selection, now)),
            Request::Clear => Ok(match self.editor.current_selection() {
                Some(current) => self.select(Selection::none_in(current.path.clone()), now),
                None => json!({"agents": 0}),
            }),
            Request::Diffs => {
                let diffs: Vec<Value> =
                    self.diffs.pending().map(|diff| diff_json(diff, now)).collect();
                Ok(json!({"diffs": diffs}))
            }
            Request::Settle { id, verdict } => {
                let settled = match verdict {
                    Answer::Accept => self.diffs.accept(id),
                    Answer::AcceptAs(contents) => self.diffs.settle(id, Verdict::Saved(contents)),
                    Answer::Reject => self.diffs.settle(id, Verdict::Rejected),
                };
                settled.map(|()| json!({})).map_err(|why| Fault::Diff(id, why))
            }
        };
        self.answer(key, &ticket, answer);
    }

    /// Tells every agent what is selected now; those that attach later are told when they do.
    fn select(&mut self, selection: Selection, now: Millis) -> Value {
        self.editor.select(selection);
        let params = self.editor.selection_notification().expect("a selection was just made");
        json!({"agents": self.broadcast("selection_changed", &params, now)})
    }

    fn mention<K: Kernel>(
        &mut self,
        asker: Key,
        ticket: Ticket,
        mention: &Mention,
        reactor: &mut Reactor<K, Owner>,
    ) {
        let agents = self.clients.iter().filter(|(_, entry)| entry.client.is_agent());
        let (listening, deaf): (BTreeSet<_>, BTreeSet<_>) =
            agents.map(|(key, entry)| (key, entry.client.is_listening())).partition(|(_, is)| *is);
        let deaf = deaf.into_iter().map(|(key, _)| key).collect();
        let Some(id) = self.mentions.add(asker, ticket.clone(), mention, deaf, reactor.now())
        else {
            return self.answer(asker, &ticket, Err(Fault::TooManyMentions));
        };
        for (agent, _) in listening {
            self.deliver(id, agent, reactor);
        }
    }

    /// Gives an agent whose gate has opened what waited for it.
    pub(super) fn deliver_mentions<K: Kernel>(
        &mut self,
        agent: Key,
        reactor: &mut Reactor<K, Owner>,
    ) {
        for id in self.mentions.for_agent(agent) {
            self.deliver(id, agent, reactor);
        }
    }

    fn deliver<K: Kernel>(&mut self, id: u64, agent: Key, reactor: &mut Reactor<K, Owner>) {
        let (Some(params), Some(entry)) = (self.mentions.params(id), self.clients.get_mut(agent))
        else {
            return;
        };
        let stream = entry.stream;
        if entry.client.notify("at_mentioned", params, entry.queued, reactor.now()) {
            entry.client.take_bytes(&mut |chunks| reactor.write_chunks(stream, chunks));
            reactor.mark(stream, id);
            self.mentions.queued(id, agent);
        } else {
            // It reads too slowly; its gate is opened anew when it has caught up.
            self.mentions.defer(id, agent);
            self.mark_dirty(agent);
        }
    }

    /// Tells those who asked what became of their mentions.
    pub(super) fn settle_mentions(&mut self, now: Millis) {
        for done in self.mentions.take_done(now) {
            let answer = match done.agents {
                0 => Err(Fault::NoAgent),
                agents => Ok(json!({"agents": agents})),
            };
            self.answer(done.asker, &done.ticket, answer);
        }
    }

    /// Tells reviewers that the diffs are others now.
    pub(super) fn settle_reviewers(&mut self) {
        let changes = self.diffs.changes();
        if std::mem::replace(&mut self.diffs_told, changes) == changes {
            return;
        }
        for key in self.clients.keys() {
            if let Some(entry) = self.clients.get_mut(key)
                && entry.client.tell_diffs_changed(entry.queued)
            {
                self.mark_dirty(key);
            }
        }
    }

    fn answer(&mut self, key: Key, ticket: &Ticket, answer: Result<Value, Fault>) {
        if let Some(entry) = self.clients.get_mut(key) {
            entry.client.answer(ticket, answer);
            self.mark_dirty(key);
        }
    }

    /// Figures of this moment.
    fn status<K: Kernel>(&self, reactor: &mut Reactor<K, Owner>) -> Value {
        let now = reactor.now();
        let agents = self.clients.iter().filter(|(_, entry)| entry.client.is_agent());
        let agents: Vec<Value> = agents
            .map(|(_, entry)| {
                let client = &entry.client;
                let (name, version) = client.agent_name().unzip();
                json!({
                    "id": client.id().to_string(),
                    "name": name,
                    "version": version,
                    "connectedMs": now.saturating_sub(entry.accepted_at),
                    "queuedBytes": reactor.queued(entry.stream),
                    "isPaused": client.is_paused(),
                    "calls": client.calls_in_flight(),
                })
            })
            .collect();
        let folders = self.editor.folders().iter();
        let folders: Vec<_> = folders.map(|folder| folder.given.to_string_lossy()).collect();
        json!({
            "version": VERSION,
            "pid": reactor.kernel().pid(),
            "port": self.port,
            "workspaces": folders,
            "ideName": self.ide_name,
            "uptimeMs": now.saturating_sub(self.started_at),
            "lockFile": self.presence.lock_path().map(|path| path.to_string_lossy()),
            "tokenRequired": self.rules.policy.token.is_some(),
            "agents": agents,
            "diffs": self.diffs.pending().len(),
            "waitingMentions": self.mentions.len(),
            "connections": self.clients.len(),
        })
    }
}

fn diff_json(diff: &Diff, now: Millis) -> Value {
    json!({
        "id": diff.id.0,
        "agent": diff.call.client.to_string(),
        "tabName": diff.proposal.tab_name,
        "oldPath": diff.proposal.old_path.to_string_lossy(),
        "newPath": diff.proposal.new_path.to_string_lossy(),
        "newContents": diff.proposal.new_contents,
        "ageMs": now.saturating_sub(diff.opened_at),
    })
}

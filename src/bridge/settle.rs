//! After each event: every core that has something to say is drained, and the reactor is told.
//!
//! One client is taken at a time. Its outputs run in order, a call it made runs as far as it can,
//! the answer is queued behind what came before it, and only then the client's next message is looked
//! at: replies leave in wire order, and nobody runs ahead of a client that does not read. The rounds
//! for one client are bounded by the bytes it has sent.

use std::path::Path;

use super::house::{House, OPEN_COMMANDS_MAX, Stopping, Todo};
use super::inbound::UPGRADE_MARK;
use super::owner::{Chore, Owner};
use crate::editor::diff;
use crate::effect::{Answer, Command, Effect};
use crate::mcp::call::CallId;
use crate::proto::ws::close::CloseCode;
use crate::reactor::sys::Kernel;
use crate::reactor::{Reactor, TimerId};
use crate::stdx::Millis;
use crate::stdx::slots::Key;
use crate::tools::view::View;
use crate::tools::{self, Lost, Reply, Request};
use crate::transport::client::Output;
use crate::transport::session::Work;

/// The whole of an orderly stop, Close frames included.
const STOP_MS: Millis = 1_000;

impl House {
    /// Drains the cores until all are dry.
    pub(super) fn settle<K: Kernel>(&mut self, reactor: &mut Reactor<K, Owner>) {
        while let Some(todo) = self.chores.pop_front() {
            self.run(todo, reactor);
        }
        self.settle_tools(reactor);
        self.settle_mentions(reactor.now());
        self.settle_reviewers();
        while let Some(key) = self.dirty.pop_front() {
            if let Some(entry) = self.clients.get_mut(key) {
                entry.is_dirty = false;
                self.settle_client(key, reactor);
            }
            self.settle_mentions(reactor.now());
            self.settle_reviewers();
        }
        self.settle_timers(reactor);
        if self.stopping == Stopping::Now && self.clients.is_empty() {
            reactor.stop();
        }
    }

    fn run<K: Kernel>(&mut self, todo: Todo, reactor: &mut Reactor<K, Owner>) {
        match todo {
            Todo::Adopt(key) => {
                if let Some(entry) = self.clients.get(key) {
                    reactor.set_owner(entry.stream, Owner::Client(key));
                }
            }
            Todo::Refuse(stream) => reactor.close(stream),
            Todo::Expire(key) => {
                if let Some(entry) = self.clients.get_mut(key) {
                    entry.deadline = None;
                    let written_total = reactor.written_total(entry.stream);
                    entry.client.handle_timeout(written_total, reactor.now());
                    self.mark_dirty(key);
                }
            }
            Todo::Confirm(key) => self.confirm(key, reactor),
            Todo::Chore(Chore::KeepAlive) => self.tick(reactor),
            Todo::Chore(Chore::Tools) => {
                self.timers.tools = None;
                self.tools.handle_timeout(reactor.now());
            }
            Todo::Chore(Chore::Mentions) => self.timers.mentions = None,
            Todo::Chore(Chore::Stop) => self.stop(reactor),
            Todo::Chore(Chore::Refresh) => self.presence.refresh(reactor.kernel()),
            Todo::Chore(Chore::Signals) => {}
        }
    }

    fn settle_client<K: Kernel>(&mut self, key: Key, reactor: &mut Reactor<K, Owner>) {
        loop {
            let mut is_busy = false;
            while let Some(entry) = self.clients.get_mut(key)
                && let Some(output) = entry.client.poll_output()
            {
                is_busy = true;
                self.apply(key, output, reactor);
            }
            let Some(entry) = self.clients.get_mut(key) else { return };
            let stream = entry.stream;
            entry.client.take_bytes(&mut |chunks| reactor.write_chunks(stream, chunks));
            entry.queued = reactor.queued(stream);
            let has_resumed = entry.client.resume(entry.queued, &self.rules, reactor.now());
            if !is_busy && !has_resumed {
                if entry.client.is_paused() || entry.client.is_behind() {
                    reactor.await_drained(stream);
                }
                break;
            }
        }
        self.lend_buffers(key, reactor);
        self.arm_deadline(key, reactor);
    }

    /// Hands the buffers of large messages to and fro, and keeps the count of unfinished bytes.
    fn lend_buffers<K: Kernel>(&mut self, key: Key, reactor: &mut Reactor<K, Owner>) {
        let Some(entry) = self.clients.get_mut(key) else { return };
        if let Some(buffer) = entry.client.reclaim() {
            reactor.give_back(buffer);
        }
        let unfinished = entry.client.unfinished_bytes();
        self.unfinished_bytes = self.unfinished_bytes - entry.unfinished_bytes + unfinished;
        let has_grown = unfinished > entry.unfinished_bytes;
        entry.unfinished_bytes = unfinished;
        if has_grown && self.unfinished_bytes > super::house::UNFINISHED_BYTES_MAX {
            log::warn!("{}: unfinished messages of all clients exceed 256 MiB", entry.client.id());
            let code = CloseCode::MESSAGE_TOO_BIG;
            entry.client.close(code, "Message too big", STOP_MS, reactor.now());
            self.mark_dirty(key);
        } else if let Some(fill) = entry.client.take_fill() {
            reactor.fill(entry.stream, fill.buffer, fill.want);
        }
    }

    /// One reactor timer a client, moved only when its deadline moved.
    fn arm_deadline<K: Kernel>(&mut self, key: Key, reactor: &mut Reactor<K, Owner>) {
        let Some(entry) = self.clients.get_mut(key) else { return };
        let due = entry.client.poll_timeout();
        arm(&mut entry.deadline, due, Owner::Client(key), reactor);
    }

    fn apply<K: Kernel>(&mut self, key: Key, output: Output, reactor: &mut Reactor<K, Owner>) {
        let Some(entry) = self.clients.get_mut(key) else { return };
        let (id, stream) = (entry.client.id(), entry.stream);
        match output {
            Output::Work(work) => self.work(key, work, reactor),
            Output::AwaitWritten => {
                entry.client.take_bytes(&mut |chunks| reactor.write_chunks(stream, chunks));
                reactor.mark(stream, UPGRADE_MARK);
            }
            Output::PauseReads => reactor.pause_reads(stream),
            Output::ResumeReads => reactor.resume_reads(stream),
            Output::Came => {
                log::info!("{id} connected");
                self.connected.insert(id, key);
                self.client_came(key, reactor);
            }
            Output::Left => {
                self.connected.remove(&id);
                self.tools.client_gone(id);
                self.diffs.client_gone(id);
                self.mentions.gone(key);
                self.client_left(reactor);
            }
            Output::Finish => {
                entry.client.take_bytes(&mut |chunks| reactor.write_chunks(stream, chunks));
                entry.client.begin_finish(reactor.written_total(stream));
                reactor.discard_reads(stream);
                reactor.shutdown_write(stream);
            }
            Output::Close => {
                if let Some((timer, _)) = self.forget(key).and_then(|entry| entry.deadline) {
                    reactor.stop_timer(timer);
                }
                reactor.close(stream);
            }
        }
    }

    fn work<K: Kernel>(&mut self, key: Key, work: Work, reactor: &mut Reactor<K, Owner>) {
        match work {
            Work::Call { call, tool, arguments } => {
                let view = View { editor: &self.editor };
                self.tools.start(call, tool, arguments, &view, reactor.now());
            }
            Work::Cancel { call } => self.tools.cancel(call),
            Work::Control { ticket, request } => self.control(key, ticket, request, reactor),
            Work::GateOpened => {
                if let (Some(selection), Some(entry)) =
                    (self.editor.selection_notification(), self.clients.get_mut(key))
                {
                    let (queued, now) = (entry.queued, reactor.now());
                    entry.client.notify("selection_changed", &selection, queued, now);
                }
                self.deliver_mentions(key, reactor);
            }
        }
        self.settle_tools(reactor);
    }

    /// Runs what the tools ask for until they wait for somebody else.
    pub(super) fn settle_tools<K: Kernel>(&mut self, reactor: &mut Reactor<K, Owner>) {
        loop {
            if let Some(output) = self.tools.poll_output() {
                match output {
                    tools::Output::Finished { call, outcome } => {
                        if let Some((key, client)) = self.client_mut(call.client) {
                            client.complete(call, outcome, reactor.now());
                            self.mark_dirty(key);
                        }
                    }
                    tools::Output::Ask { call, request } => self.ask(call, request, reactor),
                    tools::Output::Abandoned { call } => {
                        self.diffs.cancel(call);
                        reactor.give_up_reads(Owner::Call(call));
                    }
                }
            } else if !self.settle_diffs(reactor.now()) {
                return;
            }
        }
    }

    /// Tells held calls how their diffs ended; true if anything was told.
    fn settle_diffs(&mut self, now: Millis) -> bool {
        let mut has_told = false;
        while let Some(output) = self.diffs.poll_output() {
            has_told = true;
            match output {
                diff::Output::Settled { call, verdict } => {
                    self.tools.answer(call, Reply::Diff(verdict), now);
                }
                diff::Output::Waiting { call, hint, .. } => log::info!("{}: {hint}", call.client),
            }
        }
        has_told
    }

    fn ask<K: Kernel>(&mut self, call: CallId, request: Request, reactor: &mut Reactor<K, Owner>) {
        let now = reactor.now();
        match request {
            Request::OpenDiff(proposal) => {
                if let Err(refusal) = self.diffs.open(call, proposal, now) {
                    let lost = Lost::Refused(refusal.to_string());
                    self.tools.answer(call, Reply::Lost(lost), now);
                }
            }
            Request::CloseTab { tab_name } => {
                self.diffs.close_tab(call.client, &tab_name);
                // The held calls first: they were made first.
                self.settle_diffs(now);
                self.tools.answer(call, Reply::Done, now);
            }
            Request::CloseAllDiffTabs => {
                let closed = self.diffs.close_all(call.client);
                self.settle_diffs(now);
                self.tools.answer(call, Reply::Closed(closed), now);
            }
            Request::OpenDocument(opened) => {
                let is_news = self.editor.open(opened);
                if let Some(params) = self.editor.selection_notification().filter(|_| is_news) {
                    self.broadcast("selection_changed", &params, now);
                }
                self.tools.answer(call, Reply::Done, now);
            }
            Request::Open { path, line, column } => {
                let reply = self.show(&path, line, column, reactor);
                self.tools.answer(call, Reply::Opened(reply), now);
            }
            Request::Save { .. } => {
                let refusal = Lost::Refused("no editor is linked that could save it".into());
                self.tools.answer(call, Reply::Lost(refusal), now);
            }
            Request::Io(Effect::ReadFile { path, bytes_max }) => {
                reactor.read_file(Owner::Call(call), &path, bytes_max);
            }
            Request::Io(Effect::Spawn(command)) => {
                let answer = self.spawn(&command, reactor);
                self.tools.answer(call, Reply::Io(Answer::Spawned(answer)), now);
            }
        }
    }

    /// Shows a file to the person, if there is a command for that; says whether there is.
    fn show<K: Kernel>(
        &mut self,
        path: &Path,
        line: u32,
        column: u32,
        reactor: &mut Reactor<K, Owner>,
    ) -> Result<bool, String> {
        let Some(command) = &self.open_command else { return Ok(false) };
        // Editors count from 1.
        let argv = command.argv(path, line.saturating_add(1), column.saturating_add(1));
        let command = Command { argv, cwd: None };
        self.spawn(&command, reactor).map(|()| true)
    }

    fn spawn<K: Kernel>(
        &mut self,
        command: &Command,
        reactor: &mut Reactor<K, Owner>,
    ) -> Result<(), String> {
        if self.open_commands_running == OPEN_COMMANDS_MAX {
            return Err(format!(
                "{OPEN_COMMANDS_MAX} open commands have not ended: close what they opened"
            ));
        }
        reactor.spawn(Owner::OpenCommand, command).map_err(|error| error.to_string())?;
        self.open_commands_running += 1;
        Ok(())
    }

    fn settle_timers<K: Kernel>(&mut self, reactor: &mut Reactor<K, Owner>) {
        let due = self.tools.poll_timeout();
        arm(&mut self.timers.tools, due, Owner::Chore(Chore::Tools), reactor);
        let due = self.mentions.poll_timeout();
        arm(&mut self.timers.mentions, due, Owner::Chore(Chore::Mentions), reactor);
    }

    /// Sees everybody off, then ends the loop: at the latest after 1 s, at once when asked twice.
    fn stop<K: Kernel>(&mut self, reactor: &mut Reactor<K, Owner>) {
        if self.stopping == Stopping::Now {
            return reactor.stop();
        }
        self.stopping = Stopping::Now;
        if let Some(listener) = self.listener.take() {
            reactor.close_listener(listener);
        }
        reactor.start_timer(Owner::Chore(Chore::Stop), STOP_MS, None);
        for key in self.clients.keys() {
            if let Some(entry) = self.clients.get_mut(key) {
                let code = CloseCode::GOING_AWAY;
                entry.client.close(code, "Server shutting down", STOP_MS, reactor.now());
                self.mark_dirty(key);
            }
        }
    }
}

/// Moves a timer to where its deadline has moved.
fn arm<K: Kernel>(
    timer: &mut Option<(TimerId, Millis)>,
    due: Option<Millis>,
    owner: Owner,
    reactor: &mut Reactor<K, Owner>,
) {
    if timer.map(|(_, due)| due) == due {
        return;
    }
    if let Some((old, _)) = timer.take() {
        reactor.stop_timer(old);
    }
    *timer = due.map(|due| {
        let after_ms = due.saturating_sub(reactor.now());
        (reactor.start_timer(owner, after_ms, None), due)
    });
}

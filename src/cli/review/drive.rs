//! A review on a terminal: waits for keys and for the bridge, and does what the review asks.
//!
//! The bridge pings, and drops who does not answer, so its socket is looked after all the time,
//! also while an editor has the terminal. A bridge that goes away may come back: a restart takes
//! seconds, and another run of it is found by its workspace.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::cli::control::{self, ControlClient, Running};
use crate::config::source::Env;

use super::edit::{self, Copy, Edited};
use super::frame::{Palette, frame};
use super::keys::Keys;
use super::page::page;
use super::pending::{Unsettled, Verdict, fetch, settle};
use super::state::{Output, Review};
use super::terminal::Terminal;

/// How long a bridge that went away may take to come back; agents wait as long.
const RETURN: Duration = Duration::from_secs(15);

/// Between two looks for it.
const LOOK: Duration = Duration::from_millis(250);

/// How long the rest of an escape sequence may take; longer, and Escape was pressed alone.
const SEQUENCE: Duration = Duration::from_millis(100);

/// How a review ended.
#[derive(Debug)]
pub(super) enum End {
    /// The person left; so many diffs still wait.
    Left(usize),
    /// The bridge went away and did not come back.
    Lost,
    /// A signal came.
    Signal(i32),
    /// The terminal failed.
    Terminal(io::Error),
}

/// A review, its terminal and its bridge.
pub(super) struct Driver<'a> {
    terminal: Terminal,
    palette: Palette,
    keys: Keys,
    review: Review,
    bridge: Running,
    /// `None` while it is away.
    client: Option<ControlClient>,
    /// When it is given up.
    given_up_at: Option<Instant>,
    /// The current folder, as people write paths from there.
    here: String,
    env: Env<'a>,
    /// The diff that was last drawn.
    drawn: Option<u64>,
    /// Edits that were not handed in.
    kept: Vec<PathBuf>,
    end: Option<End>,
}

impl<'a> Driver<'a> {
    /// Begins on a terminal that is raw already.
    pub(super) fn new(
        terminal: Terminal,
        palette: Palette,
        (bridge, client): (Running, ControlClient),
        here: String,
        env: Env<'a>,
    ) -> Driver<'a> {
        let review = Review::new(terminal.size());
        Driver {
            terminal,
            palette,
            keys: Keys::default(),
            review,
            bridge,
            client: Some(client),
            given_up_at: None,
            here,
            env,
            drawn: None,
            kept: Vec::new(),
            end: None,
        }
    }

    /// Runs to the end; the terminal is as it was afterwards.
    pub(super) fn run(mut self) -> (End, Vec<PathBuf>) {
        self.refresh();
        loop {
            self.obey();
            if let Some(end) = self.end.take() {
                return (end, self.kept);
            }
            if self.was_told_meanwhile() {
                self.refresh();
                continue;
            }
            if let Err(error) = self.step() {
                return (End::Terminal(error), self.kept);
            }
        }
    }

    /// Draws, waits for something, and takes it in.
    fn step(&mut self) -> io::Result<()> {
        self.review.resize(self.terminal.size());
        if self.drawn != self.shown() {
            // Keys pressed until now were meant for what was there before.
            self.terminal.discard_keys();
            self.drawn = self.shown();
        }
        self.terminal.write(&frame(&self.review, self.palette))?;
        let limit = match (self.keys.is_waiting(), &self.client) {
            (true, _) => Some(SEQUENCE),
            (false, None) => Some(LOOK),
            (false, Some(_)) => None,
        };
        let socket = self.client.as_ref().map(ControlClient::socket);
        let ready = self.terminal.wait(socket, limit)?;
        if let Some(signal) = ready.signal {
            self.end = Some(End::Signal(signal));
            return Ok(());
        }
        match ready.has_keys {
            true => self.take_keys()?,
            false => self.keys.forget(),
        }
        if ready.has_news {
            self.take_news();
        }
        if self.client.is_none() {
            self.look_for_the_bridge();
        }
        Ok(())
    }

    /// Each key acts on what the one before it left, but none on a diff that was not drawn yet.
    fn take_keys(&mut self) -> io::Result<()> {
        let bytes = self.terminal.read()?;
        if bytes.is_empty() {
            self.leave();
        }
        for key in self.keys.take(&bytes) {
            self.review.handle_key(key);
            self.obey();
            if self.shown() != self.drawn || self.end.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn shown(&self) -> Option<u64> {
        self.review.shown().map(|shown| shown.id)
    }

    /// Does what the review asks.
    fn obey(&mut self) {
        while let Some(output) = self.review.poll_output() {
            match output {
                Output::Open(id) => {
                    if let Some(diff) = self.review.diff(id) {
                        let page = page(diff, &self.here);
                        self.review.open(id, page);
                    }
                }
                Output::Settle(id, verdict) => {
                    self.settle(id, verdict);
                }
                Output::Edit(id) => self.edit(id),
                Output::Explain(id) => self.explain(id),
                Output::Leave => self.leave(),
            }
        }
    }

    fn leave(&mut self) {
        self.end = Some(End::Left(self.review.waiting()));
    }

    /// Answers a diff; whether that counts.
    fn settle(&mut self, id: u64, verdict: Verdict) -> bool {
        let Some(client) = &mut self.client else { return false };
        let why = match settle(client, id, verdict.clone()) {
            Ok(()) => None,
            Err(Unsettled::NoSuch) => Some("there is no such diff any more".to_owned()),
            Err(Unsettled::Answered(by)) => Some(format!("already answered by {by}")),
            Err(Unsettled::Failed(error)) => Some(error.to_string()),
        };
        let is_taken = why.is_none();
        self.review.settled(id, &verdict, why.map_or(Ok(()), Err));
        // Shows a diff that someone else answered as withdrawn, and a lost bridge as lost.
        self.refresh();
        is_taken
    }

    /// Asks who ended a diff. It does not wait any more, so this answer changes nothing.
    fn explain(&mut self, id: u64) {
        let Some(client) = &mut self.client else { return };
        if let Err(Unsettled::Answered(by)) = settle(client, id, Verdict::Reject) {
            self.review.explain(id, &by);
        }
    }

    /// Fetches the diffs that wait.
    fn refresh(&mut self) {
        let Some(client) = &mut self.client else { return };
        // Asking anew answers what was told until now.
        client.take_notifications();
        match fetch(client) {
            Ok((pending, _)) => self.review.set_pending(pending),
            Err(_) => self.lose(),
        }
    }

    /// Whether news came with an answer: the socket will not tell of it again.
    fn was_told_meanwhile(&mut self) -> bool {
        self.client.as_mut().is_some_and(|client| !client.take_notifications().is_empty())
    }

    fn take_news(&mut self) {
        let Some(client) = &mut self.client else { return };
        match client.receive_ready() {
            Ok(()) if client.take_notifications().is_empty() => {}
            Ok(()) => self.refresh(),
            Err(_) => self.lose(),
        }
    }

    /// Lets the person edit a copy, and hands in what was saved.
    fn edit(&mut self, id: u64) {
        let Some((diff, shown)) = self.review.diff(id).zip(self.review.shown()) else { return };
        let (proposed, old) = (diff.new_contents.clone(), shown.page.old.clone());
        let copy = Copy::new(&std::env::temp_dir(), Path::new(&diff.new_path), &proposed);
        let copy = match copy {
            Ok(copy) => copy,
            Err(error) => return self.review.tell(format!("no copy can be made: {error}")),
        };
        let ran = edit::argv(self.env, copy.path()).and_then(|argv| self.run_editor(&argv));
        let edited = copy.read(&proposed, old.as_deref());
        match (ran, edited) {
            (Err(why), Edited::Changed(_)) => self.keep(copy, &why),
            (Err(why), Edited::AsProposed | Edited::Again(_)) => self.review.tell(why),
            (Ok(()), Edited::Again(why)) => self.review.tell(why),
            (Ok(()), Edited::AsProposed) => {
                if self.shown() == Some(id) {
                    self.settle(id, Verdict::Accept);
                }
            }
            (Ok(()), Edited::Changed(contents)) => self.hand_in(id, contents, old, copy),
        }
    }

    fn hand_in(&mut self, id: u64, contents: String, old: Option<String>, copy: Copy) {
        let is_as_it_was = old.is_some_and(|old| old == contents);
        if self.shown() != Some(id) {
            return self.keep(copy, "nobody waits for it any more");
        }
        if !self.settle(id, Verdict::AcceptAs(contents)) {
            return self.keep(copy, "it was not taken");
        }
        if is_as_it_was {
            self.review.tell("saved as the file was: the agent takes that as a no".to_owned());
        }
    }

    /// An edit that could not be handed in stays; the person is told where, now and at the end.
    fn keep(&mut self, copy: Copy, why: &str) {
        let path = copy.keep();
        self.review.tell(format!("{why}; your edit is kept: {}", path.display()));
        self.kept.push(path);
    }

    /// Gives the terminal to the editor until it ends.
    fn run_editor(&mut self, argv: &[OsString]) -> Result<(), String> {
        let name = argv[0].to_string_lossy().into_owned();
        self.terminal.leave();
        let spawned = Command::new(&argv[0]).args(&argv[1..]).spawn();
        let ended = spawned
            .map_err(|error| format!("{name} does not start: {error}"))
            .and_then(|child| self.wait_for(child).map_err(|error| format!("{name}: {error}")));
        if let Err(error) = self.terminal.enter() {
            self.end = Some(End::Terminal(error));
        }
        match ended? {
            status if status.success() => Ok(()),
            status => Err(format!("{name} failed ({status}): nothing is answered")),
        }
    }

    fn wait_for(&mut self, mut child: Child) -> io::Result<ExitStatus> {
        loop {
            // A child that ends from now on wakes the wait below.
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            let socket = self.client.as_ref().map(ControlClient::socket);
            let ready = self.terminal.wait(socket, None)?;
            if ready.has_news {
                self.take_news();
            }
            if let Some(signal) = ready.signal {
                self.end = Some(End::Signal(signal));
                let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            }
        }
    }

    #[allow(clippy::disallowed_methods)] // A program that waits has no loop to take the time from.
    fn lose(&mut self) {
        self.client = None;
        self.given_up_at = Some(Instant::now() + RETURN);
        self.review.lost();
    }

    #[allow(clippy::disallowed_methods)] // A program that waits has no loop to take the time from.
    fn look_for_the_bridge(&mut self) {
        let workspace = &self.bridge.record.workspace;
        let mut running = control::running(self.env).into_iter();
        let back = running.find(|bridge| bridge.record.workspace == *workspace);
        self.client = back.and_then(|bridge| ControlClient::connect(&bridge).ok());
        if self.client.is_some() {
            self.refresh();
        } else if self.given_up_at.is_none_or(|given_up_at| Instant::now() >= given_up_at) {
            self.end = Some(End::Lost);
        }
    }
}

//! Proposed changes that wait for a person: who proposed them, and how each one ends.
//!
//! A diff is held for as long as its reviewer takes; nothing here times out, and nothing here ever
//! writes a file: the agent writes what the verdict says. Proposed contents are kept byte for byte,
//! line ends and byte order mark included.
//!
//! Every diff ends exactly once. Settled, closed by its tab name, closed with all others of its
//! client, or replaced by a new one of the same tab name: one verdict goes out. Cancelled, or its
//! client gone: nobody waits, so none does. Tab names belong to the client that chose them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::PathBuf;

use crate::mcp::call::{CallId, ClientId};
use crate::stdx::Millis;

/// Most diffs held for all clients together; one client is bounded before, by the protocol layer.
pub const DIFFS_MAX: usize = 256;

/// Most bytes of proposals held for all clients together: contents, paths and names.
pub const PROPOSALS_BYTES_MAX: usize = 256 << 20;

/// Ended diffs that are remembered for reviewers who come too late.
const ENDED_MAX: usize = 256;

/// Characters of a tab name that a hint shows.
const HINT_NAME_LEN_MAX: usize = 120;

/// Names a diff to a person, printed `#<n>`; never used twice in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiffId(pub u64);

impl fmt::Display for DiffId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "#{}", self.0)
    }
}

/// A change someone is asked to review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Absolute; there need be no such file yet.
    pub old_path: PathBuf,
    /// Absolute; the same as `old_path` unless the file moves.
    pub new_path: PathBuf,
    /// The whole file as proposed, byte for byte.
    pub new_contents: String,
    /// The client's name for it; may be empty.
    pub tab_name: String,
}

impl Proposal {
    /// What it takes to hold it. Any part may be as long as a message.
    fn bytes(&self) -> usize {
        let paths = self.old_path.as_os_str().len() + self.new_path.as_os_str().len();
        // The held call keeps the name a second time, to answer with it.
        paths + self.new_contents.len() + 2 * self.tab_name.len()
    }
}

/// How a review came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Accepted, with the contents as the person left them.
    Saved(String),
    /// Rejected, or its view closed without a word.
    Rejected,
}

/// A diff that waits.
#[derive(Debug)]
pub struct Diff {
    /// Its name for a person.
    pub id: DiffId,
    /// The call that is held for it.
    pub call: CallId,
    /// What is proposed.
    pub proposal: Proposal,
    /// When it began to wait.
    pub opened_at: Millis,
}

/// What comes out.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// A diff began to wait; said once for each.
    Waiting {
        /// Which one.
        id: DiffId,
        /// Whose call it is.
        call: CallId,
        /// One line for a person, in case no reviewer is attached.
        hint: String,
    },
    /// A diff ended, and its call is still held.
    Settled {
        /// The call to answer.
        call: CallId,
        /// How it ended.
        verdict: Verdict,
    },
}

/// Who ended a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// A person, where diffs are reviewed.
    Reviewer,
    /// The agent: its own prompt was answered, or the call given up.
    Agent,
    /// A newer diff of the same tab name.
    Newer,
    /// Its client is gone.
    Departure,
}

/// Why a diff cannot be settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSettled {
    /// There was none of that name, or so long ago that it is forgotten.
    Unknown,
    /// It ended before.
    Ended(EndedBy),
}

/// Why a diff was not taken in; it left nothing behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// [`DIFFS_MAX`] are held.
    TooMany,
    /// [`PROPOSALS_BYTES_MAX`] would be exceeded.
    TooBig,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooMany => {
                write!(out, "{DIFFS_MAX} diffs wait already; answer or close some of them")
            }
            Refusal::TooBig => {
                let mib = PROPOSALS_BYTES_MAX >> 20;
                write!(out, "the diffs that wait would exceed {mib} MiB; answer some of them")
            }
        }
    }
}

/// All diffs that wait.
#[derive(Debug, Default)]
pub struct Diffs {
    /// Invariant: at most one entry a call, and one a client and tab name.
    waiting: BTreeMap<DiffId, Diff>,
    /// Bytes of all proposals in `waiting`. Invariant: `<= PROPOSALS_BYTES_MAX`.
    proposals_bytes: usize,
    last_id: u64,
    outputs: VecDeque<Output>,
    /// How the last diffs ended, oldest first; at most [`ENDED_MAX`].
    ended: VecDeque<(DiffId, EndedBy)>,
    changes: u64,
}

impl Diffs {
    /// None waits yet.
    pub fn new() -> Diffs {
        Diffs::default()
    }

    /// Holds a proposal until it ends. An older one of the same client and tab name is rejected.
    ///
    /// # Errors
    /// When a bound would be exceeded; nothing changed then.
    ///
    /// # Panics
    /// When `call` already holds a diff: a call asks once at a time.
    pub fn open(
        &mut self,
        call: CallId,
        proposal: Proposal,
        now: Millis,
    ) -> Result<DiffId, Refusal> {
        assert!(self.waiting.values().all(|diff| diff.call != call));
        let replaced = self.find(call.client, &proposal.tab_name);
        let gone = replaced.map(|id| self.waiting[&id].proposal.bytes());
        if self.waiting.len() - usize::from(gone.is_some()) >= DIFFS_MAX {
            return Err(Refusal::TooMany);
        }
        let bytes = self.proposals_bytes - gone.unwrap_or(0) + proposal.bytes();
        if bytes > PROPOSALS_BYTES_MAX {
            return Err(Refusal::TooBig);
        }
        if let Some(older) = replaced {
            self.end(older, Verdict::Rejected, EndedBy::Newer);
        }
        self.last_id += 1;
        let id = DiffId(self.last_id);
        let hint = hint(id, &proposal.tab_name);
        self.proposals_bytes += proposal.bytes();
        self.waiting.insert(id, Diff { id, call, proposal, opened_at: now });
        self.changes += 1;
        self.outputs.push_back(Output::Waiting { id, call, hint });
        self.check_invariants();
        Ok(id)
    }

    /// Ends a diff as its reviewer says.
    ///
    /// # Errors
    /// When it does not wait any more; nothing happens then.
    pub fn settle(&mut self, id: DiffId, verdict: Verdict) -> Result<(), NotSettled> {
        self.waits(id)?;
        self.end(id, verdict, EndedBy::Reviewer);
        Ok(())
    }

    /// Ends a diff: its reviewer accepts it as proposed.
    ///
    /// # Errors
    /// When it does not wait any more; nothing happens then.
    pub fn accept(&mut self, id: DiffId) -> Result<(), NotSettled> {
        let proposed = self.waits(id)?.proposal.new_contents.clone();
        self.settle(id, Verdict::Saved(proposed))
    }

    /// Rejects the client's diff of that tab name. Returns how many there were: 0 or 1.
    pub fn close_tab(&mut self, client: ClientId, tab_name: &str) -> usize {
        let Some(id) = self.find(client, tab_name) else { return 0 };
        self.end(id, Verdict::Rejected, EndedBy::Agent);
        1
    }

    /// Rejects every diff of the client, oldest first. Returns how many there were.
    pub fn close_all(&mut self, client: ClientId) -> usize {
        let ids = self.ids_of(client);
        for &id in &ids {
            self.end(id, Verdict::Rejected, EndedBy::Agent);
        }
        ids.len()
    }

    /// Forgets the diff of a call that was cancelled: no verdict. A call without one is ignored.
    pub fn cancel(&mut self, call: CallId) {
        let held = self.waiting.values().find(|diff| diff.call == call).map(|diff| diff.id);
        if let Some(id) = held {
            self.remove(id, EndedBy::Agent);
        }
        self.outputs.retain(|output| output.call() != call);
        self.check_invariants();
    }

    /// Forgets every diff of a client that is gone: no verdict.
    pub fn client_gone(&mut self, client: ClientId) {
        for id in self.ids_of(client) {
            self.remove(id, EndedBy::Departure);
        }
        self.outputs.retain(|output| output.call().client != client);
        self.check_invariants();
    }

    /// The diff of that id, while it waits.
    pub fn get(&self, id: DiffId) -> Option<&Diff> {
        self.waiting.get(&id)
    }

    /// Every diff that waits, oldest first.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &Diff> {
        self.waiting.values()
    }

    /// Grows whenever a diff comes or goes.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// What came out since; drain it after every command.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn find(&self, client: ClientId, tab_name: &str) -> Option<DiffId> {
        let mut all = self.waiting.values();
        let found =
            all.find(|diff| diff.call.client == client && diff.proposal.tab_name == tab_name);
        found.map(|diff| diff.id)
    }

    fn ids_of(&self, client: ClientId) -> Vec<DiffId> {
        let own = self.waiting.values().filter(|diff| diff.call.client == client);
        own.map(|diff| diff.id).collect()
    }

    fn waits(&self, id: DiffId) -> Result<&Diff, NotSettled> {
        self.waiting.get(&id).ok_or_else(|| {
            let ended = self.ended.iter().find(|(ended, _)| *ended == id);
            ended.map_or(NotSettled::Unknown, |(_, by)| NotSettled::Ended(*by))
        })
    }

    fn end(&mut self, id: DiffId, verdict: Verdict, by: EndedBy) {
        let diff = self.remove(id, by).expect("the caller found it among those that wait");
        self.outputs.push_back(Output::Settled { call: diff.call, verdict });
        self.check_invariants();
    }

    fn remove(&mut self, id: DiffId, by: EndedBy) -> Option<Diff> {
        let diff = self.waiting.remove(&id)?;
        self.changes += 1;
        if self.ended.len() == ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back((id, by));
        self.proposals_bytes -= diff.proposal.bytes();
        Some(diff)
    }

    fn check_invariants(&self) {
        assert!(self.waiting.len() <= DIFFS_MAX);
        assert!(self.proposals_bytes <= PROPOSALS_BYTES_MAX);
        assert!(!self.waiting.is_empty() || self.proposals_bytes == 0);
    }
}

impl Output {
    fn call(&self) -> CallId {
        match self {
            Output::Waiting { call, .. } | Output::Settled { call, .. } => *call,
        }
    }
}

/// What a diff that nobody else can review says of itself. Peers' control characters are escaped.
fn hint(id: DiffId, tab_name: &str) -> String {
    let name: String = tab_name.chars().take(HINT_NAME_LEN_MAX).collect();
    let name = name.escape_debug();
    format!("diff {id} waits: \"{name}\"; footbridge review shows it, Claude Code's prompt too")
}

#[cfg(test)]
mod tests;

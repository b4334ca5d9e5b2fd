//! What a tool may ask for while it runs, and what it may be told.
//!
//! A handler writes `cx.ask(OpenDiff(proposal)).await` and gets a typed answer; seen from outside
//! every question is a [`Request`] and every answer a [`Reply`]. The pairing of the two stands
//! here and nowhere else. Each question has a deadline unless a person answers it; when it passes,
//! the tool is told [`Lost::TimedOut`].

use std::fmt;
use std::path::PathBuf;

use crate::editor::diff::{Proposal, Verdict};
use crate::editor::state::Opened;
use crate::effect::{Answer, Effect, FileError};
use crate::stdx::Millis;

/// Longest a tool waits for a machine. The agent itself gives up on most tools after minutes, but
/// a person watching gives up sooner.
pub const ANSWER_MS_MAX: Millis = 10_000;

/// What the house is asked to do for a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// Hold a diff until it ends; answered by [`Reply::Diff`].
    OpenDiff(Proposal),
    /// End the caller's held diff of that name, if there is one; answered by [`Reply::Done`].
    CloseTab {
        /// As the caller named it.
        tab_name: String,
    },
    /// End every diff the caller holds; answered by [`Reply::Closed`].
    CloseAllDiffTabs,
    /// Do I/O; answered by [`Reply::Io`].
    Io(Effect),
    /// Give it to the editor state; answered by [`Reply::Done`].
    OpenDocument(Opened),
    /// Show a file in the person's editor, if a command for that is configured; answered by
    /// [`Reply::Opened`].
    Open {
        /// Absolute.
        path: PathBuf,
        /// From 0.
        line: u32,
        /// From 0, in UTF-16 units.
        column: u32,
    },
    /// Write a dirty document through the editor that holds it; answered by [`Reply::Saved`].
    Save {
        /// Absolute.
        path: PathBuf,
    },
}

/// What came of a [`Request`].
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// How the diff ended.
    Diff(Verdict),
    /// How many diffs were ended.
    Closed(usize),
    /// The effect's answer.
    Io(Answer),
    /// Whether a command was started to show the file; the error is one line for a person.
    Opened(Result<bool, String>),
    /// Whether the document is on disk now; the error is one line for a person.
    Saved(Result<(), String>),
    /// It is done, there is nothing to tell.
    Done,
    /// There will be no answer.
    Lost(Lost),
}

/// Why a question got no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// The deadline passed.
    TimedOut,
    /// Whoever was asked would not: one line for a person.
    Refused(String),
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::TimedOut => write!(out, "no answer within {} seconds", ANSWER_MS_MAX / 1_000),
            Lost::Refused(why) => out.write_str(why),
        }
    }
}

/// A question with its type of answer.
pub trait Ask {
    /// What a tool gets for it.
    type Answer;

    /// The question as the house hears it.
    fn lower(self) -> Request;

    /// The answer to this very question; `None` when `reply` answers another one.
    fn raise(reply: Reply) -> Option<Self::Answer>;

    /// How long to wait; `None` for as long as a person takes.
    fn deadline_ms(&self) -> Option<Millis> {
        Some(ANSWER_MS_MAX)
    }
}

/// Asks for [`Request::OpenDiff`]; waits without limit.
pub(crate) struct OpenDiff(pub(crate) Proposal);

impl Ask for OpenDiff {
    type Answer = Verdict;

    fn lower(self) -> Request {
        Request::OpenDiff(self.0)
    }

    fn raise(reply: Reply) -> Option<Verdict> {
        if let Reply::Diff(verdict) = reply { Some(verdict) } else { None }
    }

    fn deadline_ms(&self) -> Option<Millis> {
        None
    }
}

/// Asks for [`Request::CloseTab`].
pub(crate) struct CloseTab {
    pub(crate) tab_name: String,
}

impl Ask for CloseTab {
    type Answer = ();

    fn lower(self) -> Request {
        Request::CloseTab { tab_name: self.tab_name }
    }

    fn raise(reply: Reply) -> Option<()> {
        if let Reply::Done = reply { Some(()) } else { None }
    }
}

/// Asks for [`Request::CloseAllDiffTabs`].
pub(crate) struct CloseAllDiffTabs;

impl Ask for CloseAllDiffTabs {
    type Answer = usize;

    fn lower(self) -> Request {
        Request::CloseAllDiffTabs
    }

    fn raise(reply: Reply) -> Option<usize> {
        if let Reply::Closed(count) = reply { Some(count) } else { None }
    }
}

/// Asks for [`Effect::ReadFile`].
pub(crate) struct ReadFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes_max: u64,
}

impl Ask for ReadFile {
    type Answer = Result<Vec<u8>, FileError>;

    fn lower(self) -> Request {
        Request::Io(Effect::ReadFile { path: self.path, bytes_max: self.bytes_max })
    }

    fn raise(reply: Reply) -> Option<Self::Answer> {
        if let Reply::Io(Answer::File(file)) = reply { Some(file) } else { None }
    }
}

/// Asks for [`Request::OpenDocument`].
pub(crate) struct OpenDocument(pub(crate) Opened);

impl Ask for OpenDocument {
    type Answer = ();

    fn lower(self) -> Request {
        Request::OpenDocument(self.0)
    }

    fn raise(reply: Reply) -> Option<()> {
        if let Reply::Done = reply { Some(()) } else { None }
    }
}

/// Asks for [`Request::Open`].
pub(crate) struct Open {
    pub(crate) path: PathBuf,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Ask for Open {
    type Answer = Result<bool, String>;

    fn lower(self) -> Request {
        Request::Open { path: self.path, line: self.line, column: self.column }
    }

    fn raise(reply: Reply) -> Option<Self::Answer> {
        if let Reply::Opened(opened) = reply { Some(opened) } else { None }
    }
}

/// Asks for [`Request::Save`].
pub(crate) struct Save {
    pub(crate) path: PathBuf,
}

impl Ask for Save {
    type Answer = Result<(), String>;

    fn lower(self) -> Request {
        Request::Save { path: self.path }
    }

    fn raise(reply: Reply) -> Option<Self::Answer> {
        if let Reply::Saved(saved) = reply { Some(saved) } else { None }
    }
}

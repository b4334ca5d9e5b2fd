//! What is wrong in a file, as an editor or a checker reports it.
//!
//! Plain values in the words of the IDE protocol; where they come from is not told, and they are
//! kept by `state`, file by file.

use crate::editor::text::Range;

/// How bad a diagnostic is, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// `Error`
    Error,
    /// `Warning`
    Warning,
    /// `Info`
    Info,
    /// `Hint`
    Hint,
}

/// One diagnostic of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// For a person.
    pub message: String,
    /// How bad it is.
    pub severity: Severity,
    /// Where it stands.
    pub range: Range,
    /// The tool that found it.
    pub source: Option<String>,
    /// That tool's name for the kind of finding.
    pub code: Option<String>,
}

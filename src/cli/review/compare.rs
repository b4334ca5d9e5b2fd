//! What a proposal changes in a file, as the lines of a unified diff.
//!
//! Lines are compared without their ends: agents may propose LF for a file with CRLF, and would
//! seem to change every line. What is to be known of line ends and byte order marks is said once,
//! in a note. A last line without its end differs from one with it, as everywhere.

use std::ops::Range;

use imara_diff::{Hunk, InternedInput};

use super::hunks::hunks;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// The byte order mark, as text.
const MARK: char = '\u{feff}';

/// What there is to see.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) lines: Vec<Line>,
    pub(super) added: usize,
    pub(super) removed: usize,
}

/// One line on the page, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// What a line stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// About the file as a whole.
    Note,
    /// `@@ -1,2 +1,3 @@`
    Hunk,
    Context,
    Removed,
    Added,
    /// Of the line before: `\ No newline at end of file`
    NoNewline,
}

impl Kind {
    /// The column before the text.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Kind::Note | Kind::Hunk => "",
            Kind::Context => " ",
            Kind::Removed => "-",
            Kind::Added => "+",
            Kind::NoNewline => "\\",
        }
    }
}

/// Compares a file with what it shall become. There may be no such file yet.
pub(super) fn compare(old: Option<&str>, new: &str) -> Difference {
    let mut input = InternedInput::default();
    input.update_before(pieces(old.unwrap_or_default()));
    input.update_after(pieces(new));
    let (hunks, is_fine) = hunks(&input);
    let mut page = Difference {
        lines: notes(old, new).into_iter().map(|text| line(Kind::Note, text)).collect(),
        removed: hunks.iter().map(|hunk| hunk.before.len()).sum(),
        added: hunks.iter().map(|hunk| hunk.after.len()).sum(),
    };
    if !is_fine {
        let text = "too many changes that repeat to tell them all apart; long ones may hold others";
        page.lines.push(line(Kind::Note, text));
    }
    if hunks.is_empty() {
        let text = if old.is_none() { "a new, empty file" } else { "no line changes" };
        page.lines.push(line(Kind::Note, text));
    }
    let is_near =
        |hunk: &Hunk, next: &Hunk| (next.before.start - hunk.before.end) as usize <= 2 * CONTEXT;
    for group in hunks.chunk_by(is_near) {
        push_group(&mut page.lines, group, &input);
    }
    page
}

/// A line of a file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
struct Piece<'a> {
    text: &'a str,
    /// Whether an end follows, of whichever kind.
    is_ended: bool,
}

impl AsRef<[u8]> for Piece<'_> {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    text.strip_prefix(MARK).unwrap_or(text).split_inclusive('\n').map(|line| {
        let text = line.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
        Piece { text: text.unwrap_or(line), is_ended: text.is_some() }
    })
}

/// Shows changes that stand close together, with the lines around and between them.
fn push_group(lines: &mut Vec<Line>, group: &[Hunk], input: &InternedInput<Piece<'_>>) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let (before, after) = (input.before.len(), input.after.len());
    let lead = CONTEXT.min(first.before.start as usize);
    let tail = CONTEXT.min(before - last.before.end as usize);
    let old = first.before.start as usize - lead..last.before.end as usize + tail;
    let new = first.after.start as usize - lead..last.after.end as usize + tail;
    assert!(old.end <= before && new.end <= after);
    let (removed, added) = (place(&old), place(&new));
    lines.push(line(Kind::Hunk, &format!("@@ -{removed} +{added} @@")));
    let mut at = old.start;
    for hunk in group {
        push(lines, Kind::Context, at..hunk.before.start as usize, &input.before, input);
        push(lines, Kind::Removed, range(&hunk.before), &input.before, input);
        push(lines, Kind::Added, range(&hunk.after), &input.after, input);
        at = hunk.before.end as usize;
    }
    push(lines, Kind::Context, at..old.end, &input.before, input);
}

fn push(
    lines: &mut Vec<Line>,
    kind: Kind,
    range: Range<usize>,
    tokens: &[imara_diff::Token],
    input: &InternedInput<Piece<'_>>,
) {
    for &token in &tokens[range] {
        let piece = input.interner[token];
        lines.push(line(kind, piece.text));
        if !piece.is_ended {
            lines.push(line(Kind::NoNewline, " No newline at end of file"));
        }
    }
}

fn range(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// `start,length`, lines from 1; an empty range is named after the line before it.
fn place(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    }
}

fn line(kind: Kind, text: &str) -> Line {
    Line { kind, text: text.to_owned() }
}

/// Which ends the lines of a text have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    None,
    Lf,
    CrLf,
    Mixed,
}

fn ends(text: &str) -> Ends {
    let all = text.matches('\n').count();
    match text.matches("\r\n").count() {
        _ if all == 0 => Ends::None,
        0 => Ends::Lf,
        crlf if crlf == all => Ends::CrLf,
        _ => Ends::Mixed,
    }
}

/// What line by line would not be seen, or be seen far too often.
fn notes(old: Option<&str>, new: &str) -> Vec<&'static str> {
    let mut notes = Vec::new();
    let old_text = old.unwrap_or_default();
    match (old_text.starts_with(MARK), new.starts_with(MARK)) {
        (false, true) if old.is_none() => notes.push("begins with a byte order mark"),
        (false, true) => notes.push("a byte order mark is put in front"),
        (true, false) => notes.push("the byte order mark goes"),
        (true, true) | (false, false) => {}
    }
    match (ends(old_text), ends(new)) {
        (Ends::CrLf, Ends::Lf) => {
            notes.push("CRLF line ends; proposed with LF, Claude Code writes CRLF again");
        }
        (Ends::CrLf | Ends::None, Ends::CrLf) | (Ends::CrLf, Ends::None) => {
            notes.push("CRLF line ends");
        }
        (Ends::Lf, Ends::CrLf) => notes.push("line ends change from LF to CRLF"),
        (Ends::Mixed, Ends::CrLf) => notes.push("mixed line ends become CRLF"),
        (Ends::Mixed, Ends::Lf) => notes.push("mixed line ends; proposed with LF"),
        (_, Ends::Mixed) => notes.push("LF and CRLF line ends are mixed"),
        (Ends::Lf | Ends::None, Ends::Lf) | (Ends::Lf | Ends::Mixed | Ends::None, Ends::None) => {}
    }
    notes
}

#[cfg(test)]
mod tests;

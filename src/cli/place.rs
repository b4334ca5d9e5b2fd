//! Places in files as people and editors write them: `FILE`, `FILE:L1-L2`, `FILE:L:C-L:C`.
//!
//! Lines and columns count from 1 here, and from 0 in what comes out. A file's name may hold colons
//! and digits too, so the numbers are read from the right. What a column counts depends on who
//! wrote it; what leaves is always UTF-16.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::config::source::quote;
use crate::editor::text::Position;

/// A file with lines of it, if any were named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// As it was written.
    pub file: String,
    /// First and last line, from 0, first not behind last.
    pub lines: Option<(u32, u32)>,
}

/// A file with two places in it, from 1 as they were written; equal for a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// As it was written.
    pub file: String,
    /// Line and column of the earlier one.
    pub start: (u32, u32),
    /// Line and column of the later one; `None` when only one was written.
    pub end: Option<(u32, u32)>,
}

/// What a column counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Characters, as people do: Unicode scalar values.
    Characters,
    /// Bytes of UTF-8.
    Bytes,
    /// UTF-16 units.
    Utf16,
}

/// Why a text names no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceError {
    /// It does not end in `:LINE:COLUMN`.
    NoPosition(String),
    /// A line or column 0.
    Zero(String),
    /// The file has fewer lines.
    NoLine {
        /// From 1.
        line: u32,
        /// Lines there are.
        lines: usize,
    },
    /// The line is shorter.
    NoColumn {
        /// From 1.
        line: u32,
        /// From 1.
        column: u32,
        /// The last column a place can have: behind the last character.
        last: usize,
    },
    /// The column is in the middle of a character.
    InsideCharacter {
        /// From 1.
        line: u32,
        /// From 1.
        column: u32,
    },
}

impl PlaceError {
    /// Whether the text is wrong by itself, whatever the file holds.
    pub fn is_usage(&self) -> bool {
        match self {
            PlaceError::NoPosition(_) | PlaceError::Zero(_) => true,
            PlaceError::NoLine { .. }
            | PlaceError::NoColumn { .. }
            | PlaceError::InsideCharacter { .. } => false,
        }
    }
}

impl Lines {
    /// Reads `FILE[:L1[-L2]]`. A file of exactly that name is meant before any lines are.
    pub fn parse(text: &str, exists: impl Fn(&str) -> bool) -> Result<Lines, PlaceError> {
        let whole = || Lines { file: text.to_owned(), lines: None };
        if exists(text) {
            return Ok(whole());
        }
        let range = number_at_end(text, '-').and_then(|(rest, last)| {
            let (file, first) = number_at_end(rest, ':')?;
            Some((file, first, last))
        });
        let one = || number_at_end(text, ':').map(|(file, line)| (file, line, line));
        let Some((file, one, other)) = range.or_else(one).filter(|(file, ..)| !file.is_empty())
        else {
            return Ok(whole());
        };
        if one == 0 || other == 0 {
            return Err(PlaceError::Zero(text.to_owned()));
        }
        let lines = Some((one.min(other) - 1, one.max(other) - 1));
        Ok(Lines { file: file.to_owned(), lines })
    }
}

impl Span {
    /// Reads `FILE:L:C[-L:C]`; two places may come in either order.
    pub fn parse(text: &str) -> Result<Span, PlaceError> {
        let pair = |text, before| {
            let (rest, column) = number_at_end(text, ':')?;
            let (rest, line) = number_at_end(rest, before)?;
            Some((rest, (line, column)))
        };
        let two = pair(text, '-').and_then(|(rest, last)| {
            let (file, first) = pair(rest, ':')?;
            Some((file, first, Some(last)))
        });
        let one = || pair(text, ':').map(|(file, place)| (file, place, None));
        let Some((file, one, other)) = two.or_else(one).filter(|(file, ..)| !file.is_empty())
        else {
            return Err(PlaceError::NoPosition(text.to_owned()));
        };
        let has_zero = |(line, column)| line == 0 || column == 0;
        if has_zero(one) || other.is_some_and(has_zero) {
            return Err(PlaceError::Zero(text.to_owned()));
        }
        let start = other.map_or(one, |other| one.min(other));
        let end = other.map(|other| one.max(other));
        Ok(Span { file: file.to_owned(), start, end })
    }
}

/// `rest:12` is `rest` and 12; a number that is none, or too big for a line, is part of the name.
fn number_at_end(text: &str, before: char) -> Option<(&str, u32)> {
    let (rest, number) = text.rsplit_once(before)?;
    let is_plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((rest, number.parse().ok().filter(|_| is_plain)?))
}

/// Finds line and column, both from 1, in a text without byte order mark: the byte where the place
/// is, and how editors call it.
pub fn locate(
    text: &str,
    (line, column): (u32, u32),
    columns: Columns,
) -> Result<(usize, Position), PlaceError> {
    assert!(line > 0 && column > 0);
    let lines = lines(text);
    let index = usize::try_from(line - 1).unwrap_or(usize::MAX);
    let Some(range) = lines.get(index) else {
        return Err(PlaceError::NoLine { line, lines: lines.len() });
    };
    let content = &text[range.clone()];
    let wanted = usize::try_from(column - 1).unwrap_or(usize::MAX);
    let width = |letter: char| match columns {
        Columns::Characters => 1,
        Columns::Bytes => letter.len_utf8(),
        Columns::Utf16 => letter.len_utf16(),
    };
    let (mut bytes, mut counted, mut units) = (0, 0, 0);
    let mut letters = content.chars();
    while counted < wanted
        && let Some(letter) = letters.next()
    {
        bytes += letter.len_utf8();
        counted += width(letter);
        units += letter.len_utf16();
    }
    if counted < wanted {
        return Err(PlaceError::NoColumn { line, column, last: counted + 1 });
    }
    if counted > wanted {
        return Err(PlaceError::InsideCharacter { line, column });
    }
    let character = u32::try_from(units).unwrap_or(u32::MAX);
    Ok((range.start + bytes, Position { line: line - 1, character }))
}

/// Where a text ends that begins at `start`.
pub fn end_of(start: Position, text: &str) -> Position {
    let lines = lines(text);
    let last = lines.last().expect("a text has one line or more");
    let units: usize = text[last.clone()].chars().map(char::len_utf16).sum();
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    match lines.len() {
        1 => Position { line: start.line, character: start.character.saturating_add(count(units)) },
        more => {
            Position { line: start.line.saturating_add(count(more - 1)), character: count(units) }
        }
    }
}

/// The lines without their ends, as editors count them (LSP 3.17, "Text Documents").
fn lines(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut lines, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let end_bytes = match bytes[at] {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
            b'\r' | b'\n' => 1,
            _ => {
                at += 1;
                continue;
            }
        };
        lines.push(start..at);
        at += end_bytes;
        start = at;
    }
    lines.push(start..bytes.len());
    lines
}

/// The path an agent compares with its own folder: absolute, its folder physical. The last name
/// stays as it is: who names a symbolic link to a file means the link.
///
/// # Errors
/// When the folder is not there, or the path is no Unicode and cannot be sent.
pub fn absolute(file: &str) -> Result<PathBuf, String> {
    let path = Path::new(file);
    let told = |error: std::io::Error| format!("{}: {error}", quote(file));
    let physical = match path.file_name() {
        Some(name) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = std::fs::canonicalize(folder.unwrap_or(Path::new("."))).map_err(told)?;
            super::serve::plain(folder).join(name)
        }
        None => super::serve::plain(std::fs::canonicalize(path).map_err(told)?),
    };
    match physical.to_str() {
        Some(_) => Ok(physical),
        None => Err(format!("{}: a path that is no Unicode cannot be sent", quote(file))),
    }
}

impl fmt::Display for PlaceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlaceError::NoPosition(text) => {
                write!(out, "{} has no :LINE:COLUMN behind the file", quote(text))
            }
            PlaceError::Zero(text) => {
                write!(out, "lines and columns count from 1, not 0 as in {}", quote(text))
            }
            PlaceError::NoLine { line, lines } => {
                write!(
                    out,
                    "the file has {}, so no line {line}",
                    super::count(u64::try_from(*lines).unwrap_or(u64::MAX), "line")
                )
            }
            PlaceError::NoColumn { line, column, last } => {
                write!(out, "line {line} ends at column {last}, so there is no column {column}")
            }
            PlaceError::InsideCharacter { line, column } => {
                write!(out, "column {column} of line {line} is inside a character: see --columns")
            }
        }
    }
}

#[cfg(test)]
mod tests;

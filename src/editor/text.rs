//! Places in a text: lines from 0, columns from 0 in UTF-16 units.
//!
//! Editors and the agent count this way; files are UTF-8 bytes. This file translates from one to
//! the other and knows nothing of documents. `\n`, `\r\n` and a lone `\r` each end a line, as the
//! Language Server Protocol has it (LSP 3.17, "Text Documents"). An end of range is exclusive.

use std::ops;

use serde_json::{Value, json};

/// A place between two characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// From 0.
    pub line: u32,
    /// From 0, in UTF-16 units.
    pub character: u32,
}

/// From one place to another. Invariant: `start <= end`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Range {
    start: Position,
    end: Position,
}

impl Position {
    /// `{line, character}`
    pub fn json(self) -> Value {
        json!({ "line": self.line, "character": self.character })
    }
}

impl Range {
    /// The range between two places, in whichever order they come: a selection made backwards is
    /// sent forwards, since the agent shows a reversed one as none.
    pub fn between(one: Position, other: Position) -> Range {
        Range { start: one.min(other), end: one.max(other) }
    }

    /// Where it starts.
    pub fn start(self) -> Position {
        self.start
    }

    /// Where it ends; the character there is no longer part of it.
    pub fn end(self) -> Position {
        self.end
    }

    /// Whether it is a mere cursor.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// `{start, end}`
    pub fn json(self) -> Value {
        json!({ "start": self.start.json(), "end": self.end.json() })
    }
}

/// `text` without the byte order mark editors do not count as a column.
pub fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Lines as editors count them: one more than there are line ends.
pub fn line_count(text: &str) -> u32 {
    saturated(line_ends(text.as_bytes()) + 1)
}

/// Where the byte range `bytes` of `text` stands. Both ends lie on character boundaries.
pub fn range_of(text: &str, bytes: ops::Range<usize>) -> Range {
    Range::between(position_of(text, bytes.start), position_of(text, bytes.end))
}

/// The end of the line in which `byte` lies, before its line end.
pub fn line_end_after(text: &str, byte: usize) -> usize {
    let rest = &text.as_bytes()[byte..];
    rest.iter().position(|&byte| is_line_end(byte)).map_or(text.len(), |ahead| byte + ahead)
}

/// Where the character that starts at `byte` stands; between `\r` and `\n` is still the old line.
fn position_of(text: &str, byte: usize) -> Position {
    let before = &text[..byte];
    let splits_crlf = before.ends_with('\r') && text[byte..].starts_with('\n');
    let closed = before.len() - usize::from(splits_crlf);
    let line_start = before.as_bytes()[..closed]
        .iter()
        .rposition(|&byte| is_line_end(byte))
        .map_or(0, |at| at + 1);
    let units: usize = before[line_start..].chars().map(char::len_utf16).sum();
    Position {
        line: saturated(line_ends(&before.as_bytes()[..line_start])),
        character: saturated(units),
    }
}

/// How many lines end in `bytes`.
fn line_ends(bytes: &[u8]) -> usize {
    let mut ends = 0;
    let mut was_cr = false;
    for &byte in bytes {
        ends += usize::from(byte == b'\r' || (byte == b'\n' && !was_cr));
        was_cr = byte == b'\r';
    }
    ends
}

fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Texts are bounded far below 2^32 bytes by whoever reads them; a longer one stops counting.
fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, needle: &str, expected: ((u32, u32), (u32, u32))) {
        let at = text.find(needle).expect("the needle is in the text");
        let range = range_of(text, at..at + needle.len());
        let pair = |place: Position| (place.line, place.character);
        assert_eq!((pair(range.start()), pair(range.end())), expected, "{needle:?} in {text:?}");
    }

    #[test]
    fn columns_count_utf16_units() {
        check("abc", "b", ((0, 1), (0, 2)));
        check("é!", "!", ((0, 1), (0, 2)));
        check("测试!", "试", ((0, 1), (0, 2)));
        check("😀!", "!", ((0, 2), (0, 3)));
        check("a\n测é😀x\n", "x", ((1, 4), (1, 5)));
    }

    #[test]
    fn every_kind_of_line_end_ends_one_line() {
        check("a\nb", "b", ((1, 0), (1, 1)));
        check("a\r\nb", "b", ((1, 0), (1, 1)));
        check("a\rb", "b", ((1, 0), (1, 1)));
        check("a\r\n\r\nb", "b", ((2, 0), (2, 1)));
        check("a\r\nb", "a\r", ((0, 0), (0, 2)));
        check("a\r\nb", "a\r\n", ((0, 0), (1, 0)));
    }

    #[test]
    fn lines_are_one_more_than_line_ends() {
        for (text, lines) in [("", 1), ("a", 1), ("a\n", 2), ("a\r\nb", 2), ("\r\r\n\n", 4)] {
            assert_eq!(line_count(text), lines, "{text:?}");
        }
    }

    #[test]
    fn the_end_of_a_line_stands_before_its_line_end() {
        for (text, from, end) in [("ab\r\ncd", 0, 2), ("ab\ncd", 3, 5), ("ab", 2, 2), ("a\n", 1, 1)]
        {
            assert_eq!(line_end_after(text, from), end, "{text:?} from {from}");
        }
    }

    #[test]
    fn a_range_made_backwards_runs_forwards() {
        let (early, late) =
            (Position { line: 1, character: 9 }, Position { line: 2, character: 0 });
        assert_eq!(Range::between(late, early), Range::between(early, late));
        assert_eq!(Range::between(late, early).start(), early);
    }
}

//! Lines become rows of the screen: tabs spread, long lines folded, control characters escaped.
//!
//! What a proposal says is shown, never obeyed: a character that would move the cursor, turn the
//! text around or hide is spelled out. A folded line goes on behind `>`. Only places are kept for
//! all rows; the text of a row is made when it is looked at.

use unicode_width::UnicodeWidthChar;

use crate::stdx::one_line::moves_the_cursor;

use super::compare::{Kind, Line};

/// Columns between tab stops.
const TAB: usize = 8;

/// Narrowest text that is folded into; below it rows are cut by the terminal. The longest escape
/// and a tab fit.
const COLUMNS_MIN: usize = 10;

/// Where the rows of a page begin and end, for one width of the screen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    places: Vec<Place>,
}

/// A row: bytes of the text of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    line: u32,
    start: u32,
    end: u32,
}

/// A row as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) kind: Kind,
    /// The sign of its line, or `>` when a line goes on.
    pub(super) sign: &'static str,
    pub(super) runs: Vec<Run>,
}

/// Some characters of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Run {
    /// As they are.
    Plain(String),
    /// Spelled out.
    Escaped(String),
}

impl Layout {
    /// Folds the lines for a screen of so many columns.
    pub(super) fn new(lines: &[Line], columns: usize) -> Layout {
        let mut places = Vec::with_capacity(lines.len());
        for (index, line) in lines.iter().enumerate() {
            let width = columns.saturating_sub(line.kind.sign().len()).max(COLUMNS_MIN);
            let index = u32::try_from(index).expect("lines fit a file of 32 MiB");
            fold(&line.text, width, |start, end| {
                let (start, end) = (start as u32, end as u32);
                places.push(Place { line: index, start, end });
            });
        }
        Layout { places }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The rows from `top` on, at most `height`.
    pub(super) fn rows<'a>(
        &'a self,
        lines: &'a [Line],
        top: usize,
        height: usize,
    ) -> impl Iterator<Item = Row> + 'a {
        self.places.iter().skip(top).take(height).map(|place| {
            let line = &lines[place.line as usize];
            let sign = match (line.kind.sign(), place.start) {
                ("", _) => "",
                (sign, 0) => sign,
                (_, _) => ">",
            };
            let runs = runs(&line.text[place.start as usize..place.end as usize]);
            Row { kind: line.kind, sign, runs }
        })
    }
}

/// Finds the rows of a text; an empty one has one.
fn fold(text: &str, width: usize, mut row: impl FnMut(usize, usize)) {
    let (mut start, mut column) = (0, 0);
    for (at, letter) in text.char_indices() {
        let mut columns = columns(letter, column);
        if column + columns > width {
            row(start, at);
            (start, column) = (at, 0);
            columns = self::columns(letter, 0);
        }
        column += columns;
    }
    row(start, text.len());
}

/// Columns that a character takes when it stands at `column`.
fn columns(letter: char, column: usize) -> usize {
    match letter {
        '\t' => TAB - column % TAB,
        _ if is_escaped(letter) => letter.escape_default().len(),
        _ => letter.width().unwrap_or_default(),
    }
}

/// The text of a row, which begins at a tab stop.
fn runs(text: &str) -> Vec<Run> {
    let (mut runs, mut column) = (Vec::new(), 0);
    for letter in text.chars() {
        let columns = columns(letter, column);
        column += columns;
        if is_escaped(letter) {
            match runs.last_mut() {
                Some(Run::Escaped(text)) => text.push_str(&escape(letter)),
                Some(Run::Plain(_)) | None => runs.push(Run::Escaped(escape(letter))),
            }
            continue;
        }
        if !matches!(runs.last(), Some(Run::Plain(_))) {
            runs.push(Run::Plain(String::new()));
        }
        let Some(Run::Plain(text)) = runs.last_mut() else { continue };
        match letter {
            '\t' => text.extend(std::iter::repeat_n(' ', columns)),
            letter => text.push(letter),
        }
    }
    runs
}

/// The text with what would move the cursor or hide spelled out; tabs too.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            _ if letter == '\t' || is_escaped(letter) => out += &escape(letter),
            _ => out.push(letter),
        }
    }
    out
}

/// The text cut to so many columns; what is spelled out stays whole.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for letter in text.chars() {
        let width = letter.width().unwrap_or_default();
        if column + width > columns {
            // The sign that something is missing takes the place of the last column.
            while column + 1 > columns {
                let Some(last) = out.pop() else { return out };
                column -= last.width().unwrap_or_default();
            }
            out.push('…');
            return out;
        }
        column += width;
        out.push(letter);
    }
    out
}

/// Columns of a text without control characters.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or_default()).sum()
}

fn escape(letter: char) -> String {
    letter.escape_default().collect()
}

/// What moves the cursor but the tab, and characters that cannot be seen at all. Joiners stay:
/// scripts and emoji need them.
fn is_escaped(letter: char) -> bool {
    match letter {
        '\t' | '\u{200c}' | '\u{200d}' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => true,
        letter => moves_the_cursor(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a line, `[…]` around what is spelled out.
    #[track_caller]
    fn check(text: &str, columns: usize, expected: &[&str]) {
        let lines = [Line { kind: Kind::Added, text: text.to_owned() }];
        let layout = Layout::new(&lines, columns);
        let rows: Vec<String> = layout
            .rows(&lines, 0, usize::MAX)
            .map(|row| {
                let run = |run: &Run| match run {
                    Run::Plain(text) => text.clone(),
                    Run::Escaped(text) => format!("[{text}]"),
                };
                row.sign.to_owned() + &row.runs.iter().map(run).collect::<String>()
            })
            .collect();
        assert_eq!(rows, expected, "{text:?}");
        assert_eq!(rows.len(), layout.len());
    }

    #[test]
    fn a_long_line_goes_on_in_further_rows() {
        check("", 21, &["+"]);
        check("0123456789", 11, &["+0123456789"]);
        check("0123456789a", 11, &["+0123456789", ">a"]);
        check("0123456789abcdefghij0", 11, &["+0123456789", ">abcdefghij", ">0"]);
    }

    #[test]
    fn wide_characters_and_marks_are_never_torn() {
        check("日本語日本語", 11, &["+日本語日本", ">語"]);
        check("a日本語日本語", 11, &["+a日本語日", ">本語"]);
        check("012345678e\u{301}x", 11, &["+012345678e\u{301}", ">x"]);
        check("👨\u{200d}👩", 21, &["+👨\u{200d}👩"]);
    }

    #[test]
    fn tabs_reach_the_next_stop() {
        check("\tx", 21, &["+        x"]);
        check("1234567\tx", 21, &["+1234567 x"]);
        check("日\tx", 21, &["+日      x"]);
        check("12345678\tx", 11, &["+12345678", ">        x"]);
    }

    #[test]
    fn what_would_drive_the_terminal_is_spelled_out() {
        check("a\u{1b}[2Jb", 31, &["+a[\\u{1b}][2Jb"]);
        check("a\rb\u{0}\u{7f}\u{9b}", 41, &["+a[\\r]b[\\u{0}\\u{7f}\\u{9b}]"]);
        check("\u{202e}x\u{2066}\u{200b}", 41, &["+[\\u{202e}]x[\\u{2066}\\u{200b}]"]);
        check("\u{e0041}", 41, &["+[\\u{e0041}]"]);
        check("12345\u{1b}67", 11, &["+12345", ">[\\u{1b}]67"]);
        assert_eq!(escaped("a\tb\n\u{1b}é日"), "a\\tb\\n\\u{1b}é日");
    }

    #[test]
    fn a_row_is_as_wide_as_it_was_counted() {
        let all = (0..0x3000).chain(0xe000..0x11000).chain(0x1f300..0x1f700);
        for letter in all.filter_map(char::from_u32) {
            let shown: usize = runs(&letter.to_string())
                .iter()
                .map(|run| match run {
                    Run::Plain(text) => width(text),
                    Run::Escaped(text) => {
                        assert!(text.chars().all(|letter| letter.is_ascii_graphic()), "{text}");
                        text.len()
                    }
                })
                .sum();
            assert_eq!(shown, columns(letter, 0), "{letter:?}");
            assert!(columns(letter, 0) <= COLUMNS_MIN, "{letter:?}");
        }
    }

    #[test]
    fn a_cut_text_says_so() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本", 4, "日本"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(cut(text, columns), expected);
        }
    }

    #[test]
    fn only_the_rows_asked_for_are_made() {
        let lines: Vec<Line> =
            (0..9).map(|n| Line { kind: Kind::Context, text: n.to_string() }).collect();
        let layout = Layout::new(&lines, 80);
        let rows: Vec<Row> = layout.rows(&lines, 7, 5).collect();
        let row = |text: &str| Row {
            kind: Kind::Context,
            sign: " ",
            runs: vec![Run::Plain(text.to_owned())],
        };
        assert_eq!(rows, [row("7"), row("8")]);
        assert_eq!(layout.rows(&lines, 99, 5).count(), 0);
    }
}

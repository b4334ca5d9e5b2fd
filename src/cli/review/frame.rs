//! What the screen shows: a bar with the diff's name, its rows, a bar with keys and news.
//!
//! A frame is whole every time: each row is written and the rest of it cleared, so nothing that
//! stood there before can stay. Everything in it was made safe when the rows were laid out.

use super::compare::Kind;
use super::layout::{Row, Run, cut, escaped, width};
use super::state::{Review, Screen, Shown};

/// Whether colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Palette {
    Colours,
    Plain,
}

/// Lines of help, for `?`.
const HELP: [&str; 13] = [
    "y        accept as proposed",
    "n        reject",
    "e        edit a copy in $VISUAL or $EDITOR; what you save is accepted",
    "s        skip: leave it pending and show the next",
    "q        leave; diffs stay pending",
    "",
    "space f  a page down, b a page up; d and u half a page",
    "j k      a line down and up, as the arrows do",
    "g G      to the beginning and the end",
    "",
    "A long line goes on in rows that begin with >.",
    "Control characters are spelled out, such as \\u{1b} for Escape.",
    "The file itself is written by the agent, never by this program.",
];

/// The keys, for the bar at the bottom.
const KEYS: &str = "y accept  n reject  e edit  s skip  q leave  ? help";

/// Clears the rest of a row.
const CLEAR_REST: &str = "\x1b[K";
const REVERSED: &str = "\x1b[7m";
const PLAIN: &str = "\x1b[m";

/// The screen's whole contents, from its upper left corner on.
pub(super) fn frame(review: &Review, palette: Palette) -> String {
    let size = review.size();
    let (title, body) = match review.screen() {
        _ if review.is_helping() => ("footbridge review: keys".to_owned(), lines(&HELP)),
        Screen::Diff(shown) => (title(review, shown), rows(shown, size.body(), palette)),
        Screen::Waiting => ("footbridge review".to_owned(), lines(&waiting(review))),
        Screen::Gone(line) => {
            let more = match review.waiting() {
                0 => "no other diff waits".to_owned(),
                1 => "1 diff waits".to_owned(),
                waiting => format!("{waiting} diffs wait"),
            };
            ("footbridge review".to_owned(), vec![line.clone(), String::new(), more])
        }
    };
    let mut frame = String::from("\x1b[H");
    frame += &bar(&title, "", size.columns);
    for index in 0..size.body() {
        frame += "\r\n";
        let row = body.get(index).map_or("", String::as_str);
        // Rows of a diff fit already, and have colours that must not be cut.
        let is_diff = matches!(review.screen(), Screen::Diff(_)) && !review.is_helping();
        frame += &if is_diff { row.to_owned() } else { cut(row, size.columns) };
        frame += CLEAR_REST;
    }
    if size.rows > 1 {
        frame += "\r\n";
        let (left, right) = footer(review);
        frame += &bar(&left, &right, size.columns);
    }
    frame
}

/// A row in reverse, with a text on each side.
fn bar(left: &str, right: &str, columns: usize) -> String {
    let right = cut(right, columns);
    let left = cut(left, columns.saturating_sub(width(&right)));
    let gap = columns.saturating_sub(width(&left) + width(&right));
    format!("{REVERSED}{left}{}{right}{PLAIN}", " ".repeat(gap))
}

fn title(review: &Review, shown: &Shown) -> String {
    let (place, waiting) = (review.place(shown.id), review.waiting());
    let agent = review.diff(shown.id).map_or("", |diff| diff.agent.as_str());
    let difference = &shown.page.difference;
    let (id, title, added, removed) =
        (shown.id, &shown.page.title, difference.added, difference.removed);
    format!("{place}/{waiting}  {title}  +{added} -{removed}  {}  #{id}", escaped(agent))
}

fn footer(review: &Review) -> (String, String) {
    let notice = escaped(review.notice());
    let (keys, right) = match review.screen() {
        _ if review.is_helping() => return ("any key goes back".to_owned(), String::new()),
        _ if !review.is_connected() => ("q leave".to_owned(), String::new()),
        Screen::Diff(shown) => (KEYS.to_owned(), progress(review, shown)),
        Screen::Waiting if review.waiting() > 0 => {
            ("s show the skipped  q leave".to_owned(), String::new())
        }
        Screen::Waiting => ("q leave  ? help".to_owned(), String::new()),
        Screen::Gone(_) => ("any key goes on  q leave".to_owned(), String::new()),
    };
    let left = if notice.is_empty() { keys } else { format!("{keys}  | {notice}") };
    (left, right)
}

/// How far the rows have been seen.
fn progress(review: &Review, shown: &Shown) -> String {
    let seen = shown.top + review.size().body();
    let all = shown.layout.len();
    if seen >= all {
        return if shown.top == 0 { " all".to_owned() } else { " end".to_owned() };
    }
    format!(" {}%", seen * 100 / all)
}

fn waiting(review: &Review) -> Vec<String> {
    let line = match (review.is_connected(), review.waiting()) {
        (false, _) => "The bridge went away; waiting for it to come back.".to_owned(),
        (true, 0) => "No diff waits. Proposed changes appear here as they come.".to_owned(),
        (true, 1) => "1 diff waits, and was skipped.".to_owned(),
        (true, waiting) => format!("{waiting} diffs wait, and were skipped."),
    };
    vec![line]
}

fn lines(lines: &[impl ToString]) -> Vec<String> {
    lines.iter().map(ToString::to_string).collect()
}

fn rows(shown: &Shown, height: usize, palette: Palette) -> Vec<String> {
    let rows = shown.layout.rows(&shown.page.difference.lines, shown.top, height);
    rows.map(|row| painted(&row, palette)).collect()
}

fn painted(row: &Row, palette: Palette) -> String {
    let (on, off) = colour(row.kind, palette);
    let mut text = format!("{on}{}", row.sign);
    for run in &row.runs {
        match run {
            Run::Plain(run) => text += run,
            Run::Escaped(run) => text += &format!("{REVERSED}{run}\x1b[27m"),
        }
    }
    text + off
}

/// What begins and ends the colour of a line.
pub(super) fn colour(kind: Kind, palette: Palette) -> (&'static str, &'static str) {
    if palette == Palette::Plain {
        return ("", "");
    }
    match kind {
        Kind::Context => ("", ""),
        Kind::Note | Kind::NoNewline => ("\x1b[33m", PLAIN),
        Kind::Hunk => ("\x1b[36m", PLAIN),
        Kind::Removed => ("\x1b[31m", PLAIN),
        Kind::Added => ("\x1b[32m", PLAIN),
    }
}

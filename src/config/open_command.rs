//! `--open-command`: a command line, split once, whose placeholders are filled in each time.
//!
//! No shell takes part: a file name can hold anything and still be one argument. Splitting follows
//! the shell's quotes; `{file}`, `{line}` and `{column}` are replaced inside each argument, once, so
//! a file named `{line}` stays what it is. Other braces are left alone.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

/// A command line, ready to fill in. Invariant: not empty, and one argument holds the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCommand {
    arguments: Vec<Vec<Piece>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    File,
    Line,
    Column,
}

/// Why a text is no open command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenCommandError {
    /// No word in it.
    Empty,
    /// A quote that nothing closes, or a backslash at the end.
    OpenQuote,
    /// The file would not be passed on.
    NoFile,
}

impl OpenCommand {
    /// Splits a command line.
    pub fn parse(text: &str) -> Result<OpenCommand, OpenCommandError> {
        let words = split(text).ok_or(OpenCommandError::OpenQuote)?;
        if words.first().is_none_or(String::is_empty) {
            return Err(OpenCommandError::Empty);
        }
        let arguments: Vec<Vec<Piece>> = words.iter().map(|word| pieces(word)).collect();
        if !arguments.iter().flatten().any(|piece| *piece == Piece::File) {
            return Err(OpenCommandError::NoFile);
        }
        Ok(OpenCommand { arguments })
    }

    /// Program and arguments for a place in a file; `line` and `column` count from 1.
    pub fn argv(&self, file: &Path, line: u32, column: u32) -> Vec<OsString> {
        let fill = |pieces: &Vec<Piece>| {
            let mut argument = OsString::new();
            for piece in pieces {
                match piece {
                    Piece::Text(text) => argument.push(text),
                    Piece::File => argument.push(file),
                    Piece::Line => argument.push(line.to_string()),
                    Piece::Column => argument.push(column.to_string()),
                }
            }
            argument
        };
        self.arguments.iter().map(fill).collect()
    }
}

impl fmt::Display for OpenCommandError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            OpenCommandError::Empty => "names no program",
            OpenCommandError::OpenQuote => "has a quote that is not closed",
            OpenCommandError::NoFile => "has no {file}",
        })
    }
}

/// Words as a shell splits them: blanks between, `'…'` literal, `"…"` with `\"` and `\\`, a
/// backslash before anything else. On Windows a backslash is a letter of a path.
pub fn split(text: &str) -> Option<Vec<String>> {
    let has_escapes = cfg!(not(windows));
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => quoted(&mut letters, '\'', false, word.get_or_insert_default())?,
            '"' => quoted(&mut letters, '"', has_escapes, word.get_or_insert_default())?,
            '\\' if has_escapes => word.get_or_insert_default().push(letters.next()?),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

/// Takes letters up to the closing `quote`; `None` when there is none.
fn quoted(
    letters: &mut std::str::Chars<'_>,
    quote: char,
    has_escapes: bool,
    word: &mut String,
) -> Option<()> {
    loop {
        match letters.next()? {
            letter if letter == quote => return Some(()),
            '\\' if has_escapes => {
                let escaped = letters.next()?;
                if escaped != quote && escaped != '\\' {
                    word.push('\\');
                }
                word.push(escaped);
            }
            letter => word.push(letter),
        }
    }
}

fn pieces(word: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some((text, piece, after)) = next_placeholder(rest) {
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        }
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    pieces
}

fn next_placeholder(text: &str) -> Option<(&str, Piece, &str)> {
    let names = [("{file}", Piece::File), ("{line}", Piece::Line), ("{column}", Piece::Column)];
    let found = names.into_iter().filter_map(|(name, piece)| Some((text.find(name)?, name, piece)));
    let (at, name, piece) = found.min_by_key(|(at, _, _)| *at)?;
    Some((&text[..at], piece, &text[at + name.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: Result<&[&str], OpenCommandError>) {
        let argv = OpenCommand::parse(command)
            .map(|command| command.argv(Path::new("/w/a {line}'$(x).rs"), 7, 3));
        let expected = expected.map(|words| words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(argv, expected, "{command}");
    }

    #[test]
    fn placeholders_are_filled_inside_arguments_and_never_split() {
        check("hx {file}:{line}:{column}", Ok(&["hx", "/w/a {line}'$(x).rs:7:3"]));
        check("  e  +{line}\t{file} ", Ok(&["e", "+7", "/w/a {line}'$(x).rs"]));
        check("e '' {file}{other}{", Ok(&["e", "", "/w/a {line}'$(x).rs{other}{"]));
        check("kak -e 'edit {file} {line}'", Ok(&["kak", "-e", "edit /w/a {line}'$(x).rs 7"]));
    }

    #[cfg(not(windows))]
    #[test]
    fn words_are_split_as_a_shell_does() {
        check(r#"a\ b "c \"d\" \n" e{file}"#, Ok(&["a b", r#"c "d" \n"#, "e/w/a {line}'$(x).rs"]));
        check(r#"a 'b\c'"d e"f '{file}'"#, Ok(&["a", r"b\cd ef", "/w/a {line}'$(x).rs"]));
        check(r"a {file} \", Err(OpenCommandError::OpenQuote));
    }

    #[test]
    fn what_cannot_open_a_file_is_refused() {
        check("", Err(OpenCommandError::Empty));
        check("'' {file}", Err(OpenCommandError::Empty));
        check("code", Err(OpenCommandError::NoFile));
        check("code '{file}", Err(OpenCommandError::OpenQuote));
        check("code \"{file}", Err(OpenCommandError::OpenQuote));
    }
}

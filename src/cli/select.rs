//! `footbridge select`: tells every attached agent what is selected, and those that attach later.
//!
//! The text is read from the file, or comes on stdin for a buffer that is not saved. Columns are
//! turned into UTF-16 with the file's own line.

use std::io::Read;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};
use serde_json::{Value, json};

use crate::config::source::{Env, quote};
use crate::editor::text::{Position, without_bom};

use super::place::{self, Columns, Span};
use super::{EXIT_USAGE, asked_bridge, complain, count, port_argument, say};

/// Largest file that is looked into, in bytes: whoever edits a larger one gives the text.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Largest selection, in bytes; an agent drops messages over 16 MiB, and a prompt holds far less.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// What it takes, for clap.
pub fn command() -> Command {
    let place = Arg::new("place")
        .value_name("FILE:L:C[-L:C]")
        .help("from and to, counted from 1; the last column is excluded");
    let clear = Arg::new("clear")
        .long("clear")
        .action(ArgAction::SetTrue)
        .help("nothing is selected any more");
    let text = Arg::new("text")
        .long("text")
        .value_name("-")
        .value_parser(["-"])
        .hide_possible_values(true)
        .requires("place")
        .help("the selected text comes on stdin, not from the file");
    let columns = Arg::new("columns")
        .long("columns")
        .value_name("UNIT")
        .value_parser(["characters", "bytes", "utf16"])
        .hide_possible_values(true)
        .default_value("characters")
        .hide_default_value(true)
        .help("what columns count: characters, bytes or utf16 [characters]");
    Command::new("select")
        .args([place, clear, text, columns, port_argument()])
        .group(ArgGroup::new("what").args(["place", "clear"]).required(true))
        .after_help(
            "Exit codes: 0 told, 1 no bridge, file or such place in it, 2 usage\n\
             Example:    footbridge select src/main.rs:10:1-12:5",
        )
}

/// Tells the selection and says who heard it.
pub fn run(matches: &ArgMatches, env: Env<'_>) -> ExitCode {
    let params = match matches.get_one::<String>("place") {
        None => json!({"clear": true}),
        Some(place) => {
            let columns = match matches.get_one::<String>("columns").map(String::as_str) {
                Some("bytes") => Columns::Bytes,
                Some("utf16") => Columns::Utf16,
                Some(_) | None => Columns::Characters,
            };
            let given = matches.contains_id("text").then(read_stdin);
            match given.transpose().and_then(|given| params(place, columns, given)) {
                Ok(params) => params,
                Err((code, message)) => {
                    complain(&message);
                    return ExitCode::from(code);
                }
            }
        }
    };
    let Some((_, mut client)) = asked_bridge(matches, env) else { return ExitCode::FAILURE };
    match client.request("select", &params) {
        Ok(result) => {
            say(&match result["agents"].as_u64() {
                Some(0) | None => "no agent is attached: the next one is told\n".to_owned(),
                Some(agents) => format!("told to {}\n", count(agents, "agent")),
            });
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// What the bridge is told, or an exit code and why it cannot be.
fn params(place: &str, columns: Columns, given: Option<String>) -> Result<Value, (u8, String)> {
    let failed = |message: String| (1, message);
    let told = |error: place::PlaceError| {
        (if error.is_usage() { EXIT_USAGE } else { 1 }, error.to_string())
    };
    let span = Span::parse(place).map_err(told)?;
    let path = place::absolute(&span.file).map_err(failed)?;
    let (text, start, end) = match given {
        Some(text) => {
            // The buffer may be new or ahead of its file.
            let saved = read(&span.file).unwrap_or_default();
            let (start, end) = given_range(without_bom(&saved), &span, columns, &text);
            (text, start, end)
        }
        None => {
            let saved = read(&span.file).map_err(failed)?;
            let saved = without_bom(&saved);
            let (from, start) = place::locate(saved, span.start, columns).map_err(told)?;
            let (to, end) =
                place::locate(saved, span.end.unwrap_or(span.start), columns).map_err(told)?;
            (saved[from..to].to_owned(), start, end)
        }
    };
    if text.len() > TEXT_BYTES_MAX {
        return Err(failed(format!("{} MiB selected, at most 4", text.len() >> 20)));
    }
    let selection = json!({"start": start.json(), "end": end.json()});
    Ok(json!({"filePath": path, "text": text, "selection": selection}))
}

/// Where a given text stands. A place that the saved file does not have is taken as it is; the end,
/// when none was written, is where the text ends.
fn given_range(saved: &str, span: &Span, columns: Columns, text: &str) -> (Position, Position) {
    let at = |(line, column): (u32, u32)| match place::locate(saved, (line, column), columns) {
        Ok((_, position)) => position,
        Err(_) => Position { line: line - 1, character: column - 1 },
    };
    let start = at(span.start);
    let end = span.end.map_or_else(|| place::end_of(start, text), at);
    (start, end)
}

fn read(file: &str) -> Result<String, String> {
    let told = |error: std::io::Error| format!("cannot read {}: {error}", quote(file));
    let about = std::fs::metadata(file).map_err(told)?;
    if !about.is_file() {
        return Err(format!("{} is no file", quote(file)));
    }
    if about.len() > FILE_BYTES_MAX {
        return Err(format!(
            "{} has {} MiB: give the text with --text -",
            quote(file),
            about.len() >> 20
        ));
    }
    let bytes = std::fs::read(file).map_err(told)?;
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", quote(file)))
}

fn read_stdin() -> Result<String, (u8, String)> {
    let mut bytes = Vec::new();
    let most = u64::try_from(TEXT_BYTES_MAX + 1).expect("4 MiB fit");
    std::io::stdin()
        .lock()
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| (1, format!("cannot read stdin: {error}")))?;
    String::from_utf8(bytes).map_err(|_| (1, "the text on stdin is not UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(place: &str, columns: Columns, given: Option<&str>, expected: Result<Value, &str>) {
        let folder = tempfile::TempDir::new().expect("a folder");
        let root = std::fs::canonicalize(folder.path()).expect("it is there");
        let text = "\u{feff}one\r\né😀 two\nthree";
        std::fs::write(root.join("a:1.txt"), text).expect("a file");
        std::fs::write(root.join("latin"), b"\xe9").expect("a file");
        let path = |name: &str| root.join(name).to_str().expect("Unicode").to_owned();
        let params = params(&path(place), columns, given.map(str::to_owned));
        let params = params.map_err(|(_, message)| message.replace(&path(""), ""));
        let expected = expected.map(|mut value| {
            value["filePath"] = json!(path(value["filePath"].as_str().expect("a name")));
            value
        });
        assert_eq!(params.as_ref().map_err(String::as_str), expected.as_ref().map_err(|e| *e));
    }

    fn selected(file: &str, text: &str, start: (u32, u32), end: (u32, u32)) -> Value {
        let at = |(line, character): (u32, u32)| json!({"line": line, "character": character});
        let selection = json!({"start": at(start), "end": at(end)});
        json!({"filePath": file, "text": text, "selection": selection})
    }

    #[test]
    fn the_text_is_the_files_between_the_places() {
        use Columns::{Bytes, Characters};
        let file = "a:1.txt";
        check("a:1.txt:1:1-1:4", Characters, None, Ok(selected(file, "one", (0, 0), (0, 3))));
        check("a:1.txt:2:2-1:2", Characters, None, Ok(selected(file, "ne\r\né", (0, 1), (1, 1))));
        check("a:1.txt:2:4-3:1", Characters, None, Ok(selected(file, "two\n", (1, 4), (2, 0))));
        check("a:1.txt:2:8-2:11", Bytes, None, Ok(selected(file, "two", (1, 4), (1, 7))));
        check("a:1.txt:2:3", Characters, None, Ok(selected(file, "", (1, 3), (1, 3))));
        let outside = "line 1 ends at column 4, so there is no column 9";
        check("a:1.txt:1:1-1:9", Characters, None, Err(outside));
        let absent = "cannot read \"b\": No such file or directory (os error 2)";
        check("b:1:1", Characters, None, Err(absent));
        check("latin:1:1", Characters, None, Err("\"latin\" is not UTF-8"));
    }

    #[test]
    fn a_given_text_may_be_ahead_of_its_file() {
        let columns = Columns::Characters;
        let file = "a:1.txt";
        let given = Some("two!\nx");
        check("a:1.txt:2:4", columns, given, Ok(selected(file, "two!\nx", (1, 4), (2, 1))));
        check("a:1.txt:9:4-9:8", columns, Some("new"), Ok(selected(file, "new", (8, 3), (8, 7))));
        check("b:1:1", columns, Some("new\n"), Ok(selected("b", "new\n", (0, 0), (1, 0))));
        check("b:1:1", columns, Some(""), Ok(selected("b", "", (0, 0), (0, 0))));
    }

    #[test]
    fn a_selection_no_agent_would_take_is_refused() {
        let text = "x".repeat(TEXT_BYTES_MAX + 1);
        check("b:1:1", Columns::Bytes, Some(&text), Err("4 MiB selected, at most 4"));
    }
}

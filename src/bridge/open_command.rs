//! The person's own command that shows a file in their editor, such as `code -g {file}:{line}`.
//!
//! Split into arguments once at start; placeholders are replaced inside each argument, so that no
//! file name can ever become a second argument or reach a shell.

use std::ffi::OsString;
use std::path::Path;

use crate::effect::Command;

/// The command, split.
#[derive(Debug, Clone)]
pub struct OpenCommand {
    argv: Vec<String>,
}

impl OpenCommand {
    /// `argv` must not be empty; the settings have checked it.
    pub fn new(argv: Vec<String>) -> Option<OpenCommand> {
        (!argv.is_empty()).then_some(OpenCommand { argv })
    }

    /// What to start for a place in a file. `line` and `column` are 0-based; the command gets them
    /// 1-based, as editors count.
    pub fn command(&self, file: &Path, line: u32, column: u32) -> Command {
        let argv = self.argv.iter().map(|argument| fill(argument, file, line, column)).collect();
        Command { argv, cwd: None }
    }
}

/// Replaces `{file}`, `{line}` and `{column}`; what is put in is never looked at again.
fn fill(argument: &str, file: &Path, line: u32, column: u32) -> OsString {
    let mut filled = OsString::new();
    let mut rest = argument;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        filled.push(before);
        if let Some(after) = from.strip_prefix("{file}") {
            filled.push(file);
            rest = after;
        } else if let Some(after) = from.strip_prefix("{line}") {
            filled.push((u64::from(line) + 1).to_string());
            rest = after;
        } else if let Some(after) = from.strip_prefix("{column}") {
            filled.push((u64::from(column) + 1).to_string());
            rest = after;
        } else {
            filled.push("{");
            rest = &from[1..];
        }
    }
    filled.push(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_inside_each_argument_and_only_once() {
        let argv = ["code", "-g", "{file}:{line}:{column}", "{x}{file}{", "a b"];
        let command = OpenCommand::new(argv.map(str::to_owned).to_vec()).unwrap();
        let filled = command.command(Path::new("/w/{line} $(x).rs"), 0, 41).argv;
        let expected =
            ["code", "-g", "/w/{line} $(x).rs:1:42", "{x}/w/{line} $(x).rs{", "a b"];
        assert_eq!(filled, expected.map(OsString::from));
    }

    #[test]
    fn an_empty_command_is_none() {
        assert!(OpenCommand::new(Vec::new()).is_none());
    }
}

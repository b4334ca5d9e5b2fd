//! `footbridge tools`: the catalogue, as clients of the IDE door are told it.
//!
//! It is read from the program itself, so no bridge need run, and a bridge of another version may
//! have other tools.

use std::process::ExitCode;

use clap::{ArgMatches, Command};
use serde_json::{Value, json};

use crate::config::source::Env;
use crate::tools::TOOLS;

use super::say;
use super::status::json_argument;

/// What it takes, for clap.
pub fn command() -> Command {
    Command::new("tools")
        .arg(json_argument())
        .after_help("Exit codes: 0 printed, 2 usage\nIt needs no bridge.")
}

/// Prints the catalogue.
pub fn run(matches: &ArgMatches, _env: Env<'_>) -> ExitCode {
    let rows = TOOLS.iter().map(|row| &row.descriptor);
    if matches.get_flag("json") {
        let rows = rows.map(|tool| {
            let schema: Value = serde_json::from_str(tool.input_schema)
                .expect("the schemas of the catalogue are JSON");
            json!({"name": tool.name, "description": tool.description, "inputSchema": schema})
        });
        say(&format!("{:#}\n", Value::Array(rows.collect())));
    } else {
        let width = TOOLS.iter().map(|row| row.descriptor.name.len()).max().unwrap_or_default();
        let line = |name, description| format!("{name:width$}  {description}\n");
        say(&rows.map(|tool| line(tool.name, tool.description)).collect::<String>());
    }
    ExitCode::SUCCESS
}

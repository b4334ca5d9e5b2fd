//! `footbridge doctor`: what keeps an agent from attaching in this folder, and how to mend it.
//!
//! Facts are gathered once, then a table of checks looks at them alone, then the findings are
//! printed. Nothing on the machine is changed, no program is run, and no secret is printed.

pub mod checks;
pub mod facts;
pub mod gather;
pub mod machine;
pub mod report;

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::config::source::Env;

use super::status::json_argument;
use super::{complain, say, serve};

pub use checks::markdown_table;

/// What it takes, for clap.
pub fn command() -> Command {
    let verbose = Arg::new("verbose")
        .long("verbose")
        .short('v')
        .action(ArgAction::SetTrue)
        .help("also print what is fine");
    Command::new("doctor").arg(json_argument()).arg(verbose).after_help(format!(
        "It looks as Claude Code started in this folder would, and changes nothing.\n\
         {}\nExit codes: 0 nothing is wrong (there may be warnings), 1 something is, 2 usage",
        checks::help_text()
    ))
}

/// Prints what it finds.
pub fn run(matches: &ArgMatches, env: Env<'_>) -> ExitCode {
    let folder = match std::env::current_dir().and_then(std::fs::canonicalize) {
        Ok(folder) => serve::plain(folder),
        Err(error) => {
            complain(&format!("the current folder is gone: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let facts = gather::facts(env, folder);
    let findings = checks::run(&facts);
    let is_well = findings.iter().all(|(_, finding)| !finding.is_fault());
    let is_verbose = matches.get_flag("verbose");
    say(&match matches.get_flag("json") {
        true => report::in_json(&facts, &findings),
        false => report::in_words(&facts, &findings, is_verbose),
    });
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! `footbridge review`: looks at proposed changes and answers them.
//!
//! It is not here yet, and says so.

use std::process::ExitCode;

use clap::{ArgMatches, Command};

use crate::config::source::Env;

use super::complain;

/// What it takes, for clap.
pub fn command() -> Command {
    Command::new("review")
}

/// Says that it is not here yet.
pub fn run(_matches: &ArgMatches, _env: Env<'_>) -> ExitCode {
    complain("review is not here yet");
    ExitCode::FAILURE
}

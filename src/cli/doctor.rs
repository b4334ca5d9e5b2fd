//! `footbridge doctor`: finds what keeps an agent from attaching.
//!
//! It is not here yet, and says so.

use std::process::ExitCode;

use clap::{ArgMatches, Command};

use crate::config::source::Env;

use super::complain;

/// What it takes, for clap.
pub fn command() -> Command {
    Command::new("doctor")
}

/// Says that it is not here yet.
pub fn run(_matches: &ArgMatches, _env: Env<'_>) -> ExitCode {
    complain("doctor is not here yet");
    ExitCode::FAILURE
}

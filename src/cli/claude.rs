//! `footbridge claude`: becomes `claude`, with the variables that join it to the bridge.
//!
//! No process stays between the terminal and Claude Code, so signals and the exit code are its own.
//! Where a process cannot become another, on Windows, it is waited for and its exit code passed on.

use std::ffi::OsString;
use std::io;
use std::process;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::config::source::Env;

use super::env::agent_environment;
use super::{chosen_bridge, complain, port_argument};

/// What it takes, for clap.
pub fn command() -> Command {
    let args = Arg::new("args")
        .value_name("ARGS")
        .action(ArgAction::Append)
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .value_parser(value_parser!(OsString))
        .help("passed on as they are; -- before them keeps --help for claude");
    Command::new("claude")
        .arg(args)
        .arg(port_argument())
        .after_help("Exit codes: claude's own; 1 no bridge, or no claude on PATH, 2 usage")
}

/// Becomes `claude`; comes back only when that fails, or on systems without such a change.
pub fn run(matches: &ArgMatches, env: Env<'_>) -> ExitCode {
    let Some(bridge) = chosen_bridge(matches, env) else { return ExitCode::FAILURE };
    let mut claude = process::Command::new("claude");
    claude.args(matches.get_many::<OsString>("args").unwrap_or_default());
    claude.envs(agent_environment(bridge.record.port, env));
    let error = match become_it(claude) {
        Ok(code) => return code,
        Err(error) => error,
    };
    complain(&match error.kind() {
        io::ErrorKind::NotFound => "there is no claude on PATH: install Claude Code".to_owned(),
        _ => format!("claude does not start: {error}"),
    });
    ExitCode::FAILURE
}

#[cfg(unix)]
fn become_it(mut program: process::Command) -> io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(program.exec())
}

#[cfg(not(unix))]
fn become_it(mut program: process::Command) -> io::Result<ExitCode> {
    let code = program.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

//! `footbridge completions` and `footbridge man`, for whoever packages the program.
//!
//! Both are made from the same table as the arguments themselves, and print to stdout.

use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use clap_complete::Shell;

use crate::config::source::Env;

use super::{complain, say};

/// What `completions` takes, for clap.
pub fn command() -> Command {
    let shell = Arg::new("shell")
        .value_name("SHELL")
        .required(true)
        .value_parser(["bash", "fish", "zsh"])
        .help("the shell to write for");
    Command::new("completions").arg(shell).after_help("Exit codes: 0 printed, 2 usage")
}

/// Prints a completion script.
pub fn run(matches: &ArgMatches, _env: Env<'_>) -> ExitCode {
    let shell = match matches.get_one::<String>("shell").map(String::as_str) {
        Some("fish") => Shell::Fish,
        Some("zsh") => Shell::Zsh,
        Some(_) | None => Shell::Bash,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "footbridge", &mut script);
    say(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}

/// What `man` takes, for clap.
pub fn man_command() -> Command {
    let page = Arg::new("command").value_name("COMMAND").help("the page of that command alone");
    Command::new("man").arg(page).after_help("Exit codes: 0 printed, 1 no such command, 2 usage")
}

/// Prints a manual page.
pub fn run_man(matches: &ArgMatches, _env: Env<'_>) -> ExitCode {
    let mut all = super::command();
    all.build();
    let wanted = matches.get_one::<String>("command");
    let command = match wanted {
        None => Some(all),
        Some(name) => all.find_subcommand(name).cloned(),
    };
    let Some(command) = command else {
        complain("there is no such command: see footbridge --help");
        return ExitCode::FAILURE;
    };
    let title = command.get_display_name().unwrap_or("footbridge").to_owned();
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command).title(title).manual("footbridge");
    match man.render(&mut page) {
        Ok(()) => {
            say(&String::from_utf8_lossy(&page));
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&format!("the page cannot be written: {error}"));
            ExitCode::FAILURE
        }
    }
}

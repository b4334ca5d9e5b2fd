//! The command line: which subcommand, with which flags; help, version and complaints.
//!
//! Each subcommand is a file with two functions: `command` tells clap what it takes, `run` does it.
//! A complaint is one line; exit code 2 means that the arguments make no sense. This folder is the
//! only place that writes to stdout and stderr by itself, and it survives when nobody reads them.

pub mod call;
pub mod claude;
pub mod completions;
pub mod control;
pub mod doctor;
pub mod env;
pub mod logger;
pub mod mention;
pub mod place;
pub mod review;
pub mod rpc;
pub mod select;
pub mod serve;
pub mod status;
pub mod token;
pub mod tools;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command, value_parser};

use crate::config::nearest;
use crate::config::source::{Env, quote};
use crate::stdx::one_line::OneLine;
use crate::transport::door::VERSION;

use control::{ControlClient, Running};

/// Exit code of a command line that cannot be run.
pub const EXIT_USAGE: u8 = 2;

/// One subcommand.
struct Subcommand {
    name: &'static str,
    /// What it takes, for the README; empty when only flags.
    usage: &'static str,
    help: &'static str,
    command: fn() -> Command,
    run: fn(&ArgMatches, Env<'_>) -> ExitCode,
}

/// Every subcommand a person uses, in the order of help.
const SUBCOMMANDS: [Subcommand; 11] = [
    Subcommand {
        name: "serve",
        usage: "[FLAGS]",
        help: "run the bridge for a workspace; what footbridge alone does",
        command: serve::command,
        run: serve::run,
    },
    Subcommand {
        name: "mention",
        usage: "FILE[:L1[-L2]]",
        help: "put a file or lines of it into every agent's prompt",
        command: mention::command,
        run: mention::run,
    },
    Subcommand {
        name: "select",
        usage: "FILE:L:C[-L:C]",
        help: "tell every agent what is selected",
        command: select::command,
        run: select::run,
    },
    Subcommand {
        name: "review",
        usage: "",
        help: "look at proposed changes and accept, edit or reject them",
        command: review::command,
        run: review::run,
    },
    Subcommand {
        name: "status",
        usage: "",
        help: "the bridges that run, and who is attached",
        command: status::command,
        run: status::run,
    },
    Subcommand {
        name: "doctor",
        usage: "",
        help: "find what keeps an agent from attaching, and how to mend it",
        command: doctor::command,
        run: doctor::run,
    },
    Subcommand {
        name: "claude",
        usage: "[ARGS]",
        help: "start Claude Code joined to the bridge",
        command: claude::command,
        run: claude::run,
    },
    Subcommand {
        name: "env",
        usage: "",
        help: "print the variables that join a Claude Code, for a shell",
        command: env::command,
        run: env::run,
    },
    Subcommand {
        name: "token",
        usage: "",
        help: "print the token of the bridge",
        command: token::command,
        run: token::run,
    },
    Subcommand {
        name: "tools",
        usage: "",
        help: "list the tools agents can call",
        command: tools::command,
        run: tools::run,
    },
    Subcommand {
        name: "call",
        usage: "TOOL [JSON]",
        help: "call one tool by hand",
        command: call::command,
        run: call::run,
    },
];

/// Subcommands for packagers, which help does not name.
const HIDDEN: [Subcommand; 2] = [
    Subcommand {
        name: "completions",
        usage: "SHELL",
        help: "print the completion script of a shell",
        command: completions::command,
        run: completions::run,
    },
    Subcommand {
        name: "man",
        usage: "[COMMAND]",
        help: "print the manual page",
        command: completions::man_command,
        run: completions::run_man,
    },
];

/// What the program is.
const ABOUT: &str = "joins AI coding agents to any editor, or none, and the machine";

/// How the help of a subcommand is laid out.
const HELP_TEMPLATE: &str = "{usage-heading} {usage}\n\n{about}\n\n{all-args}{after-help}";

/// Runs the program. `args` begin with the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>, env: Env<'_>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let matches = match command().try_get_matches_from(&args) {
        Ok(matches) => matches,
        Err(error) => return complain_of_arguments(&error, &args),
    };
    let Some((name, matches)) = matches.subcommand() else { return serve::run(&matches, env) };
    let row = SUBCOMMANDS.iter().chain(&HIDDEN).find(|row| row.name == name);
    let row = row.expect("clap knows the subcommands from the same tables");
    (row.run)(matches, env)
}

/// What the arguments mean, for clap.
fn command() -> Command {
    let written = |row: &Subcommand| {
        let command = (row.command)();
        assert_eq!(command.get_name(), row.name);
        command.about(row.help).help_template(HELP_TEMPLATE)
    };
    let hidden = HIDDEN.iter().map(|row| written(row).hide(true));
    let subcommands = SUBCOMMANDS.iter().map(written).chain(hidden);
    Command::new("footbridge")
        .version(VERSION)
        .about(ABOUT)
        .args(serve::arguments())
        .subcommands(subcommands)
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .override_help(help())
}

/// The subcommands as a table for the README.
pub fn markdown_table() -> String {
    let mut text = String::from("| command | what it does |\n|---|---|\n");
    for row in &SUBCOMMANDS {
        let usage = format!("footbridge {} {}", row.name, row.usage);
        text += &format!("| `{}` | {} |\n", usage.trim_end().replace('|', "\\|"), row.help);
    }
    text
}

/// `--port`, which chooses another bridge than the one that serves the current folder.
fn port_argument() -> Arg {
    Arg::new("port")
        .long("port")
        .value_name("PORT")
        .value_parser(value_parser!(u16).range(1..))
        .help("the bridge with that port [the one for this folder]")
}

/// The bridge that is meant; `None` when there is none, after a complaint.
fn chosen_bridge(matches: &ArgMatches, env: Env<'_>) -> Option<Running> {
    let here = match std::env::current_dir().and_then(std::fs::canonicalize) {
        Ok(here) => here,
        Err(error) => {
            complain(&format!("the current folder is gone: {error}"));
            return None;
        }
    };
    let here = serve::plain(here);
    let found = control::find(env, &here, matches.get_one("port").copied());
    found.map_err(|error| complain(&error.to_string())).ok()
}

/// The bridge that is meant, and its control door; `None` after a complaint.
fn asked_bridge(matches: &ArgMatches, env: Env<'_>) -> Option<(Running, ControlClient)> {
    let bridge = chosen_bridge(matches, env)?;
    match ControlClient::connect(&bridge) {
        Ok(client) => Some((bridge, client)),
        Err(error) => {
            complain(&error.to_string());
            None
        }
    }
}

/// `1 agent`, `2 agents`.
fn count(number: impl Into<u128>, thing: &str) -> String {
    let number: u128 = number.into();
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The help of the program: a screen at most.
fn help() -> String {
    let mut text = format!(
        "footbridge {VERSION} {ABOUT}\n\n\
         Usage: footbridge [COMMAND] [FLAGS]\n\nCommands:\n"
    );
    for subcommand in &SUBCOMMANDS {
        text += &format!("  {:9}  {}\n", subcommand.name, subcommand.help);
    }
    text += "\nFlags:\n  --help       print help; also after a command, with its flags\n  \
             --version    print the version\n\n\
             In the folder of a project, run footbridge, then claude --ide in another terminal.\n";
    text
}

/// Prints help or version, or says in one line what is wrong with the arguments.
fn complain_of_arguments(error: &clap::Error, args: &[OsString]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            say(&error.render().to_string());
            ExitCode::SUCCESS
        }
        _ => {
            complain(&complaint(error, args));
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// One line for clap's several, and where to read on.
fn complaint(error: &clap::Error, args: &[OsString]) -> String {
    let given = args.get(1).and_then(|arg| arg.to_str());
    let rows = SUBCOMMANDS.iter().chain(&HIDDEN);
    let name = rows.map(|row| row.name).find(|name| Some(*name) == given);
    let page = match (name, error.kind()) {
        (Some(name), _) => format!("{name} "),
        (None, ErrorKind::InvalidSubcommand) => String::new(),
        (None, _) => "serve ".to_owned(),
    };
    format!("{} (see footbridge {page}--help)", what_is_wrong(error))
}

fn what_is_wrong(error: &clap::Error) -> String {
    let is_said = |text: &String| !text.is_empty() && text != "\"\"";
    let context = |kind| error.get(kind).map(context_text).filter(is_said);
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let meant = context(ContextKind::SuggestedArg);
            let meant = meant.map_or(String::new(), |text| format!(", did you mean {text}?"));
            format!("unknown argument {argument}{meant}")
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            let known = SUBCOMMANDS.iter().map(|row| row.name);
            format!("unknown command {name}{}", nearest::hint(&name, known))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            match (context(ContextKind::InvalidValue), context(ContextKind::ValidValue)) {
                (None, _) => format!("{argument} needs a value"),
                (Some(value), None) => {
                    let why = std::error::Error::source(error).map(|why| format!(": {why}"));
                    format!("{argument} cannot be {value}{}", why.unwrap_or_default())
                }
                (Some(value), Some(valid)) => format!("{argument} is {valid}, not {value}"),
            }
        }
        ErrorKind::MissingRequiredArgument => format!("{argument} is missing"),
        ErrorKind::TooManyValues => {
            let value = context(ContextKind::InvalidValue).unwrap_or_default();
            format!("{argument} takes no value, but got {value}")
        }
        ErrorKind::ArgumentConflict if argument.is_empty() => {
            "flags stand after the command".to_owned()
        }
        ErrorKind::ArgumentConflict => match context(ContextKind::PriorArg) {
            Some(prior) if prior != argument => {
                format!("{argument} and {prior} exclude each other")
            }
            Some(_) | None => format!("{argument} can be given only once"),
        },
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            line.strip_prefix("error: ").unwrap_or(line).to_owned()
        }
    }
}

fn context_text(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => {
            // A known flag comes with the name of its value: `--port <port>`.
            let name = text.split(" <").next().unwrap_or_default();
            quote(name)
        }
        ContextValue::Strings(texts) => {
            let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
            quoted.join(" or ")
        }
        _ => String::new(),
    }
}

/// Prints to stdout; nobody has to read it.
fn say(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Prints to stderr; nobody has to read it.
fn tell(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// One line to stderr.
fn complain(text: &str) {
    tell(&format!("footbridge: {}\n", OneLine(text)));
}

#[cfg(test)]
mod tests;

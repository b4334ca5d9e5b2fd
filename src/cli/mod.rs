//! The command line: which subcommand, with which flags; help, version and complaints.
//!
//! Help and flags come from `config::flag`; clap reads the arguments and finds what a misspelled
//! one may have meant. A complaint is one line and exit code 2. This is the only place that writes
//! to stdout and stderr by itself, and it survives when nobody reads them.

pub mod logger;
pub mod serve;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::config::flag::{self, FLAGS, Flag, Kind};
use crate::config::source::{Env, Setting, quote};
use crate::stdx::one_line::OneLine;
use crate::transport::door::VERSION;

/// Exit code of a command line that cannot be run.
pub const EXIT_USAGE: u8 = 2;

/// One subcommand.
struct Subcommand {
    name: &'static str,
    help: &'static str,
}

const SUBCOMMANDS: [Subcommand; 1] = [Subcommand {
    name: "serve",
    help: "run the bridge for a workspace; what footbridge alone does",
}];

/// Runs the program. `args` begin with the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>, env: Env<'_>) -> ExitCode {
    let matches = match command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => return complain_of_arguments(&error),
    };
    match matches.subcommand() {
        Some((_serve, matches)) => serve::run(settings(matches), env),
        None => serve::run(settings(&matches), env),
    }
}

/// What the arguments mean, for clap.
fn command() -> Command {
    let serve = Command::new("serve").args(arguments()).override_help(serve_help());
    Command::new("footbridge")
        .version(VERSION)
        .args(arguments())
        .subcommand(serve)
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .override_help(help())
}

fn arguments() -> impl Iterator<Item = Arg> {
    FLAGS.iter().map(|flag| {
        let arg = Arg::new(flag.name).long(flag.name);
        match flag.kind {
            Kind::Switch => arg.action(ArgAction::SetTrue),
            Kind::One(_) => arg
                .action(ArgAction::Set)
                .allow_negative_numbers(true)
                .value_parser(value_parser!(OsString)),
            Kind::Many(..) => arg.action(ArgAction::Append).value_parser(value_parser!(OsString)),
        }
    })
}

/// The flags that were given.
fn settings(matches: &ArgMatches) -> BTreeMap<&'static str, Setting> {
    let setting = |flag: &Flag| match flag.kind {
        Kind::Switch => matches.get_flag(flag.name).then_some(Setting::Switch(true)),
        Kind::One(_) | Kind::Many(..) => {
            let values = matches.get_many::<OsString>(flag.name)?;
            Some(Setting::Values(values.cloned().collect()))
        }
    };
    FLAGS.iter().filter_map(|flag| Some((flag.name, setting(flag)?))).collect()
}

/// The help of the program: a screen at most.
fn help() -> String {
    let mut text = format!(
        "footbridge {VERSION} joins AI coding agents to any editor, or none, and the machine\n\n\
         Usage: footbridge [COMMAND] [FLAGS]\n\nCommands:\n"
    );
    for subcommand in &SUBCOMMANDS {
        text += &format!("  {:11}  {}\n", subcommand.name, subcommand.help);
    }
    text += "\nFlags:\n  --help       print help; also after a command, with its flags\n  \
             --version    print the version\n\n\
             In the folder of a project, run footbridge, then claude --ide in another terminal.\n";
    text
}

/// The help of `serve`: a screen at most.
fn serve_help() -> String {
    let lines = flag::help_lines();
    format!(
        "Usage: footbridge [serve] [FLAGS]      runs the bridge until Ctrl-C\n\n{lines}\n\
         Each flag is also FOOTBRIDGE_<FLAG> in the environment, and a key of the file.\n"
    )
}

/// Prints help or version, or says in one line what is wrong with the arguments.
fn complain_of_arguments(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            say(&error.render().to_string());
            ExitCode::SUCCESS
        }
        _ => {
            complain(&complaint(error));
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// One line for clap's several.
fn complaint(error: &clap::Error) -> String {
    let context = |kind| error.get(kind).map(context_text).filter(|text| !text.is_empty());
    let meant =
        |kind| context(kind).map_or(String::new(), |text| format!(", did you mean {text}?"));
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let complaint = match error.kind() {
        ErrorKind::UnknownArgument => {
            format!("unknown argument {argument}{}", meant(ContextKind::SuggestedArg))
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("unknown command {name}{}", meant(ContextKind::SuggestedSubcommand))
        }
        ErrorKind::InvalidValue => format!("{argument} needs a value"),
        ErrorKind::TooManyValues => {
            let value = context(ContextKind::InvalidValue).unwrap_or_default();
            format!("{argument} takes no value, but got {value}")
        }
        ErrorKind::ArgumentConflict if argument.is_empty() => {
            "flags stand after the command".to_owned()
        }
        ErrorKind::ArgumentConflict => format!("{argument} can be given only once"),
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            line.strip_prefix("error: ").unwrap_or(line).to_owned()
        }
    };
    format!("{complaint} (see footbridge serve --help)")
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

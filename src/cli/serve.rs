//! `footbridge serve`: gathers the settings and hands them to the bridge.
//!
//! The disk is touched here only to find out what the settings mean: the settings file, a token
//! file, which folder a path leads to. Listening, lock file and all the rest are the bridge's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::bridge::{Bridge, StartError, Status};
use crate::config::flag::{self, FLAGS, Flag, Kind};
use crate::config::options::{Credential, ServeOptions, Surroundings, Workspace};
use crate::config::source::{Env, Setting};
use crate::config::state::BridgeRecord;
use crate::reactor::sys::real::RealKernel;
use crate::stdx::one_line::OneLine;

use super::{EXIT_USAGE, complain, logger};

/// Exit code when another bridge serves the workspace.
const EXIT_SERVED: u8 = 3;

/// What it takes, for clap.
pub fn command() -> Command {
    Command::new("serve").args(arguments()).override_help(help())
}

/// Its flags; `footbridge` without a subcommand takes them too.
pub(super) fn arguments() -> impl Iterator<Item = Arg> {
    FLAGS.iter().map(|flag| {
        let arg = Arg::new(flag.name).long(flag.name).help(flag.help);
        match flag.kind {
            Kind::Switch => arg.action(ArgAction::SetTrue),
            Kind::One(value) => arg
                .value_name(value)
                .action(ArgAction::Set)
                .allow_negative_numbers(true)
                .value_parser(value_parser!(OsString)),
            Kind::Many(value, _) => arg
                .value_name(value)
                .action(ArgAction::Append)
                .value_parser(value_parser!(OsString)),
        }
    })
}

/// The flags that were given.
pub(super) fn settings(matches: &ArgMatches) -> BTreeMap<&'static str, Setting> {
    let setting = |flag: &Flag| match flag.kind {
        Kind::Switch => matches.get_flag(flag.name).then_some(Setting::Switch(true)),
        Kind::One(_) | Kind::Many(..) => {
            let values = matches.get_many::<OsString>(flag.name)?;
            Some(Setting::Values(values.cloned().collect()))
        }
    };
    FLAGS.iter().filter_map(|flag| Some((flag.name, setting(flag)?))).collect()
}

/// Its help: a screen at most.
fn help() -> String {
    let lines = flag::help_lines();
    format!(
        "Usage: footbridge [serve] [FLAGS]      runs the bridge until Ctrl-C\n\n{lines}\n\
         Each flag is also FOOTBRIDGE_<FLAG> in the environment, and a key of the file.\n\
         Exit codes: 0 ended in order, 1 failed, 2 usage, 3 served already (0 with --join)\n"
    )
}

/// Runs the bridge until it ends.
pub fn run(matches: &ArgMatches, env: Env<'_>) -> ExitCode {
    let current_folder = match current_folder(env) {
        Ok(folder) => folder,
        Err(error) => {
            complain(&format!("the current folder is gone: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let around = Surroundings {
        env,
        current_folder: &current_folder,
        read_file: &|path| std::fs::read(path),
        physical_folder: &physical_folder,
    };
    let options = match ServeOptions::resolve(settings(matches), &around) {
        Ok(options) => options,
        Err(error) => {
            complain(&error.to_string());
            return match error.is_usage() {
                true => ExitCode::from(EXIT_USAGE),
                false => ExitCode::FAILURE,
            };
        }
    };
    logger::start(options.log_level);
    for warning in &options.warnings {
        log::warn!("{warning}");
    }
    // A panic's words may quote what a peer sent; where it happened is enough to mend it.
    std::panic::set_hook(Box::new(|panic| match panic.location() {
        Some(place) => log::error!("panic at {place}: please report it"),
        None => log::error!("panic: please report it"),
    }));
    match RealKernel::new() {
        Ok(kernel) => serve(kernel, &options),
        Err(error) => fail(&StartError::Loop(error)),
    }
}

fn serve(kernel: RealKernel, options: &ServeOptions) -> ExitCode {
    let mut bridge = Bridge::default();
    let status = match bridge.start(kernel, options) {
        Ok(status) => status,
        Err(StartError::Served(record)) => return is_served(record, options.is_joining),
        Err(error) => return fail(&error),
    };
    let address = SocketAddr::new(options.bind, status.port);
    super::say(&format!("footbridge listening on {address}\n"));
    logger::tell_at_once(&how_to_connect(&status, options));
    // Whatever breaks inside, the lock file must not outlive us.
    let ended = catch_unwind(AssertUnwindSafe(|| bridge.run()));
    let stopped = bridge.stop();
    assert!(stopped.is_ok());
    match ended {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => fail(&StartError::Loop(error)),
        Err(panic) => resume_unwind(panic),
    }
}

/// What a person reads once the bridge runs.
fn how_to_connect(status: &Status, options: &ServeOptions) -> String {
    let serving =
        |workspace: &Workspace| format!("serving {}\n", OneLine(workspace.given.display()));
    let mut text: String = options.workspaces.iter().map(serving).collect();
    if let Some(path) = &options.settings_file {
        text += &format!("settings {}\n", OneLine(path.display()));
    }
    let is_open = options.credential == Credential::Open;
    match &status.lock_path {
        Some(path) => {
            text += &format!("lock file {}\n", OneLine(path.display()));
            text += "connect: run claude --ide in that folder, or /ide in a running Claude Code\n";
        }
        None if is_open => text += "no lock file: a client needs the port\n",
        None => text += "no lock file: a client needs the port and the token\n",
    }
    if let Some(lost) = status.lost_port {
        text += &format!(
            "port {lost}, used last time, is taken: clients that still know it find this bridge \
             with /ide only\n"
        );
    }
    if !is_open {
        text += "whoever has the token may use the bridge: footbridge token prints it\n";
    }
    text + "Ctrl-C stops it\n"
}

/// Another bridge runs here: no second one, since Claude Code connects to neither of two.
fn is_served(record: Option<Box<BridgeRecord>>, is_joining: bool) -> ExitCode {
    complain(&StartError::Served(record).to_string());
    match is_joining {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(EXIT_SERVED),
    }
}

fn fail(error: &StartError) -> ExitCode {
    complain(&error.to_string());
    ExitCode::FAILURE
}

/// The current folder as the shell spells it (`PWD`) if that is true, else as the system does.
fn current_folder(env: Env<'_>) -> io::Result<PathBuf> {
    let current = std::env::current_dir()?;
    let spelled = env("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
    let is_true =
        |path: &PathBuf| std::fs::canonicalize(path).ok() == std::fs::canonicalize(&current).ok();
    Ok(spelled.filter(is_true).unwrap_or(current))
}

fn physical_folder(path: &Path) -> io::Result<PathBuf> {
    let physical = std::fs::canonicalize(path)?;
    if !physical.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    Ok(plain(physical))
}

/// Windows canonicalises to `\\?\C:\…`, which no client compares equal to `C:\…`.
pub(super) fn plain(path: PathBuf) -> PathBuf {
    let is_drive = |rest: &str| rest.as_bytes().get(1) == Some(&b':');
    let rest = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    match rest.filter(|rest| cfg!(windows) && is_drive(rest)) {
        Some(rest) => PathBuf::from(OsString::from(rest)),
        None => path,
    }
}

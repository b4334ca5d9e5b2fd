//! `footbridge review`: looks at proposed changes and answers them.
//!
//! On a terminal the diffs come up one after the other and a key answers each. For scripts there
//! are flags: list, show, accept, reject. Neither ever writes the file that a diff is about; the
//! agent does, with the contents of the answer.

// Without a screen some of it has no use.
#![cfg_attr(not(unix), allow(dead_code))]

mod compare;
#[cfg(unix)]
mod drive;
mod edit;
mod frame;
mod hunks;
mod keys;
mod layout;
mod page;
mod pending;
mod state;
#[cfg(unix)]
mod terminal;

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};

use crate::config::source::{Env, quote};

use super::control::{ControlClient, Running};
use super::status::json_argument;
use super::{EXIT_USAGE, asked_bridge, complain, port_argument, say, tell};

use frame::{Palette, colour};
use pending::{Pending, Picked, Unsettled, Verdict};

/// Exit code when someone else was first.
const EXIT_ANSWERED: u8 = 4;

/// What to do without a terminal.
const SCRIPTS: &str = "scripts use --list, --show, --accept and --reject";

/// What it takes, for clap.
pub fn command() -> Command {
    let named = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("TAB").help(help)
    };
    let list = Arg::new("list")
        .long("list")
        .action(ArgAction::SetTrue)
        .help("print the diffs that wait, a line each");
    let contents = Arg::new("contents")
        .long("contents")
        .value_name("FILE")
        .requires("accept")
        .help("accept with these contents instead; - reads them from stdin");
    Command::new("review")
        .arg(list)
        .arg(json_argument().requires("list"))
        .arg(named("show", "print one as a unified diff"))
        .arg(named("accept", "accept one as proposed"))
        .arg(contents)
        .arg(named("reject", "reject one"))
        .arg(port_argument())
        .group(ArgGroup::new("what").args(["list", "show", "accept", "reject"]))
        .after_help(
            "TAB is a diff's tab name, a part of it that no other has, or its #n of --list.\n\
             Without flags diffs are shown as they come; the key ? tells the keys.\n\
             Exit codes: 0 done, 1 no such diff or no bridge, 2 usage, 4 answered already",
        )
}

/// Reviews, or does the one thing that was asked for.
pub fn run(matches: &ArgMatches, env: Env<'_>) -> ExitCode {
    let given = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let verdict = match (given("accept"), given("contents"), given("reject")) {
        (Some(tab), None, _) => Some((tab, Verdict::Accept)),
        (Some(tab), Some(file), _) => match contents(file) {
            Ok(contents) => Some((tab, Verdict::AcceptAs(contents))),
            Err(message) => return fail(&message),
        },
        (None, _, Some(tab)) => Some((tab, Verdict::Reject)),
        (None, _, None) => None,
    };
    let is_script = matches.get_flag("list") || verdict.is_some() || given("show").is_some();
    if !is_script && let Some(why) = no_screen(env) {
        complain(&format!("{why}; {SCRIPTS}"));
        return ExitCode::from(EXIT_USAGE);
    }
    let Some((bridge, mut client)) = asked_bridge(matches, env) else { return ExitCode::FAILURE };
    let here = here();
    match (verdict, given("show")) {
        (Some((tab, verdict)), _) => answer(&mut client, tab, verdict),
        (None, Some(tab)) => show(&mut client, tab, palette(env)),
        (None, None) if is_script => list(&mut client, &here, matches.get_flag("json")),
        (None, None) => review((bridge, client), here, env),
    }
}

fn list(client: &mut ControlClient, here: &str, is_json: bool) -> ExitCode {
    match pending::fetch(client) {
        Ok((_, diffs)) if is_json => say(&format!("{diffs:#}\n")),
        Ok((pending, _)) if pending.is_empty() => tell("no diff waits\n"),
        Ok((pending, _)) => say(&pending::list(&pending, here)),
        Err(error) => return fail(&error.to_string()),
    }
    ExitCode::SUCCESS
}

fn show(client: &mut ControlClient, tab: &str, palette: Palette) -> ExitCode {
    let pending = match pending::fetch(client) {
        Ok((pending, _)) => pending,
        Err(error) => return fail(&error.to_string()),
    };
    let diff = match the_one(&pending, tab) {
        Ok(Ok(diff)) => diff,
        Ok(Err(id)) => return fail(&format!("no diff #{id} waits")),
        Err(code) => return code,
    };
    let page = page::page(diff, "");
    say(&page::plain(diff, &page, |kind, line| {
        let (on, off) = colour(kind, palette);
        format!("{on}{line}{off}")
    }));
    ExitCode::SUCCESS
}

fn answer(client: &mut ControlClient, tab: &str, verdict: Verdict) -> ExitCode {
    let pending = match pending::fetch(client) {
        Ok((pending, _)) => pending,
        Err(error) => return fail(&error.to_string()),
    };
    // Of a number that does not wait the bridge knows what became of it.
    let id = match the_one(&pending, tab) {
        Ok(Ok(diff)) => diff.id,
        Ok(Err(id)) => id,
        Err(code) => return code,
    };
    match pending::settle(client, id, verdict) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Unsettled::NoSuch) => fail(&format!("there is no diff #{id}")),
        Err(Unsettled::Answered(by)) => {
            complain(&format!("#{id} is already answered by {by}"));
            ExitCode::from(EXIT_ANSWERED)
        }
        Err(Unsettled::Failed(error)) => fail(&error.to_string()),
    }
}

/// The diff that is meant, or the number of one that does not wait; else complains.
fn the_one<'a>(pending: &'a [Pending], tab: &str) -> Result<Result<&'a Pending, u64>, ExitCode> {
    match pending::pick(pending, tab) {
        Picked::One(diff) => Ok(Ok(diff)),
        Picked::Gone(id) => Ok(Err(id)),
        Picked::Nothing => Err(fail(&format!("no diff waits that is named {}", quote(tab)))),
        Picked::Several(several) => {
            complain(&format!("{} fits several: {}", quote(tab), pending::names(&several)));
            Err(ExitCode::from(EXIT_USAGE))
        }
    }
}

fn fail(message: &str) -> ExitCode {
    complain(message);
    ExitCode::FAILURE
}

/// The contents of a file or of stdin, byte for byte.
fn contents(file: &str) -> Result<String, String> {
    let limit = page::BYTES_MAX as u64 + 1;
    let mut bytes = Vec::new();
    let read = match file {
        "-" => std::io::stdin().lock().take(limit).read_to_end(&mut bytes),
        file => std::fs::File::open(file).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    let len = read.map_err(|error| format!("cannot read {}: {error}", quote(file)))?;
    if len > page::BYTES_MAX {
        return Err(format!("{} is larger than {} MiB", quote(file), page::BYTES_MAX >> 20));
    }
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", quote(file)))
}

/// The current folder as people see it in paths.
fn here() -> String {
    let here = std::env::current_dir().and_then(std::fs::canonicalize).unwrap_or_default();
    super::serve::plain(here).to_string_lossy().into_owned()
}

/// Colours, unless nobody sees them or they are not wanted.
fn palette(env: Env<'_>) -> Palette {
    let is_unwanted = env("NO_COLOR").is_some_and(|value| !value.is_empty());
    match std::io::stdout().is_terminal() && !is_unwanted {
        true => Palette::Colours,
        false => Palette::Plain,
    }
}

/// Why there is nothing to draw on.
fn no_screen(env: Env<'_>) -> Option<&'static str> {
    if cfg!(not(unix)) {
        return Some("there is no review on a screen on this system yet");
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Some("stdin and stdout are no terminal");
    }
    let is_dumb = env("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    is_dumb.then_some("the terminal cannot move its cursor (TERM)")
}

#[cfg(unix)]
fn review(bridge: (Running, ControlClient), here: String, env: Env<'_>) -> ExitCode {
    use drive::{Driver, End};
    use terminal::Terminal;

    let terminal = match Terminal::open() {
        Ok(terminal) => terminal,
        Err(error) => return fail(&format!("the terminal cannot be used: {error}; {SCRIPTS}")),
    };
    let (end, kept) = Driver::new(terminal, palette(env), bridge, here, env).run();
    for path in kept {
        tell(&format!("an edit that was not handed in is kept in {}\n", path.display()));
    }
    match end {
        End::Left(0) => ExitCode::SUCCESS,
        End::Left(waiting) => {
            let diffs = super::count(waiting as u64, "diff");
            tell(&format!("{diffs} still to answer: footbridge review\n"));
            ExitCode::SUCCESS
        }
        End::Lost => fail("the bridge went away"),
        // What a shell says of a program that a signal ended.
        End::Signal(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        End::Terminal(error) => fail(&format!("the terminal failed: {error}")),
    }
}

#[cfg(not(unix))]
fn review(_bridge: (Running, ControlClient), _here: String, _env: Env<'_>) -> ExitCode {
    fail(SCRIPTS)
}

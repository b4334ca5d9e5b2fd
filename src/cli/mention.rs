//! `footbridge mention`: puts a file, or lines of it, into the prompt of every attached agent.
//!
//! The bridge says how many agents got it, once the bytes are out. While none is attached it waits;
//! when this program goes away first, the mention goes with it.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command};
use serde_json::{Value, json};

use crate::config::source::{Env, quote};

use super::control::{ControlClient, ControlError};
use super::place::{self, Lines, PlaceError};
use super::{EXIT_USAGE, asked_bridge, complain, count, port_argument, say, tell};

/// The bridge gives a mention up after 30 s by itself; its answer is worth a little patience.
const BRIDGE_PATIENCE: Duration = Duration::from_secs(35);

/// The bridge's code for "no agent was attached".
const NO_AGENT: i64 = -32010;

/// Longest wait that can be asked for, in seconds: a day.
const WAIT_SECONDS_MAX: f64 = 86_400.0;

/// What it takes, for clap.
pub fn command() -> Command {
    let wait = Arg::new("wait")
        .long("wait")
        .value_name("SECONDS")
        .default_value("30")
        .hide_default_value(true)
        .value_parser(parse_wait)
        .help("how long to wait for an agent if none is attached [30]");
    let place = Arg::new("place")
        .value_name("FILE[:L1[-L2]]")
        .required(true)
        .help("file or folder; lines count from 1, and L2 is the last");
    Command::new("mention").arg(place).arg(wait).arg(port_argument()).after_help(
        "Exit codes: 0 sent, 1 no bridge, agent or file, 2 usage\n\
         Example:    footbridge mention src/main.rs:10-20",
    )
}

/// Sends the mention and says who got it.
pub fn run(matches: &ArgMatches, env: Env<'_>) -> ExitCode {
    let text = matches.get_one::<String>("place").expect("clap requires it");
    let exists = |name: &str| std::fs::symlink_metadata(name).is_ok();
    let params = match params(text, &exists) {
        Ok(params) => params,
        Err((code, message)) => {
            complain(&message);
            return ExitCode::from(code);
        }
    };
    let wait = *matches.get_one::<Duration>("wait").expect("it has a default");
    let Some((_, mut client)) = asked_bridge(matches, env) else { return ExitCode::FAILURE };
    match mention(&mut client, &params, wait) {
        Ok(agents) => {
            say(&format!("sent to {}\n", count(agents, "agent")));
            ExitCode::SUCCESS
        }
        Err(ControlError::Refused { code: NO_AGENT, .. }) => {
            let wait = wait.as_secs_f64();
            let within = if wait > 0.0 { format!(" within {wait} s") } else { String::new() };
            complain(&format!(
                "no agent was attached{within}: start one with footbridge claude, or /ide in it"
            ));
            ExitCode::FAILURE
        }
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// What the bridge is asked, or an exit code and why nothing can be.
fn params(text: &str, exists: &dyn Fn(&str) -> bool) -> Result<Value, (u8, String)> {
    let failed = |message: String| (1, message);
    let usage = |error: PlaceError| (EXIT_USAGE, error.to_string());
    let Lines { file, lines } = Lines::parse(text, exists).map_err(usage)?;
    if !exists(&file) {
        return Err(failed(format!("there is no file {}", quote(&file))));
    }
    let path = place::absolute(&file).map_err(failed)?;
    match lines {
        None => Ok(json!({"filePath": path})),
        Some(_) if path.is_dir() => Err(failed(format!("{} is a folder", quote(&file)))),
        Some((first, last)) => Ok(json!({"filePath": path, "lineStart": first, "lineEnd": last})),
    }
}

/// Asks until an agent got it or `wait` is over; says that it waits.
fn mention(
    client: &mut ControlClient,
    params: &Value,
    wait: Duration,
) -> Result<u64, ControlError> {
    let status = client.request("bridge/status", &json!({}))?;
    let is_alone = status["agents"].as_array().is_none_or(Vec::is_empty);
    let no_agent =
        || ControlError::Refused { code: NO_AGENT, message: String::new(), data: Value::Null };
    let due = now() + if is_alone { wait } else { BRIDGE_PATIENCE };
    if is_alone && !wait.is_zero() {
        tell(&format!("no agent is attached: waiting up to {} s for one\n", wait.as_secs_f64()));
    }
    loop {
        let rest = due.saturating_duration_since(now());
        if rest.is_zero() {
            return Err(no_agent());
        }
        match client.request_within("mention", params, rest) {
            Ok(result) => return Ok(result["agents"].as_u64().unwrap_or_default()),
            Err(ControlError::TimedOut(_)) if is_alone => return Err(no_agent()),
            // The bridge's patience is over, ours is not.
            Err(ControlError::Refused { code: NO_AGENT, .. }) if is_alone => {}
            Err(error) => return Err(error),
        }
    }
}

fn parse_wait(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=WAIT_SECONDS_MAX).contains(seconds));
    let seconds = seconds.ok_or_else(|| format!("a number from 0 to {WAIT_SECONDS_MAX}"))?;
    Ok(Duration::from_secs_f64(seconds))
}

#[allow(clippy::disallowed_methods)] // A program that waits has no loop to take the time from.
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_number_of_seconds() {
        for (text, expected) in [("0", 0), ("30", 30_000), ("0.25", 250), ("86400", 86_400_000)] {
            assert_eq!(parse_wait(text), Ok(Duration::from_millis(expected)), "{text}");
        }
        for text in ["", "-1", "x", "NaN", "inf", "86401", "1e300"] {
            assert!(parse_wait(text).is_err(), "{text}");
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Result<Value, (u8, &str)>) {
        let manifest = env!("CARGO_MANIFEST_DIR");
        let exists = |name: &str| std::fs::symlink_metadata(name).is_ok();
        let params = params(text, &exists);
        let params = params.as_ref().map_err(|(code, message)| (*code, message.as_str()));
        let expected = expected.map(|mut value| {
            let file = value["filePath"].as_str().map(|file| format!("{manifest}/{file}"));
            value["filePath"] = json!(file);
            value
        });
        assert_eq!(params.cloned(), expected, "{text}");
    }

    #[test]
    fn lines_leave_counted_from_0_and_the_file_absolute() {
        check("Cargo.toml", Ok(json!({"filePath": "Cargo.toml"})));
        check("src/../src/main.rs", Ok(json!({"filePath": "src/main.rs"})));
        let expected = json!({"filePath": "Cargo.toml", "lineStart": 1, "lineEnd": 3});
        check("./Cargo.toml:4-2", Ok(expected));
        check("src", Ok(json!({"filePath": "src"})));
        check("src:3", Err((1, "\"src\" is a folder")));
        check("nothing.rs:3", Err((1, "there is no file \"nothing.rs\"")));
        check("nothing.rs", Err((1, "there is no file \"nothing.rs\"")));
        check("a:0", Err((2, "lines and columns count from 1, not 0 as in \"a:0\"")));
    }
}

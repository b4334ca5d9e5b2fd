//! `footbridge status`: the bridges of this user and who is attached, in figures of this moment.
//!
//! Every running bridge is asked through its control door. What it answers is printed as it is for
//! programs, and for people as a paragraph a bridge and a line an agent. Nothing is guessed from
//! files: a bridge that does not answer is told of as such.

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};

use crate::config::source::Env;

use super::control::{self, ControlClient, ControlError, NoBridge, Running};
use super::{complain, count, port_argument, say};

/// What it takes, for clap.
pub fn command() -> Command {
    let json = json_argument();
    let port = port_argument().help("only the bridge with that port");
    Command::new("status")
        .arg(json)
        .arg(port)
        .after_help("Exit codes: 0 every bridge answered, 1 one did not, or none runs, 2 usage")
}

/// `--json`, for programs.
pub(super) fn json_argument() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("print JSON, for programs")
}

/// Prints what every bridge says of itself.
pub fn run(matches: &ArgMatches, env: Env<'_>) -> ExitCode {
    let mut bridges = control::running(env);
    if let Some(&port) = matches.get_one::<u16>("port") {
        bridges.retain(|bridge| bridge.record.port == port);
        if bridges.is_empty() {
            complain(&NoBridge::OnPort(port).to_string());
            return ExitCode::FAILURE;
        }
    }
    let answers: Vec<(&Running, Result<Value, ControlError>)> =
        bridges.iter().map(|bridge| (bridge, ask(bridge))).collect();
    let is_well = !answers.is_empty() && answers.iter().all(|(_, answer)| answer.is_ok());
    if matches.get_flag("json") {
        let all: Vec<Value> =
            answers.into_iter().map(|(bridge, answer)| in_json(bridge, answer)).collect();
        say(&format!("{:#}\n", Value::Array(all)));
    } else if answers.is_empty() {
        complain("no bridge runs: start one with footbridge in a project's folder");
    } else {
        let texts: Vec<String> =
            answers.iter().map(|(bridge, answer)| in_words(bridge, answer)).collect();
        say(&texts.join("\n"));
    }
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ask(bridge: &Running) -> Result<Value, ControlError> {
    ControlClient::connect(bridge)?.request("bridge/status", &json!({}))
}

fn in_json(bridge: &Running, answer: Result<Value, ControlError>) -> Value {
    let record = &bridge.record;
    answer.unwrap_or_else(|error| {
        json!({
            "port": record.port, "pid": record.pid, "version": record.version,
            "workspaces": [record.workspace], "error": error.to_string(),
        })
    })
}

/// A paragraph a bridge, a line an agent.
fn in_words(bridge: &Running, answer: &Result<Value, ControlError>) -> String {
    let record = &bridge.record;
    let status = match answer {
        Ok(status) => status,
        Err(error) => {
            let (port, workspace, pid) = (record.port, record.workspace.display(), record.pid);
            return format!("port {port}  {workspace}\n  process {pid} does not answer: {error}\n");
        }
    };
    let folders: Vec<&str> =
        array(&status["workspaces"]).iter().filter_map(Value::as_str).collect();
    let mut text = format!("port {}  {}\n", record.port, folders.join(", "));
    text += &format!(
        "  {} {}, process {}, up {}\n",
        word(&status["ideName"]),
        word(&status["version"]),
        figure(&status["pid"]),
        age(figure(&status["uptimeMs"])),
    );
    text += &match status["lockFile"].as_str() {
        Some(path) => format!("  lock file {path}\n"),
        None => "  no lock file: Claude Code does not find it\n".to_owned(),
    };
    if status["tokenRequired"] == false {
        text += "  asks for no token\n";
    }
    for agent in array(&status["agents"]) {
        text += &agent_line(agent);
    }
    if array(&status["agents"]).is_empty() {
        text += "  no agent attached: run footbridge claude, or /ide in a running Claude Code\n";
    }
    let diffs = figure(&status["diffs"]);
    if diffs > 0 {
        text += &format!("  {} to answer: footbridge review\n", count(diffs, "diff"));
    }
    let mentions = figure(&status["waitingMentions"]);
    if mentions > 0 {
        text += &format!("  {} waiting for an agent\n", count(mentions, "mention"));
    }
    text
}

fn agent_line(agent: &Value) -> String {
    let name = match agent["name"].as_str() {
        Some(name) => format!("{} {}", plain(name), word(&agent["version"])),
        None => "not introduced yet".to_owned(),
    };
    let mut line = format!(
        "  {}  {}  attached {}, {} in flight, {} KiB queued",
        word(&agent["id"]),
        name.trim_end(),
        age(figure(&agent["connectedMs"])),
        count(figure(&agent["calls"]), "call"),
        figure(&agent["queuedBytes"]).div_ceil(1024),
    );
    if agent["isPaused"] == true {
        line += ", not reading";
    }
    line + "\n"
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn figure(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn word(value: &Value) -> String {
    plain(value.as_str().unwrap_or_default())
}

/// A peer's own words, unable to move the cursor.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// The two largest units.
pub(super) fn age(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        (..) => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::state::BridgeRecord;

    #[test]
    fn an_age_has_its_two_largest_units() {
        for (milliseconds, expected) in [
            (0, "0 s"),
            (999, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min 0 s"),
            (3_599_000, "59 min 59 s"),
            (3_600_000, "1 h 0 min"),
            (86_399_000, "23 h 59 min"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(age(milliseconds), expected);
        }
    }

    fn bridge() -> Running {
        let record = BridgeRecord::parse(
            br#"{"pid":7,"port":40000,"workspace":"/w","version":"0.1.0","startedAt":1}"#,
        );
        Running { record: record.expect("a record"), folder: "/state".into() }
    }

    #[track_caller]
    fn check(answer: Result<Value, ControlError>, expected: &str) {
        assert_eq!(in_words(&bridge(), &answer), expected);
    }

    #[test]
    fn a_bridge_is_a_paragraph_and_an_agent_a_line() {
        let agent = json!({"id": "client_1", "name": "claude\u{1b}-code", "version": "2.1",
            "connectedMs": 61_000, "queuedBytes": 1025, "isPaused": true, "calls": 1});
        let other = json!({"id": "client_2", "name": null, "version": null, "connectedMs": 5,
            "queuedBytes": 0, "isPaused": false, "calls": 0});
        let mut status = json!({"version": "0.1.0", "pid": 7, "port": 40000,
            "workspaces": ["/w", "/v"], "ideName": "footbridge", "uptimeMs": 3_600_000,
            "lockFile": "/l/40000.lock", "tokenRequired": true, "agents": [agent, other],
            "diffs": 1, "waitingMentions": 2, "connections": 3});
        check(
            Ok(status.clone()),
            "port 40000  /w, /v\n  footbridge 0.1.0, process 7, up 1 h 0 min\n  \
             lock file /l/40000.lock\n  \
             client_1  claude?-code 2.1  attached 1 min 1 s, 1 call in flight, 2 KiB queued, \
             not reading\n  \
             client_2  not introduced yet  attached 0 s, 0 calls in flight, 0 KiB queued\n  \
             1 diff to answer: footbridge review\n  2 mentions waiting for an agent\n",
        );
        for (key, value) in [
            ("agents", json!([])),
            ("diffs", json!(0)),
            ("waitingMentions", json!(0)),
            ("lockFile", Value::Null),
            ("tokenRequired", json!(false)),
        ] {
            status[key] = value;
        }
        check(
            Ok(status),
            "port 40000  /w, /v\n  footbridge 0.1.0, process 7, up 1 h 0 min\n  \
             no lock file: Claude Code does not find it\n  asks for no token\n  \
             no agent attached: run footbridge claude, or /ide in a running Claude Code\n",
        );
    }

    #[test]
    fn a_bridge_that_does_not_answer_is_told_of_all_the_same() {
        check(
            Err(ControlError::Lost),
            "port 40000  /w\n  process 7 does not answer: the bridge went away\n",
        );
        let told = in_json(&bridge(), Err(ControlError::Lost));
        let expected = json!({"port": 40000, "pid": 7, "version": "0.1.0", "workspaces": ["/w"],
            "error": "the bridge went away"});
        assert_eq!(told, expected);
    }
}

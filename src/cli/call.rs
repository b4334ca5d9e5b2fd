//! `footbridge call`: one tool of the IDE door by hand, as an agent would call it.
//!
//! It attaches as a client of its own and never says that it is ready, so that no mention or
//! selection is sent its way.

use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use serde_json::{Map, Value, json};

use crate::config::nearest;
use crate::config::source::{Env, quote};
use crate::mcp::revision::negotiate;
use crate::tools::TOOLS;
use crate::transport::door::VERSION;

use super::rpc::{RpcClient, RpcError};
use super::token::{ide_door, token_of};
use super::{EXIT_USAGE, chosen_bridge, complain, port_argument, say, tell};

/// Longest wait for the greeting.
const GREETING: Duration = Duration::from_secs(10);

/// A proposed diff waits for a person: a week, after which nobody comes any more.
const CALL: Duration = Duration::from_secs(7 * 24 * 3600);

/// Longest arguments from stdin, in bytes: what the IDE door takes in one message, and no more.
const ARGUMENTS_BYTES_MAX: u64 = 16 << 20;

/// What it takes, for clap.
pub fn command() -> Command {
    let tool = Arg::new("tool")
        .value_name("TOOL")
        .required(true)
        .help("its name; footbridge tools lists them");
    let arguments = Arg::new("arguments")
        .value_name("JSON")
        .default_value("{}")
        .hide_default_value(true)
        .help("its arguments, an object; - reads them from stdin [{}]");
    Command::new("call").args([tool, arguments, port_argument()]).after_help(
        "Exit codes: 0 done, 1 no bridge, no such tool, or it failed, 2 usage\n\
         Example:    footbridge call openFile '{\"filePath\": \"/w/a.rs\"}'",
    )
}

/// Calls the tool and prints its text.
pub fn run(matches: &ArgMatches, env: Env<'_>) -> ExitCode {
    let tool = matches.get_one::<String>("tool").expect("clap requires it");
    let text = matches.get_one::<String>("arguments").expect("it has a default");
    let arguments = match arguments(text) {
        Ok(arguments) => arguments,
        Err(message) => {
            complain(&message);
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let Some(bridge) = chosen_bridge(matches, env) else { return ExitCode::FAILURE };
    let called = token_of(&bridge).and_then(|token| {
        let client = ide_door(&bridge, token.as_ref()).map_err(|error| error.to_string());
        client.and_then(|mut client| call(&mut client, tool, &arguments))
    });
    match called {
        Ok(result) if result["isError"] == true => {
            tell(&text_of(&result));
            ExitCode::FAILURE
        }
        Ok(result) => {
            say(&text_of(&result));
            ExitCode::SUCCESS
        }
        Err(message) => {
            complain(&message);
            ExitCode::FAILURE
        }
    }
}

/// Greets and calls.
fn call(client: &mut RpcClient, tool: &str, arguments: &Value) -> Result<Value, String> {
    let greeting = json!({
        "protocolVersion": negotiate(None).name,
        "capabilities": {},
        "clientInfo": {"name": "footbridge call", "version": VERSION},
    });
    client.request_within("initialize", &greeting, GREETING).map_err(|error| error.to_string())?;
    let params = json!({"name": tool, "arguments": arguments});
    client.request_within("tools/call", &params, CALL).map_err(|error| match error {
        RpcError::Refused { message, .. } => {
            let known = TOOLS.iter().map(|row| row.descriptor.name);
            let is_known = known.clone().any(|name| name == tool);
            message + &if is_known { String::new() } else { nearest::hint(tool, known) }
        }
        error @ (RpcError::Unreachable(..)
        | RpcError::NotLetIn(_)
        | RpcError::NoDoor
        | RpcError::Lost
        | RpcError::TimedOut(_)
        | RpcError::Garbled(_)
        | RpcError::Random(_)) => error.to_string(),
    })
}

fn arguments(text: &str) -> Result<Value, String> {
    let mut given = String::new();
    let text = match text {
        "-" => {
            let read = std::io::stdin().lock().take(ARGUMENTS_BYTES_MAX).read_to_string(&mut given);
            read.map_err(|error| format!("cannot read stdin: {error}"))?;
            &given
        }
        text => text,
    };
    let arguments: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| format!("the arguments are no JSON object: {error}: {}", quote(text)))?;
    Ok(Value::Object(arguments))
}

/// The blocks of a result, each ending its line; what is no text is shown as JSON.
fn text_of(result: &Value) -> String {
    let mut text = String::new();
    for block in result["content"].as_array().map_or(&[][..], Vec::as_slice) {
        match block["text"].as_str() {
            Some(block) => text += block,
            None => text += &block.to_string(),
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_one_json_object() {
        assert_eq!(arguments("{}"), Ok(json!({})));
        assert_eq!(arguments(" {\"a\": [1]} "), Ok(json!({"a": [1]})));
        for text in ["", "[]", "1", "{", "{} {}"] {
            let error = arguments(text).expect_err(text);
            let starts = "the arguments are no JSON object: ";
            assert!(error.starts_with(starts) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn every_block_ends_its_line() {
        let result = json!({"content": [
            {"type": "text", "text": "a\nb"}, {"type": "text", "text": "c\n"}, {"type": "image"},
        ]});
        assert_eq!(text_of(&result), "a\nb\nc\n{\"type\":\"image\"}\n");
        assert_eq!(text_of(&json!({})), "");
    }
}

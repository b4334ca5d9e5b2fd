//! `footbridge token`: prints the token that lets a client in, and nothing else.
//!
//! The lock file holds the token of the running bridge; without one it is the remembered token,
//! which is tried first, since the bridge may have been given another.

use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use serde_json::{Value, json};

use crate::config::source::Env;
use crate::config::state::{self, TOKEN_FILE};
use crate::transport::token::{IDE_FIELD, Token};

use super::control::{ControlClient, Running};
use super::rpc::{RpcClient, RpcError};
use super::{chosen_bridge, complain, port_argument, say};

/// What it takes, for clap.
pub fn command() -> Command {
    Command::new("token")
        .arg(port_argument())
        .after_help("Exit codes: 0 printed, 1 no bridge, or it asks for no token, 2 usage")
}

/// Prints the token.
pub fn run(matches: &ArgMatches, env: Env<'_>) -> ExitCode {
    let Some(bridge) = chosen_bridge(matches, env) else { return ExitCode::FAILURE };
    match token_of(&bridge) {
        Ok(Some(token)) => {
            say(&format!("{}\n", token.reveal()));
            ExitCode::SUCCESS
        }
        Ok(None) => {
            complain("this bridge asks for no token: it was started with --no-auth");
            ExitCode::FAILURE
        }
        Err(message) => {
            complain(&message);
            ExitCode::FAILURE
        }
    }
}

/// The token a running bridge asks for, if it asks for one; else why it is not known.
pub(super) fn token_of(bridge: &Running) -> Result<Option<Token>, String> {
    let status = ControlClient::connect(bridge)
        .and_then(|mut client| client.request("bridge/status", &json!({})))
        .map_err(|error| error.to_string())?;
    if status["tokenRequired"] == false {
        return Ok(None);
    }
    if let Some(path) = status["lockFile"].as_str() {
        let token = in_lock_file(Path::new(path));
        return token.map(Some).ok_or_else(|| format!("no token can be read from {path}"));
    }
    let remembered = std::fs::read(bridge.folder.join(TOKEN_FILE)).ok();
    let remembered = remembered.and_then(|text| state::parse_token(&text));
    match remembered.filter(|token| opens(bridge, token)) {
        Some(token) => Ok(Some(token)),
        None => Err("only whoever started this bridge knows its token: it was given with --token \
                     or --token-file"
            .to_owned()),
    }
}

fn in_lock_file(path: &Path) -> Option<Token> {
    let lock: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    Token::new(lock["authToken"].as_str()?).ok()
}

fn opens(bridge: &Running, token: &Token) -> bool {
    ide_door(bridge, Some(token)).is_ok()
}

/// A connection to the IDE door, not yet greeted.
pub(super) fn ide_door(bridge: &Running, token: Option<&Token>) -> Result<RpcClient, RpcError> {
    let mut fields = vec![("Sec-WebSocket-Protocol", "mcp")];
    if let Some(token) = token {
        fields.push((IDE_FIELD, token.reveal()));
    }
    RpcClient::open(bridge.address(), "/", &fields)
}

//! What the environment and the settings make Claude Code do when it is started here.

use super::Finding;
use crate::cli::doctor::facts::{Facts, Process};
use crate::config::source::quote;

/// Shortest time in which a connection is made on a busy machine, in milliseconds.
const CONNECT_MS_MIN: u64 = 1_000;

/// `CLAUDE_CODE_SSE_PORT` names this bridge.
pub(super) fn told_port(facts: &Facts) -> Finding {
    let Some(value) = facts.variable("CLAUDE_CODE_SSE_PORT") else {
        return Finding::fine("CLAUDE_CODE_SSE_PORT is not set");
    };
    let unset = "unset CLAUDE_CODE_SSE_PORT, or start Claude Code with footbridge claude";
    let said = format!("CLAUDE_CODE_SSE_PORT is {}", quote(value));
    let Some(told) = facts.told_lock() else {
        let is_one_left = facts.matches().count() == 1;
        let text = format!("{said}, where no lock is: it is left from an editor that is gone");
        return match is_one_left {
            true => Finding::warning(
                format!("{text}; Claude Code takes the one lock that matches"),
                unset,
            ),
            false => Finding::fault(text, unset),
        };
    };
    match facts.bridge() {
        None => Finding::warning(
            format!("{said}: Claude Code connects to {} instead", told.path.display()),
            unset,
        ),
        Some(_) if facts.is_bridge_lock(told) => {
            Finding::fine("CLAUDE_CODE_SSE_PORT names the bridge of this folder")
        }
        Some(_) => Finding::fault(
            format!(
                "{said}: Claude Code connects to {} and not to the bridge of this folder",
                told.path.display()
            ),
            unset,
        ),
    }
}

/// Attaching is not switched off.
pub(super) fn auto_connect(facts: &Facts) -> Finding {
    let value = facts.variable("CLAUDE_CODE_AUTO_CONNECT_IDE").map(str::to_ascii_lowercase);
    match value.as_deref() {
        Some("false" | "0" | "no" | "off") => Finding::fault(
            "CLAUDE_CODE_AUTO_CONNECT_IDE is off: Claude Code never connects by itself",
            "unset CLAUDE_CODE_AUTO_CONNECT_IDE",
        ),
        Some(_) | None => Finding::fine("attaching is not switched off"),
    }
}

/// Something makes Claude Code attach by itself.
pub(super) fn trigger(facts: &Facts) -> Finding {
    if facts.told_lock().is_some() {
        Finding::fine("CLAUDE_CODE_SSE_PORT makes Claude Code attach by itself")
    } else if facts.is_on("CLAUDE_CODE_AUTO_CONNECT_IDE") {
        Finding::fine("CLAUDE_CODE_AUTO_CONNECT_IDE makes Claude Code attach by itself")
    } else if facts.settings.is_auto_connecting {
        Finding::fine("autoConnectIde makes Claude Code attach by itself")
    } else {
        Finding::note(
            "nothing makes a plain claude attach by itself",
            "claude --ide, or footbridge claude, or /ide in a running one, or autoConnectIde in \
             /config",
        )
    }
}

/// No VS Code terminal without a port.
pub(super) fn terminal(facts: &Facts) -> Finding {
    let is_code = facts.variable("TERM_PROGRAM") == Some("vscode");
    let (name, is_asking) = match is_code {
        true => ("TERM_PROGRAM=vscode", true),
        false => ("FORCE_CODE_TERMINAL", facts.is_on("FORCE_CODE_TERMINAL")),
    };
    if !is_asking || facts.told_lock().is_some() {
        return Finding::fine("locks are not asked for a parent process");
    }
    let Some(lock) = facts.matches().next() else {
        return Finding::fine("there is no lock whose process could be asked for");
    };
    let is_parent = match lock.process {
        Process::Alive(pid) => facts.machine.ancestors.contains(&pid),
        Process::NotNamed | Process::Gone(_) | Process::Forbidden(_) => false,
    };
    let text = format!(
        "{name} without CLAUDE_CODE_SSE_PORT: Claude Code connects only to a program that started \
         this terminal"
    );
    let remedy = "start Claude Code with footbridge claude, or use /ide in it";
    match (is_parent, facts.machine.ancestors.is_empty()) {
        (true, _) => Finding::fine("this terminal was started by the lock's process"),
        (false, true) => Finding::warning(text, remedy),
        (false, false) => Finding::fault(text, remedy),
    }
}

/// No other host.
pub(super) fn host(facts: &Facts) -> Finding {
    let Some(host) = facts.variable("CLAUDE_CODE_IDE_HOST_OVERRIDE") else {
        return Finding::fine("Claude Code connects to 127.0.0.1");
    };
    let text =
        format!("CLAUDE_CODE_IDE_HOST_OVERRIDE makes Claude Code connect to {}", quote(host));
    let is_ours = matches!(host, "127.0.0.1" | "localhost");
    let is_bound_wide = facts.bridge().is_some_and(|bridge| !bridge.bind.is_loopback());
    match (is_ours, is_bound_wide) {
        (true, _) => Finding::note(text, "nothing: that is this machine"),
        (false, true) => Finding::warning(
            text,
            "start the bridge with --allow-host for that name, or unset the variable",
        ),
        (false, false) => Finding::fault(
            format!("{text}, where the bridge does not listen"),
            "unset CLAUDE_CODE_IDE_HOST_OVERRIDE",
        ),
    }
}

/// The folders of locks are looked at.
pub(super) fn valid_check(facts: &Facts) -> Finding {
    match facts.is_on("CLAUDE_CODE_IDE_SKIP_VALID_CHECK") {
        false => Finding::fine("Claude Code looks at the folders of locks"),
        true => Finding::warning(
            "CLAUDE_CODE_IDE_SKIP_VALID_CHECK: every lock matches, whatever its folder",
            "unset CLAUDE_CODE_IDE_SKIP_VALID_CHECK",
        ),
    }
}

/// No proxy for this machine.
pub(super) fn proxy(facts: &Facts) -> Finding {
    match facts.proxies.as_slice() {
        [] => Finding::fine("no proxy is set"),
        _ if facts.is_loopback_direct => Finding::fine("no_proxy has 127.0.0.1 in it"),
        names => Finding::warning(
            format!(
                "{} set, but no 127.0.0.1 in no_proxy and NO_PROXY: some versions of Claude Code \
                 reach no bridge then",
                names.join(", ")
            ),
            "start Claude Code with footbridge claude, or: eval \"$(footbridge env)\"",
        ),
    }
}

/// No timeout that is too short.
pub(super) fn timeout(facts: &Facts) -> Finding {
    let connect = facts.variable("MCP_TIMEOUT").and_then(|value| value.trim().parse::<u64>().ok());
    if let Some(milliseconds) = connect.filter(|limit| *limit < CONNECT_MS_MIN) {
        return Finding::warning(
            format!("MCP_TIMEOUT leaves {milliseconds} ms to connect"),
            "unset MCP_TIMEOUT, or give it some thousand milliseconds",
        );
    }
    match facts.variable("MCP_TOOL_TIMEOUT") {
        Some(value) => Finding::note(
            format!(
                "MCP_TOOL_TIMEOUT is {}: so long a proposed change waits for you",
                quote(value)
            ),
            "unset MCP_TOOL_TIMEOUT; it is in milliseconds",
        ),
        None => Finding::fine("no timeout is set"),
    }
}

/// Changes are sent to the bridge.
pub(super) fn diff_tool(facts: &Facts) -> Finding {
    match (&facts.settings.path, facts.settings.is_diff_in_terminal) {
        (Some(path), true) => Finding::note(
            format!(
                "\"diffTool\" is \"terminal\" in {}: proposed changes do not reach the bridge",
                path.display()
            ),
            "set the diff tool to auto in /config, for footbridge review to show them",
        ),
        (Some(_) | None, _) => Finding::fine("proposed changes are sent to the bridge"),
    }
}

/// `claude` is on PATH.
pub(super) fn claude(facts: &Facts) -> Finding {
    match facts.machine.has_claude {
        true => Finding::fine("claude is on PATH"),
        false => Finding::note(
            "there is no claude on PATH",
            "install Claude Code, or start it by its path",
        ),
    }
}

/// Print mode never attaches; nothing on the machine tells whether it is used.
pub(super) fn print_mode(_: &Facts) -> Finding {
    Finding::note(
        "claude -p never attaches to a bridge, and claude --bare only with --ide",
        "start claude without -p where it is to use the bridge",
    )
}

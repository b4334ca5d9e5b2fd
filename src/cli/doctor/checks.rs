//! Everything that is checked, as one table.
//!
//! A check is a name, what it is about, and a function from the facts to a finding. Help, README
//! and report are made from the table. A fault keeps an agent in this folder from attaching; a
//! warning may, or takes something else away; a note is worth knowing.

mod bridge;
mod client;
mod locks;
mod places;

use super::facts::Facts;

/// One thing that is looked at.
#[derive(Debug)]
pub struct Check {
    /// In reports for programs.
    pub name: &'static str,
    /// What is looked for.
    about: &'static str,
    look: fn(&Facts) -> Finding,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// One line.
    pub text: String,
    /// What to do, in one line; nothing for what is fine.
    pub remedy: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// It keeps an agent from attaching.
    Fault,
    /// It may, or something else is lost.
    Warning,
    /// Worth knowing.
    Note,
    /// As it should be.
    Fine,
}

/// Found by every check that needs a bridge when there is none: the first one says so.
const NO_BRIDGE: &str = "no bridge to look at";

const fn check(name: &'static str, about: &'static str, look: fn(&Facts) -> Finding) -> Check {
    Check { name, about, look }
}

/// Every check, in the order in which an agent would stumble.
pub static CHECKS: [Check; 39] = [
    check("bridge", "a bridge runs for this folder", bridge::runs),
    check("answer", "it answers, and was not stopped", bridge::answers),
    check("version", "it is of this program's version", bridge::version),
    check("address", "it listens where Claude Code connects to", bridge::address),
    check("lock-file", "it has a lock file, and the file is there", bridge::lock_file),
    check("config-dir", "its lock file is where Claude Code looks", bridge::config_dir),
    check("door", "it lets an agent in with the token of its lock", bridge::door),
    check("agents", "every attached agent reads", bridge::agents),
    check("competitors", "no other lock matches this folder", locks::competitors),
    check("spelling", "locks spell this folder as the disk does", locks::spelling),
    check("below", "no other editor serves only a folder below", locks::below),
    check("dead-pid", "every lock names a living process", locks::dead),
    check("foreign-pid", "every lock names a process of yours", locks::forbidden),
    check("no-pid", "the bridge's lock names a process", locks::not_named),
    check("port", "someone listens on every lock's port", locks::refusing),
    check("transport", "locks name the transport ws", locks::transport),
    check("json", "locks are JSON", locks::json),
    check("readable", "locks can be read", locks::readable),
    check("lock-name", "locks are named after a port", locks::name),
    check("lock-owner", "locks are yours", locks::owner),
    check("lock-folder", "the folder for locks can be used", places::lock_folder),
    check("lock-folder-mode", "it is yours alone", places::lock_folder_mode),
    check("state-folder", "the state folder can be used", places::state_folder),
    check("token-file", "the remembered token can be read by you alone", places::token_file),
    check("last-port", "the remembered port is free", places::last_port),
    check("user", "the home folder is yours", places::user),
    check("container", "this is no container", places::container),
    check("wsl", "this is no Linux under Windows", places::wsl),
    check("told-port", "CLAUDE_CODE_SSE_PORT names this bridge", client::told_port),
    check("auto-connect", "attaching is not switched off", client::auto_connect),
    check("trigger", "something makes Claude Code attach by itself", client::trigger),
    check("terminal", "no VS Code terminal without a port", client::terminal),
    check("host", "no CLAUDE_CODE_IDE_HOST_OVERRIDE", client::host),
    check("valid-check", "no CLAUDE_CODE_IDE_SKIP_VALID_CHECK", client::valid_check),
    check("proxy", "no proxy for connections to this machine", client::proxy),
    check("timeout", "no MCP timeout that is too short", client::timeout),
    check("diff-tool", "proposed changes are sent to the bridge", client::diff_tool),
    check("claude", "claude is on PATH", client::claude),
    check("print-mode", "claude is not started with -p, which never attaches", client::print_mode),
];

/// Runs every check.
pub fn run(facts: &Facts) -> Vec<(&'static Check, Finding)> {
    CHECKS.iter().map(|check| (check, (check.look)(facts))).collect()
}

/// The names, for a screen of help.
pub fn help_text() -> String {
    let mut text = String::new();
    let mut line = String::from("Checks:");
    for check in &CHECKS {
        if line.len() + check.name.len() > 76 {
            text += &format!("{line}\n");
            line = "  ".to_owned();
        }
        line += &format!(" {}", check.name);
    }
    text + &line + "\n"
}

/// The table for the README.
pub fn markdown_table() -> String {
    let mut text = String::from("| check | what should hold |\n|---|---|\n");
    for check in &CHECKS {
        text += &format!("| `{}` | {} |\n", check.name, check.about);
    }
    text
}

impl Severity {
    /// In reports.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Fault => "fault",
            Severity::Warning => "warning",
            Severity::Note => "note",
            Severity::Fine => "fine",
        }
    }
}

impl Finding {
    /// As it should be, or of no concern here.
    pub fn fine(text: impl Into<String>) -> Finding {
        Finding { severity: Severity::Fine, text: text.into(), remedy: None }
    }

    /// Worth knowing.
    pub fn note(text: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { severity: Severity::Note, text: text.into(), remedy: Some(remedy.into()) }
    }

    /// Something else is lost, or an agent may not attach.
    pub fn warning(text: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, text: text.into(), remedy: Some(remedy.into()) }
    }

    /// It keeps an agent from attaching.
    pub fn fault(text: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { severity: Severity::Fault, text: text.into(), remedy: Some(remedy.into()) }
    }

    /// The same, only worth knowing when it does not concern this folder.
    pub fn fault_if(is_fault: bool, text: impl Into<String>, remedy: impl Into<String>) -> Finding {
        match is_fault {
            true => Finding::fault(text, remedy),
            false => Finding::note(text, remedy),
        }
    }

    /// Whether it keeps an agent from attaching.
    pub fn is_fault(&self) -> bool {
        self.severity == Severity::Fault
    }
}

#[cfg(test)]
mod tests;

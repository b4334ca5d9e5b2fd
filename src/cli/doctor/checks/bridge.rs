//! The bridge that serves the current folder: does it run, answer, and let agents in.

use std::path::PathBuf;

use super::{Finding, NO_BRIDGE};
use crate::cli::doctor::facts::{Access, Answer, Bridge, Door, Facts, Lock, LockFolder};
use crate::config::source::quote;

/// A bridge runs for this folder.
pub(super) fn runs(facts: &Facts) -> Finding {
    let here = facts.folder.display();
    if let Some(bridge) = facts.bridge() {
        return Finding::fine(format!("a bridge serves {here} on port {}", bridge.port));
    }
    let is_hidden = |lock: &&Lock| lock.is_ours() && lock.is_answering;
    if let Some(lock) = facts.matches().find(is_hidden) {
        return Finding::warning(
            format!(
                "a bridge serves {here}, says {}, but the verbs do not find it",
                lock.path.display()
            ),
            "run this as the same user with the same HOME and XDG_STATE_HOME as the bridge",
        );
    }
    let below = |folder: &&PathBuf| folder.starts_with(&facts.folder);
    let below =
        facts.bridges.iter().find_map(|bridge| Some((bridge, bridge.folders.iter().find(below)?)));
    let start = "start one in this folder: footbridge";
    if let Some((bridge, folder)) = below {
        return Finding::fault(
            format!(
                "no bridge serves {here}: the one on port {} serves {}, which is below it",
                bridge.port,
                folder.display()
            ),
            format!("{start}; or start Claude Code there"),
        );
    }
    match facts.bridges.as_slice() {
        [] => Finding::fault(format!("no bridge serves {here}: none runs"), start),
        others => {
            let others: Vec<String> = others.iter().map(place).collect();
            Finding::fault(
                format!("no bridge serves {here}: those that run serve {}", others.join(", ")),
                format!("{start}; or start Claude Code in one of those"),
            )
        }
    }
}

fn place(bridge: &Bridge) -> String {
    let folders: Vec<String> =
        bridge.folders.iter().map(|folder| folder.display().to_string()).collect();
    format!("{} (port {})", folders.join(" and "), bridge.port)
}

/// It answers.
pub(super) fn answers(facts: &Facts) -> Finding {
    let Some(bridge) = facts.bridge() else { return Finding::fine(NO_BRIDGE) };
    if bridge.is_stopped {
        return Finding::fault(
            format!("the bridge was stopped, as by Ctrl-Z: process {}", bridge.pid),
            format!("let it run on: kill -CONT {}, or fg in its terminal", bridge.pid),
        );
    }
    match &bridge.answer {
        Answer::Figures(_) | Answer::NotAsked => Finding::fine("the bridge answers"),
        Answer::Silence(why) => Finding::fault(
            format!("the bridge on port {} does not answer: {why}", bridge.port),
            format!("end process {} and start footbridge again", bridge.pid),
        ),
        Answer::Full => full(),
    }
}

fn full() -> Finding {
    Finding::fault(
        "the bridge has as many connections as it may have",
        "end an agent, or start the bridge with a higher --max-connections",
    )
}

/// It is of this version.
pub(super) fn version(facts: &Facts) -> Finding {
    match facts.bridge() {
        None => Finding::fine(NO_BRIDGE),
        Some(bridge) if bridge.version == facts.version => {
            Finding::fine("the bridge is of this version")
        }
        Some(bridge) => Finding::warning(
            format!(
                "the bridge is of version {}, this program of {}",
                quote(&bridge.version),
                facts.version
            ),
            "end the bridge and start it again",
        ),
    }
}

/// It listens on 127.0.0.1.
pub(super) fn address(facts: &Facts) -> Finding {
    match facts.bridge() {
        None => Finding::fine(NO_BRIDGE),
        Some(bridge) if bridge.is_reachable() => {
            Finding::fine("the bridge listens on 127.0.0.1, where Claude Code connects to")
        }
        Some(bridge) => Finding::fault(
            format!("the bridge listens on {}, but Claude Code connects to 127.0.0.1", bridge.bind),
            "start it without --bind, or with --bind 0.0.0.0 and a token of yours",
        ),
    }
}

/// It has a lock file.
pub(super) fn lock_file(facts: &Facts) -> Finding {
    let Some(figures) = facts.figures() else { return Finding::fine(NO_BRIDGE) };
    match &figures.lock {
        None => Finding::fault(
            "the bridge has no lock file: it was started with --no-lock-file",
            "start it without; Claude Code finds bridges by their lock files alone",
        ),
        Some(path) if !figures.is_lock_there => Finding::fault(
            format!("the bridge's lock file {} is gone", path.display()),
            "start the bridge again; if the file vanishes whenever Claude Code starts, \
             start it with --no-pid",
        ),
        Some(path) => Finding::fine(format!("lock file {}", path.display())),
    }
}

/// Its lock is where Claude Code looks.
pub(super) fn config_dir(facts: &Facts) -> Finding {
    if let Some(error) = &facts.lock_folder_error {
        return Finding::fault(
            format!("no folder for lock files: {error}"),
            "set HOME, or CLAUDE_CONFIG_DIR to an absolute path, for the bridge and Claude Code",
        );
    }
    let looked: Vec<String> =
        facts.lock_folders.iter().map(|folder| folder.path.display().to_string()).collect();
    let looked = looked.join(" and ");
    let Some(figures) = facts.figures() else {
        return Finding::fine(format!("Claude Code looks for locks in {looked}"));
    };
    let Some(path) = &figures.lock else { return Finding::fine("no lock file to look for") };
    if !figures.is_lock_in_sight {
        let folder = path.parent().and_then(|folder| folder.parent()).unwrap_or(path);
        return Finding::fault(
            format!(
                "the bridge's lock is {}, but Claude Code here looks in {looked}",
                path.display()
            ),
            format!(
                "set the same CLAUDE_CONFIG_DIR for both: {} here, or that of this shell for the \
                 bridge",
                folder.display()
            ),
        );
    }
    let first = facts.lock_folders.first();
    let is_first = first.is_none_or(|folder| path.starts_with(&folder.path));
    let is_other = |folder: &&LockFolder| {
        matches!(folder.access, Access::There { .. }) && path.starts_with(&folder.path)
    };
    match facts.lock_folders.iter().skip(1).find(is_other) {
        Some(other) if !is_first => Finding::note(
            format!(
                "CLAUDE_CONFIG_DIR is set here and was not for the bridge; its lock in {} is \
                 found all the same",
                other.path.display()
            ),
            "nothing; older versions may look in CLAUDE_CONFIG_DIR alone",
        ),
        Some(_) | None => Finding::fine(format!("Claude Code looks in {looked}")),
    }
}

/// It lets an agent in.
pub(super) fn door(facts: &Facts) -> Finding {
    let Some(bridge) = facts.bridge() else { return Finding::fine(NO_BRIDGE) };
    match &bridge.door {
        Door::NotTried => Finding::fine("the door for agents was not tried"),
        Door::Open => Finding::fine("the bridge lets an agent in with the token of its lock"),
        Door::Refused(401) => Finding::fault(
            "the bridge does not take the token its lock file names",
            "the file was changed: start the bridge again",
        ),
        Door::Refused(503) => full(),
        Door::Refused(status) => Finding::fault(
            format!("the bridge turns agents away with HTTP {status}"),
            "see why in its log, with --log debug",
        ),
        Door::Failed(why) => Finding::fault(
            format!("port {} does not speak as a bridge: {why}", bridge.port),
            "start the bridge again",
        ),
    }
}

/// Every attached agent reads.
pub(super) fn agents(facts: &Facts) -> Finding {
    let Some(figures) = facts.figures() else { return Finding::fine(NO_BRIDGE) };
    let stuck: Vec<String> = figures
        .agents
        .iter()
        .filter(|agent| agent.is_paused)
        .map(|agent| format!("{} ({} KiB wait)", agent.id, agent.queued_bytes.div_ceil(1024)))
        .collect();
    match stuck.as_slice() {
        [] => Finding::fine("no attached agent is stuck"),
        stuck => Finding::warning(
            format!("attached but not reading: {}", stuck.join(", ")),
            "look whether that agent was stopped (Ctrl-Z); the bridge drops one that stays so",
        ),
    }
}

//! Folders and files a bridge needs, the user they belong to, and the kind of machine this is.

use super::Finding;
use crate::cli::doctor::facts::{Access, Facts, Process, TokenFile};

/// Permission bits that let others in.
const OTHERS: u32 = 0o077;

/// The folder for locks can be used.
pub(super) fn lock_folder(facts: &Facts) -> Finding {
    let Some(folder) = facts.lock_folders.first() else {
        return Finding::fine("no folder for locks is known");
    };
    let path = folder.path.display();
    let unusable = |why: &str| {
        let text = format!("the folder for lock files {path} {why}");
        let remedy = "mend that, or set CLAUDE_CONFIG_DIR for the bridge and Claude Code";
        // A bridge whose lock is in the other folder does not need this one.
        Finding::fault_if(facts.bridge_lock().is_none(), text, remedy)
    };
    match &folder.access {
        Access::There { is_writable: true, .. } => Finding::fine(format!("locks stand in {path}")),
        Access::There { is_writable: false, .. } => unusable("cannot be written"),
        Access::NotAFolder => unusable("is no folder"),
        Access::Hidden(why) => unusable(&format!("cannot be looked into: {why}")),
        Access::Missing { can_be_made: false } => unusable("is missing and cannot be made"),
        Access::Missing { can_be_made: true } => Finding::note(
            format!("the folder for lock files {path} is missing"),
            "nothing: footbridge makes it when it starts",
        ),
    }
}

/// The folder for locks is the user's alone.
pub(super) fn lock_folder_mode(facts: &Facts) -> Finding {
    for folder in &facts.lock_folders {
        let Access::There { owner_and_mode: Some((owner, mode)), .. } = folder.access else {
            continue;
        };
        let path = folder.path.display();
        if facts.user.is_some_and(|user| user != owner) {
            return Finding::warning(
                format!("{path} belongs to user {owner}: what stands there may be another's"),
                "run the bridge and Claude Code as one user, with a HOME of its own",
            );
        }
        if mode & OTHERS != 0 {
            return Finding::warning(
                format!("{path} is open to others (mode {mode:04o}): locks name tokens"),
                format!("chmod 700 {path}"),
            );
        }
    }
    Finding::fine("the folder for locks is yours alone")
}

/// The state folder can be used.
pub(super) fn state_folder(facts: &Facts) -> Finding {
    let Some(folder) = &facts.state.folder else {
        return Finding::warning(
            "no home folder: port and token change at each start, and the verbs find no bridge",
            "set HOME or XDG_STATE_HOME",
        );
    };
    let path = folder.display();
    let unusable = |why: &str| {
        let text = format!("the state folder {path} {why}: a bridge does not start here");
        let remedy = "mend that, or set XDG_STATE_HOME to a folder of yours";
        match facts.bridge() {
            None => Finding::fault(text, remedy),
            Some(_) => Finding::warning(text, remedy),
        }
    };
    match &facts.state.access {
        Access::There { is_writable: false, .. } => unusable("cannot be written"),
        Access::NotAFolder => unusable("is no folder"),
        Access::Hidden(why) => unusable(&format!("cannot be looked into: {why}")),
        Access::Missing { can_be_made: false } => unusable("is missing and cannot be made"),
        Access::There { owner_and_mode: Some((_, mode)), .. } if mode & OTHERS != 0 => {
            Finding::warning(
                format!("the state folder {path} is open to others (mode {mode:04o})"),
                format!("chmod 700 {path}"),
            )
        }
        Access::Missing { can_be_made: true } | Access::There { .. } => {
            Finding::fine(format!("state folder {path}"))
        }
    }
}

/// The remembered token can be read by the user alone.
pub(super) fn token_file(facts: &Facts) -> Finding {
    let Some(folder) = &facts.state.folder else {
        return Finding::fine("no token is remembered");
    };
    let path = folder.join("token");
    let path = path.display();
    let lost = "delete it; the next start makes a new one, and attached agents need /ide then";
    match &facts.state.token {
        TokenFile::Missing => Finding::fine("no token is remembered yet"),
        TokenFile::Fine => Finding::fine("the remembered token is yours alone"),
        TokenFile::Unreadable(why) => {
            Finding::warning(format!("the remembered token {path} cannot be read: {why}"), lost)
        }
        TokenFile::Junk => Finding::warning(format!("{path} holds no token"), lost),
        TokenFile::Exposed => Finding::warning(
            format!("others may read the token in {path}"),
            format!("chmod 600 {path}; delete it if others may have read it"),
        ),
    }
}

/// The remembered port is free.
pub(super) fn last_port(facts: &Facts) -> Finding {
    match facts.state.last_port {
        None => Finding::fine("no port of an earlier bridge to look at"),
        Some(port) if !facts.state.is_last_port_taken => {
            Finding::fine(format!("port {port}, used last time, is free"))
        }
        Some(port) => {
            let bridge = facts.bridges.iter().find(|bridge| bridge.port == port);
            let who = match bridge {
                Some(bridge) => format!("the bridge of process {}", bridge.pid),
                None => "another program".to_owned(),
            };
            Finding::warning(
                format!("port {port}, used last time, is taken by {who}"),
                "end that, or use /ide in each Claude Code that still knows the old port",
            )
        }
    }
}

/// The home folder is the user's.
pub(super) fn user(facts: &Facts) -> Finding {
    match (facts.user, facts.home_owner) {
        (Some(user), Some(owner)) if user != owner => Finding::warning(
            format!("you are user {user}, but the home folder belongs to user {owner}"),
            "run the bridge and Claude Code as one user; with sudo, as sudo -H -u NAME",
        ),
        (Some(_) | None, Some(_) | None) => Finding::fine("the home folder is yours"),
    }
}

/// This is no container.
pub(super) fn container(facts: &Facts) -> Finding {
    let Some(sign) = &facts.machine.container else {
        return Finding::fine("this is no container");
    };
    let is_named = facts.bridge_lock().is_some_and(|lock| lock.process != Process::NotNamed);
    let text = format!("this is a container ({sign}): processes have other numbers outside");
    match is_named {
        true => Finding::note(
            text,
            "start the bridge with --no-pid if Claude Code runs outside, or it deletes the lock",
        ),
        false => Finding::note(
            text,
            "start a bridge that is used from outside with --no-pid, and publish its port",
        ),
    }
}

/// This is no Linux under Windows.
pub(super) fn wsl(facts: &Facts) -> Finding {
    match facts.machine.is_wsl {
        false => Finding::fine("this is no Linux under Windows"),
        true => Finding::note(
            "this is Linux under Windows: a Claude Code on the Windows side sees no process here \
             and deletes the lock",
            "run Claude Code in the same distribution, or start the bridge with --no-pid",
        ),
    }
}

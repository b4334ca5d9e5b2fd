//! The lock files Claude Code would choose from, whoever wrote them.
//!
//! A lock that is the bridge's, or that matches the current folder, decides whether an agent
//! attaches here; of others it is only said what is wrong with them. None is ours to delete.

use super::Finding;
use crate::cli::doctor::facts::{Facts, Lock, LockText, Process, Reach, Spelling};
use crate::config::source::quote;

/// What other programs' dead locks call for.
const LEAVE: &str = "nothing here: Claude Code removes it when it next starts";

/// No other lock matches.
pub(super) fn competitors(facts: &Facts) -> Finding {
    let matches: Vec<&Lock> = facts.matches().collect();
    match matches.as_slice() {
        [] => Finding::fine("no lock competes for this folder"),
        [one] if facts.bridge().is_none() || facts.is_bridge_lock(one) => {
            Finding::fine(format!("one lock matches this folder: {}", whose(one)))
        }
        [one] => Finding::warning(
            format!("Claude Code here connects to another program: {}", whose(one)),
            "end that program, or start Claude Code with footbridge claude",
        ),
        [..] => {
            let names: Vec<String> = matches.iter().map(|lock| whose(lock)).collect();
            let text = format!("{} locks match this folder: {}", names.len(), names.join("; "));
            match facts.told_lock() {
                Some(told) => Finding::note(
                    format!("{text}; CLAUDE_CODE_SSE_PORT chooses {}", whose(told)),
                    "nothing; without the variable Claude Code connects to none of several",
                ),
                None => Finding::fault(
                    format!("{text}; Claude Code connects to none of several"),
                    "start Claude Code with footbridge claude, or end the others, or choose \
                     with /ide",
                ),
            }
        }
    }
}

/// A lock in words: who wrote it, its port and process.
fn whose(lock: &Lock) -> String {
    let name = match lock.fields() {
        Some(fields) if fields.is_ours => "footbridge".to_owned(),
        Some(fields) => quote(fields.ide_name.as_deref().unwrap_or("IDE")),
        None => quote(&lock.path.display().to_string()),
    };
    let port = lock.port.map_or("no port".to_owned(), |port| format!("port {port}"));
    let process = match lock.process {
        Process::NotNamed => "no process named".to_owned(),
        Process::Alive(pid) => format!("process {pid}"),
        Process::Gone(pid) => format!("process {pid}, which is gone"),
        Process::Forbidden(pid) => format!("process {pid} of another user"),
    };
    format!("{name} ({port}, {process})")
}

/// Locks spell this folder as the disk does.
pub(super) fn spelling(facts: &Facts) -> Finding {
    let misspelled = |lock: &Lock| match &lock.reach {
        Reach::Misspelled(folder, how) if lock.is_kept() => Some((folder.clone(), *how)),
        Reach::Misspelled(..) | Reach::Serves | Reach::Below(_) | Reach::Elsewhere => None,
    };
    let found = facts.locks.iter().find_map(|lock| Some((lock, misspelled(lock)?)));
    let Some((lock, (folder, how))) = found else {
        return Finding::fine("no lock spells this folder otherwise");
    };
    let why = match how {
        Spelling::Link => "a symbolic link to it",
        Spelling::Case => "it in other letters, large and small",
        Spelling::Form => "it with dots or doubled separators",
    };
    let here = facts.folder.display();
    let serving = whose(lock);
    let text = format!(
        "{serving} serves {folder}, which is {why}: Claude Code compares with {here} and sees no \
         match"
    );
    let remedy = format!("open {here} in that program, or start footbridge here");
    Finding::fault_if(facts.matches().next().is_none(), text, remedy)
}

/// No other editor serves only a folder below.
pub(super) fn below(facts: &Facts) -> Finding {
    let below = facts.locks.iter().filter(|lock| lock.is_kept() && !lock.is_ours());
    let below = below.filter_map(|lock| match &lock.reach {
        Reach::Below(folder) => Some(format!("{} serves {folder}", whose(lock))),
        Reach::Serves | Reach::Misspelled(..) | Reach::Elsewhere => None,
    });
    let below: Vec<String> = below.collect();
    match below.is_empty() {
        true => Finding::fine("no other editor serves only a folder below"),
        false => Finding::note(
            format!("{}, below this folder", below.join("; ")),
            "Claude Code lists it under /ide but does not connect by itself",
        ),
    }
}

/// Every lock names a living process.
pub(super) fn dead(facts: &Facts) -> Finding {
    let dead = |lock: &&Lock| matches!(lock.process, Process::Gone(_));
    judge(facts, &dead, "every lock names a living process", |locks| {
        format!("the process of a lock is gone: {locks}")
    })
}

/// Every lock names a process we may signal.
pub(super) fn forbidden(facts: &Facts) -> Finding {
    let forbidden = |lock: &&Lock| matches!(lock.process, Process::Forbidden(_));
    judge(facts, &forbidden, "every lock names a process of yours", |locks| {
        format!(
            "the process of a lock is another user's, which Claude Code takes for dead: {locks}"
        )
    })
}

/// The worst of the locks that Claude Code deletes for their process.
fn judge(
    facts: &Facts,
    is_bad: &dyn Fn(&&Lock) -> bool,
    fine: &str,
    told: impl Fn(String) -> String,
) -> Finding {
    let bad: Vec<&Lock> = facts.locks.iter().filter(is_bad).collect();
    if let Some(lock) = bad.iter().find(|lock| facts.is_bridge_lock(lock)) {
        return Finding::fault(
            format!("{}; Claude Code deletes it at its start", told(path_of(lock))),
            "start the bridge with --no-pid, or as the user Claude Code runs as",
        );
    }
    let hidden = bad.iter().find(|lock| lock.is_answering && lock.reach == Reach::Serves);
    if let Some(lock) = hidden {
        return Finding::fault(
            format!(
                "{}; someone answers on its port all the same, and Claude Code deletes it",
                told(path_of(lock))
            ),
            "start that bridge with --no-pid: its process cannot be seen from here",
        );
    }
    if bad.is_empty() {
        return Finding::fine(fine);
    }
    let names: Vec<String> = bad.iter().map(|lock| path_of(lock)).collect();
    match bad.iter().all(|lock| lock.is_ours()) {
        true => Finding::note(told(names.join(", ")), "footbridge clears it at its next start"),
        false => Finding::note(told(names.join(", ")), LEAVE),
    }
}

fn path_of(lock: &Lock) -> String {
    lock.path.display().to_string()
}

/// The bridge's lock names a process.
pub(super) fn not_named(facts: &Facts) -> Finding {
    match facts.bridge_lock() {
        Some(lock) if lock.process == Process::NotNamed && lock.fields().is_some() => {
            Finding::note(
                "the bridge's lock names no process, as --no-pid asks for",
                "nothing for Claude Code, which tries the port; editors' extensions skip it",
            )
        }
        Some(_) => Finding::fine("the bridge's lock names its process"),
        None => Finding::fine(super::NO_BRIDGE),
    }
}

/// Someone listens on every lock's port.
pub(super) fn refusing(facts: &Facts) -> Finding {
    let is_silent = |lock: &&Lock| match lock.process {
        Process::NotNamed | Process::Alive(_) => !lock.is_answering && lock.port.is_some(),
        Process::Gone(_) | Process::Forbidden(_) => false,
    };
    let is_read = |lock: &&Lock| !matches!(lock.text, LockText::Unreadable(_));
    let silent: Vec<&Lock> = facts.locks.iter().filter(is_read).filter(is_silent).collect();
    // A stopped or unreachable bridge has a check of its own.
    if let Some(lock) = silent.iter().find(|lock| facts.is_bridge_lock(lock)) {
        return Finding::fault(
            format!("nobody answers on the port of the bridge's lock {}", path_of(lock)),
            "start the bridge again",
        );
    }
    if let Some(lock) = silent.iter().find(|lock| facts.is_match(lock)) {
        return Finding::fault(
            format!(
                "{} matches this folder, but nobody answers on its port: Claude Code counts it \
                 all the same",
                whose(lock)
            ),
            "end or restart that program: its process lives and keeps the lock",
        );
    }
    let names: Vec<String> = silent.iter().map(|lock| path_of(lock)).collect();
    match names.is_empty() {
        true => Finding::fine("someone listens on the port of every lock"),
        false => Finding::note(
            format!("nobody answers on the port of {}", names.join(", ")),
            "nothing here: it is left to the program that wrote it, and to Claude Code",
        ),
    }
}

/// Locks name the transport.
pub(super) fn transport(facts: &Facts) -> Finding {
    let is_other = |lock: &&Lock| {
        lock.is_kept() && lock.fields().is_some_and(|one| one.transport.as_deref() != Some("ws"))
    };
    let others: Vec<&Lock> = facts.locks.iter().filter(is_other).collect();
    if others.is_empty() {
        return Finding::fine("every lock names the transport ws");
    }
    let names: Vec<String> = others.iter().map(|lock| path_of(lock)).collect();
    match others.iter().any(|lock| facts.is_bridge_lock(lock)) {
        true => Finding::fault(
            "the bridge's lock names another transport than ws: the file was changed",
            "start the bridge again",
        ),
        false => Finding::warning(
            format!("no transport ws in {}", names.join(", ")),
            "Claude Code speaks its old protocol there, without a token: update that program",
        ),
    }
}

/// Locks are JSON.
pub(super) fn json(facts: &Facts) -> Finding {
    let is_bad = |lock: &&Lock| lock.text == LockText::Lines;
    let bad: Vec<&Lock> = facts.locks.iter().filter(is_bad).collect();
    if bad.is_empty() {
        return Finding::fine("every lock is JSON");
    }
    let names: Vec<String> = bad.iter().map(|lock| path_of(lock)).collect();
    match bad.iter().any(|lock| facts.is_bridge_lock(lock)) {
        true => Finding::fault(
            format!("the bridge's lock {} is no JSON object", names.join(", ")),
            "the file was changed: start the bridge again",
        ),
        false => Finding::warning(
            format!("no JSON object: {}", names.join(", ")),
            "Claude Code takes its lines for folders: delete it if its program is gone",
        ),
    }
}

/// Locks can be read.
pub(super) fn readable(facts: &Facts) -> Finding {
    let why = |lock: &Lock| match &lock.text {
        LockText::Unreadable(why) => Some(format!("{}: {why}", path_of(lock))),
        LockText::Lines | LockText::Fields(_) => None,
    };
    let bad: Vec<String> = facts.locks.iter().filter_map(why).collect();
    let is_bridges = facts.bridge_lock().is_some_and(|lock| why(lock).is_some());
    match bad.is_empty() {
        true => Finding::fine("every lock can be read"),
        false if is_bridges => Finding::fault(
            format!("the bridge's lock cannot be read: {}", bad.join(", ")),
            "run Claude Code as the user who started the bridge",
        ),
        false => Finding::warning(
            format!("a lock cannot be read: {}", bad.join(", ")),
            "give it back to its owner, or delete it if its program is gone",
        ),
    }
}

/// Locks are named after a port.
pub(super) fn name(facts: &Facts) -> Finding {
    let bad: Vec<String> =
        facts.locks.iter().filter(|lock| lock.port.is_none()).map(path_of).collect();
    match bad.is_empty() {
        true => Finding::fine("every lock is named after a port"),
        false => Finding::note(
            format!("named after no port, so that nobody connects to it: {}", bad.join(", ")),
            "delete it if its program is gone",
        ),
    }
}

/// Locks are the user's.
pub(super) fn owner(facts: &Facts) -> Finding {
    let Some(user) = facts.user else { return Finding::fine("files have no owners here") };
    let other = |lock: &&Lock| lock.owner.is_some_and(|owner| owner != user);
    let others: Vec<String> = facts.locks.iter().filter(other).map(path_of).collect();
    match others.is_empty() {
        true => Finding::fine("every lock is yours"),
        false => Finding::warning(
            format!("you are user {user}, and these locks are another's: {}", others.join(", ")),
            "run the bridge, Claude Code and this as one user",
        ),
    }
}

//! What can be told of the machine: container or not, processes, programs, proxies.
//!
//! Linux tells most of it in `/proc`; elsewhere less is known and less is said.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::source::Env;

use super::facts::Machine;
use super::gather::text_of;

/// Levels of parents that Claude Code looks through for its editor.
const ANCESTORS_MAX: usize = 10;

/// Variables that send a program's connections through a proxy.
const PROXIES: [&str; 6] =
    ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/// Files that engines for containers leave in one.
const CONTAINER_FILES: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];

/// Looks.
pub fn look(env: Env<'_>) -> Machine {
    Machine {
        container: container(env),
        is_wsl: is_wsl(&fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default()),
        has_claude: has_program(env, "claude"),
        ancestors: ancestors(),
    }
}

/// The home folder, if one is set.
pub fn home(env: Env<'_>) -> Option<PathBuf> {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    text_of(env, name).map(PathBuf::from)
}

/// The variables that are set; their values may hold passwords and are not looked at.
pub fn proxies(env: Env<'_>) -> Vec<&'static str> {
    PROXIES.into_iter().filter(|name| env(name).is_some_and(|value| !value.is_empty())).collect()
}

fn container(env: Env<'_>) -> Option<String> {
    let file = CONTAINER_FILES.into_iter().find(|path| Path::new(path).exists());
    let variable = || text_of(env, "container").map(|_| "$container");
    let found = file.or_else(variable).map(str::to_owned);
    found.or_else(|| {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        is_nested(&status).then(|| "process numbers differ outside".to_owned())
    })
}

/// Whether `/proc/self/status` lists the process under a number in more than one namespace.
fn is_nested(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line.is_some_and(|numbers| numbers.split_whitespace().count() > 1)
}

fn is_wsl(release: &str) -> bool {
    release.to_lowercase().contains("microsoft")
}

fn has_program(env: Env<'_>, name: &str) -> bool {
    let path = env("PATH").unwrap_or_default();
    let ends: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
    std::env::split_paths(&path).any(|folder| {
        ends.iter().any(|end| {
            let found = fs::metadata(folder.join(format!("{name}{end}")));
            found.is_ok_and(|found| found.is_file() && is_executable(&found))
        })
    })
}

fn is_executable(found: &fs::Metadata) -> bool {
    let mode = crate::reactor::sys::owner_and_mode(found);
    mode.is_none_or(|(_, mode)| mode & 0o111 != 0)
}

/// Our parent, its parent, and so on.
fn ancestors() -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = parent_of("self");
    while let Some(pid) = next.filter(|pid| *pid > 0 && found.len() < ANCESTORS_MAX) {
        found.push(pid);
        next = parent_of(&pid.to_string());
    }
    found
}

fn parent_of(process: &str) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat_fields(&text)?.nth(1)?.parse().ok()
}

/// Whether the process was stopped by a signal; false where it cannot be told.
pub fn is_stopped(pid: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat_fields(&text).and_then(|mut fields| fields.next()).is_some_and(|state| state == "T")
}

/// The fields of `/proc/PID/stat` from the state on; the name before them may hold anything.
fn stat_fields(text: &str) -> Option<impl Iterator<Item = &str>> {
    Some(text.rsplit_once(')')?.1.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        let fields =
            |text: &'static str| stat_fields(text).map(|fields| fields.collect::<Vec<_>>());
        assert_eq!(fields("7 (a) b) T 3 9"), Some(vec!["T", "3", "9"]));
        assert_eq!(fields("7 a"), None);
    }

    #[test]
    fn namespaces_and_windows_kernels_are_known_by_their_files() {
        assert!(is_nested("Name:\tx\nNSpid:\t812\t7\n"));
        assert!(!is_nested("Name:\tx\nNSpid:\t812\n") && !is_nested(""));
        assert!(is_wsl("5.15.90.1-microsoft-standard-WSL2\n") && is_wsl("4.4.0-19041-Microsoft"));
        assert!(!is_wsl("6.1.0-18-amd64\n"));
    }
}

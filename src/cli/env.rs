//! `footbridge env`: the variables that join a Claude Code to the bridge, as lines for a shell.
//!
//! They name the port, so that the right bridge of several is taken, and keep connections to this
//! machine away from a proxy, whatever the environment said of it before.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};

use crate::config::source::Env;

use super::{chosen_bridge, complain, port_argument, say};

/// What must never go through a proxy.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A shell, by how it sets a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shell {
    /// sh, bash, zsh and their like.
    Posix,
    /// fish.
    Fish,
    /// PowerShell.
    Power,
}

/// What it takes, for clap.
pub fn command() -> Command {
    let shell = Arg::new("shell")
        .long("shell")
        .value_name("SHELL")
        .value_parser(["sh", "fish", "powershell"])
        .hide_possible_values(true)
        .help("sh, fish or powershell [by $SHELL]");
    Command::new("env").arg(shell).arg(port_argument()).after_help(
        "Exit codes: 0 printed, 1 no bridge, 2 usage\n\
         Example:    eval \"$(footbridge env)\" && claude      in fish: footbridge env | source",
    )
}

/// Prints the lines.
pub fn run(matches: &ArgMatches, env: Env<'_>) -> ExitCode {
    let shell = match matches.get_one::<String>("shell").map(String::as_str) {
        Some("fish") => Shell::Fish,
        Some("powershell") => Shell::Power,
        Some(_) => Shell::Posix,
        None => usual_shell(env),
    };
    let Some(bridge) = chosen_bridge(matches, env) else { return ExitCode::FAILURE };
    let mut text = String::new();
    for (name, value) in agent_environment(bridge.record.port, env) {
        let Some(value) = value.to_str() else {
            complain(&format!("{name} is no Unicode: unset it"));
            return ExitCode::FAILURE;
        };
        text += &line(shell, name, value);
    }
    say(&text);
    ExitCode::SUCCESS
}

/// The variables for an agent started beside the bridge on `port`, with what they are to be.
pub(super) fn agent_environment(port: u16, env: Env<'_>) -> [(&'static str, OsString); 4] {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    // Programs read the one or the other: what stands in only one of them must not be lost.
    let lower = set("no_proxy").or_else(|| set("NO_PROXY")).unwrap_or_default();
    let upper = set("NO_PROXY").or_else(|| set("no_proxy")).unwrap_or_default();
    [
        ("CLAUDE_CODE_SSE_PORT", OsString::from(port.to_string())),
        ("ENABLE_IDE_INTEGRATION", OsString::from("true")),
        ("no_proxy", with_loopback(lower)),
        ("NO_PROXY", with_loopback(upper)),
    ]
}

/// The list with the names of this machine in it; `*` has them already.
fn with_loopback(mut list: OsString) -> OsString {
    let text = list.to_string_lossy().into_owned();
    // An empty list, or one that ends in a comma, needs no other.
    let mut comma = if text.trim_end().ends_with(',') { "" } else { "," };
    if text.trim().trim_end_matches(',').is_empty() {
        list.clear();
        comma = "";
    }
    for name in LOOPBACK.iter().filter(|name| !has_entry(&text, name)) {
        list.push(comma);
        list.push(name);
        comma = ",";
    }
    list
}

/// Whether the environment keeps connections to 127.0.0.1 away from a proxy, whichever of the two
/// variables a program prefers.
pub(super) fn is_loopback_direct(env: Env<'_>) -> bool {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    let has = |list: Option<OsString>| {
        let list = list.unwrap_or_default().to_string_lossy().into_owned();
        has_entry(&list, "127.0.0.1")
    };
    has(set("no_proxy").or_else(|| set("NO_PROXY")))
        && has(set("NO_PROXY").or_else(|| set("no_proxy")))
}

/// Whether a list of hosts names one; `*` names all.
fn has_entry(list: &str, name: &str) -> bool {
    list.split([',', ' ']).any(|entry| entry == "*" || entry.trim().eq_ignore_ascii_case(name))
}

/// Fish and PowerShell by their names; every other shell is taken for one like sh.
fn usual_shell(env: Env<'_>) -> Shell {
    let shell = env("SHELL").unwrap_or_default();
    let name = std::path::Path::new(&shell).file_stem().and_then(OsStr::to_str);
    match name {
        Some("fish") => Shell::Fish,
        Some("pwsh" | "powershell") => Shell::Power,
        None if cfg!(windows) => Shell::Power,
        Some(_) | None => Shell::Posix,
    }
}

/// One assignment; the value is quoted whatever it holds.
fn line(shell: Shell, name: &str, value: &str) -> String {
    match shell {
        Shell::Posix => format!("export {name}='{}'\n", value.replace('\'', r"'\''")),
        Shell::Fish => {
            let value = value.replace('\\', r"\\").replace('\'', r"\'");
            format!("set -gx {name} '{value}'\n")
        }
        Shell::Power => format!("$env:{name} = '{}'\n", value.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "localhost,127.0.0.1,::1";

    #[track_caller]
    fn check(given: &[(&str, &str)], lower: &str, upper: &str) {
        let env = |name: &str| {
            given.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        let expected = [
            ("CLAUDE_CODE_SSE_PORT", OsString::from("40000")),
            ("ENABLE_IDE_INTEGRATION", OsString::from("true")),
            ("no_proxy", OsString::from(lower)),
            ("NO_PROXY", OsString::from(upper)),
        ];
        assert_eq!(agent_environment(40_000, &env), expected, "{given:?}");
    }

    #[test]
    fn loopback_never_goes_through_a_proxy() {
        check(&[], ALL, ALL);
        check(&[("no_proxy", ""), ("NO_PROXY", " ")], ALL, ALL);
        check(&[("http_proxy", "http://127.0.0.1:1")], ALL, ALL);
        let both = format!("corp,{ALL}");
        check(&[("no_proxy", "corp")], &both, &both);
        check(&[("NO_PROXY", "corp")], &both, &both);
        check(&[("no_proxy", "a"), ("NO_PROXY", "b")], &format!("a,{ALL}"), &format!("b,{ALL}"));
        check(&[("no_proxy", ALL), ("NO_PROXY", ALL)], ALL, ALL);
        let some = "LOCALHOST, ::1,x";
        check(&[("no_proxy", some)], "LOCALHOST, ::1,x,127.0.0.1", "LOCALHOST, ::1,x,127.0.0.1");
        check(&[("no_proxy", "*")], "*", "*");
        check(&[("no_proxy", "a,*"), ("NO_PROXY", "b")], "a,*", &format!("b,{ALL}"));
        check(&[("no_proxy", "a,")], &format!("a,{ALL}"), &format!("a,{ALL}"));
        let near = format!(".localhost,127.0.0.10,{ALL}");
        check(&[("no_proxy", ".localhost,127.0.0.10")], &near, &near);
    }

    #[test]
    fn a_proxy_is_kept_away_by_either_variable_unless_the_other_says_otherwise() {
        let check = |given: &[(&str, &str)], expected: bool| {
            let env = |name: &str| {
                given.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
            };
            assert_eq!(is_loopback_direct(&env), expected, "{given:?}");
        };
        check(&[], false);
        check(&[("no_proxy", "corp,127.0.0.1")], true);
        check(&[("NO_PROXY", "*")], true);
        check(&[("no_proxy", "127.0.0.1"), ("NO_PROXY", "corp")], false);
        check(&[("no_proxy", "localhost"), ("NO_PROXY", "127.0.0.1")], false);
        check(&[("no_proxy", "127.0.0.10")], false);
    }

    #[cfg(unix)]
    #[test]
    fn a_list_that_is_no_unicode_keeps_its_bytes() {
        use std::os::unix::ffi::OsStringExt;
        let list = with_loopback(OsString::from_vec(b"\xff".to_vec()));
        assert_eq!(list.into_vec(), [b"\xff,", ALL.as_bytes()].concat());
    }

    #[test]
    fn a_line_is_what_its_shell_reads() {
        for (shell, expected) in [
            (Shell::Posix, "export A='it'\\''s \\ $x'\n"),
            (Shell::Fish, "set -gx A 'it\\'s \\\\ $x'\n"),
            (Shell::Power, "$env:A = 'it''s \\ $x'\n"),
        ] {
            assert_eq!(line(shell, "A", "it's \\ $x"), expected);
        }
    }

    #[test]
    fn the_shell_is_known_by_its_name() {
        for (shell, expected) in [
            ("/bin/bash", Shell::Posix),
            ("/usr/bin/fish", Shell::Fish),
            ("/opt/pwsh", Shell::Power),
            ("zsh", Shell::Posix),
        ] {
            assert_eq!(usual_shell(&|_| Some(OsString::from(shell))), expected, "{shell}");
        }
    }
}

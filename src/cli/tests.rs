use std::collections::BTreeMap;

use super::serve::settings;
use super::*;
use crate::config::flag::FLAGS;
use crate::config::source::Setting;

#[track_caller]
fn parse(line: &str) -> Result<BTreeMap<&'static str, Setting>, clap::Error> {
    let words = std::iter::once("footbridge").chain(line.split_whitespace());
    let matches = command().try_get_matches_from(words)?;
    Ok(match matches.subcommand() {
        Some((_, matches)) => settings(matches),
        None => settings(&matches),
    })
}

#[track_caller]
fn check_refused(line: &str, expected: &str) {
    let error = parse(line).expect_err(line);
    let args: Vec<OsString> = format!("footbridge {line}").split(' ').map(OsString::from).collect();
    let expected = match expected.contains(" (see") {
        true => expected.to_owned(),
        false => format!("{expected} (see footbridge serve --help)"),
    };
    assert_eq!(complaint(&error, &args), expected, "{line}");
}

#[test]
fn the_command_may_be_left_out() {
    let values = |texts: &[&str]| Setting::Values(texts.iter().map(OsString::from).collect());
    let line = "--port 1 --workspace a --join --workspace b --ping-interval -1";
    let expected = BTreeMap::from([
        ("port", values(&["1"])),
        ("workspace", values(&["a", "b"])),
        ("join", Setting::Switch(true)),
        ("ping-interval", values(&["-1"])),
    ]);
    assert_eq!(parse(line).unwrap(), expected);
    assert_eq!(parse(&format!("serve {line}")).unwrap(), expected);
    assert_eq!(parse("").unwrap(), BTreeMap::new());
}

#[test]
fn a_wrong_argument_gets_one_line_with_what_to_do() {
    check_refused("--prot 1", "unknown argument \"--prot\", did you mean \"--port\"?");
    check_refused(
        "serve --no-lokc-file",
        "unknown argument \"--no-lokc-file\", did you mean \"--no-lock-file\"?",
    );
    check_refused("--zzz", "unknown argument \"--zzz\"");
    check_refused("-x", "unknown argument \"-x\"");
    check_refused(
        "serv",
        "unknown command \"serv\", did you mean \"serve\"? (see footbridge --help)",
    );
    check_refused("zzz", "unknown command \"zzz\" (see footbridge --help)");
    check_refused("serve zzz", "unknown argument \"zzz\"");
    check_refused("--port", "\"--port\" needs a value");
    check_refused("--join=1", "\"--join\" takes no value, but got \"1\"");
    check_refused("--port 1 --port 2", "\"--port\" can be given only once");
    check_refused("--port 1 serve", "flags stand after the command");
}

#[test]
fn a_verb_says_what_it_lacks() {
    let check = |line: &str, expected: &str| {
        let verb = line.split(' ').next().unwrap_or_default();
        check_refused(line, &format!("{expected} (see footbridge {verb} --help)"));
    };
    check("mention", "\"<FILE[:L1[-L2]]>\" is missing");
    check("mention a b", "unknown argument \"b\"");
    check("mention --wiat 1 a", "unknown argument \"--wiat\", did you mean \"--wait\"?");
    check("mention --wait x a", "\"--wait\" cannot be \"x\": a number from 0 to 86400");
    check("status --port 0", "\"--port\" cannot be \"0\": 0 is not in 1..=65535");
    check("status --port x", "\"--port\" cannot be \"x\": invalid digit found in string");
    check("select", "\"<FILE:L:C[-L:C]|--clear>\" is missing");
    check("select --clear a:1:1", "\"--clear\" and \"[FILE:L:C[-L:C]]\" exclude each other");
    check(
        "select a:1:1 --columns x",
        "\"--columns\" is \"characters\" or \"bytes\" or \"utf16\", not \"x\"",
    );
    check("select --text -", "\"<FILE:L:C[-L:C]|--clear>\" is missing");
    check("select a:1:1 --text x", "\"--text\" is \"-\", not \"x\"");
    check("call", "\"<TOOL>\" is missing");
    check("completions tcsh", "\"<SHELL>\" is \"bash\" or \"fish\" or \"zsh\", not \"tcsh\"");
}

#[test]
fn every_help_fits_a_screen_and_tells_its_exit_codes() {
    for row in SUBCOMMANDS.iter().chain(&HIDDEN) {
        let help =
            parse(&format!("{} --help", row.name)).expect_err("help is asked for").to_string();
        assert!(help.lines().count() <= 24, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 84), "{help}");
        assert!(row.name == "serve" || help.contains(row.help), "{help}");
        assert!(help.contains("Exit codes: "), "{help}");
    }
}

#[test]
fn the_readme_table_has_a_row_a_command() {
    let table = markdown_table();
    assert_eq!(table.lines().count(), SUBCOMMANDS.len() + 2);
    assert!(table.contains("| `footbridge mention FILE[:L1[-L2]]` | put "), "{table}");
    assert!(!table.contains("completions"), "{table}");
}

#[test]
fn help_fits_a_screen_and_names_every_flag() {
    for (line, names_flags) in [("--help", false), ("serve --help", true)] {
        let help = parse(line).expect_err("help is asked for").to_string();
        assert!(help.lines().count() <= 24, "{} lines: {line}", help.lines().count());
        assert!(help.lines().all(|line| line.len() <= 84), "{help}");
        let has_all = FLAGS.iter().all(|flag| help.contains(&format!("  --{}", flag.name)));
        assert_eq!(has_all, names_flags, "{help}");
    }
    let version = parse("--version").expect_err("the version is asked for").to_string();
    assert_eq!(version, format!("footbridge {VERSION}\n"));
}

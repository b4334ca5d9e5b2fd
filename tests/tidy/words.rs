//! Words that do not stand in this project: unfinished work, names that say nothing, places on one
//! developer's machine, and a protocol's dates outside the one table that compares them.

use crate::tree::{Tree, has_word};
use crate::{check, the_tree_obeys};

/// Marks of work left lying, wherever they stand. Split here, so that this file may name them.
const UNFINISHED: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("dbg", "!("),
    concat!("unimplemented", "!("),
];

/// Parts of names that say nothing, and what to do about it.
const EMPTY_NAMES: [(&str, &str); 7] = [
    ("manager", "name what it keeps or decides"),
    ("util", "put it where it is used, or in stdx under its own name"),
    ("utils", "put it where it is used, or in stdx under its own name"),
    ("helper", "name what it does"),
    ("helpers", "name what they do"),
    ("packet", "RFC 6455 has frames, fragments and messages"),
    ("invocation", "a tool in use is a call"),
];

/// Beginnings of function names that add nothing to the noun or verb behind them.
const EMPTY_VERBS: [&str; 3] = ["get_", "do_", "perform_"];

/// Where a revision of the protocol may be spelled out.
const REVISION_HOMES: [&str; 2] = ["src/mcp/revision", "src/mcp/era/"];

/// Unfinished work.
fn unfinished(tree: &Tree) -> Vec<String> {
    let mut offences = Vec::new();
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            for word in UNFINISHED.iter().filter(|word| has_word(line, word)) {
                offences.push(file.offence(index, &format!("`{word}`: finish it or leave it out")));
            }
        }
    }
    offences
}

/// Names in Rust code that say nothing.
fn empty_names(tree: &Tree) -> Vec<String> {
    let mut offences = Vec::new();
    for file in tree.rust() {
        for (index, line) in file.code().lines().enumerate() {
            for name in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
                for (part, advice) in EMPTY_NAMES.iter().filter(|(part, _)| has_part(name, part)) {
                    offences.push(file.offence(index, &format!("`{name}`: {part}? {advice}")));
                }
            }
            if has_word(line, "mod prelude") || has_word(line, "crate::prelude") {
                offences.push(file.offence(index, "`prelude`: import what is used"));
            }
            let function = line.split_once("fn ").map_or("", |(_, name)| name);
            let is_std_name = function.starts_with("get_mut(");
            for verb in
                EMPTY_VERBS.iter().filter(|verb| function.starts_with(**verb) && !is_std_name)
            {
                offences.push(file.offence(index, &format!("`{verb}…`: say it without `{verb}`")));
            }
        }
    }
    offences
}

/// Whether `snake_case` or `CamelCase` has that word in it.
fn has_part(name: &str, part: &str) -> bool {
    let mut spaced = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        if c.is_uppercase() {
            spaced.push('_');
        }
        spaced.extend(c.to_lowercase());
    }
    spaced.split('_').any(|word| word == part)
}

/// Dates such as MCP's revisions in the program outside their table. Tests and prose may name them.
fn revisions(tree: &Tree) -> Vec<String> {
    let mut offences = Vec::new();
    let files = tree.src().filter(|file| !file.is_test());
    for file in files.filter(|file| !REVISION_HOMES.iter().any(|home| file.path.starts_with(home)))
    {
        let text = file.uncommented();
        for (index, line) in text.lines().enumerate().take(file.lines_before_tests()) {
            if let Some(date) = date_in(line) {
                let what = format!("{date}: a revision is named in src/mcp/revision.rs only");
                offences.push(file.offence(index, &what));
            }
        }
    }
    offences
}

/// The first `20dd-dd-dd` of a line.
fn date_in(line: &str) -> Option<&str> {
    let is_date = |date: &str| {
        let digits =
            |range: std::ops::Range<usize>| date[range].bytes().all(|byte| byte.is_ascii_digit());
        date.starts_with("20")
            && digits(2..4)
            && digits(5..7)
            && digits(8..10)
            && &date[4..5] == "-"
            && &date[7..8] == "-"
    };
    (0..line.len())
        .filter_map(|at| line.get(at..at + 10))
        .find(|date| date.is_ascii() && is_date(date))
}

/// Folders of one machine.
fn machine_paths(tree: &Tree) -> Vec<String> {
    let here = env!("CARGO_MANIFEST_DIR");
    let homes = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Use", "rs/")];
    let mut offences = Vec::new();
    for file in tree.files.iter().filter(|file| file.path != "Cargo.lock") {
        for (index, line) in file.text.lines().enumerate() {
            let is_here = has_word(line, here);
            let is_home = homes.iter().any(|home| {
                line.match_indices(home).any(|(at, _)| !is_example(&line[at + home.len()..]))
            });
            if is_here || is_home {
                offences.push(file.offence(index, "names a folder of one machine"));
            }
        }
    }
    offences
}

/// Names that stand for anybody in documentation and tests, or for no name at all.
fn is_example(rest: &str) -> bool {
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    name.is_empty() || ["me", "you", "user", "ann", "anna", "alice", "bob"].contains(&name.as_str())
}

#[test]
fn nothing_is_left_unfinished() {
    the_tree_obeys(unfinished);
}

#[test]
fn unfinished_work_is_found() {
    for word in UNFINISHED {
        check(unfinished, &[("README.md", &format!("a\n{word} b"))], &["README.md:2 finish it"]);
    }
    check(unfinished, &[("src/a.rs", "enum Todo { A }\nfn todo() {}")], &[]);
}

#[test]
fn names_say_something() {
    the_tree_obeys(empty_names);
}

#[test]
fn a_name_that_says_nothing_is_found() {
    check(empty_names, &[("src/a.rs", "struct ClientManager;")], &["src/a.rs:1 manager"]);
    check(empty_names, &[("src/a.rs", "mod string_utils;")], &["src/a.rs:1 utils"]);
    check(empty_names, &[("tests/a.rs", "mod prelude;")], &["tests/a.rs:1 import what is used"]);
    check(empty_names, &[("tests/a.rs", "use proptest::prelude::*;")], &[]);
    check(empty_names, &[("src/a.rs", "pub fn get_port() {}")], &["src/a.rs:1 `get_…`"]);
    check(empty_names, &[("src/a.rs", "fn get_mut(&mut self) {} // a helper")], &[]);
}

#[test]
fn revisions_are_named_in_their_table_only() {
    the_tree_obeys(revisions);
}

#[test]
fn a_revision_outside_its_table_is_found() {
    let line = "if version == \"2025-11-25\" {}";
    check(revisions, &[("src/mcp/server.rs", line)], &["src/mcp/server.rs:1 2025-11-25"]);
    check(revisions, &[("src/mcp/revision.rs", line), ("tests/it/a.rs", line)], &[]);
    check(revisions, &[("src/mcp/server/tests.rs", line), ("README.md", line)], &[]);
    check(revisions, &[("src/a.rs", "// since 2025-11-25\nlet a = \"12025-11-2\";")], &[]);
}

#[test]
fn no_folder_of_one_machine_is_named() {
    the_tree_obeys(machine_paths);
}

#[test]
fn a_folder_of_one_machine_is_found() {
    let home = concat!("/ho", "me/");
    let found = ["README.md:1 one machine"];
    check(machine_paths, &[("README.md", &format!("see {home}jdoe42/x"))], &found);
    check(machine_paths, &[("README.md", concat!(env!("CARGO_MANIFEST_DIR"), "/src"))], &found);
    check(machine_paths, &[("README.md", &format!("see {home}me/project"))], &[]);
}

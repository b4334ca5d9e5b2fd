//! What a file looks like from outside: its length and its first lines.

use crate::tree::{File, Tree};
use crate::{check, the_tree_obeys};

/// Lines of a file of code. Longer ones hide a second idea.
const LINES_MAX: usize = 800;

/// Files that are mostly one table, and why they may be longer.
const TABLES: [(&str, &str); 0] = [];

/// Characters of prose under which a module's documentation says nothing.
const DOC_CHARS_MIN: usize = 30;

/// Files that are too long.
fn lengths(tree: &Tree) -> Vec<String> {
    let mut offences = Vec::new();
    for file in tree.files.iter().filter(|file| is_code(file)) {
        let lines = file.text.lines().count();
        if lines > LINES_MAX && TABLES.iter().all(|(path, _)| *path != file.path) {
            let what = format!("{lines} lines, at most {LINES_MAX}: split it by ideas");
            offences.push(file.offence(LINES_MAX, &what));
        }
    }
    offences
}

/// Rust, Python, and what has no extension: scripts.
fn is_code(file: &File) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let is_script = file.path.starts_with("scripts/") || file.path.starts_with(".ci/");
    name.ends_with(".rs") || name.ends_with(".py") || (is_script && !name.contains('.'))
}

/// Source files that do not say what they are. Files of unit tests are told by their parent.
fn module_docs(tree: &Tree) -> Vec<String> {
    let mut offences = Vec::new();
    for file in tree.rust().filter(|file| !(file.is_test() && file.path.starts_with("src/"))) {
        let doc: Vec<&str> =
            file.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        let prose = doc.join(" ");
        if prose.len() < DOC_CHARS_MIN || !prose.contains('.') {
            offences.push(file.offence(0, "opens without a `//!` sentence that says what it is"));
        } else if prose.to_lowercase().contains("under construction") {
            offences
                .push(file.offence(0, "says that it is not there yet: write it or leave it out"));
        }
    }
    offences
}

#[test]
fn no_file_is_longer_than_it_may_be() {
    the_tree_obeys(lengths);
}

#[test]
fn a_file_that_is_too_long_is_found() {
    let (full, over) = ("x\n".repeat(LINES_MAX), "x\n".repeat(LINES_MAX + 1));
    check(lengths, &[("src/a.rs", &full), ("README.md", &over), ("Cargo.lock", &over)], &[]);
    for path in ["src/a.rs", "scripts/a.py", "scripts/a", ".ci/run", "tests/it/a.rs"] {
        check(lengths, &[(path, &over)], &[&format!("{path}:801 801 lines")]);
    }
}

#[test]
fn every_file_says_what_it_is() {
    the_tree_obeys(module_docs);
}

#[test]
fn a_file_that_does_not_say_what_it_is_is_found() {
    let first = ["src/a.rs:1 opens without"];
    check(module_docs, &[("src/a.rs", "use std::io;\n")], &first);
    check(module_docs, &[("src/a.rs", "//! Frames.\n")], &first);
    check(module_docs, &[("src/a.rs", "//! Words and words and words without an end\n")], &first);
    check(module_docs, &[("src/a.rs", "\n//! Words and words and words, but too late.\n")], &first);
    let unwritten = "//! Under construction, so says nothing of use.\n";
    check(module_docs, &[("src/a.rs", unwritten)], &["src/a.rs:1 not there yet"]);
    check(module_docs, &[("src/a.rs", "//! The frames of a message,\n//! one by one.\n")], &[]);
    check(module_docs, &[("src/a/tests.rs", "use super::*;\n")], &[]);
    check(module_docs, &[("tests/it/a.rs", "use std::io;\n")], &["tests/it/a.rs:1 opens"]);
}

//! tests/INVARIANTS.md: every requirement has a test that exists.
//!
//! A row of its tables is `| source | requirement | test |`. The last cell names test functions,
//! transcripts by path, or `script.py scenario` for a script under scripts/, each in backticks; or
//! it says `not applicable: reason`. A question mark is a debt and fails.

use std::collections::BTreeSet;

use crate::tree::Tree;
use crate::{check, the_tree_obeys};

const PAGE: &str = "tests/INVARIANTS.md";

/// Rows that name no test, or one that is not there.
fn untested(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.file(PAGE) else { return vec![format!("{PAGE}: missing")] };
    let tests = test_names(tree);
    let mut offences = Vec::new();
    if !page.text.lines().any(|line| line.starts_with("| 000 |")) {
        offences.push(page.offence(0, "names no invariant of the server, source `000`"));
    }
    for (index, line) in page.text.lines().enumerate() {
        let Some(cells) = cells(line) else { continue };
        if cells.len() != 3 {
            offences.push(page.offence(index, "a row has three cells: source, requirement, test"));
            continue;
        }
        let proof = cells[2];
        if proof == "test" || proof.starts_with("---") {
            continue;
        }
        if let Some(reason) = proof.strip_prefix("not applicable: ") {
            if reason.len() < 10 {
                offences.push(page.offence(index, "not applicable needs its reason"));
            }
            continue;
        }
        let named: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
        if named.is_empty() || proof.contains('?') {
            offences.push(page.offence(index, &format!("no test yet for: {}", cells[1])));
        }
        for name in named.iter().filter(|name| !is_there(tree, &tests, name)) {
            offences.push(page.offence(index, &format!("there is no test `{name}`")));
        }
    }
    offences
}

/// The cells of a table's row.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.strip_prefix("| ").or(line.strip_prefix("|--"))?.trim_end().strip_suffix('|')?;
    Some(row.split('|').map(str::trim).collect())
}

/// Names of functions marked `#[test]`, or listed for the macro that marks them.
fn test_names(tree: &Tree) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in tree.rust() {
        let code = file.code();
        let (mut is_marked, mut is_listed) = (false, false);
        for line in code.lines().map(str::trim) {
            if line == "#[test]" {
                is_marked = true;
            } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_marked) {
                names.extend(rest.split('(').next().map(str::to_owned));
                is_marked = false;
            }
            if is_listed {
                names.extend(line.split([',', ' ']).map(str::to_owned));
            }
            is_listed = (is_listed || line == "on_both_kernels!(") && !line.starts_with(')');
        }
    }
    names
}

/// A test function, a transcript, or a script that knows the scenario.
fn is_there(tree: &Tree, tests: &BTreeSet<String>, name: &str) -> bool {
    if name.starts_with("tests/") {
        return tree.file(name).is_some();
    }
    let Some((script, scenario)) = name.split_once(' ') else { return tests.contains(name) };
    tree.file(&format!("scripts/{script}")).is_some_and(|file| file.text.contains(scenario))
}

#[test]
fn every_requirement_has_its_test() {
    the_tree_obeys(untested);
}

#[test]
fn a_requirement_without_its_test_is_found() {
    let check_row = |row: &str, expected: &[&str]| {
        let page = format!("# A\n\n| source | requirement | test |\n|---|---|---|\n{row}\n");
        let test =
            ("src/a.rs", "#[test]\nfn it_works() {}\nfn no_test() {}\n// #[test]\nfn c() {}");
        let listed =
            ("tests/sim/a.rs", "on_both_kernels!(\n    in_order,\n    once,\n);\nfn d() {}");
        let script = ("scripts/slow_reader.py", "'no-pong'");
        let transcript = ("tests/data/mcp/1/ids.txt", "> {}");
        check(untested, &[(PAGE, &page), test, listed, script, transcript], expected);
    };
    check_row("| 000 | works | `it_works` |", &[]);
    check_row("| 000 | works | `slow_reader.py no-pong`, `it_works` |", &[]);
    check_row("| 000 | works | `in_order`, `once`, `tests/data/mcp/1/ids.txt` |", &[]);
    check_row("| 000 | works | `d` |", &["tests/INVARIANTS.md:5 no test `d`"]);
    check_row("| 000 | works | `tests/data/a.txt` |", &["tests/INVARIANTS.md:5 no test"]);
    check_row("| 000 | works | not applicable: there is no such thing here |", &[]);
    check_row("| 000 | works | ? |", &["tests/INVARIANTS.md:5 no test yet for: works"]);
    check_row("| 000 | works | `it_works` and ? |", &["tests/INVARIANTS.md:5 no test yet"]);
    check_row("| 000 | works | it_works |", &["tests/INVARIANTS.md:5 no test yet"]);
    check_row("| 000 | works | `it_worked` |", &["tests/INVARIANTS.md:5 no test `it_worked`"]);
    check_row(
        "| 000 | works | `no_test`, `c` |",
        &["tests/INVARIANTS.md:5 `no_test`", "tests/INVARIANTS.md:5 `c`"],
    );
    check_row("| 000 | works | `slow_reader.py yes` |", &["tests/INVARIANTS.md:5 no test `slow"]);
    check_row("| 000 | works | not applicable: |", &["tests/INVARIANTS.md:5 no test yet"]);
    check_row("| 000 | works |", &["tests/INVARIANTS.md:5 three cells"]);
    check(untested, &[(PAGE, "# A\n")], &["tests/INVARIANTS.md:1 names no invariant"]);
    check(untested, &[], &["tests/INVARIANTS.md: missing"]);
}

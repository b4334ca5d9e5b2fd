//! Cargo.toml: every dependency stands there with its reason, on its line.

use crate::tree::Tree;
use crate::{check, the_tree_obeys};

/// Shorter reasons are none.
const REASON_CHARS_MIN: usize = 8;

/// Dependencies without a reason.
fn reasons(tree: &Tree) -> Vec<String> {
    let Some(manifest) = tree.file("Cargo.toml") else { return vec!["Cargo.toml: missing".into()] };
    let mut offences = Vec::new();
    let mut is_dependencies = false;
    for (index, line) in manifest.text.lines().enumerate() {
        if let Some(section) = line.strip_prefix('[') {
            is_dependencies = section.trim_end_matches(']').ends_with("dependencies");
            if section.contains("dependencies.") {
                let what = "a dependency is one line of a table, with its reason behind it";
                offences.push(manifest.offence(index, what));
            }
            continue;
        }
        if !is_dependencies || line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        // No version, name or feature contains a `#`.
        let reason = line.split_once('#').map_or("", |(_, reason)| reason.trim());
        if reason.len() < REASON_CHARS_MIN {
            offences.push(manifest.offence(index, "a dependency without a reason on its line"));
        }
    }
    offences
}

#[test]
fn every_dependency_has_its_reason() {
    the_tree_obeys(reasons);
}

#[test]
fn a_dependency_without_a_reason_is_found() {
    let found = ["Cargo.toml:2 without a reason"];
    check(reasons, &[("Cargo.toml", "[dependencies]\nmio = \"1\"\n")], &found);
    check(reasons, &[("Cargo.toml", "[dependencies]\nmio = \"1\" # ok\n")], &found);
    check(reasons, &[("Cargo.toml", "[dev-dependencies]\ntempfile = \"3\"\n")], &found);
    check(
        reasons,
        &[("Cargo.toml", "[target.'cfg(unix)'.dependencies]\nrustix = \"1\"\n")],
        &found,
    );
    let apart = ["Cargo.toml:1 one line of a table"];
    check(reasons, &[("Cargo.toml", "[dependencies.mio]\n")], &apart);
    check(reasons, &[("Cargo.toml", "[package]\nname = \"a\"\n[dependencies]\n")], &[]);
    check(reasons, &[("Cargo.toml", "[dependencies]\nmio = \"1\"  # epoll and kqueue\n")], &[]);
}

//! CHANGELOG.md: the shape of Keep a Changelog, written for users.

use crate::tree::{File, Tree};
use crate::{check, the_tree_obeys};

/// The groups of a release.
const GROUPS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// Signs of internals in an entry.
const INTERNALS: [&str; 6] = ["src/", ".rs", "::", "refactor", "commit", "clippy"];

/// Where the change log departs from its shape.
fn shape(tree: &Tree) -> Vec<String> {
    let Some(file) = tree.file("CHANGELOG.md") else {
        return vec!["CHANGELOG.md: missing".into()];
    };
    let mut offences = Vec::new();
    check_releases(file, &mut offences);
    check_entries(file, &mut offences);
    offences
}

/// Releases: `Unreleased` first, each with a version, a date and an opening sentence.
fn check_releases(file: &File, offences: &mut Vec<String>) {
    let lines: Vec<&str> = file.text.lines().collect();
    let releases = || lines.iter().enumerate().filter(|(_, line)| line.starts_with("## "));
    if lines.first() != Some(&"# Changelog") {
        offences.push(file.offence(0, "begins with `# Changelog`"));
    }
    if releases().next().map(|(_, line)| *line) != Some("## Unreleased") {
        offences.push(file.offence(0, "the first release is `## Unreleased`, always"));
    }
    for (index, line) in releases().skip(1) {
        let is_named = line[3..].split_once(" - ").is_some_and(|(version, date)| {
            let is_number = |text: &str| text.parse::<u32>().is_ok();
            version.split('.').filter(|part| is_number(part)).count() == 3
                && date.split('-').filter(|part| is_number(part)).count() == 3
        });
        if !is_named {
            offences.push(file.offence(index, "a release is `## 1.2.3 - 2030-01-31`"));
        }
    }
    for (index, _) in releases() {
        let next = lines[index + 1..].iter().find(|line| !line.is_empty()).unwrap_or(&"");
        if next.starts_with(['#', '-']) || next.is_empty() {
            offences
                .push(file.offence(index, "a release opens with a sentence on what it is about"));
        }
    }
}

/// Groups and entries: known headings, entries that begin with `- `, nothing but what a user sees.
fn check_entries(file: &File, offences: &mut Vec<String>) {
    let mut is_in_group = false;
    for (index, line) in file.text.lines().enumerate() {
        if let Some(group) = line.strip_prefix("### ") {
            is_in_group = true;
            if !GROUPS.contains(&group) {
                let what = format!("`{group}` is not one of {}", GROUPS.join(", "));
                offences.push(file.offence(index, &what));
            }
            continue;
        }
        is_in_group &= !line.starts_with("## ");
        if !is_in_group || line.is_empty() {
            continue;
        }
        if !line.starts_with("- ") && !line.starts_with("  ") {
            offences.push(
                file.offence(index, "an entry begins with `- `, its further lines with two spaces"),
            );
        }
        let lower = line.to_lowercase();
        if let Some(word) = INTERNALS.iter().find(|word| lower.contains(**word)) {
            offences.push(file.offence(index, &format!("`{word}`: tell what a user sees")));
        }
    }
}

#[test]
fn the_change_log_has_its_shape() {
    the_tree_obeys(shape);
}

#[track_caller]
fn check_text(text: &str, expected: &[&str]) {
    check(shape, &[("CHANGELOG.md", text)], expected);
}

#[test]
fn a_change_log_out_of_shape_is_found() {
    let head = "# Changelog\n\n## Unreleased\n\nAll new.\n";
    check_text(&format!("{head}\n### Added\n\n- A door,\n  wide open.\n"), &[]);
    check_text(&format!("{head}\n## 1.2.3 - 2030-01-31\n\nThe first.\n"), &[]);
    check_text(&head[12..], &["CHANGELOG.md:1 begins with"]);
    check_text("# Changelog\n\n## 1.0.0 - 2030-01-31\n\nWords.\n", &["CHANGELOG.md:1 always"]);
    check_text("# Changelog\n\n## Unreleased\n\n### Added\n", &["CHANGELOG.md:3 sentence"]);
    check_text(&format!("{head}\n## 1.0\n\nWords.\n"), &["CHANGELOG.md:7 a release is"]);
    check_text(&format!("{head}\n### News\n"), &["CHANGELOG.md:7 `News`"]);
    check_text(&format!("{head}\n### Added\n\n* A door.\n"), &["CHANGELOG.md:9 begins with `- `"]);
    let internals = format!("{head}\n### Added\n\n- Split src/bridge.\n");
    check_text(&internals, &["CHANGELOG.md:9 what a user sees"]);
    check(shape, &[], &["CHANGELOG.md: missing"]);
}

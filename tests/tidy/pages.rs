//! Pages for people: links lead somewhere, and tables made from code are what the code says.
//!
//! A generated table stands between `<!-- generated: NAME -->` and `<!-- end -->`. The failure
//! prints the text to paste.

use crate::tree::{File, Tree};
use crate::{check, the_tree_obeys};

/// A name in a page and the function that writes what stands there.
type Table = (&'static str, fn() -> String);

/// Every generated table.
const TABLES: [Table; 4] = [
    ("checks", footbridge::cli::doctor::markdown_table),
    ("commands", footbridge::cli::markdown_table),
    ("tools", footbridge::tools::markdown_table),
    ("flags", footbridge::config::flag::markdown_table),
];

/// Links to files and headings that are not there.
fn links(tree: &Tree) -> Vec<String> {
    let mut offences = Vec::new();
    for file in tree.pages() {
        for (index, line) in lines_of_prose(file) {
            for target in targets(line).filter(|target| !leads_somewhere(tree, file, target)) {
                offences.push(file.offence(index, &format!("`{target}` leads nowhere")));
            }
        }
    }
    offences
}

/// Lines outside code blocks.
fn lines_of_prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    file.text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The `b` of every `[a](b)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

fn leads_somewhere(tree: &Tree, from: &File, target: &str) -> bool {
    if target.starts_with("https://") || target.starts_with("http://") {
        return true;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = from.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if path.is_empty() { from.path.clone() } else { join(folder, path) };
    match tree.file(&path) {
        Some(page) => heading.is_empty() || headings(page).any(|found| found == heading),
        None => heading.is_empty() && tree.has(&path),
    }
}

fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings.
fn headings(page: &File) -> impl Iterator<Item = String> {
    lines_of_prose(page).filter_map(|(_, line)| {
        let text = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
        let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
    })
}

/// Generated tables that are not what the code says.
fn stale_tables(tree: &Tree) -> Vec<String> {
    stale(tree, &TABLES)
}

fn stale(tree: &Tree, tables: &[Table]) -> Vec<String> {
    let mut offences = Vec::new();
    for file in tree.pages() {
        let lines: Vec<&str> = file.text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(name) = line.strip_prefix("<!-- generated: ") else { continue };
            let name = name.trim_end_matches(" -->");
            let Some((_, table)) = tables.iter().find(|(known, _)| *known == name) else {
                offences.push(file.offence(index, &format!("nothing writes the table `{name}`")));
                continue;
            };
            let end = lines[index..].iter().position(|line| *line == "<!-- end -->");
            let Some(end) = end else {
                offences.push(file.offence(index, "no `<!-- end -->` behind it"));
                continue;
            };
            let found = lines[index + 1..index + end].join("\n");
            let expected = table();
            if found.trim() != expected.trim() {
                offences.push(file.offence(index, &format!("`{name}` should be\n{expected}")));
            }
        }
    }
    offences
}

#[test]
fn links_lead_somewhere() {
    the_tree_obeys(links);
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let page = "# One page\n\n[a](b.md)\n";
    check(links, &[("README.md", page)], &["README.md:3 `b.md`"]);
    check(links, &[("README.md", page), ("b.md", "")], &[]);
    check(links, &[("docs/a.md", "[b](../b.md) [c](c/)"), ("b.md", ""), ("docs/c/d", "")], &[]);
    check(links, &[("docs/a.md", "[b](b.md)"), ("b.md", "")], &["docs/a.md:1 nowhere"]);
    check(links, &[("README.md", "# One page\n[a](#one-page)")], &[]);
    check(links, &[("README.md", "# One page\n[a](#two-pages)")], &["README.md:2 nowhere"]);
    check(links, &[("README.md", "[a](b.md#c)"), ("b.md", "## D\n")], &["README.md:1 nowhere"]);
    check(links, &[("README.md", "[a](https://b.example/c)\n```\n[a](b)\n```\n")], &[]);
}

#[test]
fn generated_tables_are_what_the_code_says() {
    the_tree_obeys(stale_tables);
}

#[test]
fn a_stale_table_is_found() {
    fn stale_numbers(tree: &Tree) -> Vec<String> {
        stale(tree, &[("numbers", || "| one |\n| two |\n".into())])
    }
    let page = |body: &str| format!("# A\n\n<!-- generated: numbers -->\n{body}\n<!-- end -->\n");
    check(stale_numbers, &[("README.md", &page("| one |\n| two |"))], &[]);
    check(stale_numbers, &[("README.md", &page("| one |\n| 2 |"))], &["README.md:3 should be"]);
    check(stale_numbers, &[("README.md", &page(""))], &["README.md:3 should be"]);
    let unknown = "<!-- generated: letters -->\n<!-- end -->\n";
    check(stale_numbers, &[("README.md", unknown)], &["README.md:1 nothing writes"]);
    check(
        stale_numbers,
        &[("README.md", "<!-- generated: numbers -->\n")],
        &["README.md:1 no `<!-- end"],
    );
}

//! The layer rule: a module imports only from strictly lower rows and from its own top folder.
//!
//! The rows are those drawn in the documentation of `src/lib.rs`, so that the drawing cannot drift
//! from what is checked. Unit tests obey the rule like everything else.

use std::collections::BTreeMap;

use crate::tree::{File, Tree};
use crate::{check, the_tree_obeys};

/// Top module to row.
type Rows = BTreeMap<String, u32>;

/// Who imports what it must not.
fn layers(tree: &Tree) -> Vec<String> {
    let Some(lib) = tree.file("src/lib.rs") else { return vec!["src/lib.rs: missing".into()] };
    let rows = match rows(lib) {
        Ok(rows) => rows,
        Err(offences) => return offences,
    };
    let mut offences = Vec::new();
    for file in tree.src() {
        let Some(own) = top_module(&file.path, &rows) else { continue };
        for (index, line) in import_lines(file) {
            for other in imported(&line, &rows) {
                if other != own && rows[&other] >= rows[&own] {
                    let (from, to) = (rows[&own], rows[&other]);
                    let what = format!("`{own}` (row {from}) must not import `{other}` (row {to})");
                    offences.push(file.offence(index, &what));
                }
            }
        }
    }
    offences
}

/// The drawing in the crate's documentation, held against the `pub mod` lines under it.
fn rows(lib: &File) -> Result<Rows, Vec<String>> {
    let modules: Vec<&str> = lib
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect();
    let mut rows = Rows::new();
    let mut offences = Vec::new();
    for (index, line) in lib.text.lines().enumerate() {
        let Some((row, names)) = drawn_row(line) else { continue };
        // Names stand in columns of their own; the first column of several words describes them.
        let columns = names.split("  ").map(str::trim).filter(|column| !column.is_empty());
        let names = columns.take_while(|column| !column.contains(' '));
        for name in names.filter(|name| modules.contains(name)) {
            if rows.insert(name.to_owned(), row).is_some_and(|earlier| earlier != row) {
                offences.push(lib.offence(index, &format!("`{name}` stands in two rows")));
            }
        }
    }
    for module in modules.iter().filter(|module| !rows.contains_key(**module)) {
        offences.push(lib.offence(0, &format!("`{module}` stands in no row of the drawing")));
    }
    if offences.is_empty() { Ok(rows) } else { Err(offences) }
}

/// `//! 5  tools      transport     the catalogue …` is row 5 and the rest.
fn drawn_row(line: &str) -> Option<(u32, &str)> {
    let (row, names) = line.strip_prefix("//! ")?.split_once("  ")?;
    Some((row.parse().ok()?, names))
}

/// `src/proto/ws/frame.rs` belongs to `proto`, `src/effect.rs` to `effect`, `src/main.rs` to none.
fn top_module(path: &str, rows: &Rows) -> Option<String> {
    let name = path.strip_prefix("src/")?.split('/').next()?.trim_end_matches(".rs");
    rows.contains_key(name).then(|| name.to_owned())
}

/// The code's lines; a `use` that spreads over several is one line, at the place where it begins.
fn import_lines(file: &File) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (index, line) in file.code().lines().enumerate() {
        match lines.last_mut() {
            Some((_, open)) if is_open => open.push_str(line),
            Some(_) | None => lines.push((index, line.to_owned())),
        }
        let whole = lines.last().map_or("", |(_, whole)| whole.trim());
        let is_use =
            whole.starts_with("use ") || (whole.starts_with("pub") && whole.contains(" use "));
        is_open = is_use && !whole.contains(';');
    }
    lines
}

/// The top modules a line names from the crate's root: `crate::a`, `crate::{a, b::c}`, and a chain
/// of `super::` that goes up further than it need.
fn imported(line: &str, rows: &Rows) -> Vec<String> {
    let mut names = Vec::new();
    for root in ["crate::", "super::", "footbridge::"] {
        for (at, _) in line.match_indices(root) {
            let path = line[at + root.len()..].trim_start();
            match path.strip_prefix('{') {
                Some(group) => names.extend(first_segments(group)),
                None => names.push(first_segment(path)),
            }
        }
    }
    names.retain(|name| rows.contains_key(name));
    names
}

fn first_segment(path: &str) -> String {
    path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// `a::{x, y}, b}` begins with the group's members `a` and `b`.
fn first_segments(group: &str) -> Vec<String> {
    let mut names = vec![first_segment(group.trim_start())];
    let mut depth = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(first_segment(group[at + 1..].trim_start())),
            _ => {}
        }
    }
    names
}

const LIB: &str = "//! 4  editor  what the reactor never sees\n\
                   //! 2  proto  |  reactor   codecs   |   I/O\n//! 0  stdx\n\n\
                   pub mod editor;\npub mod proto;\npub mod reactor;\npub mod stdx;\n";

#[track_caller]
fn check_import(path: &str, text: &str, expected: &[&str]) {
    check(layers, &[("src/lib.rs", LIB), (path, text)], expected);
}

#[test]
fn imports_go_down_only() {
    the_tree_obeys(layers);
}

#[test]
fn an_import_from_above_or_beside_is_found() {
    let up = ["src/proto/a.rs:1 `proto` (row 2) must not import `editor` (row 4)"];
    check_import("src/proto/a.rs", "use crate::editor::state::State;", &up);
    check_import("src/proto/a.rs", "use crate::{stdx::ring, editor};", &up);
    check_import("src/proto/a.rs", "use crate::{\n    stdx::{a, b},\n    editor::c,\n};", &up);
    check_import("src/proto/a.rs", "fn f(x: crate::editor::State) {}", &up);
    check_import("src/proto/a/b.rs", "use super::super::editor;", &["src/proto/a/b.rs:1 editor"]);
    check_import(
        "src/proto/a.rs",
        "x;\npub(crate) use crate::reactor::X;",
        &["src/proto/a.rs:2 reactor"],
    );
    check_import("src/reactor/a.rs", "use crate::proto::X;", &["src/reactor/a.rs:1 proto"]);
    check_import("src/stdx/tests.rs", "use crate::proto::X;", &["src/stdx/tests.rs:1 proto"]);
}

#[test]
fn imports_from_below_and_from_home_are_fine() {
    check_import(
        "src/editor/a.rs",
        "use crate::{proto::X, reactor::Y};\nuse crate::editor::b;",
        &[],
    );
    check_import("src/proto/a.rs", "// crate::editor\nlet a = \"crate::editor\";", &[]);
    check_import("src/main.rs", "use footbridge::editor;", &[]);
}

#[test]
fn the_drawing_names_every_module_once() {
    let missing = "//! 0  stdx\npub mod stdx;\npub mod lost;\n";
    check(layers, &[("src/lib.rs", missing)], &["src/lib.rs:1 `lost` stands in no row"]);
    let twice = "//! 1  stdx\n//! 0  stdx\npub mod stdx;\n";
    check(layers, &[("src/lib.rs", twice)], &["src/lib.rs:2 two rows"]);
}

//! The files of the project, and the views of a Rust file that rules look at.
//!
//! A rule about code must not stumble over a comment, and a rule about literals must not stumble
//! over prose: [`File::code`] blanks comments and literals, [`File::uncommented`] comments only.
//! Blanks are spaces, so that places stay what they are.

use std::path::Path;

/// Every file a rule may look at, sorted by path.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// One text file.
pub(crate) struct File {
    /// From the project's root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 5] = [".git", "target", "node_modules", "__pycache__", ".idea"];

/// What is read; anything else (pictures, recorded bytes) is nobody's prose or code.
const EXTENSIONS: [&str; 9] = ["rs", "md", "toml", "py", "sh", "html", "txt", "yml", "json"];

impl Tree {
    /// The project this test belongs to.
    pub(crate) fn read() -> Tree {
        let mut tree = Tree { files: Vec::new() };
        tree.read_folder(Path::new(env!("CARGO_MANIFEST_DIR")), "");
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(tree.file("src/lib.rs").is_some(), "the tree has no src/lib.rs");
        tree
    }

    /// A made-up project.
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let file = |&(path, text): &(&str, &str)| File { path: path.into(), text: text.into() };
        Tree { files: files.iter().map(file).collect() }
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) {
        for entry in std::fs::read_dir(folder).expect("the tree can be read") {
            let entry = entry.expect("the tree can be read");
            let name = entry.file_name().into_string().expect("our names are UTF-8");
            let path = format!("{prefix}{name}");
            if entry.path().is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    self.read_folder(&entry.path(), &format!("{path}/"));
                }
            } else if let Some(text) = read_text(&entry.path(), &name) {
                self.files.push(File { path, text });
            }
        }
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether a file or a folder stands at the path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// The program itself, its unit tests included.
    pub(crate) fn src(&self) -> impl Iterator<Item = &File> {
        self.rust().filter(|file| file.path.starts_with("src/"))
    }

    pub(crate) fn pages(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".md"))
    }
}

/// The text of a file that is text by its name, or a script without one.
fn read_text(path: &Path, name: &str) -> Option<String> {
    let is_text = match name.rsplit_once('.') {
        Some((_, extension)) => EXTENSIONS.contains(&extension),
        None => true,
    };
    let bytes = std::fs::read(path).ok().filter(|_| is_text)?;
    String::from_utf8(bytes).ok()
}

impl File {
    /// A place in this file and what is wrong there. `index` counts lines from 0.
    pub(crate) fn offence(&self, index: usize, what: &str) -> String {
        format!("{}:{}: {what}", self.path, index + 1)
    }

    /// Whether the whole file is test code.
    pub(crate) fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.ends_with("/tests.rs")
            || self.path.contains("/tests/")
    }

    /// The text without comments and without the contents of literals.
    pub(crate) fn code(&self) -> String {
        blank(&self.text, Blank::CommentsAndLiterals)
    }

    /// The text without comments.
    pub(crate) fn uncommented(&self) -> String {
        blank(&self.text, Blank::Comments)
    }

    /// The lines above the unit tests that stand at the end of a source file.
    pub(crate) fn lines_before_tests(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        let is_start = |index: &usize| {
            lines[*index] == "#[cfg(test)]"
                && lines.get(index + 1).is_some_and(|next| next.starts_with("mod tests {"))
        };
        (0..lines.len()).find(is_start).unwrap_or(lines.len())
    }
}

/// The places where `word` stands in `line` with no part of an identifier before or behind it.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let starts_inside = word.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            && is_part(line[..at].chars().next_back());
        let ends_inside = word.ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && is_part(line[at + word.len()..].chars().next());
        !starts_inside && !ends_inside
    })
}

/// What [`blank`] takes out.
#[derive(Clone, Copy, PartialEq)]
enum Blank {
    Comments,
    CommentsAndLiterals,
}

/// Replaces what is not wanted by spaces; lines stay lines.
fn blank(text: &str, what: Blank) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (len, is_blanked) = match comment_len(rest) {
            0 => match literal_len(rest, out.chars().next_back()) {
                0 => (first.len_utf8(), false),
                len => (len, what == Blank::CommentsAndLiterals),
            },
            len => (len, true),
        };
        let kept = |c: char| if is_blanked && c != '\n' { ' ' } else { c };
        out.extend(rest[..len].chars().map(kept));
        rest = &rest[len..];
    }
    out
}

/// Bytes of the comment `rest` begins with; block comments nest.
fn comment_len(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if !rest.starts_with("/*") {
        return 0;
    }
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        let step = if here.starts_with(b"/*") {
            depth += 1;
            2
        } else if here.starts_with(b"*/") {
            depth -= 1;
            2
        } else {
            1
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Bytes of the literal `rest` begins with; `before` tells `r"…"` from `for"`.
fn literal_len(rest: &str, before: Option<char>) -> usize {
    let is_inside_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let raw = rest.trim_start_matches('b').strip_prefix('r').filter(|_| !is_inside_word);
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", &raw[..hashes]);
            let start = rest.len() - raw.len() + hashes + 1;
            return rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len());
        }
    }
    let quote = match rest.as_bytes()[0] {
        b'"' => b'"',
        // A lifetime has no second quote behind one character.
        b'\'' if is_character(rest) => b'\'',
        _ => return 0,
    };
    let mut at = 1;
    while let Some(&byte) = rest.as_bytes().get(at) {
        at += 1;
        match byte {
            b'\\' => at += 1,
            _ if byte == quote => break,
            _ => {}
        }
    }
    at.min(rest.len())
}

fn is_character(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

#[track_caller]
fn check_views(text: &str, code: &str, uncommented: &str) {
    let file = File { path: "a.rs".into(), text: text.into() };
    assert_eq!((file.code().as_str(), file.uncommented().as_str()), (code, uncommented));
}

#[test]
fn comments_and_literals_are_told_from_code() {
    check_views("a // b\nc", "a     \nc", "a     \nc");
    check_views("a/* b /* c */ d */e", "a                 e", "a                 e");
    check_views(r#"f("x // y")"#, "f(        )", r#"f("x // y")"#);
    check_views(r#"f("x\"y", z)"#, "f(      , z)", r#"f("x\"y", z)"#);
    check_views("r#\"a\"b\"#;c", "        ;c", "r#\"a\"b\"#;c");
    check_views("b\"a\";c", "b   ;c", "b\"a\";c");
    check_views("'a' 'x';", "       ;", "'a' 'x';");
}

#[test]
fn a_lifetime_is_not_a_literal() {
    check_views("fn a<'x>(y: &'x str) {}", "fn a<'x>(y: &'x str) {}", "fn a<'x>(y: &'x str) {}");
    check_views(r"'\'' + 'b", r"     + 'b", r"'\'' + 'b");
}

#[test]
fn a_word_is_found_only_whole() {
    for (line, word, expected) in [
        ("a utility", "util", false),
        ("a util, b", "util", true),
        ("my_util", "util", false),
        ("std::fs::read", "std::fs", true),
        ("std::fsx", "std::fs", false),
        ("x.sleep(1)", "sleep(", true),
        ("must_not_sleep(1)", "sleep(", false),
    ] {
        assert_eq!(has_word(line, word), expected, "{word:?} in {line:?}");
    }
}

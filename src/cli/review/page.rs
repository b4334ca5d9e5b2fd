//! A diff made ready to be looked at: the file as it is now, held against the proposal.
//!
//! The file is read and never written: the agent writes what the answer says. What is no text, or
//! too large to be looked at, is said instead of shown.

use std::io::Read;
use std::path::Path;

use super::compare::{Difference, Kind, Line, compare};
use super::layout::escaped;
use super::pending::{Pending, path_from};

/// Largest file or proposal that is compared, in bytes; what an agent takes in one message.
pub(super) const BYTES_MAX: usize = 16 << 20;

/// A diff as a person looks at it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// The file, and where it moves.
    pub(super) title: String,
    pub(super) difference: Difference,
    /// The file as it was read; `None` when there is none, or none that could be shown.
    pub(super) old: Option<String>,
}

/// What stands where the file is.
#[derive(Debug, PartialEq, Eq)]
enum Old {
    None,
    Text(String),
    /// Why it is not shown.
    Unseen(String),
}

/// Makes a diff ready.
pub(super) fn page(diff: &Pending, here: &str) -> Page {
    let old = read(Path::new(&diff.old_path));
    let mut title = path_from(&diff.new_path, here);
    if diff.old_path != diff.new_path {
        title = format!("{} -> {title}", path_from(&diff.old_path, here));
    }
    let (difference, old) = match old {
        _ if diff.new_contents.len() > BYTES_MAX => {
            let mib = diff.new_contents.len() >> 20;
            (unseen(&format!("the proposal is too large to show: {mib} MiB")), None)
        }
        Old::None => {
            let mut difference = compare(None, &diff.new_contents);
            difference.lines.insert(0, note("a new file"));
            (difference, None)
        }
        Old::Text(text) => (compare(Some(&text), &diff.new_contents), Some(text)),
        Old::Unseen(why) => (unseen(&why), None),
    };
    Page { title, difference, old }
}

/// The page as text, for a program or another pager.
pub(super) fn plain(diff: &Pending, page: &Page, paint: impl Fn(Kind, &str) -> String) -> String {
    let from = if page.old.is_some() { diff.old_path.as_str() } else { "/dev/null" };
    let mut text = format!("--- {}\n+++ {}\n", escaped(from), escaped(&diff.new_path));
    for line in &page.difference.lines {
        let sign = if line.kind == Kind::Note { "# " } else { line.kind.sign() };
        // Tabs are safe, and stay what they are.
        let shown: Vec<String> = line.text.split('\t').map(escaped).collect();
        text += &paint(line.kind, &format!("{sign}{}", shown.join("\t")));
        text.push('\n');
    }
    text
}

fn unseen(why: &str) -> Difference {
    let lines = vec![note(why), note("it can be accepted, edited or rejected all the same")];
    Difference { lines, ..Difference::default() }
}

fn note(text: &str) -> Line {
    Line { kind: Kind::Note, text: text.to_owned() }
}

fn read(path: &Path) -> Old {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Old::None,
        Err(error) => return Old::Unseen(format!("the file cannot be read: {error}")),
        Ok(found) if !found.is_file() => return Old::Unseen("there is no regular file".to_owned()),
        Ok(found) if found.len() > BYTES_MAX as u64 => {
            return Old::Unseen(format!(
                "the file is too large to show: {} MiB",
                found.len() >> 20
            ));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    let limit = BYTES_MAX as u64 + 1;
    match file.and_then(|file| file.take(limit).read_to_end(&mut bytes)) {
        Err(error) => Old::Unseen(format!("the file cannot be read: {error}")),
        Ok(len) if len > BYTES_MAX => Old::Unseen("the file is too large to show".to_owned()),
        Ok(_) => of_bytes(bytes),
    }
}

fn of_bytes(bytes: Vec<u8>) -> Old {
    if bytes.contains(&0) {
        return Old::Unseen("the file is binary".to_owned());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Old::Text(text),
        Err(error) => {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
            Old::Unseen(format!("the file is not UTF-8, first in line {line}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pending::example;
    use super::*;

    #[track_caller]
    fn check(bytes: Option<&[u8]>, expected: &str) {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("a.rs");
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).expect("the folder is ours");
        }
        let path = path.to_str().expect("a plain name").to_owned();
        let diff = Pending { old_path: path.clone(), new_path: path, ..example(1, "a.rs") };
        let page = page(&diff, folder.path().to_str().expect("a plain name"));
        assert_eq!(page.title, "a.rs");
        let text = plain(&diff, &page, |_, line| line.to_owned());
        let body: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(body.join("\n"), expected);
    }

    #[test]
    fn what_cannot_be_shown_is_said() {
        let all_the_same = "# it can be accepted, edited or rejected all the same";
        check(Some(b"old\n"), "@@ -1 +1 @@\n-old\n+new");
        check(Some(b"new\n"), "# no line changes");
        check(None, "# a new file\n@@ -0,0 +1 @@\n+new");
        check(Some(b"a\0b"), &format!("# the file is binary\n{all_the_same}"));
        check(
            Some(b"a\nb\ncaf\xe9\n"),
            &format!("# the file is not UTF-8, first in line 3\n{all_the_same}"),
        );
        let large = vec![b'x'; BYTES_MAX + 1];
        check(Some(&large), &format!("# the file is too large to show: 16 MiB\n{all_the_same}"));
        check(Some(b"\tx\x1b[2J\n"), "@@ -1 +1 @@\n-\tx\\u{1b}[2J\n+new");
    }

    #[test]
    fn a_folder_in_the_files_place_is_said() {
        let here = std::env::temp_dir().to_str().expect("a plain name").to_owned();
        assert_eq!(read(Path::new(&here)), Old::Unseen("there is no regular file".to_owned()));
    }
}

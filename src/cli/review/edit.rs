//! A copy of a proposal for the person's editor, and what its contents mean afterwards.
//!
//! The copy stands in a folder of its own that nobody else can look into, under the file's own
//! name, so that the editor knows what it is. It is removed unless somebody says that it is to
//! stay: an edit that could not be handed in is never lost.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::config::open_command::split;
use crate::config::source::{Env, quote};

use super::page::BYTES_MAX;

/// The editor of those who named none.
const EDITOR: &str = "vi";

/// When the copy says it was last changed, until it is: any saving makes it another time, even
/// one within the same tick of the clock.
const LONG_AGO: Duration = Duration::from_secs(24 * 3600);

/// What came of an edit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// Saved without a change.
    AsProposed,
    /// Saved with these contents.
    Changed(String),
    /// Nothing to hand in; why.
    Again(String),
}

/// The copy. Removed with its folder when dropped, unless kept.
#[derive(Debug)]
pub(super) struct Copy {
    folder: PathBuf,
    file: PathBuf,
    is_kept: bool,
}

impl Copy {
    /// Writes a copy of the contents under the name that `path` ends in.
    pub(super) fn new(parent: &Path, path: &Path, contents: &str) -> io::Result<Copy> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("footbridge-{:016x}", u64::from_be_bytes(random));
        let folder = parent.join(name);
        #[cfg_attr(not(unix), allow(unused_mut))] // Modes are set on Unix alone.
        let mut builder = DirBuilder::new();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
            builder.mode(0o700);
            options.mode(0o600);
        }
        builder.create(&folder)?;
        let file = folder.join(path.file_name().unwrap_or("proposal".as_ref()));
        let copy = Copy { folder, file, is_kept: false };
        let mut file = options.open(&copy.file)?;
        file.write_all(contents.as_bytes())?;
        file.set_modified(SystemTime::UNIX_EPOCH + LONG_AGO)?;
        Ok(copy)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.file
    }

    /// Leaves it where it is, for the person.
    pub(super) fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.file.clone()
    }

    /// What the editor left, held against what was proposed for a file with the contents `old`.
    pub(super) fn read(&self, proposed: &str, old: Option<&str>) -> Edited {
        let (modified, bytes) = match self.saved() {
            Ok(saved) => saved,
            Err(error) => return Edited::Again(format!("the edit cannot be read: {error}")),
        };
        if modified == SystemTime::UNIX_EPOCH + LONG_AGO {
            let hint = "an editor with a window needs its flag to wait, such as code --wait";
            return Edited::Again(format!("not saved, so nothing is answered; {hint}"));
        }
        if bytes.len() > BYTES_MAX {
            return Edited::Again("too large: nothing is answered".to_owned());
        }
        match String::from_utf8(bytes) {
            Ok(saved) => edited(proposed, old, saved),
            Err(_) => Edited::Again("not saved as UTF-8".to_owned()),
        }
    }

    fn saved(&self) -> io::Result<(SystemTime, Vec<u8>)> {
        let file = File::open(&self.file)?;
        let modified = file.metadata()?.modified()?;
        let mut bytes = Vec::new();
        file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
        Ok((modified, bytes))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if !self.is_kept {
            // Editors leave backups beside the file; the folder is ours alone.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// What saved contents mean. Editors end the last line by themselves: where neither the proposal
/// nor the file does so, that end is not the person's and is taken off again.
fn edited(proposed: &str, old: Option<&str>, mut saved: String) -> Edited {
    if saved.is_empty() && !proposed.is_empty() {
        return Edited::Again("emptied, so nothing is answered; n rejects".to_owned());
    }
    let is_open = !proposed.is_empty() && !proposed.ends_with('\n');
    let end = saved.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
    let without = end.map(str::len).filter(|_| is_open);
    if saved == proposed || without.is_some_and(|len| saved[..len] == *proposed) {
        return Edited::AsProposed;
    }
    if let Some(len) = without.filter(|_| old.is_none_or(|old| !old.ends_with('\n'))) {
        saved.truncate(len);
    }
    Edited::Changed(saved)
}

/// The editor's command line for a file, as `$VISUAL` or `$EDITOR` says.
pub(super) fn argv(env: Env<'_>, file: &Path) -> Result<Vec<OsString>, String> {
    let named = |name: &str| {
        env(name).filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value))
    };
    let Some((name, value)) = named("VISUAL").or_else(|| named("EDITOR")) else {
        return Ok(vec![EDITOR.into(), file.into()]);
    };
    let text = value.to_str().ok_or_else(|| format!("{name} is not UTF-8"))?;
    let words = split(text).filter(|words| words.first().is_some_and(|word| !word.is_empty()));
    let words = words.ok_or_else(|| format!("{name} is no command line: {}", quote(text)))?;
    let mut argv: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    argv.push(file.into());
    Ok(argv)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(proposed: &str, old: Option<&str>, saved: &str, expected: Edited) {
        assert_eq!(edited(proposed, old, saved.to_owned()), expected, "{proposed:?} {saved:?}");
    }

    fn changed(contents: &str) -> Edited {
        Edited::Changed(contents.to_owned())
    }

    #[test]
    fn what_was_saved_is_handed_in_byte_for_byte() {
        check("a\n", None, "a\n", Edited::AsProposed);
        check("a\n", None, "b\n", changed("b\n"));
        check("a\n", None, "a\r\n", changed("a\r\n"));
        check("\u{feff}a\r\n", None, "\u{feff}b\r\n", changed("\u{feff}b\r\n"));
        check("a\n", None, "a", changed("a"));
        check("", None, "", Edited::AsProposed);
        check("", None, "a\n", changed("a\n"));
        let again = Edited::Again("emptied, so nothing is answered; n rejects".to_owned());
        check("a\n", None, "", again);
    }

    #[test]
    fn a_last_line_end_that_only_the_editor_wants_is_taken_off() {
        check("a", None, "a\n", Edited::AsProposed);
        check("a", Some("x\n"), "a\n", Edited::AsProposed);
        check("x\r\na", None, "x\r\na\r\n", Edited::AsProposed);
        check("a", None, "b\n", changed("b"));
        check("a", Some("x"), "b\r\n", changed("b"));
        check("a", Some("x\n"), "b\n", changed("b\n"));
        check("a", None, "b", changed("b"));
    }

    #[cfg(unix)]
    #[test]
    fn the_copy_is_private_has_the_files_name_and_goes() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().expect("a folder for the test");
        let copy = Copy::new(parent.path(), Path::new("/w/a b.rs"), "x\n").expect("it is written");
        let mode = |path: &Path| {
            std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
        };
        assert_eq!((mode(copy.path()), mode(&copy.folder)), (0o600, 0o700));
        assert_eq!(copy.path().file_name(), Some("a b.rs".as_ref()));
        assert!(
            matches!(copy.read("x\n", None), Edited::Again(why) if why.starts_with("not saved"))
        );
        std::fs::write(copy.path(), "x\n").expect("it is ours");
        assert_eq!(copy.read("x\n", None), Edited::AsProposed);
        std::fs::write(copy.path(), b"caf\xe9").expect("it is ours");
        assert!(matches!(copy.read("x\n", None), Edited::Again(why) if why.contains("UTF-8")));
        std::fs::write(copy.path().with_extension("rs~"), "x").expect("it is ours");
        drop(copy);
        let left = std::fs::read_dir(parent.path()).expect("it is there").count();
        assert_eq!(left, 0);
        let kept = Copy::new(parent.path(), Path::new("/"), "x").expect("it is written").keep();
        assert!(kept.ends_with("proposal") && kept.exists());
    }

    #[track_caller]
    fn check_editor(visual: &str, editor: &str, expected: Result<&[&str], &str>) {
        let env = |name: &str| match name {
            "VISUAL" => Some(OsString::from(visual)),
            "EDITOR" => Some(OsString::from(editor)),
            _ => None,
        };
        let argv = argv(&env, Path::new("/t/a b"));
        let expected = expected.map(|words| words.iter().map(OsString::from).collect());
        assert_eq!(argv, expected.map_err(str::to_owned));
    }

    #[test]
    fn the_editor_is_split_as_a_shell_does() {
        check_editor("", "", Ok(&["vi", "/t/a b"]));
        check_editor("", "nano -w", Ok(&["nano", "-w", "/t/a b"]));
        check_editor("'my editor' --wait", "nano", Ok(&["my editor", "--wait", "/t/a b"]));
        check_editor("vi \\", "", Err("VISUAL is no command line: \"vi \\\\\""));
        check_editor("", " ", Err("EDITOR is no command line: \" \""));
    }
}

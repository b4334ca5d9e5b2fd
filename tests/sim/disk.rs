//! The simulated disk: files and folders with their permissions.
//!
//! A handle names the same disk as those it was cloned from, so what a kernel wrote is there for the
//! next kernel and for the test. Paths are taken by the letter; there are no symbolic links, and a
//! second name of a file is a copy, which is the same as long as files are only ever replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
// A held file must be able to move between threads, and writes to this disk.
#[allow(clippy::disallowed_types)]
use std::sync::{Arc, Mutex, MutexGuard};

use footbridge::effect::FileError;
use footbridge::reactor::HeldFile;
use footbridge::reactor::sys::Held;

/// One disk, by one of its handles.
#[derive(Debug, Clone, Default)]
#[allow(clippy::disallowed_types)]
pub(crate) struct Disk(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    files: BTreeMap<PathBuf, File>,
    /// With their permissions.
    folders: BTreeMap<PathBuf, u32>,
    held: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone)]
struct File {
    bytes: Vec<u8>,
    mode: u32,
}

impl Disk {
    /// Puts a file there, whatever stood there before, in folders that everyone may enter.
    pub(crate) fn put(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let path = path.as_ref();
        self.create_dir_all(path.parent().unwrap(), 0o755).unwrap();
        self.contents().files.insert(path.into(), File { bytes: bytes.to_vec(), mode: 0o644 });
    }

    /// A file's text, if it is there.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let contents = self.contents();
        let file = contents.files.get(path.as_ref())?;
        Some(String::from_utf8(file.bytes.clone()).unwrap())
    }

    /// The permissions of a file or folder.
    pub(crate) fn mode(&self, path: impl AsRef<Path>) -> Option<u32> {
        let (path, contents) = (path.as_ref(), self.contents());
        let file = contents.files.get(path).map(|file| file.mode);
        file.or_else(|| contents.folders.get(path).copied())
    }

    pub(crate) fn read(&self, path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
        let contents = self.contents();
        if contents.folders.contains_key(path) {
            return Err(FileError::IsFolder);
        }
        let bytes = &contents.files.get(path).ok_or(FileError::NotFound)?.bytes;
        match bytes.len() as u64 {
            bytes if bytes > bytes_max => Err(FileError::TooBig { bytes }),
            _ => Ok(bytes.clone()),
        }
    }

    pub(crate) fn create_new(&self, path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
        self.contents().insert_new(path, File { bytes: bytes.to_vec(), mode })
    }

    pub(crate) fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut contents = self.contents();
        let file = contents.files.get(from).cloned().ok_or(io::ErrorKind::NotFound)?;
        contents.insert_new(to, file)
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut contents = self.contents();
        let file = contents.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        contents.files.insert(to.into(), file);
        Ok(())
    }

    pub(crate) fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.contents().files.remove(path).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    pub(crate) fn create_dir_all(&self, path: &Path, mode: u32) -> io::Result<()> {
        let mut contents = self.contents();
        for folder in path.ancestors() {
            contents.folders.entry(folder.into()).or_insert(mode);
        }
        Ok(())
    }

    /// The names in a folder, sorted.
    pub(crate) fn read_dir(&self, path: &Path) -> io::Result<Vec<String>> {
        let contents = self.contents();
        if !contents.folders.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let inside = contents.files.keys().filter(|file| file.parent() == Some(path));
        let name = |file: &PathBuf| Some(file.file_name()?.to_str()?.to_owned());
        Ok(inside.filter_map(name).collect())
    }

    pub(crate) fn hold(&self, path: &Path, mode: u32) -> io::Result<Option<HeldFile>> {
        let mut contents = self.contents();
        if contents.held.contains(path) {
            return Ok(None);
        }
        if !contents.files.contains_key(path) {
            contents.insert_new(path, File { bytes: Vec::new(), mode })?;
        }
        contents.held.insert(path.into());
        Ok(Some(HeldFile::new(Holding { disk: self.clone(), path: path.into() })))
    }

    #[allow(clippy::disallowed_types)]
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap()
    }
}

impl Contents {
    fn insert_new(&mut self, path: &Path, file: File) -> io::Result<()> {
        if !path.parent().is_some_and(|folder| self.folders.contains_key(folder)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if self.files.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.files.insert(path.into(), file);
        Ok(())
    }
}

/// A held file, until it is dropped.
struct Holding {
    disk: Disk,
    path: PathBuf,
}

impl Held for Holding {
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut contents = self.disk.contents();
        let file = contents.files.get_mut(&self.path).ok_or(io::ErrorKind::NotFound)?;
        file.bytes = bytes.to_vec();
        Ok(())
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.disk.contents().held.remove(&self.path);
    }
}

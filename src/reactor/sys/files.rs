//! File operations of the real kernel, by std alone.
//!
//! Opening never waits: a FIFO without a writer or a device is opened non-blocking and refused by
//! what it is, not by what its name looks like.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use super::platform;
use crate::effect::FileError;

/// Reads a regular file of at most `bytes_max` bytes.
pub(super) fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    let (file, bytes) = open_regular(path)?;
    if bytes > bytes_max {
        return Err(FileError::TooBig { bytes });
    }
    // It may grow meanwhile, and some files of /proc have no length: read one byte past the bound.
    let mut contents = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0).saturating_add(1));
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut contents).map_err(refusal)?;
    match contents.len() as u64 {
        bytes if bytes > bytes_max => Err(FileError::TooBig { bytes }),
        _ => Ok(contents),
    }
}

fn open_regular(path: &Path) -> Result<(File, u64), FileError> {
    let mut options = OpenOptions::new();
    options.read(true);
    platform::open_without_waiting(&mut options);
    let file = match options.open(path) {
        Ok(file) => file,
        // Windows refuses to open a folder, Unix a socket; say what stands there.
        Err(error) => match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(FileError::IsFolder),
            Ok(metadata) if !metadata.is_file() => return Err(FileError::NotRegular),
            Ok(_) | Err(_) => return Err(refusal(error)),
        },
    };
    let metadata = file.metadata().map_err(refusal)?;
    if metadata.is_dir() {
        Err(FileError::IsFolder)
    } else if !metadata.is_file() {
        Err(FileError::NotRegular)
    } else {
        Ok((file, metadata.len()))
    }
}

fn refusal(error: io::Error) -> FileError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileError::NotFound,
        io::ErrorKind::IsADirectory => FileError::IsFolder,
        io::ErrorKind::PermissionDenied => FileError::Denied,
        _ => FileError::Other(error.to_string()),
    }
}

/// Creates a file that must not exist; one that could not be written whole is removed again.
pub(super) fn create_new(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    platform::set_mode(&mut options, mode);
    let mut file = options.open(path)?;
    file.write_all(bytes).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Replaces a file's text in place. It is written over the old one, which needs no room on a full
/// disk, and in one piece, so that a kill leaves the old text or the new one with blanks behind it.
pub(super) fn overwrite(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let old_len = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut text = bytes.to_vec();
    text.resize(bytes.len().max(old_len.min(COVERED_BYTES_MAX)), b' ');
    file.rewind()?;
    file.write_all(&text)?;
    file.set_len(bytes.len() as u64)
}

/// Old text up to this length is covered before it is cut off; ours is a few hundred bytes.
const COVERED_BYTES_MAX: usize = 64 << 10;

/// The names in a folder, sorted; those that are not UTF-8 are left out.
pub(super) fn read_dir(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

//! `file:` URIs and the paths they name.
//!
//! Two spellings leave this program: the proper one, percent-encoded as editors write it, and the
//! raw one, `file://` with the path as it is, which is the only form the agent compares
//! diagnostics by. Both are understood on the way in. A path that is no URI is never touched here.

use std::path::{Path, PathBuf};

/// The path a `file:` URI names, percent-decoded; `None` when `text` is no local `file:` URI.
///
/// A `%` that starts no escape stands for itself, and `?` and `#` are part of the path: the
/// agent sends both unescaped.
pub fn path_of(text: &str) -> Option<PathBuf> {
    let path = raw_path(text)?;
    Some(native(decode(path)))
}

/// The path behind `file://` taken literally, as the agent spells it.
pub fn raw_path_of(text: &str) -> Option<PathBuf> {
    raw_path(text).map(|path| native(path.as_bytes().to_vec()))
}

/// The URI of an absolute path, percent-encoded but for unreserved characters and `/`
/// (RFC 3986 §2.3).
pub fn encoded(path: &Path) -> String {
    let mut uri = String::from("file://");
    for &byte in slashed(path).as_slice() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            uri.push(char::from(HEX[usize::from(byte >> 4)]));
            uri.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    uri
}

/// `file://` and the path as it is.
pub fn raw(path: &Path) -> String {
    format!("file://{}", path.to_string_lossy())
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// What follows `file:` and an empty or local authority; starts with `/`.
fn raw_path(text: &str) -> Option<&str> {
    let scheme = text.get(..5)?;
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    let rest = &text[5..];
    let Some(authority) = rest.strip_prefix("//") else {
        return rest.starts_with('/').then_some(rest);
    };
    let path = authority.strip_prefix("localhost").unwrap_or(authority);
    // The agent on Windows writes `file://C:\…`: no slash between authority and path.
    let is_drive = cfg!(windows) && path.as_bytes().get(1) == Some(&b':');
    (path.starts_with('/') || is_drive).then_some(path)
}

fn decode(path: &str) -> Vec<u8> {
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = bytes.get(at..at + 3).and_then(escaped);
        decoded.push(escape.unwrap_or(bytes[at]));
        at += if escape.is_some() { 3 } else { 1 };
    }
    decoded
}

/// The byte that `%XX` stands for.
fn escaped(triple: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    (triple[0] == b'%').then_some(())?;
    Some(digit(triple[1])? << 4 | digit(triple[2])?)
}

/// The path's bytes with `/` between names and in front.
#[cfg(unix)]
fn slashed(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

/// The path's bytes with `/` between names and in front.
#[cfg(not(unix))]
fn slashed(path: &Path) -> Vec<u8> {
    let text = path.to_string_lossy().replace('\\', "/");
    let front = if text.starts_with('/') { "" } else { "/" };
    format!("{front}{text}").into_bytes()
}

#[cfg(unix)]
fn native(path: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    PathBuf::from(std::ffi::OsString::from_vec(path))
}

/// `/C:/x` names `C:/x`.
#[cfg(not(unix))]
fn native(path: Vec<u8>) -> PathBuf {
    let text = String::from_utf8_lossy(&path);
    let is_drive = text.starts_with('/') && text.as_bytes().get(2) == Some(&b':');
    PathBuf::from(if is_drive { &text[1..] } else { &text[..] })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(path_of(text), expected.map(PathBuf::from), "{text:?}");
    }

    #[test]
    fn file_uris_are_decoded_and_nothing_else_is() {
        check("file:///a/b%20c.rs", Some("/a/b c.rs"));
        check("file://localhost/a", Some("/a"));
        check("FILE:/a", Some("/a"));
        check("file:///%E6%B5%8B", Some("/测"));
        check("file:///100%", Some("/100%"));
        check("file:///a%zz#x?y", Some("/a%zz#x?y"));
        check("file:///%", Some("/%"));
        check("file://elsewhere/a", None);
        check("file:a", None);
        check("/a/b%20c", None);
        check("~/a", None);
        check("", None);
        check("é", None);
        check("測試测", None);
    }

    #[test]
    fn an_encoded_path_comes_back_as_it_was() {
        for path in ["/a b/é#%41?.rs", "/测/😀", "/", "/a:b@c~d"] {
            assert_eq!(path_of(&encoded(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(encoded(Path::new("/a b/é")), "file:///a%20b/%C3%A9");
        assert_eq!(raw(Path::new("/a b/é")), "file:///a b/é");
        assert_eq!(raw_path_of("file:///a%20b"), Some(PathBuf::from("/a%20b")));
    }
}

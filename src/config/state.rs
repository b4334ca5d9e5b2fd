//! What a workspace's state folder holds, as text.
//!
//! The folder remembers port and token between starts, so that a client that lost its bridge finds
//! the next one, and tells the verbs of the command line where the bridge runs. Its name is a hash:
//! paths can be longer than file names. Whoever owns the disk reads and writes.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::transport::token::{Token, hex};

use super::source::{Env, xdg_folder};

/// The file that holds the token and nothing else; mode 0600.
pub const TOKEN_FILE: &str = "token";

/// The file that tells of the running bridge, or of the last one; a lock on it means it runs.
pub const BRIDGE_FILE: &str = "bridge.json";

/// Bytes of the hash that name a folder: 16 hex digits.
const HASH_BYTES: usize = 8;

/// What [`BRIDGE_FILE`] says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BridgeRecord {
    /// Its process.
    pub pid: u32,
    /// Where it listens.
    pub port: u16,
    /// The physical path of its first folder.
    pub workspace: PathBuf,
    /// The physical paths of its other folders.
    #[serde(default)]
    pub more_workspaces: Vec<PathBuf>,
    /// The address it listens on, which may be any of this machine (`0.0.0.0`, `::`).
    #[serde(default = "loopback")]
    pub bind: IpAddr,
    /// Its version.
    pub version: String,
    /// Wall clock, milliseconds since 1970.
    #[serde(rename = "startedAt")]
    pub started_at_ms: u64,
    /// Opens the control door of this run: 32 hex digits. Empty in the record of a version that
    /// has no such door.
    #[serde(default)]
    pub control_token: String,
}

/// `$XDG_STATE_HOME/footbridge/<hash>` of a workspace's physical path, else under
/// `~/.local/state`; `None` without either.
pub fn folder(env: Env<'_>, physical: &Path) -> Option<PathBuf> {
    let hash = Sha256::digest(physical.as_os_str().as_encoded_bytes());
    Some(folders(env)?.join(hex(&hash[..HASH_BYTES])))
}

/// Where the state folders of all workspaces stand.
pub fn folders(env: Env<'_>) -> Option<PathBuf> {
    Some(xdg_folder(env, "XDG_STATE_HOME", ".local/state")?.join("footbridge"))
}

/// The text of [`TOKEN_FILE`].
pub fn render_token(token: &Token) -> String {
    format!("{}\n", token.reveal())
}

/// The token in [`TOKEN_FILE`]; `None` when the file holds none, and a fresh one is due.
pub fn parse_token(text: &[u8]) -> Option<Token> {
    Token::new(std::str::from_utf8(text).ok()?.trim_ascii()).ok()
}

impl BridgeRecord {
    /// The text of [`BRIDGE_FILE`]. Characters of the path that are no Unicode are replaced: the
    /// path is for people, the folder's name for finding.
    pub fn render(&self) -> String {
        let spelled = |path: &PathBuf| PathBuf::from(path.to_string_lossy().into_owned());
        let record = BridgeRecord {
            workspace: spelled(&self.workspace),
            more_workspaces: self.more_workspaces.iter().map(spelled).collect(),
            ..self.clone()
        };
        let mut text = serde_json::to_string(&record).expect("strings and numbers become JSON");
        text.push('\n');
        text
    }

    /// Reads [`BRIDGE_FILE`]; `None` when it is not one.
    pub fn parse(text: &[u8]) -> Option<BridgeRecord> {
        serde_json::from_slice(text).ok()
    }
}

fn loopback() -> IpAddr {
    IpAddr::V4(Ipv4Addr::LOCALHOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use std::ffi::OsString;

    #[cfg(unix)]
    #[track_caller]
    fn check_folder(env: &[(&str, &str)], expected: Option<&str>) {
        let env = |name: &str| {
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        // The hash is what `printf %s /w/project | sha256sum` begins with.
        assert_eq!(folder(&env, Path::new("/w/project")), expected.map(PathBuf::from));
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_named_after_the_workspace() {
        check_folder(
            &[("XDG_STATE_HOME", "/s"), ("HOME", "/h")],
            Some("/s/footbridge/cc6258f79e7ff42d"),
        );
        check_folder(&[("HOME", "/h")], Some("/h/.local/state/footbridge/cc6258f79e7ff42d"));
        check_folder(
            &[("XDG_STATE_HOME", "s"), ("HOME", "/h")],
            Some("/h/.local/state/footbridge/cc6258f79e7ff42d"),
        );
        check_folder(&[("XDG_STATE_HOME", ""), ("HOME", "")], None);
        check_folder(&[], None);
    }

    #[test]
    fn records_and_tokens_survive_their_text_and_junk_is_none() {
        let record = BridgeRecord {
            pid: 7,
            port: 40_123,
            workspace: PathBuf::from("/w/project"),
            more_workspaces: vec![PathBuf::from("/w/other")],
            bind: IpAddr::from([127, 0, 0, 1]),
            version: "0.1.0".to_owned(),
            started_at_ms: 1_760_000_000_000,
            control_token: "0123456789abcdef0123456789abcdef".to_owned(),
        };
        assert_eq!(
            record.render(),
            "{\"pid\":7,\"port\":40123,\"workspace\":\"/w/project\",\
             \"moreWorkspaces\":[\"/w/other\"],\"bind\":\"127.0.0.1\",\"version\":\"0.1.0\",\
             \"startedAt\":1760000000000,\
             \"controlToken\":\"0123456789abcdef0123456789abcdef\"}\n"
        );
        let older = ["controlToken", "moreWorkspaces", "bind"]
            .iter()
            .fold(record.render(), |text, key| text.replace(key, "else"));
        let without = BridgeRecord {
            control_token: String::new(),
            more_workspaces: Vec::new(),
            ..record.clone()
        };
        assert_eq!(BridgeRecord::parse(older.as_bytes()), Some(without));
        assert_eq!(BridgeRecord::parse(record.render().as_bytes()), Some(record));
        let token = Token::from_random([7; 16]);
        assert_eq!(parse_token(render_token(&token).as_bytes()), Some(token));
        for junk in [&b""[..], b"{}", b"5", b"{\"pid\":-1}", b"\xff\xfe"] {
            assert_eq!(BridgeRecord::parse(junk), None);
        }
        for junk in
            [&b""[..], b"short", b"two words here", b"\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe"]
        {
            assert_eq!(parse_token(junk), None);
        }
    }
}

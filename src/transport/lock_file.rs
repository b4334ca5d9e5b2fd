//! The lock file by which a client finds the bridge: its text, its folder, its name.
//!
//! Pure: whoever owns the disk writes it (temp name, O_EXCL, link) and removes it. Others write
//! such files too, so reading is tolerant and ours carry a mark. Claude Code picks the one lock
//! whose folder its own physical working folder lies in, so each folder is listed as the user
//! spelled it and as the disk knows it.

use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::token::Token;

/// A running bridge refreshes its lock twice a day; editor extensions skip one a day old. Two days
/// leave room for a machine that slept.
const OUTDATED_MS: u64 = 2 * 24 * 60 * 60 * 1000;

/// Hex digits of a nonce.
const NONCE_LEN: usize = 32;

/// A lock this bridge writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockFile {
    /// A process the client may signal; `None` makes it probe the port instead.
    pub pid: Option<u32>,
    /// All forms of all folders, from [`workspace_forms`], first folder first.
    /// Invariant: not empty; the first is what finders that compare strings see as the workspace.
    pub workspace_folders: Vec<PathBuf>,
    /// The label a person sees.
    pub ide_name: String,
    /// `None` when everyone is let in: then the client sends no header.
    pub token: Option<Token>,
    /// Wall clock, milliseconds since 1970.
    pub started_at_ms: u64,
    /// Random, new at each start: tells our lock from one written since by another.
    pub nonce: String,
    /// This program's version.
    pub version: String,
    /// Names the boot of the machine the pid belongs to.
    pub boot_id: String,
    /// The machine, or the container: others may share the folder and not the ports. Empty where
    /// the system does not say.
    pub host: String,
    /// Where we listen, if a client on 127.0.0.1 does not reach us.
    pub address: Option<IpAddr>,
}

/// A lock found on disk, whoever wrote it. What is missing or of another type is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundLock {
    /// A process, as a number or as digits.
    pub pid: Option<u32>,
    /// The folders it serves.
    pub workspace_folders: Vec<String>,
    /// The label a person sees.
    pub ide_name: Option<String>,
    /// `ws` for locks of this kind.
    pub transport: Option<String>,
    /// Its token; not needed to judge it, only to try it.
    pub token: Option<Token>,
    /// Our nonce, or another program's.
    pub nonce: Option<String>,
    /// Wall clock when it was written or last refreshed, milliseconds since 1970.
    pub started_at_ms: Option<u64>,
    /// Our mark.
    pub mark: Option<Mark>,
}

/// What only this program writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Version of the program that wrote it.
    pub version: String,
    /// Boot of the machine that wrote it; pids mean nothing under another.
    pub boot_id: String,
    /// The machine that wrote it, if it said so.
    pub host: String,
    /// Where its bridge listens.
    pub address: IpAddr,
}

/// Why no folder for locks can be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderError {
    /// Neither a folder nor a home is set.
    NoHome,
    /// The variable of that name holds a relative path, which means another folder to everyone.
    Relative(&'static str),
}

/// Order of the fields on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    workspace: &'a str,
    workspace_folders: &'a [String],
    ide_name: &'a str,
    transport: &'static str,
    running_in_windows: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_token: Option<&'a str>,
    is_bridge: bool,
    started_at: u64,
    nonce: &'a str,
    footbridge: WireMark<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireMark<'a> {
    version: &'a str,
    boot_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    host: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
}

impl LockFile {
    /// The file's text: one JSON object and a line end.
    pub fn render(&self) -> String {
        let folders: Vec<String> =
            self.workspace_folders.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let wire = Wire {
            pid: self.pid,
            workspace: folders.first().map_or("", String::as_str),
            workspace_folders: &folders,
            ide_name: &self.ide_name,
            transport: "ws",
            running_in_windows: false,
            auth_token: self.token.as_ref().map(Token::reveal),
            is_bridge: true,
            started_at: self.started_at_ms,
            nonce: &self.nonce,
            footbridge: WireMark {
                version: &self.version,
                boot_id: &self.boot_id,
                host: &self.host,
                address: self.address,
            },
        };
        let mut text = serde_json::to_string(&wire).expect("strings and numbers become JSON");
        text.push('\n');
        text
    }
}

impl FoundLock {
    /// Reads a lock; `None` when it is not a JSON object.
    pub fn parse(text: &[u8]) -> Option<FoundLock> {
        let value: Value = serde_json::from_slice(text).ok()?;
        value.as_object()?;
        let string = |key: &str| value[key].as_str().map(str::to_owned);
        let folders = value["workspaceFolders"].as_array().into_iter().flatten();
        Some(FoundLock {
            pid: pid_of(&value["pid"]),
            workspace_folders: folders.filter_map(Value::as_str).map(str::to_owned).collect(),
            ide_name: string("ideName"),
            transport: string("transport"),
            token: value["authToken"].as_str().and_then(|text| Token::new(text).ok()),
            nonce: string("nonce"),
            started_at_ms: value["startedAt"].as_u64(),
            mark: mark_of(&value["footbridge"]),
        })
    }

    /// Whether the process with this nonce wrote it; only then may it remove it.
    pub fn is_ours(&self, nonce: &str) -> bool {
        self.is_marked() && self.nonce.as_deref() == Some(nonce)
    }

    /// Whether any footbridge wrote it.
    pub fn is_marked(&self) -> bool {
        self.mark.is_some()
    }

    /// The address at which `host` may ask whether the bridge still runs. `None` when no answer
    /// would tell: another program's lock, or that of a machine or container whose ports are not
    /// ours, such as one that shares a home folder.
    pub fn address_seen_from(&self, host: &str) -> Option<IpAddr> {
        self.mark.as_ref().filter(|mark| mark.host == host).map(|mark| mark.address)
    }

    /// Whether it is ours and was not refreshed for so long that its bridge, wherever it ran, has
    /// ended.
    pub fn is_outdated(&self, now_ms: u64) -> bool {
        let age_ms = self.started_at_ms.map(|started_at_ms| now_ms.saturating_sub(started_at_ms));
        self.is_marked() && age_ms.is_some_and(|age_ms| age_ms > OUTDATED_MS)
    }
}

impl fmt::Display for FolderError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FolderError::NoHome => write!(out, "neither CLAUDE_CONFIG_DIR nor HOME is set"),
            FolderError::Relative(name) => write!(out, "{name} is a relative path"),
        }
    }
}

/// The folder the locks stand in: `$CLAUDE_CONFIG_DIR/ide`, else `~/.claude/ide`. Empty variables
/// count as unset.
pub fn lock_folder(env: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, FolderError> {
    let set = |name: &'static str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let absolute = |name: &'static str, path: PathBuf| match path.is_absolute() {
        true => Ok(path),
        false => Err(FolderError::Relative(name)),
    };
    if let Some(config) = set("CLAUDE_CONFIG_DIR") {
        return Ok(absolute("CLAUDE_CONFIG_DIR", config)?.join("ide"));
    }
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let home = set(name).ok_or(FolderError::NoHome)?;
    Ok(absolute(name, home)?.join(".claude").join("ide"))
}

/// The file's name for a port.
pub fn file_name(port: u16) -> String {
    format!("{port}.lock")
}

/// The port a lock's file name stands for; `None` for files that are no locks.
pub fn port_of(file_name: &str) -> Option<u16> {
    let digits = file_name.strip_suffix(".lock")?;
    let is_plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { digits.parse().ok() } else { None }
}

/// The name of a lock's file while it is written; every reader of locks ignores it.
pub fn temporary_name(port: u16, nonce: &str) -> String {
    format!("{port}.{nonce}.tmp")
}

/// The port in a name of [`temporary_name`]; `None` for files that are not ours.
pub fn port_of_temporary(file_name: &str) -> Option<u16> {
    let (port, nonce) = file_name.strip_suffix(".tmp")?.split_once('.')?;
    let is_nonce = nonce.len() == NONCE_LEN && nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_nonce { port_of(&format!("{port}.lock")) } else { None }
}

/// How one folder is listed: as given, then as the disk knows it, each absolute and without `.`,
/// `..`, doubled or trailing separators; once if they are equal. Characters stay as they are:
/// normalising them would name another folder on Linux.
pub fn workspace_forms(given: &Path, physical: &Path) -> Vec<PathBuf> {
    let (given, physical) = (normalise(given), normalise(physical));
    if given == physical { vec![given] } else { vec![given, physical] }
}

/// Resolves `.` and `..` by the letter, as a shell's `cd` does.
pub fn normalise(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                normal.push(component);
            }
        }
    }
    normal
}

fn pid_of(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => number.as_u64()?.try_into().ok(),
        Value::String(digits) => digits.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn mark_of(value: &Value) -> Option<Mark> {
    let string = |key: &str| value[key].as_str().map(str::to_owned);
    let address = string("address").and_then(|text| text.parse().ok());
    Some(Mark {
        version: string("version")?,
        boot_id: string("bootId").unwrap_or_default(),
        host: string("host").unwrap_or_default(),
        address: address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    })
}

#[cfg(test)]
mod tests;

//! What `serve` runs with: typed, checked against each other, with nothing left to look up.
//!
//! The layers of `source` go in with the few facts of the machine that decide about them
//! ([`Surroundings`]); [`ServeOptions`] come out, or one complaint. Whatever would let strangers in
//! by accident is refused here; whatever lets them in on purpose becomes a warning.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use log::LevelFilter;

use crate::stdx::Millis;
use crate::transport::host::HostPort;
use crate::transport::lock_file;
use crate::transport::origin::Origin;
use crate::transport::token::Token;

use super::open_command::OpenCommand;
use super::source::{Env, FilePath, Picked, Place, Setting, SettingError, SettingsFile, Sources};
use super::state;

/// Longest name of the bridge, in characters; it stands in a menu.
const IDE_NAME_CHARS_MAX: usize = 100;

/// Longest interval between pings, in seconds: a day.
const PING_INTERVAL_SECONDS_MAX: f64 = 86_400.0;

/// Most connections that can be asked for.
const CONNECTIONS_MAX: usize = 65_536;

/// Everything `serve` runs with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeOptions {
    /// Never empty; the first names the state folder.
    pub workspaces: Vec<Workspace>,
    /// Where to listen; a remembered port inside is tried first.
    pub ports: Ports,
    /// The address to listen on.
    pub bind: IpAddr,
    /// Who is let in.
    pub credential: Credential,
    /// Hosts let in besides the loopback names and `bind`.
    pub allow_hosts: Vec<HostPort>,
    /// Web origins let in.
    pub allow_origins: Vec<Origin>,
    /// Most connections at once.
    pub connections_max: usize,
    /// Milliseconds between keep-alive pings; `None` = off.
    pub ping_interval_ms: Option<Millis>,
    /// Unmasked client frames close the connection.
    pub is_masking_strict: bool,
    /// The label a person sees.
    pub ide_name: String,
    /// The folder of the lock file; `None` = none is written.
    pub lock_folder: Option<PathBuf>,
    /// Which process the lock file names.
    pub lock_pid: LockPid,
    /// A bridge that serves the workspace already is good news.
    pub is_joining: bool,
    /// Opens a file for a person.
    pub open_command: Option<OpenCommand>,
    /// What is logged.
    pub log_level: LevelFilter,
    /// Where the token and the port are remembered; `None` = nowhere, there is no home.
    pub state_folder: Option<PathBuf>,
    /// The settings file that was read, for the start line.
    pub settings_file: Option<PathBuf>,
    /// Lines to print before anything else.
    pub warnings: Vec<String>,
}

/// A folder that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Absolute, as the user spells it, without `.`, `..` and trailing separators.
    pub given: PathBuf,
    /// Absolute, without symbolic links.
    pub physical: PathBuf,
}

/// Ports to choose from. Invariant: `first <= last`; `0..=0` leaves the choice to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// Lowest.
    pub first: u16,
    /// Highest.
    pub last: u16,
}

/// How clients prove themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// The token the state folder remembers, else a fresh one.
    Remembered,
    /// This token.
    Given(Token),
    /// Not at all.
    Open,
}

/// Which process the lock file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockPid {
    /// This one.
    Own,
    /// None: clients probe the port.
    Absent,
    /// Another, such as the editor's.
    Given(u32),
}

/// The facts of the machine that settings depend on.
pub struct Surroundings<'a> {
    /// The environment.
    pub env: Env<'a>,
    /// The current folder as the user's shell spells it.
    pub current_folder: &'a Path,
    /// Reads a whole file.
    pub read_file: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
    /// The folder at a path without symbolic links; an error when there is no folder.
    pub physical_folder: &'a dyn Fn(&Path) -> io::Result<PathBuf>,
}

impl Ports {
    /// The range ports are picked from unless told otherwise.
    pub const DEFAULT: Ports = Ports { first: 10_000, last: 65_535 };

    /// `N`, `A-B`, or `0` for whichever port the system gives.
    pub fn parse(text: &str) -> Option<Ports> {
        let port = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse::<u16>().ok(),
            false => None,
        };
        let ports = match text.split_once('-') {
            Some((first, last)) => Ports { first: port(first)?, last: port(last)? },
            None => Ports { first: port(text)?, last: port(text)? },
        };
        let is_range = ports.first <= ports.last && (ports.first > 0 || ports.last == 0);
        is_range.then_some(ports)
    }
}

impl ServeOptions {
    /// Turns the command line's settings into options.
    pub fn resolve(
        flags: BTreeMap<&'static str, Setting>,
        around: &Surroundings<'_>,
    ) -> Result<ServeOptions, SettingError> {
        let file = read_settings_file(SettingsFile::find(&flags, around.env), around)?;
        let settings_file = file.as_ref().map(|file| file.path.clone());
        let sources = Sources { flags, env: around.env, file };
        let workspaces = workspaces(&sources, around)?;
        let state_folder = state::folder(around.env, &workspaces[0].physical);
        let bind = bind(&sources)?;
        let credential = credential(&sources, around)?;
        check_exposure(bind, &credential)?;
        let mut options = ServeOptions {
            ports: value(&sources, "port", "a port or a range such as 10000-20000", Ports::parse)?
                .unwrap_or(Ports::DEFAULT),
            bind,
            credential,
            allow_hosts: values(&sources, "allow-host", "a host or host:port", HostPort::parse)?,
            allow_origins: values(
                &sources,
                "allow-origin",
                "an origin such as https://app.example",
                Origin::parse,
            )?,
            connections_max: value(&sources, "max-connections", "1 to 65536", connections)?
                .unwrap_or(1024),
            ping_interval_ms: value(&sources, "ping-interval", "seconds, 0 to 86400", interval)?
                .unwrap_or(Some(30_000)),
            is_masking_strict: switch(&sources, "strict-masking")?,
            ide_name: value(&sources, "ide-name", "1 to 100 printable characters", ide_name)?
                .unwrap_or_else(|| "footbridge".to_owned()),
            lock_folder: lock_folder(&sources, around)?,
            lock_pid: lock_pid(&sources)?,
            is_joining: switch(&sources, "join")?,
            open_command: open_command(&sources)?,
            log_level: log_level(&sources)?,
            workspaces,
            state_folder,
            settings_file,
            warnings: Vec::new(),
        };
        options.warnings = options.warnings();
        Ok(options)
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.credential == Credential::Open {
            warnings
                .push("--no-auth: every program and every user of this machine gets in".to_owned());
        }
        if !self.bind.is_loopback() {
            warnings.push(format!(
                "--bind {}: whoever reaches it with the token gets in, unencrypted; put TLS in \
                 front of it",
                self.bind
            ));
        }
        if self.bind.is_unspecified() && self.allow_hosts.is_empty() {
            warnings.push(format!(
                "--bind {} names no host: clients elsewhere are refused until --allow-host names \
                 the host they ask for",
                self.bind
            ));
        }
        let is_reached_by_lock = self.bind.is_unspecified() || self.bind == Ipv4Addr::LOCALHOST;
        if self.lock_folder.is_some() && !is_reached_by_lock {
            warnings.push(format!(
                "--bind {}: Claude Code looks for lock files' ports on 127.0.0.1 and will not \
                 find this one",
                self.bind
            ));
        }
        if self.state_folder.is_none() {
            warnings.push("no home folder: port and token will change at each start".to_owned());
        }
        warnings
    }
}

fn read_settings_file(
    path: FilePath,
    around: &Surroundings<'_>,
) -> Result<Option<SettingsFile>, SettingError> {
    let (path, may_be_missing) = match path {
        FilePath::Named(path) => (path, false),
        FilePath::Usual(path) => (path, true),
        FilePath::Nowhere => return Ok(None),
    };
    match (around.read_file)(&path) {
        Ok(text) => SettingsFile::parse(&path, &text).map(Some),
        Err(error) if may_be_missing && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SettingError::Unreadable { path, detail: error.to_string() }),
    }
}

fn workspaces(
    sources: &Sources<'_>,
    around: &Surroundings<'_>,
) -> Result<Vec<Workspace>, SettingError> {
    let (folders, place) = match sources.pick("workspace")? {
        Some(Picked { setting: Setting::Values(folders), place }) if !folders.is_empty() => {
            (folders, place)
        }
        Some(_) | None => (vec![OsString::from(".")], Place::Flag("workspace")),
    };
    let mut workspaces: Vec<Workspace> = Vec::new();
    for folder in folders {
        let path = around.current_folder.join(&folder);
        // Resolved as the system does, before `..` is resolved by the letter.
        let physical = (around.physical_folder)(&path).map_err(|error| SettingError::BadValue {
            place: place.clone(),
            value: Some(folder.to_string_lossy().into_owned()),
            expected: format!("a folder ({error})"),
        })?;
        let workspace = Workspace { given: lock_file::normalise(&path), physical };
        if !workspaces.contains(&workspace) {
            workspaces.push(workspace);
        }
    }
    assert!(!workspaces.is_empty());
    Ok(workspaces)
}

fn bind(sources: &Sources<'_>) -> Result<IpAddr, SettingError> {
    let parse = |text: &str| match text {
        "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        _ => text.parse().ok(),
    };
    let bind = value(sources, "bind", "an address such as 127.0.0.1", parse)?;
    Ok(bind.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)))
}

fn credential(
    sources: &Sources<'_>,
    around: &Surroundings<'_>,
) -> Result<Credential, SettingError> {
    let Some((name, picked)) = sources.pick_one_of(&["token", "token-file", "no-auth"])? else {
        return Ok(Credential::Remembered);
    };
    let Some(given) = only_value(&picked.setting) else { return Ok(Credential::Open) };
    let text = match name {
        "token-file" => read_token_file(Path::new(&given), around)?,
        _ => given.to_string_lossy().into_owned(),
    };
    let token = Token::new(&text).map_err(|error| SettingError::BadValue {
        place: picked.place,
        value: None,
        expected: error.to_string(),
    })?;
    Ok(Credential::Given(token))
}

fn read_token_file(path: &Path, around: &Surroundings<'_>) -> Result<String, SettingError> {
    let text = (around.read_file)(path).map_err(|error| SettingError::Unreadable {
        path: path.to_owned(),
        detail: error.to_string(),
    })?;
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

/// Beyond loopback only with a token that the user chose.
fn check_exposure(bind: IpAddr, credential: &Credential) -> Result<(), SettingError> {
    match credential {
        Credential::Given(_) => Ok(()),
        Credential::Remembered | Credential::Open if bind.is_loopback() => Ok(()),
        Credential::Remembered => Err(SettingError::Unsafe(
            "--bind beyond loopback needs a token of yours: give --token or --token-file",
        )),
        Credential::Open => {
            Err(SettingError::Unsafe("--no-auth is for loopback only: drop it or drop --bind"))
        }
    }
}

fn lock_folder(
    sources: &Sources<'_>,
    around: &Surroundings<'_>,
) -> Result<Option<PathBuf>, SettingError> {
    if switch(sources, "no-lock-file")? {
        return Ok(None);
    }
    lock_file::lock_folder(around.env).map(Some).map_err(|error| {
        let what = "set CLAUDE_CONFIG_DIR to an absolute path, or give --no-lock-file";
        SettingError::NoFolder(format!("no folder for the lock file: {error}; {what}"))
    })
}

fn lock_pid(sources: &Sources<'_>) -> Result<LockPid, SettingError> {
    let Some((_, picked)) = sources.pick_one_of(&["pid", "no-pid"])? else {
        return Ok(LockPid::Own);
    };
    let parse = |text: &str| match text {
        "own" => Some(LockPid::Own),
        _ => text.parse().ok().filter(|pid| *pid > 0).map(LockPid::Given),
    };
    match only_value(&picked.setting) {
        None => Ok(LockPid::Absent),
        Some(_) => typed(&picked, "a process id", parse),
    }
}

fn open_command(sources: &Sources<'_>) -> Result<Option<OpenCommand>, SettingError> {
    let Some(picked) = sources.pick("open-command")? else { return Ok(None) };
    let Some(text) = only_value(&picked.setting) else { return Ok(None) };
    let text = text.to_string_lossy();
    match OpenCommand::parse(&text) {
        Ok(command) => Ok(Some(command)),
        Err(error) => Err(SettingError::BadValue {
            place: picked.place,
            value: Some(text.into_owned()),
            expected: format!("a command line with {{file}}; this one {error}"),
        }),
    }
}

fn log_level(sources: &Sources<'_>) -> Result<LevelFilter, SettingError> {
    let expected = "off, error, warn, info, debug or trace";
    let level = value(sources, "log", expected, |text| text.parse().ok())?;
    Ok(level.unwrap_or(LevelFilter::Info))
}

fn connections(text: &str) -> Option<usize> {
    text.parse().ok().filter(|count| (1..=CONNECTIONS_MAX).contains(count))
}

/// Seconds with fractions; anything but 0 is at least a millisecond.
fn interval(text: &str) -> Option<Option<Millis>> {
    let seconds: f64 = text.parse().ok()?;
    if !(0.0..=PING_INTERVAL_SECONDS_MAX).contains(&seconds) {
        return None;
    }
    if seconds == 0.0 {
        return Some(None);
    }
    Some(Some(((seconds * 1000.0).round() as Millis).max(1)))
}

fn ide_name(text: &str) -> Option<String> {
    let count = text.chars().count();
    let is_name = (1..=IDE_NAME_CHARS_MAX).contains(&count) && !text.contains(char::is_control);
    is_name.then(|| text.to_owned())
}

fn switch(sources: &Sources<'_>, name: &'static str) -> Result<bool, SettingError> {
    let picked = sources.pick(name)?;
    Ok(picked.is_some_and(|picked| picked.setting == Setting::Switch(true)))
}

fn value<T>(
    sources: &Sources<'_>,
    name: &'static str,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, SettingError> {
    let picked = sources.pick(name)?;
    picked.map(|picked| typed(&picked, expected, parse)).transpose()
}

fn values<T>(
    sources: &Sources<'_>,
    name: &'static str,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, SettingError> {
    let Some(Picked { setting: Setting::Values(texts), place }) = sources.pick(name)? else {
        return Ok(Vec::new());
    };
    let typed = |text: OsString| {
        let setting = Setting::Values(vec![text]);
        typed(&Picked { setting, place: place.clone() }, expected, &parse)
    };
    texts.into_iter().map(typed).collect()
}

fn typed<T>(
    picked: &Picked,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, SettingError> {
    let text = only_value(&picked.setting).unwrap_or_default();
    text.to_str().and_then(parse).ok_or_else(|| SettingError::BadValue {
        place: picked.place.clone(),
        value: Some(text.to_string_lossy().into_owned()),
        expected: expected.to_owned(),
    })
}

fn only_value(setting: &Setting) -> Option<OsString> {
    match setting {
        Setting::Switch(_) => None,
        Setting::Values(values) => Some(values.first().cloned().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests;

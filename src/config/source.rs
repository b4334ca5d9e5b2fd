//! Which layer a setting comes from: flags over environment over file over default.
//!
//! A layer replaces a setting whole; lists are not joined. Texts stay texts here, with the place
//! they stand in, so that a complaint can name it. The file is never looked for in a project: a
//! repository must not be able to widen what an agent may do.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::flag::{self, FLAGS, Flag, Kind, Separator};
use super::nearest;

/// Longest part of a value that a complaint quotes, in characters.
const QUOTE_CHARS_MAX: usize = 60;

/// Reads the environment.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// What one layer says of one flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A switch, on or off.
    Switch(bool),
    /// The values, in order; one for flags that stand once.
    Values(Vec<OsString>),
}

/// All layers.
pub struct Sources<'a> {
    /// From the command line, by flag name.
    pub flags: BTreeMap<&'static str, Setting>,
    /// The environment.
    pub env: Env<'a>,
    /// The settings file, if there is one.
    pub file: Option<SettingsFile>,
}

/// A settings file, checked for its keys and types but not for its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    /// Where it stands, for the start line and for complaints.
    pub path: PathBuf,
    settings: BTreeMap<&'static str, Setting>,
}

/// Where the settings file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePath {
    /// Named by flag or environment: it must be there.
    Named(PathBuf),
    /// The usual place: it may be missing.
    Usual(PathBuf),
    /// No place is known.
    Nowhere,
}

/// A setting with the place it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picked {
    /// What it says.
    pub setting: Setting,
    /// Where it says so.
    pub place: Place,
}

/// Where a setting stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On the command line.
    Flag(&'static str),
    /// In the environment.
    Env(&'static str),
    /// In the settings file.
    File(&'static str, PathBuf),
}

/// A setting that cannot be used: the user's mistake, told in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingError {
    /// A file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// As the system words it.
        detail: String,
    },
    /// The settings file is no JSON object.
    NotAnObject {
        /// The file.
        path: PathBuf,
        /// As the JSON reader words it.
        detail: String,
    },
    /// The settings file has a key that is no flag.
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// The settings file has a value of another type.
    WrongType {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What it holds.
        found: &'static str,
    },
    /// A value that does not fit its flag.
    BadValue {
        /// Where it stands.
        place: Place,
        /// The value; `None` when it is a secret.
        value: Option<String>,
        /// What the flag takes.
        expected: String,
    },
    /// Two settings of one layer that exclude each other.
    Conflict {
        /// The one.
        place: Place,
        /// The other.
        other: Place,
    },
    /// A combination that would let strangers in.
    Unsafe(&'static str),
    /// A folder that something needs has no known place.
    NoFolder(String),
}

impl SettingError {
    /// Whether other arguments would mend it; if not, the machine has to change.
    pub fn is_usage(&self) -> bool {
        match self {
            SettingError::NoFolder(_) => false,
            SettingError::Unreadable { .. }
            | SettingError::NotAnObject { .. }
            | SettingError::UnknownKey { .. }
            | SettingError::WrongType { .. }
            | SettingError::BadValue { .. }
            | SettingError::Conflict { .. }
            | SettingError::Unsafe(_) => true,
        }
    }
}

impl Sources<'_> {
    /// The setting of the highest layer that names the flag.
    pub fn pick(&self, name: &'static str) -> Result<Option<Picked>, SettingError> {
        let flag = flag::find(name).expect("callers name rows of FLAGS");
        if let Some(setting) = self.flags.get(name) {
            return Ok(Some(Picked { setting: setting.clone(), place: Place::Flag(name) }));
        }
        // An empty variable is how a shell script unsets one.
        if let Some(text) = (self.env)(&flag.env_name()).filter(|text| !text.is_empty()) {
            let place = Place::Env(name);
            let setting = from_env(flag, text, &place)?;
            return Ok(Some(Picked { setting, place }));
        }
        let Some(file) = &self.file else { return Ok(None) };
        let setting = file.settings.get(name).cloned();
        let place = || Place::File(name, file.path.clone());
        Ok(setting.map(|setting| Picked { setting, place: place() }))
    }

    /// Of flags that exclude each other, the one of the highest layer, with its name.
    pub fn pick_one_of(
        &self,
        names: &[&'static str],
    ) -> Result<Option<(&'static str, Picked)>, SettingError> {
        let mut best: Option<(&'static str, Picked)> = None;
        for &name in names {
            let Some(picked) = self.pick(name)? else { continue };
            if picked.setting == Setting::Switch(false) {
                continue;
            }
            match &best {
                Some((_, other)) if other.place.rank() == picked.place.rank() => {
                    let other = other.place.clone();
                    return Err(SettingError::Conflict { place: other, other: picked.place });
                }
                Some((_, other)) if other.place.rank() < picked.place.rank() => {}
                Some(_) | None => best = Some((name, picked)),
            }
        }
        Ok(best)
    }
}

impl SettingsFile {
    /// Reads a file's text.
    pub fn parse(path: &Path, text: &[u8]) -> Result<SettingsFile, SettingError> {
        let path = path.to_owned();
        let value: Value = match serde_json::from_slice(text) {
            Ok(value) => value,
            Err(error) => {
                return Err(SettingError::NotAnObject { path, detail: error.to_string() });
            }
        };
        let Value::Object(keys) = value else {
            let detail = format!("it holds {}", type_of(&value));
            return Err(SettingError::NotAnObject { path, detail });
        };
        let mut settings = BTreeMap::new();
        for (key, value) in keys {
            let Some(flag) = flag::find(&key).filter(|flag| flag.name != "config") else {
                return Err(SettingError::UnknownKey { path, key });
            };
            let Some(setting) = from_json(flag, &value) else {
                let (expected, found) = (expected_type(flag), type_of(&value));
                return Err(SettingError::WrongType { path, key: flag.name, expected, found });
            };
            settings.insert(flag.name, setting);
        }
        Ok(SettingsFile { path, settings })
    }

    /// Where the file is to be found: `--config`, `FOOTBRIDGE_CONFIG`, else
    /// `$XDG_CONFIG_HOME/footbridge/config.json`, where a relative XDG path counts as unset.
    pub fn find(flags: &BTreeMap<&'static str, Setting>, env: Env<'_>) -> FilePath {
        let set = |name: &str| env(name).filter(|value| !value.is_empty());
        let named = match flags.get("config") {
            Some(Setting::Values(values)) => values.first().cloned(),
            Some(Setting::Switch(_)) | None => set("FOOTBRIDGE_CONFIG"),
        };
        if let Some(path) = named {
            return FilePath::Named(PathBuf::from(path));
        }
        match xdg_folder(env, "XDG_CONFIG_HOME", ".config") {
            Some(folder) => FilePath::Usual(folder.join("footbridge").join("config.json")),
            None => FilePath::Nowhere,
        }
    }
}

/// A folder of the XDG Base Directory Specification: the variable if it holds an absolute path,
/// else `fallback` under the home folder.
pub(crate) fn xdg_folder(env: Env<'_>, variable: &str, fallback: &str) -> Option<PathBuf> {
    let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    absolute(variable).or_else(|| Some(absolute(home)?.join(fallback)))
}

impl Place {
    /// Lower wins.
    fn rank(&self) -> u8 {
        match self {
            Place::Flag(_) => 0,
            Place::Env(_) => 1,
            Place::File(..) => 2,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Flag(name) => write!(out, "--{name}"),
            Place::Env(name) => {
                let flag = flag::find(name).expect("places name rows of FLAGS");
                write!(out, "{}", flag.env_name())
            }
            Place::File(name, path) => write!(out, "\"{name}\" in {}", path.display()),
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingError::Unreadable { path, detail } => {
                write!(out, "cannot read {}: {detail}", path.display())
            }
            SettingError::NotAnObject { path, detail } => {
                write!(out, "{} is no JSON object: {detail}", path.display())
            }
            SettingError::UnknownKey { path, key } => {
                let known = FLAGS.iter().map(|flag| flag.name).filter(|name| *name != "config");
                let hint = nearest::hint(key, known);
                write!(out, "unknown key {} in {}{hint}", quote(key), path.display())
            }
            SettingError::WrongType { path, key, expected, found } => {
                write!(out, "\"{key}\" in {} must be {expected}, not {found}", path.display())
            }
            SettingError::BadValue { place, value: Some(value), expected } => {
                write!(out, "{place} must be {expected}, not {}", quote(value))
            }
            SettingError::BadValue { place, value: None, expected } => {
                write!(out, "{place}: {expected}")
            }
            SettingError::Conflict { place, other } => {
                write!(out, "{place} and {other} exclude each other: give one")
            }
            SettingError::Unsafe(rule) => out.write_str(rule),
            SettingError::NoFolder(text) => out.write_str(text),
        }
    }
}

/// A peer's or user's text in quotes, cut, on one line.
pub fn quote(text: &str) -> String {
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(QUOTE_CHARS_MAX).collect();
    let rest = if letters.next().is_some() { "…" } else { "" };
    format!("\"{}{rest}\"", start.escape_debug())
}

fn from_env(flag: &Flag, text: OsString, place: &Place) -> Result<Setting, SettingError> {
    match flag.kind {
        Kind::Switch => match text.to_str().map(str::to_ascii_lowercase).as_deref() {
            Some("1" | "true" | "yes" | "on") => Ok(Setting::Switch(true)),
            Some("0" | "false" | "no" | "off") => Ok(Setting::Switch(false)),
            Some(_) | None => Err(SettingError::BadValue {
                place: place.clone(),
                value: Some(text.to_string_lossy().into_owned()),
                expected: "1 or 0".to_owned(),
            }),
        },
        Kind::One(_) => Ok(Setting::Values(vec![text])),
        Kind::Many(_, Separator::PathList) => {
            let paths = std::env::split_paths(&text).filter(|path| !path.as_os_str().is_empty());
            Ok(Setting::Values(paths.map(PathBuf::into_os_string).collect()))
        }
        Kind::Many(_, Separator::Comma) => {
            let text = text.to_string_lossy();
            let values = text.split(',').map(str::trim).filter(|value| !value.is_empty());
            Ok(Setting::Values(values.map(OsString::from).collect()))
        }
    }
}

fn from_json(flag: &Flag, value: &Value) -> Option<Setting> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(OsString::from(text)),
        Value::Number(number) => Some(OsString::from(number.to_string())),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    match (flag.kind, value) {
        (Kind::Switch, Value::Bool(is_on)) => Some(Setting::Switch(*is_on)),
        (Kind::Many(..), Value::Array(values)) => {
            let texts: Option<Vec<OsString>> = values.iter().map(text).collect();
            texts.map(Setting::Values)
        }
        (Kind::One(_) | Kind::Many(..), value) => Some(Setting::Values(vec![text(value)?])),
        (Kind::Switch, _) => None,
    }
}

fn expected_type(flag: &Flag) -> &'static str {
    match flag.kind {
        Kind::Switch => "true or false",
        Kind::One(_) => "a string or a number",
        Kind::Many(..) => "a string or an array of strings",
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

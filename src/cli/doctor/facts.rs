//! What can be known, from outside, of an agent that would attach to a bridge here.
//!
//! Plain data, gathered once by `gather`; the checks look at nothing else, so that a machine can be
//! made up for a test. Claude Code's rules for lock files are here too: which it keeps, which it
//! takes for the folder it runs in. No secret is among the facts.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

/// Variables that decide whether and where Claude Code attaches. Their values are no secrets.
pub const VARIABLES: [&str; 9] = [
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_AUTO_CONNECT_IDE",
    "CLAUDE_CODE_IDE_HOST_OVERRIDE",
    "CLAUDE_CODE_IDE_SKIP_VALID_CHECK",
    "CLAUDE_CONFIG_DIR",
    "TERM_PROGRAM",
    "FORCE_CODE_TERMINAL",
    "MCP_TIMEOUT",
    "MCP_TOOL_TIMEOUT",
];

/// Everything the checks look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The current folder without symbolic links, which is what Claude Code compares.
    pub folder: PathBuf,
    /// This program's version.
    pub version: String,
    /// The user we act as.
    pub user: Option<u32>,
    /// The owner of the home folder.
    pub home_owner: Option<u32>,
    /// Those of [`VARIABLES`] that are set and not empty.
    pub variables: BTreeMap<&'static str, String>,
    /// Variables that name a proxy.
    pub proxies: Vec<&'static str>,
    /// Whether `no_proxy` or `NO_PROXY` keeps each name of this machine away from the proxy.
    pub is_loopback_direct: bool,
    /// The folders Claude Code looks for locks in; a bridge started here writes to the first.
    pub lock_folders: Vec<LockFolder>,
    /// Why a bridge started here would have no folder for its lock.
    pub lock_folder_error: Option<String>,
    /// Every lock in them, by path.
    pub locks: Vec<Lock>,
    /// The bridges that run, by port.
    pub bridges: Vec<Bridge>,
    /// What is remembered for this folder, or for that of the bridge that serves it.
    pub state: State,
    /// What Claude Code's own settings say.
    pub settings: ClaudeSettings,
    /// The machine and its programs.
    pub machine: Machine,
}

/// Whether a folder can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// It is not there; whether the nearest folder above it would take it.
    Missing {
        /// Whether it can be made.
        can_be_made: bool,
    },
    /// Something else stands there or above.
    NotAFolder,
    /// The system does not let us look.
    Hidden(String),
    /// It is there.
    There {
        /// Whether we may make files in it.
        is_writable: bool,
        /// Owner and permission bits, where there is such a thing.
        owner_and_mode: Option<(u32, u32)>,
    },
}

/// A folder with lock files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockFolder {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// Whether it can be used.
    pub access: Access,
}

/// A lock file, whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// Where it stands.
    pub path: PathBuf,
    /// The port its name stands for; `None` for a name that is no port.
    pub port: Option<u16>,
    /// Its owner, where there is such a thing.
    pub owner: Option<u32>,
    /// What it says.
    pub text: LockText,
    /// The process it names.
    pub process: Process,
    /// Whether someone accepts connections on its port.
    pub is_answering: bool,
    /// What its folders are to the current one.
    pub reach: Reach,
}

/// What a lock file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockText {
    /// It cannot be read; as the system words it.
    Unreadable(String),
    /// No JSON object: Claude Code takes its lines for folders and speaks the old protocol.
    Lines,
    /// A lock as it should be.
    Fields(Fields),
}

/// The fields that decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// The label a person sees.
    pub ide_name: Option<String>,
    /// `ws`, or Claude Code speaks the old protocol.
    pub transport: Option<String>,
    /// The folders it serves, as they are spelled.
    pub folders: Vec<String>,
    /// Whether a footbridge wrote it.
    pub is_ours: bool,
}

/// The process a lock names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// None: Claude Code tries the port instead.
    NotNamed,
    /// It lives.
    Alive(u32),
    /// There is none of that number.
    Gone(u32),
    /// It is another user's; Claude Code takes it for dead.
    Forbidden(u32),
}

/// What a lock's folders are to the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// The current folder is one of them or below one, letter by letter.
    Serves,
    /// The same, but only for the disk: this one is spelled otherwise.
    Misspelled(String, Spelling),
    /// This one is below the current folder: listed, but not connected to.
    Below(String),
    /// Nothing.
    Elsewhere,
}

/// How one folder comes to have two spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// A symbolic link.
    Link,
    /// Large and small letters.
    Case,
    /// Dots, doubled separators.
    Form,
}

/// A running bridge of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    /// Where it listens.
    pub port: u16,
    /// The address it listens on.
    pub bind: IpAddr,
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Its folders, physical.
    pub folders: Vec<PathBuf>,
    /// Whether it is the one that serves the current folder.
    pub is_here: bool,
    /// Whether its process was stopped, as by Ctrl-Z.
    pub is_stopped: bool,
    /// What it answers when asked.
    pub answer: Answer,
    /// What the door for agents says to the token of its lock.
    pub door: Door,
}

/// What a bridge answers to the verbs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It was not asked.
    NotAsked,
    /// It did not answer; why.
    Silence(String),
    /// It has as many connections as it may have.
    Full,
    /// Its figures.
    Figures(Figures),
}

/// What a bridge says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Its lock file, if it writes one.
    pub lock: Option<PathBuf>,
    /// Whether Claude Code started here looks where the lock file is.
    pub is_lock_in_sight: bool,
    /// Whether the lock file is there.
    pub is_lock_there: bool,
    /// The agents that are attached.
    pub agents: Vec<Agent>,
}

/// An attached agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// As the bridge calls it.
    pub id: String,
    /// Whether the bridge reads nothing from it because it reads nothing itself.
    pub is_paused: bool,
    /// Bytes that wait for it.
    pub queued_bytes: u64,
}

/// What the door for agents says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Door {
    /// It was not tried.
    NotTried,
    /// It opened.
    Open,
    /// It answered with this status.
    Refused(u16),
    /// Nobody spoke WebSocket there; why.
    Failed(String),
}

/// What is remembered between starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Where; `None` without a home.
    pub folder: Option<PathBuf>,
    /// Whether it can be used.
    pub access: Access,
    /// The port of the last bridge, while none runs.
    pub last_port: Option<u16>,
    /// Whether someone accepts connections on that port.
    pub is_last_port_taken: bool,
    /// The remembered token.
    pub token: TokenFile,
}

/// The file that remembers the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenFile {
    /// None yet.
    Missing,
    /// It holds a token.
    Fine,
    /// It cannot be read; as the system words it.
    Unreadable(String),
    /// It holds no token.
    Junk,
    /// Others may read it.
    Exposed,
}

/// What decides in Claude Code's settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaudeSettings {
    /// Where they are.
    pub path: Option<PathBuf>,
    /// Whether it attaches by itself.
    pub is_auto_connecting: bool,
    /// Whether diffs are kept from the bridge.
    pub is_diff_in_terminal: bool,
}

/// The machine and its programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// How we know that this is a container.
    pub container: Option<String>,
    /// Whether this is Linux under Windows.
    pub is_wsl: bool,
    /// Whether `claude` is on PATH.
    pub has_claude: bool,
    /// Our parent, its parent and so on, ten at most; empty where it cannot be told.
    pub ancestors: Vec<u32>,
}

impl Facts {
    /// A variable that is set.
    pub fn variable(&self, name: &'static str) -> Option<&str> {
        assert!(VARIABLES.contains(&name));
        self.variables.get(name).map(String::as_str)
    }

    /// Whether a switch of Claude Code's is on.
    pub fn is_on(&self, name: &'static str) -> bool {
        let value = self.variable(name).map(str::to_ascii_lowercase);
        matches!(value.as_deref(), Some("1" | "true" | "yes" | "on"))
    }

    /// The port Claude Code is told to attach to.
    pub fn told_port(&self) -> Option<u16> {
        self.variable("CLAUDE_CODE_SSE_PORT")?.trim().parse().ok()
    }

    /// The bridge that serves the current folder.
    pub fn bridge(&self) -> Option<&Bridge> {
        self.bridges.iter().find(|bridge| bridge.is_here)
    }

    /// What it says of itself.
    pub fn figures(&self) -> Option<&Figures> {
        match &self.bridge()?.answer {
            Answer::Figures(figures) => Some(figures),
            Answer::NotAsked | Answer::Silence(_) | Answer::Full => None,
        }
    }

    /// The lock under the port of the bridge that serves the current folder.
    pub fn bridge_lock(&self) -> Option<&Lock> {
        let port = self.bridge()?.port;
        self.locks.iter().find(|lock| lock.port == Some(port))
    }

    /// Whether that is this one.
    pub fn is_bridge_lock(&self, lock: &Lock) -> bool {
        self.bridge_lock().is_some_and(|other| other.path == lock.path)
    }

    /// Whether Claude Code connects to the lock by its folders.
    pub fn is_match(&self, lock: &Lock) -> bool {
        let is_folder_asked = !self.is_on("CLAUDE_CODE_IDE_SKIP_VALID_CHECK");
        lock.is_kept() && (!is_folder_asked || lock.reach == Reach::Serves)
    }

    /// The locks Claude Code would connect to by their folders; with two it connects to none.
    pub fn matches(&self) -> impl Iterator<Item = &Lock> {
        self.locks.iter().filter(|lock| self.is_match(lock))
    }

    /// The lock the told port stands for, whatever its folders.
    pub fn told_lock(&self) -> Option<&Lock> {
        let port = self.told_port()?;
        self.locks.iter().find(|lock| lock.is_kept() && lock.port == Some(port))
    }
}

impl Lock {
    /// Whether the lock is there still when Claude Code has cleared away what it takes for dead.
    pub fn is_kept(&self) -> bool {
        let is_readable = match &self.text {
            LockText::Unreadable(_) => false,
            LockText::Lines | LockText::Fields(_) => true,
        };
        let is_alive = match self.process {
            Process::NotNamed => self.is_answering,
            Process::Alive(_) => true,
            Process::Gone(_) | Process::Forbidden(_) => false,
        };
        is_readable && self.port.is_some() && is_alive
    }

    /// Its fields, if it is a lock as it should be.
    pub fn fields(&self) -> Option<&Fields> {
        match &self.text {
            LockText::Fields(fields) => Some(fields),
            LockText::Unreadable(_) | LockText::Lines => None,
        }
    }

    /// Whether a footbridge wrote it.
    pub fn is_ours(&self) -> bool {
        self.fields().is_some_and(|fields| fields.is_ours)
    }
}

impl Bridge {
    /// Whether Claude Code, which asks 127.0.0.1, reaches it.
    pub fn is_reachable(&self) -> bool {
        self.bind.is_unspecified() || self.bind == Ipv4Addr::LOCALHOST
    }
}

/// Whether the current folder is the given one or below it, as Claude Code compares: letter by
/// letter, in one Unicode form, trailing separators aside.
pub fn is_in(current: &str, folder: &str) -> bool {
    let current: String = current.nfc().collect();
    let folder: String = folder.nfc().collect();
    if folder.is_empty() {
        return false;
    }
    let folder = folder.trim_end_matches(MAIN_SEPARATOR);
    let rest = current.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(MAIN_SEPARATOR))
}

/// What `folders` are to the current one; the nearest counts. `physical` resolves links.
pub fn reach(
    current: &Path,
    folders: &[String],
    physical: &dyn Fn(&Path) -> Option<PathBuf>,
) -> Reach {
    let here = current.to_string_lossy();
    if folders.iter().any(|folder| is_in(&here, folder)) {
        return Reach::Serves;
    }
    let absolute = || folders.iter().filter(|folder| Path::new(folder).is_absolute());
    let misspelled = absolute().find_map(|folder| {
        let spelling = spelling(current, folder, physical(Path::new(folder)))?;
        Some(Reach::Misspelled(folder.clone(), spelling))
    });
    let below = || absolute().find(|folder| is_in(folder, &here));
    let below = || below().map(|folder| Reach::Below(folder.clone()));
    misspelled.or_else(below).unwrap_or(Reach::Elsewhere)
}

/// How a folder that does not match by its letters is the current one all the same.
fn spelling(current: &Path, folder: &str, physical: Option<PathBuf>) -> Option<Spelling> {
    let here = current.to_string_lossy();
    let is_case = is_in(&here.to_lowercase(), &folder.to_lowercase());
    match physical {
        Some(physical) if !current.starts_with(&physical) => None,
        Some(_) if is_case => Some(Spelling::Case),
        Some(physical) if Path::new(folder).components().eq(physical.components()) => {
            Some(Spelling::Form)
        }
        Some(_) if folder.contains("..") => Some(Spelling::Form),
        Some(_) => Some(Spelling::Link),
        None => is_case.then_some(Spelling::Case),
    }
}

#[cfg(test)]
pub(crate) mod tests;

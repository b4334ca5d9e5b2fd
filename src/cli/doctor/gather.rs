//! Looks at the machine, once, and changes nothing on it.
//!
//! Files are read, ports are tried, processes are sent the signal that does nothing, and the bridge
//! that serves the current folder is asked for its figures and let a connection in. Whatever cannot
//! be found out is left out; nothing here decides what is wrong.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::control::{self, ControlClient, Running};
use crate::cli::rpc::RpcError;
use crate::cli::{env, serve, token};
use crate::config::source::Env;
use crate::config::state::{self, BRIDGE_FILE, BridgeRecord, TOKEN_FILE};
use crate::reactor::sys;
use crate::transport::door::VERSION;
use crate::transport::lock_file::{self, FoundLock};

use super::facts::{
    Access, Agent, Answer, Bridge, ClaudeSettings, Door, Facts, Fields, Figures, Lock, LockFolder,
    LockText, Process, State, TokenFile, VARIABLES, reach,
};
use super::machine;

/// A port of this machine answers or refuses in microseconds; a firewall may keep silent.
const PROBE: Duration = Duration::from_millis(200);

/// Locks that are looked at. A folder with more is broken; each may cost one [`PROBE`].
const LOCKS_MAX: usize = 100;

/// Gathers everything about the current folder, which is physical.
pub fn facts(env: Env<'_>, folder: PathBuf) -> Facts {
    let lock_folders = lock_folders(env);
    let running = control::running(env);
    let here = control::find(env, &folder, None).ok();
    let bridge = |one: &Running| {
        let is_here = here.as_ref().is_some_and(|here| here.folder == one.folder);
        look_at(one, is_here, &lock_folders)
    };
    let bridges = running.iter().map(bridge).collect();
    // After that, since a bridge that is asked puts a lock back that went missing.
    let locks = lock_folders.iter().flat_map(|one| locks_in(&one.path, &folder)).collect();
    let set = |name: &'static str| text_of(env, name).map(|value| (name, value));
    let home = machine::home(env);
    Facts {
        version: VERSION.to_owned(),
        user: sys::user(),
        home_owner: home.and_then(|home| Some(sys::owner_and_mode(&fs::metadata(home).ok()?)?.0)),
        variables: VARIABLES.into_iter().filter_map(set).collect::<BTreeMap<_, _>>(),
        proxies: machine::proxies(env),
        is_loopback_direct: env::is_loopback_direct(env),
        lock_folder_error: lock_file::lock_folder(env).err().map(|error| error.to_string()),
        state: state_of(env, &folder, here.as_ref()),
        settings: settings(env),
        machine: machine::look(env),
        folder,
        lock_folders,
        locks,
        bridges,
    }
}

/// A variable that is set and not empty.
pub(super) fn text_of(env: Env<'_>, name: &str) -> Option<String> {
    let value = env(name).filter(|value| !value.is_empty())?;
    Some(value.to_string_lossy().into_owned())
}

/// Where Claude Code looks: its own folder if one is set, and the one at home in any case.
fn lock_folders(env: Env<'_>) -> Vec<LockFolder> {
    let without_setting = |name: &str| match name {
        "CLAUDE_CONFIG_DIR" => None,
        _ => env(name),
    };
    let mut paths: Vec<PathBuf> = lock_file::lock_folder(env).into_iter().collect();
    let at_home = lock_file::lock_folder(&without_setting).ok();
    paths.extend(at_home.filter(|path| !paths.iter().any(|other| same_place(other, path))));
    let folder = |path: PathBuf| LockFolder { access: access(&path), path };
    paths.into_iter().map(folder).collect()
}

/// Whether two paths lead to one place; by the letter while it is not there.
fn same_place(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => one == other,
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

/// Whether a folder can be used.
fn access(path: &Path) -> Access {
    match fs::metadata(path) {
        Ok(found) if !found.is_dir() => Access::NotAFolder,
        Ok(found) => Access::There {
            is_writable: sys::is_folder_writable(path),
            owner_and_mode: sys::owner_and_mode(&found),
        },
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Access::NotAFolder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A link that leads nowhere is in the way of the folder.
            let is_taken = fs::symlink_metadata(path).is_ok();
            let above = path.ancestors().skip(1).find(|above| fs::symlink_metadata(above).is_ok());
            let is_willing = above.is_some_and(|above| above.is_dir() && can_write(above));
            Access::Missing { can_be_made: !is_taken && is_willing }
        }
        Err(error) => Access::Hidden(error.to_string()),
    }
}

fn can_write(folder: &Path) -> bool {
    sys::is_folder_writable(folder)
}

/// Every file that Claude Code takes for a lock.
fn locks_in(folder: &Path, current: &Path) -> Vec<Lock> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_lock = |path: &PathBuf| path.extension().is_some_and(|end| end == "lock");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(is_lock).filter(|path| !path.is_dir()).collect();
    paths.sort();
    paths.truncate(LOCKS_MAX);
    paths.into_iter().map(|path| lock_at(path, current)).collect()
}

fn lock_at(path: PathBuf, current: &Path) -> Lock {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let port = lock_file::port_of(&name);
    let metadata = fs::metadata(&path);
    let owner = metadata.as_ref().ok().and_then(sys::owner_and_mode).map(|(owner, _)| owner);
    // Opening a FIFO would wait for its writer.
    let read = metadata.and_then(|found| match found.is_file() {
        true => fs::read(&path),
        false => Err(io::Error::other("it is no regular file")),
    });
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) => {
            let (text, reach) =
                (LockText::Unreadable(error.to_string()), super::facts::Reach::Elsewhere);
            let process = Process::NotNamed;
            return Lock { path, port, owner, text, process, is_answering: false, reach };
        }
    };
    let found = FoundLock::parse(&bytes);
    let folders = folders_of(&bytes);
    let process = found.as_ref().and_then(|lock| lock.pid).map_or(Process::NotNamed, process_of);
    Lock {
        is_answering: port.is_some_and(is_answering),
        reach: reach(current, &folders, &physical),
        text: match found {
            None => LockText::Lines,
            Some(lock) => LockText::Fields(Fields {
                is_ours: lock.is_marked(),
                ide_name: lock.ide_name,
                transport: lock.transport,
                folders,
            }),
        },
        path,
        port,
        owner,
        process,
    }
}

/// The folders as Claude Code reads them: a text in place of the list counts letter by letter, and
/// what is no JSON line by line.
fn folders_of(bytes: &[u8]) -> Vec<String> {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        let text = String::from_utf8_lossy(bytes);
        return text.lines().map(|line| line.trim().to_owned()).collect();
    };
    match &value["workspaceFolders"] {
        Value::String(text) => text.chars().map(String::from).collect(),
        Value::Array(folders) => {
            folders.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn physical(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().map(serve::plain)
}

fn process_of(pid: u32) -> Process {
    match sys::liveness(pid) {
        sys::Liveness::Alive => Process::Alive(pid),
        sys::Liveness::Gone => Process::Gone(pid),
        sys::Liveness::Forbidden => Process::Forbidden(pid),
    }
}

/// Whether someone accepts connections there, as Claude Code tries it: opened and closed at once.
fn is_answering(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, PROBE).is_ok()
}

/// One running bridge; the one that serves the current folder is asked.
fn look_at(running: &Running, is_here: bool, lock_folders: &[LockFolder]) -> Bridge {
    let record = &running.record;
    let is_stopped = machine::is_stopped(record.pid);
    let answer = match is_here && !is_stopped {
        true => ask(running, lock_folders),
        false => Answer::NotAsked,
    };
    let door = match &answer {
        Answer::Figures(figures) => try_door(running, figures),
        Answer::NotAsked | Answer::Silence(_) | Answer::Full => Door::NotTried,
    };
    let folders = std::iter::once(&record.workspace).chain(&record.more_workspaces);
    Bridge {
        port: record.port,
        bind: record.bind,
        pid: record.pid,
        version: record.version.clone(),
        folders: folders.cloned().collect(),
        is_here,
        is_stopped,
        answer,
        door,
    }
}

fn ask(running: &Running, lock_folders: &[LockFolder]) -> Answer {
    let answer = ControlClient::connect(running)
        .and_then(|mut client| client.request("bridge/status", &json!({})));
    let status = match answer {
        Ok(status) => status,
        Err(RpcError::NotLetIn(503)) => return Answer::Full,
        Err(error) => return Answer::Silence(error.to_string()),
    };
    let lock = status["lockFile"].as_str().map(PathBuf::from);
    let folder = lock.as_deref().and_then(Path::parent);
    let is_in_sight =
        |folder: &Path| lock_folders.iter().any(|seen| same_place(&seen.path, folder));
    let agents = status["agents"].as_array().into_iter().flatten();
    Answer::Figures(Figures {
        is_lock_in_sight: folder.is_some_and(is_in_sight),
        is_lock_there: lock.as_deref().is_some_and(|path| fs::symlink_metadata(path).is_ok()),
        lock,
        agents: agents.map(agent).collect(),
    })
}

fn agent(agent: &Value) -> Agent {
    Agent {
        id: agent["id"].as_str().unwrap_or("a client").to_owned(),
        is_paused: agent["isPaused"] == true,
        queued_bytes: agent["queuedBytes"].as_u64().unwrap_or_default(),
    }
}

/// Comes in as an agent would, with the token of the lock, and goes at once.
fn try_door(running: &Running, figures: &Figures) -> Door {
    let Some(path) = &figures.lock else { return Door::NotTried };
    let Some(lock) = fs::read(path).ok().and_then(|text| FoundLock::parse(&text)) else {
        return Door::NotTried;
    };
    match token::ide_door(running, lock.token.as_ref()) {
        Ok(_) => Door::Open,
        Err(RpcError::NotLetIn(status)) => Door::Refused(status),
        Err(error) => Door::Failed(error.to_string()),
    }
}

/// What is remembered for the bridge's folder, or for the current one while none serves it.
fn state_of(env: Env<'_>, current: &Path, here: Option<&Running>) -> State {
    let folder = match here {
        Some(running) => Some(running.folder.clone()),
        None => state::folder(env, current),
    };
    let Some(folder) = folder else {
        return State {
            folder: None,
            access: Access::Missing { can_be_made: false },
            last_port: None,
            is_last_port_taken: false,
            token: TokenFile::Missing,
        };
    };
    let last = || BridgeRecord::parse(&fs::read(folder.join(BRIDGE_FILE)).ok()?);
    let last_port = if here.is_none() { last().map(|record| record.port) } else { None };
    State {
        access: access(&folder),
        last_port,
        is_last_port_taken: last_port.is_some_and(is_answering),
        token: token_file(&folder.join(TOKEN_FILE)),
        folder: Some(folder),
    }
}

fn token_file(path: &Path) -> TokenFile {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return TokenFile::Missing,
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return TokenFile::Missing,
        Err(error) => return TokenFile::Unreadable(error.to_string()),
    };
    if !metadata.is_file() {
        return TokenFile::Unreadable("it is no regular file".to_owned());
    }
    let is_exposed = sys::owner_and_mode(&metadata).is_some_and(|(_, mode)| mode & 0o077 != 0);
    match fs::read(path) {
        Err(error) => TokenFile::Unreadable(error.to_string()),
        Ok(text) if state::parse_token(&text).is_none() => TokenFile::Junk,
        Ok(_) if is_exposed => TokenFile::Exposed,
        Ok(_) => TokenFile::Fine,
    }
}

/// Claude Code's settings, as far as they are there and can be read.
fn settings(env: Env<'_>) -> ClaudeSettings {
    let folder = text_of(env, "CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let path = folder.or_else(|| machine::home(env)).map(|folder| folder.join(".claude.json"));
    let text = path.as_deref().filter(|path| path.is_file()).and_then(|path| fs::read(path).ok());
    let value: Value = text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    ClaudeSettings {
        path,
        is_auto_connecting: value["autoConnectIde"] == true,
        is_diff_in_terminal: value["diffTool"] == "terminal",
    }
}

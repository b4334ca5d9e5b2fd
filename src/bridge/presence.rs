//! What a running bridge leaves on disk for others to find, and takes away again.
//!
//! The lock file tells Claude Code and editor extensions where we listen; it appears whole or not at
//! all, and only a file that carries our nonce is ever replaced or removed. The state folder
//! remembers token and port between starts; the file held in it says that the bridge runs.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::StartError;
use crate::config::options::{Credential, LockPid, ServeOptions};
use crate::config::state::{self, BridgeRecord};
use crate::effect::FileError;
use crate::reactor::HeldFile;
use crate::reactor::sys::Kernel;
use crate::transport::door::VERSION;
use crate::transport::lock_file::{self, FoundLock, LockFile};
use crate::transport::token::{Token, hex};

/// Folders that hold secrets are the owner's alone.
const FOLDER_MODE: u32 = 0o700;

/// Files that hold secrets are the owner's alone.
const FILE_MODE: u32 = 0o600;

/// Most that is read of a lock or state file. Ours are below 2 KiB but for the folders, of which a
/// command line holds 2 MiB, each listed in two forms and with escapes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Where Claude Code looks for the port of a lock file.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A port of this machine answers or refuses in microseconds; a firewall may keep silent.
const PROBE: Duration = Duration::from_millis(200);

/// The lock file, while one is kept.
#[derive(Debug, Default)]
pub(super) struct Presence {
    lock: Option<Lock>,
}

#[derive(Debug)]
struct Lock {
    port: u16,
    path: PathBuf,
    contents: LockFile,
}

/// The state folder of the workspace, held against a second bridge.
pub(super) struct Memory {
    folder: Option<PathBuf>,
    held: Option<HeldFile>,
    /// Where the last bridge listened.
    pub(super) port: Option<u16>,
}

impl Memory {
    /// Takes the workspace's state folder; fails when a bridge runs there already.
    pub(super) fn hold<K: Kernel>(
        kernel: &mut K,
        folder: Option<&Path>,
    ) -> Result<Memory, StartError> {
        let Some(folder) = folder else {
            return Ok(Memory { folder: None, held: None, port: None });
        };
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| StartError::State { path, error }
        };
        kernel.create_dir_all(folder, FOLDER_MODE).map_err(failed(folder))?;
        let path = folder.join(state::BRIDGE_FILE);
        let text = kernel.read_file(&path, FILE_BYTES_MAX).unwrap_or_default();
        let last = BridgeRecord::parse(&text);
        let held = kernel.hold(&path, FILE_MODE).map_err(failed(&path))?;
        if held.is_none() {
            return Err(StartError::Served(last.map(Box::new)));
        }
        let port = last.map(|record| record.port);
        Ok(Memory { folder: Some(folder.to_owned()), held, port })
    }

    /// The token to use: a given one, the remembered one, or a fresh one, which is remembered.
    pub(super) fn token<K: Kernel>(
        &self,
        kernel: &mut K,
        credential: &Credential,
    ) -> Result<Option<Token>, StartError> {
        match credential {
            Credential::Open => Ok(None),
            Credential::Given(token) => Ok(Some(token.clone())),
            Credential::Remembered => self.remembered_token(kernel).map(Some),
        }
    }

    fn remembered_token<K: Kernel>(&self, kernel: &mut K) -> Result<Token, StartError> {
        let path = self.folder.as_ref().map(|folder| folder.join(state::TOKEN_FILE));
        if let Some(path) = &path
            && let Ok(text) = kernel.read_file(path, FILE_BYTES_MAX)
            && let Some(token) = state::parse_token(&text)
        {
            return Ok(token);
        }
        let token = Token::from_random(random(kernel)?);
        if let Some(path) = path {
            let text = state::render_token(&token);
            replace(kernel, &path, text.as_bytes())
                .map_err(|error| StartError::State { path, error })?;
        }
        Ok(token)
    }

    /// Remembers where the bridge listens.
    pub(super) fn record(&mut self, record: &BridgeRecord) -> Result<(), StartError> {
        let (Some(folder), Some(held)) = (&self.folder, &mut self.held) else { return Ok(()) };
        let path = folder.join(state::BRIDGE_FILE);
        held.replace(record.render().as_bytes()).map_err(|error| StartError::State { path, error })
    }
}

impl Presence {
    /// Writes the lock file for `port`, after clearing away those of our own dead.
    pub(super) fn publish<K: Kernel>(
        kernel: &mut K,
        options: &ServeOptions,
        token: Option<Token>,
        port: u16,
    ) -> Result<Presence, StartError> {
        let Some(folder) = &options.lock_folder else { return Ok(Presence::default()) };
        let path = folder.join(lock_file::file_name(port));
        let failed = |path: &Path, error| StartError::Lock { path: path.to_owned(), error };
        kernel.create_dir_all(folder, FOLDER_MODE).map_err(|error| failed(folder, error))?;
        let host = host(kernel);
        sweep(kernel, folder, port, &host);
        let forms = options.workspaces.iter();
        let folders = forms.flat_map(|one| lock_file::workspace_forms(&one.given, &one.physical));
        let contents = LockFile {
            pid: match options.lock_pid {
                LockPid::Own => Some(kernel.pid()),
                LockPid::Absent => None,
                LockPid::Given(pid) => Some(pid),
            },
            workspace_folders: deduplicated(folders),
            ide_name: options.ide_name.clone(),
            token,
            started_at_ms: kernel.wall_ms(),
            nonce: hex(&random(kernel)?),
            version: VERSION.to_owned(),
            boot_id: boot_id(kernel),
            host,
            address: Some(options.bind).filter(|bind| !is_reached_by_loopback(*bind)),
        };
        let lock = Lock { port, path, contents };
        lock.create(kernel).map_err(|error| failed(&lock.path, error))?;
        Ok(Presence { lock: Some(lock) })
    }

    /// Where the lock file stands.
    pub(super) fn lock_path(&self) -> Option<&Path> {
        self.lock.as_ref().map(|lock| lock.path.as_path())
    }

    /// Writes the lock file again if it is gone, with its folder if need be; another program's in
    /// its place is left alone.
    pub(super) fn restore_if_missing<K: Kernel>(&self, kernel: &mut K) {
        let Some(lock) = &self.lock else { return };
        if kernel.read_file(&lock.path, FILE_BYTES_MAX) != Err(FileError::NotFound) {
            return;
        }
        let folder = lock.path.parent().expect("a lock stands in a folder");
        let made = kernel.create_dir_all(folder, FOLDER_MODE);
        match made.and_then(|()| lock.create(kernel)) {
            Ok(()) => log::warn!("the lock file was gone: written again"),
            Err(error) => log::error!(
                "the lock file is gone, and clients do not find the bridge: {}: {error}",
                lock.path.display()
            ),
        }
    }

    /// Makes the lock file young again; readers skip one that is older than a day.
    pub(super) fn refresh<K: Kernel>(&mut self, kernel: &mut K) {
        let Some(lock) = &mut self.lock else { return };
        lock.contents.started_at_ms = kernel.wall_ms();
        if !lock.is_ours(kernel) {
            return self.restore_if_missing(kernel);
        }
        let text = lock.contents.render();
        if let Err(error) = replace(kernel, &lock.path, text.as_bytes()) {
            log::error!("{}: {error}", lock.path.display());
        }
    }

    /// Removes the lock file, if it is still ours.
    pub(super) fn withdraw<K: Kernel>(&mut self, kernel: &mut K) {
        let Some(lock) = self.lock.take() else { return };
        if lock.is_ours(kernel)
            && let Err(error) = kernel.remove_file(&lock.path)
        {
            log::error!("{}: {error}", lock.path.display());
        }
    }
}

impl Lock {
    fn is_ours<K: Kernel>(&self, kernel: &mut K) -> bool {
        found(kernel, &self.path).is_some_and(|lock| lock.is_ours(&self.contents.nonce))
    }

    /// Puts the whole file in place at once; fails when something stands there.
    fn create<K: Kernel>(&self, kernel: &mut K) -> io::Result<()> {
        let temporary = lock_file::temporary_name(self.port, &self.contents.nonce);
        let temporary = self.path.with_file_name(temporary);
        // Left behind by a kill, or by an attempt that failed half-way: the nonce is ours alone.
        let _ = kernel.remove_file(&temporary);
        kernel.create_new(&temporary, FILE_MODE, self.contents.render().as_bytes())?;
        let linked = kernel.hard_link(&temporary, &self.path);
        kernel.remove_file(&temporary)?;
        linked
    }
}

/// Removes what a footbridge left behind: locks marked as ours on whose port nobody listens, and
/// those it was killed over while it wrote them. Our own port is free for certain, since we listen
/// on it.
fn sweep<K: Kernel>(kernel: &mut K, folder: &Path, our_port: u16, host: &str) {
    let Ok(names) = kernel.read_dir(folder) else { return };
    for name in names {
        let path = folder.join(&name);
        let lock = found(kernel, &path);
        let is_left_behind = match (lock_file::port_of(&name), lock) {
            (Some(port), Some(lock)) => is_dead(kernel, &lock, port, our_port, host),
            (Some(_), None) => false,
            (None, lock) => lock_file::port_of_temporary(&name).is_some_and(|port| match lock {
                Some(lock) => is_dead(kernel, &lock, port, our_port, host),
                // Cut short: only its name says whose it is.
                None => port == our_port || !answers(kernel, LOOPBACK, port),
            }),
        };
        if is_left_behind {
            log::info!("removed {}: its bridge is gone", path.display());
            let _ = kernel.remove_file(&path);
        }
    }
}

/// Whether a lock is one of ours whose bridge has ended.
fn is_dead<K: Kernel>(
    kernel: &mut K,
    lock: &FoundLock,
    port: u16,
    our_port: u16,
    host: &str,
) -> bool {
    if port == our_port {
        return lock.is_marked();
    }
    match lock.address_seen_from(host) {
        Some(address) => !answers(kernel, address, port),
        None => lock.is_outdated(kernel.wall_ms()),
    }
}

fn answers<K: Kernel>(kernel: &mut K, address: IpAddr, port: u16) -> bool {
    kernel.connect_probe(SocketAddr::new(address, port), PROBE)
}

/// Whether a client that tries 127.0.0.1 finds who listens on `bind`.
fn is_reached_by_loopback(bind: IpAddr) -> bool {
    bind.is_unspecified() || bind == LOOPBACK
}

fn found<K: Kernel>(kernel: &mut K, path: &Path) -> Option<FoundLock> {
    FoundLock::parse(&kernel.read_file(path, FILE_BYTES_MAX).ok()?)
}

/// Replaces a file at once, whole.
fn replace<K: Kernel>(kernel: &mut K, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut unique = [0; 16];
    kernel.fill_random(&mut unique)?;
    let temporary = temporary(path, &hex(&unique));
    kernel.create_new(&temporary, FILE_MODE, bytes)?;
    let renamed = kernel.rename(&temporary, path);
    if renamed.is_err() {
        let _ = kernel.remove_file(&temporary);
    }
    renamed
}

/// A name beside `path` that readers of locks ignore.
fn temporary(path: &Path, unique: &str) -> PathBuf {
    path.with_extension(format!("{unique}.tmp"))
}

pub(super) fn random<K: Kernel>(kernel: &mut K) -> Result<[u8; 16], StartError> {
    let mut bytes = [0; 16];
    kernel.fill_random(&mut bytes).map_err(StartError::Random)?;
    Ok(bytes)
}

fn deduplicated(folders: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut unique: Vec<PathBuf> = Vec::new();
    for folder in folders {
        if !unique.contains(&folder) {
            unique.push(folder);
        }
    }
    unique
}

/// Pids mean nothing under another boot. Empty where the system does not name its boots.
fn boot_id<K: Kernel>(kernel: &mut K) -> String {
    system_name(kernel, "/proc/sys/kernel/random/boot_id")
}

/// The machine, or the container; one that runs elsewhere may share our home folder. Empty where
/// the system does not say.
fn host<K: Kernel>(kernel: &mut K) -> String {
    system_name(kernel, "/proc/sys/kernel/hostname")
}

fn system_name<K: Kernel>(kernel: &mut K, path: &str) -> String {
    let text = kernel.read_file(Path::new(path), FILE_BYTES_MAX);
    String::from_utf8_lossy(&text.unwrap_or_default()).trim().to_owned()
}

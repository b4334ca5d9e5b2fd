//! The composition root: owns the reactor and every core, and is the only place that sees both.
//!
//! [`Bridge`] is started, run and stopped. While it runs, each event goes to one core
//! ([`inbound`]), then every core is drained ([`settle`]): those two borrow the reactor and the
//! [`house::House`] apart, which is why no handler can call the loop.

mod control;
mod house;
mod inbound;
mod keepalive;
mod mentions;
pub mod owner;
mod presence;
mod settle;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use self::house::{House, Stopping, Timers};
use self::mentions::Mentions;
use self::owner::{Chore, Owner};
use self::presence::{Memory, Presence};
use crate::config::options::{Ports, ServeOptions};
use crate::config::state::BridgeRecord;
use crate::editor::diff::Diffs;
use crate::editor::state::{Folder, State};
use crate::mcp::Door;
use crate::mcp::door as mcp;
use crate::proto::ws::connection::{self, Binary};
use crate::proto::ws::keepalive::Ticker;
use crate::reactor::sys::Kernel;
use crate::reactor::{self, ListenError, ListenerId, PortRange, Reactor};
use crate::stdx::Millis;
use crate::stdx::slots::Slots;
use crate::tools::{self, Tools};
use crate::transport::client::Rules;
use crate::transport::door::{DoorPolicy, VERSION};
use crate::transport::session::{QUEUE_HIGH_BYTES, QUEUE_LOW_BYTES};
use crate::transport::token::Token;

/// Descriptors kept back from clients: lock and state files, children, the loop's own.
const DESCRIPTORS_RESERVED: u64 = 64;

/// Editor extensions skip a lock that is a day old.
const REFRESH_MS: NonZeroU64 = NonZeroU64::new(12 * 60 * 60 * 1000).expect("half a day is not 0");

/// The largest message Claude Code takes on this door; a larger one makes it reconnect.
const OUTBOUND_BYTES_MAX: usize = 16 << 20;

/// Calls one client may have in flight beside its held ones.
const CALLS_MAX: usize = 64;

/// Diffs one client may have waiting for a person.
const HELD_CALLS_MAX: usize = 32;

/// A bridge, running or not.
pub struct Bridge<K> {
    running: Option<Running<K>>,
}

struct Running<K> {
    reactor: Reactor<K, Owner>,
    house: House,
    /// Held for as long as the bridge runs.
    _memory: Memory,
    status: Status,
}

/// Where a running bridge is to be found.
#[derive(Debug, Clone)]
pub struct Status {
    /// The port it listens on.
    pub port: u16,
    /// Its lock file, if it keeps one.
    pub lock_path: Option<PathBuf>,
    /// The port the last bridge had, if another program has taken it since.
    pub lost_port: Option<u16>,
}

/// Why a bridge did not start.
#[derive(Debug)]
pub enum StartError {
    /// This one runs already.
    Running,
    /// Another process serves the workspace; what it says of itself, if it can be read.
    Served(Option<Box<BridgeRecord>>),
    /// No port.
    Listen(ListenError),
    /// The lock file cannot be written: nobody would find us.
    Lock {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The state folder cannot be used.
    State {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// No randomness for a token.
    Random(io::Error),
    /// The loop cannot be made, or its poll failed.
    Loop(io::Error),
}

/// A bridge that does not run cannot be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotRunning;

impl<K> Default for Bridge<K> {
    fn default() -> Self {
        Bridge { running: None }
    }
}

impl<K: Kernel> Bridge<K> {
    /// Listens, and tells the world where.
    ///
    /// # Errors
    /// When the bridge runs already, another serves the workspace, or a step fails; nothing is left
    /// behind then.
    pub fn start(&mut self, mut kernel: K, options: &ServeOptions) -> Result<Status, StartError> {
        if self.running.is_some() {
            return Err(StartError::Running);
        }
        let mut memory = Memory::hold(&mut kernel, options.state_folder.as_deref())?;
        let token = memory.token(&mut kernel, &options.credential)?;
        let started_at_ms = kernel.wall_ms();
        let connections_max = connections_max(options, kernel.raise_descriptor_limit());
        let marks = reactor::Options {
            queue_high_bytes: QUEUE_HIGH_BYTES,
            queue_low_bytes: QUEUE_LOW_BYTES,
        };
        let mut reactor = Reactor::new(kernel, marks).map_err(StartError::Loop)?;
        let signals = Owner::Chore(Chore::Signals);
        match reactor.watch_signals(signals) {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(StartError::Loop(error));
            }
            Ok(()) | Err(_) => {}
        }
        let control_token = Token::from_random(presence::random(reactor.kernel())?);
        let (listener, port) = listen(&mut reactor, options, memory.port)?;
        memory.record(&BridgeRecord {
            pid: reactor.kernel().pid(),
            port,
            workspace: options.workspaces[0].physical.clone(),
            more_workspaces: options.workspaces[1..]
                .iter()
                .map(|one| one.physical.clone())
                .collect(),
            bind: options.bind,
            version: VERSION.to_owned(),
            started_at_ms,
            control_token: control_token.reveal().to_owned(),
        })?;
        // The last step that can fail: nothing is left behind when one does.
        let presence = Presence::publish(reactor.kernel(), options, token.clone(), port)?;
        reactor.start_timer(Owner::Chore(Chore::Refresh), REFRESH_MS.get(), Some(REFRESH_MS));
        let status = Status {
            port,
            lock_path: presence.lock_path().map(Path::to_owned),
            lost_port: memory.port.filter(|last| *last != port && is_wanted(*last, options.ports)),
        };
        let tokens = Tokens { agent: token, control: control_token };
        let place = Place { listener, port, started_at: reactor.now() };
        let house = house(options, tokens, presence, place, connections_max);
        self.running = Some(Running { reactor, house, _memory: memory, status: status.clone() });
        Ok(status)
    }

    /// Runs until it is told to stop.
    ///
    /// # Errors
    /// When the bridge does not run, or the poll fails; after a failed poll a further call goes on.
    pub fn run(&mut self) -> io::Result<()> {
        let Some(Running { reactor, house, .. }) = &mut self.running else {
            return Err(io::Error::other(NotRunning.to_string()));
        };
        while let Some((now, event)) = reactor.next_timed()? {
            house.handle(event, now);
            house.settle(reactor);
        }
        Ok(())
    }

    /// Gives up the lock file, the port and every client.
    ///
    /// # Errors
    /// When the bridge does not run.
    pub fn stop(&mut self) -> Result<(), NotRunning> {
        let mut running = self.running.take().ok_or(NotRunning)?;
        running.house.presence.withdraw(running.reactor.kernel());
        log::info!("stopped");
        Ok(())
    }

    /// The system below, while it runs: a simulation moves its peers and its time there.
    pub fn kernel(&mut self) -> Option<&mut K> {
        self.running.as_mut().map(|running| running.reactor.kernel())
    }

    /// Where it is to be found, while it runs.
    pub fn status(&self) -> Option<&Status> {
        self.running.as_ref().map(|running| &running.status)
    }
}

/// How many connections there may be; fewer than asked for where the system gives too few
/// descriptors, but never none.
fn connections_max(options: &ServeOptions, descriptors: u64) -> usize {
    let reserved = DESCRIPTORS_RESERVED.min(descriptors / 2);
    let possible = usize::try_from(descriptors - reserved).unwrap_or(usize::MAX);
    if possible < options.connections_max {
        log::warn!(
            "{possible} connections at most, not {}: this process may have {descriptors} open files \
             (ulimit -n)",
            options.connections_max
        );
    }
    options.connections_max.min(possible.max(1))
}

/// The remembered port if it may be used and is free, else any of the range.
fn listen<K: Kernel>(
    reactor: &mut Reactor<K, Owner>,
    options: &ServeOptions,
    last: Option<u16>,
) -> Result<(ListenerId, u16), StartError> {
    if let Some(last) = last.filter(|last| is_wanted(*last, options.ports)) {
        let only = PortRange { min: last, max: last };
        if let Ok(found) = reactor.listen(Owner::Door, options.bind, only) {
            return Ok(found);
        }
    }
    let range = PortRange { min: options.ports.first, max: options.ports.last };
    reactor.listen(Owner::Door, options.bind, range).map_err(StartError::Listen)
}

/// Whether the settings allow the port.
fn is_wanted(port: u16, ports: Ports) -> bool {
    (ports.first..=ports.last).contains(&port)
}

/// The secrets of the two doors.
struct Tokens {
    agent: Option<Token>,
    control: Token,
}

/// Where and since when the bridge listens.
struct Place {
    listener: ListenerId,
    port: u16,
    started_at: Millis,
}

fn house(
    options: &ServeOptions,
    tokens: Tokens,
    presence: Presence,
    place: Place,
    connections_max: usize,
) -> House {
    let folders = options.workspaces.iter().map(|workspace| Folder {
        given: workspace.given.clone(),
        physical: workspace.physical.clone(),
    });
    let policy = DoorPolicy::new(
        tokens.agent,
        tokens.control,
        options.bind,
        &options.allow_hosts,
        options.allow_origins.clone(),
    );
    let interval_ms = options.ping_interval_ms.unwrap_or(0);
    House {
        rules: Rules {
            policy,
            door: ide_door(),
            websocket: connection::Options {
                binary: Binary::Refuse,
                strict_masking: options.is_masking_strict,
                ..connection::Options::default()
            },
            interval_ms,
        },
        connections_max,
        open_command: options.open_command.clone(),
        open_commands_running: 0,
        presence,
        listener: Some(place.listener),
        port: place.port,
        started_at: place.started_at,
        ide_name: options.ide_name.clone(),
        clients: Slots::default(),
        connected: BTreeMap::new(),
        tools: Tools::new(),
        editor: State::new(folders.collect()),
        diffs: Diffs::default(),
        diffs_told: 0,
        mentions: Mentions::default(),
        keepalive: Ticker::new(interval_ms),
        accepted_total: 0,
        unfinished_bytes: 0,
        dirty: VecDeque::new(),
        chores: VecDeque::new(),
        timers: Timers::default(),
        stopping: Stopping::No,
    }
}

/// What Claude Code finds on its door.
fn ide_door() -> &'static Door {
    Door::leak(mcp::Options {
        server_name: "footbridge",
        server_version: VERSION,
        tools: tools::IDE,
        outbound_bytes_max: OUTBOUND_BYTES_MAX,
        calls_max: CALLS_MAX,
        held_calls_max: HELD_CALLS_MAX,
        server_title: Some("footbridge"),
        server_description: Some(env!("CARGO_PKG_DESCRIPTION")),
        instructions: None,
    })
}

impl fmt::Display for StartError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Running => out.write_str("Server already running"),
            StartError::Served(Some(record)) => write!(
                out,
                "a bridge serves {} already: port {}, pid {}",
                record.workspace.display(),
                record.port,
                record.pid
            ),
            StartError::Served(None) => out.write_str("a bridge serves this workspace already"),
            StartError::Listen(error) => {
                write!(out, "{error}: give another --port, or another --bind")
            }
            StartError::Lock { path, error } => write!(
                out,
                "cannot write the lock file at {}: {error}; without it nobody finds the bridge \
                 (--no-lock-file starts without one)",
                path.display()
            ),
            StartError::State { path, error } => write!(
                out,
                "cannot use the state folder at {}: {error}; set XDG_STATE_HOME to a folder that \
                 can be written",
                path.display()
            ),
            StartError::Random(error) => write!(out, "the system gives no randomness: {error}"),
            StartError::Loop(error) => write!(out, "the event loop failed: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl fmt::Display for NotRunning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Server not running")
    }
}

impl std::error::Error for NotRunning {}

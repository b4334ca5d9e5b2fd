//! The running bridges of this user, and the door through which the verbs speak to one.
//!
//! A bridge runs while its state file is held; what the file says alone proves nothing. Of several,
//! the one is meant whose workspace is nearest above the current folder. The state file also holds
//! the token of the control door: who may read it may command the bridge.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::config::source::Env;
use crate::config::state::{self, BRIDGE_FILE, BridgeRecord};
use crate::reactor::sys::is_held;

use super::rpc::{RpcClient, RpcError};

/// How a question to the bridge fails.
pub type ControlError = RpcError;

/// Longest wait for an answer that the bridge knows at once.
const ANSWER: Duration = Duration::from_secs(10);

/// A bridge that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// What it says of itself.
    pub record: BridgeRecord,
    /// Its state folder.
    pub folder: PathBuf,
}

/// Why there is no bridge to speak to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBridge {
    /// None serves the folder or one above it; where others run, the ports of those.
    Here(PathBuf, Vec<u16>),
    /// None has that port.
    OnPort(u16),
}

impl Running {
    /// Where it listens, for programs of this machine.
    pub fn address(&self) -> SocketAddr {
        let bind = match self.record.bind {
            bind if !bind.is_unspecified() => bind,
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        SocketAddr::new(bind, self.record.port)
    }

    /// Components of the longest of its folders that is the path or stands above it.
    fn depth_above(&self, path: &Path) -> Option<usize> {
        let folders = std::iter::once(&self.record.workspace).chain(&self.record.more_workspaces);
        let above = folders.filter(|folder| path.starts_with(folder));
        above.map(|folder| folder.components().count()).max()
    }
}

/// Every bridge of this user that runs, by port. One that is just starting may be missing.
pub fn running(env: Env<'_>) -> Vec<Running> {
    let entries = state::folders(env).and_then(|folders| std::fs::read_dir(folders).ok());
    let entries = entries.into_iter().flatten().flatten();
    let mut running: Vec<Running> = entries.filter_map(|entry| look_into(entry.path())).collect();
    running.sort_by_key(|bridge| bridge.record.port);
    running
}

/// The bridge with that port, else the one that serves the current folder.
pub fn find(env: Env<'_>, physical_cwd: &Path, port: Option<u16>) -> Result<Running, NoBridge> {
    choose(running(env), physical_cwd, port)
}

fn look_into(folder: PathBuf) -> Option<Running> {
    let path = folder.join(BRIDGE_FILE);
    let is_running = is_held(&path);
    let record = BridgeRecord::parse(&std::fs::read(path).ok()?)?;
    is_running.then_some(Running { record, folder })
}

/// The nearest above the folder; among equals the one that started last.
fn choose(
    running: Vec<Running>,
    physical_cwd: &Path,
    port: Option<u16>,
) -> Result<Running, NoBridge> {
    if let Some(port) = port {
        let on_port = running.into_iter().find(|bridge| bridge.record.port == port);
        return on_port.ok_or(NoBridge::OnPort(port));
    }
    // Records spell paths that are no Unicode as well as they can.
    let cwd = PathBuf::from(physical_cwd.to_string_lossy().into_owned());
    let ports = running.iter().map(|bridge| bridge.record.port).collect();
    let above = running.into_iter().filter_map(|bridge| Some((bridge.depth_above(&cwd)?, bridge)));
    let nearest = above.max_by_key(|(depth, bridge)| (*depth, bridge.record.started_at_ms));
    let nearest = nearest.map(|(_, bridge)| bridge);
    nearest.ok_or_else(|| NoBridge::Here(physical_cwd.to_owned(), ports))
}

/// A connection to a bridge's control door.
pub struct ControlClient {
    rpc: RpcClient,
}

impl ControlClient {
    /// Opens the door.
    pub fn connect(bridge: &Running) -> Result<ControlClient, ControlError> {
        let token = &bridge.record.control_token;
        if token.is_empty() {
            return Err(RpcError::NoDoor);
        }
        let bearer = format!("Bearer {token}");
        let rpc = RpcClient::open(bridge.address(), "/control", &[("Authorization", &bearer)])?;
        Ok(ControlClient { rpc })
    }

    /// Asks what the bridge answers at once.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Value, ControlError> {
        self.request_within(method, params, ANSWER)
    }

    /// Asks, and waits for the answer for at most `limit`.
    pub fn request_within(
        &mut self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, ControlError> {
        self.rpc.request_within(method, params, limit)
    }

    /// Takes what has come, without waiting, so that an owner can poll the socket beside others.
    pub fn receive_ready(&mut self) -> Result<(), ControlError> {
        self.rpc.receive_ready()
    }

    /// Methods of the notifications that came, oldest first. They also come while a request waits:
    /// look here after each, before polling the socket.
    pub fn take_notifications(&mut self) -> Vec<String> {
        self.rpc.take_notifications()
    }

    /// The socket, to be polled for reading; only this client may read from it.
    pub fn socket(&self) -> &TcpStream {
        self.rpc.socket()
    }
}

impl fmt::Display for NoBridge {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoBridge::Here(folder, ports) => {
                let folder = folder.display();
                write!(out, "no bridge serves {folder}: start one with footbridge in that folder")?;
                match ports.as_slice() {
                    [] => Ok(()),
                    [port] => write!(out, ", or use the one that runs with --port {port}"),
                    [..] => write!(out, ", or choose one of footbridge status with --port"),
                }
            }
            NoBridge::OnPort(port) => {
                write!(out, "no bridge has port {port}: see footbridge status")
            }
        }
    }
}

impl std::error::Error for NoBridge {}

#[cfg(test)]
mod tests {
    use super::*;

    fn bridge(port: u16, workspace: &str) -> Running {
        let record = BridgeRecord {
            pid: 1,
            port,
            workspace: PathBuf::from(workspace),
            more_workspaces: Vec::new(),
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            version: "0.1.0".to_owned(),
            started_at_ms: u64::from(port),
            control_token: String::new(),
        };
        Running { record, folder: PathBuf::new() }
    }

    #[track_caller]
    fn check(cwd: &str, port: Option<u16>, expected: Result<u16, &str>) {
        let running = vec![bridge(1, "/w"), bridge(2, "/w/a"), bridge(3, "/w/ab"), bridge(4, "/v")];
        let found = choose(running, Path::new(cwd), port);
        let found = found.map(|bridge| bridge.record.port).map_err(|error| error.to_string());
        assert_eq!(found.as_ref().copied().map_err(String::as_str), expected, "{cwd} {port:?}");
    }

    #[test]
    fn the_nearest_workspace_above_is_meant() {
        check("/w", None, Ok(1));
        check("/w/x", None, Ok(1));
        check("/w/a", None, Ok(2));
        check("/w/a/b/c", None, Ok(2));
        check("/w/ab", None, Ok(3));
        check("/w/abc", None, Ok(1));
        check("/v", Some(2), Ok(2));
        check(
            "/x",
            None,
            Err("no bridge serves /x: start one with footbridge in that folder, \
                 or choose one of footbridge status with --port"),
        );
        check("/w", Some(9), Err("no bridge has port 9: see footbridge status"));
    }

    #[test]
    fn with_no_bridge_at_all_the_command_to_start_one_is_named() {
        let error = choose(vec![], Path::new("/x"), None).expect_err("there is none");
        let start = "no bridge serves /x: start one with footbridge in that folder";
        assert_eq!(error.to_string(), start);
        let one = choose(vec![bridge(7, "/w")], Path::new("/x"), None).expect_err("not here");
        assert_eq!(error.to_string() + ", or use the one that runs with --port 7", one.to_string());
    }

    #[test]
    fn every_folder_of_a_bridge_counts() {
        let mut both = bridge(1, "/w");
        both.record.more_workspaces.push(PathBuf::from("/v/deep"));
        let running = vec![both, bridge(2, "/v"), bridge(3, "/w")];
        for (cwd, expected) in [("/v/deep/x", 1), ("/v", 2), ("/w", 3)] {
            let found = choose(running.clone(), Path::new(cwd), None).expect("one is above");
            assert_eq!(found.record.port, expected, "{cwd}");
        }
    }

    #[test]
    fn a_bridge_is_reached_where_it_listens() {
        for (bind, expected) in [
            ("127.0.0.1", "127.0.0.1:7"),
            ("0.0.0.0", "127.0.0.1:7"),
            ("::", "[::1]:7"),
            ("192.0.2.1", "192.0.2.1:7"),
        ] {
            let mut bridge = bridge(7, "/w");
            bridge.record.bind = bind.parse().expect("an address");
            assert_eq!(bridge.address().to_string(), expected);
        }
    }

    #[test]
    fn an_older_bridge_has_no_such_door() {
        let error = ControlClient::connect(&bridge(7, "/w")).err().map(|error| error.to_string());
        let expected = "the bridge is of an older version: end it and start it again";
        assert_eq!(error.as_deref(), Some(expected));
    }
}

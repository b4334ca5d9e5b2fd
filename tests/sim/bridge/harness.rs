//! A bridge on the simulated kernel, and guests that speak to it.
//!
//! The bridge runs until it would sleep, or for a time; then the test has the kernel, and guests
//! read and send. Nothing moves by itself, so a test says at which millisecond what happens.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use footbridge::bridge::{Bridge, StartError};
use footbridge::config::options::{Credential, LockPid, Ports, ServeOptions, Workspace};
use footbridge::proto::ws::close::CloseFrame;
use footbridge::proto::ws::connection::{Connection, Event, Input, Options, Role};
use footbridge::stdx::Millis;
use log::LevelFilter;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::disk::Disk;
use crate::kernel::{Act, Peer, Received, SimKernel, is_halt};

pub(super) const LOCKS: &str = "/h/.claude/ide";
pub(super) const STATE: &str = "/h/.local/state/footbridge/w";
pub(super) const INTERVAL_MS: Millis = 30_000;

/// What `footbridge serve` runs with when nothing is said.
pub(super) fn options() -> ServeOptions {
    ServeOptions {
        workspaces: vec![Workspace { given: "/work/link".into(), physical: "/work/real".into() }],
        ports: Ports::DEFAULT,
        bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
        credential: Credential::Remembered,
        allow_hosts: Vec::new(),
        allow_origins: Vec::new(),
        connections_max: 1_024,
        ping_interval_ms: Some(INTERVAL_MS),
        is_masking_strict: false,
        ide_name: "footbridge".into(),
        lock_folder: Some(LOCKS.into()),
        lock_pid: LockPid::Own,
        is_joining: false,
        open_command: None,
        log_level: LevelFilter::Info,
        state_folder: Some(STATE.into()),
        settings_file: None,
        warnings: Vec::new(),
    }
}

/// A bridge and its machine.
pub(super) struct Site {
    pub(super) bridge: Bridge<SimKernel>,
    pub(super) disk: Disk,
    pub(super) port: u16,
    has_ended: bool,
}

impl Site {
    pub(super) fn start(options: &ServeOptions) -> Site {
        Site::start_on(Disk::default(), options).unwrap()
    }

    pub(super) fn start_on(disk: Disk, options: &ServeOptions) -> Result<Site, StartError> {
        let mut bridge = Bridge::default();
        let port = bridge.start(SimKernel::on(disk.clone(), 7), options)?.port;
        Ok(Site { bridge, disk, port, has_ended: false })
    }

    pub(super) fn kernel(&mut self) -> &mut SimKernel {
        self.bridge.kernel().unwrap()
    }

    /// Runs until there is nothing to do at this millisecond.
    pub(super) fn settle(&mut self) {
        self.kernel().halt_when_idle();
        self.run();
    }

    /// Runs for so long, timers of the last millisecond included.
    pub(super) fn run_for(&mut self, ms: Millis) {
        self.kernel().plan(ms, Act::Halt);
        self.run();
    }

    fn run(&mut self) {
        assert!(!self.has_ended, "the bridge has ended");
        match self.bridge.run() {
            Ok(()) => self.has_ended = true,
            Err(error) => assert!(is_halt(&error), "{error}"),
        }
    }

    /// Lets guests read and answer pings, once a second, for so long.
    pub(super) fn live_for(&mut self, guests: &mut [&mut Guest], seconds: u64) {
        for _ in 0..seconds {
            self.run_for(1_000);
            for guest in &mut *guests {
                guest.read(self, usize::MAX);
            }
            self.settle();
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(super) fn lock_path(&self) -> PathBuf {
        PathBuf::from(LOCKS).join(format!("{}.lock", self.port))
    }

    /// What the lock file says, as a client finds it.
    pub(super) fn lock(&self) -> Value {
        serde_json::from_str(&self.disk.text(self.lock_path()).unwrap()).unwrap()
    }

    /// The request that opens the door, with the token of the lock file.
    pub(super) fn upgrade(&self) -> String {
        format!(
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp\r\n\
             X-Claude-Code-Ide-Authorization: {}\r\n\r\n",
            self.port,
            self.lock()["authToken"].as_str().unwrap(),
        )
    }
}

/// A client of the bridge.
pub(super) struct Guest {
    pub(super) peer: Peer,
    connection: Connection,
    /// Bytes before the first frame.
    head: Vec<u8>,
    is_upgraded: bool,
    unsent: Vec<u8>,
    pub(super) answers_pings: bool,
    /// Messages that came, in order.
    pub(super) heard: Vec<Heard>,
    pub(super) pings: usize,
    pub(super) closed: Option<CloseFrame>,
    pub(super) has_ended: bool,
}

/// A message of the bridge; read no further than is asked for, since there can be many.
#[derive(Debug)]
pub(super) struct Heard {
    /// Null for a notification.
    pub(super) id: Value,
    pub(super) text: String,
}

impl Heard {
    fn new(text: &str) -> Heard {
        #[derive(Deserialize)]
        struct Outside {
            #[serde(default)]
            id: Value,
        }
        let Outside { id } = serde_json::from_str(text).unwrap();
        Heard { id, text: text.to_owned() }
    }

    pub(super) fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

impl Guest {
    pub(super) fn connect(site: &mut Site) -> Guest {
        let port = site.port;
        Guest {
            peer: site.kernel().connect(port).unwrap(),
            connection: Connection::new(Role::Client { mask_seed: [7; 16] }, Options::default()),
            head: Vec::new(),
            is_upgraded: false,
            unsent: Vec::new(),
            answers_pings: true,
            heard: Vec::new(),
            pings: 0,
            closed: None,
            has_ended: false,
        }
    }

    /// Connects and is let in; no message was sent.
    pub(super) fn upgraded(site: &mut Site) -> Guest {
        let mut guest = Guest::connect(site);
        let upgrade = site.upgrade();
        guest.send_bytes(site, upgrade.as_bytes());
        site.settle();
        guest.read(site, usize::MAX);
        assert!(guest.is_upgraded, "{:?}", String::from_utf8_lossy(&guest.head));
        guest
    }

    /// As far as Claude Code goes by itself, up to the moment it hears notifications.
    pub(super) fn initialized(site: &mut Site) -> Guest {
        let mut guest = Guest::upgraded(site);
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "claude-code", "version": "2"},
        });
        let greeting = guest.ask(site, json!({"id": 0, "method": "initialize", "params": params}));
        assert_eq!(greeting["result"]["serverInfo"]["name"], "footbridge");
        guest.tell(site, json!({"method": "notifications/initialized"}));
        guest.tell(site, json!({"method": "ide_connected", "params": {"pid": 1}}));
        site.settle();
        guest
    }

    /// Sends a message, `jsonrpc` left out.
    pub(super) fn tell(&mut self, site: &mut Site, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.connection.send_text(&message.to_string());
        self.flush(site);
    }

    pub(super) fn call(&mut self, site: &mut Site, id: u64, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.tell(site, json!({"id": id, "method": "tools/call", "params": params}));
    }

    /// Sends a request and reads until the bridge has nothing to do; returns the answer.
    #[track_caller]
    pub(super) fn ask(&mut self, site: &mut Site, request: Value) -> Value {
        let id = request["id"].clone();
        self.tell(site, request);
        site.settle();
        self.read(site, usize::MAX);
        self.answer(&id).unwrap_or_else(|| panic!("no answer to {id} in {:?}", self.heard))
    }

    /// The only answer to a request so far.
    #[track_caller]
    pub(super) fn answer(&self, id: &Value) -> Option<Value> {
        let mut answers = self.heard.iter().filter(|message| message.id == *id);
        let first = answers.next()?;
        assert!(answers.next().is_none(), "answered twice: {id}");
        Some(first.value())
    }

    /// The text blocks of a call's answer.
    #[track_caller]
    pub(super) fn texts(&self, id: u64) -> Option<Vec<String>> {
        let answer = self.answer(&json!(id))?;
        let blocks = answer["result"]["content"].as_array().unwrap();
        Some(blocks.iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect())
    }

    pub(super) fn close(&mut self, site: &mut Site, close: &CloseFrame) {
        self.connection.send_close(close.code.unwrap(), &close.reason);
        self.flush(site);
    }

    pub(super) fn finish(&self, site: &mut Site) {
        site.kernel().finish(self.peer);
    }

    /// Sends bytes as they are; what does not fit follows with the next.
    pub(super) fn send_bytes(&mut self, site: &mut Site, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        let count = site.kernel().send(self.peer, &self.unsent);
        self.unsent.drain(..count);
    }

    /// Reads at most so many bytes, and answers the pings among them; returns how many came.
    pub(super) fn read(&mut self, site: &mut Site, bytes_max: usize) -> usize {
        match site.kernel().receive(self.peer, bytes_max) {
            Received::Bytes(bytes) => {
                let count = bytes.len();
                self.take(bytes);
                self.flush(site);
                count
            }
            Received::Nothing => {
                self.flush(site);
                0
            }
            Received::End => {
                self.has_ended = true;
                0
            }
            Received::Reset => panic!("the bridge reset the connection"),
        }
    }

    fn take(&mut self, mut bytes: Vec<u8>) {
        if !self.is_upgraded {
            self.head.append(&mut bytes);
            let Some(end) = self.head.windows(4).position(|four| four == b"\r\n\r\n") else {
                return;
            };
            if !self.head.starts_with(b"HTTP/1.1 101 ") {
                return;
            }
            self.is_upgraded = true;
            bytes = self.head.split_off(end + 4);
        }
        let mut input = Input::new(&mut bytes);
        while let Some(event) = self.connection.receive(&mut input) {
            match event {
                Event::Text(text) => self.heard.push(Heard::new(text)),
                Event::Ping(_) => self.pings += 1,
                Event::Close(frame) => {
                    assert_eq!(self.closed.replace(frame), None);
                }
                Event::Pong => {}
                Event::Binary(_) | Event::Failed(_) => panic!("{event:?}"),
            }
        }
    }

    fn flush(&mut self, site: &mut Site) {
        let mut bytes = Vec::new();
        while let Some((chunk, front)) = self.connection.output().pop() {
            bytes.extend_from_slice(&chunk[front..]);
        }
        // Whoever does not answer pings sends nothing while it reads.
        if self.answers_pings || self.pings == 0 {
            self.send_bytes(site, &bytes);
        }
    }
}

//! A bridge under test, and clients that speak to it byte by byte or as Claude Code does.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

/// Longest wait for anything that must happen; generous, since a passing test never waits for it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A HOME with a workspace in it; outlives the bridges started there.
pub(crate) struct Home {
    folder: TempDir,
}

/// One running `footbridge serve`. Killed when dropped.
pub(crate) struct Bridge {
    child: Child,
    pub(crate) port: u16,
    stderr: mpsc::Receiver<String>,
    pub(crate) log: Vec<String>,
    home: PathBuf,
}

/// What a `footbridge` that ended by itself left behind.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Home {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Home { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path().join("work")
    }

    pub(crate) fn locks(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path().join(".claude/ide")) else {
            return Vec::new();
        };
        let mut locks: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        locks.sort();
        locks
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_footbridge"));
        command
            .args(arguments)
            .current_dir(self.workspace())
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a bridge and waits for its first line.
    pub(crate) fn start(&self, arguments: &[&str]) -> Bridge {
        Bridge::spawn(self.command(arguments), self.path())
    }

    /// Runs `footbridge` to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output().unwrap();
        Ended {
            status: output.status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Bridge {
    pub(crate) fn spawn(mut command: Command, home: &Path) -> Bridge {
        let mut child = command.spawn().unwrap();
        let stderr = lines_of(child.stderr.take().unwrap());
        let stdout = lines_of(child.stdout.take().unwrap());
        let first = stdout.recv_timeout(DEADLINE).unwrap_or_else(|_| {
            let said: Vec<String> = stderr.try_iter().collect();
            panic!("no first line; stderr: {said:?}")
        });
        let port = first
            .rsplit_once(':')
            .filter(|(text, _)| text.starts_with("footbridge listening on "))
            .and_then(|(_, port)| port.parse().ok())
            .unwrap_or_else(|| panic!("first line: {first:?}"));
        Bridge { child, port, stderr, log: Vec::new(), home: home.to_owned() }
    }

    pub(crate) fn lock_path(&self) -> PathBuf {
        self.home.join(format!(".claude/ide/{}.lock", self.port))
    }

    pub(crate) fn lock(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.lock_path()).unwrap()).unwrap()
    }

    pub(crate) fn token(&self) -> String {
        self.lock()["authToken"].as_str().unwrap().to_owned()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the process to end by itself.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let due = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < due, "still running");
            std::thread::yield_now();
        }
    }

    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal("-TERM");
        self.wait()
    }

    /// Waits for a line on stderr that contains `text`.
    #[track_caller]
    pub(crate) fn expect_log(&mut self, text: &str) -> String {
        if let Some(line) = self.log.iter().find(|line| line.contains(text)) {
            return line.clone();
        }
        let due = Instant::now() + DEADLINE;
        loop {
            let rest = due.saturating_duration_since(Instant::now());
            let Ok(line) = self.stderr.recv_timeout(rest) else {
                panic!("no line with {text:?} in {:#?}", self.log);
            };
            self.log.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// A line on stderr that contains `text`, if it has come already.
    pub(crate) fn poll_log(&mut self, text: &str) -> Option<String> {
        self.log.extend(self.stderr.try_iter());
        self.log.iter().find(|line| line.contains(text)).cloned()
    }

    pub(crate) fn tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    /// Sends raw bytes and reads to the end of the connection.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.tcp();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The upgrade request as Claude Code sends it, with lines replaced or left out by `edit`.
    pub(crate) fn upgrade_request(&self, edit: impl Fn(&str) -> Option<String>) -> String {
        let lines = [
            "GET / HTTP/1.1".to_owned(),
            format!("Host: 127.0.0.1:{}", self.port),
            "Connection: Upgrade".to_owned(),
            "Upgrade: websocket".to_owned(),
            "Sec-WebSocket-Version: 13".to_owned(),
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits".to_owned(),
            "Sec-WebSocket-Key: QuBv47/Br5Z2k7ZFrSw0HQ==".to_owned(),
            "Sec-WebSocket-Protocol: mcp".to_owned(),
            "User-Agent: claude-code/2.1.332 (cli)".to_owned(),
            format!("X-Claude-Code-Ide-Authorization: {}", self.token()),
        ];
        let mut request: String =
            lines.iter().filter_map(|line| edit(line)).map(|line| line + "\r\n").collect();
        request.push_str("\r\n");
        request
    }

    /// An upgraded connection, before `initialize`.
    pub(crate) fn upgrade(&self) -> Claude {
        let mut stream = self.tcp();
        stream.write_all(self.upgrade_request(|line| Some(line.to_owned())).as_bytes()).unwrap();
        let head = read_head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        assert_eq!(
            head.to_lowercase().matches("sec-websocket-protocol: mcp\r\n").count(),
            1,
            "{head}"
        );
        assert!(!head.to_lowercase().contains("extensions"), "{head}");
        let role = tungstenite::protocol::Role::Client;
        let config = tungstenite::protocol::WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        Claude { socket: WebSocket::from_raw_socket(stream, role, Some(config)), next_id: 0 }
    }

    /// A verb of the command line at the control door, as the state folder lets it in.
    pub(crate) fn control(&self) -> Claude {
        let state = self.home.join(".local/state/footbridge");
        let folders = std::fs::read_dir(state).unwrap();
        let record = folders
            .map(|folder| std::fs::read(folder.unwrap().path().join("bridge.json")).unwrap())
            .map(|text| serde_json::from_slice::<Value>(&text).unwrap())
            .find(|record| record["port"] == self.port)
            .unwrap();
        let token = record["controlToken"].as_str().unwrap();
        let mut stream = self.tcp();
        let request = format!(
            "GET /control HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: QuBv47/Br5Z2k7ZFrSw0HQ==\r\nAuthorization: Bearer {token}\r\n\r\n",
            self.port
        );
        stream.write_all(request.as_bytes()).unwrap();
        let head = read_head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        let role = tungstenite::protocol::Role::Client;
        Claude { socket: WebSocket::from_raw_socket(stream, role, None), next_id: 0 }
    }

    /// A client that has greeted the bridge as Claude Code does.
    pub(crate) fn attach(&self) -> Claude {
        let mut claude = self.upgrade();
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {"listChanged": true}, "elicitation": {}},
            "clientInfo": {"name": "claude-code", "version": "2.1.332"},
        });
        let greeting = claude.request("initialize", params);
        assert_eq!(greeting["result"]["protocolVersion"], "2025-11-25", "{greeting}");
        claude.notify("notifications/initialized", json!({}));
        claude.notify("ide_connected", json!({"pid": 1}));
        claude
    }

    /// Open descriptors of the process.
    #[cfg(target_os = "linux")]
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// Resident memory in bytes.
    #[cfg(target_os = "linux")]
    pub(crate) fn resident_bytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib << 10
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A WebSocket client that speaks as Claude Code does.
pub(crate) struct Claude {
    pub(crate) socket: WebSocket<TcpStream>,
    next_id: u64,
}

impl Claude {
    pub(crate) fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).unwrap();
    }

    /// Sends a request without waiting; returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The next JSON message; pings in between are answered by the library.
    pub(crate) fn next(&mut self) -> Value {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).unwrap(),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                // The whole test was stopped and went on.
                Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::Interrupted => {}
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    /// The answer to request `id`, which must be the next message.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let message = self.next();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool and returns its text blocks.
    #[track_caller]
    pub(crate) fn call_for_texts(&mut self, tool: &str, arguments: Value) -> Vec<String> {
        let id = self.call(tool, arguments);
        texts(&self.answer(id))
    }

    /// Reads on until the Close frame; its code and reason.
    pub(crate) fn close_frame(&mut self) -> Option<(u16, String)> {
        loop {
            if let Message::Close(frame) = self.socket.read().unwrap() {
                return frame.map(|frame| (frame.code.into(), frame.reason.to_string()));
            }
        }
    }
}

/// The text blocks of a `tools/call` response.
#[track_caller]
pub(crate) fn texts(response: &Value) -> Vec<String> {
    let Some(content) = response["result"]["content"].as_array() else {
        panic!("no content in {response}")
    };
    content.iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect()
}

/// The response head, up to and with the empty line.
pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&head));
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Waits until `condition` holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let due = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < due, "{what}");
        std::thread::yield_now();
    }
}

fn lines_of(pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

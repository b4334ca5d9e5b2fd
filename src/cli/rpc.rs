//! A JSON-RPC client over a WebSocket of this machine, for programs that wait.
//!
//! One thread, one blocking socket: a request is sent, then what comes is read until its answer is
//! there or its time is over. Pings are answered on the way, notifications are kept by name. It is
//! for the verbs of the command line alone; the bridge never waits.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::config::source::quote;
use crate::proto::ws::close::CloseCode;
use crate::proto::ws::connection::{Connection, Event, Input, Options, Role};
use crate::proto::ws::handshake::accept_of;

/// Longest wait for the TCP connection and for the opening handshake: this machine is near.
const OPEN: Duration = Duration::from_secs(5);

/// Longest response head, in bytes; ours are below 200.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Fields of a response head; ours have four.
const FIELDS_MAX: usize = 32;

/// Notifications kept; beyond it the oldest go. They only tell that something changed.
const NOTIFICATIONS_MAX: usize = 100;

/// Bytes taken from the socket at a time.
const READ_BYTES: usize = 64 << 10;

/// An open connection.
pub struct RpcClient {
    stream: TcpStream,
    connection: Connection,
    next_id: u64,
    /// Answers that came and were not asked for yet. At most one: requests are made one by one.
    answer: Option<Value>,
    notifications: VecDeque<String>,
    buffer: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum RpcError {
    /// Nobody listens there, or the system does not let us.
    Unreachable(SocketAddr, io::Error),
    /// The peer's answer to the opening handshake is this status and no WebSocket.
    NotLetIn(u16),
    /// The peer runs, but told nobody how to open this door: it is of another version.
    NoDoor,
    /// The peer answered with an error.
    Refused {
        /// JSON-RPC's or the door's own code.
        code: i64,
        /// One line.
        message: String,
        /// What the door tells programs; null when it tells nothing.
        data: Value,
    },
    /// The connection ended.
    Lost,
    /// No answer in time.
    TimedOut(Duration),
    /// What came is no WebSocket or no JSON-RPC.
    Garbled(String),
    /// No randomness for a masking key.
    Random(getrandom::Error),
}

impl RpcClient {
    /// Connects and upgrades. `fields` are further lines of the head, names and values.
    pub fn open(
        address: SocketAddr,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Result<RpcClient, RpcError> {
        let mut random = [[0; 16]; 2];
        for bytes in &mut random {
            getrandom::fill(bytes).map_err(RpcError::Random)?;
        }
        let [mask_seed, key] = random;
        let key = STANDARD.encode(key);
        let mut stream = TcpStream::connect_timeout(&address, OPEN)
            .map_err(|error| RpcError::Unreachable(address, error))?;
        // A request is one small write, and waits for its answer.
        let _ = stream.set_nodelay(true);
        stream.set_write_timeout(Some(OPEN)).map_err(|_| RpcError::Lost)?;
        let mut head = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n",
            address.port()
        );
        for (name, value) in fields {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        stream.write_all(head.as_bytes()).map_err(|_| RpcError::Lost)?;
        let rest = read_head(&mut stream, &accept_of(&key))?;
        let options = Options::default();
        let mut client = RpcClient {
            stream,
            connection: Connection::new(Role::Client { mask_seed }, options),
            next_id: 1,
            answer: None,
            notifications: VecDeque::new(),
            buffer: vec![0; READ_BYTES],
        };
        client.buffer[..rest.len()].copy_from_slice(&rest);
        client.take(rest.len())?;
        Ok(client)
    }

    /// Asks, and waits for the answer for at most `limit`.
    pub fn request_within(
        &mut self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, RpcError> {
        let due = now() + limit;
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            // The answer to a request that was given up earlier may still come.
            if let Some(answer) = self.answer.take_if(|answer| answer["id"] == id) {
                return result_of(answer);
            }
            self.answer = None;
            let rest = due.saturating_duration_since(now());
            if rest.is_zero() {
                return Err(RpcError::TimedOut(limit));
            }
            let _ = self.stream.set_read_timeout(Some(rest));
            match self.stream.read(&mut self.buffer) {
                Ok(0) => return Err(RpcError::Lost),
                Ok(len) => self.take(len)?,
                Err(error) if is_no_news(&error) => {}
                Err(_) => return Err(RpcError::Lost),
            }
        }
    }

    /// Tells without asking.
    pub fn notify(&mut self, method: &str, params: &Value) -> Result<(), RpcError> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Takes what has come, without waiting: for an owner that polls several things.
    pub fn receive_ready(&mut self) -> Result<(), RpcError> {
        self.stream.set_nonblocking(true).map_err(|_| RpcError::Lost)?;
        let received = self.receive_all();
        self.stream.set_nonblocking(false).map_err(|_| RpcError::Lost)?;
        received?;
        self.flush()
    }

    /// Methods of the notifications that came, oldest first.
    pub fn take_notifications(&mut self) -> Vec<String> {
        self.notifications.drain(..).collect()
    }

    /// The socket, to be polled for reading; only [`RpcClient::receive_ready`] may read from it.
    pub fn socket(&self) -> &TcpStream {
        &self.stream
    }

    fn receive_all(&mut self) -> Result<(), RpcError> {
        loop {
            match self.stream.read(&mut self.buffer) {
                Ok(0) => return Err(RpcError::Lost),
                Ok(len) => self.digest(len)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(RpcError::Lost),
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), RpcError> {
        self.connection.send_text_owned(message.to_string());
        self.flush()
    }

    /// Digests the first `len` bytes of the buffer, and sends the pongs that this calls for.
    fn take(&mut self, len: usize) -> Result<(), RpcError> {
        let digested = self.digest(len);
        // The peer's Close is answered even though nothing more will come.
        self.flush()?;
        digested
    }

    fn digest(&mut self, len: usize) -> Result<(), RpcError> {
        let mut input = Input::new(&mut self.buffer[..len]);
        while let Some(event) = self.connection.receive(&mut input) {
            match event {
                Event::Text(text) => {
                    let message: Value = serde_json::from_str(text)
                        .map_err(|error| RpcError::Garbled(error.to_string()))?;
                    match message.get("id") {
                        Some(_) if message.get("method").is_none() => self.answer = Some(message),
                        // Nothing here answers the peer's own requests.
                        Some(_) => {}
                        None => keep(&mut self.notifications, &message),
                    }
                }
                Event::Binary(_) | Event::Ping(_) | Event::Pong => {}
                Event::Close(_) => return Err(RpcError::Lost),
                Event::Failed(error) => return Err(RpcError::Garbled(format!("{error:?}"))),
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RpcError> {
        let output = self.connection.output();
        while !output.is_empty() {
            let mut slices = [IoSlice::new(&[]); 8];
            let filled = output.slices(&mut slices);
            let written = match self.stream.write_vectored(&slices[..filled]) {
                Ok(0) => return Err(RpcError::Lost),
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(error) if is_no_news(&error) => return Err(RpcError::TimedOut(OPEN)),
                Err(_) => return Err(RpcError::Lost),
            };
            output.consume(written, drop);
        }
        Ok(())
    }
}

impl Drop for RpcClient {
    /// Says goodbye, so that the peer need not take us for a crash; its answer is not awaited.
    fn drop(&mut self) {
        self.connection.send_close(CloseCode::NORMAL, "");
        let _ = self.flush();
    }
}

/// Reads the response head; the bytes behind it are the first of the WebSocket.
fn read_head(stream: &mut TcpStream, accept: &str) -> Result<Vec<u8>, RpcError> {
    let due = now() + OPEN;
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    loop {
        let rest = due.saturating_duration_since(now());
        if rest.is_zero() {
            return Err(RpcError::TimedOut(OPEN));
        }
        let _ = stream.set_read_timeout(Some(rest));
        match stream.read(&mut buffer) {
            Ok(0) => return Err(RpcError::Lost),
            Ok(len) => head.extend_from_slice(&buffer[..len]),
            Err(error) if is_no_news(&error) => continue,
            Err(_) => return Err(RpcError::Lost),
        }
        if let Some(len) = parse_head(&head, accept)? {
            return Ok(head.split_off(len));
        }
        if head.len() > HEAD_BYTES_MAX {
            return Err(RpcError::Garbled("a response head without end".to_owned()));
        }
    }
}

/// Length of a head that opens a WebSocket; `None` while it is not all there.
fn parse_head(bytes: &[u8], accept: &str) -> Result<Option<usize>, RpcError> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let len = match response.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(RpcError::Garbled(error.to_string())),
    };
    let status = response.code.unwrap_or_default();
    if status != 101 {
        return Err(RpcError::NotLetIn(status));
    }
    // RFC 6455 §4.1: a server that proves nothing is no WebSocket server.
    let is_proof = |field: &&httparse::Header<'_>| {
        field.name.eq_ignore_ascii_case("sec-websocket-accept")
            && field.value.trim_ascii() == accept.as_bytes()
    };
    match response.headers.iter().find(is_proof) {
        Some(_) => Ok(Some(len)),
        None => Err(RpcError::Garbled("a handshake without its proof".to_owned())),
    }
}

fn keep(notifications: &mut VecDeque<String>, message: &Value) {
    let Some(method) = message["method"].as_str() else { return };
    if notifications.len() == NOTIFICATIONS_MAX {
        notifications.pop_front();
    }
    notifications.push_back(method.to_owned());
}

fn result_of(mut answer: Value) -> Result<Value, RpcError> {
    if let Some(result) = answer.get_mut("result") {
        return Ok(result.take());
    }
    let error = &answer["error"];
    match (error["code"].as_i64(), error["message"].as_str()) {
        (Some(code), Some(message)) => Err(RpcError::Refused {
            code,
            message: message.to_owned(),
            data: error["data"].clone(),
        }),
        _ => Err(RpcError::Garbled("an answer without result or error".to_owned())),
    }
}

/// Whether a read or write only ran out of time, or was woken for nothing.
fn is_no_news(error: &io::Error) -> bool {
    // Unix and Windows name a timeout differently.
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[allow(clippy::disallowed_methods)] // A program that waits has no loop to take the time from.
fn now() -> Instant {
    Instant::now()
}

impl fmt::Display for RpcError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RpcError::Unreachable(address, error) => write!(out, "cannot reach {address}: {error}"),
            RpcError::NotLetIn(status) => {
                write!(out, "the bridge did not let us in: it answered HTTP {status}")
            }
            RpcError::NoDoor => {
                write!(out, "the bridge is of an older version: end it and start it again")
            }
            RpcError::Refused { message, .. } => out.write_str(message),
            RpcError::Lost => write!(out, "the bridge went away"),
            RpcError::TimedOut(limit) => {
                write!(out, "the bridge did not answer within {} s", limit.as_secs_f64())
            }
            RpcError::Garbled(what) => write!(out, "not understood: {}", quote(what)),
            RpcError::Random(error) => write!(out, "no randomness: {error}"),
        }
    }
}

impl std::error::Error for RpcError {}

#[cfg(test)]
mod tests;

//! Codecs without I/O: bytes in, events out, bytes to send in an output queue.

pub mod http;
pub mod jsonrpc;
pub mod ws;

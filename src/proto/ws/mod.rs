//! The WebSocket protocol, RFC 6455, without I/O.

pub mod close;
pub mod connection;
pub mod error;
pub mod frame;
pub mod handshake;
pub mod keepalive;
pub mod mask;
pub mod message;
mod receiver;
pub mod sender;

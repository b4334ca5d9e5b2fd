//! The doors that MCP clients come in by.
//!
//! A [`client::Client`] is one accepted connection from its first byte to its last: it reads the
//! request head, is let in by a door or turned away, speaks, and leaves in order. It does no I/O and
//! knows no tool: it hands out calls, and `bridge` brings back what came of them.

pub mod client;
pub mod control;
pub mod door;
pub mod host;
mod ide;
pub mod leaving;
pub mod lock_file;
pub mod origin;
pub mod session;
pub mod token;

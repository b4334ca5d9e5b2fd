//! Model Context Protocol over JSON-RPC; never learns which transport carries it.
//!
//! [`Server`] is one client's core: messages come in with the time, outputs are polled until there
//! are none. It knows tools only as the descriptors of its [`Door`]; calls that pass the checks
//! leave as [`Output::Call`] and come back through [`Server::complete`]. It asks nothing of the
//! client, so responses are ignored.
//!
//! Only the handshake revisions are served here. `initialize` comes first and once; before its
//! answer there is `ping` and nothing else, after it everything is served. A request gets exactly
//! one answer, unless it was cancelled, then none; a valid notification never gets one.

pub mod call;
pub mod content;
pub mod door;
mod error;
mod handshake;
mod in_flight;
mod params;
pub mod revision;
pub mod schema;
mod server;
pub mod tool;

pub use door::Door;
pub use handshake::ClientInfo;
pub use server::{NotSent, Output, Server};

//! footbridge joins AI coding agents to the place where the code lives.
//!
//! The house, top to bottom; a module imports only from strictly lower rows and from its own
//! folder, and `proto` and `reactor` never meet:
//!
//! ```text
//! 8  cli                      one file a subcommand
//! 7  bridge                   composition root: owns the reactor and every core
//! 6  config                   flags, environment and file become plain options
//! 5  tools      transport     the catalogue of tools; the doors clients come in by
//! 4  editor                   what an editor knows: documents, selection, pending diffs
//! 3  mcp                      Model Context Protocol over JSON-RPC
//! 2  proto  |  reactor        codecs without I/O   |   I/O without a protocol
//! 1  effect                   what a core may ask of the reactor, and the answers
//! 0  stdx                     what std could have had
//! ```
//!
//! Cores are plain values: inputs come in with the time, outputs are polled. Only `reactor` reads
//! the clock, opens sockets or files, and starts processes. ARCHITECTURE.md tells the rest.

pub mod bridge;
pub mod cli;
pub mod config;
pub mod editor;
pub mod effect;
pub mod mcp;
pub mod proto;
pub mod reactor;
pub mod stdx;
pub mod tools;
pub mod transport;

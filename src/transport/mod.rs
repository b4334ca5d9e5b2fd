//! The doors MCP clients come in by, and what tells a client where they are.
//!
//! Nothing here knows a tool or does I/O: a door judges a parsed request and says what to do with
//! it; the lock file is rendered and read as text.

pub mod door;
pub mod host;
pub mod lock_file;
pub mod origin;
pub mod token;

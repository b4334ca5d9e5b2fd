//! JSON-RPC 2.0: messages told apart, ids kept as spelled, errors by code.
//!
//! Nothing here knows a method. What happens to a cancelled request, who may send batches and
//! which methods exist is decided by the protocols above (MCP, LSP).

pub mod error;
pub mod id;
pub mod message;
pub mod write;

//! JSON-RPC 2.0: messages told apart, ids kept as spelled, errors by code.

pub mod error;
pub mod id;
pub mod message;
